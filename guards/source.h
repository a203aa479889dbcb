// Where a guarded value comes from, as a tree whose leaves are entry slots and namespaces. Sources print as
// Python: `self.grid.shape[0]`.
//
// Reading a source never runs Python code: an attribute is read only where the lookup is shown, at each read,
// to end in a module's or instance's dictionary, a `__slots__` member, or a plain class attribute; items only
// from tuples, lists and dicts with exact str or int keys, named tuples, ordered dicts, what a
// functools.partial holds, and torch's registries of modules and parameters. What cannot be read that way
// fails the guard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

struct _object;  // PyObject; this header needs no Python.h
typedef struct _object PyObject;

namespace stator::guards {

using SourceId = int32_t;
inline constexpr SourceId kNoSource = -1;

enum class SourceKind : uint8_t {
    Slot,    // localsplus or stack slot `index` of the frame in which the trace is entered
    Global,  // name `key` in the globals `holder` (an exact dict), else in the builtins `holder2`
    Attr,    // attribute `key` of source `base` (instance, class or module); of a method, the function itself
    Item,    // base[key] of an exact tuple, list (int key) or dict (str or int key)
    Cell,    // contents of the cell object that is source `base`
    Object,  // a constant object `holder` (kept alive by the program)
    TypeOf,  // type(base)
    FuncCell,  // cell object `index` of the closure of the function that is source `base`
    Length,    // len(base) of an exact list, tuple, dict, set, str or bytes, an int
};

struct Source {
    SourceKind kind;
    SourceId base = kNoSource;
    int32_t index = -1;
    PyObject* key = nullptr;  // owned by the GuardProgram, as are the holders
    PyObject* holder = nullptr;
    PyObject* holder2 = nullptr;  // Global: builtins
    std::string text;             // Python source text
};

// Python text of a source derived from `base`; operators that bind looser than a subscript get parentheses.
std::string attr_text(std::string_view base, std::string_view name);
std::string item_text(std::string_view base, std::string_view key_repr);
std::string type_text(std::string_view base);
std::string length_text(std::string_view base);

}  // namespace stator::guards
