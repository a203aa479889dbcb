// Python's builtin functions of numbers and of small tuples and lists: min, max, abs, round, sum, any, all;
// comparisons and containment where all items are known.

#include <algorithm>
#include <cmath>
#include <utility>

#include "frontend/cpython/builtins.h"
#include "frontend/cpython/operators.h"
#include "frontend/policy.h"
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

namespace {

bool is_sequence(const Value& v) { return v.kind == Kind::Tuple || v.kind == Kind::List; }
bool is_string(const Value& v) { return v.kind == Kind::Known && PyUnicode_CheckExact(v.obj); }

// A number that is equal to itself, so that it does not matter whether Python compares objects first.
bool is_orderly(const Value& v) {
    return v.kind == Kind::Int || v.kind == Kind::Bool ||
           (v.kind == Kind::Scalar && !graph::is_float(v.dtype));
}

bool is_integer_scalar(const Value& v) { return v.kind == Kind::Scalar && graph::is_integer(v.dtype); }

}  // namespace

// The next instruction, with `result` on the stack, as what follows block `from`.
bool Builder::go_on_with(const Value& result, graph::BlockId from) {
    const State before = s_;
    write_to(from);
    push(result);
    const bool ok = jump_to(pc_ + 1);
    s_ = before;
    return ok;
}

// min and max keep the first of equal ones. Of numbers of several kinds the result is what was chosen, so
// there is a way for each.
bool Builder::call_minmax(bool greatest, std::vector<Value> args, Value* out) {
    if (args.size() == 1) {
        const Value items = looked_into(args[0]);
        if (!is_sequence(items) || items.items.empty())
            return unknown("min() or max() of " + describe(args[0]));
        args = items.items;
    }
    const bool mixed = std::any_of(args.begin(), args.end(), [&](const Value& v) {
        return v.kind != args[0].kind || v.dtype != args[0].dtype;
    });
    // What cannot be compared is found out before there are several ways.
    for (size_t i = 0; i < args.size(); ++i) {
        Value any;
        if (!args[i].is_number()) return unknown("min() or max() of " + describe(args[i]));
        for (size_t k = 0; mixed && k < i; ++k)
            if (!compare(Py_GT, args[i], args[k], &any)) return false;
    }
    std::vector<std::pair<graph::BlockId, Value>> ways{{block_, args[0]}};
    const auto gives_up = [&] {
        return refuse(Reason::RegionTypes, "min() or max() of many kinds of numbers");
    };
    for (size_t i = 1; i < args.size(); ++i) {
        const Value& v = args[i];
        for (size_t k = 0, n = ways.size(); k < n; ++k) {
            if (ways.size() > 1) write_to(ways[k].first);
            Value best = ways[k].second, better;
            ValueId t;
            if (!compare(greatest ? Py_GT : Py_LT, v, best, &better) || !truth(better, &t)) return gives_up();
            if (v.kind == best.kind && v.dtype == best.dtype) {
                best = number(v.kind, v.dtype,
                              pointwise(graph::Op::Where, v.dtype, v.dtype, {t, v.id, best.id}));
                ways[k].second = std::move(best);
                continue;
            }
            if (ways.size() == policy().region_number_kinds) return gives_up();
            graph::Terminator choice;
            choice.kind = graph::Terminator::Branch;
            choice.cond = t;
            choice.then.to = static_cast<graph::BlockId>(r_->blocks.size());
            choice.other.to = choice.then.to + 1;
            r_->blocks.resize(r_->blocks.size() + 2);
            ways.emplace_back(choice.then.to, v);
            ways[k].first = choice.other.to;
            end_block(std::move(choice));
            write_to(ways[k].first);
        }
    }
    if (ways.size() == 1) {
        *out = std::move(ways[0].second);
        return true;
    }
    for (const auto& [block, best] : ways)
        if (!go_on_with(best, block)) return gives_up();
    return true;
}

bool Builder::call_abs(const Value& a, Value* out) {
    if (a.kind == Kind::Float || (a.kind == Kind::Scalar && graph::is_float(a.dtype))) {
        *out = number(a.kind, a.dtype, pointwise(graph::Op::Absolute, a.dtype, a.dtype, {a.id}));
        return true;
    }
    if (a.kind == Kind::Scalar && graph::is_unsigned(a.dtype))
        return *out = number(a.kind, a.dtype, a.id), true;
    // Of the least number Python's grows, and NumPy's warns.
    const bool scalar = is_integer_scalar(a);
    if (!scalar && a.kind != Kind::Int) return unknown("abs() of " + describe(a));
    const DType t = a.dtype;
    const ValueId minus = checked(graph::RegionOp::CheckedSub, t, cast(const_int(0), DType::I64, t), a.id);
    if (minus < 0) return false;
    *out = number(a.kind, t, pointwise(graph::Op::Maximum, t, t, {a.id, minus}));
    return true;
}

