// A code object decoded to the common instruction set (instructions.def), with what the stepper, the recorder
// and exits need to know: unit boundaries, jump targets, loop headers and the exception table.
//
// Decoding reads PyCode_GetCode (de-specialized, de-instrumented); units are code units (2 bytes) as in
// CPYTHON's tables. An exit may resume at Insn::unit of any instruction for which `boundary` is true.
//
// Instructions that come from one CPython instruction (LOAD_FAST_LOAD_FAST) share unit, op_unit and
// next_unit; only the first is a boundary, so whoever stops must finish the others first.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "frontend/pyref.h"

namespace stator::frontend {

enum class Opcode : uint8_t {
#define INSN(id, pops, pushes, doc) id,
#include "frontend/cpython/instructions.def"
#undef INSN
};
const char* name(Opcode op);

struct Insn {
    enum Flags : uint8_t {
        kPushNull = 1,
        kToBool = 2,
        kKwOnStack = 4,
        kBackward = 8,
        kMethod = 16,
        kForCallable = 32,  // obj is code of generator_list.h, to be used where a callable merely collects
        kBorrows = 64,      // the load of a local has no reference of its own (LOAD_FAST_BORROW of 3.14)
    };
    Opcode op = Opcode::Nop;
    uint8_t flags = 0;
    bool boundary =
        false;  // the first instruction decoded from its unit: a place where a frame may be resumed
    int32_t arg = 0;
    int32_t unit = 0;  // first code unit, EXTENDED_ARG prefixes (and KW_NAMES, PRECALL) included
    // The unit a traceback names while this executes: this instruction's own, but for calls of functions of
    // generator_list.h.
    int32_t op_unit = 0;
    int32_t next_unit = 0;    // unit after it and its caches
    int32_t target = -1;      // jump target: index into CodeInfo::insns
    PyObject* obj = nullptr;  // name, constant or keyword names; borrowed from the code object (or immortal)
    int line = -1;
};

// How many slots lie above the iterator where a loop asks for its next item. 3.15 keeps a position there for
// what it goes through without an iterator; an empty slot says that there is one, which is what stepping
// makes.
inline constexpr int kAboveIterator = PY_MINOR_VERSION >= 15 ? 1 : 0;

// How many slots an instruction pops and then pushes, where it does not jump.
struct StackEffect {
    int pops, pushes;
};
StackEffect stack_effect(const Insn& insn);
// Whether the instruction after it may be the next one.
inline bool falls_through(Opcode op) {
    return op != Opcode::Jump && op != Opcode::ReturnValue && op != Opcode::RaiseVarargs &&
           op != Opcode::Reraise;
}

struct Handler {
    int target;  // index into insns
    int depth;   // stack depth to unwind to
    bool push_lasti;
};

// The loops of a code, as its control flow has them, and how high its stack is: for those that look into a
// frame which the evaluator runs, where the frame does not say it. What only handlers lead to is left out.
struct CodeLoops {
    struct Loop {
        int header;  // index into CodeInfo::insns
        int around;  // the loop that it is in, an index into `loops`; -1: none
    };
    std::vector<Loop> loops;
    std::vector<int> innermost;  // per instruction: the innermost loop that it is in, or -1
    std::vector<int> depth;      // per instruction: values on the stack before it; -1: nobody knows
};

class CodeInfo {
  public:
    // Decodes once and caches per code object (through co_extra or a side table that drops entries when the
    // code object dies). nullptr with no Python error set when the code cannot be stepped: generators,
    // coroutines, code without CO_OPTIMIZED, or an instruction unknown to this version's table; `why` then
    // says so.
    static const CodeInfo* get(PyCodeObject* code, const char** why = nullptr);
    // The same for code of a frame at hand, which may be a module's (`is_module`) where the frame is at
    // module level (Frame::is_at_module_level).
    static const CodeInfo* of_frame(PyCodeObject* code, const char** why = nullptr);
    // Decodes without caching; `why` as for get.
    static std::unique_ptr<CodeInfo> decode(PyCodeObject* code, const char** why);

    PyCodeObject* code = nullptr;
    int nlocalsplus = 0;
    std::vector<Insn> insns;
    std::vector<int32_t> index_of_unit;  // -1 where no instruction starts
    std::vector<uint8_t> is_header;      // per instruction: target of a backward jump
    bool has_loops = false;
    bool is_module = false;   // its names are in a dict: code of a module, a notebook's cell or a class body
    std::vector<PyRef> made;  // code that instructions refer to and the code object does not keep
    // Per instruction: the first one that may yet be executed from there on.
    std::vector<int32_t> first_ahead;
    int index_at(int unit) const { return index_of_unit[unit]; }
    // Where a trace that is entered with a call finds the function object: behind the variables, where the
    // stack begins later.
    int function_slot() const { return nlocalsplus; }
    bool find_handler(int insn_index, Handler* out) const;
    // Whether the value of a localsplus slot may be read at or after instruction i; otherwise the slot is
    // dead there. Cells and free variables are always live. A dead local can still be seen through locals()
    // and frame.f_locals: see locals_seen.
    bool live(int insn_index, int slot) const;
    const CodeLoops& loops() const;  // found when first asked for
    // The first instruction of the basic block that an instruction is in.
    int block_of(int insn_index) const;
    // Whether locals of a frame of this code, with these globals, may be looked up by name.
    bool locals_seen(PyObject* globals) const;

  private:
    void compute_liveness() const;
    void compute_blocks() const;
    void compute_loops() const;
    void compute_first_ahead();

    std::vector<Handler> handlers_;
    std::vector<int32_t> handler_of_;  // per instruction: index into handlers_, -1 = none
    mutable std::vector<uint64_t>
        live_;  // per instruction: a bit per localsplus slot; empty until first asked
    mutable std::vector<uint8_t> begins_block_;  // per instruction; empty until first asked
    mutable std::unique_ptr<CodeLoops> loops_;
    mutable int8_t locals_seen_ = -1;  // -1 until first asked
};

}  // namespace stator::frontend
