// A region that is ready to run, or will be: the built graph, its code, and entering and leaving it from a
// real frame.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/cpython/frame.h"
#include "frontend/cpython/resume_frame.h"
#include "frontend/regions/build/built_region.h"
#include "frontend/regions/run/on_device.h"
#include "frontend/regions/run/refusal.h"
#include "frontend/regions/sequence.h"
#include "kernels/api/compiler.h"
#include "kernels/region_abi.h"

namespace stator::frontend::regions {

enum class Left : uint8_t {
    NotEntered,  // a guard failed, or there is no code yet
    End,         // the loop is over, or was left by break or return
    Check,       // Python has to do a statement
    Poll,        // the interpreter wants attention
    Failed,      // a Python error is set; the frame is as it was
};

// Looks at what a region is entered with, before it runs.
class EntryWatch {
  public:
    virtual ~EntryWatch() = default;
    // `reached`: what is in the frame's slots, and what the region's sources lead to.
    virtual void entered(const Frame& f, const std::vector<PyObject*>& reached) = 0;
};

// The rows of a list or tuple in an entry slot, as they were at entry: a library routine may release the GIL
// to somebody who changes the list.
struct EntryRows {
    int slot;
    std::vector<PyRef> rows;
};

// Objects that were made so far while a region is being left, for values that several variables have. It is
// kept from one time to the next: asking for memory would take a good part of what leaving does.
class MadeObjects {
  public:
    // In place of the id, of what Value::object tells alone.
    enum : graph::ValueId { kList = -1 };
    PyObject* find(int64_t object, graph::ValueId id) const {  // borrowed
        for (const One& m : all_)
            if (m.object == object && m.id == id) return m.made.get();
        return nullptr;
    }
    PyObject* keep(int64_t object, graph::ValueId id, PyObject* steal) {  // new reference
        if (steal) all_.push_back({object, id, PyRef::borrow(steal)});
        return steal;
    }
    void clear() { all_.clear(); }

  private:
    struct One {
        int64_t object;
        graph::ValueId id;
        PyRef made;
    };
    std::vector<One> all_;
};

constexpr int kSlot = 16;  // bytes of a scalar
inline int slots_of(const graph::RegionType& t) { return t.is_array() ? 1 + 2 * t.rank : 1; }

class CompiledRegion {
  public:
    // With `device`, which is loaded, it runs there.
    CompiledRegion(std::unique_ptr<BuiltRegion> built, std::string name, bool fastmath, bool async,
                   std::unique_ptr<DeviceRegion> device = nullptr);
    ~CompiledRegion();
    CompiledRegion(const CompiledRegion&) = delete;

    bool ready() const;
    bool failed() const;  // no code will ever come
    // Runs it in a frame that is at the header; then the frame is where Python goes on, at instruction *pc.
    // That is a call when frames of functions are to be gone on with first, `inner`, outer ones first.
    // With `one_iteration` it is left at the first place of its outermost loop where the interpreter may want
    // attention: Left::Poll.
    Left run(Frame& f, int* pc, std::vector<ResumeFrame>* inner, EntryWatch* watch = nullptr,
             bool one_iteration = false);
    // Its code is what it is going to be, not code for now.
    bool is_final() const { return !request_ || !request_->slot->provisional.load(); }
    const BuiltRegion& built() const { return *built_; }
    const std::string& name() const { return name_; }
    std::string text() const;
    const std::shared_ptr<kernels::RegionRequest>& request() const { return request_; }
    int traverse(visitproc visit, void* arg) const;
    std::vector<PyObject*> needed() const;  // borrowed: objects without which it cannot be entered any more
    const DeviceRegion* device() const { return device_.get(); }
    // Whether what it does is worth copying lists each time that it is entered.
    bool copies_pay() const;
    // Where it was left most often for Python to do a statement, and what for, as far as that is known.
    std::string why_left() const;

