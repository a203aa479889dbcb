// What each instruction does to Values. See builder.h.

#include <algorithm>
#include <utility>

#include "frontend/cpython/builtins.h"
#include "frontend/cpython/functions.h"
#include "frontend/cpython/wording.h"
#include "frontend/hosts/host.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/regions/build/builder.h"
#include "frontend/regions/entry.h"
#include "guards/check/functions.h"
#include "guards/check/lazy.h"
#include "guards/check/names.h"

namespace stator::frontend::regions {

namespace {

constexpr bool kSelfBelow = PY_MINOR_VERSION < 13;  // [NULL or method, callable or self, ...]
constexpr int kInPlace = 13;                        // NB_INPLACE_ADD

}  // namespace

Value Builder::pop() {
    Value v = std::move(s_.slots.back());
    s_.slots.pop_back();
    return v;
}

bool Builder::constant(PyObject* o, Value* out) {
    if (PyBool_Check(o)) return *out = bool_value(const_bool(o == Py_True)), true;
    if (PyFloat_CheckExact(o)) return *out = float_value(const_float(PyFloat_AS_DOUBLE(o))), true;
    if (PyLong_CheckExact(o)) {
        int overflow = 0;
        const long long i = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (overflow) return unknown("an int of more than 64 bits");
        return *out = int_value(const_int(i)), true;
    }
    if (PyComplex_CheckExact(o)) {
        const Py_complex z = PyComplex_AsCComplex(o);
        *out = composed(Kind::Complex, {float_value(const_float(z.real)), float_value(const_float(z.imag))});
        return out->dtype = DType::C128, true;
    }
    if (PyTuple_CheckExact(o)) {
        *out = composed(Kind::Tuple, {});
        out->obj = keep(o);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
            Value item;
            if (!constant(PyTuple_GET_ITEM(o, i), &item)) return false;
            out->items.push_back(std::move(item));
        }
        return true;
    }
    if (PySlice_Check(o)) {  // a constant from 3.14 on
        auto* slice = reinterpret_cast<PySliceObject*>(o);
        *out = composed(Kind::Slice, {Value{}, Value{}, Value{}});
        return constant(slice->start, &out->items[0]) && constant(slice->stop, &out->items[1]) &&
               constant(slice->step, &out->items[2]);
    }
    return *out = known(keep(o)), true;
}

