// Running a guard program: one pass over a flat array of instructions, nothing allocated, no Python code run.
#include "guards/check/check.h"

#include <cstring>

#include "guards/check/functions.h"
#include "guards/check/impl.h"
#include "guards/check/module.h"

namespace stator::guards {
namespace {

// Objects read so far, and the references taken for them.
struct Run {
    const GuardProgram::Impl& p;
    EntryState& out;

    bool give(const Instr& in, PyObject* borrowed) {
        if (!borrowed) return false;
        out.objects[in.src] = borrowed;
        if (in.own) out.owned[out.owned_count++] = Py_NewRef(borrowed);
        return true;
    }
    bool give_new(const Instr& in, PyObject* reference) {
        if (!reference) return false;
        out.objects[in.src] = reference;
        if (in.own)
            out.owned[out.owned_count++] = reference;
        else
            Py_DECREF(
                reference);  // pinned: the very next instruction compares it with an object the program owns
        return true;
    }
};

// A name in one dictionary, or in a second one behind it; looked up again only when a dictionary has changed.
bool read_names(Run& run, const Instr& in, PyObject* first, PyObject* second, PyObject* name) {
    const uint64_t tags[2] = {dict_version(first), second ? dict_version(second) : 0};
    if (in.value && tags[0] && tags[0] == in.tag[0] && tags[1] == in.tag[1]) return run.give(in, in.value);
    PyObject* found = PyDict_GetItemWithError(first, name);
    if (!found && second && !PyErr_Occurred()) found = PyDict_GetItemWithError(second, name);
    if (!found) {
        PyErr_Clear();
        in.value = nullptr;
        return false;
    }
    in.tag[0] = tags[0];
    in.tag[1] = tags[1];
    in.value = found;
    return run.give(in, found);
}

bool read_cell(Run& run, const Instr& in, PyObject* base) {
    return PyCell_Check(base) && run.give(in, PyCell_GET(base));
}

bool read_func_cell(Run& run, const Instr& in, PyObject* base) {
    PyObject* closure = is_function(base) ? PyFunction_GET_CLOSURE(base) : nullptr;
    return closure && in.lo < PyTuple_GET_SIZE(closure) && run.give(in, PyTuple_GET_ITEM(closure, in.lo));
}

bool check_length(const Instr& in, PyObject* o) {
    if (PyTuple_Check(o)) return PyTuple_GET_SIZE(o) == in.lo;  // a named one, too
    if (PyList_CheckExact(o)) return PyList_GET_SIZE(o) == in.lo;
    return is_plain_dict(o) && PyDict_GET_SIZE(o) == in.lo;
}

// The keys (a tuple of strings) are there in this order.
bool check_keys(const Instr& in, PyObject* o) {
    if (!PyDict_CheckExact(o) || PyDict_GET_SIZE(o) != PyTuple_GET_SIZE(in.p)) return false;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    for (Py_ssize_t i = 0; PyDict_Next(o, &at, &key, &value); ++i)
        if (!same_value(key, PyTuple_GET_ITEM(in.p, i))) return false;
    return true;
}

bool check_int(const Run& run, const Instr& in, PyObject* o) {
    int64_t value;
    if (!int_value(o, &value) || value < in.lo || value > in.hi) return false;
    if (in.first >= 0) {
        int64_t& symbol = run.out.symbols[in.first];
        if (in.ndim == Axis::Define)
            symbol = value;
        else if (symbol != value)
            return false;
    }
    std::memcpy(run.out.scalars + 16 * in.input, &value, sizeof value);
    return true;
}

// The class is the recorded one and holds what it held. A method must also be what the instance's own lookup
// ends in: an instance attribute of the same name would be called without `self`.
bool check_type_attrs(const Instr& in, PyObject* o) {
    auto* type = reinterpret_cast<PyTypeObject*>(in.p);
    if (Py_TYPE(o) != type || class_lookup(type, in.q) != in.value) return false;
    if (!in.value || PyType_Check(o) || !PyType_HasFeature(Py_TYPE(in.value), Py_TPFLAGS_METHOD_DESCRIPTOR))
        return true;
    PyObject* method = read_attr(o, in.q);
    Py_XDECREF(method);
    return method == in.value;
}

// A version belongs to one state of one class for ever: while it stands nothing need be looked up.
bool check_type_names(const GuardProgram::Impl& p, const Instr& in, PyObject* o) {
    auto* type = reinterpret_cast<PyTypeObject*>(in.p);
    if (Py_TYPE(o) != type) return false;
    if (const uint64_t version = type->tp_version_tag; version && version == in.tag[0]) [[likely]]
        return true;
    for (int64_t i = in.lo; i < in.hi; ++i)
        if (const auto& [name, value] = p.type_names[static_cast<size_t>(i)];
            class_lookup(type, name) != value)
            return false;
    in.tag[0] = type->tp_version_tag;
    return true;
}

bool step(Run& run, const Instr& in) {
    PyObject** objects = run.out.objects;
    PyObject* o = objects[in.src];
    char* scalar = run.out.scalars + 16 * static_cast<ptrdiff_t>(in.input);
    switch (in.op) {
        case Op::ReadGlobal: return read_names(run, in, in.p, in.q, run.p.sources[in.src].key);
        case Op::ReadModule: {
            PyObject* module = objects[in.other];
            return PyModule_CheckExact(module) && read_names(run, in, in.p, nullptr, in.q);
        }
        case Op::ReadAttr: return objects[in.other] && run.give_new(in, read_attr(objects[in.other], in.q));
        case Op::ReadItem: return objects[in.other] && run.give(in, read_item(objects[in.other], in.q));
        case Op::ReadCell: return objects[in.other] && read_cell(run, in, objects[in.other]);
        case Op::ReadFuncCell: return objects[in.other] && read_func_cell(run, in, objects[in.other]);
        case Op::ReadTypeOf:
            return objects[in.other] && run.give(in, reinterpret_cast<PyObject*>(Py_TYPE(objects[in.other])));
        case Op::ReadLength: return objects[in.other] && run.give_new(in, read_length(objects[in.other]));
        case Op::ReadObject: return run.give(in, in.p);
        case Op::Array:
            if (!o || !check_array(run.p, in, o, run.out.symbols)) return false;
            run.out.inputs[in.input] = o;
            if (in.ndim == 0) array_scalar(o, scalar);
            return true;
        case Op::Tensor: {
            TensorView& view = run.out.tensors[in.input];
            if (!o || !check_tensor(run.p, in, o, run.out.symbols, &view)) return false;
            run.out.inputs[in.input] = o;
            if (in.ndim == 0 && view.device < 0) std::memcpy(scalar, view.data, static_cast<size_t>(in.lo));
            return true;
        }
        case Op::Cupy: {
            // What a 0-d array holds is the device's: kernels read it there.
            if (!o || !check_cupy(run.p, in, o, run.out.symbols, &run.out.tensors[in.input])) return false;
            run.out.inputs[in.input] = o;
            return true;
        }
        case Op::CupyState: return check_cupy_state(in);
        case Op::TorchState: return check_torch_state(in);
        case Op::HostArray: return o && is_host_array(o, in.lo);
        case Op::Float: {
            if (!o || !PyFloat_CheckExact(o)) return false;
            const double value = PyFloat_AS_DOUBLE(o);
            std::memcpy(scalar, &value, sizeof value);
            run.out.inputs[in.input] = o;
            return true;
        }
        case Op::Int:
            if (!o || !check_int(run, in, o)) return false;
            run.out.inputs[in.input] = o;
            return true;
        case Op::Bool:
            if (o != Py_True && o != Py_False) return false;
            *scalar = o == Py_True;
            run.out.inputs[in.input] = o;
            return true;
        case Op::Complex:
            if (!o || !PyComplex_CheckExact(o)) return false;
            std::memcpy(scalar, &reinterpret_cast<PyComplexObject*>(o)->cval, 16);
            run.out.inputs[in.input] = o;
            return true;
        case Op::NpScalar:
            if (!o || Py_TYPE(o) != reinterpret_cast<PyTypeObject*>(in.p)) return false;
            std::memcpy(scalar, scalar_bits(o), static_cast<size_t>(in.lo));
            run.out.inputs[in.input] = o;
            return true;
        case Op::Type: return o && Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(in.p);
        case Op::Is: return o == in.p;
        case Op::Equal: return o && same_value(o, in.p);
        case Op::Same: return o == objects[in.other];
        case Op::NotSame: return o != objects[in.other];
        case Op::NotDictOf: return !objects[in.other] || o != GuardProgram::dict_of(objects[in.other]);
        case Op::Length: return o && check_length(in, o);
        case Op::Keys: return o && check_keys(in, o);
        case Op::TypeAttrs: return o && check_type_attrs(in, o);
        case Op::TypeNames: return o && check_type_names(run.p, in, o);
        case Op::Mro:
            return o && Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(in.p) && Py_TYPE(o)->tp_mro == in.value;
        case Op::Stored:
            return o && Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(in.p) &&
                   GuardProgram::can_store(o, in.q);
        case Op::Function: return o && same_function(run.p.guards[in.guard], o);
        case Op::Present: return o != nullptr;
        case Op::NoOverlap: return check_overlap(run.p, in, objects);
        case Op::Relation: return true;
    }
    return false;
}

bool holds(Relation r, int64_t a, int64_t b) {
    switch (r) {
        case Relation::Eq: return a == b;
        case Relation::Ne: return a != b;
        case Relation::Ge: return a >= b;
        case Relation::Lt: return a < b;
    }
    return false;
}

}  // namespace

int GuardProgram::check(PyObject* const* slots, EntryState& out) const {
    const Impl& p = *impl_;
    out.owned_count = 0;
    for (const auto& [source, slot] : p.slots) out.objects[source] = slots[slot];
    Run run{p, out};
    for (const Instr& in : p.code) {
        if (step(run, in)) [[likely]]
            continue;
        while (out.owned_count > 0) Py_DECREF(out.owned[--out.owned_count]);
        return in.guard;
    }
    return -1;
}

int GuardProgram::check_relations(std::span<const int64_t> exprs) const {
    for (const RelationInstr& r : impl_->relations)
        if (!holds(r.relation, exprs[r.a], exprs[r.b])) return r.guard;
    return -1;
}

bool GuardProgram::has_relations() const { return !impl_->relations.empty(); }
int GuardProgram::source_count() const { return static_cast<int>(impl_->sources.size()); }
int GuardProgram::guard_count() const { return static_cast<int>(impl_->guards.size()); }
GuardKind GuardProgram::kind(int guard) const { return impl_->guards[guard].kind; }

int GuardProgram::traverse(visitproc visit, void* arg) const {
    for (PyObject* o : impl_->refs) Py_VISIT(o);
    return 0;
}

std::vector<PyObject*> GuardProgram::needed() const {
    std::vector<PyObject*> all;
    const auto add = [&](PyObject* o) {
        if (o) all.push_back(o);
    };
    const auto add_items = [&](PyObject* tuple, Py_ssize_t from, Py_ssize_t each) {
        for (Py_ssize_t i = from; tuple && i < PyTuple_GET_SIZE(tuple); i += each)
            add(PyTuple_GET_ITEM(tuple, i));
    };
    for (const Guard& g : impl_->guards) switch (g.kind) {
            case GuardKind::Type:
            case GuardKind::TypeAttrs:
            case GuardKind::TypeNames:
            case GuardKind::Stored:
            case GuardKind::Is: add(g.obj); break;
            case GuardKind::Function:
                add(g.code);
                add(PyFunction_GET_GLOBALS(g.obj));
                add_items(g.name, 0, 1);
                add_items(g.keywords, 1, 2);
                if (g.flag) add_items(g.found, 0, 1);
                break;
            default: break;
        }
    return all;
}

}  // namespace stator::guards
