// The parts of a function's state that go by themselves, when something is gone that they were made for: a
// trace for objects of a class that a call of another function has made, say. What they keep would keep that
// alive.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "frontend/cpython/kept_alive.h"
#include "frontend/drive/driver.h"

namespace stator::frontend {

struct Part {
    KeptAlive::Keeper keeper;
    FunctionState::Impl* fs = nullptr;
    // One of these: a trace, a region, what is known of code that was followed, or a function that was
    // followed and its clone, by their code.
    Place* place = nullptr;
    const Trace* trace = nullptr;
    LoopHeader* header = nullptr;
    const regions::CompiledRegion* region = nullptr;
    PyCodeObject* followed = nullptr;
    PyObject* cloned = nullptr;
};

// Those of a state that is not in use.
void add_parts(FunctionState& state, std::vector<Part>* parts);

// What was dropped. Destroying it may run anything.
struct DroppedParts {
    std::vector<std::unique_ptr<Trace>> traces;
    std::vector<std::shared_ptr<regions::CompiledRegion>> regions;
    std::vector<std::pair<PyRef, PyRef>> clones;
    std::vector<std::unique_ptr<CodePlaces>> places;
};
void drop(const Part& part, DroppedParts* dropped);

// While one of these lives the traverse of a state leaves out its parts.
class PartsApart {
  public:
    PartsApart();
    ~PartsApart();
    PartsApart(const PartsApart&) = delete;
};

}  // namespace stator::frontend
