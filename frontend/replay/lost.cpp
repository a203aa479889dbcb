// See lost.h.

#include "frontend/replay/lost.h"

#include <alloca.h>

#include <algorithm>
#include <cstring>

#include "frontend/cpython/collection.h"
#include "frontend/cpython/deferred.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/replay/materialize.h"
#include "frontend/replay/trace.h"
#include "graph/cone.h"
#include "graph/passes/rewrite.h"
#include "guards/check/check.h"

namespace stator::frontend {

using graph::Cone;
using graph::Graph;
using graph::Id;
using graph::Node;
using graph::Op;
using graph::OpClass;
using graph::Recipe;
using graph::RecipeKind;

namespace {

// How many nodes come before the last place at which this snapshot is left.
Id end_of(const Graph& g, int snapshot) {
    if (g.end_kind == graph::EndKind::Leave && g.end == snapshot) return static_cast<Id>(g.nodes.size());
    for (Id i = static_cast<Id>(g.nodes.size()); i-- > 0;)
        if (graph::info(g.nodes[i].op).cls == OpClass::Guard && g.nodes[i].ints[1] == snapshot) return i;
    return 0;
}

void sort_and_unique(std::vector<int>& v) {
    std::ranges::sort(v);
    v.erase(std::unique(v.begin(), v.end()), v.end());
}

// What an array lies at and holds, so that it is seen when it has changed.
struct Seen {
    uint64_t header = 0, contents = 0;
    bool whole = false;  // all elements were looked at
    bool operator==(const Seen&) const = default;
};

uint64_t mixed(uint64_t hash, uint64_t word) {
    constexpr uint64_t kPrime = 0x9e3779b97f4a7c15;  // the golden ratio's, as in Fibonacci hashing
    hash = (hash ^ word) * kPrime;
    return hash ^ hash >> 32;
}

// Four chains, which a processor computes side by side.
uint64_t hash_of_bytes(const char* data, size_t bytes) {
    uint64_t lanes[4] = {1, 2, 3, 4}, words[4];
    size_t at = 0;
    for (; at + sizeof words <= bytes; at += sizeof words) {
        memcpy(words, data + at, sizeof words);
        for (int k = 0; k < 4; ++k) lanes[k] = mixed(lanes[k], words[k]);
    }
    memset(words, 0, sizeof words);
    memcpy(words, data + at, bytes - at);
    uint64_t hash = bytes;
    for (int k = 0; k < 4; ++k) hash = mixed(mixed(hash, lanes[k]), words[k]);
    return hash;
}

// All elements of arrays up to 16 KiB that lie in one piece, and of smaller ones with gaps; else some that
// lie evenly among them. A hash of 16 KiB takes a microsecond.
Seen seen(const char* data, int rank, const int64_t* shape, const int64_t* strides, int64_t itemsize) {
    constexpr int64_t kHashed = 16 << 10, kFew = 256, kSamples = 64;
    Seen s;
    s.header = reinterpret_cast<uintptr_t>(data);
    int64_t count = 1;
    bool dense = true;
    for (int d = rank; d-- > 0;) {
        dense &= shape[d] == 1 || strides[d] == count * itemsize;
        count *= shape[d];
        s.header = mixed(mixed(s.header, static_cast<uint64_t>(shape[d])), static_cast<uint64_t>(strides[d]));
    }
    s.whole = count <= kFew || (dense && count * itemsize <= kHashed);
    if (s.whole && dense) return s.contents = hash_of_bytes(data, static_cast<size_t>(count * itemsize)), s;
    const int64_t samples = s.whole ? count : kSamples;
    for (int64_t k = 0; k < samples; ++k) {
        int64_t at = s.whole ? k : k * (count - 1) / (kSamples - 1);
        const char* p = data;
        for (int d = rank; d-- > 0; at /= shape[d]) p += at % shape[d] * strides[d];
        for (int64_t byte = 0; byte < itemsize; byte += 8) {
            uint64_t word = 0;
            memcpy(&word, p + byte, static_cast<size_t>(std::min<int64_t>(8, itemsize - byte)));
            s.contents = mixed(s.contents, word);
        }
    }
    return s;
}

Seen seen(PyObject* array) {
    if (numpy::is_plain_array(array))
        return seen(numpy::data(array), numpy::rank(array), numpy::shape(array), numpy::strides(array),
                    numpy::itemsize(array));
    guards::TensorView t;
    if (!guards::is_tensor(array) || !guards::read_tensor(array, &t)) return PyErr_Clear(), Seen{};
    const int64_t size = graph::info(t.dtype).size;
    int64_t strides[16];
    for (int d = 0; d < t.rank; ++d) strides[d] = t.strides[d] * size;
    return seen(t.data, t.rank, t.shape, strides, size);
}

// An object for as long as others hold it. Of what variables hold not even a weak reference is made, since
// NumPy resizes no array that has one. What has none is small, or a collection of others.
class HeldByOthers {
  public:
    HeldByOthers(PyObject* o, bool in_variable) : object_(o) {
        if (in_variable) return;
        weak_ = PyType_SUPPORTS_WEAKREFS(Py_TYPE(o));
        held_ = weak_ ? PyRef::steal(PyWeakref_NewRef(o, nullptr)) : PyRef::borrow(o);
        if (!held_) PyErr_Clear();
    }
    // A null reference when it may have died.
    PyRef get(const std::function<bool(PyObject*)>& holds) const {
        if (!held_) return holds(object_) ? PyRef::borrow(object_) : PyRef();
        if (!weak_) return held_;
#if PY_VERSION_HEX >= 0x030D0000
        PyObject* o = nullptr;
        if (PyWeakref_GetRef(held_.get(), &o) < 0) PyErr_Clear();
        return PyRef::steal(o);
#else
        PyObject* o = PyWeakref_GetObject(held_.get());
        return o && o != Py_None ? PyRef::borrow(o) : PyRef();
#endif
    }

