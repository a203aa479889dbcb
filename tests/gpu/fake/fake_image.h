// How the two fakes mark what one makes and the other loads.
#pragma once

namespace fake {
constexpr const char* kCubinMark = "FAKE CUBIN ";  // then the architecture, a newline, the module
constexpr const char* kSourceMark = "//// the source, a line a comment\n";  // in PTX
}  // namespace fake
