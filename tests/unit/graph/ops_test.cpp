// The op table, effects, and constants as text.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <set>

#include "graph/graph.h"
#include "graph/scalar.h"

namespace stator::graph {
namespace {

TEST(Ops, TableIsConsistent) {
    std::set<std::string_view> texts;
    for (int i = 0; i < op_count(); ++i) {
        Op op = static_cast<Op>(i);
        EXPECT_TRUE(texts.insert(info(op).text).second) << info(op).text;
        EXPECT_EQ(find_op(info(op).text), op);
    }
    EXPECT_EQ(info(Op::Add).id, "Add");
    EXPECT_EQ(info(Op::Less).dtype, DTypeRule::bool_);
    EXPECT_EQ(find_op("frobnicate"), std::nullopt);
    EXPECT_TRUE(is_native(Op::Add, DType::F64));
    EXPECT_FALSE(is_native(Op::Add, DType::C128));
    EXPECT_FALSE(is_native(Op::HostLoop, DType::F64));
}

Graph parsed(std::string_view text) {
    ParseResult r = parse(text);
    EXPECT_EQ(r.error, "");
    EXPECT_EQ(verify(r.graph), "");
    return std::move(r.graph);
}

TEST(Effects, RootsAndVersionsFollowViewsAndStores) {
    Graph g = parsed(R"(trace t {
  %0 = input L['x'] {slot=0, written} : f64[4]
  %1 = view %0 [j0 from 1] : f64[3]
  %2 = const 1.0 : f64
  %3 = store %0, %2 [at 0] : f64[4]
  %4 = view %3 [j0] : f64[2]
  %5 = negative %4 : f64[2]
})");
    EXPECT_EQ(buffer_root(g, 4), 0);
    EXPECT_EQ(buffer_version(g, 4), 3);
    EXPECT_EQ(buffer_version(g, 1), 0);
    EXPECT_EQ(buffer_root(g, 5), 5);
    EXPECT_TRUE(has_effect(g, 3));
    EXPECT_FALSE(has_effect(g, 5));
}

TEST(Effects, CastsFaultWhereValuesCanBeLost) {
    auto faults = [](std::string_view from, std::string_view to) {
        std::string text = "trace t {\n  %0 = input L['x'] {slot=0} : " + std::string(from) +
                           "[4]\n  %1 = cast %0 : " + std::string(to) + "[4]\n}\n";
        Graph g = parsed(text);
        return can_fault(g, 1);
    };
    EXPECT_TRUE(faults("f64", "f32"));
    EXPECT_TRUE(faults("f64", "i64"));
    EXPECT_TRUE(faults("i32", "f16"));
    EXPECT_TRUE(faults("u16", "f16"));
    EXPECT_TRUE(faults("c128", "f64"));
    EXPECT_TRUE(faults("f64", "c64"));
    EXPECT_FALSE(faults("f32", "f64"));
    EXPECT_FALSE(faults("f32", "c128"));
    EXPECT_FALSE(faults("i16", "f16"));
    EXPECT_FALSE(faults("i64", "f32"));
    EXPECT_FALSE(faults("i64", "i8"));
    EXPECT_FALSE(faults("f64", "b1"));
}

TEST(Effects, IntegerDivisionFaultsUnlessTheDivisorIsKnown) {
    Graph g = parsed(R"(trace t sym(s0=3 in [1, max], s1=0 in [0, max]) {
  %0 = input L['x'] {slot=0} : i64[4]
  %1 = const 3 : i64
  %2 = const 0 : i64
  %3 = const -1 : i64
  %4 = sym s0 : i64
  %5 = sym s1 : i64
  %6 = floor_divide %0, %1 : i64[4]
  %7 = floor_divide %0, %2 : i64[4]
  %8 = floor_divide %0, %3 : i64[4]
  %9 = floor_divide %0, %4 : i64[4]
  %10 = floor_divide %0, %5 : i64[4]
  %11 = remainder %0, %0 : i64[4]
})");
    bool want[] = {false, true, true, false, true, true};
    for (Id v = 6; v <= 11; ++v) EXPECT_EQ(can_fault(g, v), want[v - 6]) << v;
}

TEST(Scalar, HalfConversions) {
    for (uint32_t h = 0; h < 0x10000; ++h) {
        float f = half_to_float(static_cast<uint16_t>(h));
        if (std::isnan(f)) continue;
        ASSERT_EQ(to_half(f), h);
        if (!std::isfinite(f) || (h & 0x7fff) >= 0x7bff) continue;
        // Halfway to the next number rounds to the even one.
        double next = half_to_float(static_cast<uint16_t>(h + 1)),
               middle = (static_cast<double>(f) + next) / 2;
        ASSERT_EQ(to_half(middle), h & 1 ? h + 1 : h);
        ASSERT_EQ(to_half(std::nextafter(middle, static_cast<double>(f))), h);
        ASSERT_EQ(to_half(std::nextafter(middle, next)), h + 1);
    }
    EXPECT_EQ(to_half(65519.99), 0x7bff);
    EXPECT_EQ(to_half(65520.0), 0x7c00);
    EXPECT_EQ(to_half(-1e300), 0xfc00);
    EXPECT_EQ(to_half(0x1p-25), 0);
}

TEST(Scalar, TextKeepsEveryBit) {
    std::mt19937_64 random(7);
    for (int t = 0; t < kDTypeCount; ++t) {
        DType dtype = static_cast<DType>(t);
        for (int i = 0; i < 2000; ++i) {
            std::vector<int64_t> bits = {static_cast<int64_t>(random())};
            if (i % 4 == 0) bits[0] = static_cast<int64_t>(random() | 0x7ff0000000000000u);
            if (i % 4 == 1) bits[0] = static_cast<int64_t>(random() >> (random() % 64));
            if (dtype == DType::C128) bits.push_back(static_cast<int64_t>(random()));
            bits = normalize_bits(dtype, bits);
            std::vector<int64_t> again;
            std::string text = scalar_text(dtype, bits);
            ASSERT_TRUE(parse_scalar(dtype, text, again)) << info(dtype).text << " " << text;
            ASSERT_EQ(normalize_bits(dtype, again), bits) << info(dtype).text << " " << text;
        }
    }
}

}  // namespace
}  // namespace stator::graph
