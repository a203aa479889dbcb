// From a program to an object: LLVM IR, then code generation.
//
// What was measured decides what runs here (10-op f64 kernel in 512-bit vectors with a scalar tail,
// LLVM 22.1; milliseconds, first time in a process / later). Writing LLVM IR: 0.17 / 0.07. Code generation at
// level Default: 5.5 / 2.5, at Less: the same, at None: 1.6 / 0.5 but with code several times slower; so
// Default it is. Of its time a third is setting up some hundred passes, a third instruction selection; no
// single pass costs more than 0.4 (loop strength reduction does), so none is left out. A region of thousands
// of instructions takes 50 to 100 us for each of them, four times as long as without optimization, and what
// that gives is a half to a quarter as fast: there it comes first (FirstObject). Mapping the library's
// code pages beforehand (MADV_POPULATE_READ) costs the 1 ms that it saves. The emitter writes vectors itself
// and folds as it goes, so no pass of the middle end runs at all. A target machine costs 0.3 and is kept.
//
// Numerics: no option here may let LLVM change a bit. FP contraction is off (Strict).
//
// Errors. LLVM reports some through a diagnostic handler and some through report_fatal_error, which must not
// return: the handler installed here throws, emit_object catches, and the target machine in use is given up.
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <vector>

#include "jit/machine.h"
#include "jit/orc/internal.h"
#include "jit/orc/llvm_compat.h"
#include "jit/orc/orc.h"
#include "kernels/llvm/regions/region.h"
#include "kernels/region_abi.h"

namespace stator::jit {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

struct FatalError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Code generation is not re-entrant on one target machine, and one compile at a time is all there is.
struct Codegen {
    std::mutex mutex;
    std::unique_ptr<llvm::TargetMachine> target_machine;
    std::unique_ptr<llvm::TargetMachine> quick;  // without optimization; made when first wanted
    std::string error;                           // why there is no target machine
};
Codegen& engine() {
    static Codegen* c = new Codegen;
    return *c;
}

std::unique_ptr<llvm::TargetMachine> create_target_machine(llvm::CodeGenOptLevel level,
                                                           std::string& problem) {
    const llvm::Triple& triple = host_triple();
    std::string error;
    const llvm::Target* target = compat::lookup_target(triple, error);
    if (!target) {
        problem = "LLVM has no code generator for " + triple.str() + ": " + error;
        return nullptr;
    }
    llvm::TargetOptions options;
    // Small loops that do not cross cache lines: the same loop ran at two thirds of its speed where it did.
    options.LoopAlignment = 32;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    auto machine =
        compat::create_target_machine(*target, triple, host_cpu().name, host_cpu().features, options, level);
    if (!machine) problem = "LLVM cannot create a target machine for " + host_cpu().name;
    return machine;
}

void create_target_machine(Codegen& c) {
    c.target_machine = create_target_machine(llvm::CodeGenOptLevel::Default, c.error);
}

struct Diagnostics : llvm::DiagnosticHandler {
    explicit Diagnostics(std::string* out) : errors(out) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
        if (info.getSeverity() != llvm::DS_Error) return true;  // remarks and warnings are nobody's business
        llvm::raw_string_ostream stream(*errors);
        llvm::DiagnosticPrinterRawOStream printer(stream);
        info.print(printer);
        return true;
    }
    std::string* errors;
};

// Everything the target needs to know that the emitter leaves open. Function attributes repeat CPU and
// features, because code generation reads them from there.
void prepare(llvm::Module& module, const llvm::TargetMachine& tm) {
    compat::set_triple(module, host_triple());
    module.setDataLayout(tm.createDataLayout());
    for (llvm::Function& f : module) {
        if (f.isDeclaration()) continue;
        f.addFnAttr("target-cpu", host_cpu().name);
        f.addFnAttr("target-features", host_cpu().features);
        // Some CPUs prefer 256 bits by default; the emitter has already decided on a width, of some functions
        // on one of their own.
        for (const char* width : {"prefer-vector-width", "min-legal-vector-width"})
            if (!f.hasFnAttribute(width)) f.addFnAttr(width, std::to_string(machine().vector_bits));
        f.addFnAttr(llvm::Attribute::NoUnwind);
    }
}