bool Builder::step(const Insn& insn) {
    site_ordinal_ = 0;
    switch (insn.op) {
        case Opcode::Nop:
        case Opcode::Resume: return true;
        case Opcode::PopTop: return drop(pop());
        case Opcode::PopIter: pop(); return true;
        case Opcode::EndFor:
            pop();
            if (PY_MINOR_VERSION < 13) pop();
            return true;
        case Opcode::PushNull: push({}); return true;
        case Opcode::Copy: {
            // What several targets are given is one array (a = b = x + 1, a[0] = a[:, 0] = x + 1). Others are
            // the container and the index of an augmented assignment.
            Value& v = top(insn.arg - 1);
            if (insn.arg == 1 && v.kind == Kind::Lazy && !fresh_array(&v)) return false;
            push(v);
            return true;
        }
        case Opcode::Swap: std::swap(top(), top(insn.arg - 1)); return true;
        case Opcode::LoadFast:
        case Opcode::LoadFastCheck: {
            Value& v = local(insn.arg);
            if (s_.levels.size() == 1) asked_.insert(insn.arg);
            if (v.kind == Kind::Empty) return unknown("a variable that has no value yet");
            if (!bound(&v)) return false;
            if (v.is_iterator() || (v.kind == Kind::Passed && v.slot >= 0 && v.slot < out_->depth &&
                                    is_iterator_at_entry(object_at(v.slot))))
                return unknown("an iterator that a variable holds");
            push(v);
            return true;
        }
        case Opcode::StoreFast: {
            Value v = pop();
            if (v.kind == Kind::Lazy && !fresh_array(&v)) return false;
            if (v.copied >= 0 && !copied_array(&v)) return false;
            if (!settle_strides(&v)) return false;
            // An iterator moves on; here each place that holds one would have its own.
            if (v.kind == Kind::Empty || !becomes_object(v) || has_iterator(v))
                return unknown("a variable that holds " + describe(v));
            local(insn.arg) = {};
            if (v.kind == Kind::List && !v.whole && names_of(v) > 0)
                return unknown("two names for a list that it makes");
            local(insn.arg) = std::move(v);
            return true;
        }
        case Opcode::LoadConst: {
            Value v;
            if (!constant(insn.obj, &v)) return false;
            push(std::move(v));
            return true;
        }
        case Opcode::LoadGlobal:
        case Opcode::LoadName: return on_load_global(insn);
        case Opcode::StoreGlobal:
        case Opcode::StoreName: return on_store_global(insn);
        case Opcode::LoadDeref: return on_load_deref(insn);
        case Opcode::CopyFreeVars: return on_copy_free_variables(insn);
        case Opcode::LoadAttr: return on_load_attr(insn, false);
        case Opcode::LoadMethod: return on_load_attr(insn, true);
        case Opcode::StoreAttr: return on_store_attr(insn);
        case Opcode::BinaryOp: return on_binary(insn);
        case Opcode::CompareOp: return on_compare(insn);
        case Opcode::UnaryNegative:
        case Opcode::UnaryPositive:
        case Opcode::UnaryInvert:
        case Opcode::UnaryNot:
        case Opcode::ToBool: return on_unary(insn);
        case Opcode::IsOp: {
            const Value b = pop(), a = pop();
            const bool sure = a.kind == Kind::Known || b.kind == Kind::Known;
            if (!sure || a.kind == Kind::Passed || b.kind == Kind::Passed || a.kind == Kind::Empty)
                return unknown("an identity test");
            if ((a.kind == Kind::Known) != (b.kind == Kind::Known) && !a.is_none() && !b.is_none())
                return unknown("an identity test");
            const bool same = a.kind == Kind::Known && b.kind == Kind::Known && a.obj == b.obj;
            push(bool_value(const_bool(same != (insn.arg == 1))));
            return true;
        }
        case Opcode::ContainsOp: return on_contains(insn);
        case Opcode::ListAppend: return on_list_append(insn);
        case Opcode::BinarySubscr:
        case Opcode::BinarySlice: return on_subscript(insn);
        case Opcode::StoreSubscr:
        case Opcode::StoreSlice: return on_store_subscript(insn);
        case Opcode::BuildTuple: {
            Value t = composed(Kind::Tuple, {});
            t.items.assign(s_.slots.end() - insn.arg, s_.slots.end());
            for (Value& v : t.items) {
                if (v.kind == Kind::Empty || v.is_iterator() || (v.kind == Kind::List && !v.whole))
                    return unknown("a tuple with " + describe(v));
                if (!settle_strides(&v)) return false;
            }
            s_.slots.resize(s_.slots.size() - static_cast<size_t>(insn.arg));
            push(std::move(t));
            return true;
        }
        case Opcode::BuildList: return on_build_list(insn);
        case Opcode::ListExtend: return on_list_extend(insn);
        case Opcode::BuildSlice: return on_build_slice(insn);
        case Opcode::UnpackSequence: return on_unpack(insn);
        case Opcode::Call: return on_call(insn);
        case Opcode::ReturnValue: return on_return();
        case Opcode::Jump:
            if (insn.flags & Insn::kBackward) {
                graph::Inst poll = poll_before(insn.target);
                poll.exit = exit_for(resume_at(insn.target, s_), "poll");
                if (poll.exit < 0) return unknown("an unfinished expression at the end of an iteration");
                emit_effect(std::move(poll));
            }
            return jump_to(insn.target);
        case Opcode::PopJumpIfTrue:
        case Opcode::PopJumpIfFalse:
        case Opcode::PopJumpIfNone:
        case Opcode::PopJumpIfNotNone:
        case Opcode::JumpIfTrueOrPop:
        case Opcode::JumpIfFalseOrPop: return on_branch(insn);
        case Opcode::GetIter: return on_get_iter(insn);
        case Opcode::ForIter: return on_for_iter(insn);
        default: return unknown(in_words(insn.op));
    }
}

// ---- names ----

PyObject* Builder::globals_of(const Level& level) const {
    return level.function ? PyFunction_GET_GLOBALS(level.function) : f_.globals();
}

