// Gradients of rectifiers under dropout. The test arguments are negative, zero and positive.
#include "normalize/normalized.h"

namespace ullage {
namespace {

// `forward` makes %v of %r and %keep, `backward` makes %s of %d and %keep.
std::string layer(const std::string& forward, const std::string& backward,
                  const std::string& keep = "0.75") {
  return R"(
    func.func private @relu(%x: tensor<8x3xf32>) -> tensor<8x3xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8x3xf32>
      %r = stablehlo.maximum %x, %zeros : tensor<8x3xf32>
      return %r : tensor<8x3xf32>
    }
    func.func public @main(%h: tensor<8x3xf32>, %n: tensor<8x3xi32>, %g: tensor<8x3xf32>) -> (tensor<8x3xf32>, tensor<8x3xf32>) {
      %two = stablehlo.constant dense<2> : tensor<8x3xi32>
      %zeros = stablehlo.constant dense<0.0> : tensor<8x3xf32>
      %keep = stablehlo.constant dense<)" +
         keep + R"(> : tensor<8x3xf32>
      %mask = stablehlo.compare LT, %n, %two : (tensor<8x3xi32>, tensor<8x3xi32>) -> tensor<8x3xi1>
      %r = func.call @relu(%h) : (tensor<8x3xf32>) -> tensor<8x3xf32>
      %positive = stablehlo.compare GT, %h, %zeros : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xi1>
      )" +
         forward + R"(
      %v = stablehlo.select %mask, %q, %zeros : tensor<8x3xi1>, tensor<8x3xf32>
      %d = stablehlo.select %mask, %g, %zeros : tensor<8x3xi1>, tensor<8x3xf32>
      )" +
         backward + R"(
      %1 = stablehlo.select %positive, %s, %zeros : tensor<8x3xi1>, tensor<8x3xf32>
      return %v, %1 : tensor<8x3xf32>, tensor<8x3xf32>
    })";
}

TEST(Masks, TheGradientChoosesByTheResult) {
  for (const char* scale : {"stablehlo.divide %X, %keep", "stablehlo.multiply %X, %keep"}) {
    auto scaled = [&](std::string result, const std::string& of) {
      std::string text = scale;
      return result + " = " + text.replace(text.find("%X"), 2, of) + " : tensor<8x3xf32>";
    };
    bool divides = std::string(scale).find("divide") != std::string::npos;
    auto module =
        normalized(layer(scaled("%q", "%r"), scaled("%s", "%d"), divides ? "0.75" : "1.5"));
    EXPECT_EQ(count(*module, OpKind::select), 2) << scale;
    EXPECT_EQ(count(*module, OpKind::compare), 2) << scale;  // mask and result
  }
}

TEST(Masks, NotWhereScalingMayLosePositiveNumbers) {
  for (const char* keep : {"1.5", "-0.5", "0.0", "0x7F800000"}) {
    auto module = normalized(layer("%q = stablehlo.divide %r, %keep : tensor<8x3xf32>",
                                   "%s = stablehlo.divide %d, %keep : tensor<8x3xf32>", keep));
    EXPECT_EQ(count(*module, OpKind::select), 3) << keep;
  }
}

TEST(Masks, NotWhereTheGradientIsShifted) {
  auto module = normalized(layer("%q = stablehlo.divide %r, %keep : tensor<8x3xf32>",
                                 "%s = stablehlo.add %d, %keep : tensor<8x3xf32>"));
  EXPECT_EQ(count(*module, OpKind::select), 3);
}

TEST(Masks, NotWhereTheResultIsNotRectified) {
  auto module = normalized(layer("%q = stablehlo.divide %h, %keep : tensor<8x3xf32>",
                                 "%s = stablehlo.divide %d, %keep : tensor<8x3xf32>"));
  EXPECT_EQ(count(*module, OpKind::select), 3);
}

// A rectified value that products read `forwards` and in the gradient; the gradient passes where %h
// is positive.
std::string rectified_product(const std::string& more = "%more = stablehlo.negate %r") {
  return R"(
    func.func public @main(%a: tensor<8x3xf32>, %w: tensor<3x3xf32>, %g: tensor<8x3xf32>) -> (tensor<8x3xf32>, tensor<3x3xf32>, tensor<8x3xf32>, tensor<8x3xf32>) {
      %zeros = stablehlo.constant dense<0.0> : tensor<8x3xf32>
      %h = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3x3xf32>) -> tensor<8x3xf32>
      %r = stablehlo.maximum %h, %zeros : tensor<8x3xf32>
      %p = stablehlo.dot_general %r, %w, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3x3xf32>) -> tensor<8x3xf32>
      %dw = stablehlo.dot_general %r, %g, contracting_dims = [0] x [0] : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<3x3xf32>
      %positive = stablehlo.compare GT, %h, %zeros : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xi1>
      %dh = stablehlo.select %positive, %g, %zeros : tensor<8x3xi1>, tensor<8x3xf32>
      )" +
         more + R"( : tensor<8x3xf32>
      return %p, %dw, %dh, %more : tensor<8x3xf32>, tensor<3x3xf32>, tensor<8x3xf32>, tensor<8x3xf32>
    })";
}

bool tests_the_maximum(const Module& module) {
  bool out = false;
  walk(module.entry()->body(), [&](Op* op) {
    if (op->kind == OpKind::compare)
      out = op->operand(0)->op() && op->operand(0)->op()->kind == OpKind::maximum;
  });
  return out;
}

TEST(Masks, AProductsRectifiedOperandTellsItsSign) {
  EXPECT_TRUE(tests_the_maximum(*normalized(rectified_product())));
}

TEST(Masks, NotWhereWhatWasRectifiedIsNeededAnyway) {
  EXPECT_FALSE(tests_the_maximum(*normalized(rectified_product("%more = stablehlo.tanh %h"))));
}

}  // namespace
}  // namespace ullage
