// CPython 3.15: frames are 3.14's.
#pragma once

#include "frontend/cpython/raw/tagged_slots.h"

namespace stator::frontend::raw {

inline constexpr int kMinor = 15;

}  // namespace stator::frontend::raw
