// See verify_region.h.

#include "frontend/drive/verify_region.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "frontend/cpython/deferred.h"
#include "frontend/cpython/iterators.h"
#include "frontend/cpython/stepper.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/once.h"
#include "frontend/regions/entry.h"
#include "frontend/regions/sequence.h"
#include "guards/check/functions.h"

namespace stator::frontend {

namespace {

constexpr int kDeepest = 3;  // of tuples, lists and dicts in each other

PyRef verify_module() { return module_named("stator._verify"); }

// A Python helper that answers yes or no.
bool ask(const char* name, PyObject* a, PyObject* b) {
    const PyRef module = verify_module();
    const PyRef answer = PyRef::steal(module ? PyObject_CallMethod(module.get(), name, "OO", a, b) : nullptr);
    const bool yes = answer && PyObject_IsTrue(answer.get()) == 1;
    PyErr_Clear();
    return yes;
}

bool is_iterator(PyObject* o) { return Py_TYPE(o)->tp_iternext && !PyArray_CheckScalar(o); }

// What an iterator tells of itself; nothing with no error set when it does not.
PyRef told_by(PyObject* iterator) {
    PyRef told = PyRef::steal(PyObject_CallMethod(iterator, "__reduce__", nullptr));
    if (!told) PyErr_Clear();
    return told && PyTuple_Check(told.get()) ? told : PyRef{};
}

// An iterator that gives what `o` would, and does not move `o` on. Others than those that loops of regions
// run over are nobody's to move.
PyRef iterator_like(PyObject* o) {
    if (is_range_iter(o)) return PyRef::steal(new_range_iter(range_iter_state(o)));
    if (is_array_iter(o)) {
        const ArrayIterState s = array_iter_state(o);
        if (!s.array) return PyRef::borrow(o);
        PyRef it = PyRef::steal(PySeqIter_New(s.array));
        if (it) set_array_iter_position(it.get(), s.position);
        return it;
    }
    const bool enumerates = Py_TYPE(o) == &PyEnum_Type, zips = Py_TYPE(o) == &PyZip_Type;
    if (enumerates || zips) {
        const PyRef state = regions::iterator_state(o);
        const PyRef parts = PyRef::steal(state ? PyList_New(0) : nullptr);
        if (!parts) return PyRef::borrow(o);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(state.get()); ++i) {
            PyObject* part = PyTuple_GET_ITEM(state.get(), i);
            const PyRef copy = zips || i == 0 ? iterator_like(part) : PyRef::borrow(part);
            if (!copy || PyList_Append(parts.get(), copy.get()) < 0) return {};
        }
        const PyRef args = PyRef::steal(PyList_AsTuple(parts.get()));
        return PyRef::steal(args ? PyObject_Call(reinterpret_cast<PyObject*>(Py_TYPE(o)), args.get(), nullptr)
                                 : nullptr);
    }
    if (Py_TYPE(o) == &PyReversed_Type || regions::is_sequence_iter(o)) {
        const PyRef copy = module_named("copy");
        return PyRef::steal(copy ? PyObject_CallMethod(copy.get(), "copy", "O", o) : nullptr);
    }
    return PyRef::borrow(o);
}

bool may_do_more_than_compute(PyObject* callable) {
    bool quiet = false;
    if (numpy::is_pure(callable, &quiet) || PyType_Check(callable)) return false;
    if (PyCFunction_Check(callable)) {
        PyObject* self = PyCFunction_GET_SELF(callable);
        const char* module = self && PyModule_Check(self) ? PyModule_GetName(self) : nullptr;
        PyErr_Clear();
        if (module && std::strcmp(module, "math") == 0) return false;
        static const std::set<std::string> pure{"len", "abs",   "min",  "max", "sum",  "divmod",
                                                "pow", "round", "bool", "any", "all",  "sorted",
                                                "chr", "ord",   "hash", "id",  "range"};
        if (module && std::strcmp(module, "builtins") == 0)
            return pure.count(reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name) == 0;
    }
    return true;
}

// Whether the instruction could do what others than the frame and arrays see.
bool has_effects(const Frame& f, const Insn& insn) {
    switch (insn.op) {
        case Opcode::Call: return may_do_more_than_compute(call_operands(f, insn).callable);
        case Opcode::StoreSubscr: return !numpy::is_plain_array(f.peek(1));
        case Opcode::StoreSlice: return !numpy::is_plain_array(f.peek(2));
        case Opcode::CallFunctionEx:
        case Opcode::CallIntrinsic1:
        case Opcode::CallIntrinsic2:
        case Opcode::StoreAttr:
        case Opcode::DeleteAttr:
        case Opcode::StoreGlobal:
        case Opcode::DeleteGlobal:
        case Opcode::StoreName:
        case Opcode::StoreDeref:
        case Opcode::DeleteDeref:
        case Opcode::DeleteSubscr:
        case Opcode::ImportName:
        case Opcode::ImportFrom:
        case Opcode::BeforeWith:
        case Opcode::LoadSpecial:
        case Opcode::LoadBuildClass: return true;
        default: return false;
    }
}

// What np.empty leaves in memory is anybody's; regions put zeros there, and so it is here where it counts.
bool leaves_memory_as_it_was(PyObject* callable) {
    const std::array<PyRef, 2>& makers = once([] {
        const PyRef module = module_named("numpy");
        std::array<PyRef, 2> found;
        for (size_t i = 0; module && i < found.size(); ++i)
            found[i] = PyRef::steal(PyObject_GetAttrString(module.get(), i ? "empty_like" : "empty"));
        PyErr_Clear();
        return found;
    });
    return callable && (callable == makers[0].get() || callable == makers[1].get());
}
void fill_with_zeros(PyObject* array) {
    auto* a = reinterpret_cast<PyArrayObject*>(array);
    if (numpy::is_plain_array(array) && !PyDataType_REFCHK(PyArray_DESCR(a)))
        std::memset(PyArray_BYTES(a), 0, static_cast<size_t>(PyArray_NBYTES(a)));
}

// Memory of one array, which others may show.
struct Block {
    PyRef owner, before, after;
};

PyRef copy_of(PyObject* array) {
    return PyRef::steal(PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(array), NPY_KEEPORDER));
}

