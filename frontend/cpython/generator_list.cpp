#include "frontend/cpython/raw/raw.h"
// raw.h must come first.
#include "frontend/cpython/builtins.h"
#include "frontend/cpython/generator_list.h"

#include <opcode.h>

#include <algorithm>
#include <map>
#include <vector>

#if PY_VERSION_HEX >= 0x030F0000
#include "internal/pycore_opcode_utils.h"
#endif

namespace stator::frontend {
namespace {

struct Unit {
    uint8_t op, arg;
};

std::vector<Unit> units_of(PyCodeObject* code) {
    PyRef bytes = PyRef::steal(PyCode_GetCode(code));
    if (!bytes) {
        PyErr_Clear();
        return {};
    }
    auto* p = reinterpret_cast<const Unit*>(PyBytes_AS_STRING(bytes.get()));
    return {p, p + PyBytes_GET_SIZE(bytes.get()) / static_cast<Py_ssize_t>(sizeof(Unit))};
}

bool is(const std::vector<Unit>& units, size_t i, int op) { return i < units.size() && units[i].op == op; }

#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
constexpr int kReturnConst = RETURN_CONST;
#else
constexpr int kReturnConst = -1;
#endif

#if PY_VERSION_HEX >= 0x030C0000
constexpr auto& new_code = PyUnstable_Code_NewWithPosOnlyArgs;
#else
constexpr auto& new_code = PyCode_NewWithPosOnlyArgs;
#endif

#if PY_VERSION_HEX >= 0x030F0000
constexpr int kLoadNone = LOAD_COMMON_CONSTANT;
#else
constexpr int kLoadNone = LOAD_CONST;
#endif

bool loads_none([[maybe_unused]] PyCodeObject* code, Unit u) {
#if PY_VERSION_HEX >= 0x030F0000
    return PyInterpreterState_Get()->common_consts[u.arg] == Py_None;
#else
    return PyTuple_GET_ITEM(code->co_consts, u.arg) == Py_None;
#endif
}

// What follows RETURN_GENERATOR and YIELD_VALUE where nothing is sent to the generator: one instruction, and
// in 3.15 its cache.
constexpr size_t kResumeUnits = PY_MINOR_VERSION >= 15 ? 2 : 1;

// A list is made instead of the generator, below all else on the stack.
bool begin_list(std::vector<Unit>& units, size_t i) {
    if (!is(units, i + 1, POP_TOP)) return false;
#if PY_VERSION_HEX < 0x030F0000
    units[i] = {BUILD_LIST, 0};
    units[i + 1] = {NOP, 0};
#else
    // The iterator has been made: LOAD_FAST, GET_ITER and its cache. The function starts where it asked for
    // it.
    const bool known = i >= 5 && is(units, i - 5, RESUME) && is(units, i - 3, LOAD_FAST) &&
                       is(units, i - 2, GET_ITER) && is(units, i + 2, RESUME) && units[i - 2].arg == 0;
    if (!known) return false;
    units[i - 5].arg = RESUME_AT_FUNC_START;
    const Unit iterable = units[i - 3];
    units[i - 3] = {BUILD_LIST, 0};
    units[i - 2] = iterable;
    units[i - 1] = {GET_ITER, 0};
    units[i] = {CACHE, 0};
    for (size_t k = 1; k < 2 + kResumeUnits; ++k) units[i + k] = {NOP, 0};
#endif
    return true;
}

// Loops around unit `at`: their iterators are on the stack there, and nothing else is when an item is
// yielded.
int loops_around(const std::vector<Unit>& units, size_t at) {
    int loops = 0, prefix = 0;
    for (size_t i = 0; i < at; ++i) {
        const int arg = units[i].arg | prefix;
        prefix = units[i].op == EXTENDED_ARG ? arg << 8 : 0;
        if (units[i].op == FOR_ITER && i + static_cast<size_t>(arg) + 1 > at) ++loops;
    }
    return loops;
}

// False when the code has another form than that of a generator expression.
bool rewrite(PyCodeObject* code, std::vector<Unit>& units, bool as_iterator) {
    const Unit last = {static_cast<uint8_t>(as_iterator ? GET_ITER : NOP), 0};
    bool began = false;
    for (size_t i = 0; i < units.size(); ++i) {
        Unit& u = units[i];
        if (u.op == RETURN_GENERATOR) {
            if (began || !begin_list(units, i)) return false;
            began = true;
        } else if (u.op == YIELD_VALUE) {
            if (!is(units, i + 1, RESUME) || !is(units, i + 1 + kResumeUnits, POP_TOP)) return false;
            u = {LIST_APPEND, static_cast<uint8_t>(loops_around(units, i) * (1 + kAboveIterator) + 1)};
            for (size_t k = 1; k < 2 + kResumeUnits; ++k) units[i + k] = {NOP, 0};
        } else if (u.op == kLoadNone && is(units, i + 1, RETURN_VALUE)) {
            if (!loads_none(code, u)) return false;
            u = last;
        } else if (u.op == kReturnConst) {
            if (as_iterator) return false;  // no room
            u = {RETURN_VALUE, 0};
        } else if (u.op == SEND) {
            return false;
        }
    }
    return began;
}

bool is_named(PyCodeObject* code, const char* name) {
    return PyUnicode_CompareWithASCIIString(code->co_name, name) == 0;
}

bool is_generator_expression(PyObject* object) {
    if (!object || !PyCode_Check(object)) return false;
    auto* code = reinterpret_cast<PyCodeObject*>(object);
    return (code->co_flags & CO_GENERATOR) && code->co_argcount == 1 && is_named(code, "<genexpr>");
}

// The code of a function that returns what the generator expression yields, as a list or as an iterator over
// one. Empty where it has another form than compilers give it (no error is set). Its last constant is `code`
// itself.
PyRef as_list(PyCodeObject* code, bool as_iterator) {
    std::vector<Unit> units = units_of(code);
    if (units.empty() || !rewrite(code, units, as_iterator)) return {};
    const auto length = static_cast<Py_ssize_t>(units.size() * sizeof(Unit));
    PyRef bytes = PyRef::steal(PyBytes_FromStringAndSize(reinterpret_cast<char*>(units.data()), length));
    PyRef original = PyRef::steal(PyTuple_Pack(1, code));
    PyRef consts = original ? PyRef::steal(PySequence_Concat(code->co_consts, original.get())) : PyRef();
    const PyRef variables = PyRef::steal(PyCode_GetVarnames(code)),
                free = PyRef::steal(PyCode_GetFreevars(code)), cells = PyRef::steal(PyCode_GetCellvars(code));
    PyRef list;
    // As code.replace() does, of which the program's audit hooks would be told.
    if (bytes && consts && variables && free && cells)
        list = PyRef::steal(reinterpret_cast<PyObject*>(new_code(
            code->co_argcount, code->co_posonlyargcount, code->co_kwonlyargcount, code->co_nlocals,
            code->co_stacksize + 1, code->co_flags & ~CO_GENERATOR, bytes.get(), consts.get(), code->co_names,
            variables.get(), free.get(), cells.get(), code->co_filename, code->co_name, code->co_qualname,
            code->co_firstlineno, code->co_linetable, code->co_exceptiontable)));
    PyErr_Clear();
    return list;
}

#if PY_VERSION_HEX >= 0x030F0000

// The call of the function that instruction `made` loads the code of, which hands it what it goes through:
// the one that takes the function off the stack. -1 when unclear.
int creation(const CodeInfo& info, int made) {
    const std::vector<Unit> units = units_of(info.code);
    std::map<int, int> depth_at;  // where jumps lead
    int depth = 0;                // below the function it is 0
    bool reached = true;
    for (int i = made; !units.empty() && i < static_cast<int>(info.insns.size()); ++i) {
        const Insn& in = info.insns[static_cast<size_t>(i)];
        if (!in.boundary) continue;
        if (const auto known = depth_at.find(i); known != depth_at.end())
            depth = known->second;
        else if (!reached)
            return -1;
        const Unit u = units[static_cast<size_t>(in.op_unit)];
        int arg = 0;
        for (int k = in.unit; k <= in.op_unit; ++k) arg = arg << 8 | units[static_cast<size_t>(k)].arg;
        if (in.op == Opcode::Call && depth == arg + 2) return arg == 0 ? i : -1;
        const int after = depth + PyCompile_OpcodeStackEffectWithJump(u.op, arg, 0);
        // The end of a loop lies behind the instruction that takes the item off.
        if (in.target >= 0) depth_at[in.target] = in.op == Opcode::ForIter ? depth : after;
        reached = in.op != Opcode::Jump && in.op != Opcode::ReturnValue && in.op != Opcode::RaiseVarargs;
        if ((depth = after) <= 0) return -1;
    }
    return -1;
}

#else

// What is called where it is made, with an iterator.
bool is_comprehension(PyObject* object) {
    if (!object || !PyCode_Check(object)) return false;
    auto* code = reinterpret_cast<PyCodeObject*>(object);
    return code->co_argcount == 1 && (is_named(code, "<genexpr>") || is_named(code, "<listcomp>") ||
                                      is_named(code, "<setcomp>") || is_named(code, "<dictcomp>"));
}

// The call of the function that instruction `made` loads the code of, which hands it its iterator; -1 when
// unclear.
int creation(const CodeInfo& info, int made) {
    const std::vector<Insn>& insns = info.insns;
    int open = 1;
    for (int i = made + 1; i + 1 < static_cast<int>(insns.size()); ++i) {
        if (insns[i].op == Opcode::LoadConst && is_comprehension(insns[i].obj)) ++open;
        if (insns[i].op != Opcode::GetIter || insns[i + 1].op != Opcode::Call || insns[i + 1].arg != 0)
            continue;
        if (--open == 0) return i + 1;
    }
    return -1;
}

#endif

// `tuple(... for ...)` in Python 3.14: a loop that appends to a list.
bool appends_all(const std::vector<Insn>& insns, size_t i) {
    return i + 2 < insns.size() && insns[i].op == Opcode::ForIter && insns[i + 1].op == Opcode::ListAppend &&
           (insns[i + 2].flags & Insn::kBackward) && insns[i + 2].target == static_cast<int>(i);
}

// `a, b = (… for x in (p, q))`. Unpacking asks for one item more than there are names, so collecting is the
// same only where it is certain that no more than that many are gone through. From 3.14 on too many values
// are told of by their number where they are a list's.
bool unpacks_few(const CodeInfo& info, size_t made, PyObject* generator) {
    const std::vector<Insn>& insns = info.insns;
    const Insn& consumer = insns[made + 1];
    if (PY_VERSION_HEX >= 0x030E0000 || consumer.op != Opcode::UnpackSequence || made < 2) return false;
    const Insn& items = insns[made - 2];
    const bool built = items.op == Opcode::BuildTuple && items.arg <= consumer.arg;
    const bool constant = items.op == Opcode::LoadConst && PyTuple_CheckExact(items.obj) &&
                          PyTuple_GET_SIZE(items.obj) <= consumer.arg;
    const auto get_iter = static_cast<int>(made) - 1;  // other iterables may be jumped there with
    if ((!built && !constant) ||
        std::any_of(insns.begin(), insns.end(), [&](const Insn& i) { return i.target == get_iter; }))
        return false;
    const std::vector<Unit> units = units_of(reinterpret_cast<PyCodeObject*>(generator));
    for (size_t i = 0; i < units.size(); ++i)
        if (units[i].op == YIELD_VALUE && loops_around(units, i) != 1) return false;
    return true;
}

// `list(… for …)` and `tuple(… for …)` in Python 3.15: where the name is the builtin's, a loop that appends;
// else a call, which is as good, and which lies behind. Instruction `load` is of the call's part.
void prefer_call([[maybe_unused]] CodeInfo& info, [[maybe_unused]] size_t load) {
#if PY_VERSION_HEX >= 0x030F0000
    // What no program has.
    static PyObject* const nobody = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
    for (size_t i = 3; i < load; ++i) {
        Insn* const in = &info.insns[i];
        const bool asks = in->op == Opcode::PopJumpIfFalse && in[-1].op == Opcode::IsOp &&
                          in[-2].op == Opcode::LoadConst && merely_collects(in[-2].obj) &&
                          in[-3].op == Opcode::Copy;
        const auto to = static_cast<size_t>(in->target);
        // Between the two: the variables that the function shares.
        const auto begin = info.insns.begin();
        if (asks && to < load && info.insns[to].op == Opcode::PushNull &&
            std::all_of(
                begin + static_cast<long>(to) + 1, begin + static_cast<long>(load),
                [](const Insn& k) { return k.op == Opcode::LoadFast || k.op == Opcode::BuildTuple; }))
            in[-2].obj = nobody;
    }
#endif
}

}  // namespace

void collect_generators(CodeInfo& info) {
    for (size_t i = 0; i + 1 < info.insns.size(); ++i) {
        Insn& load = info.insns[i];
        if (load.op != Opcode::LoadConst || !is_generator_expression(load.obj) ||
            info.insns[i + 1].op != Opcode::MakeFunction)
            continue;
        const int made = creation(info, static_cast<int>(i));
        if (made < 0 || static_cast<size_t>(made) + 1 >= info.insns.size()) continue;
        const Insn& consumer = info.insns[static_cast<size_t>(made) + 1];
        const bool called = consumer.op == Opcode::Call && consumer.arg == 1 && !consumer.obj &&
                            !(consumer.flags & Insn::kKwOnStack);
        const bool appended = appends_all(info.insns, static_cast<size_t>(made) + 1);
        if (!called && !appended && !unpacks_few(info, static_cast<size_t>(made), load.obj)) continue;
        PyRef list = as_list(reinterpret_cast<PyCodeObject*>(load.obj), appended);
        if (!list) continue;
        load.obj = list.get();
        // The items of a generator are made when its consumer asks for them: that is where whoever looks at
        // the frame meanwhile, or at the traceback of what they raise, finds it.
        Insn& call = info.insns[static_cast<size_t>(made)];
        call.op_unit = consumer.op_unit;
        call.line = consumer.line;
        if (called) {
            load.flags |= Insn::kForCallable;
            prefer_call(info, i);
        }
        info.made.push_back(std::move(list));
    }
}

PyObject* generator_of(PyObject* list_code) {
    PyObject* consts = reinterpret_cast<PyCodeObject*>(list_code)->co_consts;
    return PyTuple_GET_ITEM(consts, PyTuple_GET_SIZE(consts) - 1);
}

bool merely_collects(PyObject* callable) {
    if (callable == reinterpret_cast<PyObject*>(&PyTuple_Type) ||
        callable == reinterpret_cast<PyObject*>(&PyList_Type))
        return true;
    return callable && PyCFunction_CheckExact(callable) && callable == builtin("sorted");
}

bool collects_generator(PyCodeObject* code) {
    return !(code->co_flags & CO_GENERATOR) && is_named(code, "<genexpr>") &&
           PyTuple_GET_SIZE(code->co_consts) > 0 &&
           PyCode_Check(generator_of(reinterpret_cast<PyObject*>(code)));
}

void stop_iteration_is_error() {
#if PY_VERSION_HEX < 0x030C0000
    if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback) PyException_SetTraceback(value, traceback);
    PyErr_SetString(PyExc_RuntimeError, "generator raised StopIteration");
    PyObject *type2, *value2, *traceback2;
    PyErr_Fetch(&type2, &value2, &traceback2);
    PyErr_NormalizeException(&type2, &value2, &traceback2);
    PyException_SetCause(value2, Py_NewRef(value));
    PyException_SetContext(value2, value);  // steals
    PyErr_Restore(type2, value2, traceback2);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
#endif
}

}  // namespace stator::frontend
