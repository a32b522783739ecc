// Sums over few elements, and products that have nothing to sum.
#include "normalize/normalized.h"

namespace ullage {
namespace {

TEST(ShortReductions, OuterProductsAreMultiplications) {
  auto module = normalized(R"(
    func.func public @main(%a: tensor<4x3x1xf32>, %b: tensor<5x1x3xf32>) -> tensor<3x4x5xf32> {
      %0 = stablehlo.dot_general %a, %b, batching_dims = [1] x [2], contracting_dims = [2] x [1] : (tensor<4x3x1xf32>, tensor<5x1x3xf32>) -> tensor<3x4x5xf32>
      return %0 : tensor<3x4x5xf32>
    })");
  EXPECT_EQ(count(*module, OpKind::dot_general), 0);
}

TEST(ShortReductions, OfNarrowFloatsInTheirAccumulator) {
  auto module = normalized(R"(
    func.func public @main(%a: tensor<4xf32>, %b: tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4x6xbf16>) {
      %x = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xbf16>
      %y = stablehlo.convert %b : (tensor<6xf32>) -> tensor<6xbf16>
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [] x [] : (tensor<4xbf16>, tensor<6xbf16>) -> tensor<4x6xf32>
      %1 = stablehlo.dot_general %x, %y, contracting_dims = [] x [] : (tensor<4xbf16>, tensor<6xbf16>) -> tensor<4x6xbf16>
      return %0, %1 : tensor<4x6xf32>, tensor<4x6xbf16>
    })");
  EXPECT_EQ(count(*module, OpKind::dot_general), 0);
}

TEST(ShortReductions, OtherProductsStay) {
  auto module = normalized(R"(
    func.func public @main(%a: tensor<4x2xf32>, %b: tensor<2x6xf32>) -> tensor<4x6xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
      return %0 : tensor<4x6xf32>
    })");
  EXPECT_EQ(count(*module, OpKind::dot_general), 1);
}

// The sum is rounded once, in the end.
TEST(ShortReductions, DoublesAreRoundedOnce) {
  auto module = normalized(R"(
    func.func public @main(%a: tensor<4x9xf64>, %b: tensor<9x6xf64>) -> tensor<4x6xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x9xf64>, tensor<9x6xf64>) -> tensor<4x6xf32>
      return %0 : tensor<4x6xf32>
    })");
  EXPECT_EQ(count(*module, OpKind::dot_general), 1);
  EXPECT_EQ(count(*module, OpKind::convert), 1);
}

TEST(ShortReductions, NotIntoANarrowerType) {
  auto module = normalized(R"(
    func.func public @main(%a: tensor<4xf32>, %b: tensor<6xf32>) -> tensor<4x6xbf16> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<4xf32>, tensor<6xf32>) -> tensor<4x6xbf16>
      return %0 : tensor<4x6xbf16>
    })");
  EXPECT_EQ(count(*module, OpKind::dot_general), 1);
}

}  // namespace
}  // namespace ullage
