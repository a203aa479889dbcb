// NumPy at replay time: allocating and boxing results, views, error state, and the inner loops behind host
// loop names.
#pragma once

#include <string>
#include <vector>

#include "frontend/pyref.h"
#include "graph/graph.h"
#include "kernels/abi.h"
#include "kernels/program.h"

namespace stator::frontend::numpy {

bool init_runtime(std::string* error);

// The ufunc's inner loop for exactly these operand and result dtypes; fn == nullptr when there is none.
kernels::HostLoop find_loop(const kernels::LoopRef& ref);
// NumPy's own loop, never another one that has its bits.
kernels::HostLoop find_numpys_loop(const kernels::LoopRef& ref);
// The same of a ufunc with core dimensions (matmul), which follow in its `dims` and `strides`.
kernels::HostLoop find_core_loop(const kernels::LoopRef& ref);

// A fresh array owning its data (pool for 64 KB and more), memory order `perm` (empty = C). New reference.
PyObject* new_array(graph::DType dtype, int ndim, const int64_t* shape, const std::vector<int>& perm,
                    bool own_dtype = false);
// How many elements an exact ndarray has; 0 for every other object.
int64_t array_size(PyObject* object);
// A number for the dtype and the rank of an array, 0 for what is none.
uint32_t array_kind(PyObject* object);
// What decides, beside the extents, which code serves an exact ndarray: dtype, rank, contiguity; 0 for every
// other object. `*size`: its elements.
uint32_t array_form(PyObject* object, int64_t* size);
// Where the elements of an array are: its data, and `rank` strides into `out`.
char* locate(PyObject* array, int rank, int64_t* out);
// A view object of `base` (collapsing base chains as NumPy does). `stretched`: it has an axis of its own of
// more than one element, which means np.broadcast_to, whose results are read-only.
PyObject* new_view(PyObject* base, graph::DType dtype, int ndim, const int64_t* shape, const int64_t* strides,
                   char* data, bool stretched = false);
// A scalar result as the Python object that `box` asks for, from its bits.
PyObject* box_scalar(graph::Box box, graph::DType dtype, const char* bits);

// The bits of an exact NumPy scalar (16 bytes written at most, little-endian as in arrays).
void scalar_bits(PyObject* scalar, char* out);

// While alive, floating-point conditions that np.errstate would warn about or raise for become
// FloatingPointError, so that a library call that meets one fails before anything is reported and can be
// redone eagerly in its own frame.
class StrictErrors {
  public:
    StrictErrors(uint32_t set, uint32_t ignored);  // as for faults_that_matter
    ~StrictErrors();
    StrictErrors(const StrictErrors&) = delete;

  private:
    PyObject* token_ = nullptr;
};

char* data(PyObject* array);
const int64_t* strides(PyObject* array);
const int64_t* shape(PyObject* array);
bool is_plain_array(PyObject* object);  // an exact ndarray
PyObject* owner_of(PyObject* array);    // the array whose memory it shows, borrowed: itself if it is no view
int rank(PyObject* array);
int itemsize(PyObject* array);  // bytes

// Which of `faults` (kernels::Fault bits) np.errstate of this context does anything about: 0 = all ignored.
uint32_t faults_that_matter(uint32_t faults);
// The same inside error contexts of the trace: kinds in `set` are handled by those, ignored when in
// `ignored`.
uint32_t faults_that_matter(uint32_t faults, uint32_t set, uint32_t ignored);
// Those of them that np.errstate does something else with than to ignore them or to warn.
uint32_t faults_that_raise(uint32_t faults);

}  // namespace stator::frontend::numpy
