// Decodes a code object to the common instruction set.
//
// The source is PyCode_GetCode: the bytes as compiled, whatever specialization or instrumentation has done to
// the code in the meantime, with inline caches zeroed (opcode 0, CACHE), so their sizes need no table here.
//
// Invariants: index_of_unit maps the first unit of an instruction, prefixes included, so jump targets,
// handlers and resume points meet; prefixes (EXTENDED_ARG, KW_NAMES, PRECALL) never start an instruction of
// their own, because the evaluator keeps their effect in a C variable. What a row means is decided in
// decode_table.h alone.
#include "frontend/cpython/raw/raw.h"
// raw.h must come first.
#include <array>
#include <cstring>

#include "frontend/cpython/code.h"
#include "frontend/cpython/generator_list.h"
#include "frontend/cpython/opcodes/decode_table.h"
#if PY_VERSION_HEX < 0x030C0000
#include "frontend/cpython/opcodes/v311.h"
#elif PY_VERSION_HEX < 0x030D0000
#include "frontend/cpython/opcodes/v312.h"
#elif PY_VERSION_HEX < 0x030E0000
#include "frontend/cpython/opcodes/v313.h"
#elif PY_VERSION_HEX < 0x030F0000
#include "frontend/cpython/opcodes/v314.h"
#else
#include "frontend/cpython/opcodes/v315.h"
#endif
#if PY_VERSION_HEX >= 0x030C0000
#include "internal/pycore_intrinsics.h"
#endif

namespace stator::frontend {

namespace {

constexpr auto kRowOf = [] {
    std::array<const OpRow*, 256> rows{};
    for (const OpRow& row : kSharedRows) rows[row.cpython] = &row;
    for (const OpRow& row : kOwnRows) rows[row.cpython] = &row;
    return rows;
}();

PyObject* common_object(int which) { return which == kAssertionError ? PyExc_AssertionError : Py_None; }

#if PY_VERSION_HEX >= 0x030C0000
// CALL_INTRINSIC_1 does what older versions had instructions for.
void read_intrinsic(Insn& in) {
    if (in.arg == INTRINSIC_UNARY_POSITIVE) in.op = Opcode::UnaryPositive;
    if (in.arg == INTRINSIC_LIST_TO_TUPLE) in.op = Opcode::ListToTuple;
}
#endif

#if PY_VERSION_HEX >= 0x030E0000
// Small integers are immortal, the common constants live as long as the interpreter.
PyObject* small_int(int value) { return PyLong_FromLong(value); }
PyObject* common_constant(int index) { return PyInterpreterState_Get()->common_consts[index]; }
#endif

class Decoder {
  public:
    Decoder(PyCodeObject* co, CodeInfo& out) : co_(co), out_(out) {}

    const char* run(const uint8_t* bytes, int units) {
        out_.index_of_unit.assign(units + 1, -1);
        int unit = 0, start = 0, prefix = 0;
        PyObject* kwnames = nullptr;
        while (unit < units) {
            int op = bytes[2 * unit], arg = bytes[2 * unit + 1] | prefix;
            if (!kRowOf[op]) return "an instruction that this version of stator does not know";
            const OpRow& row = *kRowOf[op];
            int next = unit + 1;
            while (next < units && bytes[2 * next] == 0) next++;
            prefix = 0;
            if (row.how == How::Extended) {
                prefix = arg << 8;
            } else if (row.how == How::KwNames) {
                kwnames = PyTuple_GET_ITEM(co_->co_consts, arg);
            } else if (row.how != How::Part) {
                emit(row, arg, start, unit, next, kwnames);
                kwnames = nullptr;
                start = next;
            }
            unit = next;
        }
        return resolve_targets(units);
    }

  private:
    Insn& add(Opcode id, int start, int unit, int next) {
        Insn in;
        in.op = id;
        in.unit = start;
        in.op_unit = unit;
        in.next_unit = next;
        in.boundary = out_.index_of_unit[start] < 0;
        if (in.boundary) out_.index_of_unit[start] = static_cast<int32_t>(out_.insns.size());
        out_.insns.push_back(in);
        return out_.insns.back();
    }

    PyObject* name(int i) const { return PyTuple_GET_ITEM(co_->co_names, i); }