bool Builder::on_load_global(const Insn& insn) {
    PyObject* function = s_.levels.back().function;
    PyObject* globals = globals_of(s_.levels.back());
    PyObject* builtins =
        function ? reinterpret_cast<PyFunctionObject*>(function)->func_builtins : f_.builtins();
    if (!PyDict_CheckExact(globals) || !PyDict_CheckExact(builtins))
        return unknown("a namespace that is no dict");
    const bool null = insn.flags & Insn::kPushNull;
    const auto done = [&](Value v) {
        if (null && kSelfBelow) push({});
        push(std::move(v));
        if (null && !kSelfBelow) push({});
        return true;
    };
    if (Value* stored = stored_place(globals, insn.obj)) return bound(stored) && done(*stored);
    PyObject* o = PyDict_GetItem(globals, insn.obj);
    out_->pinned.push_back({PyRef::borrow(globals), PyRef::borrow(insn.obj), PyRef::borrow(o)});
    if (!o) {
        o = PyDict_GetItem(builtins, insn.obj);
        if (!o) return unknown("a name that is not defined");
        out_->pinned.push_back({PyRef::borrow(builtins), PyRef::borrow(insn.obj), PyRef::borrow(o)});
    }
    if (guards::is_lazy_import(o)) return unknown("a module that has not been imported yet");
    Value v = known(o);
    if ((PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o)) && !constant(o, &v)) return false;
    const EntryKind::Kind kind = classify(o).kind;
    // Globals that functions read are constants, as a rule. At module level they are the variables.
    const bool variable = insn.op == Opcode::LoadName && PyDict_Contains(globals, insn.obj) == 1;
    const bool numbers = !variable && (PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o));
    if (!numbers && (kind != EntryKind::Other || !keeps_identity(o))) {
        // What a name leads to may be another object of its kind next time.
        out_->pinned.pop_back();
        EntrySource s{EntrySource::Global};
        s.object = PyRef::borrow(globals);
        s.name = PyRef::borrow(insn.obj);
        v = source_value(std::move(s), o);
    }
    return done(std::move(v));
}

bool Builder::on_load_attr(const Insn& insn, bool method) {
    Value owner = pop();
    const auto done = [&](Value v) {
        if (method && kSelfBelow) push({});
        push(std::move(v));
        if (method && !kSelfBelow) push({});
        return true;
    };
    const std::string attr = guards::utf8(insn.obj);
    if (owner.kind == Kind::Known && PyModule_CheckExact(owner.obj)) {
        PyObject* dict = PyModule_GetDict(owner.obj);
        PyObject* o = PyDict_GetItem(dict, insn.obj);
        if (!o || guards::is_lazy_import(o) || stored_place(dict, insn.obj))
            return unknown("attribute " + attr + " of a module");
        out_->pinned.push_back(
            {PyRef::borrow(dict), PyRef::borrow(insn.obj), PyRef::borrow(o), PyRef::borrow(owner.obj)});
        Value v = known(o);
        if ((PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o)) && !constant(o, &v))
            return false;
        return done(std::move(v));
    }
    if (owner.kind == Kind::Passed) {
        Value v;
        bool is_method = false;
        if (!attribute(owner, insn.obj, &v, &is_method)) return false;
        if (!is_method) return done(std::move(v));
        if (!method) return unknown("a method that is not called at once");
        push(std::move(v));  // [method, self], in all versions
        push(std::move(owner));
        return true;
    }
    const bool of_ufunc = owner.kind == Kind::Known && Py_TYPE(owner.obj) == &PyUFunc_Type;
    if (method && of_ufunc && (attr == "outer" || attr == "reduce")) {
        push(known(numpy::ufunc_method(attr.c_str())));
        push(owner);
        return true;
    }
    if (owner.is_array()) {
        Value a;
        const bool measured = attr == "shape" || attr == "size" || attr == "ndim";
        if (measured && !drop(owner)) return false;
        if (attr == "shape") {
            Value t = composed(Kind::Tuple, {});
            for (ValueId e : extents_of(owner)) t.items.push_back(int_value(e));
            return done(std::move(t));
        }
        if (attr == "size") {
            ValueId n = const_int(1);
            for (ValueId e : extents_of(owner))
                n = pointwise(graph::Op::Multiply, DType::I64, DType::I64, {n, e});
            return done(int_value(n));
        }
        if (attr == "ndim") return done(int_value(const_int(owner.rank)));
        if (attr == "dtype" && owner.kind == Kind::Array)
            return done(known(reinterpret_cast<PyObject*>(numpy::descr_of(owner.dtype))));
        if (attr == "real" || attr == "imag") {
            Value v;
            return complex_part(owner, attr == "imag", &v) && done(std::move(v));
        }
        PyObject* descriptor = method ? numpy::array_method(attr.c_str()) : nullptr;
        if (descriptor && Py_TYPE(descriptor) == &PyMethodDescr_Type) {
            push(known(descriptor));  // [method, self], in all versions
            push(owner);
            return true;
        }
        if (attr == "T") {
            Value v;
            std::vector<int> axes;
            for (int i = owner.rank; i-- > 0;) axes.push_back(i);
            return permute(owner, axes, &v) && done(std::move(v));
        }
        return unknown("attribute " + attr + " of an array");
    }
    if (owner.is_complex_number() && (attr == "real" || attr == "imag")) {
        const Value& part = owner.items[attr == "imag"];
        return done(owner.kind == Kind::Complex ? float_value(part.id) : scalar_value(part.dtype, part.id));
    }
    return unknown("attribute " + attr + " of " + describe(owner));
}

