// The guard program of a trace: built while recording, then checked at every entry from the raw slots, never
// running Python code, never leaving an error set.
//
// Check order is construction order, except that `finish` moves cheap and telling guards (types, arrays)
// first. On success the EntryState holds everything the trace reads at entry: array objects, symbol values,
// scalar bits and the objects behind the other sources.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "guards/check/torch_api.h"
#include "guards/source.h"

namespace stator::guards {

enum class GuardKind : uint8_t {
#define GUARD(id, text, doc) id,
#include "guards/guards.def"
#undef GUARD
};

enum class Relation : uint8_t { Eq, Ne, Ge, Lt };

struct ArraySpec {
    graph::DType dtype;
    int ndim;
    graph::Layout layout;
    std::vector<int> perm;          // memory order; empty = C
    std::vector<graph::Sym> shape;  // per axis a symbol or a constant
    bool writeable = false;
    bool own_dtype = false;  // the dtype object is a copy of the built-in one instead of it
    std::vector<int8_t> signs =
        {};  // InnerDense, Strided: sign of each axis' stride; empty = unchecked, as are density and `ties`
    std::vector<int8_t> ties = {};  // InnerDense, Strided: see stride_ties
    // Tensors and arrays of a GPU only.
    PyTypeObject* type = nullptr;  // torch.Tensor or torch.nn.Parameter, cupy.ndarray
    bool inference = false;        // made in inference mode
    bool no_grad = false;          // it must not require grad
    int device = -1;               // ordinal of the GPU that it lies on
};

// torch's thread-local modes, as the trace needs them.
struct TorchState {
    bool grad = false, inference = false;
    PyObject* default_dtype = nullptr;  // nullptr: any
};

// What check() fills in. All arrays are caller-provided so that a check allocates nothing (sizes from
// GuardProgram).
struct EntryState {
    PyObject**
        objects;  // per source; borrowed when it came from a slot, else owned by `owned` or by the program
    int64_t*
        symbols;  // per symbol of the graph's SymTable (all of them; only those an input defines are written)
    char* scalars;      // 16 bytes per graph input that is a scalar or a rank-0 array (index = graph input),
                        // value in its dtype (a Python int's as int64_t)
    PyObject** inputs;  // per graph input: the object it was read from (borrowed)
    int owned_count = 0;
    PyObject** owned;  // references to release when the replay ends; capacity = number of sources
    TensorView* tensors = nullptr;  // per graph input that is a tensor or lies on a GPU: what was read of it
};

// Imports NumPy's C API for this library. False with one line in `error`: no NumPy, or older than 2.0.
bool init(std::string* error);

// The memory order of an array that is not contiguous, as NumPy's iterator sees it (largest stride first;
// axes of extent 1 and stride 0 move only along with others): what ArraySpec::perm holds for InnerDense and
// Strided, and the order in which a K-order result is laid out.
void memory_order(int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, int* perm);
// Of each axis, the first one whose stride has the same size: axes of which none comes before the other in
// memory, as those of sliding windows. Their transposition is in the order of C, as they are themselves.
// Axes of extent 1 and of stride 0 stand for themselves.
void stride_ties(int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, int8_t* ties);

// The bytes that an array or tensor spans; empty when it has no elements. All of memory when it cannot be
// read.
void memory_span(PyObject* array, const char** begin, const char** end);
bool spans_overlap(PyObject* a, PyObject* b);
// Whether two indices may name the same element of an array or tensor.
bool overlaps_itself(PyObject* array);

// Dtype number, rank, byte order and alignment of an ndarray as one number, for arrays that only the host's
// own functions read: these decide whether a function of the host gives a view, a copy or the array itself.
int64_t host_array_kind(PyObject* array);
bool is_host_array(PyObject* o, int64_t kind);  // and exactly an ndarray

// Whether it is exactly of a builtin type whose length is read without running code.
bool has_length(PyObject* o);

// The dictionary's version; 0 where CPython has none (3.14 on): then nothing is ever unchanged.
uint64_t dict_version(PyObject* dict);

class GuardProgram {
  public:
    GuardProgram();
    ~GuardProgram();
    GuardProgram(GuardProgram&&) noexcept;
    GuardProgram& operator=(GuardProgram&&) noexcept;

    // --- building (while recording; the GIL is held) ---
    // Sources that are equal get one id. `text` is how Python source would name them.
    SourceId slot(int index, std::string text);
    SourceId global(PyObject* globals, PyObject* builtins,
                    PyObject* name);  // kNoSource unless both are exact dicts
    SourceId attr(SourceId base,
                  PyObject* name);  // readable where classify_attr says so, proven anew at each read
    SourceId item(SourceId base, PyObject* key);
    SourceId cell(SourceId base, std::string text);
    SourceId func_cell(SourceId base, int index,
                       std::string text);  // the cell object; cell() of it has the contents
    SourceId object(PyObject* holder, std::string text);
    SourceId type_of(SourceId base);
    SourceId length(SourceId base);  // see has_length
    const Source& source(SourceId s) const;

