// Golden files: cases of text in, text out, one file for each thing under test.
//
//   ; comments before the first case
//   === what this case shows | argument argument ...
//   input
//   ---
//   expected output
//
// STATOR_BLESS=1 rewrites the expectations in place; read the diff before committing it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace stator::test {

struct GoldenCase {
    std::string file, title;
    int line;  // of the title
    std::vector<std::string> arguments;
    std::string input;
};

// Runs every case of every .txt file in `folder` (relative to the source tree) and reports differences to
// GoogleTest. Returns the number of cases.
int run_goldens(const std::string& folder, const std::function<std::string(const GoldenCase&)>& run);

}  // namespace stator::test