  private:
    PyObject* object_;  // perhaps dead
    bool weak_ = false;
    PyRef held_;
};

}  // namespace

LostPlans::LostPlans(std::shared_ptr<const Graph> recorded, const std::vector<PyRef>& objects)
    : recorded_(std::move(recorded)), objects_(objects) {}
LostPlans::~LostPlans() = default;

std::shared_ptr<LostPlans> LostPlans::of(std::shared_ptr<const Graph> recorded,
                                         const std::vector<PyRef>& objects) {
    const auto loses = [](const graph::Snapshot& s) {
        return std::ranges::any_of(s.frames, [](const graph::SnapFrame& f) { return !f.lost.empty(); });
    };
    if (std::ranges::none_of(recorded->snapshots, loses)) return nullptr;
    return std::shared_ptr<LostPlans>(new LostPlans(std::move(recorded), objects));
}

int LostPlans::traverse(visitproc visit, void* arg) const {
    for (const PyRef& o : objects_) Py_VISIT(o.get());
    for (const auto& [snapshot, plan] : plans_)
        if (plan.trace)
            for (const PyRef& o : plan.trace->objects) Py_VISIT(o.get());
    return 0;
}

void LostPlans::add(Plan& plan, int snapshot, size_t frame, const graph::LostVariable& lost) const {
    Variable& v = plan.variables.emplace_back();
    v.frame = frame;
    v.slot = lost.slot;
    if (lost.recipe < 0) return;
    Cone cone(*recorded_);
    cone.add_recipe(lost.recipe);
    cone.add_contents(lost.contents);
    if (!cone.reads_newest(end_of(*recorded_, snapshot))) return;
    v.recipe = lost.recipe;
    v.contents = lost.contents;
    v.inputs = cone.inputs;
    for (const auto& [root, version] : cone.versions)
        v.reads.push_back(static_cast<int>(recorded_->nodes[static_cast<size_t>(root)].ints[0]));
    plan.inputs.insert(plan.inputs.end(), cone.inputs.begin(), cone.inputs.end());
    plan.sources.insert(plan.sources.end(), cone.sources.begin(), cone.sources.end());
}

LostPlans::Plan& LostPlans::at(int snapshot) {
    const auto [it, added] = plans_.try_emplace(snapshot);
    Plan& plan = it->second;
    if (!added) return plan;
    const auto& frames = recorded_->snapshots[static_cast<size_t>(snapshot)].frames;
    for (size_t k = 0; k < frames.size(); ++k)
        for (const graph::LostVariable& lost : frames[k].lost) add(plan, snapshot, k, lost);
    sort_and_unique(plan.inputs);
    sort_and_unique(plan.sources);
    return plan;
}

// The recorded graph without all that the variables do not need.
bool LostPlans::make_trace(Plan& plan) const {
    Graph g = *recorded_;
    Cone cone(g);
    Recipe all;
    all.kind = RecipeKind::Tuple;
    g.end_cells.clear();
    for (const Variable& v : plan.variables) {
        cone.add_recipe(v.recipe);
        cone.add_contents(v.contents);
        if (v.recipe >= 0) all.items.push_back(v.recipe);
        g.end_cells.insert(g.end_cells.end(), v.contents.begin(), v.contents.end());
    }
    g.snapshots.clear();
    g.end_kind = graph::EndKind::Return;
    g.end = g.add_recipe(std::move(all));
    std::vector<Id> now(g.nodes.size());
    for (Id i = 0; i < static_cast<Id>(now.size()); ++i) {
        const Id root = cone.nodes[static_cast<size_t>(i)] ? graph::stored_input(g, i) : graph::kNone;
        now[static_cast<size_t>(i)] = root == graph::kNone ? i : root;
        if (root != graph::kNone) cone.nodes[static_cast<size_t>(i)] = false;
    }
    graph::replace_uses(g, std::move(now));
    cone.nodes.flip();
    graph::remove_nodes(g, cone.nodes);
    plan.trace = make_values(std::move(g), objects_);
    plan.failed = !plan.trace;
    return !plan.failed;
}

// What a replay was given, kept for the variables of its frames.
class KeptInputs {
  public:
    KeptInputs(std::shared_ptr<LostPlans> owner, LostPlans::Plan& plan, const ReplayState& st,
               const std::vector<ResumeFrame>& frames)
        : owner_(std::move(owner)), plan_(plan) {
        const guards::EntryState& entry = *st.entry;
        const auto in_variable = [&](PyObject* o) {
            return std::ranges::any_of(
                frames, [&](const ResumeFrame& f) { return std::ranges::find(f.slots, o) != f.slots.end(); });
        };
        for (const int i : plan.inputs) {
            PyObject* input = entry.inputs[i] ? entry.inputs[i] : Py_None;
            inputs_.emplace_back(input, in_variable(input));
            seen_.push_back(is_array(i) ? seen(entry.inputs[i]) : Seen{});
            numbers_.insert(numbers_.end(), entry.scalars + 16 * i, entry.scalars + 16 * (i + 1));
        }
        for (const int s : plan.sources)
            objects_.emplace_back(entry.objects[s], in_variable(entry.objects[s]));
        symbols_.assign(entry.symbols, entry.symbols + st.trace.symbol_count);
    }

