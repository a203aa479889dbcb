// The golden runner; golden.h gives the format.
#include "tests/unit/graph/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace stator::test {

namespace {

std::vector<std::string> read_lines(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

std::string_view trimmed(std::string_view s) {
    while (!s.empty() && (s.back() == '\n' || s.back() == ' ')) s.remove_suffix(1);
    return s;
}

struct FileRun {
    std::string out;  // the file as it would be blessed
    int cases = 0;
};

FileRun run_file(const std::filesystem::path& path, bool bless,
                 const std::function<std::string(const GoldenCase&)>& run) {
    FileRun result;
    std::vector<std::string> lines = read_lines(path);
    size_t i = 0;
    for (; i < lines.size() && !lines[i].starts_with("=== "); ++i) result.out += lines[i] + "\n";
    while (i < lines.size()) {
        GoldenCase c{path.filename().string(), "", static_cast<int>(i) + 1, {}, ""};
        std::string head = lines[i++].substr(4), expected;
        size_t bar = head.find(" | ");
        c.title = head.substr(0, bar);
        if (bar != std::string::npos) {
            std::istringstream words(head.substr(bar + 3));
            for (std::string word; words >> word;) c.arguments.push_back(word);
        }
        for (; i < lines.size() && lines[i] != "---" && !lines[i].starts_with("=== "); ++i)
            c.input += lines[i] + "\n";
        if (i < lines.size() && lines[i] == "---") ++i;
        for (; i < lines.size() && !lines[i].starts_with("=== "); ++i) expected += lines[i] + "\n";
        std::string actual = run(c);
        result.out += "=== " + head + "\n" + std::string(trimmed(c.input)) + "\n---\n" +
                      std::string(trimmed(actual)) + "\n\n";
        ++result.cases;
        if (bless) continue;
        EXPECT_EQ(trimmed(actual), trimmed(expected))
            << path.string() << ":" << c.line << ": " << c.title << "\nactual:\n"
            << actual;
    }
    result.out = std::string(trimmed(result.out)) + "\n";
    return result;
}

}  // namespace

int run_goldens(const std::string& folder, const std::function<std::string(const GoldenCase&)>& run) {
    const char* flag = std::getenv("STATOR_BLESS");
    bool bless = flag && std::string_view(flag) == "1";
    std::vector<std::filesystem::path> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(STATOR_SOURCE_DIR) / folder))
        if (entry.path().extension() == ".txt") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    int cases = 0;
    for (const auto& path : files) {
        FileRun result = run_file(path, bless, run);
        cases += result.cases;
        if (bless) std::ofstream(path) << result.out;
    }
    return cases;
}

}  // namespace stator::test
