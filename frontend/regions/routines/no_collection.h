// Keeps the garbage collector from running.
#pragma once

#include "frontend/pyref.h"

namespace stator::frontend::regions {

// Garbage collection could run code of the program's in the middle of a region.
class NoCollection {
  public:
    NoCollection() : was_on_(PyGC_Disable()) {}
    ~NoCollection() {
        if (was_on_) PyGC_Enable();
    }
    NoCollection(const NoCollection&) = delete;

  private:
    int was_on_;
};

}  // namespace stator::frontend::regions
