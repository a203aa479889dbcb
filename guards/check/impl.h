// What a GuardProgram is made of. Guards are kept as they were asked for (they print and explain themselves
// from that); `finish` lowers them to `code`, a flat array of instructions that check() runs from front to
// back.
//
// Invariant: an instruction reads only sources that an earlier instruction (or the slot prologue) has read,
// and every instruction names the guard that has failed when it does.
#pragma once

#include <vector>

#include "guards/check/check.h"
#include "guards/check/names.h"
#include "guards/check/torch_api.h"

namespace stator::guards {

struct Guard {
    GuardKind kind{};
    SourceId source = kNoSource;
    SourceId other = kNoSource;  // Same, NotSame, NotDictOf
    PyObject* obj = nullptr;     // the type, object, value or function expected; owned through Impl::refs
    PyObject* name = nullptr;    // TypeAttrs, Stored: attribute; Function: expected defaults
    PyObject* found = nullptr;   // TypeAttrs: what the class has under that name; Function: expected closure
    PyObject* code = nullptr;    // Function: expected code
    PyObject* keywords = nullptr;  // Function: tuple (name, value, ...) of keyword defaults
    int64_t number = 0;            // Length; TypeNames: index of the first into type_names
    int64_t count = 0;             // TypeNames
    int input = -1;                // graph input
    ArraySpec spec;                // Array, Tensor
    graph::Sym a, b;               // Int: a; Relation: both
    graph::DType dtype{};          // NpScalar
    Relation relation{};
    bool flag = false;  // Function: closure too
};

// Checks have their guard's name and number; reads come behind them.
enum class Op : uint8_t {
#define GUARD(id, text, doc) id,
#include "guards/guards.def"
#undef GUARD
    ReadGlobal,
    ReadModule,
    ReadAttr,
    ReadItem,
    ReadCell,
    ReadFuncCell,
    ReadTypeOf,
    ReadLength,
    ReadObject,  // fill objects[src]
};

struct Instr {
    Op op;
    uint8_t ndim = 0;        // Array: rank; Int: Axis::Mode of its symbol
    graph::Layout layout{};  // Array
    bool own_dtype = false;  // Array: the dtype is a copy of `p` instead of it
    bool own = false;        // reads: take a reference (the object is not pinned by an identity guard)
    int32_t guard = -1;
    int32_t src = -1;    // index into objects
    int32_t other = -1;  // base or second source; NoOverlap: count of `others`
    int32_t input = -1;
    int32_t first = -1;           // Array: index into axes; NoOverlap: index into others; Int: symbol
    int32_t device = -1;          // Tensor, Cupy: ordinal of its GPU
    int32_t perm = -1;            // Array: index into perms, -1 = order need not be looked at
    uint32_t mask = 0, want = 0;  // Array: flags; Tensor: axes of stride 0, what else is wanted
    PyObject* p = nullptr;        // expectation, or the dictionary to read
    PyObject* q = nullptr;        // builtins, name, key
    int64_t lo = 0,
            hi = 0;  // Int: bounds; Length, ReadFuncCell, ReadItem: lo; NpScalar: size; TypeNames: range
    mutable uint64_t tag[2] = {0, 0};   // dictionary versions under which `value` was read
    mutable PyObject* value = nullptr;  // borrowed; alive while the versions stand
};

// One axis of an Array instruction: bounds, and the symbol that it defines or must equal.
struct Axis {
    enum Mode : int32_t { Bounds, Define, Equal };
    Mode mode = Bounds;
    int32_t symbol = -1;
    int64_t lo = 0, hi = 0;
};

struct RelationInstr {
    int32_t guard, a, b;
    Relation relation;
};

struct GuardProgram::Impl {
    std::vector<Source> sources;
    std::vector<Guard> guards;
    std::vector<PyObject*> refs;  // every reference the program owns

