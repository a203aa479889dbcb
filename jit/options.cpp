// Reading and printing options. One reader and one printer for each C++ type of a row; the rows decide which.
#include "jit/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace stator::jit {
namespace {

constexpr OptionRow kRows[] = {
#define OPTION(field, type, variable, kind, fallback, help) \
    {#field, variable, OptionKind::kind, fallback, help},
#define LOG(id, name, help)
#include "jit/options.def"
#undef OPTION
#undef LOG
};

constexpr LogRow kLogs[] = {
#define OPTION(field, type, variable, kind, fallback, help)
#define LOG(id, name, help) {name, help},
#include "jit/options.def"
#undef OPTION
#undef LOG
};

struct Word {
    std::string_view text;
    int value;
};
constexpr Word kModes[] = {{"0", 0},  {"1", 1},   {"all", 2},   {"off", 0}, {"on", 1},
                           {"no", 0}, {"yes", 1}, {"false", 0}, {"true", 1}};
constexpr Word kFlags[] = {{"0", 0},  {"1", 1},   {"off", 0},   {"on", 1},
                           {"no", 0}, {"yes", 1}, {"false", 0}, {"true", 1}};
constexpr Word kLogTargets[] = {{"stderr", 0}, {"logging", 1}};

std::string lower(std::string_view s) {
    std::string r(s);
    for (char& c : r)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return r;
}

std::string_view trim(std::string_view s) {
    const char* blanks = " \t\n";
    const size_t a = s.find_first_not_of(blanks);
    return a == s.npos ? std::string_view{} : s.substr(a, s.find_last_not_of(blanks) - a + 1);
}

// The non-empty parts between commas.
std::vector<std::string_view> split(std::string_view s) {
    std::vector<std::string_view> parts;
    while (!s.empty()) {
        const size_t comma = s.find(',');
        const std::string_view part = trim(s.substr(0, comma));
        if (!part.empty()) parts.push_back(part);
        s = comma == s.npos ? std::string_view{} : s.substr(comma + 1);
    }
    return parts;
}

// Each reader returns "" or what it expected.
std::string read_word(std::span<const Word> words, std::string_view text, const char* expected, int& out) {
    const std::string t = lower(text);
    for (const Word& w : words)
        if (w.text == t) return out = w.value, "";
    return expected;
}

std::string read(OptionKind, std::string_view text, Mode& out) {
    int v = static_cast<int>(out);
    const std::string error = read_word(kModes, text, "0, 1 or all", v);
    out = static_cast<Mode>(v);
    return error;
}

std::string read(OptionKind, std::string_view text, LogTarget& out) {
    int v = static_cast<int>(out);
    const std::string error = read_word(kLogTargets, text, "stderr or logging", v);
    out = static_cast<LogTarget>(v);
    return error;
}

std::string read(OptionKind, std::string_view text, bool& out) {
    int v = out;
    const std::string error = read_word(kFlags, text, "0 or 1", v);
    out = v != 0;
    return error;
}

std::string read(OptionKind kind, std::string_view text, int64_t& out) {
    const bool size = kind == OptionKind::Size;
    const char* expected = size ? "a number of bytes such as 64M or 1G" : "a whole number, 0 or more";
    int64_t v = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), v);
    std::string suffix = lower(std::string_view(end, static_cast<size_t>(text.data() + text.size() - end)));
    if (status != std::errc{} || v < 0 || (!size && !suffix.empty())) return expected;
    if (suffix.size() == 2 && suffix[1] == 'b') suffix.pop_back();
    static constexpr Word kShifts[] = {{"", 0}, {"b", 0}, {"k", 10}, {"m", 20}, {"g", 30}, {"t", 40}};
    int shift = 0;
    if (!read_word(kShifts, suffix, expected, shift).empty()) return expected;
    if (v > std::numeric_limits<int64_t>::max() >> shift) return expected;
    out = v << shift;
    return "";
}

std::string read(OptionKind, std::string_view text, std::string& out) { return out = text, ""; }

std::string read(OptionKind, std::string_view text, std::vector<std::string>& out) {
    std::vector<std::string> found;
    for (const std::string_view part : split(text)) {
        // What no function's name contains would match none, in silence.
        if (part.find_first_of("[]{}()+^$|\\'\"!/ ") != part.npos)
            return "function name patterns with * and ?, separated by commas";
        found.emplace_back(part);
    }
    out = std::move(found);
    return "";
}

std::string read(OptionKind, std::string_view text, uint32_t& out) {
    uint32_t bits = 0;
    for (const std::string_view part : split(text)) {
        const auto* row =
            std::find_if(std::begin(kLogs), std::end(kLogs), [&](const LogRow& r) { return r.name == part; });
        if (row == std::end(kLogs)) {
            if (part == "help" ||
                part == "all") {  // the caller prints the help; both switch everything or nothing on
                bits |= part == "all" ? (1u << std::size(kLogs)) - 1 : 0;
                continue;
            }
            return "names from the list that STATOR_LOG=help prints, separated by commas";
        }
        bits |= 1u << (row - kLogs);
    }
    out = bits;
    return "";
}

