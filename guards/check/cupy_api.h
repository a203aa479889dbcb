// cupy.ndarray as the whole extension reads it. CuPy is never imported here: the API is there from when the
// program has imported it, and only for versions that promote as NumPy 2 does (CuPy 14).
//
// CuPy has no C interface for reading an array (no exchange API of DLPack's), and asking for its attributes
// makes a tuple for each of them. So where an array object keeps its shape, strides, dtype and memory is
// found by looking at arrays of known contents, once; where that fails, attributes are asked for.
//
// Nothing here runs Python code or leaves an error set.
#pragma once

#include "guards/check/torch_api.h"

namespace stator::guards {

struct CupyApi {
    PyTypeObject* array;
    // Where an array keeps its parts: begin and end of the extents and of the strides in bytes, the dtype
    // object, the MemoryPointer; and where that has its address and device. -1: not found, attributes are
    // asked for.
    ptrdiff_t shape_at = -1, strides_at, dtype_at, data_at, pointer_at, device_at;
    PyObject* get_device;  // cupy.cuda.runtime.getDevice, called with nothing
    PyObject* get_stream;  // cupy.cuda.get_current_stream, called with nothing
    intptr_t (*stream)();  // the same as C function, nullptr where CuPy does not offer it
};

// nullptr while CuPy is not imported, or when it is not as expected.
const CupyApi* cupy_api();

// Exactly cupy.ndarray.
inline bool is_cupy_array(PyObject* o) {
    const CupyApi* api = cupy_api();
    return api && Py_TYPE(o) == api->array;
}

// False for arrays that kernels cannot read: unusual dtypes, strides that are no multiples of the element
// size, more than 8 axes.
bool read_cupy_array(PyObject* array, TensorView* out);
// The same, always by the array's attributes.
bool read_cupy_attributes(PyObject* array, TensorView* out);

int cupy_device();  // the current one of this thread, -1 when CuPy cannot say
// The current stream of this thread and device. False: CuPy cannot say.
bool cupy_stream(void** stream);

}  // namespace stator::guards
