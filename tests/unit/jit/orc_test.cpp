// Code generation and linking, from LLVM IR written by hand.
#include "jit/orc/orc.h"

#include <gtest/gtest.h>

#include <string>

#include "jit/load.h"
#include "jit/machine.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace stator::jit {
namespace {

// Adds 1.5 to the doubles of buffer 0 in [begin, end), eight at a time, and returns the number of vectors.
constexpr char kAddIr[] = R"(
define i32 @t_nest0(ptr %args, i64 %begin, i64 %end) {
entry:
  %buffers = load ptr, ptr %args
  %p = load ptr, ptr %buffers
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %n = phi i32 [ 0, %entry ], [ %n1, %loop ]
  %q = getelementptr double, ptr %p, i64 %i
  %v = load <8 x double>, ptr %q, align 8
  %w = fadd <8 x double> %v, splat (double 1.5)
  store <8 x double> %w, ptr %q, align 8
  %next = add i64 %i, 8
  %n1 = add i32 %n, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret i32 %n1
}
)";

kernels::KernelArgs arguments(char* const* buffers) {
    return {buffers, nullptr, nullptr, nullptr, nullptr, nullptr};
}

TEST(Orc, OpeningCompilesASample) {
    EXPECT_EQ(open_codegen([] { return false; }), "");
    EXPECT_EQ(open_codegen([] { return true; }), "");
}

TEST(Orc, CompilesAndRuns) {
    const Object object = emit_object_from_ir(kAddIr);
    ASSERT_EQ(object.error, "");
    const Loaded code = load_object(object.bytes, "t", 1, "test");
    ASSERT_EQ(code.error, "");
    ASSERT_EQ(code.entries.size(), 1u);
    EXPECT_GT(code.code_bytes, 0);
    double data[16] = {};
    data[9] = 2;
    char* buffers[] = {reinterpret_cast<char*>(data)};
    const kernels::KernelArgs args = arguments(buffers);
    EXPECT_EQ(code.entries[0](&args, 0, 16), 2u);
    EXPECT_EQ(data[0], 1.5);
    EXPECT_EQ(data[9], 3.5);
}

TEST(Orc, ObjectsAreReproducible) {
    EXPECT_EQ(emit_object_from_ir(kAddIr).bytes, emit_object_from_ir(kAddIr).bytes);
}

TEST(Orc, ManyObjectsWithEqualSymbolsLiveSideBySide) {
    const Object object = emit_object_from_ir(kAddIr);
    Loaded first = load_object(object.bytes, "t", 1, "first");
    const Loaded second = load_object(object.bytes, "t", 1, "second");
    ASSERT_EQ(first.error + second.error, "");
    EXPECT_NE(first.entries[0], second.entries[0]);
    first.owner.reset();
    double data[8] = {};
    char* buffers[] = {reinterpret_cast<char*>(data)};
    const kernels::KernelArgs args = arguments(buffers);
    second.entries[0](&args, 0, 8);
    EXPECT_EQ(data[7], 1.5);
}

TEST(Orc, MayCallBlockMovesAndNothingElse) {
    const char* format = R"(
declare ptr @%1(ptr, i32, i64)
define i32 @t_nest0(ptr %args, i64 %begin, i64 %end) {
  %buffers = load ptr, ptr %args
  %p = load ptr, ptr %buffers
  call ptr @%1(ptr %p, i32 7, i64 %end)
  ret i32 0
}
)";
    const auto with = [&](const std::string& callee) {
        std::string ir = format;
        for (size_t at; (at = ir.find("%1(")) != std::string::npos;) ir.replace(at, 2, callee);
        return emit_object_from_ir(ir);
    };
    const Loaded good = load_object(with("memset").bytes, "t", 1, "good");
    ASSERT_EQ(good.error, "");
    char data[8] = {};
    char* buffers[] = {data};
    const kernels::KernelArgs args = arguments(buffers);
    good.entries[0](&args, 0, 8);
    EXPECT_EQ(data[7], 7);
    const Loaded bad = load_object(with("system").bytes, "t", 1, "bad");
    EXPECT_NE(bad.error.find("system"), std::string::npos) << bad.error;
    EXPECT_TRUE(bad.entries.empty());
}

TEST(Orc, ErrorsComeBackAsText) {
#ifdef __SANITIZE_ADDRESS__
    const __lsan::ScopedDisabler lost;  // LLVM's own frames are left without being unwound
#endif
    EXPECT_NE(emit_object_from_ir("this is not IR").error, "");
    EXPECT_NE(
        emit_object_from_ir("define void @f() {\n  %x = add i32 %x, 1\n ret void\n}").error.find("invalid"),
        std::string::npos);
    // An error of the code generator's own.
    const Object object = emit_object_from_ir(
        "define i32 @t_nest0(ptr %a, i64 %b, i64 %e) {\n call void asm \"no such instruction\", \"\"()\n ret "
        "i32 0\n}");
    EXPECT_NE(object.error, "");
    EXPECT_EQ(object.bytes, "");
    // And a fatal one, which LLVM does not expect anybody to survive.
    const Object fatal = emit_object_from_ir(
        "declare i64 @llvm.read_register.i64(metadata)\n"
        "define i32 @t_nest0(ptr %a, i64 %b, i64 %e) {\n"
        " %x = call i64 @llvm.read_register.i64(metadata !0)\n ret i32 0\n}\n!0 = !{!\"nosuchregister\"}");
    EXPECT_NE(fatal.error, "");
    EXPECT_EQ(emit_object_from_ir(kAddIr).error, "") << "the engine is usable after an error";
    EXPECT_NE(load_object("not an object", "t", 1, "x").error, "");
    EXPECT_NE(load_object(emit_object_from_ir(kAddIr).bytes, "other", 1, "x").error, "");
}

TEST(Orc, KnowsTheMachine) {
    EXPECT_FALSE(host_cpu().name.empty());
    EXPECT_TRUE(machine().vector_bits == 128 || machine().vector_bits == 256 || machine().vector_bits == 512);
    EXPECT_EQ(emit_options("p", false).vector_bits, machine().vector_bits);
}

}  // namespace
}  // namespace stator::jit
