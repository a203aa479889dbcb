// What was found out by looking at a thread becomes a row of the profile: whose line it is, and what for.
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "frontend/cpython/walk.h"
#include "frontend/profile/sampler.h"

namespace stator::frontend {

// A thread at one moment; the frames and the stack are apart.
struct Moment {
    Doing doing;
    bool in_stator;  // `doing` says what it does
    int frames;
    int words;  // 0: it is waiting
};

class Ledger {
  public:
    explicit Ledger(SourceRules rules) : rules_(std::move(rules)) {}
    // Adds `ns` to the row of this moment, which is `at` ns after sampling began.
    void enter(const Moment& m, const FrameMark* frames, const void* const* stack, int64_t ns, int64_t at);
    std::vector<SampleRow> rows() const;

  private:
    struct Place {
        const SourceLine* line = nullptr;
        int first_line = 0, flags = 0;
        const void *code = nullptr, *frame = nullptr;
        bool importing = false;
        bool in_numpy = false, in_library = false;  // the innermost frame is
    };
    const CodeText* text_of(const void* code);
    bool internal(const std::string& file) const;
    bool external(const std::string& file) const;
    Place place_of(const FrameMark* frames, int count);
    static Spent in_loop(Native worker);

    SourceRules rules_;
    Images images_;
    std::unordered_map<const void*, CodeText> texts_;
    std::set<SourceLine> lines_;
    std::set<std::pair<std::string, std::string>> captured_;  // functions that had compiled code: file, name
    std::map<std::tuple<const SourceLine*, Spent, Native, bool>, SampleRow> rows_;  // line: of lines_
};

}  // namespace stator::frontend
