// Options in force and the log. Options are replaced as a whole and old ones are kept, so that a reference
// another thread holds stays valid; they change a handful of times in a process.
#include "jit/core.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

extern char** environ;

namespace stator::jit {
namespace {

std::atomic<const Options*> current{nullptr};
std::atomic<LogSink> log_sink{nullptr};

void emit(const std::string& line) {
    if (const LogSink sink = log_sink.load(std::memory_order_acquire)) return sink(line.c_str());
    const std::string text = "stator: " + line + "\n";
    if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // nobody left to tell
}

}  // namespace

const Options& options() {
    if (const Options* o = current.load(std::memory_order_acquire)) return *o;
    std::vector<std::string> problems;
    const auto* fresh = new Options(parse_environment(environ, problems));
    const Options* expected = nullptr;
    if (!current.compare_exchange_strong(expected, fresh, std::memory_order_acq_rel)) {
        delete fresh;
        return *expected;
    }
    for (const std::string& p : problems) emit(p);
    return *fresh;
}

void configure(const Options& o) {
    // References to earlier ones may still be held, so all are kept; a process sets options a few times.
    static auto* kept = new std::vector<std::unique_ptr<const Options>>;
    static auto* mutex = new std::mutex;
    std::lock_guard lock(*mutex);
    kept->push_back(std::make_unique<const Options>(o));
    current.store(kept->back().get(), std::memory_order_release);
}

void set_log_sink(LogSink sink) { log_sink.store(sink, std::memory_order_release); }

void log_warning(const std::string& line) { emit(line); }

void log_line(LogArtifact artifact, const std::string& line) {
    if (!logs(options(), artifact)) return;
    emit("[" + std::string(log_rows()[static_cast<size_t>(artifact)].name) + "] " + line);
}

}  // namespace stator::jit
