// Every field that the emitter reads changes the key; names, graph ids and sizes do not.
#include "jit/program_key.h"

#include <gtest/gtest.h>

#include <functional>

#include "jit/build_id.h"
#include "jit/codegen.h"
#include "jit/machine.h"
#include "tests/unit/support/segment.h"

namespace stator::jit {
namespace {

using namespace kernels;

constexpr char kText[] = R"(trace key sym(s0=@0 in [2, max], s1=@1 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0, s1]
  %1 = input L['r'] {slot=1, layout=strided} : f64[s1]
  %2 = view %1 [j1] : f64[s0, s1] strided
  %3 = multiply %0, %2 : f64[s0, s1]
  %4 = const 2.0 : f64
  %5 = add %3, %4 : f64[s0, s1]
  %6 = loop exp %5 : f64[s0, s1]
  %7 = reduce add %0 {axes=(1), order=c} : f64[s0]
  return (%6, %7)
}
)";

// A program of its own, nests included.
Program fresh() {
    Segment segment(sized(kText, 10, 20));
    Program p = segment.program();
    for (auto& nest : p.code) nest = std::make_shared<LoopNest>(*nest);
    return p;
}
Stmt& find(Program& p, StmtKind kind) {
    for (auto& nest : p.code)
        for (Stmt& s : nest->stmts)
            if (s.kind == kind) return s;
    ADD_FAILURE() << "no such statement";
    return p.code[0]->stmts[0];
}

TEST(ProgramKey, SizesNamesAndIdsDoNotMatter) {
    Segment other(sized(kText, 1000, 33));
    EXPECT_EQ(program_key(fresh()), program_key(other.program()));
    Program p = fresh();
    p.buffers[0].value = 99;
    p.code[0]->stmts[0].node = 99;
    EXPECT_EQ(program_key(p), program_key(fresh()));
}

TEST(ProgramKey, EveryFieldOfTheProgramMatters) {
    using Change = std::function<void(Program&)>;
    const std::vector<std::pair<const char*, Change>> changes = {
        {"buffer kind", [](Program& p) { p.buffers[0].kind = BufferKind::Scratch; }},
        {"buffer dtype", [](Program& p) { p.buffers[0].dtype = graph::DType::F32; }},
        {"buffer layout", [](Program& p) { p.buffers[0].layout = graph::Layout::InnerDense; }},
        {"buffer order", [](Program& p) { p.buffers[0].perm = {1, 0}; }},
        {"stride base", [](Program& p) { p.buffers[0].stride_base += 1; }},
        {"written", [](Program& p) { p.buffers[0].written ^= true; }},
        {"scalar kind", [](Program& p) { p.scalars[0].kind = ScalarKind::Input; }},
        {"scalar dtype", [](Program& p) { p.scalars[0].dtype = graph::DType::I64; }},
        {"loop name", [](Program& p) { p.loops[0].name += "2"; }},
        {"loop types", [](Program& p) { p.loops[0].types[0] = graph::DType::F16; }},
        {"splittable", [](Program& p) { p.nests[0].splittable ^= true; }},
        {"commit", [](Program& p) { p.nests[0].commit ^= true; }},
        {"scratch", [](Program& p) { p.scratch_bytes += 64; }},
        {"axis kind", [](Program& p) { p.code[0]->axes.back().kind = AxisKind::Reduce; }},
        {"axis extent", [](Program& p) { p.code[0]->axes[0].extent.value += 1; }},
        {"axis symbol", [](Program& p) { p.code[0]->axes[0].extent.sym += 1; }},
        {"index width", [](Program& p) { p.code[0]->index_bits = 32; }},
        {"in place", [](Program& p) { p.code[0]->in_place ^= true; }},
        {"statement dtype", [](Program& p) { find(p, StmtKind::Load).dtype = graph::DType::F32; }},
        {"statement depth", [](Program& p) { find(p, StmtKind::Load).depth += 1; }},
        {"op", [](Program& p) { find(p, StmtKind::Compute).op = graph::Op::Divide; }},
        {"operands", [](Program& p) { find(p, StmtKind::Compute).in[0] += 1; }},
        {"reduction name", [](Program& p) { find(p, StmtKind::Reduce).name = "maximum"; }},
        {"reduction order", [](Program& p) { find(p, StmtKind::Reduce).order = RunOrder::Sequential; }},
        {"reduction start", [](Program& p) { find(p, StmtKind::Reduce).start = ReduceStart::First; }},
        {"slot", [](Program& p) { find(p, StmtKind::Scalar).slot += 1; }},
        {"access buffer", [](Program& p) { find(p, StmtKind::Store).access.buffer += 1; }},
        {"access offset",
         [](Program& p) { find(p, StmtKind::Load).access.offset.push_back({kDense, {3, -1}}); }},
        {"access axis",
         [](Program& p) { find(p, StmtKind::Load).access.axis[0].push_back({kDense, {1, -1}}); }},
        {"term dimension", [](Program& p) { find(p, StmtKind::Store).access.axis.back()[0].dim = 0; }},
        {"term factor", [](Program& p) { find(p, StmtKind::Store).access.axis.back()[0].factor.value += 7; }},
        {"statement order", [](Program& p) { std::swap(p.code[0]->stmts[0], p.code[0]->stmts[1]); }},
        {"fewer nests", [](Program& p) { p.code.pop_back(), p.nests.pop_back(); }},
    };
    const std::string base = program_key(fresh());
    for (const auto& [what, change] : changes) {
        Program p = fresh();
        change(p);
        EXPECT_NE(program_key(p), base) << what;
    }
}

TEST(ProgramKey, EnvironmentNamesCpuBuildsAndOptions) {
    const std::string plain = environment_key(emit_options("p", false));
    EXPECT_NE(plain.find(machine().identity), std::string::npos);
    EXPECT_NE(plain.find(codegen_build_id()), std::string::npos);
    EXPECT_FALSE(build_id().empty());
    EXPECT_NE(plain.find(build_id()), std::string::npos);
    EXPECT_NE(plain, environment_key(emit_options("p", true)));
}

}  // namespace
}  // namespace stator::jit