    // Whether obj.name can be read without running Python code, and if so what a later read must find: an
    // instance dict entry or `__slots__` member, a class attribute found on the type (of a type: on itself),
    // a method (the function itself, also any object whose type has Py_TPFLAGS_METHOD_DESCRIPTOR), or a
    // module attribute.
    enum class AttrPlace : uint8_t { Unreadable, Instance, ClassAttr, Method, Module };
    static AttrPlace classify_attr(PyObject* obj, PyObject* name, PyObject** value_borrowed);

    // Whether storing to obj.name runs no Python code, now or when what it held goes away: an instance dict
    // entry, there or not, of a dict that nobody else has, or a `__slots__` member; of a dict, the same of an
    // item. Dropping objects of some builtin types is seen by nobody.
    static bool can_store(PyObject* obj, PyObject* name);
    // The same for a name that is in the globals `dict` already.
    static bool can_store_global(PyObject* dict, PyObject* name);
    // The dict of an object's attributes, where there is one by now: CPython makes it when it is asked for.
    static PyObject* dict_of(PyObject* obj);

    void expect_type(SourceId s, PyTypeObject* type);
    void expect_present(SourceId s);
    void expect_is(SourceId s, PyObject* obj);
    void expect_equal(SourceId s, PyObject* value);
    void expect_same(SourceId a, SourceId b);
    void expect_not_same(SourceId a, SourceId b);
    void expect_not_dict_of(SourceId dict, SourceId object);
    void expect_length(SourceId s, Py_ssize_t n);
    void expect_keys(SourceId s, PyObject* keys);  // a tuple of strings
    void expect_type_attrs(SourceId s, PyTypeObject* type, PyObject* name);
    // It is of exactly this class, which inherits from the classes that it inherits from now.
    void expect_mro(SourceId s, PyTypeObject* type);
    // The same of several names in one check, for objects that have no attributes of their own.
    void expect_type_names(SourceId s, PyTypeObject* type, std::span<PyObject* const> names);
    void expect_stored(SourceId s, PyTypeObject* type, PyObject* name);
    // Code, globals, defaults and keyword defaults as now; with `same_closure` the cells too. Pass false
    // where the cells are read through func_cell, so that a closure made anew for each call still matches.
    void expect_function(SourceId s, PyObject* function, bool same_closure = true);
    void expect_array(SourceId s, int graph_input, ArraySpec spec);
    void expect_tensor(SourceId s, int graph_input, ArraySpec spec);
    // Modes of torch, and that the classes of its tensors were not changed. One guard, however often asked.
    void expect_torch_state(TorchState state);
    void expect_cupy(SourceId s, int graph_input, ArraySpec spec);
    // The device is current, and the class of CuPy's arrays was not changed. One guard, however often asked.
    void expect_cupy_state(int device);
    void require_writeable(int graph_input);  // upgrades a previous expect_array, adds NoOverlap
    void expect_int(SourceId s, int graph_input, graph::Sym symbol);
    void expect_float(SourceId s, int graph_input);
    void expect_bool(SourceId s, int graph_input);
    void expect_complex(SourceId s, int graph_input);
    void expect_host_array(SourceId s, int64_t kind);  // an ndarray that is only handed on to the host
    void expect_np_scalar(SourceId s, int graph_input, PyTypeObject* type, graph::DType dtype);
    void expect_relation(Relation r, graph::Sym a, graph::Sym b);

    // Undo: everything added after mark() is gone after rollback(mark). Only before finish.
    struct Mark {
        size_t sources, guards, refs;
    };
    Mark mark() const;
    void rollback(const Mark& m);

    // Freezes: orders, deduplicates, resolves symbols to indices. `syms` must outlive the program.
    void finish(const graph::SymTable& syms, int graph_input_count);

    // --- checking ---
    // slots[i]: object in entry slot i (NULL allowed). Returns -1 when every guard holds, else the index of
    // the one that failed (owned references already released). Relations are checked by the caller's symbol
    // sweep via check_relations, since they need derived symbols.
    int check(PyObject* const* slots, EntryState& out) const;
    // exprs: SymTable::eval_all's output.
    int check_relations(std::span<const int64_t> exprs) const;
    bool has_relations() const;  // false: the sweep is not needed for guards

    int source_count() const;
    int guard_count() const;
    GuardKind kind(int guard) const;
    std::string text(int guard) const;                             // as it reads in Python terms
    std::string explain(int guard, PyObject* const* slots) const;  // "expected ..., found ..."
    std::vector<std::string> texts() const;
    int traverse(visitproc visit, void* arg) const;  // the references that the program owns
    // Objects without which a check cannot hold any more: they have to be the very same ones.
    std::vector<PyObject*> needed() const;  // borrowed

    struct Impl;

  private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace stator::guards
