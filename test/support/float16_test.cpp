#include "support/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ullage {
namespace {

// The definition: the value of the fields.
double f16_value(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
  double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

TEST(Float16, EveryF16WidensExactlyAndRoundsToItself) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7c00) == 0x7c00) continue;
    float wide = f16_to_float(static_cast<uint16_t>(bits));
    ASSERT_EQ(wide, f16_value(static_cast<uint16_t>(bits))) << bits;
    ASSERT_EQ(float_to_f16(wide), bits);
  }
}

TEST(Float16, F16RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    double low = f16_value(static_cast<uint16_t>(bits)),
           high = f16_value(static_cast<uint16_t>(bits + 1));
    float middle = static_cast<float>((low + high) / 2);  // exact
    uint32_t even = bits & 1 ? bits + 1 : bits;
    ASSERT_EQ(float_to_f16(middle), even);
    ASSERT_EQ(float_to_f16(std::nextafterf(middle, 0.0f)), bits);
    ASSERT_EQ(float_to_f16(std::nextafterf(middle, 1e9f)), bits + 1);
    ASSERT_EQ(float_to_f16(-middle), even | 0x8000);
  }
}

TEST(Float16, InfinitiesAndNaN) {
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(float_to_f16(65519.99f), 0x7bff);
  EXPECT_EQ(float_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_f16(-infinity), 0xfc00);
  EXPECT_EQ(f16_to_float(0x7c00), infinity);
  EXPECT_TRUE(std::isnan(f16_to_float(float_to_f16(NAN))));
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(NAN))));
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_EQ(float_to_bf16(infinity), 0x7f80);
}

TEST(Float16, BF16RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7f7f; ++bits) {
    float middle = std::bit_cast<float>(bits << 16 | 0x8000);
    ASSERT_EQ(float_to_bf16(middle), bits & 1 ? bits + 1 : bits);
    ASSERT_EQ(float_to_bf16(std::bit_cast<float>(bits << 16 | 0x8001)), bits + 1);
    ASSERT_EQ(float_to_bf16(bf16_to_float(static_cast<uint16_t>(bits))), bits);
  }
}

}  // namespace
}  // namespace ullage
