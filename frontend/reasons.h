// Why something was left to Python: a row of reasons.def each, with what is said of it and what to do about
// it.
#pragma once

#include <cstdint>

namespace stator::frontend {

enum class Reason : uint8_t {
#define REASON(id, message, hint) id,
#include "frontend/reasons.def"
#undef REASON
};

}  // namespace stator::frontend
