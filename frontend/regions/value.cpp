#include "frontend/regions/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "frontend/cpython/functions.h"

namespace stator::frontend::regions {

bool same(const ExprRef& a, const ExprRef& b) {
    if (a == b) return true;
    if (!a || !b || a->kind != b->kind || a->dtype != b->dtype || a->id != b->id || a->axis != b->axis ||
        a->op != b->op || a->call != b->call || a->in.size() != b->in.size())
        return false;
    for (size_t i = 0; i < a->in.size(); ++i)
        if (!same(a->in[i], b->in[i])) return false;
    return true;
}

bool Value::is_lazy() const {
    return kind == Kind::Lazy ||
           std::any_of(items.begin(), items.end(), [](const Value& item) { return item.is_lazy(); });
}

void append(std::string* out, int64_t n) {
    char digits[24];
    out->append(digits, std::to_chars(digits, digits + sizeof digits, n).ptr);
}

// By hand, because it is done for each variable wherever paths may meet.
void sign(const Value& v, std::string* out) {
    const auto text = [&] { return graph::info(v.dtype).text; };
    const auto pointer = [&](const void* p) { append(out, reinterpret_cast<intptr_t>(p)); };
    switch (v.kind) {
        case Kind::Empty: *out += "-"; break;
        case Kind::Known: *out += 'k', pointer(v.obj); break;
        case Kind::Passed: *out += "p"; break;
        case Kind::Int: *out += "i"; break;
        case Kind::Float: *out += "f"; break;
        case Kind::Bool: *out += "b"; break;
        case Kind::Scalar: (*out += "s:") += text(); break;
        case Kind::Character: *out += "ch"; break;
        case Kind::Array:
            (*out += "a:") += text();
            append(&(*out += ':'), v.rank);
            if (v.backward) *out += "-";
            if (v.fresh) *out += "n";
            if (v.permuted) *out += "p";
            if (v.held) *out += "h";
            if (v.part) *out += "!";
            break;
        case Kind::Complex: *out += "c("; break;
        case Kind::ComplexScalar: ((*out += "cs:") += text()) += "("; break;
        case Kind::Variant:
            append(&(*out += 'v'), static_cast<int>(v.expected));
            (*out += ':') += text();
            break;
        case Kind::Lazy: *out += 'l', pointer(v.expr.get()); break;
        case Kind::Tuple: *out += "("; break;
        case Kind::List: *out += "L("; break;
        case Kind::Slice: *out += "["; break;
        case Kind::Range: *out += "r("; break;
        case Kind::Rows: *out += "rs"; break;
        case Kind::Row: *out += "ro("; break;
        case Kind::RangeIter: *out += "ri("; break;
        case Kind::ArrayIter: *out += "ai("; break;
        case Kind::ReversedIter: *out += "rv("; break;
        case Kind::ItemsIter:
            append(&(*out += v.backward ? "it-" : "it"), v.rank);
            *out += "(";
            break;
        case Kind::Enumerate: *out += "en("; break;
        case Kind::Zip: *out += "z("; break;
    }
    if (v.holder >= 0) append(&(*out += '^'), v.holder);
    if (v.slot >= 0) append(&(*out += '@'), v.slot);
    if (v.slot >= 0 && v.whole) *out += "w";
    for (const Value& item : v.items) sign(item, out);
    *out += ";";
}

bool has_iterator(const Value& v) {
    return v.is_iterator() || std::any_of(v.items.begin(), v.items.end(), has_iterator);
}

std::string describe(const Value& v) {
    switch (v.kind) {
        case Kind::Empty: return "nothing";
        case Kind::Known: {
            if (v.obj == Py_None) return "None";
            const std::string name = name_for_messages(v.obj);
            return name.empty() ? kind_for_messages(v.obj) : name;
        }
        case Kind::Passed:
            return v.obj ? kind_for_messages(reinterpret_cast<PyTypeObject*>(v.obj))
                         : "an object of another kind";
        case Kind::Int: return "an int";
        case Kind::Float: return "a float";
        case Kind::Bool: return "a bool";
        case Kind::Character: return "a character of a string";
        case Kind::Complex: return "a complex number";
        case Kind::ComplexScalar:
        case Kind::Scalar: return fmt::format("a scalar of dtype {}", graph::info(v.dtype).text);
        case Kind::Array:
        case Kind::Lazy:
            return fmt::format("an array of dtype {} and rank {}", graph::info(v.dtype).text, v.rank);
        case Kind::Tuple: return "a tuple";
        case Kind::List: return "a list";
        case Kind::Slice: return "a slice";
        case Kind::Range: return "a range";
        case Kind::Rows: return "a list of rows";
        case Kind::Row: return "a row of a list";
        case Kind::RangeIter: return "an iterator of a range";
        case Kind::ArrayIter:
        case Kind::ReversedIter: return "an iterator of an array";
        case Kind::ItemsIter: return "an iterator of a tuple or list";
        case Kind::Enumerate: return "enumerate()";
        case Kind::Zip: return "zip()";
        case Kind::Variant: return "a variable without a value on some paths";
    }
    return "?";
}

}  // namespace stator::frontend::regions
