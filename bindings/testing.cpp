// stator._stator._testing: drives the stepper, the hook and side exits from Python, one instruction at a
// time.
//
// A run steps the first frame of a function and leaves it where the test says, in one of the ways a real exit
// takes. Nested calls run as they always do, though under the hook, which declines them.
#include "bindings/testing.h"

#include "bindings/function_object.h"

#include "frontend/cpython/code.h"
#include "frontend/cpython/frame.h"
#include "frontend/cpython/stepper.h"
#include "frontend/drive/verify_region.h"
#include "frontend/host_calls/verified.h"
#include "guards/check/cupy_api.h"

namespace stator::bindings {

using namespace stator::frontend;

namespace {

enum class Leave : int {
    InPlace,   // the default evaluator continues in the same frame
    NewFrame,  // a frame of a clone takes over locals and stack, as a side exit of a replay does
    Raise,     // KeyError("injected") is raised at the instruction
};

struct Run {
    PyObject* function = nullptr;
    PyObject* clone = nullptr;
    long stop_after = -1;
    Leave leave = Leave::InPlace;
    bool nested = false;  // step every frame that can be, not only the first
    bool taken = false;
    long steps = 0;
    int stopped_unit = -1;  // where the frame was left; -1 = it ran to its end in the stepper
    Opcode stopped_op = Opcode::Nop;
    const char* why = nullptr;  // why the frame was not taken
    int nlocalsplus = 0;
    Frame* from = nullptr;  // NewFrame: the frame whose state moves
};

Run g_last;

PyObject* resume_in_new_frame(void* ctx, Frame& f) {
    Run& run = *static_cast<Run*>(ctx);
    Frame& from = *run.from;
    const int depth = from.depth();
    for (int i = 0; i < depth; i++) {
        if (from.slot_is_object(i)) {
            f.init_slot(i, Py_XNewRef(from.slot(i)));
        } else {
            f.init_lasti(i, from.lasti(i));
        }
    }
    f.set_depth(depth);
    // A frame object of the old frame may be alive and reads its cells without asking.
    from.drop(depth - run.nlocalsplus);
    for (int i = 0; i < run.nlocalsplus; i++) {
        if (from.slot(i) && !PyCell_Check(from.slot(i))) from.set_slot(i, nullptr);
    }
    return finish_default(f, run.stopped_unit);
}

PyObject* leave(Run& run, Frame& f, const CodeInfo& code, int pc) {
    run.stopped_unit = code.insns[pc].unit;
    run.stopped_op = code.insns[pc].op;
    if (run.leave == Leave::InPlace) return finish_default(f, run.stopped_unit);
    if (run.leave == Leave::Raise) {
        PyErr_SetString(PyExc_KeyError, "injected");
        return finish_raise(f, code, pc);
    }
    f.unlink();
    run.from = &f;
    run.nlocalsplus = code.nlocalsplus;
    PyObject* result = call_with_frame(run.clone, resume_in_new_frame, &run);
    return result ? finish_return(f, code, result) : finish_unwound(f);
}

// Steps the frame to its end, or to where `first` says the run leaves it.
PyObject* drive(Run& run, Frame& f, const CodeInfo& code, bool first) {
    int pc = code.index_at(f.unit());
    f.link();
    for (;;) {
        if (first && run.stop_after >= 0 && run.steps >= run.stop_after && code.insns[pc].boundary) {
            return leave(run, f, code, pc);
        }
        run.steps++;
        switch (step(f, code, &pc)) {
            case Step::Next: break;
            case Step::Return: return finish_return(f, code, f.pop());
            case Step::Raised:
                if (!unwind(f, code, &pc)) return finish_unwound(f);
                break;
            case Step::Cannot:
                run.steps--;
                if (first) {
                    run.stopped_unit = code.insns[pc].unit;
                    run.stopped_op = code.insns[pc].op;
                }
                return finish_default(f, code.insns[pc].unit);
        }
    }
}

bool on_frame(void* ctx, Frame& f, PyObject** result) {
    Run& run = *static_cast<Run*>(ctx);
    const bool first = !run.taken && f.function() == run.function;
    if (!first && !(run.nested && run.taken)) return false;
    if (is_traced(f.ts(), f.code())) return false;
    run.taken = true;
    const char* why;
    const CodeInfo* code = CodeInfo::get(f.code(), &why);
    if (first) run.why = why;
    if (!code) return false;
    *result = drive(run, f, *code, first);
    return true;
}

PyObject* step_call(PyObject*, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"function", "args", "kwargs", "stop_after", "leave", "nested", nullptr};
    PyObject *function, *call_args, *call_kwargs = Py_None;
    Run run;
    int how = 0, nested = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!|Olip", const_cast<char**>(names), &PyFunction_Type,
                                     &function, &PyTuple_Type, &call_args, &call_kwargs, &run.stop_after,
                                     &how, &nested)) {
        return nullptr;
    }
    run.function = function;
    run.leave = static_cast<Leave>(how);
    run.nested = nested;
    PyRef clone = PyRef::steal(make_clone(function));
    if (!clone) return nullptr;
    run.clone = clone.get();
    PyObject* result;
    {
        HookScope scope(on_frame, &run);
        result = PyObject_Call(function, call_args, call_kwargs == Py_None ? nullptr : call_kwargs);
    }
    g_last = run;
    return result;
}

