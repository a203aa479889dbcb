// The small linker: what it links is what ORC links, and what is damaged or unknown comes back as an error.
#include "jit/link.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "jit/load.h"
#include "jit/orc/orc.h"

namespace stator::jit {
namespace {

// Constants, a table of constants, a call of a block move, one's address out of the table of addresses, and a
// function of its own.
constexpr char kIr[] = R"(
@table = private constant [4 x i32] [i32 3, i32 1, i32 4, i32 1]
declare ptr @memset(ptr, i32, i64)
define internal double @add(double %x) noinline {
  %y = fadd double %x, 1.25
  ret double %y
}
define i32 @t_nest0(ptr %args, i64 %begin, i64 %end) {
  %p = load ptr, ptr %args
  call ptr @memset(ptr %p, i32 0, i64 %end)
  %x = call double @add(double 3.5)
  store double %x, ptr %p
  %q = getelementptr i8, ptr %p, i64 8
  store ptr @memset, ptr %q
  %e = getelementptr [4 x i32], ptr @table, i64 0, i64 %begin
  %v = load i32, ptr %e
  ret i32 %v
}
)";

using Fn = int32_t (*)(void*, int64_t, int64_t);

void check(const Linked& code) {
    ASSERT_EQ(code.error, "");
    ASSERT_EQ(code.addresses.size(), 1u);
    ASSERT_NE(code.owner, nullptr);
    struct {
        double sum;
        void* address;
        char rest[8];
    } memory;
    std::memset(&memory, 7, sizeof memory);
    void* args[] = {&memory};
    EXPECT_EQ(reinterpret_cast<Fn>(code.addresses[0])(args, 2, sizeof memory), 4);
    EXPECT_EQ(memory.sum, 4.75);
    EXPECT_EQ(memory.address,
              reinterpret_cast<void*>(static_cast<void* (*)(void*, int, size_t)>(&std::memset)));
    EXPECT_EQ(memory.rest[7], 0);
}

TEST(Link, DoesWhatOrcDoes) {
    const Object object = emit_object_from_ir(kIr);
    ASSERT_EQ(object.error, "");
    const Linked own = link_object(object.bytes, {"t_nest0"}),
                 by_orc = link_by_orc(object.bytes, {"t_nest0"});
    check(own);
    check(by_orc);
    const auto has = [](const std::vector<LinkedObject::Range>& list, const std::string& name) {
        for (const auto& r : list)
            if (r.name == name && r.size > 0) return true;
        return false;
    };
    for (const Linked* code : {&own, &by_orc}) {
        EXPECT_TRUE(has(code->parts.functions, "t_nest0"));
        EXPECT_TRUE(has(code->parts.sections, ".text"));
    }
}

TEST(Link, DamageComesBackAsText) {
    const Object object = emit_object_from_ir(kIr);
    ASSERT_EQ(object.error, "");
    for (size_t size = 0; size < object.bytes.size(); size += 3) {
        const Linked code = link_object(object.bytes.substr(0, size), {"t_nest0"});
        EXPECT_NE(code.error, "") << size;
        EXPECT_EQ(code.owner, nullptr);
    }
    // Any byte may be wrong: nothing is read or written outside of what belongs to it.
    for (size_t at = 0; at < object.bytes.size(); ++at) {
        std::string bytes = object.bytes;
        bytes[at] = static_cast<char>(bytes[at] ^ 0xff);
        (void)link_object(bytes, {"t_nest0"});
    }
    EXPECT_NE(link_object(object.bytes, {"t_nest1"}).error.find("t_nest1"), std::string::npos);
    EXPECT_NE(link_object(object.bytes, {"add"}).error, "") << "it is nobody else's";
}

TEST(Link, OtherNamesAreErrors) {
    const Object object = emit_object_from_ir(
        "declare i32 @system(ptr)\ndefine i32 @t_nest0(ptr %a, i64 %b, i64 %e) {\n"
        " %x = call i32 @system(ptr %a)\n ret i32 %x\n}");
    ASSERT_EQ(object.error, "");
    const Linked code = link_object(object.bytes, {"t_nest0"});
    EXPECT_NE(code.error.find("system"), std::string::npos) << code.error;
    EXPECT_FALSE(code.unknown);
}

TEST(Link, OrcLinksTheRest) {
    const Object object = emit_object_from_ir(
        "@x = common global i32 0\ndefine i32 @t_nest0(ptr %a, i64 %b, i64 %e) {\n"
        " %old = load i32, ptr @x\n store i32 42, ptr @x\n ret i32 %old\n}");
    ASSERT_EQ(object.error, "");
    const Linked refused = link_object(object.bytes, {"t_nest0"});
    EXPECT_TRUE(refused.unknown) << refused.error;
    const Loaded code = load_object(object.bytes, "t", 1, "test");
    ASSERT_EQ(code.error, "");
    EXPECT_EQ(code.entries.at(0)(nullptr, 0, 0), 0u);
    EXPECT_EQ(code.entries.at(0)(nullptr, 0, 0), 42u);
}

}  // namespace
}  // namespace stator::jit
