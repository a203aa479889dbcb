// How sources read in Python. Only text: which objects they name is the checker's business.
#include "guards/source.h"

#include <cctype>

namespace stator::guards {
namespace {

// Whether `.name` and `[key]` may follow directly: names, attributes, subscripts and calls. Anything else,
// such as `lambda: x` or `a + b`, is put in parentheses.
bool is_primary(std::string_view text) {
    int depth = 0;
    for (const char c : text) {
        if (c == '[' || c == '(') ++depth;
        if (c == ']' || c == ')') --depth;
        const bool word =
            std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ']' || c == ')';
        if (depth == 0 && !word && static_cast<unsigned char>(c) < 0x80) return false;
    }
    return !text.empty() && !std::isdigit(static_cast<unsigned char>(text.front()));
}

std::string primary(std::string_view base) {
    return is_primary(base) ? std::string(base) : "(" + std::string(base) + ")";
}

}  // namespace

std::string attr_text(std::string_view base, std::string_view name) {
    return primary(base) + "." + std::string(name);
}

std::string item_text(std::string_view base, std::string_view key_repr) {
    return primary(base) + "[" + std::string(key_repr) + "]";
}

std::string type_text(std::string_view base) { return "type(" + std::string(base) + ")"; }

std::string length_text(std::string_view base) { return "len(" + std::string(base) + ")"; }

}  // namespace stator::guards