// ---- operators ----

bool Builder::on_binary(const Insn& insn) {
    if (insn.arg >= 2 * kInPlace) {  // 3.14: NB_SUBSCR
        return on_subscript(insn);
    }
    const Value b = pop(), a = pop();
    Value out;
    const bool in_place = insn.arg >= kInPlace;
    const int nb = insn.arg % kInPlace;
    if (a.is_array() || b.is_array()) {
        if (!operator_arrays(nb, in_place, a, b, &out)) return false;
    } else if (a.kind == Kind::ComplexScalar || b.kind == Kind::ComplexScalar) {
        if (!first_known([&] { return binary_complex_scalars(nb, a, b, &out); },
                         [&] { return operator_by_host(nb, false, a, b, &out); }))
            return false;
    } else if (a.is_complex_number() || b.is_complex_number()) {
        if (!first_known([&] { return binary(nb, in_place, a, b, &out); },
                         [&] { return binary_python_complex(nb, a, b, &out); },
                         [&] { return operator_by_host(nb, false, a, b, &out); }))
            return false;
    } else if (!binary(nb, in_place, a, b, &out)) {
        return false;
    }
    push(std::move(out));
    return true;
}

bool Builder::operator_arrays(int nb, bool in_place, const Value& a, const Value& b, Value* out) {
    if (!(in_place && a.is_array()) && !keeps_order(nb, b)) return false;
    return first_known([&] { return binary_arrays(nb, in_place, a, b, out); },
                       [&] { return operator_by_host(nb, in_place, a, b, out); });
}

bool Builder::on_compare(const Insn& insn) {
    const Value b = pop(), a = pop();
    Value out;
    const auto fits = [](const Value& v) { return v.is_number() || v.is_array() || v.is_complex_number(); };
    if (fits(a) && fits(b) && (a.is_array() || b.is_array())) {
        if (!compare_arrays(insn.arg, a, b, &out)) return false;
        push(std::move(out));
        return true;
    }
    const Did did = compare_small(insn.arg, a, b, &out);
    if (!did.handled() && a.is_number() && b.is_number()) {
        if (!compare(insn.arg, a, b, &out)) return false;
    } else if (!did.done()) {
        return unknown("a comparison of " + describe(a) + " with " + describe(b));
    }
    if (insn.flags & Insn::kToBool) {
        ValueId t;
        if (!truth(out, &t)) return false;
        out = bool_value(t);
    }
    push(std::move(out));
    return true;
}

