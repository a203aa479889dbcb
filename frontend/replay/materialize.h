// The state of one replay, and the building of Python objects from it: results, arguments of library calls,
// and the frames in which Python goes on.
#pragma once

#include <vector>

#include "frontend/replay/trace.h"
#include "guards/check/check.h"

namespace stator::frontend {

// A Python int as a number of `dtype`: 16 bytes are written.
void int_to_bits(int64_t v, graph::DType dtype, char* out);

class DeviceRun;  // frontend/replay/on_device.h
class GpuRun;     // frontend/replay/on_gpu.h

struct ReplayState {
    Trace& trace;
    guards::EntryState* entry = nullptr;
    int64_t* exprs = nullptr;     // value of every SymTable expression
    PyObject** arrays = nullptr;  // per value slot; owned
    char* scalars = nullptr;      // 16 bytes per value slot
    uint32_t errors_set = 0,
             errors_ignored = 0;  // fault kinds that the trace's own np.errstate handles or ignores
    unsigned long switches = 0;   // thread_switches at entry, of traces that store what they read
    DeviceRun* device = nullptr;  // where segments run on copies of NumPy's arrays
    GpuRun* gpu = nullptr;        // where they run on arrays that live there
    int grad_mode_ = -1;          // torch's, once asked for
    bool grad_mode();
    bool committed = false;  // an argument's memory was changed: the entry cannot be gone back to

    // The array object whose memory holds value `v` (borrowed), or nullptr.
    PyObject* memory(graph::Id v) const;
    void set_array(graph::Id v, PyObject* steal);
    const char* scalar(graph::Id v) const;
    void set_scalar(graph::Id v, const char* bits);
    // The same of a 0-d array, whose value lies in its memory: 16 bytes are written.
    void scalar_now(graph::Id v, graph::DType dtype, char* out) const;
    // Re-evaluates exprs from entry->symbols. False on 64-bit overflow.
    bool evaluate_syms();
    bool evaluate_bound(const TraceStep& step);  // only what depends on what its result binds
    // Takes a library result: type, dtype, rank and layout must be as recorded; its extents become symbol
    // values.
    bool bind_result(const TraceStep& step, PyRef result);
    bool fits_tensor(graph::Id v, PyObject* result);
    bool bind_number(graph::Id v, PyObject* result);
};

class Materializer {
  public:
    explicit Materializer(ReplayState& st) : st_(st) {}
    ~Materializer() { reset(); }
    void reset();                     // forgets object identities (a new snapshot)
    PyObject* build(int32_t recipe);  // new reference; nullptr with a Python error (memory)
    PyObject* build_value(graph::Id v);
    bool frames(int snapshot, std::vector<ResumeFrame>* out);
    // To be called last: from then on the program may see what was written. False with a Python error.
    bool fill_cells(const std::vector<graph::CellContents>& cells);

  private:
    PyObject* build_new(const graph::Recipe& r);
    PyObject* build_view(const graph::Recipe& r);
    PyObject* build_strided(const graph::Recipe& r);
    PyObject* new_zero_d(graph::Id v, const char* bits);
    PyObject* build_dict(const graph::Recipe& r);
    PyObject* build_made(const graph::Recipe& r);
    PyObject* build_function(const graph::Recipe& r);
    PyObject* build_iterator(const graph::Recipe& r);
    bool absent(int32_t recipe) const;
    bool enter(const graph::Snapshot& s);
    bool fill_frames(const graph::Snapshot& s, std::vector<ResumeFrame>* out);
    void leave_contexts();
    ReplayState& st_;
    std::vector<std::pair<int32_t, PyObject*>> memo_;
    std::vector<PyRef> entered_;
};

}  // namespace stator::frontend
