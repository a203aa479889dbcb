// Which lines of the source traces and loops stand for, as those who watch want to know (profile/doing.h).
#include "frontend/drive/driver.h"
#include "frontend/replay/trace.h"
#include "guards/check/names.h"
#include "kernels/loops/loop_ir.h"

#include <algorithm>

namespace stator::frontend {

const SourceLine* line_of(const CodeInfo& code, int pc) {
    return source_line({guards::utf8(code.code->co_filename), guards::utf8(code.code->co_qualname),
                        code.insns[static_cast<size_t>(pc)].line});
}

namespace {

// A nest does several operations: it counts as the last one of them, which is what the others are for.
const SourceLine* line_of_nest(const TraceLines& lines, const kernels::LoopNest& nest) {
    graph::Id last = -1;
    for (const kernels::Stmt& s : nest.stmts)
        if (lines.of(s.node)) last = std::max(last, s.node);
    return last >= 0 ? lines.of(last) : lines.entry;
}

}  // namespace

const SourceLine* entry_line(Trace& t) {
    if (t.lines.entry) return t.lines.entry;
    t.lines.entry = line_of(*t.place->code, t.place->pc);
    for (const graph::Node& n : t.graph.nodes) {
        const graph::Location* at = n.loc >= 0 ? &t.graph.locations[static_cast<size_t>(n.loc)] : nullptr;
        t.lines.nodes.push_back(at ? source_line({at->file, at->function, at->line}) : t.lines.entry);
    }
    for (Segment& s : t.segments)
        for (const auto& nest : s.program->code) s.nest_lines.push_back(line_of_nest(t.lines, *nest));
    return t.lines.entry;
}

}  // namespace stator::frontend