void put_back(PyObject* array, PyObject* contents) {
    auto* a = reinterpret_cast<PyArrayObject*>(array);
    if (PyArray_ISWRITEABLE(a) && PyArray_CopyInto(a, reinterpret_cast<PyArrayObject*>(contents)) < 0)
        PyErr_Clear();
}

// A list that the region may append or store to: its items, as lists.
struct List {
    PyRef list, before, after;

    void put(const PyRef& items) const {
        if (!items || PyList_SetSlice(list.get(), 0, PyList_GET_SIZE(list.get()), items.get()) < 0)
            PyErr_Clear();
    }
    PyRef now() const {
        PyRef items = PyRef::steal(PyList_GetSlice(list.get(), 0, PyList_GET_SIZE(list.get())));
        if (!items) PyErr_Clear();
        return items;
    }
};

// An attribute that the region stores to.
struct Stored {
    PyRef owner, name, before, after;
    void put(const PyRef& value) const {
        if (PyObject_SetAttr(owner.get(), name.get(), value.get()) < 0) PyErr_Clear();
    }
    PyRef now() const {
        PyRef value = PyRef::steal(PyObject_GetAttr(owner.get(), name.get()));
        if (!value) PyErr_Clear();
        return value;
    }
};

// A frame that the region left.
struct Target {
    const CodeInfo* code;
    int unit;
    std::vector<PyRef> slots;
};

// Whether objects of the region's frames are Python's. Numbers and iterators first; arrays when `deep`.
class Pairs {
  public:
    Pairs(const std::vector<Block>& blocks, bool deep) : blocks_(blocks), deep_(deep) {}

    bool same(PyObject* a, PyObject* b) {
        if (!a || !b) return a == b;
        if (Py_TYPE(a) != Py_TYPE(b)) return false;
        if (numpy::is_plain_array(a)) return !deep_ || same_array(a, b);
        if (PyList_CheckExact(a) && !paired(a, b)) return false;
        if (a == b) return true;
        if (PyTuple_CheckExact(a) || PyList_CheckExact(a)) return same_items(a, b);
        if (is_range_iter(a)) {
            const RangeState x = range_iter_state(a), y = range_iter_state(b);
            return x.next == y.next && x.left == y.left && x.step == y.step;
        }
        if (is_array_iter(a)) {
            const ArrayIterState x = array_iter_state(a), y = array_iter_state(b);
            return x.position == y.position && same(x.array, y.array);
        }
        if (is_iterator(a)) {
            const PyRef x = told_by(a), y = told_by(b);
            return x && y && same_items(x.get(), y.get());
        }
        if (PyFloat_CheckExact(a) || PyComplex_CheckExact(a) || PyArray_CheckScalar(a))
            return ask("same", a, b);
        const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
        PyErr_Clear();
        return equal == 1;
    }
    bool same_items(PyObject* a, PyObject* b) {
        const Py_ssize_t n = PySequence_Fast_GET_SIZE(a);
        if (PySequence_Fast_GET_SIZE(b) != n) return false;
        for (Py_ssize_t i = 0; i < n; ++i)
            if (!same(PySequence_Fast_GET_ITEM(a, i), PySequence_Fast_GET_ITEM(b, i))) return false;
        return true;
    }

