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

// A number that differs, almost certainly, when the elements of an array do: of all of them if they are few,
// else of some that lie evenly among them.
uint64_t sample(const char* data, int rank, const int64_t* shape, const int64_t* strides, int64_t itemsize) {
    constexpr int64_t kSamples = 64;
    constexpr uint64_t kPrime = 0x9e3779b97f4a7c15;  // the golden ratio's, as in Fibonacci hashing
    uint64_t hash = reinterpret_cast<uintptr_t>(data);
    int64_t count = 1;
    for (int d = 0; d < rank; ++d) {
        count *= shape[d];
        hash = (hash ^ static_cast<uint64_t>(shape[d]) ^ static_cast<uint64_t>(strides[d]) << 20) * kPrime;
    }
    for (int64_t k = 0; k < std::min(count, kSamples); ++k) {
        int64_t at = count <= kSamples ? k : k * (count - 1) / (kSamples - 1);
        const char* p = data;
        for (int d = rank; d-- > 0; at /= shape[d]) p += at % shape[d] * strides[d];
        for (int64_t byte = 0; byte < itemsize; byte += 8) {
            uint64_t word = 0;
            memcpy(&word, p + byte, static_cast<size_t>(std::min<int64_t>(8, itemsize - byte)));
            hash = (hash ^ word ^ hash >> 29) * kPrime;
        }
    }
    return hash;
}

uint64_t sample(PyObject* array) {
    if (numpy::is_plain_array(array))
        return sample(numpy::data(array), numpy::rank(array), numpy::shape(array), numpy::strides(array),
                      numpy::itemsize(array));
    guards::TensorView t;
    if (!guards::is_tensor(array) || !guards::read_tensor(array, &t)) return PyErr_Clear(), 0;
    const int64_t size = graph::info(t.dtype).size;
    int64_t strides[16];
    for (int d = 0; d < t.rank; ++d) strides[d] = t.strides[d] * size;
    return sample(t.data, t.rank, t.shape, strides, size);
}

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

std::unique_ptr<LostPlans::Plan> LostPlans::plan(int snapshot, const graph::SnapFrame& frame) const {
    auto plan = std::make_unique<Plan>();
    const Id end = end_of(*recorded_, snapshot);
    for (const graph::LostVariable& lost : frame.lost) {
        plan->slots.push_back(lost.slot);
        plan->recipes.push_back(-1);
        plan->read.emplace_back();
        if (lost.recipe < 0) continue;
        Cone cone(*recorded_);
        cone.add_recipe(lost.recipe);
        if (!cone.reads_newest(end)) continue;
        plan->recipes.back() = lost.recipe;
        plan->inputs.insert(plan->inputs.end(), cone.inputs.begin(), cone.inputs.end());
        for (const auto& [root, version] : cone.versions)
            plan->read.back().push_back(
                static_cast<int>(recorded_->nodes[static_cast<size_t>(root)].ints[0]));
        plan->sources.insert(plan->sources.end(), cone.sources.begin(), cone.sources.end());
    }
    sort_and_unique(plan->inputs);
    sort_and_unique(plan->sources);
    return plan;
}

std::vector<std::unique_ptr<LostPlans::Plan>>& LostPlans::at(int snapshot) {
    const auto [it, added] = plans_.try_emplace(snapshot);
    if (added)
        for (const graph::SnapFrame& f : recorded_->snapshots[static_cast<size_t>(snapshot)].frames)
            it->second.push_back(f.lost.empty() ? nullptr : plan(snapshot, f));
    return it->second;
}

// The recorded graph without all that the variables do not need.
bool LostPlans::make_trace(Plan& plan) const {
    Graph g = *recorded_;
    Cone cone(g);
    for (const int32_t r : plan.recipes) cone.add_recipe(r);
    Recipe all;
    all.kind = RecipeKind::Tuple;
    for (const int32_t r : plan.recipes)
        if (r >= 0) all.items.push_back(r);
    g.snapshots.clear();
    g.end_cells.clear();
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

// What a replay was given, kept for the variables of one frame.
class KeptInputs : public LostVariables {
  public:
    KeptInputs(std::shared_ptr<LostPlans> owner, LostPlans::Plan& plan, const ReplayState& st)
        : owner_(std::move(owner)), plan_(plan) {
        const guards::EntryState& entry = *st.entry;
        for (const int i : plan.inputs) {
            inputs_.push_back(PyRef::borrow(entry.inputs[i]));
            samples_.push_back(is_array(i) ? sample(entry.inputs[i]) : 0);
            numbers_.insert(numbers_.end(), entry.scalars + 16 * i, entry.scalars + 16 * (i + 1));
        }
        for (const int s : plan.sources) objects_.push_back(PyRef::borrow(entry.objects[s]));
        symbols_.assign(entry.symbols, entry.symbols + st.trace.symbol_count);
    }

    const std::vector<int>& slots() const override { return plan_.slots; }

    std::vector<Variable> compute() override {
        std::vector<Variable> out;
        if (plan_.failed) return out;
        const DeferredSignals deferred;
        const NoCollection quiet;
        std::vector<int> changed;
        for (size_t k = 0; k < inputs_.size(); ++k)
            if (is_array(plan_.inputs[k]) && sample(inputs_[k].get()) != samples_[k])
                changed.push_back(plan_.inputs[k]);
        const auto has_changed = [&](int input) {
            return std::ranges::find(changed, input) != changed.end();
        };
        if (!plan_.trace && !owner_->make_trace(plan_)) return out;
        const PyRef values = PyRef::steal(run());
        if (!values) return PyErr_Clear(), std::move(out);
        Py_ssize_t next = 0;
        for (size_t k = 0; k < plan_.slots.size(); ++k) {
            if (plan_.recipes[k] < 0) continue;
            PyObject* value = PyTuple_GET_ITEM(values.get(), next++);
            if (std::ranges::none_of(plan_.read[k], has_changed))
                out.push_back({plan_.slots[k], PyRef::borrow(value)});
        }
        return out;
    }

  private:
    bool is_array(int input) const {
        return owner_->recorded_->inputs[static_cast<size_t>(input)].kind == graph::InputKind::Array;
    }

    PyObject* run() {
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
        for (size_t k = 0; k < inputs_.size(); ++k) {
            const auto i = static_cast<size_t>(plan_.inputs[k]);
            inputs[i] = inputs_[k].get();
            memcpy(scalars.data() + 16 * i, numbers_.data() + 16 * k, 16);
            const bool tensor = is_array(plan_.inputs[k]) && t.graph.inputs[i].host != graph::HostId::NumPy;
            if (tensor && !guards::read_tensor(inputs[i], &tensors[i])) return nullptr;
        }
        for (size_t k = 0; k < objects_.size(); ++k)
            objects[static_cast<size_t>(plan_.sources[k])] = objects_[k].get();
        return compute_values(t, entry);
    }

    std::shared_ptr<LostPlans> owner_;
    LostPlans::Plan& plan_;
    std::vector<PyRef> inputs_, objects_;  // as the plan lists them
    std::vector<uint64_t> samples_;        // per input
    std::vector<char> numbers_;            // 16 bytes per input
    std::vector<int64_t> symbols_;
};

void LostPlans::keep(const ReplayState& st, int snapshot, std::vector<ResumeFrame>& frames) {
    auto& plans = at(snapshot);
    for (size_t k = 0; k < frames.size() && k < plans.size(); ++k)
        if (plans[k]) frames[k].lost = std::make_shared<KeptInputs>(shared_from_this(), *plans[k], st);
}

}  // namespace stator::frontend