// Of integers, and of Python's floats: what the operators give. NumPy's floats have warnings that name
// divmod.
bool Builder::call_divmod(const Value& a, const Value& b, Value* out) {
    const auto whole = [](const Value& v) { return v.kind == Kind::Int || is_integer_scalar(v); };
    if (!(whole(a) && whole(b)) && !(a.kind == Kind::Float && b.kind == Kind::Float))
        return unknown("divmod() of " + describe(a) + " and " + describe(b));
    Value quotient, rest;
    if (!binary(nb::FloorDivide, false, a, b, &quotient) || !binary(nb::Remainder, false, a, b, &rest))
        return false;
    *out = composed(Kind::Tuple, {std::move(quotient), std::move(rest)});
    return true;
}

// To an int, ties to even; of what is no finite number it raises. With digits Python goes by the shortest
// decimals.
bool Builder::call_round(const Value& a, Value* out) {
    if (a.kind == Kind::Int) return *out = int_value(a.id), true;
    if (!a.is_number() || !graph::is_float(a.dtype) || a.dtype == DType::F16)
        return unknown("round() of " + describe(a));
    std::vector<Value> whole{number(a.kind, a.dtype, pointwise(graph::Op::Rint, a.dtype, a.dtype, {a.id}))};
    return call_python(reinterpret_cast<PyObject*>(&PyLong_Type), whole, out);
}

// From 3.12 on Python carries along what it rounds off when it adds floats.
bool Builder::call_sum(const std::vector<Value>& items, Value* total) {
    constexpr bool kCompensates = PY_MINOR_VERSION >= 12;
    for (const Value& v : items) {
        if (!v.is_number() && !v.is_array()) return unknown("sum() of " + describe(v));
        if (kCompensates && v.kind == Kind::Float) return unknown("sum() of floats");
        const Value a = *total;
        const bool arrays = a.is_array() || v.is_array();
        if (arrays ? !operator_arrays(0, false, a, v, total) : !binary(0, false, a, v, total)) return false;
    }
    return true;
}

// Declined: it is none of these.
Did Builder::call_builtin(PyObject* callable, std::vector<Value>& args, Value* out) {
    static PyObject *const min = builtin("min"), *const max = builtin("max"), *const abs = builtin("abs"),
                           *const round = builtin("round"), *const sum = builtin("sum"),
                           *const any = builtin("any"), *const all = builtin("all"),
                           *const ord = builtin("ord"), *const divmod = builtin("divmod");
    if (args.empty()) return Did::Declined;
    if (callable == min || callable == max) return call_minmax(callable == max, args, out);
    if (callable == abs && args.size() == 1 && args[0].is_number()) return call_abs(args[0], out);
    if (callable == ord && args.size() == 1 && args[0].kind == Kind::Character)
        return *out = int_value(args[0].id), true;
    if (callable == divmod && args.size() == 2) return call_divmod(args[0], args[1], out);
    if (callable == round) return args.size() == 1 ? call_round(args[0], out) : unknown("round() to digits");
    if (callable == sum) {
        const Value items = looked_into(args[0]);
        if (!is_sequence(items) || args.size() > 2) return unknown("sum() of " + describe(args[0]));
        *out = args.size() == 2 ? args[1] : int_value(const_int(0));
        if (!out->is_number() && !out->is_array()) return unknown("sum() from " + describe(*out));
        return call_sum(items.items, out);
    }
    if ((callable == any || callable == all) && args.size() == 1) {
        const Value items = looked_into(args[0]);
        if (!is_sequence(items)) return unknown("any() or all() of " + describe(args[0]));
        ValueId so_far = const_bool(callable == all);
        for (const Value& v : items.items) {
            ValueId t;
            if (!truth(v, &t)) return false;
            so_far = pointwise(callable == all ? graph::Op::LogicalAnd : graph::Op::LogicalOr, DType::Bool,
                               DType::Bool, {so_far, t});
        }
        *out = bool_value(so_far);
        return true;
    }
    return Did::Declined;
}

