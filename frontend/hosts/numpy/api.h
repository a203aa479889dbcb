// NumPy's C API for the files of this folder. Exactly one of them (runtime.cpp) defines STATOR_NUMPY_IMPORT
// and owns the tables of function pointers; the others link to them.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifndef NPY_NO_DEPRECATED_API
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#endif
#ifndef NPY_TARGET_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#endif
#define PY_ARRAY_UNIQUE_SYMBOL stator_host_numpy_api
#define PY_UFUNC_UNIQUE_SYMBOL stator_host_numpy_ufunc_api
#ifndef STATOR_NUMPY_IMPORT
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>
