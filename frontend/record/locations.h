// Source locations of graph nodes: one entry per (file, function, line) of a trace.
#pragma once

#include <string>

#include "frontend/cpython/code.h"
#include "graph/graph.h"
#include "guards/check/names.h"

namespace stator::frontend {

inline int32_t location_of(graph::Graph& g, const CodeInfo& code, const Insn& insn) {
    std::string file = guards::utf8(code.code->co_filename);
    std::string function = guards::utf8(code.code->co_qualname);
    for (size_t i = g.locations.size(); i-- > 0;)
        if (g.locations[i].line == insn.line && g.locations[i].function == function &&
            g.locations[i].file == file)
            return static_cast<int32_t>(i);
    g.locations.push_back({file, function, insn.line});
    return static_cast<int32_t>(g.locations.size()) - 1;
}

}  // namespace stator::frontend
