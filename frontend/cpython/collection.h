// Keeps the garbage collector from running.
#pragma once

#include <Python.h>

namespace stator::frontend {

// While alive, nothing is collected: finalizers are code of the program's, which could run in the middle of a
// region, or between what is read when one is entered and what is written when it is left. The collector
// takes itself for busy; whether it is enabled is the program's to see and to change, also from other
// threads.
class NoCollection {
  public:
    NoCollection();
    ~NoCollection();
    NoCollection(const NoCollection&) = delete;

  private:
    bool outermost_, scheduled_;
};

}  // namespace stator::frontend
