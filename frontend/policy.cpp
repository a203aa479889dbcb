// See policy.h.
#include "frontend/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace stator::frontend {

namespace {

#define GROUP(id, title) constexpr std::string_view kGroup##id = title;
#define POLICY(name, type, fallback, unit, least, most, group, reason) \
    static_assert((least) <= (fallback) && (fallback) <= (most),       \
                  #name ": its default is not in its bounds");         \
    static_assert(static_cast<type>(most) == (most), #name ": its type has no room for its largest value");
#include "frontend/policy.def"
#undef GROUP
#undef POLICY

constexpr PolicyRow kRows[] = {
#define GROUP(id, title)
#define POLICY(name, type, fallback, unit, least, most, group, reason) \
    {#name,                                                            \
     unit,                                                             \
     kGroup##group,                                                    \
     reason,                                                           \
     fallback,                                                         \
     least,                                                            \
     most,                                                             \
     [](const Policy& p) { return static_cast<int64_t>(p.name); },     \
     [](Policy& p, int64_t value) { p.name = static_cast<type>(value); }},
#include "frontend/policy.def"
#undef GROUP
#undef POLICY
};

std::string_view trimmed(std::string_view s) {
    const char* blanks = " \t\n";
    const size_t begin = s.find_first_not_of(blanks);
    return begin == s.npos ? std::string_view{} : s.substr(begin, s.find_last_not_of(blanks) - begin + 1);
}

// A whole number, in which digits may be grouped by underscores as in Python.
std::optional<int64_t> number(std::string_view text) {
    if (text.empty() || text.front() == '_' || text.back() == '_') return std::nullopt;
    std::string digits(text);
    std::erase(digits, '_');
    int64_t value = 0;
    const char* const last = digits.data() + digits.size();
    const auto [end, status] = std::from_chars(digits.data(), last, value);
    if (status != std::errc{} || end != last) return std::nullopt;
    return value;
}

// Sets one threshold, or says what is wrong.
std::string set(Policy& p, std::string_view part) {
    const size_t equals = part.find('=');
    if (equals == part.npos) return fmt::format("expected name=value, found '{}'; it is ignored", part);
    const std::string_view name = trimmed(part.substr(0, equals)), text = trimmed(part.substr(equals + 1));
    const auto row =
        std::find_if(std::begin(kRows), std::end(kRows), [&](const PolicyRow& r) { return r.name == name; });
    if (row == std::end(kRows))
        return fmt::format(
            "expected the name of a threshold, found '{}'; it is ignored, "
            "'python -m stator policy' lists the names",
            name);
    const auto value = number(text);
    if (!value || *value < row->least || *value > row->most)
        return fmt::format("expected a whole number from {} to {} for {}, found '{}'; {} is used", row->least,
                           row->most, name, text, row->value(p));
    row->set(p, *value);
    return "";
}

}  // namespace

constinit Policy process_policy;

std::span<const PolicyRow> policy_rows() { return kRows; }

std::vector<std::string> tune(Policy& policy, std::string_view text) {
    std::vector<std::string> problems;
    while (!text.empty()) {
        const size_t comma = text.find(',');
        const std::string_view part = trimmed(text.substr(0, comma));
        text = comma == text.npos ? std::string_view{} : text.substr(comma + 1);
        if (part.empty()) continue;
        if (std::string problem = set(policy, part); !problem.empty())
            problems.push_back("STATOR_TUNE: " + problem);
    }
    return problems;
}

}  // namespace stator::frontend