bool Builder::on_unary(const Insn& insn) {
    Value a = pop(), out;
    switch (insn.op) {
        case Opcode::ToBool:
        case Opcode::UnaryNot: {
            ValueId t;
            if (!truth(a, &t)) return false;
            if (insn.op == Opcode::UnaryNot)
                t = pointwise(graph::Op::LogicalNot, DType::Bool, DType::Bool, {t});
            out = bool_value(t);
            break;
        }
        case Opcode::UnaryNegative:
            if (a.is_array() && graph::is_complex(a.dtype)) {
                if (!unary_complex("negative", a, &out)) return false;
            } else if (a.is_array()) {
                if (!graph::is_float(a.dtype) && !graph::is_signed(a.dtype))
                    return unknown("- of " + describe(a));
                if (!elementwise(graph::Op::Negative, a.dtype, a.dtype, {a}, &out)) return false;
            } else if (!negate(a, &out)) {
                return false;
            }
            break;
        case Opcode::UnaryInvert:
            if (a.kind == Kind::Int || (a.kind == Kind::Scalar && graph::is_integer(a.dtype))) {
                out = a;
                out.whole = false;
                out.id = pointwise(graph::Op::Invert, a.dtype, a.dtype, {a.id});
                break;
            }
            if (a.kind == Kind::Scalar && a.dtype == DType::Bool) {
                out = scalar_value(DType::Bool,
                                   pointwise(graph::Op::LogicalNot, DType::Bool, DType::Bool, {a.id}));
                break;
            }
            if (a.is_array() && (a.dtype == DType::Bool || graph::is_integer(a.dtype))) {
                if (!elementwise(graph::Op::Invert, a.dtype, a.dtype, {a}, &out)) return false;
                break;
            }
            return unknown("~ of " + describe(a));
        default: return unknown("+ of " + describe(a));
    }
    push(std::move(out));
    return true;
}

bool Builder::on_build_slice(const Insn& insn) {
    Value s = composed(Kind::Slice, {});
    s.items.assign(s_.slots.end() - insn.arg, s_.slots.end());
    s_.slots.resize(s_.slots.size() - static_cast<size_t>(insn.arg));
    if (s.items.size() == 2) s.items.push_back(known(Py_None));
    push(std::move(s));
    return true;
}

bool Builder::on_subscript(const Insn& insn) {
    Value key;
    if (insn.op == Opcode::BinarySlice) {
        const Value stop = pop(), start = pop();
        key = composed(Kind::Slice, {start, stop, known(Py_None)});
    } else {
        key = pop();
    }
    const Value from = pop();
    Value out;
    const bool chosen = key.kind != Kind::Int || !known_int(key.id);
    const auto pushes = [&](Did did) { return did.done() && (push(std::move(out)), true); };
    if (chosen)
        if (Did did = item_of_sequence(from, key, &out); did.handled()) return pushes(did);
    if (chosen || from.kind == Kind::Row)
        if (Did did = subscript_rows(from, key, &out); did.handled()) return pushes(did);
    const Value a = looked_into(from);
    PyObject* o = a.kind == Kind::Passed && a.slot >= 0 ? object_at(a.slot) : nullptr;
    if (o && PyDict_CheckExact(o) && key.kind == Kind::Known && PyUnicode_CheckExact(key.obj)) {
        PyObject* item = PyDict_GetItem(o, key.obj);
        if (!item) return unknown("an item that a dict does not have");
        EntrySource s{EntrySource::DictItem, a.slot};
        s.name = PyRef::borrow(key.obj);
        push(source_value(std::move(s), item));
        return true;
    }
    if (!chosen) {
        if (Did did = item_of_sequence(a, key, &out); did.handled()) return pushes(did);
        if (a.kind == Kind::Passed)
            if (Did did = subscript_rows(a, key, &out); did.handled()) return pushes(did);
    }
    if ((a.kind == Kind::Tuple || a.kind == Kind::List) && key.kind == Kind::Int && chosen) {
        if (!one_of(a.items, key, &out)) return false;
        push(std::move(out));
        return true;
    }
    if ((a.kind == Kind::Tuple || a.kind == Kind::List) && key.kind == Kind::Int) {
        auto i = known_int(key.id);
        const auto n = static_cast<int64_t>(a.items.size());
        if (!i || *i < -n || *i >= n) return unknown("an item of " + describe(a));
        const auto at = static_cast<size_t>(*i < 0 ? *i + n : *i);
        for (size_t k = 0; k < a.items.size(); ++k)
            if (k != at && !drop(a.items[k])) return false;
        push(a.items[at]);
        return true;
    }
    if (!a.is_array()) return unknown("an item of " + describe(a));
    Value array = a;
    if (a.kind == Kind::Lazy && !as_array(a, &array)) return false;
    if (!subscript(array, key, &out)) return false;
    push(std::move(out));
    return true;
}