std::string verification(llvm::Module& module) {
    std::string errors;
    llvm::raw_string_ostream stream(errors);
    return llvm::verifyModule(module, &stream) ? "invalid LLVM IR: " + errors : "";
}

// Runs code generation into `out`; on a problem returns it as text.
std::string generate(llvm::TargetMachine& machine, llvm::Module& module, llvm::CodeGenFileType type,
                     llvm::raw_pwrite_stream& out) {
    llvm::legacy::PassManager passes;
    if (machine.addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true))
        return "LLVM cannot write this kind of file for this target";
    passes.run(module);
    return "";
}

bool nothing(llvm::Module&, llvm::TargetMachine&) { return true; }

// Polls look up anew where the interpreter's word is: better code leads them elsewhere.
void look_up_breaker(llvm::Module& module) {
    for (llvm::Function& f : module) {
        if (f.isDeclaration() || f.hasLocalLinkage()) continue;
        std::vector<llvm::LoadInst*> polls;
        for (llvm::BasicBlock& block : f)
            for (llvm::Instruction& i : block)
                if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i);
                    load && load->isVolatile() &&
                    load->getPointerOperand()->getName() == kernels::kBreakerName)
                    polls.push_back(load);
        for (llvm::LoadInst* poll : polls) {
            llvm::IRBuilder<> b(poll);
            llvm::Type* ptr = b.getPtrTy();
            llvm::Value* cell = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), f.getArg(0),
                                                             offsetof(kernels::RegionArgs, breaker_cell));
            cell = b.CreateLoad(ptr, cell);
            poll->setOperand(0, b.CreateLoad(ptr, cell, /*isVolatile=*/true));
        }
    }
}

// The object of `module`, in a hurry.
void generate_first(Codegen& c, llvm::Module& module, Object& object) {
    const auto start = Clock::now();
    if (!c.quick) c.quick = create_target_machine(llvm::CodeGenOptLevel::None, object.error);
    if (!c.quick) return;
    look_up_breaker(module);
    llvm::SmallVector<char, 0> buffer;
    llvm::raw_svector_ostream out(buffer);
    object.error = generate(*c.quick, module, llvm::CodeGenFileType::ObjectFile, out);
    object.bytes.assign(buffer.data(), buffer.size());
    object.codegen_seconds = seconds_since(start);
}

// What `make` yields in a context; null, and why.
template <class Make>
std::unique_ptr<llvm::Module> ready_module(Make make, llvm::LLVMContext& context, const Codegen& c,
                                           double& seconds, std::string& errors) {
    const auto start = Clock::now();
    std::unique_ptr<llvm::Module> module = make(context, errors);
    if (!module) {
        if (errors.empty()) errors = "no LLVM IR was emitted";
        return nullptr;
    }
    prepare(*module, *c.target_machine);
    if (std::string error = verification(*module); !error.empty()) {
        errors = error;
        return nullptr;
    }
    seconds = seconds_since(start);
    return module;
}

// What a program or a loop may hold of the thread that compiles for all of them: LLVM takes 50 to 100 us for
// an instruction, and a quarter of that in a hurry. Beyond kMostBetter the code in a hurry stays, beyond
// kMostFirst there is none.
constexpr int64_t kMostBetter = 10'000, kMostFirst = 30'000;

std::string too_large(int64_t instructions) {
    return "it would be too large: " + std::to_string(instructions) + " instructions";
}