    void emit(const OpRow& row, int arg, int start, int unit, int next, PyObject* kwnames) {
        if (row.how == How::TwoLocals) {
            add(row.id, start, unit, next).arg = arg >> 4;
            add(static_cast<Opcode>(row.extra), start, unit, next).arg = arg & 15;
            return;
        }
        if (row.how == How::BorrowedLocals) {
            for (int shift = 4 * (row.extra - 1); shift >= 0; shift -= 4) {
                Insn& load = add(row.id, start, unit, next);
                load.arg = row.extra == 1 ? arg : arg >> shift & 15;
                load.flags |= Insn::kBorrows;
            }
            return;
        }
        if (row.how == How::ConstReturn) {
            add(Opcode::LoadConst, start, unit, next).obj = PyTuple_GET_ITEM(co_->co_consts, arg);
            add(Opcode::ReturnValue, start, unit, next);
            return;
        }
        if (row.how == How::IterPair && arg == 0) {
            const bool begins = row.id == Opcode::GetIter;
            add(begins ? Opcode::GetIter : Opcode::PopTop, start, unit, next);
            add(begins ? Opcode::PushNull : Opcode::PopIter, start, unit, next);
            return;
        }
        Insn& in = add(row.id, start, unit, next);
        in.arg = arg;
        read_argument(row, in);
        if (in.op == Opcode::Call && kwnames) in.obj = kwnames;
    }

    void read_argument(const OpRow& row, Insn& in) {
        const int arg = in.arg;
        switch (row.how) {
            case How::Fixed: in.arg = row.extra; break;
            case How::Const: in.obj = PyTuple_GET_ITEM(co_->co_consts, arg); break;
            case How::Object: in.obj = common_object(row.extra); break;
            case How::Name: in.obj = name(arg); break;
            case How::NameNull:
                in.obj = name(arg >> 1);
                in.flags = arg & 1 ? Insn::kPushNull : 0;
                break;
            case How::AttrMethod:
                in.obj = name(arg >> 1);
                in.flags = arg & 1 ? Insn::kMethod : 0;
                if (arg & 1) in.op = Opcode::LoadMethod;
                break;
            case How::SuperAttr:
                in.obj = name(arg >> 2);
                in.flags = arg & 1 ? Insn::kMethod : 0;
                break;
            case How::Forward: in.target = in.next_unit + arg; break;
            case How::Leave: in.target = in.next_unit + arg + row.extra; break;
            case How::Backward:
                in.target = in.next_unit - arg;
                in.flags = Insn::kBackward;
                break;
            case How::Compare:
                in.arg = arg >> row.extra;
                in.flags = row.extra == 5 && (arg & 16) ? Insn::kToBool : 0;
                break;
            case How::KwCall: in.flags = Insn::kKwOnStack; break;
            case How::Convert: in.arg = arg | 8; break;
            // GET_ITER for `yield from` and its like.
            case How::IterPair: in.op = Opcode::Other; break;
            case How::Import: {
                constexpr int kFlags = 3, kEager = 2;
                in.obj = name(arg >> 2);
                if ((arg & kFlags) != kEager) in.op = Opcode::Other;
                break;
            }
            case How::MatchClass: in.arg = arg << 2 | 3; break;
#if PY_VERSION_HEX >= 0x030C0000
            case How::Intrinsic1: read_intrinsic(in); break;
#endif
#if PY_VERSION_HEX >= 0x030E0000
            case How::SmallInt: in.obj = small_int(arg); break;
            case How::Common: in.obj = common_constant(arg); break;
            case How::Subscript:
                if (arg == NB_SUBSCR) in.op = Opcode::BinarySubscr;
                break;
#endif
            default: break;
        }
    }

    const char* resolve_targets(int units) {
        out_.is_header.assign(out_.insns.size(), 0);
        for (Insn& in : out_.insns) {
            if (in.target < 0) continue;
            int index = in.target < units ? out_.index_of_unit[in.target] : -1;
            if (index < 0) return "a jump into the middle of an instruction";
            in.target = index;
            if (in.flags & Insn::kBackward) {
                out_.is_header[index] = 1;
                out_.has_loops = true;
            }
        }
        return nullptr;
    }