    const LostPlans::Plan& plan() const { return plan_; }

    // As the plan lists the variables; null for what is missing. `unseen`: what ran meanwhile may have
    // changed arrays. The first call counts.
    const std::vector<PyRef>& values(bool unseen, const std::function<bool(PyObject*)>& holds) {
        if (computed_) return values_;
        computed_ = true;
        values_.resize(plan_.variables.size());
        const DeferredSignals deferred;
        const NoCollection quiet;
        std::vector<PyRef> inputs, objects;
        std::vector<int> changed;
        for (size_t k = 0; k < inputs_.size(); ++k) {
            const PyRef& input = inputs.emplace_back(inputs_[k].get(holds));
            if (!input) return values_;
            if (!is_array(plan_.inputs[k])) continue;
            const Seen now = seen(input.get());
            if (now.header != seen_[k].header) return values_;  // kernels and views would read other memory
            if (now != seen_[k] || (unseen && !now.whole)) changed.push_back(plan_.inputs[k]);
        }
        for (const HeldByOthers& o : objects_)
            if (!objects.emplace_back(o.get(holds))) return values_;
        if (plan_.failed || (!plan_.trace && !owner_->make_trace(plan_))) return values_;
        const PyRef all = PyRef::steal(run(inputs, objects));
        if (!all) return PyErr_Clear(), values_;
        const auto has_changed = [&](int input) {
            return std::ranges::find(changed, input) != changed.end();
        };
        Py_ssize_t next = 0;
        for (size_t k = 0; k < values_.size(); ++k) {
            const LostPlans::Variable& v = plan_.variables[k];
            if (v.recipe < 0) continue;
            PyObject* value = PyTuple_GET_ITEM(all.get(), next++);
            if (std::ranges::none_of(v.reads, has_changed)) values_[k] = PyRef::borrow(value);
        }
        return values_;
    }

