// Which objects are alive only because something of ours refers to them, which is not an object itself, so
// that CPython's collector cannot see it.
//
// It is found out as the collector does: all that can be reached from there is gone through, and the
// references seen on the way are counted. An object with more references than those is somebody else's, and
// so is all that it leads to. Code objects lead to the code that they have as constants.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace stator::frontend {

class KeptAlive {
  public:
    // What of ours refers to objects, as a tp_traverse does; it is of use only while all objects of `needed`
    // can be had, which it refers to, too.
    struct Keeper {
        std::function<int(visitproc, void*)> traverse;
        std::vector<PyObject*> needed;
    };
    // Indices of the keepers that are of no use any more; nothing when finding out would take looking at more
    // objects. Runs no code of the program.
    static std::optional<std::vector<size_t>> useless(const std::vector<Keeper>& keepers,
                                                      size_t most_objects);

  private:
    struct Node {
        Py_ssize_t seen = 0;  // references to it
        bool wanted = false;
    };
    explicit KeptAlive(size_t most_objects);
    bool count(const std::vector<Keeper>& keepers);
    void want(PyObject* o);
    void want_all();
    bool is_known(PyObject* o) const;
    void visit_references(PyObject* o, visitproc visit, void* arg) const;
    static int count_one(PyObject* o, void* self);
    static int want_one(PyObject* o, void* self);

    size_t most_objects_;
    std::unordered_set<const PyObject*>
        modules_;  // those that are imported, and their dicts: nobody looks behind them
    std::unordered_map<PyObject*, Node> nodes_;
    std::vector<PyObject*> ahead_;  // to be gone through
};

// Whether the dict is that of a module that is imported.
bool is_of_imported_module(PyObject* globals);

}  // namespace stator::frontend
