// What the region builder knows of an object without having it: its kind, and the region's values that make
// it up.
//
// A Value stands for one slot of the frame. Kinds and everything but the ids of region values are known while
// the region is built and are the same in every run of it; they are the block's *signature* (builder.h). Two
// paths that meet with other signatures go on in different versions of the code.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/pyref.h"
#include "graph/region/region.h"

namespace stator::frontend::regions {

using graph::DType;
using graph::ValueId;

// Where an array that a variable holds came from.
struct Held {
    // Whole + slot: the object there; View + slot: a part of it; Entry - slot: whatever was there, which is
    // not looked at.
    enum : int64_t { Entry = -1, Nothing = 0, Fresh, Whole, View = 1 << 20 };
};

enum class Kind : uint8_t {
    Empty,      // no object (an unbound local, CPython's NULL on the stack)
    Known,      // this object, `obj`
    Passed,     // what was in entry slot `slot`; never looked at
    Int,        // a Python int that fits 64 bits
    Float,      // a Python float
    Bool,       // True or False, a b1
    Scalar,     // a NumPy scalar of `dtype`
    Character,  // a string of one character: its code point, an i64
    Array,  // an ndarray of `dtype` and `rank`: a part of, or (`whole`) the very object in, entry slot `slot`
    Lazy,   // a fresh array that an expression of arrays is going to be, see Expr; never seen by Python
    Tuple,  // of `items`
    List,   // of `items`; one that was there at entry, or that one variable holds
    Slice,  // slice(*items): start, stop, step
    Range,  // range(*items): start, stop, step
    Rows,   // a list or tuple of rows (build/rows.cpp), which is in entry slot `slot`
    Row,    // item number items[0] of that: a list, tuple or string
    RangeIter,      // its iterator: next value, items left, step
    ArrayIter,      // iter(array): the array and the next position
    ReversedIter,   // reversed(array): the same
    ItemsIter,      // iter(tuple or list), or reversed of it (`backward`): that, the next position is `rank`
    Enumerate,      // enumerate(...): an iterator and the next number
    Zip,            // zip(...): iterators
    Complex,        // a Python complex (C128), items: real and imaginary part as Floats
    ComplexScalar,  // a NumPy scalar of a complex dtype, items as above, in its precision
    Variant,        // a number or nothing: which, is known when the region runs (see Tag)
};

// Of the parts of a complex number.
inline graph::DType part_type(graph::DType complex) {
    return complex == graph::DType::C64 ? graph::DType::F32 : graph::DType::F64;
}

// What a Variant holds: items[0] is the Tag, items[1] and items[2] its bits as an int or as a float. A
// variable that has a value on some paths only is one, and so is one of several types whose value nothing
// reads any more.
struct Tag {
    // Scalar + dtype; Entry - slot: what was in that entry slot
    enum : int64_t { Entry = -1, Empty = 0, Int, Float, Bool, Scalar };
};

// An elementwise expression of arrays that has not been computed yet. NumPy's operations are pure, so when
// they are done does not show, as long as nothing that they read is written in between (build/arrays.cpp
// looks after that).
struct Expr {
    enum Kind : uint8_t {
        Leaf,    // the element of an array at the point
        Number,  // a scalar
        Op,
        Call,
        Fma,   // in[0] * in[1] + in[2], rounded once
        Axis,  // the point's position along axis `axis`
        Take,  // the element of an array at indices `in`, which wrap and may be out of range
        Next,  // the element of a vector for the point: it has one for each at which the nest's mask holds
        Pair,  // of a complex dtype: real and imaginary part
    } kind = Leaf;
    DType dtype = DType::F64;
    ValueId id = -1;                 // Leaf, Take, Next: the array; Number: a scalar
    ValueId whole = -1;              // Leaf of one part of complex numbers: their array
    int slot = -1;                   // Leaf, Take, Next: entry slot of the array whose memory it shows
    int axis = 0;                    // Axis
    std::vector<ValueId> extents{};  // Take: of the array
    graph::Op op = graph::Op::Add;
    int call = -1;  // Call: into Region::calls
    std::vector<std::shared_ptr<const Expr>> in;
    bool faults = false;   // it, or an operand, may raise floating-point flags
    bool indexes = false;  // it, or an operand, may have an index that is out of range
    bool checked() const { return faults || indexes; }
    // Leaf that was broadcast: the array as it was before.
    ValueId narrow = -1;
    std::vector<ValueId> narrow_extents{};
};
using ExprRef = std::shared_ptr<const Expr>;
// Whether they are the same expression of the same values.
bool same(const ExprRef& a, const ExprRef& b);

struct Value {
    Kind kind = Kind::Empty;
    DType dtype = DType::F64;
    int rank = 0;
    int slot = -1;
    bool whole = false;
    ValueId id = -1;
    int64_t object = 0;       // numbers and arrays: together with the id, which object it is; lists: alone
    PyObject* obj = nullptr;  // borrowed: the builder keeps what it looked at
    std::vector<Value> items;
    ExprRef expr;  // Lazy
    // Lazy, and `expr` is one part of these complex numbers: an array of them is a view of theirs, with gaps.
    ExprRef complex;
    std::vector<ValueId> extents{};  // Lazy
    // Lazy: only the elements where this holds, in the order of C, are in it (build/numpy/masks.cpp).
    // `extents` is that of the mask and of the expression, the last axes aside along which `expr` goes on:
    // there are extents.size() - mask_rank of them.
    ExprRef mask{};
    int mask_rank = 0;
    int holder = -1;  // Array whose `slot` is not known: the variable that it was read from
    // Array: a view is the same array as another one that was made of `part_of` by the same instruction
    // operands, so that storing a part to its own place is known to change nothing.
    ValueId part_of = -1;
    // A vector that lies in memory of the region's own, which Python would have copied if this holds: then a
    // variable can have a copy.
    ValueId copied = -1;
    // Extents of axes that were taken by steps other than 1. NumPy gives a part without elements along one of
    // them other strides, so a variable can hold it where there are some.
    std::vector<ValueId> counts{};
    // A vector: along which axis of a whole array, and by which step, it goes; "" when that is not known.
    std::string walk{};
    bool backward = false;  // an Array some stride of which is negative
    bool fresh = false;     // an Array in memory of the region's own, which Python would have made anew
    // An Array that is a view of what the region made, or of a held one: items[0] is that. Without items no
    // variable can hold it.
    bool part = false;
    // An Array that came from several places, or a variable that has one on some paths only: items[0] is a
    // Held.
    bool held = false;
    bool permuted = false;        // its axes are not in the order of C
    Kind expected = Kind::Empty;  // Variant: the one kind that it has when it has a value (Empty: several)

