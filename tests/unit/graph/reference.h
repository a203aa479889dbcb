// A reference interpreter for small graphs of b1, i64 and f64 values: elements as 64-bit patterns, every
// version of a buffer a vector of its own. Slow and obvious; passes are checked against it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace stator::graph::test {

struct Value {
    std::vector<int64_t> shape;
    std::vector<uint64_t> data;  // in C order
    bool operator==(const Value&) const = default;
};

struct World {
    std::vector<int64_t> symbols;
    std::vector<Value> inputs;  // by slot
};

struct Outcome {
    std::string text;           // end or exit, every value that is built there, which arrays are one object
    std::vector<Value> inputs;  // afterwards
    int flags;                  // floating-point flags but inexact
    bool operator==(const Outcome&) const = default;
};

Outcome interpret(const Graph& g, const World& world);

}  // namespace stator::graph::test
