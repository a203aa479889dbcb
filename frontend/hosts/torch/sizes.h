// torch.Size: a tuple of known items that is made again as one.
#pragma once

#include <vector>

#include "frontend/trace_builder/trace_builder.h"

namespace stator::frontend::torch {

ShadowRef size_shadow(TraceBuilder& tb, std::vector<ShadowRef> items);

}  // namespace stator::frontend::torch