    bool is_number() const {
        return kind == Kind::Int || kind == Kind::Float || kind == Kind::Bool || kind == Kind::Scalar;
    }
    bool is_array() const { return kind == Kind::Array || kind == Kind::Lazy; }
    bool is_complex_number() const { return kind == Kind::Complex || kind == Kind::ComplexScalar; }
    bool is_lazy() const;  // or has such an item
    bool is_iterator() const { return kind >= Kind::RangeIter && kind <= Kind::Zip; }
    // What the stack holds between statements: iterators of loops, and what belongs to statements around the
    // region's loop.
    bool is_between_statements() const { return is_iterator() || kind == Kind::Passed; }
    bool is_none() const { return kind == Kind::Known && obj == Py_None; }
};

inline Value known(PyObject* obj) {
    Value v;
    v.kind = Kind::Known;
    v.obj = obj;
    return v;
}
// For Value::object, of what Python would make a new object of. Equal instructions have one id (emit.cpp),
// and their results are several objects all the same.
inline int64_t new_object() {
    static int64_t objects = 0;
    return ++objects;
}
inline Value number(Kind kind, DType dtype, ValueId id) {
    Value v;
    v.object = new_object();
    v.kind = kind;
    v.dtype = dtype;
    v.id = id;
    return v;
}
inline Value int_value(ValueId id) { return number(Kind::Int, DType::I64, id); }
inline Value float_value(ValueId id) { return number(Kind::Float, DType::F64, id); }
inline Value bool_value(ValueId id) { return number(Kind::Bool, DType::Bool, id); }
inline Value scalar_value(DType t, ValueId id) { return number(Kind::Scalar, t, id); }
inline Value composed(Kind kind, std::vector<Value> items) {
    Value v;
    v.kind = kind;
    v.items = std::move(items);
    return v;
}

void append(std::string* out, int64_t n);  // in digits
// Everything but ids, as text: "i", "s:f64", "a:f64:2@3". `object` numbers known objects.
void sign(const Value& v, std::string* out);
// Calls f with the id of every value in it that may differ from one run of a block to the next, in a fixed
// order.
template <class F>
void each_variable(Value& v, F f) {
    if (v.whole) return;
    switch (v.kind) {
        case Kind::Int:
        case Kind::Float:
        case Kind::Bool:
        case Kind::Scalar:
        case Kind::Character: f(v.id); return;
        case Kind::Array: f(v.id); break;
        default: break;
    }
    for (Value& item : v.items) each_variable(item, f);
}
// Whether Python can be given it: no unfinished expression, no memory that only the region knows.
bool becomes_object(const Value& v);
bool has_iterator(const Value& v);  // it is one, or an item is
// How explain and errors name it: "an int", "a float64 array of 2 axes".
std::string describe(const Value& v);

}  // namespace stator::frontend::regions