  private:
    // What is one object on one side is one on the other.
    bool paired(PyObject* a, PyObject* b) {
        return there_.try_emplace(a, b).first->second == b && back_.try_emplace(b, a).first->second == a;
    }
    bool was_there(PyObject* array) const {
        PyObject* owner = numpy::owner_of(array);
        return std::any_of(blocks_.begin(), blocks_.end(),
                           [&](const Block& k) { return k.owner.get() == owner; });
    }
    bool same_array(PyObject* a, PyObject* b) {
        if (!paired(a, b)) return false;
        auto *x = reinterpret_cast<PyArrayObject*>(a), *y = reinterpret_cast<PyArrayObject*>(b);
        constexpr int kFlags = NPY_ARRAY_WRITEABLE | NPY_ARRAY_OWNDATA;
        if ((PyArray_FLAGS(x) & kFlags) != (PyArray_FLAGS(y) & kFlags)) return false;
        PyObject *p = numpy::owner_of(a), *q = numpy::owner_of(b);
        if (was_there(a) || was_there(b)) {
            if (p != q || PyArray_BYTES(x) != PyArray_BYTES(y)) return false;
        } else if (p != a && (!paired(p, q) ||
                              PyArray_BYTES(x) - numpy::data(p) != PyArray_BYTES(y) - numpy::data(q))) {
            return false;
        }
        return ask("same", a, b);
    }

    const std::vector<Block>& blocks_;
    const bool deep_;
    std::map<PyObject*, PyObject*> there_, back_;
};

std::string& mutation_find() {
    static std::string text;
    return text;
}
std::string& mutation_replace() {
    static std::string text;
    return text;
}

}  // namespace

struct RegionCheck::State {
    FunctionState::Impl& fs;
    const CodeInfo& code;
    const int header;
    PyRef function;            // of the frame
    std::vector<PyRef> slots;  // of the frame at entry
    std::vector<Block> blocks;
    std::vector<List> lists;
    std::vector<PyRef> reached;  // at entry
    std::vector<Stored> attributes;
    std::set<PyObject*> seen, noted;

    // While Python goes the same way.
    const regions::BuiltRegion* built = nullptr;
    std::vector<Target> targets;
    std::set<int> ends;  // instructions behind the loop
    struct Level {
        Frame* frame;
        const CodeInfo* code;
        const int* pc;
    };
    std::vector<Level> levels;
    enum Verdict : uint8_t { Going, Agrees, Differs, Unknown } verdict = Going;
    std::string why;
    PyRef variables;  // of Python's frame where it stopped

    State(FunctionState::Impl& f, const CodeInfo& c, int h) : fs(f), code(c), header(h) {}

