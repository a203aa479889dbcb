// Whether a frame's locals may be looked up by name: by the function itself (`locals()`, `eval`, `super()`
// without arguments), or by something it calls that climbs frames (`sys._getframe(1).f_locals`, as
// numexpr.evaluate does). Where they may, no local is dead.
//
// Nothing of this can be seen while recording, since the call in question may lie behind a branch that was
// not taken. So it is read off the names: a function that reaches another frame's locals has `f_locals`
// among its names, and is found here when it can be reached through globals and attributes of modules. What
// is reached through objects is known by the method's name. `ndarray.resize` does not look at locals, but
// counts references: dead ones are some, too.
#include "frontend/cpython/raw/raw.h"

#include <string_view>
#include <unordered_set>
// raw.h must come first.
#include "frontend/cpython/code.h"
#include "frontend/policy.h"
#include "guards/check/functions.h"

namespace stator::frontend {

namespace {

// Callables that read the locals of the function that calls them.
constexpr std::string_view kReaders[] = {"locals", "vars",       "dir",      "eval",      "exec",
                                         "super",  "breakpoint", "query",    "set_trace", "evaluate",
                                         "bmat",   "interact",   "f_locals", "resize"};

std::string_view text(PyObject* name) {
    Py_ssize_t size = 0;
    const char* p = PyUnicode_AsUTF8AndSize(name, &size);
    return p ? std::string_view(p, size) : std::string_view();
}

bool names_reader(PyCodeObject* code) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names); ++i)
        for (std::string_view reader : kReaders)
            if (text(PyTuple_GET_ITEM(code->co_names, i)) == reader) return true;
    return false;
}

class Search {
  public:
    // Whether a function that `code` can reach looks at other frames' locals.
    bool reaches_reader(PyCodeObject* code, PyObject* globals) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names); ++i) {
            PyObject* name = PyTuple_GET_ITEM(code->co_names, i);
            if (text(name) == "f_locals" && !seen_.empty()) return true;
            PyObject* value = PyDict_GetItem(globals, name);
            if (value && looks(value, code)) return true;
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); ++i) {  // functions that it makes
            PyObject* inner = PyTuple_GET_ITEM(code->co_consts, i);
            if (PyCode_Check(inner) && looks_inside(reinterpret_cast<PyCodeObject*>(inner), globals))
                return true;
        }
        return false;
    }

  private:
    bool looks_inside(PyCodeObject* code, PyObject* globals) {
        if (!seen_.insert(code).second) return false;
        return seen_.size() > policy().searched_functions || reaches_reader(code, globals);
    }

    bool looks(PyObject* value, PyCodeObject* by) {
        if (guards::is_function(value)) {
            auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(value));
            return looks_inside(code, PyFunction_GET_GLOBALS(value));
        }
        if (!PyModule_CheckExact(value)) return false;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(by->co_names); ++i) {
            PyObject* member = PyDict_GetItem(PyModule_GetDict(value), PyTuple_GET_ITEM(by->co_names, i));
            if (member && guards::is_function(member) && looks(member, by)) return true;
        }
        return false;
    }

    std::unordered_set<PyCodeObject*> seen_;
};

}  // namespace

bool CodeInfo::locals_seen(PyObject* globals) const {
    if (locals_seen_ < 0) locals_seen_ = names_reader(code) || Search().reaches_reader(code, globals);
    return locals_seen_ != 0;
}

}  // namespace stator::frontend
