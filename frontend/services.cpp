#include "frontend/services.h"

namespace stator::frontend {

namespace {
const kernels::CompilerApi* (*compiler_loader)(std::string*) = nullptr;
void (*log_sink)(LogTopic, const std::string&) = nullptr;
uint32_t log_topics = 0;
PyObject* (*unwrapper)(PyObject*) = nullptr;
}  // namespace

void set_compiler_loader(const kernels::CompilerApi* (*loader)(std::string*)) { compiler_loader = loader; }

const kernels::CompilerApi* compiler() {
    static const kernels::CompilerApi* api = [] {
        std::string error;
        const kernels::CompilerApi* a = compiler_loader ? compiler_loader(&error) : nullptr;
        if (!a && !error.empty()) log(LogTopic::Errors, "stator: no machine code, tier 0 serves: " + error);
        return a;
    }();
    return api;
}

void set_log_sink(void (*sink)(LogTopic, const std::string&), uint32_t topics) {
    log_sink = sink;
    log_topics = topics;
}
bool log_enabled(LogTopic t) {
    return log_sink && (log_topics & (1u << static_cast<int>(t)) || t == LogTopic::Errors);
}
void log(LogTopic t, const std::string& line) {
    if (log_enabled(t)) log_sink(t, line);
}

void set_compiled_unwrapper(PyObject* (*unwrap)(PyObject*)) { unwrapper = unwrap; }
PyObject* unwrap_compiled(PyObject* object) { return unwrapper ? unwrapper(object) : nullptr; }

}  // namespace stator::frontend