    void reach(PyObject* o, int depth) {
        if (!o || !seen.insert(o).second) return;
        if (numpy::is_plain_array(o)) {
            PyObject* owner = numpy::owner_of(o);
            if (!numpy::is_plain_array(owner)) owner = o;
            for (const Block& b : blocks)
                if (b.owner.get() == owner) return;
            blocks.push_back({PyRef::borrow(owner), copy_of(owner), {}});
            return;
        }
        if (depth == kDeepest) return;
        if (is_array_iter(o)) return reach(array_iter_state(o).array, depth);
        if (PyTuple_CheckExact(o) || PyList_CheckExact(o))
            for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
                reach(PySequence_Fast_GET_ITEM(o, i), depth + 1);
        if (const PyRef state = regions::iterator_state(o))
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(state.get()); ++i)
                reach(PyTuple_GET_ITEM(state.get(), i), depth + 1);
        PyObject *key, *value;
        Py_ssize_t at = 0;
        if (PyDict_CheckExact(o))
            while (PyDict_Next(o, &at, &key, &value)) reach(value, depth + 1);
    }

    void note_list(PyObject* o) {
        if (!o || !PyList_CheckExact(o) || !noted.insert(o).second) return;
        List& list = lists.emplace_back(List{PyRef::borrow(o), {}, {}});
        list.before = list.now();
    }

    PyRef variables_of(const std::vector<PyRef>& values) const {
        const PyRef names =
            PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(code.code), "co_varnames"));
        const PyRef held = PyRef::steal(PyDict_New()), module = verify_module();
        for (size_t i = 0; names && held && i < values.size(); ++i) {
            const auto at = static_cast<Py_ssize_t>(i), stack = at - code.nlocalsplus;
            const PyRef name = stack >= 0 ? PyRef::steal(PyUnicode_FromFormat("stack[%zd]", stack))
                               : at < PyTuple_GET_SIZE(names.get())
                                   ? PyRef::borrow(PyTuple_GET_ITEM(names.get(), at))
                                   : PyRef{};
            if (name && values[i] && PyDict_SetItem(held.get(), name.get(), values[i].get()) < 0) break;
        }
        PyRef kept = PyRef::steal(module && held ? PyObject_CallMethod(module.get(), "kept", "O", held.get())
                                                 : nullptr);
        if (!kept) PyErr_Clear();
        return kept;
    }

    static std::vector<PyRef> slots_of(const Frame& f) {
        std::vector<PyRef> all;
        for (int i = 0; i < f.depth(); ++i)
            all.push_back(PyRef::borrow(f.slot_is_object(i) ? f.slot(i) : nullptr));
        return all;
    }

    // ---- Python's way ----

    void stop(Verdict v, std::string text) {
        verdict = v;
        why = std::move(text);
        if (v == Differs) variables = variables_of(slots_of(*levels.front().frame));
    }

    bool same_frame(const Level& l, const Target& t, bool innermost, Pairs& pairs) const {
        const CodeInfo& c = *l.code;
        if (l.frame->code() != t.code->code || c.insns[static_cast<size_t>(*l.pc)].unit != t.unit)
            return false;
        if (innermost && l.frame->depth() != static_cast<int>(t.slots.size())) return false;
        for (size_t i = 0; i < t.slots.size(); ++i) {
            const int slot = static_cast<int>(i);
            if (slot < c.nlocalsplus && !c.live(innermost ? *l.pc : *l.pc + 1, slot)) continue;
            if (slot >= l.frame->depth()) return false;
            PyObject* o = l.frame->slot_is_object(slot) ? l.frame->slot(slot) : nullptr;
            // Where a loop has ended, 3.14 and later still have its iterator, which they drop next.
            if (innermost && i + 1 + kAboveIterator == t.slots.size() && slot >= c.nlocalsplus &&
                ends.count(*l.pc) && o && is_iterator(o))
                continue;
            if (!pairs.same(t.slots[i].get(), o)) return false;
        }
        return true;
    }

    bool arrived() {
        if (levels.size() != targets.size()) return false;
        for (const bool deep : {false, true}) {
            Pairs pairs(blocks, deep);
            for (size_t k = 0; k < levels.size(); ++k)
                if (!same_frame(levels[k], targets[k], k + 1 == levels.size(), pairs)) return false;
            for (const Stored& a : attributes)
                if (!pairs.same(a.after.get(), a.now().get())) return false;
            for (const List& a : lists) {
                const PyRef now = a.now();
                if (!now || !a.after || !pairs.same_items(a.after.get(), now.get())) return false;
            }
        }
        return std::all_of(blocks.begin(), blocks.end(),
                           [](const Block& b) { return ask("same_contents", b.after.get(), b.owner.get()); });
    }

    // Whether Python goes no further than here.
    bool stops_at(const CodeInfo& c, int pc) {
        if (arrived()) return verdict = Agrees, true;
        const Insn& insn = c.insns[static_cast<size_t>(pc)];
        const auto at = [&] { return " at line " + std::to_string(insn.line); };
        if (levels.size() == 1 && ends.count(pc)) return stop(Differs, "Python leaves the loop" + at()), true;
        return false;
    }

    bool is_left_out(const Frame& f, const CodeInfo& c, int pc) {
        const auto& all = built->left_out;
        const auto left =
            std::find_if(all.begin(), all.end(), [&](const auto& l) { return l.code == &c && l.pc == pc; });
        if (left == all.end() || !has_effects(f, c.insns[static_cast<size_t>(pc)])) return false;
        const std::string line = std::to_string(c.insns[static_cast<size_t>(pc)].line);
        if (left->in_part)
            stop(Unknown, "some versions of the loop leave line " + line + " to Python");
        else
            stop(Differs, "the region went past what it leaves to Python at line " + line);
        return true;
    }

    bool follows(PyObject* callable) const {
        if (!callable || !guards::is_function(callable)) return false;
        return std::any_of(built->functions.begin(), built->functions.end(), [&](const auto& fn) {
            return PyFunction_GET_CODE(fn.function.get()) == PyFunction_GET_CODE(callable);
        });
    }

    struct Callee {
        State* state;
        PyObject* function;
    };
    static bool take_callee(void* ctx, Frame& frame, PyObject** result) {
        auto* c = static_cast<Callee*>(ctx);
        if (!c->function || frame.function() != std::exchange(c->function, nullptr)) return false;
        const CodeInfo* code = CodeInfo::get(frame.code());
        if (!code) return false;
        frame.link();
        *result = c->state->go(frame, *code, 0);
        return true;
    }

    Step step_on(Frame& f, const CodeInfo& c, int* pc) {
        const Insn& insn = c.insns[static_cast<size_t>(*pc)];
        PyObject* callable = insn.op == Opcode::Call ? call_operands(f, insn).callable : nullptr;
        if (!follows(callable)) {
            const bool empty = leaves_memory_as_it_was(callable);
            const Step s = step(f, c, pc);
            if (empty && s == Step::Next) fill_with_zeros(f.peek(0));
            return s;
        }
        Callee callee{this, callable};
        HookScope scope(take_callee, &callee);
        return step(f, c, pc);
    }

    // Consumes the frame; without a result where Python has stopped.
    PyObject* go(Frame& f, const CodeInfo& c, int pc) {
        levels.push_back({&f, &c, &pc});
        while (verdict == Going) {
            if (c.insns[static_cast<size_t>(pc)].boundary && stops_at(c, pc)) break;
            if (is_left_out(f, c, pc)) break;
            const Step s = step_on(f, c, &pc);
            if (verdict != Going) break;
            if (s == Step::Next) continue;
            if (s == Step::Return && levels.size() > 1) {
                levels.pop_back();
                PyObject* value = f.pop();
                return finish_return(f, c, value);
            }
            const std::string line = std::to_string(c.insns[static_cast<size_t>(pc)].line);
            if (s == Step::Return) {
                stop(Differs, "Python returns at line " + line);
            } else if (s == Step::Cannot) {
                stop(Unknown, "an instruction at line " + line + " is the evaluator's");
            } else if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
                PyErr_SetInterrupt();
                stop(Unknown, "it was interrupted");
            } else {
                PyErr_Clear();
                stop(Differs, "Python raises or warns at line " + line);
            }
        }
        levels.pop_back();
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "stator: nobody sees this");
        return finish_unwound(f);
    }

    void go_from_header() {
        const PyRef clone = fs.clone_of(function.get());
        if (!clone) return PyErr_Clear(), stop_before("no frame could be made");
        const numpy::StrictErrors strict(0, 0);
        const HookPause pause;
        const Stance outside = chosen_stance();
        set_stance(Stance::Eager);
        const PyRef result = PyRef::steal(call_with_frame(
            clone.get(),
            [](void* p, Frame& frame) -> PyObject* {
                auto& s = *static_cast<State*>(p);
                frame.link();
                frame.clear_slots();
                std::map<PyObject*, PyRef> iterators;
                for (size_t i = 0; i < s.slots.size(); ++i) {
                    PyObject* o = s.slots[i].get();
                    if (o && is_iterator(o)) {
                        PyRef& own = iterators[o];
                        if (!own) own = iterator_like(o);
                        PyErr_Clear();
                        if (own) o = own.get();
                    }
                    frame.init_slot(static_cast<int>(i), Py_XNewRef(o));
                }
                frame.set_depth(static_cast<int>(s.slots.size()));
                return s.go(frame, s.code, s.header);
            },
            this));
        set_stance(outside);
        PyErr_Clear();
        if (verdict == Going) stop_before("no frame could be made");
    }
    void stop_before(const char* text) { verdict = Unknown, why = text; }
};

