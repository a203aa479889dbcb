// STATOR_VERIFY of regions: what a region did is done once more by plain Python, one instruction at a time,
// and compared.
//
// Before the region runs, the contents of all arrays are copied that can be reached from the frame. When it
// has left, they are put back, and the stepper goes on from the loop's header in a frame of its own, with the
// objects that were there at entry and iterators of its own. A region is right when that frame comes to be
// where the region left, with the same variables and the same memory. It is not when Python leaves the loop,
// raises, or wants to warn before that. So how many iterations the region has run need not be known, and no
// effect is repeated but stores to arrays and items appended to lists, which regions make themselves: Python
// stops in front of what the region was built to leave to it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/drive/driver.h"

namespace stator::frontend {

bool verifying_calls();  // STATOR_VERIFY is on

class RegionCheck : public regions::EntryWatch {
  public:
    RegionCheck(FunctionState::Impl& fs, const CodeInfo& code, int header);
    ~RegionCheck();
    void entered(const Frame& f, const std::vector<PyObject*>& reached) override;
    // Whether Python comes to be where the region has left. If not, all is as it was before the region ran,
    // the frame included, and the difference has been reported.
    bool agrees(const regions::CompiledRegion& region, Frame& f, int* pc, std::vector<ResumeFrame>* inner);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// The tests plant defects: from here on the first `find` in the text of each region that is built becomes
// `replace`. Empty: no more.
void mutate_regions(std::string find, std::string replace);
void apply_mutation(graph::Region& r);

}  // namespace stator::frontend