std::string write(Mode v) { return std::string(kModes[static_cast<int>(v)].text); }
std::string write(LogTarget v) { return std::string(kLogTargets[static_cast<int>(v)].text); }
std::string write(bool v) { return v ? "1" : "0"; }
std::string write(int64_t v) { return std::to_string(v); }
std::string write(const std::string& v) { return v; }
std::string write(const std::vector<std::string>& v) {
    std::string s;
    for (const std::string& p : v) s += (s.empty() ? "" : ",") + p;
    return s;
}
std::string write(uint32_t bits) {
    std::string s;
    for (size_t i = 0; i < std::size(kLogs); ++i)
        if (bits >> i & 1) s += (s.empty() ? "" : ",") + std::string(kLogs[i].name);
    return s;
}

const OptionRow* find(std::string_view field) {
    for (const OptionRow& r : kRows)
        if (r.field == field) return &r;
    return nullptr;
}

std::string assign(Options& o, std::string_view field, OptionKind kind, std::string_view text) {
#define OPTION(member, type, variable, k, fallback, help) \
    if (field == #member) return read(kind, text, o.member);
#define LOG(id, name, help)
#include "jit/options.def"
#undef OPTION
#undef LOG
    return "an option of the table";
}

// Changes needed to turn one name into the other: finds the variable that was meant by a misspelt one.
int distance(std::string_view a, std::string_view b) {
    std::vector<int> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
    for (size_t i = 1; i <= a.size(); ++i) {
        int diagonal = row[0]++;
        for (size_t j = 1; j <= b.size(); ++j) {
            const int change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

std::string unknown_variable(std::string_view name) {
    const OptionRow* best = nullptr;
    int least = 4;
    for (const OptionRow& r : kRows)
        if (const int d = distance(name, r.variable); d < least) least = d, best = &r;
    std::string line = "unknown environment variable " + std::string(name) + " is ignored; ";
    return line + (best ? "did you mean " + std::string(best->variable) + "?"
                        : "'python -m stator doctor' lists the known ones");
}

}  // namespace

Options::Options() {
    for (const OptionRow& r : kRows) assign(*this, r.field, r.kind, r.fallback);
}

std::span<const OptionRow> option_rows() { return kRows; }
std::span<const LogRow> log_rows() { return kLogs; }

bool set_option(Options& options, std::string_view field, std::string_view text, std::string& error) {
    const OptionRow* row = find(field);
    if (!row) return error = "unknown option '" + std::string(field) + "'", false;
    const std::string expected = assign(options, field, row->kind, trim(text));
    if (expected.empty()) return true;
    error = "option " + std::string(field) + ": expected " + expected + ", found '" + std::string(text) + "'";
    return false;
}

std::string get_option(const Options& o, std::string_view field) {
#define OPTION(member, type, variable, kind, fallback, help) \
    if (field == #member) return write(o.member);
#define LOG(id, name, help)
#include "jit/options.def"
#undef OPTION
#undef LOG
    return "";
}

Options parse_environment(const char* const* environment, std::vector<std::string>& problems) {
    Options o;
    for (; environment && *environment; ++environment) {
        const std::string_view entry = *environment;
        if (!entry.starts_with("STATOR")) continue;
        const size_t equals = entry.find('=');
        if (equals == entry.npos) continue;
        const std::string_view name = entry.substr(0, equals), value = entry.substr(equals + 1);
        if (name.size() > 6 && name[6] != '_') continue;  // STATORX belongs to somebody else
        const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                       [&](const OptionRow& r) { return r.variable == name; });
        if (row == std::end(kRows)) {
            if (name.starts_with("STATOR_TEST_")) continue;  // read where it is used
            problems.push_back(unknown_variable(name));
            continue;
        }
        if (trim(value).empty()) continue;  // set but empty is as good as not set
        const std::string expected = assign(o, row->field, row->kind, trim(value));
        if (!expected.empty())
            problems.push_back(std::string(name) + ": expected " + expected + ", found '" +
                               std::string(value) + "'; the default '" + std::string(row->fallback) +
                               "' is used");
    }
    return o;
}

std::string help_text() {
    std::string s;
    for (const OptionRow& r : kRows) {
        std::string name(r.variable);
        name.resize(std::max<size_t>(name.size() + 1, 20), ' ');
        s += name + std::string(r.help);
        if (!r.fallback.empty()) s += " (default " + std::string(r.fallback) + ")";
        s += "\n";
    }
    return s;
}

std::string log_help_text() {
    std::string s = "STATOR_LOG takes names from this list, separated by commas, or 'all':\n";
    for (const LogRow& r : kLogs) {
        std::string name = "  " + std::string(r.name);
        name.resize(16, ' ');
        s += name + std::string(r.help) + "\n";
    }
    return s;
}

bool matches(std::string_view pattern, std::string_view name) {
    size_t p = 0, n = 0, star = pattern.npos, mark = 0;
    while (n < name.size()) {
        if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*') {
            ++p, ++n;
        } else if (p < pattern.size() && pattern[p] == '*') {
            star = p++, mark = n;
        } else if (star != pattern.npos) {
            p = star + 1, n = ++mark;  // the last star takes one character more
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == pattern.npos;
}

}  // namespace stator::jit