// Strings, and tuples of ints, that are equal or not. Declined: others.
Did Builder::compare_small(int py_op, const Value& a, const Value& b, Value* out) {
    if (Did did = compare_characters(py_op, a, b, out); did.handled()) return did;
    if (py_op != Py_EQ && py_op != Py_NE) return Did::Declined;
    if (a.is_complex_number() || b.is_complex_number()) return complex_equal(py_op, a, b, out);
    if (is_string(a) && is_string(b)) {
        const bool equal = PyUnicode_Compare(a.obj, b.obj) == 0;
        *out = bool_value(const_bool(equal == (py_op == Py_EQ)));
        return true;
    }
    if (a.kind != Kind::Tuple || b.kind != Kind::Tuple) return Did::Declined;
    const bool orderly = std::all_of(a.items.begin(), a.items.end(), is_orderly) &&
                         std::all_of(b.items.begin(), b.items.end(), is_orderly);
    if (!orderly) return Did::Declined;
    ValueId equal = const_bool(a.items.size() == b.items.size());
    for (size_t i = 0; a.items.size() == b.items.size() && i < a.items.size(); ++i) {
        Value one;
        ValueId t;
        if (!compare(Py_EQ, a.items[i], b.items[i], &one) || !truth(one, &t)) return false;
        equal = i == 0 ? t : pointwise(graph::Op::LogicalAnd, DType::Bool, DType::Bool, {equal, t});
    }
    if (py_op == Py_NE) equal = pointwise(graph::Op::LogicalNot, DType::Bool, DType::Bool, {equal});
    *out = bool_value(equal);
    return true;
}

bool Builder::on_contains(const Insn& insn) {
    const Value in = looked_into(pop()), item = pop();
    Value out;
    if (!contains(item, in, &out)) return false;
    if (insn.arg == 1) out = bool_value(pointwise(graph::Op::LogicalNot, DType::Bool, DType::Bool, {out.id}));
    push(std::move(out));
    return true;
}

// item in tuple or list, in a range, in a string, in a dict that was there at entry and has it.
bool Builder::contains(const Value& item, const Value& in, Value* out) {
    const std::string what = describe(item) + " in " + describe(in);
    const auto both = [&](ValueId x, ValueId y) {
        return pointwise(graph::Op::LogicalAnd, DType::Bool, DType::Bool, {x, y});
    };
    if (is_string(item) && is_string(in)) {
        *out = bool_value(const_bool(PyUnicode_Contains(in.obj, item.obj) == 1));
        return true;
    }
    if (item.kind == Kind::Character && is_string(in)) return character_in(item, in.obj, out);
    PyObject* o = in.kind == Kind::Passed && in.slot >= 0 ? object_at(in.slot) : nullptr;
    if (o && PyDict_CheckExact(o) && is_string(item)) {
        PyObject* there = PyDict_GetItem(o, item.obj);
        if (!there) return unknown("a key that a dict does not have");
        EntrySource s{EntrySource::DictItem, in.slot};
        s.name = PyRef::borrow(item.obj);
        source_slot(std::move(s), there);
        *out = bool_value(const_bool(true));
        return true;
    }
    if (in.kind == Kind::Range && item.kind == Kind::Int && known_int(in.items[2].id) == 1) {
        const auto holds = [&](graph::Op op, ValueId bound) {
            return pointwise(op, DType::I64, DType::Bool, {item.id, bound});
        };
        *out = bool_value(
            both(holds(graph::Op::GreaterEqual, in.items[0].id), holds(graph::Op::Less, in.items[1].id)));
        return true;
    }
    if (!is_sequence(in)) return unknown(what);
    ValueId found = const_bool(false);
    for (const Value& v : in.items) {
        Value equal;
        // The very object would be found even if it is not equal to itself.
        const auto constant = in.obj ? known_float(v) : std::nullopt;
        const bool numbers = item.is_number() && v.is_number() &&
                             (is_orderly(item) || is_orderly(v) || (constant && !std::isnan(*constant)));
        const bool complex = item.is_complex_number() || v.is_complex_number();
        const Did did = numbers   ? compare(Py_EQ, item, v, &equal)
                        : complex ? Did(Did::Declined)
                                  : compare_small(Py_EQ, item, v, &equal);
        if (!did.done()) {
            const bool differ = (is_string(item) && v.is_number()) || (is_string(v) && item.is_number()) ||
                                (v.is_none() && (item.is_number() || is_string(item)));
            if (!differ) return unknown(what);
            continue;
        }
        ValueId t;
        if (!truth(equal, &t)) return false;
        found = pointwise(graph::Op::LogicalOr, DType::Bool, DType::Bool, {found, t});
    }
    *out = bool_value(found);
    return true;
}

}  // namespace stator::frontend::regions