  private:
    bool is_array(int input) const {
        return owner_->recorded_->inputs[static_cast<size_t>(input)].kind == graph::InputKind::Array;
    }

    PyObject* run(const std::vector<PyRef>& given, const std::vector<PyRef>& held) {
        Trace& t = *plan_.trace;
        const auto count = static_cast<size_t>(t.input_count);
        size_t sources = 1;
        for (const int s : plan_.sources) sources = std::max(sources, static_cast<size_t>(s) + 1);
        std::vector<PyObject*> inputs(count + 1), objects(sources);
        std::vector<char> scalars(16 * (count + 1));
        std::vector<guards::TensorView> tensors(t.reads_tensors ? count + 1 : 0);
        guards::EntryState entry;
        entry.inputs = inputs.data();
        entry.objects = objects.data();
        entry.scalars = scalars.data();
        entry.symbols = symbols_.data();
        entry.owned = nullptr;
        entry.tensors = tensors.data();
        for (size_t k = 0; k < given.size(); ++k) {
            const auto i = static_cast<size_t>(plan_.inputs[k]);
            inputs[i] = given[k].get();
            memcpy(scalars.data() + 16 * i, numbers_.data() + 16 * k, 16);
            const bool tensor = is_array(plan_.inputs[k]) && t.graph.inputs[i].host != graph::HostId::NumPy;
            if (tensor && !guards::read_tensor(inputs[i], &tensors[i])) return nullptr;
        }
        for (size_t k = 0; k < held.size(); ++k)
            objects[static_cast<size_t>(plan_.sources[k])] = held[k].get();
        return compute_values(t, entry);
    }

    std::shared_ptr<LostPlans> owner_;
    LostPlans::Plan& plan_;
    std::vector<HeldByOthers> inputs_, objects_;  // as the plan lists them
    std::vector<Seen> seen_;                      // per input
    std::vector<char> numbers_;                   // 16 bytes per input
    std::vector<int64_t> symbols_;
    bool computed_ = false;
    std::vector<PyRef> values_;
};

namespace {

class LostOfFrame final : public LostVariables {
  public:
    LostOfFrame(std::shared_ptr<KeptInputs> kept, size_t frame) : kept_(std::move(kept)), frame_(frame) {
        for (const LostPlans::Variable& v : kept_->plan().variables)
            if (v.frame == frame) slots_.push_back(v.slot);
    }
    const std::vector<int>& slots() const override { return slots_; }
    std::vector<Variable> compute(bool unseen, const std::function<bool(PyObject*)>& holds) override {
        std::vector<Variable> out;
        const std::vector<PyRef>& values = kept_->values(unseen, holds);
        for (size_t k = 0; k < values.size(); ++k) {
            const LostPlans::Variable& v = kept_->plan().variables[k];
            if (v.frame == frame_ && values[k]) out.push_back({v.slot, values[k]});
        }
        return out;
    }

  private:
    std::shared_ptr<KeptInputs> kept_;
    size_t frame_;
    std::vector<int> slots_;
};

}  // namespace

void LostPlans::keep(const ReplayState& st, int snapshot, std::vector<ResumeFrame>& frames) {
    Plan& plan = at(snapshot);
    if (plan.variables.empty()) return;
    const auto kept = std::make_shared<KeptInputs>(shared_from_this(), plan, st, frames);
    for (const Variable& v : plan.variables)
        if (v.frame < frames.size() && !frames[v.frame].lost)
            frames[v.frame].lost = std::make_shared<LostOfFrame>(kept, v.frame);
}

}  // namespace stator::frontend
