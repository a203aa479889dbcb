// See check/names.h.
#include "guards/check/names.h"

namespace stator::guards {

std::string utf8(PyObject* str) {
    if (!str || !PyUnicode_Check(str)) return {};
    // The usual case: the text is kept with the object.
    if (PyUnicode_IS_COMPACT_ASCII(str))
        return {static_cast<const char*>(PyUnicode_DATA(str)),
                static_cast<size_t>(PyUnicode_GET_LENGTH(str))};
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    std::string text;
    if (PyObject* bytes = PyUnicode_AsEncodedString(str, "utf-8", "backslashreplace")) {
        text.assign(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
        Py_DECREF(bytes);
    }
    PyErr_Restore(type, value, traceback);
    return text;
}

}  // namespace stator::guards