    // after finish
    const graph::SymTable* syms = nullptr;
    int input_count = 0;
    std::vector<std::pair<int32_t, int32_t>> slots;  // source, slot
    std::vector<Instr> code;
    std::vector<Axis> axes;
    std::vector<int8_t> perms;
    std::vector<int32_t> others;  // NoOverlap: sources of the other arrays
    std::vector<RelationInstr> relations;
    // TypeNames: a name, and what the class holds under it, nothing too.
    std::vector<std::pair<PyObject*, PyObject*>> type_names;

    PyObject* keep(PyObject* o) {
        Py_XINCREF(o);
        refs.push_back(o);
        return o;
    }
    ~Impl() {
        for (PyObject* o : refs) Py_XDECREF(o);
    }
};

const char* guard_text(GuardKind kind);  // the row's text

// --- check/read.cpp: reading without running Python code ---
// obj.name as a new reference, or nullptr (no error set) when that cannot be read without running code.
PyObject* read_attr(PyObject* obj, PyObject* name);
// container[key], borrowed; nullptr when absent or not an exact container and key.
PyObject* read_item(PyObject* container, PyObject* key);
PyObject* read_length(PyObject* container);  // new reference; NULL without an error
// Any source from entry slots, the slow way; new reference or nullptr. For explanations.
PyObject* read_source(const std::vector<Source>& sources, SourceId s, PyObject* const* slots);
// What the class holds under `name` (borrowed, nullptr when nothing).
PyObject* class_lookup(PyTypeObject* type, PyObject* name);
// Whether it is a `__slots__` member that holds a plain object reference.
bool is_slot_member(PyObject* obj, PyObject* descr);

// --- check/value.cpp: constants, functions, scalars ---
bool same_value(PyObject* a, PyObject* b);  // exact type and value, bitwise for floats
bool same_function(const Guard& g, PyObject* function);
const char* scalar_bits(PyObject* np_scalar);  // where a NumPy scalar object keeps its value
bool int_value(PyObject* obj, int64_t* out);   // false: not an exact int, or more than 64 bits

// --- check/array.cpp ---
void lower_array(GuardProgram::Impl& p, const Guard& g, Instr& in, std::vector<bool>& defined);
Axis lower_axis(const graph::SymTable& syms, graph::Sym extent, std::vector<bool>& defined);
std::string dtype_text(graph::DType t);
bool check_array(const GuardProgram::Impl& p, const Instr& in, PyObject* obj, int64_t* symbols);
void array_scalar(PyObject* array, char* out);  // the one element of a rank-0 array
bool check_overlap(const GuardProgram::Impl& p, const Instr& in, PyObject* const* objects);
std::string array_text(const ArraySpec& spec, bool written, const graph::SymTable* syms);
std::string show_array(PyObject* obj);
// Why check_array or check_overlap failed, "" when it did not.
std::string explain_array(const GuardProgram::Impl& p, const Instr& in, const Guard& g, PyObject* obj,
                          int64_t* symbols);
std::string explain_overlap(const GuardProgram::Impl& p, const Instr& in, PyObject* const* objects);
// --- check/tensor.cpp ---
void lower_tensor(GuardProgram::Impl& p, const Guard& g, Instr& in, std::vector<bool>& defined);
bool check_tensor(const GuardProgram::Impl& p, const Instr& in, PyObject* obj, int64_t* symbols,
                  TensorView* view);
bool check_cupy(const GuardProgram::Impl& p, const Instr& in, PyObject* obj, int64_t* symbols,
                TensorView* view);
void lower_cupy_state(const Guard& g, Instr& in);
bool check_cupy_state(const Instr& in);
void lower_torch_state(const Guard& g, Instr& in);
bool check_torch_state(const Instr& in);
std::string tensor_text(const ArraySpec& spec, bool written, const graph::SymTable* syms);

bool is_exact_array(PyObject* obj);
bool is_ufunc(PyObject* obj);
std::string ufunc_name(PyObject* ufunc);

}  // namespace stator::guards
