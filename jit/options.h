// Options and environment variables, derived from options.def.
//
// Needs neither LLVM nor Python, and is compiled into both products (library stator_option_table): the
// extension parses the environment once, says what is wrong with it, and hands the result to
// libstator_core.so, which otherwise reads the environment itself. A bad value never stops the program: the
// default stays and one line says so.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stator::jit {

enum class Mode : uint8_t { Off, On, All };

enum class LogTarget : uint8_t { Stderr, Logging };

enum class OptionKind : uint8_t { Mode, Flag, Count, Size, Text, Patterns, Logs, LogTarget };

struct Options {
#define OPTION(field, type, variable, kind, fallback, help) type field{};
#define LOG(id, name, help)
#include "jit/options.def"
#undef OPTION
#undef LOG
    Options();  // the defaults of the table
};

enum class LogArtifact : uint8_t {
#define OPTION(field, type, variable, kind, fallback, help)
#define LOG(id, name, help) id,
#include "jit/options.def"
#undef OPTION
#undef LOG
};

struct OptionRow {
    std::string_view field, variable;
    OptionKind kind;
    std::string_view fallback, help;
};
struct LogRow {
    std::string_view name, help;
};
std::span<const OptionRow> option_rows();
std::span<const LogRow> log_rows();

inline bool logs(const Options& o, LogArtifact a) { return o.log >> static_cast<int>(a) & 1; }

// Options from an environment block ("NAME=value" strings, null at the end). Each unknown STATOR* variable
// and each bad value adds one line to `problems`, which names the variable, what was found, and what would be
// right.
Options parse_environment(const char* const* environment, std::vector<std::string>& problems);

// One option by its Python name. False leaves `options` as it was, with the reason in `error`.
bool set_option(Options& options, std::string_view field, std::string_view text, std::string& error);
// The text that set_option reads back to the same value; "" for a field that does not exist.
std::string get_option(const Options& options, std::string_view field);

std::string help_text();      // every variable, its default and what it does
std::string log_help_text();  // what STATOR_LOG=help prints

// Whether `name` matches a pattern with * (any characters) and ? (one character).
bool matches(std::string_view pattern, std::string_view name);

}  // namespace stator::jit