RegionCheck::RegionCheck(FunctionState::Impl& fs, const CodeInfo& code, int header)
    : state_(std::make_unique<State>(fs, code, header)) {}
RegionCheck::~RegionCheck() = default;

void RegionCheck::entered(const Frame& f, const std::vector<PyObject*>& reached) {
    State& s = *state_;
    s.function = PyRef::borrow(f.function());
    s.slots = State::slots_of(f);
    // As they are now: a region moves those on that only the frame holds.
    std::map<PyObject*, PyRef> iterators;
    for (PyRef& slot : s.slots) {
        if (!slot || !is_iterator(slot.get())) continue;
        PyRef& own = iterators[slot.get()];
        if (!own) own = iterator_like(slot.get());
        PyErr_Clear();
        if (own) slot = own;
    }
    for (PyObject* o : reached) {
        s.reach(o, 0);
        s.reached.push_back(PyRef::borrow(o));
        s.note_list(o);
        // Rows are stored to, too.
        const bool has_rows = o && (PyList_CheckExact(o) || PyTuple_CheckExact(o));
        for (Py_ssize_t i = 0; has_rows && i < PySequence_Fast_GET_SIZE(o); ++i)
            s.note_list(PySequence_Fast_GET_ITEM(o, i));
    }
}

bool RegionCheck::agrees(const regions::CompiledRegion& region, Frame& f, int* pc,
                         std::vector<ResumeFrame>* inner) {
    State& s = *state_;
    const DeferredSignals deferred;  // what a handler raises would be lost with the walk
    s.built = &region.built();
    s.targets.push_back({&s.code, s.code.insns[static_cast<size_t>(*pc)].unit, State::slots_of(f)});
    for (const ResumeFrame& r : *inner) {
        auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(r.func.get()));
        Target& t = s.targets.emplace_back(Target{CodeInfo::get(code), r.unit, {}});
        for (PyObject* o : r.slots) t.slots.push_back(PyRef::borrow(o));
    }
    for (size_t x = 0; x < s.built->exits.size(); ++x)
        if (s.built->graph->exits[x].label == "end" && s.built->exits[x]->frames.size() == 1)
            s.ends.insert(s.built->exits[x]->frames[0].pc);
    for (Block& b : s.blocks) {
        b.after = copy_of(b.owner.get());
        put_back(b.owner.get(), b.before.get());
    }
    for (List& a : s.lists) {
        a.after = a.now();
        a.put(a.before);
    }
    for (const regions::BuiltRegion::Cell& c : s.built->cells) {
        Stored& a = s.attributes.emplace_back(Stored{
            s.reached[static_cast<size_t>(c.owner)], c.name, s.reached[static_cast<size_t>(c.slot)], {}});
        a.after = a.now();
        a.put(a.before);
    }
    s.go_from_header();
    for (const Stored& a : s.attributes) a.put(s.verdict == State::Differs ? a.before : a.after);

    const PyRef variables = s.verdict == State::Differs ? s.variables : PyRef{};
    PyRef found;
    for (const Block& b : s.blocks)
        if (s.verdict != State::Agrees) put_back(b.owner.get(), b.after.get());
    for (const List& a : s.lists) a.put(s.verdict == State::Differs ? a.before : a.after);
    if (s.verdict != State::Differs) return true;

    found = s.variables_of(s.targets.front().slots);
    for (const Block& b : s.blocks) put_back(b.owner.get(), b.before.get());
    const PyRef begin = s.variables_of(s.slots), module = verify_module();
    const auto or_none = [](const PyRef& o) { return o ? o.get() : Py_None; };
    const PyRef said =
        PyRef::steal(module ? PyObject_CallMethod(module.get(), "region_differs", "ssOiOOO",
                                                  region.name().c_str(), s.why.c_str(), s.function.get(),
                                                  s.code.insns[static_cast<size_t>(s.header)].line,
                                                  or_none(begin), or_none(variables), or_none(found))
                            : nullptr);
    PyErr_Clear();
    f.clear_slots();
    for (size_t i = 0; i < s.slots.size(); ++i)
        f.init_slot(static_cast<int>(i), Py_XNewRef(s.slots[i].get()));
    f.set_depth(static_cast<int>(s.slots.size()));
    inner->clear();
    *pc = s.header;
    return false;
}

void mutate_regions(std::string find, std::string replace) {
    mutation_find() = std::move(find);
    mutation_replace() = std::move(replace);
}

void apply_mutation(graph::Region& r) {
    if (mutation_find().empty()) return;
    std::string text = graph::print(r);
    const size_t at = text.find(mutation_find());
    if (at == std::string::npos) return;
    text.replace(at, mutation_find().size(), mutation_replace());
    graph::Region mutated;
    if (graph::parse(text, &mutated).empty()) r = std::move(mutated);
}

}  // namespace stator::frontend
