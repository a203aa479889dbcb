// CPython 3.14: slots are tagged references.
#pragma once

#include "frontend/cpython/raw/tagged_slots.h"

namespace stator::frontend::raw {

inline constexpr int kMinor = 14;

}  // namespace stator::frontend::raw
