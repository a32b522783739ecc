// Updates of stacked weights that move into the loop which makes their gradients.
#include "normalize/normalized.h"

namespace ullage {
namespace {

// A scan makes a gradient of each of 5 layers; then momentum and weights are updated, by a rate
// that depends on an argument. The declarations of %w and %m, and one more result, are given.
std::string momentum(const std::string& w, const std::string& m, const std::string& more) {
  std::string text = R"(
    func.func public @main(%w: tensor<5x4xf32>W, %m: tensor<5x4xf32>M, %x: tensor<4xf32>, %t: tensor<f32>)
        -> (tensor<5x4xf32>, tensor<5x4xf32>, tensor<4xf32>, tensor<5x4xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %none = stablehlo.constant dense<0.0> : tensor<5x4xf32>
      %0:3 = stablehlo.while(%i = %zero, %d = %x, %gs = %none) : tensor<i32>, tensor<4xf32>, tensor<5x4xf32>
      cond {
        %n = stablehlo.constant dense<5> : tensor<i32>
        %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %n = stablehlo.constant dense<5> : tensor<i32>
        %k = stablehlo.subtract %n, %i : tensor<i32>
        %at = stablehlo.subtract %k, %one : tensor<i32>
        %s = stablehlo.dynamic_slice %w, %at, %zero, sizes = [1, 4] : (tensor<5x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
        %wi = stablehlo.reshape %s : (tensor<1x4xf32>) -> tensor<4xf32>
        %d2 = stablehlo.multiply %d, %wi : tensor<4xf32>
        %g = stablehlo.add %d2, %x : tensor<4xf32>
        %row = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
        %gs2 = stablehlo.dynamic_update_slice %gs, %row, %at, %zero : (tensor<5x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<5x4xf32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %d2, %gs2 : tensor<i32>, tensor<4xf32>, tensor<5x4xf32>
      }
      %beta = stablehlo.constant dense<0.875> : tensor<5x4xf32>
      %rate = stablehlo.negate %t : tensor<f32>
      %rates = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<5x4xf32>
      %bm = stablehlo.multiply %beta, %m : tensor<5x4xf32>
      %m2 = stablehlo.add %bm, %0#2 : tensor<5x4xf32>
      %step = stablehlo.multiply %rates, %m2 : tensor<5x4xf32>
      %w2 = stablehlo.subtract %w, %step : tensor<5x4xf32>
      return %w2, %m2, %0#1, MORE : tensor<5x4xf32>, tensor<5x4xf32>, tensor<4xf32>, tensor<5x4xf32>
    })";
  auto replace = [&](const std::string& what, const std::string& by) {
    text.replace(text.find(what), what.size(), by);
  };
  replace(">W,", ">" + w + ",");
  replace(">M,", ">" + m + ",");
  replace("MORE", more);
  return text;
}

constexpr const char* kFirst = " {tf.aliasing_output = 0 : i32}";
constexpr const char* kSecond = " {tf.aliasing_output = 1 : i32}";

int updates_outside(const Module& module) {
  int found = 0;
  for (Op* op : module.entry()->body())
    found += has_trait(op->kind, kElementwise) && op->result()->type.rank() == 2;
  return found;
}

TEST(StackUpdates, MoveIntoTheLoopAndTakeThePlaceOfWhatIsConsumed) {
  auto module = normalized(momentum(kFirst, kSecond, "%none"));
  EXPECT_EQ(updates_outside(*module), 0);
  Op* loop = nullptr;
  for (Op* op : module->entry()->body())
    if (op->kind == OpKind::while_) loop = op;
  ASSERT_NE(loop, nullptr);
  // Weights and momentum are carried, in the buffers of the arguments; the gradients are not.
  int stacks = 0;
  for (Value* operand : loop->operands())
    if (operand->type.rank() == 2) {
      ++stacks;
      EXPECT_EQ(operand->op(), nullptr) << "an argument";
    }
  EXPECT_EQ(stacks, 2);
}

TEST(StackUpdates, StayWhereMemoryWouldGrow) {
  // Not donated; and where the gradients are a result as well.
  EXPECT_GT(updates_outside(*normalized(momentum("", "", "%none"))), 0);
  EXPECT_GT(updates_outside(*normalized(momentum(kFirst, kSecond, "%0#2"))), 0);
}

}  // namespace
}  // namespace ullage