// `make` yields the module in a context and `finish` may work on it before code is generated (false: it need
// not be); the object or text of `type` comes back through `bytes`. What `make_first` yields is for code in a
// hurry.
template <class MakeFirst, class Make, class Finish>
std::string with_module(MakeFirst make_first, Make make, Finish finish, llvm::CodeGenFileType type,
                        Object& object, const FirstObject& wanted = {}) {
    Codegen& c = engine();
    std::unique_lock lock(c.mutex);
    initialize_llvm();
    if (!c.target_machine) create_target_machine(c);
    if (!c.target_machine) return c.error;
    std::string errors;
    try {
        llvm::LLVMContext context;
        context.setDiagnosticHandler(std::make_unique<Diagnostics>(&errors));
        std::unique_ptr<llvm::Module> module;
        bool has_first = false;
        if (wanted.take) {
            Object first;
            module = ready_module(make_first, context, c, first.emit_seconds, errors);
            if (!module) return errors;
            const auto size = static_cast<int64_t>(module->getInstructionCount());
            if (size > kMostFirst) return too_large(size);
            if (size >= wanted.from) {
                generate_first(c, *module, first);
                if (!errors.empty()) return errors;
                lock.unlock();
                has_first = first.error.empty();
                if (!wanted.take(std::move(first))) return "";
                lock.lock();
                if (!c.target_machine) return "LLVM gave up meanwhile";
            }
        }
        module = ready_module(make, context, c, object.emit_seconds, errors);
        if (!module) return errors;
        const auto size = static_cast<int64_t>(module->getInstructionCount());
        if (size > kMostBetter && has_first) return "";
        if (size > kMostFirst) return too_large(size);
        const auto start = Clock::now();
        if (!finish(*module, *c.target_machine)) return "";
        llvm::SmallVector<char, 0> buffer;
        llvm::raw_svector_ostream out(buffer);
        if (std::string error = generate(*c.target_machine, *module, type, out); !error.empty()) return error;
        object.codegen_seconds = seconds_since(start);
        if (errors.empty()) object.bytes.assign(buffer.data(), buffer.size());
    } catch (const std::exception& e) {
        if (!lock.owns_lock()) return e.what();  // not LLVM's
        // In an unknown state: kept, not destroyed.
        static auto* given_up = new std::vector<std::unique_ptr<llvm::TargetMachine>>;
        given_up->push_back(std::move(c.target_machine));
        given_up->push_back(std::move(c.quick));
        return std::string("LLVM gave up: ") + e.what();
    }
    return errors;
}

}  // namespace

std::mutex& codegen_mutex() { return engine().mutex; }

void initialize_llvm() {
    static const bool done = [] {
        llvm::InitializeNativeTarget();
        llvm::InitializeNativeTargetAsmPrinter();
        llvm::install_fatal_error_handler([](void*, const char* reason, bool) { throw FatalError(reason); });
        return true;
    }();
    (void)done;
}

namespace {

std::unique_ptr<llvm::Module> emit_module(llvm::LLVMContext& context, const kernels::Program& program,
                                          const kernels::EmitOptions& options) {
    return kernels::emit_llvm(context, program, options);
}
void finish_module(const kernels::Program&, llvm::Module&, llvm::TargetMachine&) {}

// A region, and what its passes make of it.
class Passed {
  public:
    explicit Passed(const graph::Region& region) : region_(region) {}
    const graph::Region& optimized() const {
        if (!optimized_) graph::optimize(optimized_.emplace(region_));
        return *optimized_;
    }

  private:
    const graph::Region& region_;
    mutable std::optional<graph::Region> optimized_;
};
std::unique_ptr<llvm::Module> emit_module(llvm::LLVMContext& context, const Passed& region,
                                          const kernels::EmitOptions& options) {
    return kernels::emit_llvm_region(context, region.optimized(), options);
}
void finish_module(const Passed&, llvm::Module& module, llvm::TargetMachine& tm) {
    optimize_region(module, tm);
}

template <class Source>
std::string emit(const Source& source, const kernels::EmitOptions& options, llvm::CodeGenFileType type,
                 std::string* llvm_ir, Object& object, const FirstObject& first = {}) {
    const auto make = [&](llvm::LLVMContext& context, std::string&) {
        return emit_module(context, source, options);
    };
    const auto make_first = [&](llvm::LLVMContext& context, std::string&) {
        kernels::EmitOptions hurried = options;
        hurried.in_a_hurry = true;
        return emit_module(context, source, hurried);
    };
    const auto finish = [&](llvm::Module& module, llvm::TargetMachine& tm) {
        finish_module(source, module, tm);
        if (!llvm_ir) return true;
        llvm::raw_string_ostream stream(*llvm_ir);
        module.print(stream, nullptr);
        return true;
    };
    return with_module(make_first, make, finish, type, object, first);
}

template <class Source>
Object emit_to_object(const Source& source, const kernels::EmitOptions& options,
                      const FirstObject& first = {}) {
    Object object;
    object.error = emit(source, options, llvm::CodeGenFileType::ObjectFile, nullptr, object, first);
    return object;
}

template <class Source>
std::string emit_to_text(const Source& source, const kernels::EmitOptions& options, std::string* llvm_ir,
                         std::string* assembly) {
    Object object;
    std::string error = emit(source, options, llvm::CodeGenFileType::AssemblyFile, llvm_ir, object);
    if (assembly) *assembly = std::move(object.bytes);
    return error;
}

}  // namespace