PyObject* last_run(PyObject*, PyObject*) {
    return Py_BuildValue("{s:l,s:i,s:s,s:O,s:z}", "steps", g_last.steps, "stopped_unit", g_last.stopped_unit,
                         "op", name(g_last.stopped_op), "taken", g_last.taken ? Py_True : Py_False, "why",
                         g_last.why);
}

// The decoded instructions as tuples, for comparison with dis.
PyObject* decode(PyObject*, PyObject* arg) {
    if (!PyCode_Check(arg)) return PyErr_Format(PyExc_TypeError, "expected a code object, got %R", arg);
    const char* why = nullptr;
    auto info = CodeInfo::decode(reinterpret_cast<PyCodeObject*>(arg), &why);
    if (!info) return PyUnicode_FromString(why);
    PyRef list = PyRef::steal(PyList_New(0));
    for (size_t i = 0; list && i < info->insns.size(); i++) {
        const Insn& in = info->insns[i];
        Handler h{-1, 0, false};
        info->find_handler(static_cast<int>(i), &h);
        PyRef live = PyRef::steal(PyList_New(0));
        for (int s = 0; live && s < info->nlocalsplus; s++) {
            PyRef n = PyRef::steal(PyLong_FromLong(s));
            if (info->live(static_cast<int>(i), s) && PyList_Append(live.get(), n.get()) < 0) return nullptr;
        }
        PyRef row = PyRef::steal(Py_BuildValue(
            "{s:s,s:i,s:i,s:i,s:i,s:i,s:i,s:O,s:i,s:i,s:i,s:i,s:O}", "op", name(in.op), "flags", in.flags,
            "arg", in.arg, "unit", in.unit, "op_unit", in.op_unit, "next_unit", in.next_unit, "target",
            in.target, "boundary", in.boundary ? Py_True : Py_False, "line", in.line, "header",
            static_cast<int>(info->is_header[i]), "handler", h.target, "depth", h.depth, "live", live.get()));
        if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
    }
    return list.release();
}

bool note_frame(void* ctx, Frame& f, PyObject**) {
    PyRef text = PyRef::steal(PyObject_GetAttrString(f.function(), "__name__"));
    if (!text || PyList_Append(static_cast<PyObject*>(ctx), text.get()) < 0) PyErr_Clear();
    return false;
}

// From here on the first `find` in the text of each region that is built becomes `replace`.
PyObject* spoil_host_calls_from(PyObject*, PyObject* on) {
    const int yes = PyObject_IsTrue(on);
    if (yes < 0) return nullptr;
    spoil_host_calls(yes != 0);
    Py_RETURN_NONE;
}

PyObject* mutate_regions_from(PyObject*, PyObject* args) {
    const char *find = "", *replace = "";
    if (!PyArg_ParseTuple(args, "ss", &find, &replace)) return nullptr;
    mutate_regions(find, replace);
    Py_RETURN_NONE;
}

// Calls `function()` under a HookScope whose handler declines every frame; the names of those it was offered.
PyObject* watch_frames(PyObject*, PyObject* function) {
    PyRef list = PyRef::steal(PyList_New(0));
    if (!list) return nullptr;
    PyRef result;
    {
        HookScope scope(note_frame, list.get());
        result = PyRef::steal(PyObject_CallNoArgs(function));
    }
    return result ? list.release() : nullptr;
}

PyObject* answer(void* ctx, Frame& f) {
    const char* why;
    const CodeInfo* code = CodeInfo::get(f.code(), &why);
    f.set_depth(f.code()->co_nlocalsplus);
    for (int i = 0; i < f.depth(); i++) f.init_slot(i, nullptr);
    if (!code) {
        PyErr_SetString(PyExc_RuntimeError, why);
        return finish_unwound(f);
    }
    return finish_return(f, *code, Py_NewRef(static_cast<PyObject*>(ctx)));
}

// call_with_frame on a clone of `function` with a body that returns `value` without running anything.
PyObject* call_clone(PyObject*, PyObject* args) {
    PyObject *function, *value;
    if (!PyArg_ParseTuple(args, "O!O", &PyFunction_Type, &function, &value)) return nullptr;
    PyRef clone = PyRef::steal(make_clone(function));
    return clone ? call_with_frame(clone.get(), answer, value) : nullptr;
}

long g_foreign_frames = 0;

