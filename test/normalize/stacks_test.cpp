// Stacks updated in place, and short reductions: what becomes of the program, and that it computes
// the same, by the interpreter.
#include "normalize/normalized.h"

namespace ullage {
namespace {

Op* the_loop(const Module& module) {
  Op* found = nullptr;
  walk(module.entry()->body(), [&](Op* op) {
    if (op->kind == OpKind::while_) found = op;
  });
  return found;
}

// A cache of 3 layers that a scan reads, updates at one position and stacks again. `%s` is how the
// cache argument is declared.
std::string cache_scan(const std::string& donation, const std::string& returned) {
  return R"(
    func.func public @main(%cache: tensor<3x5x4xf32>)" +
         donation +
         R"(, %x: tensor<1x4xf32>, %at: tensor<i32>) -> (tensor<3x5x4xf32>, tensor<4xf32>)" +
         (returned.empty() ? "" : ", tensor<3x5x4xf32>") + R"() {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %none = stablehlo.constant dense<0.0> : tensor<f32>
      %empty = stablehlo.broadcast_in_dim %none, dims = [] : (tensor<f32>) -> tensor<3x5x4xf32>
      %start = stablehlo.broadcast_in_dim %none, dims = [] : (tensor<f32>) -> tensor<4xf32>
      %0:3 = stablehlo.while(%i = %zero, %sum = %start, %new = %empty) : tensor<i32>, tensor<4xf32>, tensor<3x5x4xf32>
      cond {
        %n = stablehlo.constant dense<3> : tensor<i32>
        %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %c0 = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %s = stablehlo.dynamic_slice %cache, %i, %c0, %c0, sizes = [1, 5, 4] : (tensor<3x5x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x5x4xf32>
        %layer = stablehlo.reshape %s : (tensor<1x5x4xf32>) -> tensor<5x4xf32>
        %u = stablehlo.dynamic_update_slice %layer, %x, %at, %c0 : (tensor<5x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<5x4xf32>
        %none2 = stablehlo.constant dense<0.0> : tensor<f32>
        %r = stablehlo.reduce(%u init: %none2) applies stablehlo.add across dimensions = [0] : (tensor<5x4xf32>, tensor<f32>) -> tensor<4xf32>
        %more = stablehlo.add %sum, %r : tensor<4xf32>
        %b = stablehlo.broadcast_in_dim %u, dims = [1, 2] : (tensor<5x4xf32>) -> tensor<1x5x4xf32>
        %stacked = stablehlo.dynamic_update_slice %new, %b, %i, %c0, %c0 : (tensor<3x5x4xf32>, tensor<1x5x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x5x4xf32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %more, %stacked : tensor<i32>, tensor<4xf32>, tensor<3x5x4xf32>
      }
      return %0#2, %0#1)" +
         returned + R"( : tensor<3x5x4xf32>, tensor<4xf32>)" +
         (returned.empty() ? "" : ", tensor<3x5x4xf32>") + "\n}";
}

TEST(Stacks, ConsumedStackBecomesTheResult) {
  auto module = normalized(cache_scan(" {tf.aliasing_output = 0 : i32}", ""));
  Op* loop = the_loop(*module);
  ASSERT_NE(loop, nullptr);
  bool begins_in_cache = false;
  for (Value* operand : loop->operands())
    begins_in_cache |= operand == module->entry()->body().argument(0);
  EXPECT_TRUE(begins_in_cache);
  EXPECT_EQ(count(*module, OpKind::dynamic_update_slice), 1) << "updated where it lies";
}

TEST(Stacks, KeepsWhatIsNotItsOwn) {
  // Not donated, or read again after the loop: the cache must stay as it is.
  for (auto [donation, returned] :
       {std::pair("", ""), std::pair(" {tf.aliasing_output = 0 : i32}", ", %cache")}) {
    auto module = normalized(cache_scan(donation, returned));
    for (Value* operand : the_loop(*module)->operands())
      EXPECT_NE(operand, module->entry()->body().argument(0));
  }
}

TEST(Stacks, SliceOfAnotherIndexIsNotConsumed) {
  std::string text = cache_scan(" {tf.aliasing_output = 0 : i32}", "");
  size_t at = text.find("%cache, %i, %c0");
  text.replace(at, 15, "%cache, %at, %c0");
  auto module = normalized(text);
  for (Value* operand : the_loop(*module)->operands())
    EXPECT_NE(operand, module->entry()->body().argument(0));
}

std::string restacking(const std::string& first, const std::string& second) {
  return R"(
    func.func public @main(%x: tensor<2x4x3xf32>, %u: tensor<1x3xf32>, %at: tensor<i32>) -> (tensor<2x4x3xf32>, tensor<4x3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %a = stablehlo.slice %x [0:1, 0:4, 0:3] : (tensor<2x4x3xf32>) -> tensor<1x4x3xf32>
      %b = stablehlo.slice %x [1:2, 0:4, 0:3] : (tensor<2x4x3xf32>) -> tensor<1x4x3xf32>
      %c = stablehlo.reshape %a : (tensor<1x4x3xf32>) -> tensor<4x3xf32>
      %d = stablehlo.reshape %b : (tensor<1x4x3xf32>) -> tensor<4x3xf32>
      %e = stablehlo.dynamic_update_slice %c, %u, %at, %zero : (tensor<4x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
      %n = stablehlo.negate %u : tensor<1x3xf32>
      %f = stablehlo.dynamic_update_slice %d, %n, %at, %zero : (tensor<4x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
      %g = stablehlo.broadcast_in_dim )" +
         first + R"(, dims = [1, 2] : (tensor<4x3xf32>) -> tensor<1x4x3xf32>
      %h = stablehlo.broadcast_in_dim )" +
         second + R"(, dims = [1, 2] : (tensor<4x3xf32>) -> tensor<1x4x3xf32>
      %r = stablehlo.concatenate %g, %h, dim = 0 : (tensor<1x4x3xf32>, tensor<1x4x3xf32>) -> tensor<2x4x3xf32>
      %s = stablehlo.add %e, %f : tensor<4x3xf32>
      return %r, %s : tensor<2x4x3xf32>, tensor<4x3xf32>
    })";
}

TEST(Stacks, RestackingUpdatesTheStack) {
  EXPECT_EQ(count(*normalized(restacking("%e", "%f")), OpKind::concatenate), 0);
  EXPECT_EQ(count(*normalized(restacking("%f", "%e")), OpKind::concatenate), 1) << "slices swapped";
}

// A loop that stacks what it makes of `made`, for a loop that runs backwards through it.
std::string residuals(const std::string& made) {
  return R"(
    func.func public @main(%w: tensor<4xf32>, %x: tensor<9x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %none = stablehlo.constant dense<0.0> : tensor<f32>
      %empty = stablehlo.broadcast_in_dim %none, dims = [] : (tensor<f32>) -> tensor<9x4xf32>
      %start = stablehlo.broadcast_in_dim %none, dims = [] : (tensor<f32>) -> tensor<4xf32>
      %0:4 = stablehlo.while(%i = %zero, %h = %start, %hs = %empty, %gs = %empty) : tensor<i32>, tensor<4xf32>, tensor<9x4xf32>, tensor<9x4xf32>
      cond {
        %n = stablehlo.constant dense<9> : tensor<i32>
        %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %c0 = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %s = stablehlo.dynamic_slice %x, %i, %c0, sizes = [1, 4] : (tensor<9x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
        %xi = stablehlo.reshape %s : (tensor<1x4xf32>) -> tensor<4xf32>
        %a = stablehlo.add %h, %xi : tensor<4xf32>
        %b = stablehlo.multiply %a, %a : tensor<4xf32>
        %c = stablehlo.add %xi, %w : tensor<4xf32>
        %ab = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
        %hs2 = stablehlo.dynamic_update_slice %hs, %ab, %i, %c0 : (tensor<9x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<9x4xf32>
        %gb = stablehlo.broadcast_in_dim )" +
         made + R"(, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
        %gs2 = stablehlo.dynamic_update_slice %gs, %gb, %i, %c0 : (tensor<9x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<9x4xf32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %a, %hs2, %gs2 : tensor<i32>, tensor<4xf32>, tensor<9x4xf32>, tensor<9x4xf32>
      }
      %1:3 = stablehlo.while(%k = %zero, %u = %start, %v = %start) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
      cond {
        %n = stablehlo.constant dense<9> : tensor<i32>
        %p = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %c0 = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %three = stablehlo.constant dense<9> : tensor<i32>
        %m = stablehlo.subtract %three, %k : tensor<i32>
        %at = stablehlo.subtract %m, %one : tensor<i32>
        %hi = stablehlo.dynamic_slice %0#2, %at, %c0, sizes = [1, 4] : (tensor<9x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
        %gi = stablehlo.dynamic_slice %0#3, %at, %c0, sizes = [1, 4] : (tensor<9x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
        %hr = stablehlo.reshape %hi : (tensor<1x4xf32>) -> tensor<4xf32>
        %gr = stablehlo.reshape %gi : (tensor<1x4xf32>) -> tensor<4xf32>
        %u1 = stablehlo.add %u, %hr : tensor<4xf32>
        %v1 = stablehlo.subtract %gr, %v : tensor<4xf32>
        %l = stablehlo.add %k, %one : tensor<i32>
        stablehlo.return %l, %u1, %v1 : tensor<i32>, tensor<4xf32>, tensor<4xf32>
      }
      return %1#1, %1#2 : tensor<4xf32>, tensor<4xf32>
    })";
}

TEST(Stacks, WhatOthersTellIsNotStacked) {
  // Made of another stack, and of an argument and what is there anyway.
  EXPECT_EQ(count(*normalized(residuals("%b")), OpKind::dynamic_update_slice), 1);
  EXPECT_EQ(count(*normalized(residuals("%c")), OpKind::dynamic_update_slice), 1);
}

TEST(Stacks, WhatTheLoopCarriesIsStacked) {
  // Then the next value, which is made of it and of an argument, need not be.
  auto module = normalized(residuals("%h"));
  EXPECT_EQ(count(*module, OpKind::dynamic_update_slice), 1);
  const Op* write = nullptr;
  walk(module->entry()->body(), [&](Op* op) {
    if (op->kind == OpKind::dynamic_update_slice) write = op;
  });
  ASSERT_NE(write, nullptr);
  EXPECT_EQ(write->operand(1)->op()->operand(0)->op(), nullptr) << "the carried value itself";
}

TEST(ShortReductions, BecomeElementwise) {
  auto program = [](const std::string& how, int rows) {
    std::string r = std::to_string(rows);
    return R"(
    func.func public @main(%x: tensor<6x)" +
           r + R"(x2xf32>) -> tensor<6xf32> {
      %i = stablehlo.constant dense<2.0> : tensor<f32>
      %r = stablehlo.reduce(%x init: %i) applies stablehlo.)" +
           how + " across dimensions = [1, 2] : (tensor<6x" + r +
           R"(x2xf32>, tensor<f32>) -> tensor<6xf32>
      return %r : tensor<6xf32>
    })";
  };
  for (const char* how : {"add", "multiply", "maximum", "minimum"})
    EXPECT_EQ(count(*normalized(program(how, 3)), OpKind::reduce), 0) << how;
  EXPECT_EQ(count(*normalized(program("add", 9)), OpKind::reduce), 1) << "18 elements stay";
}

}  // namespace
}  // namespace ullage