Object emit_object(const kernels::Program& program, const kernels::EmitOptions& options) {
    return emit_to_object(program, options);
}

Object emit_object(const graph::Region& region, const kernels::EmitOptions& options,
                   const FirstObject& first) {
    return emit_to_object(Passed(region), options, first);
}

namespace {
auto parsed(std::string_view ir) {
    return [ir](llvm::LLVMContext& context, std::string& errors) {
        llvm::SMDiagnostic diagnostic;
        auto module = llvm::parseAssemblyString(llvm::StringRef(ir.data(), ir.size()), diagnostic, context);
        if (!module) {
            llvm::raw_string_ostream stream(errors);
            diagnostic.print("", stream);
        }
        return module;
    };
}
}  // namespace

Object emit_object_from_ir(std::string_view ir) {
    Object object;
    object.error = with_module(parsed(ir), parsed(ir), nothing, llvm::CodeGenFileType::ObjectFile, object);
    return object;
}

namespace {

// The first compile of a process takes some 8 ms more than later ones: page faults, and tables that LLVM
// makes on first use. This one, which nobody waits for, touches what regions need; it takes 5 ms.
constexpr char kSample[] = R"(
define i32 @stator_sample(ptr %x, ptr %y, i64 %n, double %d) strictfp {
entry:
  %csr = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %csr)
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %outer, label %done
outer:
  %k = phi i64 [ 0, %entry ], [ %k.next, %outer.end ]
  %row = mul i64 %k, %n
  %from = getelementptr double, ptr %x, i64 %row
  %to = getelementptr double, ptr %y, i64 %row
  br label %inner
inner:
  %i = phi i64 [ 0, %outer ], [ %i.next, %inner ]
  %sum = phi double [ 0.0, %outer ], [ %sum.next, %inner ]
  %at = call i64 @llvm.smin.i64(i64 %i, i64 %row)
  %p = getelementptr double, ptr %from, i64 %at
  %q = getelementptr double, ptr %to, i64 %at
  %v = load <8 x double>, ptr %p, align 8
  %w = call <8 x double> @llvm.experimental.constrained.fadd.v8f64(<8 x double> %v, <8 x double> %v, metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp
  %z = call <8 x double> @llvm.experimental.constrained.fmul.v8f64(<8 x double> %w, <8 x double> %v, metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp
  store <8 x double> %z, ptr %q, align 8
  %one = load double, ptr %p, align 8
  %sum.next = call double @llvm.experimental.constrained.fadd.f64(double %sum, double %one, metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp
  %i.next = add nuw nsw i64 %i, 8
  %more = icmp slt i64 %i.next, %n
  br i1 %more, label %inner, label %outer.end
outer.end:
  store double %sum.next, ptr %to, align 8
  %k.next = add nuw nsw i64 %k, 1
  %again = icmp slt i64 %k.next, %n
  br i1 %again, label %outer, label %done
done:
  %mxcsr = load i32, ptr %csr
  %status = and i32 %mxcsr, 29
  ret i32 %status
}
)";

}  // namespace

std::string open_codegen(bool (*is_awaited)()) {
    {
        Codegen& c = engine();
        std::lock_guard lock(c.mutex);
        initialize_llvm();
        if (!c.target_machine) create_target_machine(c);
    }
    if (is_awaited()) return "";
    Object object;
    const FirstObject too{0, [&](const Object&) { return !is_awaited(); }};
    const auto sample = parsed(kSample);
    const auto optimize = [&](llvm::Module& module, llvm::TargetMachine& tm) {
        optimize_region(module, tm);
        return !is_awaited();
    };
    return with_module(sample, sample, optimize, llvm::CodeGenFileType::ObjectFile, object, too);
}

std::string emit_text(const kernels::Program& program, const kernels::EmitOptions& options,
                      std::string* llvm_ir, std::string* assembly) {
    return emit_to_text(program, options, llvm_ir, assembly);
}

std::string emit_text(const graph::Region& region, const kernels::EmitOptions& options, std::string* llvm_ir,
                      std::string* assembly) {
    return emit_to_text(Passed(region), options, llvm_ir, assembly);
}

}  // namespace stator::jit