    PyCodeObject* co_;
    CodeInfo& out_;
};

// co_exceptiontable: entries (start, length, target, depth << 1 | lasti) in code units, each number in groups
// of six bits, most significant first; bit 6 says that another group follows.
const char* read_exception_table(PyCodeObject* co, const CodeInfo& info, std::vector<Handler>& handlers,
                                 std::vector<int32_t>& handler_of) {
    handler_of.assign(info.insns.size(), -1);
    auto* p = reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(co->co_exceptiontable));
    const uint8_t* end = p + PyBytes_GET_SIZE(co->co_exceptiontable);
    while (p < end) {
        int v[4];
        for (int& x : v) {
            x = *p & 63;
            while (*p & 64) x = x << 6 | (*++p & 63);
            p++;
        }
        int target = info.index_of_unit[v[2]];
        if (target < 0) return "an exception handler in the middle of an instruction";
        handlers.push_back({target, v[3] >> 1, (v[3] & 1) != 0});
        for (size_t i = 0; i < info.insns.size(); i++) {
            int unit = info.insns[i].op_unit;
            if (unit >= v[0] && unit < v[0] + v[1]) handler_of[i] = static_cast<int32_t>(handlers.size()) - 1;
        }
    }
    return nullptr;
}

bool read_lines(PyCodeObject* co, std::vector<Insn>& insns) {
    PyRef iter = PyRef::steal(PyObject_CallMethod(reinterpret_cast<PyObject*>(co), "co_lines", nullptr));
    if (!iter) return false;
    size_t i = 0;
    // What belongs to no line (a prologue that makes cells, the end of a handler) is told of at the line
    // before it.
    int number = co->co_firstlineno;
    while (PyRef row = PyRef::steal(PyIter_Next(iter.get()))) {
        int start, end;
        PyObject* line;
        if (!PyArg_ParseTuple(row.get(), "iiO", &start, &end, &line)) return false;
        if (line != Py_None) number = static_cast<int>(PyLong_AsLong(line));
        for (; i < insns.size() && insns[i].op_unit * 2 < end; i++) insns[i].line = number;
    }
    return !PyErr_Occurred();
}

struct CacheEntry {
    std::unique_ptr<CodeInfo> info;
    const char* why = nullptr;
};

void free_entry(void* entry) { delete static_cast<CacheEntry*>(entry); }

Py_ssize_t extra_index() {
#if PY_VERSION_HEX >= 0x030C0000
    static const Py_ssize_t index = PyUnstable_Eval_RequestCodeExtraIndex(free_entry);
#else
    static const Py_ssize_t index = _PyEval_RequestCodeExtraIndex(free_entry);
#endif
    return index;
}

int get_extra(PyCodeObject* co, void** entry) {
    auto* o = reinterpret_cast<PyObject*>(co);
#if PY_VERSION_HEX >= 0x030C0000
    return PyUnstable_Code_GetExtra(o, extra_index(), entry);
#else
    return _PyCode_GetExtra(o, extra_index(), entry);
#endif
}

int set_extra(PyCodeObject* co, void* entry) {
    auto* o = reinterpret_cast<PyObject*>(co);
#if PY_VERSION_HEX >= 0x030C0000
    return PyUnstable_Code_SetExtra(o, extra_index(), entry);
#else
    return _PyCode_SetExtra(o, extra_index(), entry);
#endif
}

}  // namespace

const char* name(Opcode op) {
    static const char* const names[] = {
#define INSN(id, pops, pushes, doc) #id,
#include "frontend/cpython/instructions.def"
#undef INSN
    };
    return names[static_cast<int>(op)];
}

std::unique_ptr<CodeInfo> CodeInfo::decode(PyCodeObject* co, const char** why) {
    constexpr int kSuspending = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    *why = nullptr;
    if (co->co_flags & kSuspending) *why = "a generator or coroutine";
    if (*why) return nullptr;

    auto info = std::make_unique<CodeInfo>();
    info->is_module = !(co->co_flags & CO_OPTIMIZED);
    info->code = co;
    info->nlocalsplus = co->co_nlocalsplus;
    PyRef bytes = PyRef::steal(PyCode_GetCode(co));
    if (bytes) {
        auto* p = reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes.get()));
        *why = Decoder(co, *info).run(p, static_cast<int>(PyBytes_GET_SIZE(bytes.get()) / 2));
        if (!*why) *why = read_exception_table(co, *info, info->handlers_, info->handler_of_);
    }
    if (!bytes || (!*why && !read_lines(co, info->insns))) {
        PyErr_Clear();
        *why = "out of memory while decoding";
    }
    if (*why) return nullptr;
    collect_generators(*info);
    info->compute_first_ahead();
    return info;
}

const CodeInfo* CodeInfo::get(PyCodeObject* co, const char** why) {
    if (co->co_flags & CO_OPTIMIZED) return of_frame(co, why);
    if (why) *why = "code of a module or class body";
    return nullptr;
}

const CodeInfo* CodeInfo::of_frame(PyCodeObject* co, const char** why) {
    void* extra = nullptr;
    if (extra_index() < 0) {
        if (why) *why = "CPython has no code extra slot left";
        return nullptr;
    }
    if (get_extra(co, &extra) < 0) PyErr_Clear();
    auto* entry = static_cast<CacheEntry*>(extra);
    if (!entry) {
        auto fresh = std::make_unique<CacheEntry>();
        fresh->info = decode(co, &fresh->why);
        if (set_extra(co, fresh.get()) < 0) {
            PyErr_Clear();
            if (why) *why = "out of memory while decoding";
            return nullptr;
        }
        entry = fresh.release();
    }
    if (why) *why = entry->why;
    return entry->info.get();
}

bool CodeInfo::find_handler(int insn_index, Handler* out) const {
    int i = handler_of_[insn_index];
    if (i < 0) return false;
    *out = handlers_[i];
    return true;
}

}  // namespace stator::frontend
