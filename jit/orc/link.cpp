// Linking what link.h does not know, through ORC's ObjectLinkingLayer in a bare ExecutionSession.
//
// LLJIT would bring a platform, its IR layers and a thread pool: 0.5 to 1.4 ms to create, for things stator
// does not use. A bare session takes 0.02 ms, and linking an object 0.1 ms. Each object gets a JITDylib of
// its own, which goes when its owner does. Tasks run in place, so ORC starts no thread.
//
// Invariant: an object refers only to what runtime_symbols.h lists.
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/MemoryBuffer.h>

#include <mutex>

#include "jit/orc/internal.h"
#include "jit/orc/llvm_compat.h"
#include "jit/orc/orc.h"
#include "jit/runtime_symbols.h"

namespace stator::jit {
namespace {

namespace orc = llvm::orc;
namespace jitlink = llvm::jitlink;

// Notes where functions and sections of the object being linked end up.
class Recorder : public orc::ObjectLinkingLayer::Plugin {
  public:
    explicit Recorder(LinkedObject* out) : out_(out) {}
    void modifyPassConfig(orc::MaterializationResponsibility&, jitlink::LinkGraph&,
                          jitlink::PassConfiguration& config) override {
        config.PostFixupPasses.push_back([this](jitlink::LinkGraph& graph) {
            for (jitlink::Section& section : graph.sections()) {
                const jitlink::SectionRange range(section);
                if (range.empty()) continue;
                out_->sections.push_back(
                    {std::string(section.getName()), range.getStart().getValue(), range.getSize()});
            }
            for (jitlink::Symbol* symbol : graph.defined_symbols())
                if (symbol->hasName() && symbol->isCallable())
                    out_->functions.push_back({std::string(compat::symbol_name(*symbol)),
                                               symbol->getAddress().getValue(), symbol->getSize()});
            return llvm::Error::success();
        });
    }
    llvm::Error notifyFailed(orc::MaterializationResponsibility&) override { return llvm::Error::success(); }
    llvm::Error notifyRemovingResources(orc::JITDylib&, orc::ResourceKey) override {
        return llvm::Error::success();
    }
    void notifyTransferringResources(orc::JITDylib&, orc::ResourceKey, orc::ResourceKey) override {}

  private:
    LinkedObject* out_;
};

// Lives as long as the process. `current` and `reported` are about the object being linked.
struct Session {
    std::mutex mutex;
    std::unique_ptr<orc::ExecutionSession> session;
    std::unique_ptr<orc::ObjectLinkingLayer> layer;
    orc::JITDylib* runtime = nullptr;
    LinkedObject current;
    std::string reported;
    int64_t count = 0;
    std::string error;
};
Session& session() {
    static Session* s = new Session;
    return *s;
}

void open(Session& s) {
    if (s.session || !s.error.empty()) return;
    auto control = orc::SelfExecutorProcessControl::Create(std::make_shared<orc::SymbolStringPool>(),
                                                           std::make_unique<orc::InPlaceTaskDispatcher>());
    if (!control) {
        s.error = "ORC cannot start: " + llvm::toString(control.takeError());
        return;
    }
    s.session = std::make_unique<orc::ExecutionSession>(std::move(*control));
    // The error that lookup returns names what is missing; the one reported here says why.
    s.session->setErrorReporter([&s](llvm::Error e) {
        if (!s.reported.empty()) s.reported += "; ";
        s.reported += llvm::toString(std::move(e));
    });
    s.layer = std::make_unique<orc::ObjectLinkingLayer>(*s.session);
    s.layer->addPlugin(std::make_shared<Recorder>(&s.current));
    s.runtime = &s.session->createBareJITDylib("runtime");
    orc::SymbolMap symbols;
    for (const RuntimeSymbol& r : runtime_symbols())
        symbols[s.session->intern(r.name)] = {
            orc::ExecutorAddr::fromPtr(r.address),
            llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    llvm::cantFail(s.runtime->define(orc::absoluteSymbols(std::move(symbols))));
}

void unload(orc::JITDylib* dylib) {
    Session& s = session();
    std::lock_guard lock(s.mutex);
    llvm::consumeError(s.session->removeJITDylib(*dylib));
}

// Gives the addresses of `symbols` in their order.
std::string link(Session& s, orc::JITDylib& dylib, std::string_view object,
                 const std::vector<std::string>& symbols, std::vector<orc::ExecutorAddr>& out) {
    dylib.addToLinkOrder(*s.runtime);
    auto buffer =
        llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()), "kernel");
    if (auto e = s.layer->add(dylib, std::move(buffer))) return llvm::toString(std::move(e));
    orc::SymbolLookupSet wanted;
    std::vector<orc::SymbolStringPtr> names;
    for (const std::string& symbol : symbols) {
        names.push_back(s.session->intern(symbol));
        wanted.add(names.back());
    }
    auto found =
        s.session->lookup({{&dylib, orc::JITDylibLookupFlags::MatchExportedSymbolsOnly}}, std::move(wanted));
    if (!found) {
        const std::string error = llvm::toString(found.takeError());
        return s.reported.empty() ? error : s.reported;
    }
    for (const auto& name : names) out.push_back((*found)[name].getAddress());
    return "";
}

}  // namespace

const llvm::Triple& host_triple() {
    static const auto* triple = new llvm::Triple("x86_64-unknown-linux-gnu");
    return *triple;
}

Linked link_by_orc(std::string_view object, const std::vector<std::string>& symbols) {
    Session& s = session();
    std::lock_guard lock(s.mutex);
    Linked out;
    open(s);
    if (!s.session) return out.error = s.error, out;
    s.current = {};
    s.reported.clear();
    orc::JITDylib& dylib = s.session->createBareJITDylib("k" + std::to_string(s.count++));
    std::vector<orc::ExecutorAddr> addresses;
    out.error = link(s, dylib, object, symbols, addresses);
    if (!out.error.empty()) {
        llvm::consumeError(s.session->removeJITDylib(dylib));
        return out;
    }
    for (const orc::ExecutorAddr a : addresses) out.addresses.push_back(a.toPtr<void*>());
    out.parts = s.current;
    out.owner = std::shared_ptr<void>(&dylib, [](void* p) { unload(static_cast<orc::JITDylib*>(p)); });
    return out;
}

void fork_lock() {
    codegen_mutex().lock();
    session().mutex.lock();
}

void fork_unlock() {
    session().mutex.unlock();
    codegen_mutex().unlock();
}

}  // namespace stator::jit