bool Builder::on_store_subscript(const Insn& insn) {
    Value key;
    if (insn.op == Opcode::StoreSlice) {
        const Value stop = pop(), start = pop();
        key = composed(Kind::Slice, {start, stop, known(Py_None)});
    } else {
        key = pop();
    }
    const Value a = pop(), value = pop();
    if (a.kind == Kind::List) return store_item(a, key, value);
    if (Did did = store_in_row(a, key, value); did.handled()) return did.done();
    if (Did did = store_in_sequence(a, key, value); did.handled()) return did.done();
    if (a.kind != Kind::Array) return unknown("a store into " + describe(a));
    return store(a, key, value);
}

bool Builder::on_unpack(const Insn& insn) {
    const Value t = looked_into(pop());
    if (Did did = unpack_row(t, insn.arg); did.handled()) return did.done();
    if (t.is_array() && t.rank > 0 && insn.arg > 0) {  // its rows or elements
        Value array = t, item;
        if (t.kind == Kind::Lazy && !as_array(t, &array)) return false;
        const ValueId n = extent(array.id, 0), wanted = const_int(insn.arg);
        if (known_int(n) != insn.arg &&
            !guard(pointwise(graph::Op::Equal, DType::I64, DType::Bool, {n, wanted})))
            return false;
        for (int i = insn.arg; i-- > 0;) {
            if (!item_at(array, const_int(i), &item)) return false;
            push(item);
        }
        return true;
    }
    if ((t.kind != Kind::Tuple && t.kind != Kind::List) || static_cast<int>(t.items.size()) != insn.arg)
        return unknown("unpacking " + describe(t));
    for (auto it = t.items.rbegin(); it != t.items.rend(); ++it) push(*it);
    return true;
}

// ---- calls ----

// `random.uniform`, which is bound to a hidden object of its module.
static bool is_method_of_python(PyObject* callable) {
    if (!PyMethod_Check(callable)) return false;
    PyObject* const function = PyMethod_GET_FUNCTION(callable);
    return guards::is_function(function) && !numpy::is_numpys_own(function);
}

bool Builder::on_call(const Insn& insn) {
    PyObject* names = insn.obj;
    if (insn.flags & Insn::kKwOnStack) {
        const Value v = pop();
        if (v.kind != Kind::Tuple || !v.obj) return unknown("a call with keywords");
        names = v.obj;
    }
    std::vector<Value> args(s_.slots.end() - insn.arg, s_.slots.end());
    s_.slots.resize(s_.slots.size() - static_cast<size_t>(insn.arg));
    const Value second = pop(), first = pop();
    Value callable = kSelfBelow ? second : first, self = kSelfBelow ? first : second;
    if (kSelfBelow && first.kind != Kind::Empty) {
        callable = first;
        self = second;
    }
    if (self.kind != Kind::Empty) args.insert(args.begin(), self);
    if (self.kind != Kind::Empty && args.size() > static_cast<size_t>(insn.arg) + 1) return unknown("a call");
    if (callable.kind != Kind::Known) return unknown("a call of " + describe(callable));
    Value out;
    const bool numpys = guards::is_function(callable.obj) && numpy::is_numpys_own(callable.obj);
    if (guards::is_function(callable.obj) && !numpys) return call_function(callable, args, names);
    if (is_method_of_python(callable.obj)) {
        if (Did did = call_draw(callable.obj, args, names, &out); did.handled())
            return did.done() && (push(std::move(out)), true);
        EntrySource self_of{EntrySource::BoundTo};
        self_of.object = PyRef::borrow(callable.obj);
        args.insert(args.begin(), source_value(std::move(self_of), PyMethod_GET_SELF(callable.obj)));
        return call_function(known(keep(PyMethod_GET_FUNCTION(callable.obj))), args, names);
    }
    if (!call_known(callable.obj, args, names, &out)) return false;
    if (!ended_) push(std::move(out));  // else each way goes on with a result of its own
    return true;
}

