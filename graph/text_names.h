// Spellings shared by the printer and the parser, one table each, indexed by the enumerator.
#pragma once

#include <array>
#include <cctype>
#include <string_view>

#include "graph/graph.h"

namespace stator::graph::text {

// Box and InputKind differ in order; both are spelled as Python would say the type.
inline constexpr std::array<std::string_view, 6> kBox = {"array", "npscalar", "float",
                                                         "int",   "bool",     "complex"};
inline constexpr std::array<std::string_view, 6> kInputKind = {"array", "float",   "int",
                                                               "bool",  "complex", "npscalar"};
inline constexpr std::array<std::string_view, 3> kLayout = {"contiguous", "inner", "strided"};
inline constexpr std::array<std::string_view, 4> kHost = {"numpy", "torch", "cupy", "torch_cuda"};
inline constexpr std::array<std::string_view, 1> kReduceOrder = {"c"};
inline constexpr std::array<std::string_view, 4> kRelation = {"==", "!=", ">=", "<"};

// Names that need no quotes.
constexpr bool plain_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '#' || c == '<' || c == '>' || c == '/' || c == '-';
}
constexpr bool is_plain(std::string_view s) {
    if (s.empty() || s.front() == '-') return false;
    for (char c : s)
        if (!plain_char(c)) return false;
    return true;
}

// Length of a Python source expression at the start of `s`, which ends at " {" outside brackets and quotes,
// or at the end of `s`; npos when brackets or quotes do not match, or it holds characters that need escapes.
constexpr size_t source_length(std::string_view s) {
    int depth = 0;
    char quote = 0;
    size_t i = 0;
    for (; i < s.size(); ++i) {
        char c = s[i];
        if (static_cast<unsigned char>(c) < 32 || c == 127 || c == '\\') return std::string_view::npos;
        if (quote) {
            if (c == quote) quote = 0;
            continue;
        }
        if (c == '\'' || c == '"') quote = c;
        if (c == ' ' && depth == 0 && i + 1 < s.size() && s[i + 1] == '{') break;
        if (c == '(' || c == '[' || c == '{') ++depth;
        if ((c == ')' || c == ']' || c == '}') && --depth < 0) return std::string_view::npos;
    }
    return quote || depth ? std::string_view::npos : i;
}
constexpr bool is_plain_source(std::string_view s) {
    return !s.empty() && s.front() != '"' && s.front() != ' ' && s.front() != '#' && s.front() != '{' &&
           s.back() != ' ' && s.find(';') == std::string_view::npos && source_length(s) == s.size();
}

}  // namespace stator::graph::text
