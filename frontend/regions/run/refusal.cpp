// See refusal.h.
#include "frontend/regions/run/refusal.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/hosts/numpy/lower.h"
#include "guards/check/names.h"

namespace stator::frontend::regions {

namespace {

std::string dtype_name(graph::DType t) {
    const std::string name = numpy::descr_of(t)->typeobj->tp_name;
    return name.starts_with("numpy.") ? name.substr(6) : name;
}

// 0 and 1 are extents that the code was made for, others are any.
std::string array_text(const EntryInput& in) {
    std::string s = fmt::format("an ndarray of {}", dtype_name(in.dtype));
    if (in.rank == 0) return s + " without axes";
    s += ", shape (";
    for (size_t d = 0; d < static_cast<size_t>(in.rank); ++d) {
        const int64_t n = d < in.extents.size() ? in.extents[d] : kPlural;
        s += n < kPlural ? fmt::format("{}{}", d > 0 ? ", " : "", n) : d > 0 ? ", any" : "any";
    }
    s += in.rank == 1 ? ",)" : ")";
    if (in.contiguous) s += ", C-contiguous";
    if (!in.contiguous) s += in.backward ? ", a negative stride" : ", strides not negative";
    if (in.written) s += ", writeable";
    return s;
}

std::string expectation(const EntryInput& in) {
    switch (in.kind) {
        case EntryInput::Int: return "an int of 64 bits";
        case EntryInput::Float: return "a float";
        case EntryInput::Bool: return "a bool";
        case EntryInput::Scalar: return fmt::format("a numpy.{}", dtype_name(in.dtype));
        case EntryInput::Array: return array_text(in);
        case EntryInput::RangeNext:
        case EntryInput::RangeLeft:
        case EntryInput::RangeStep: return "an iterator over a range that nobody else has";
        case EntryInput::IterPosition: return "an iterator over an array that nobody else has";
        case EntryInput::Real:
        case EntryInput::Imaginary: return "a complex";
        case EntryInput::ScalarReal:
        case EntryInput::ScalarImaginary:
            return fmt::format("a numpy.{}", in.dtype == graph::DType::F32 ? "complex64" : "complex128");
        case EntryInput::Sequence:
            return fmt::format("a list, tuple or string whose items are all of one kind ({})",
                               dtype_name(in.dtype));
        case EntryInput::Rows:
        case EntryInput::RowItems:
        case EntryInput::RowStarts:
            return fmt::format("rows whose items are all of one kind ({})", dtype_name(in.dtype));
        case EntryInput::List: return "a list";
        case EntryInput::Object: return "an object";
    }
    return "";
}

// What `show` leaves out of an array.
std::string layout(PyObject* o) {
    if (!o || !PyArray_Check(o)) return "";
    auto* a = reinterpret_cast<PyArrayObject*>(o);
    std::string s;
    if (!PyArray_CheckExact(o)) s += fmt::format(", a {}", Py_TYPE(o)->tp_name);
    if (!PyArray_ISALIGNED(a)) s += ", not aligned";
    if (!PyArray_ISWRITEABLE(a)) s += ", read-only";
    if (!PyArray_IS_C_CONTIGUOUS(a)) s += ", not C-contiguous";
    for (int d = 0; d < PyArray_NDIM(a); ++d)
        if (PyArray_STRIDE(a, d) < 0) return s + ", a negative stride";
    return s;
}

}  // namespace

std::string in_words(const Refusal& r, const BuiltRegion& b, const CodeInfo& code,
                     const std::vector<PyObject*>& slots) {
    const auto index = static_cast<size_t>(r.index);
    const auto name = [&](int slot) {
        return slot >= code.nlocalsplus && slot < b.depth ? std::string("what is on the stack")
                                                          : source_text(b, code, slot);
    };
    const auto found = [&](int slot) {
        PyObject* o = static_cast<size_t>(slot) < slots.size() ? slots[static_cast<size_t>(slot)] : nullptr;
        return o ? guards::show(o) + layout(o) : std::string("nothing there");
    };
    const auto differs = [&](int slot, const std::string& wanted) {
        const std::string is = found(slot);
        return fmt::format("expected {} to be {}, found {}", name(slot), wanted,
                           is == wanted ? "another object like it" : is);
    };
    switch (r.why) {
        case Refusal::None: return "";
        case Refusal::OtherStack:
            return "expected an expression of the same form around the loop, found another";
        case Refusal::Watched: return "a debugger or profiler watches a function that is a part of it";
        case Refusal::Threads:
            return "there are other threads, and attributes or items of lists would be stored late";
        case Refusal::Lost:
            return fmt::format(
                "expected {} to be readable as when it was built, found that it is missing or "
                "would run Python code",
                name(b.depth + r.index));
        case Refusal::OtherObject: {
            const auto it = std::ranges::find(b.same, r.index, [](const auto& s) { return s.first; });
            return differs(r.index, guards::show(it->second.get()));
        }
        case Refusal::OtherFunction:
            return fmt::format("expected {} to be the same function, found {}", name(r.index),
                               found(r.index));
        case Refusal::NotSame:
            return fmt::format("expected {} and {} to be one object, found two", name(r.index),
                               name(r.other));
        case Refusal::NotApart:
            return fmt::format("expected {} and {} to be two objects, found one", name(r.index),
                               name(r.other));
        case Refusal::NotEmpty:
            return fmt::format("expected {} to have no value, found {}", name(r.index), found(r.index));
        case Refusal::OtherLength: {
            const auto& [slot, type, items] = b.lengths[index];
            return fmt::format("expected {} to be a {} of {} items, found {}", name(slot), type->tp_name,
                               items, found(slot));
        }
        case Refusal::Rebound:
            return fmt::format("expected {} to be what it was, found that it was bound anew",
                               guards::utf8(b.pinned[index].key.get()));
        case Refusal::OtherCode:
            return fmt::format("expected {} to have the code and defaults it had, found them changed",
                               guards::show(b.functions[index].function.get()));
        case Refusal::NotStorable:
            return fmt::format("expected that storing to {}{} later is not noticed, found that it may be",
                               b.cells[index].globals ? "" : name(b.cells[index].owner) + ".",
                               guards::utf8(b.cells[index].name.get()));
        case Refusal::TooDeep: return "too few calls are left until RecursionError";
        case Refusal::Underflow: return "NumPy was asked to tell of underflow (np.errstate, np.seterr)";
        case Refusal::OtherInput: return differs(b.inputs[index].slot, expectation(b.inputs[index]));
        case Refusal::OtherGuarded: return differs(b.guarded[index].slot, expectation(b.guarded[index]));
        case Refusal::Overlap:
            return "expected an array that it writes to share no memory, found that it does";
        case Refusal::RowsAreShared:
            return "expected rows that nothing else shows, found rows that are shared";
    }
    return "";
}

}  // namespace stator::frontend::regions
