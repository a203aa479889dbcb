// What ptxas -v prints, read back; and defects planted for tests.
#include <charconv>
#include <regex>

#include "jit/core.h"
#include "jit/cuda/nvrtc.h"

namespace stator::jit {
namespace {

// The number right before `unit` in `line`, 0 when it is not there: "Used 22 registers, 128 bytes smem".
int64_t number_before(std::string_view line, std::string_view unit) {
    const size_t at = line.find(unit);
    if (at == line.npos || at == 0) return 0;
    size_t end = at;
    while (end > 0 && line[end - 1] == ' ') --end;
    size_t begin = end;
    while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
    int64_t value = 0;
    std::from_chars(line.data() + begin, line.data() + end, value);
    return value;
}

// What stands between the first two quotes behind `before`; "" when `before` is not in the line.
std::string_view quoted_after(std::string_view line, std::string_view before) {
    size_t at = line.find(before);
    if (at == line.npos) return {};
    at += before.size();
    const size_t end = line.find('\'', at);
    return end == line.npos ? std::string_view{} : line.substr(at, end - at);
}

}  // namespace

std::vector<CudaKernelStats> parse_ptxas_log(std::string_view log) {
    std::vector<CudaKernelStats> kernels;
    while (!log.empty()) {
        const size_t newline = log.find('\n');
        const std::string_view line = log.substr(0, newline);
        log = newline == log.npos ? std::string_view{} : log.substr(newline + 1);

        if (const auto name = quoted_after(line, "Compiling entry function '"); !name.empty()) {
            kernels.emplace_back().name = name;
            continue;
        }
        if (kernels.empty()) continue;
        CudaKernelStats& kernel = kernels.back();
        if (line.find("bytes stack frame") != line.npos) {
            // There is a line for each function that was not inlined, too: its frame and spills are the
            // kernel's.
            kernel.stack_bytes += number_before(line, "bytes stack frame");
            kernel.spill_bytes +=
                number_before(line, "bytes spill stores") + number_before(line, "bytes spill loads");
        } else if (line.find(" registers") != line.npos && line.find("Used ") != line.npos) {
            kernel.registers = static_cast<int>(number_before(line, "registers"));
            kernel.barriers = static_cast<int>(number_before(line, "barriers"));
            kernel.shared_bytes = number_before(line, "bytes smem");
        }
    }
    return kernels;
}

std::string mutate_for_tests(std::string source) {
    const std::string& rule = options().test_cuda_mutate;
    if (rule.empty()) return source;
    const size_t arrow = rule.find("=>");
    std::string problem = "there is no => in it";
    if (arrow != rule.npos) {
        try {
            return std::regex_replace(source, std::regex(rule.substr(0, arrow)), rule.substr(arrow + 2));
        } catch (const std::regex_error& e) {
            problem = e.what();
        }
    }
    const std::string message = "STATOR_TEST_CUDA_MUTATE is not of the form REGEX=>REPLACEMENT: " + problem;
    log_warning(message);
    return "#error \"" + message + "\"\n" + source;
}

}  // namespace stator::jit