PyObject* foreign(PyThreadState* ts, _PyInterpreterFrame* frame, int throwflag) {
    g_foreign_frames++;
    return _PyEval_EvalFrameDefault(ts, frame, throwflag);
}

// Installs or removes a hook of "someone else" that counts frames; the count so far.
PyObject* set_foreign_hook(PyObject*, PyObject* on) {
    int install = PyObject_IsTrue(on);
    if (install < 0) return nullptr;
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(),
                                         install ? foreign : _PyEval_EvalFrameDefault);
    return PyLong_FromLong(std::exchange(g_foreign_frames, 0));
}

PyObject* hook_installed(PyObject*, PyObject*) {
    return PyBool_FromLong(_PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) !=
                           _PyEval_EvalFrameDefault);
}

PyObject* clear_handled(PyObject*, PyObject*) {
    PyRef handled = PyRef::steal(PyErr_GetHandledException());
    PyErr_SetHandledException(nullptr);
    return PyBool_FromLong(handled.get() && handled.get() != Py_None);
}

PyObject* foreign_hook(PyObject*, PyObject*) { return PyBool_FromLong(foreign_hook_present()); }

PyObject* traced(PyObject*, PyObject*) { return PyBool_FromLong(is_traced(PyThreadState_Get())); }

// Address, shape, strides in elements and device of a CuPy array, by its layout or by its attributes.
PyObject* read_cupy(PyObject*, PyObject* args) {
    PyObject* array;
    int by_layout;
    if (!PyArg_ParseTuple(args, "Op", &array, &by_layout)) return nullptr;
    guards::TensorView t;
    if (!guards::is_cupy_array(array) ||
        !(by_layout ? guards::read_cupy_array : guards::read_cupy_attributes)(array, &t))
        Py_RETURN_NONE;
    PyRef shape = PyRef::steal(PyTuple_New(t.rank)), strides = PyRef::steal(PyTuple_New(t.rank));
    for (int i = 0; shape && strides && i < t.rank; ++i) {
        PyTuple_SET_ITEM(shape.get(), i, PyLong_FromLongLong(t.shape[i]));
        PyTuple_SET_ITEM(strides.get(), i, PyLong_FromLongLong(t.strides[i]));
    }
    return Py_BuildValue("KOOi", reinterpret_cast<unsigned long long>(t.data), shape.get(), strides.get(),
                         t.device);
}

PyObject* cupy_layout_known(PyObject*, PyObject*) {
    return PyBool_FromLong(guards::cupy_api() && guards::cupy_api()->shape_at >= 0);
}

PyObject* is_served_by_us(PyObject*, PyObject* function) { return PyBool_FromLong(is_served(function)); }

PyMethodDef kMethods[] = {
    {"read_cupy", read_cupy, METH_VARARGS, "read_cupy(array, by_layout): how guards see it."},
    {"cupy_layout_known", cupy_layout_known, METH_NOARGS,
     "Whether arrays are read without their attributes."},
    {"step_call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(step_call)),
     METH_VARARGS | METH_KEYWORDS,
     "step_call(function, args, kwargs=None, stop_after=-1, leave=0, nested=False)\n--\n\nCall with the "
     "frame in the "
     "stepper."},
    {"last_run", last_run, METH_NOARGS, "What the last step_call did."},
    {"decode", decode, METH_O, "The decoded instructions of a code object, or why it has none."},
    {"watch_frames", watch_frames, METH_O, "Names of the frames that the hook is offered while calling."},
    {"spoil_host_calls", spoil_host_calls_from, METH_O,
     "spoil_host_calls(on): STATOR_VERIFY finds another result in each call of NumPy that is answered."},
    {"mutate_regions", mutate_regions_from, METH_VARARGS,
     "mutate_regions(find, replace): a defect in each region that is built from now on; empty: none."},
    {"call_clone", call_clone, METH_VARARGS, "call_clone(function, value): a frame that returns at once."},
    {"set_foreign_hook", set_foreign_hook, METH_O,
     "Install or remove a hook that is not stator's; frames it saw."},
    {"hook_installed", hook_installed, METH_NOARGS, "Whether any eval-frame hook is installed."},
    {"clear_handled", clear_handled, METH_NOARGS, "Empty sys.exc_info(); whether there was anything."},
    {"foreign_hook", foreign_hook, METH_NOARGS, "Whether a frame hook of someone else is installed."},
    {"is_served", is_served_by_us, METH_O, "Whether the function object's vectorcall is stator's."},
    {"traced", traced, METH_NOARGS, "Whether frames must be left alone because of tracing."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT,
                       "stator._stator._testing",
                       nullptr,
                       -1,
                       kMethods,
                       nullptr,
                       nullptr,
                       nullptr,
                       nullptr};

}  // namespace

PyObject* make_testing_module() { return PyModule_Create(&kModule); }

}  // namespace stator::bindings
