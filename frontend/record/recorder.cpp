// The recorder's frame of mind: shadows, snapshots, closing, and the check of every model against the real
// result. What each instruction means to the graph is in record/ops.cpp and its neighbours.

#include "frontend/record/recorder.h"

#include <algorithm>
#include <unordered_set>

#include "frontend/cpython/operators.h"
#include "frontend/record/locations.h"
#include "frontend/trace_builder/array_meta.h"
#include "guards/check/names.h"

namespace stator::frontend {

using graph::EndKind;
using graph::Node;
using graph::Op;

static std::string slot_name(const CodeInfo& code, int i) {
    if (i >= code.nlocalsplus) return "stack[" + std::to_string(i - code.nlocalsplus) + "]";
    PyObject* names = code.code->co_localsplusnames;
    return guards::utf8(PyTuple_GET_ITEM(names, i));
}

// Whether nobody can tell when the object in a dead local goes away: it was made in this trace, and nothing
// else hangs on it. What was there at entry may have a finalizer.
static bool droppable(const Shadow& s) {
    if (s.source != guards::kNoSource) return false;
    switch (s.kind) {
        case ShadowKind::Lazy:
        case ShadowKind::Cell: return false;
        case ShadowKind::Opaque: return s.value != graph::kNone;
        default: break;
    }
    return std::all_of(s.items.begin(), s.items.end(),
                       [](const ShadowRef& item) { return droppable(*item); });
}

// Whether having it costs next to nothing: no memory, and on the CPU numbers are computed anyway, for what
// has used them.
static bool costs_nothing(const Shadow& s, bool on_gpu) {
    switch (s.kind) {
        case ShadowKind::Null:
        case ShadowKind::Object:
        case ShadowKind::Int: return true;
        case ShadowKind::Scalar: return s.obj || !on_gpu;
        case ShadowKind::Tuple:
        case ShadowKind::Slice:
            return s.maker.empty() && std::ranges::all_of(s.items, [&](const ShadowRef& item) {
                       return costs_nothing(*item, on_gpu);
                   });
        default: return false;
    }
}

// Objects that hold each other are not followed farther than this.
constexpr int kDeepest = 8;

// Whether it can be computed again from what there was at entry, as an object that is like the first one.
static bool can_be_recomputed(const Shadow& s, int depth = 0) {
    switch (s.kind) {
        case ShadowKind::Opaque: return s.value != graph::kNone;
        case ShadowKind::Array:
            return !s.base || s.base->source != guards::kNoSource || can_be_recomputed(*s.base, depth);
        case ShadowKind::Scalar: return true;
        case ShadowKind::Tuple:
        case ShadowKind::List:
        case ShadowKind::Slice:
        case ShadowKind::Dict:
        case ShadowKind::Instance:
            return depth < kDeepest && std::ranges::all_of(
                                           s.items,
                                           [&](const ShadowRef& item) {
                                               return costs_nothing(*item, false) ||
                                                      item->source != guards::kNoSource ||
                                                      can_be_recomputed(*item, depth + 1);
                                           });
        default: return false;
    }
}

// Whether it is an object that the snapshot builds, or has one: computed apart, it would have another one.
static bool shares_object(const TraceBuilder& b, const ShadowRef& s, int depth = 0) {
    if (s->source != guards::kNoSource || s->kind == ShadowKind::Null || s->kind == ShadowKind::Object ||
        s->kind == ShadowKind::Int)
        return false;
    const auto shares = [&](const ShadowRef& part) { return part && shares_object(b, part, depth + 1); };
    if (b.known_recipe(s) >= 0) return true;
    // What others hold cannot be computed apart in any case, nor what holds itself.
    if (s->kind == ShadowKind::Cell || s->kind == ShadowKind::Function || depth >= kDeepest) return false;
    return shares(s->base) || std::ranges::any_of(s->items, shares) || std::ranges::any_of(s->maker, shares);
}

// Whether building it asks what cells or objects hold.
static bool names_cells(const Shadow& s) {
    const auto names = [](const ShadowRef& part) { return part && names_cells(*part); };
    return s.kind == ShadowKind::Cell || s.kind == ShadowKind::Instance || s.kind == ShadowKind::Function ||
           s.kind == ShadowKind::Made || names(s.base) || std::ranges::any_of(s.items, names) ||
           std::ranges::any_of(s.maker, names);
}

// Whether elements of some array may be stored to, from instruction `at` of a frame on.
static bool stores_ahead(const Level& l, int at) {
    const std::vector<Insn>& insns = l.code->insns;
    for (auto i = static_cast<size_t>(l.code->first_ahead[static_cast<size_t>(at)]); i < insns.size(); ++i) {
        if (insns[i].op == Opcode::StoreSubscr) return true;
        const bool in_place = insns[i].op == Opcode::BinaryOp && insns[i].arg >= kOperators;
        if (!in_place || i + 1 == insns.size() || insns[i + 1].op != Opcode::StoreFast) continue;
        const Shadow& target = *l.slots[static_cast<size_t>(insns[i + 1].arg)];
        if (target.kind == ShadowKind::Array ||
            (target.kind == ShadowKind::Lazy && target.obj && is_any_ndarray(target.obj.get())))
            return true;
    }
    return false;
}

Recorder::Recorder(Frame& frame, const CodeInfo& code, int pc) {
    mid_frame_ = pc > 0;
    auto level = std::make_unique<Level>();
    level->frame = &frame;
    level->code = &code;
    level->pc = pc;
    for (int i = 0; i < frame.depth(); ++i) {
        if (!frame.slot_is_object(i)) {
            ok_ = false;
            return;
        }
        PyObject* o = frame.slot(i);
        if (o)
            level->slots.push_back(b_.lazy(b_.guards.slot(i, slot_name(code, i)), o));
        else
            level->slots.push_back(b_.null());
        // A local that is not bound now may be another time, and goes through the trace as it is.
        if (!o && mid_frame_ && i < code.nlocalsplus)
            level->slots.back()->source = b_.guards.slot(i, slot_name(code, i));
    }
    levels_.push_back(level.get());
    owned_.push_back(std::move(level));
    snapshot_fn_ = [this] { return take_snapshot(); };
    b_.snapshot_hook = &snapshot_fn_;
}

ShadowRef Recorder::pop() {
    ShadowRef s = std::move(top().slots.back());
    top().slots.pop_back();
    return s;
}

void Recorder::push(ShadowRef s) { top().slots.push_back(std::move(s)); }

bool Recorder::refuse(Reason r, std::string detail) {
    reason_ = r;
    detail_ = std::move(detail);
    return false;
}

// The recorder holds the operands of one instruction while it executes: their metadata is read afterwards.
void Recorder::capture(int count) {
    held_.clear();
    ops_.clear();
    int depth = static_cast<int>(top().slots.size());
    for (int i = depth - count; i < depth; ++i) {
        held_.push_back(PyRef::borrow(object_at(i)));
        ops_.push_back({top().slots[i], held_.back().get()});
    }
}

int32_t Recorder::take_snapshot() {
    if (cached_snapshot_ >= 0) return cached_snapshot_;
    graph::Snapshot snap;
    b_.begin_recipes(!closed_);
    for (const auto& context : b_.errors_) {
        int32_t r = b_.recipe(context.manager, nullptr);
        if (r < 0) return -1;
        snap.contexts.push_back(r);
    }
    bool locals_seen = std::any_of(levels_.begin(), levels_.end(),
                                   [](Level* l) { return l->code->locals_seen(l->frame->globals()); });
    // What a variable and the stack hold has two references, and NumPy computes into what has one only.
    std::unordered_set<const Shadow*> on_stack;
    for (const Level* l : levels_)
        for (size_t i = static_cast<size_t>(l->code->nlocalsplus); i < l->slots.size(); ++i)
            on_stack.insert(l->slots[i].get());
    const bool on_gpu = b_.device >= 0 || b_.for_gpu;
    struct Dead {
        size_t frame, slot;
        ShadowRef shadow;
    };
    std::vector<Dead> dead;
    // Whether what variables were computed from may change before the frame ends, by a store in this frame or
    // in one above it: then they are kept.
    std::vector<bool> changes(levels_.size() + 1, false);
    for (size_t k = levels_.size(); k-- > 0;) {
        const Level& l = *levels_[k];
        changes[k] = changes[k + 1] || stores_ahead(l, k + 1 == levels_.size() ? l.pc : l.call_insn);
    }
    for (size_t k = 0; k < levels_.size(); ++k) {
        Level& l = *levels_[k];
        bool inner = k + 1 == levels_.size();
        int at = inner ? l.pc : l.call_insn;
        const Insn& insn = l.code->insns[at];
        if (inner && !insn.boundary) return -1;
        graph::SnapFrame frame;
        frame.code = b_.object_index(reinterpret_cast<PyObject*>(l.code->code));
        if (l.func && (frame.func = b_.recipe(l.func, nullptr)) < 0) return -1;
        frame.unit = insn.unit;
        for (size_t i = 0; i < l.slots.size(); ++i) {
            const bool local = static_cast<int>(i) < l.code->nlocalsplus;
            const bool unread = local && !locals_seen && !l.code->live(at, static_cast<int>(i)) &&
                                droppable(*l.slots[i]) && !costs_nothing(*l.slots[i], on_gpu) &&
                                (on_gpu || !changes[k]) && !on_stack.contains(l.slots[i].get());
            if (unread) dead.push_back({k, i, l.slots[i]});
            int32_t r = b_.recipe(unread ? b_.null() : l.slots[i], nullptr);
            if (r < 0) return -1;
            frame.slots.push_back(r);
        }
        snap.frames.push_back(std::move(frame));
    }
    // What something else has is there anyway, and what shares an object with that is one with it.
    const auto is_left_out = [&](const Dead& d) {
        const int32_t r = snap.frames[d.frame].slots[d.slot];
        return b_.graph.recipes[static_cast<size_t>(r)].kind == graph::RecipeKind::Null;
    };
    const auto keep_what_is_shared = [&](bool cells_are_said) {
        for (bool more = true; std::exchange(more, false);)
            for (const Dead& d : dead) {
                if (!is_left_out(d) || !shares_object(b_, d.shadow)) continue;
                // What is built already has been said with all that it holds.
                const bool unsaid = cells_are_said && b_.known_recipe(d.shadow) < 0 && names_cells(*d.shadow);
                const int32_t r = unsaid ? -1 : b_.recipe(d.shadow, nullptr);
                if (r < 0) continue;
                snap.frames[d.frame].slots[d.slot] = r;
                more = true;
            }
    };
    keep_what_is_shared(false);
    if (!b_.cell_contents(&snap.cells)) return -1;
    keep_what_is_shared(true);
    b_.recompute_recipes();
    std::vector<bool> alone;
    for (const Dead& d : dead) alone.push_back(can_be_recomputed(*d.shadow) && !shares_object(b_, d.shadow));
    for (size_t k = 0; k < dead.size(); ++k) {
        const Dead& d = dead[k];
        graph::SnapFrame& frame = snap.frames[d.frame];
        int32_t& kept = frame.slots[d.slot];
        if (!is_left_out(d)) continue;
        graph::LostVariable lost{static_cast<int32_t>(d.slot), -1};
        if (alone[k] && b_.contents_apart(d.shadow, &lost.contents))
            lost.recipe = b_.recipe(d.shadow, nullptr);
        if (lost.recipe < 0) lost.contents.clear();
        if (lost.recipe >= 0 && lost.contents.empty() && !on_gpu && !b_.can_be_recomputed(lost))
            b_.keep(*d.shadow), kept = lost.recipe;
        else
            frame.lost.push_back(std::move(lost));
    }
    b_.graph.snapshots.push_back(std::move(snap));
    cached_snapshot_ = static_cast<int32_t>(b_.graph.snapshots.size()) - 1;
    return cached_snapshot_;
}

void Recorder::close(EndKind kind) {
    closed_ = true;
    if (top().call_insn >= 0) {  // a call that was to be followed but raised before its frame was entered
        for (auto& s : pending_operands_) push(std::move(s));
        pending_operands_.clear();
        top().call_insn = -1;
    }
    b_.graph.end_kind = kind;
    if (kind == EndKind::Return) {
        b_.begin_recipes();
        Level& l = top();
        b_.graph.end = b_.recipe(l.slots.back(), nullptr);
        if (!b_.cell_contents(&b_.graph.end_cells)) b_.graph.end = -1;
    } else {
        cached_snapshot_ = -1;
        b_.graph.end = take_snapshot();
    }
    ok_ = b_.graph.end >= 0;
    b_.snapshot_hook = nullptr;
}

void Recorder::let_go() {
    for (Level* l : levels_) l->slots.clear(), l->func.reset();
    held_.clear();
    ops_.clear();
    pending_func_shadow_.reset();
    pending_locals_.clear();
    inline_result_.reset();
    b_.forget_cells();
    b_ = TraceBuilder();
}

bool Recorder::same_as_model(const ShadowRef& s, PyObject* result) {
    switch (s->kind) {
        case ShadowKind::Array: {
            ArrayMeta m;
            std::string why;
            if (!read_array_meta(result, &m, &why) || m.dtype != s->dtype ||
                m.shape.size() != s->shape.size())
                return false;
            for (size_t d = 0; d < m.shape.size(); ++d)
                if (b_.hint(s->shape[d]) != m.shape[d]) return false;
            return true;
        }
        case ShadowKind::Int:
            return PyLong_CheckExact(result) && PyLong_AsLongLong(result) == b_.hint(s->sym) &&
                   !PyErr_Occurred();
        case ShadowKind::Scalar: {
            if (s->box == graph::Box::PyFloat) return PyFloat_CheckExact(result);
            if (s->box == graph::Box::PyBool) return PyBool_Check(result);
            if (s->box == graph::Box::PyComplex) return PyComplex_CheckExact(result);
            if (s->box == graph::Box::PyInt) return PyLong_CheckExact(result);
            graph::DType dt;
            return np_scalar_dtype(result, &dt) && dt == s->dtype;
        }
        case ShadowKind::Tuple:
            return reinterpret_cast<PyObject*>(Py_TYPE(result)) == tuple_type(*s) &&
                   PyTuple_GET_SIZE(result) == static_cast<Py_ssize_t>(s->items.size());
        case ShadowKind::Object: return s->obj.get() == result || Py_IS_TYPE(result, Py_TYPE(s->obj.get()));
        default: return true;
    }
}

bool Recorder::push_result(ShadowRef s) {
    if (!s) return refuse(b_.reason == Reason::None ? Reason::UnknownOp : b_.reason, b_.reason_detail);
    PyObject* result = top().frame->peek(0);
    if (!same_as_model(s, result)) {
        PyErr_Clear();
        return refuse(Reason::ModelMismatch, Py_TYPE(result)->tp_name);
    }
    push(std::move(s));
    return true;
}

bool Recorder::emit_guard(const ShadowRef& cond, bool value) {
    int32_t snapshot = take_snapshot();
    if (snapshot < 0) return refuse(Reason::UnknownOp, "a branch whose state cannot be rebuilt");
    Node g;
    g.op = Op::Guard;
    g.dtype = graph::DType::Bool;
    g.in = {b_.value(cond)};
    g.ints = {value, snapshot};
    b_.append(std::move(g));
    return true;
}

void Recorder::enter_inlined(Frame& frame, const CodeInfo& code) {
    b_.note_followed(code.code);
    auto level = std::make_unique<Level>();
    level->frame = &frame;
    level->code = &code;
    level->slots = std::move(pending_locals_);
    level->func = std::move(pending_func_shadow_);
    pending_function_ = nullptr;
    pending_operands_.clear();
    top().constructs = std::exchange(pending_object_, nullptr) != nullptr;
    top().kept = static_cast<int>(pending_kept_.size());
    for (ShadowRef& s : pending_kept_) push(std::move(s));
    pending_kept_.clear();
    levels_.push_back(level.get());
    owned_.push_back(std::move(level));
}

void Recorder::leave_inlined() {
    inline_result_ = top().slots.back();
    inlined_ = true;
    levels_.pop_back();
}

}  // namespace stator::frontend