// What has no code here is NumPy's own call, where the function is pure. What the attempt has written down by
// then does no harm.
bool Builder::call_known(PyObject* callable, const std::vector<Value>& args, PyObject* names, Value* out) {
    std::vector<Value> bound = args;
    reducing_ = {};
    if (Did did = call_draw(callable, bound, names, out); did.handled()) return did.done();
    const bool bound_all = bind_known(callable, &bound, names);
    return first_known([&] { return bound_all && call_python(callable, bound, out); },
                       [&] {
                           if (!call_host(callable, args, names, out)) return false;
                           if (bound_all) note_extents(callable, bound, *out);
                           return true;
                       });
}

bool Builder::call_range(std::vector<Value>& args, Value* out) {
    if (args.empty() || args.size() > 3) return unknown("range() of so many arguments");
    for (Value& a : args)
        if (a.kind != Kind::Int) return unknown("range() of " + describe(a));
    Value start = args.size() > 1 ? args[0] : int_value(const_int(0));
    Value stop = args.size() > 1 ? args[1] : args[0];
    Value step = args.size() > 2 ? args[2] : int_value(const_int(1));
    for (Value* v : {&start, &stop, &step}) v->whole = false;
    *out = composed(Kind::Range, {start, stop, step});
    return true;
}

bool Builder::call_slice(const std::vector<Value>& args, Value* out) {
    if (args.empty() || args.size() > 3) return unknown("slice() of so many arguments");
    for (const Value& a : args)
        if (!a.is_number() && !a.is_none()) return unknown("slice() of " + describe(a));
    const Value none = known(Py_None);
    *out = composed(Kind::Slice, args.size() == 1 ? std::vector<Value>{none, args[0]} : args);
    out->items.resize(3, none);
    return true;
}

bool Builder::call_python(PyObject* callable, std::vector<Value>& args, Value* out) {
    static PyObject *const range = builtin("range"), *const len = builtin("len"), *const abs = builtin("abs"),
                           *const divmod = builtin("divmod"), *const pow = builtin("pow");
    if (callable == range) return call_range(args, out);
    if (callable == reinterpret_cast<PyObject*>(&PySlice_Type)) return call_slice(args, out);
    if (callable == reinterpret_cast<PyObject*>(&PyEnum_Type)) return call_enumerate(args, out);
    if (callable == reinterpret_cast<PyObject*>(&PyZip_Type)) return call_zip(args, out);
    if (callable == reinterpret_cast<PyObject*>(&PyReversed_Type)) return call_reversed(args, out);
    if (callable == len && args.size() == 1) {
        args[0] = looked_into(args[0]);
        Value items;
        Did did = sequence_array(args[0], &items);
        if (did.done()) *out = int_value(extent(items.id, 0));
        if (did.handled()) return did.done();
        if (args[0].kind == Kind::Tuple || args[0].kind == Kind::List) {
            *out = int_value(const_int(static_cast<int64_t>(args[0].items.size())));
            return true;
        }
        did = rows_iterated(args[0], &items);
        if (did.done()) *out = int_value(items_of_iterated(items));
        if (did.handled()) return did.done();
        if (args[0].is_array() && args[0].rank > 0) {
            *out = int_value(extents_of(args[0])[0]);
            return drop(args[0]);
        }
        return unknown("len() of " + describe(args[0]));
    }
    if (callable == abs && args.size() == 1 && args[0].is_array() && graph::is_complex(args[0].dtype))
        return unary_complex("absolute", args[0], out);
    if (callable == abs && args.size() == 1 && args[0].is_array() && !graph::is_complex(args[0].dtype) &&
        !graph::is_unsigned(args[0].dtype) && args[0].dtype != DType::Bool)
        return elementwise(graph::Op::Absolute, args[0].dtype, args[0].dtype, {args[0]}, out);
    if (callable == pow && args.size() == 2) return binary(8, false, args[0], args[1], out);  // NB_POWER
    if (callable == divmod && args.size() == 2 && args[0].kind == Kind::Int && args[1].kind == Kind::Int) {
        Value q, m;
        if (!binary(2, false, args[0], args[1], &q) || !binary(6, false, args[0], args[1], &m)) return false;
        *out = composed(Kind::Tuple, {q, m});
        return true;
    }
    const bool is_float = callable == reinterpret_cast<PyObject*>(&PyFloat_Type) && args.size() == 1;
    if (is_float && args[0].kind == Kind::Known && PyUnicode_CheckExact(args[0].obj)) {  // float("inf")
        const PyRef x = PyRef::steal(PyFloat_FromString(args[0].obj));
        if (!x) return PyErr_Clear(), unknown("float() of that string");
        *out = float_value(const_float(PyFloat_AS_DOUBLE(x.get())));
        return true;
    }
    if (is_float && args[0].is_number()) {
        const Value& a = args[0];
        if (a.kind == Kind::Int || a.kind == Kind::Bool) {
            *out = float_value(cast(a.id, a.dtype, DType::F64));
            return true;
        }
        *out = float_value(cast(a.id, a.dtype, DType::F64));
        return true;
    }
    if (callable == reinterpret_cast<PyObject*>(&PyLong_Type) && args.size() == 1 && args[0].is_number()) {
        const Value& a = args[0];
        if (graph::is_float(a.dtype)) {
            const ValueId x = cast(a.id, a.dtype, DType::F64);
            const ValueId ax = pointwise(graph::Op::Absolute, DType::F64, DType::F64, {x});
            if (!guard(pointwise(graph::Op::Less, DType::F64, DType::Bool, {ax, const_float(9.2e18)})))
                return false;
            *out = int_value(cast(x, DType::F64, DType::I64));
            return true;
        }
        if (a.dtype == DType::U64) return unknown("int() of a uint64");
        *out = int_value(cast(a.id, a.dtype, DType::I64));
        return true;
    }
    if (Did did = call_builtin(callable, args, out); did.handled()) return did.done();
    if (Did did = call_append(callable, args, out); did.handled()) return did.done();
    if (Did did = call_math(callable, args, out); did.handled()) return did.done();
    if (Did did = call_complex(callable, args, out); did.handled()) return did.done();
    if (Did did = call_scalar_type(callable, args, out); did.handled()) return did.done();
    if (Did did = call_array(callable, args, out); did.handled()) return did.done();
    return call_numpy(callable, args, out);
}

