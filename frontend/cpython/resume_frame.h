// A frame in which Python goes on, before it is one.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "frontend/pyref.h"

namespace stator::frontend {

// What lies on a frame's stack, above the object that is being made, while a call of its class is in progress
// whose __init__ runs in the frame above: the call gives that object, and not what __init__ returns.
inline PyObject* under_construction() {
    static PyObject* const mark = PyUnicode_FromString("stator: under construction");
    return mark;
}

// Variables that a frame had and that were not built with it, because nothing reads them any more. They are
// computed when an exception has left the frame: then people look at them.
class LostVariables {
  public:
    struct Variable {
        int slot;
        PyRef value;
    };
    virtual ~LostVariables() = default;
    virtual const std::vector<int>& slots() const = 0;
    // Those that what they are made of still allows to compute. `unseen`: what ran since the frame was left
    // may have changed arrays; `holds`: whether a variable of some frame is this object, which may have died.
    // No Python error may be set, and none is.
    virtual std::vector<Variable> compute(bool unseen, const std::function<bool(PyObject*)>& holds) = 0;
};

// One frame to go on in; owned references, NULL for empty slots.
struct ResumeFrame {
    PyRef func;  // inlined frames only
    int unit = 0;
    std::vector<PyObject*> slots;
    bool pending = false;  // the interpreter wants attention first
    std::shared_ptr<LostVariables> lost;
    ResumeFrame() = default;
    ResumeFrame(ResumeFrame&&) = default;
    ResumeFrame& operator=(ResumeFrame&&) = default;
    ~ResumeFrame() { clear(); }
    void clear() {
        for (PyObject* o : slots) Py_XDECREF(o);
        slots.clear();
    }
};

}  // namespace stator::frontend
