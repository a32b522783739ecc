// Searches for the least elements, written as those for the greatest of what is negated.
#include "normalize/normalized.h"

namespace ullage {
namespace {

TEST(Search, TheLeastAreFoundWithoutNegating) {
  auto module = normalized(R"(
    func.func public @main(%x: tensor<3x40xf32>) -> (tensor<3x7xf32>, tensor<3x7xi32>) {
      %0 = stablehlo.negate %x : tensor<3x40xf32>
      %1, %2 = chlo.top_k(%0, k = 7) : tensor<3x40xf32> -> (tensor<3x7xf32>, tensor<3x7xi32>)
      %3 = stablehlo.negate %1 : tensor<3x7xf32>
      return %3, %2 : tensor<3x7xf32>, tensor<3x7xi32>
    })");
  EXPECT_EQ(count(*module, OpKind::negate), 0);
  EXPECT_EQ(count(*module, OpKind::chlo_top_k), 1);
}

// The arguments hold every value several times, so order among equals matters; zeros of both signs
// and NaN have their places in the total order.
TEST(Search, SpecialValuesKeepTheirOrder) {
  auto module = normalized(R"(
    func.func public @main(%x: tensor<40xf32>) -> (tensor<40xf32>, tensor<40xi32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<40xf32>
      %q = stablehlo.divide %zero, %x : tensor<40xf32>
      %0 = stablehlo.negate %q : tensor<40xf32>
      %1, %2 = chlo.top_k(%0, k = 40) : tensor<40xf32> -> (tensor<40xf32>, tensor<40xi32>)
      return %1, %2 : tensor<40xf32>, tensor<40xi32>
    })");
  EXPECT_EQ(module->entry()->body().terminator()->operand(0)->op()->kind, OpKind::negate);
}

TEST(Search, IntegersHaveALeastOneThatNegationKeeps) {
  auto module = normalized(R"(
    func.func public @main(%x: tensor<40xi32>) -> (tensor<7xi32>, tensor<7xi32>) {
      %0 = stablehlo.negate %x : tensor<40xi32>
      %1, %2 = chlo.top_k(%0, k = 7) : tensor<40xi32> -> (tensor<7xi32>, tensor<7xi32>)
      return %1, %2 : tensor<7xi32>, tensor<7xi32>
    })");
  EXPECT_EQ(count(*module, OpKind::negate), 1);
}

}  // namespace
}  // namespace ullage