// np.add.outer(a, b) is a[..., None, ...] + b, with an axis for each of b's.
bool Builder::call_outer(const std::vector<Value>& args, Value* out) {
    const Value &ufunc = args[0], &b = args[2];
    // Numbers become arrays, whose types count.
    if (!args[1].is_array() || !b.is_array())
        return unknown("outer() of " + describe(args[1]) + " and " + describe(b));
    Value a, array;
    if (!as_array(args[1], &array)) return false;
    Value key = composed(Kind::Tuple, {known(Py_Ellipsis)});
    key.items.resize(1 + static_cast<size_t>(b.rank), known(Py_None));
    if (!subscript(array, key, &a)) return false;
    std::vector<Value> operands{a, b};
    return call_numpy(ufunc.obj, operands, out);
}

bool Builder::call_numpy(PyObject* callable, std::vector<Value>& args, Value* out) {
    if (Did did = call_taught(callable, args, out); did.handled()) return did.done();
    if (Did did = call_selecting(callable, args, out); did.handled()) return did.done();
    if (const std::string ufunc(numpy::ufunc_name(callable)); !ufunc.empty()) {
        if (args.size() == 1 && (args[0].is_number() || args[0].is_array()))
            return unary_ufunc(ufunc, args[0], out);
        if (args.size() == 2 && (args[0].is_number() || args[0].is_array()) &&
            (args[1].is_number() || args[1].is_array()))
            return binary_ufunc(ufunc, args[0], args[1], out);
        return unknown("a call of np." + ufunc);
    }
    if (callable == numpy::ufunc_method("outer") && args.size() == 3) return call_outer(args, out);
    const auto is_either = [&](const char* name) { return numpy::is_function_or_method(callable, name); };
    if (is_either("dot") && args.size() == 2)
        return is_matrix_product(args[0], args[1]) ? product(args[0], args[1], out)
                                                   : dot(args[0], args[1], false, out);
    const std::string name = name_for_messages(callable, "__qualname__");
    return unknown("a call of " + (name.empty() ? kind_for_messages(callable) : name));
}

}  // namespace stator::frontend::regions