    int64_t entries = 0, checks = 0;
    // How often it was not entered, though its code was there, and what it expected and found the last time.
    int64_t refused = 0;
    std::string why_refused;
    // While `metered`, how long the last run was in its code, ns; and the same less what it called Python's
    // functions for, which plain Python would have called as well.
    bool metered = false;
    int64_t inside_ns = 0, native_ns = 0;
    int64_t called = 0;                         // Python's functions, in the last run
    int64_t python_calls = 0, allocations = 0;  // while it ran
    std::vector<int64_t> taken;                 // how often it left through each exit
    bool retired = false;                       // what it saves does not pay for entering and leaving it
    // Whether a retired region would have been entered here: then it is not a matter of other kinds.
    bool would_admit(Frame& f);
    // Whether monitoring wants to see some function that is a part of it: then it is not entered.
    bool is_watched() const;
    bool counts() const { return counts_; }  // `steps`
    int64_t steps = 0;                       // so many of the interpreter's instructions in the last run
    bool is_compared = false;                // with traces of its iterations (drive/duel.h)
    bool was_replaced = false;  // its code, by better code, while it ran: its loop will be entered again

  private:
    bool admit(Frame& f, std::vector<PyRef>* owned);
    bool is_as_built(const Frame& f);
    bool refuse(Refusal r);  // false
    Left not_entered();
    bool can_store(const BuiltRegion::Cell& c) const;
    bool store_places(std::vector<PyObject*>* slots) const;
    bool items_to_store(std::vector<NewItem>* made);
    bool enter(Frame& f, std::vector<PyRef>* owned);
    bool read_inputs();
    bool read_input(const EntryInput& in, bool keep);
    bool disjoint() const;
    bool resolve_calls();
    bool leave(Frame& f, int exit, std::vector<ResumeFrame>* inner);
    const std::vector<int>& exit_slots(int exit);
    int32_t run_code(kernels::RegionArgs& args);
    Left run_on_device(const kernels::RegionArgs& args, int32_t* exit);

    std::unique_ptr<const BuiltRegion> built_;
    bool counts_ = false;
    std::string name_;
    std::shared_ptr<kernels::RegionRequest> request_;
    std::unique_ptr<DeviceRegion> device_;
    std::vector<kernels::RegionCallTarget> calls_;
    // While it is entered and runs. Library routines may release the GIL, and making objects may collect
    // garbage, whose finalizers may come here again.
    bool busy_ = false;
    bool resolved_ = false, unresolvable_ = false;
    // Attributes, globals and items of lists are stored when it is left, while routines of it let other
    // threads run, whose stores to the same places would be lost.
    bool stores_behind_others_ = false;
    bool writes_ = false;                     // to an array that was there at entry
    const Frame* frame_ = nullptr;            // while it is being entered
    bool copied_ = false;                     // long lists, when it was entered
    int64_t copying_ns_ = 0, inside_ns_ = 0;  // in copying these and back, and in its code meanwhile
    Refusal refusal_, told_;                  // the last one, and the one that why_refused tells
    std::vector<PyObject*> entry_;  // what was in the frame's slots, and what sources lead to; borrowed
    std::vector<char*> arrays_;
    std::vector<std::vector<char>>
        sequences_;  // copies of lists and tuples that are arrays, by place in arrays_
    // Lists whose items are an array to the code, which stores to it: one, or rows.
    struct StoredList {
        graph::DType dtype;
        size_t place;  // in arrays_
        std::vector<char> before;
        std::vector<PyRef> lists;
        std::vector<size_t> items;  // in each of them
    };
    bool read_copied(const EntryInput& in, PyObject* o, bool keep);
    void hold_rows(const EntryInput& in, PyObject* o);
    bool rows_are_apart();
    void let_go();
    const char* copy_items(const EntryInput& in, PyObject* o, std::array<int64_t, 2>* extents);
    std::vector<StoredList> stored_lists_;  // lists that the code stores to
    std::vector<EntryRows> entry_rows_;
    std::vector<int64_t> dims_;
    std::vector<char> scalars_, out_;
    size_t scalar_count_ = 0;                   // in `scalars_`, while inputs are read
    std::vector<Left> ways_;                    // by exit
    std::vector<std::vector<int>> exit_slots_;  // by exit; empty until it is taken
    MadeObjects made_;
    ResumeFrame left_;  // while the frame is being left
    std::vector<kernels::RegionArgs::ScratchCell> scratch_;
    kernels::RegionArgs::Trust trust_;
};

}  // namespace stator::frontend::regions
