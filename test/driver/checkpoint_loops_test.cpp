// Loops that keep their state every few trips compute what they computed before, to the bit.
#include "driver/variants.h"
#include "normalize/normalized.h"

namespace ullage {
namespace {

// A scan of `trips` steps over a state of 3 numbers and its gradient. Forward, the state is stacked
// together with a second residual; the backward loop reads both at `at`, or from the last to the
// first, and stacks a result.
std::string scan_gradient(int trips, const std::string& at, const std::string& result) {
  std::string text = R"(
    func.func public @main(%x: tensor<3xf32>, %w: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<Nx3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.constant dense<N> : tensor<i32>
      %stack = stablehlo.constant dense<0.0> : tensor<Nx3xf32>
      %f:4 = stablehlo.while(%i = %zero, %s = %x, %a = %stack, %b = %stack) : tensor<i32>, tensor<3xf32>, tensor<Nx3xf32>, tensor<Nx3xf32>
      cond {
        %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %sw = stablehlo.multiply %s, %w : tensor<3xf32>
        %t = stablehlo.tanh %sw : tensor<3xf32>
        %s1 = stablehlo.reshape %s : (tensor<3xf32>) -> tensor<1x3xf32>
        %t1 = stablehlo.reshape %t : (tensor<3xf32>) -> tensor<1x3xf32>
        %a2 = stablehlo.dynamic_update_slice %a, %s1, %i, %zero : (tensor<Nx3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<Nx3xf32>
        %b2 = stablehlo.dynamic_update_slice %b, %t1, %i, %zero : (tensor<Nx3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<Nx3xf32>
        %i2 = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %i2, %t, %a2, %b2 : tensor<i32>, tensor<3xf32>, tensor<Nx3xf32>, tensor<Nx3xf32>
      }
      %g:4 = stablehlo.while(%j = %zero, %d = %f#1, %dw = %x, %out = %stack) : tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<Nx3xf32>
      cond {
        %p = stablehlo.compare LT, %j, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %m = stablehlo.subtract %n, %j : tensor<i32>
        %back = stablehlo.subtract %m, %one : tensor<i32>
        %s1 = stablehlo.dynamic_slice %f#2, AT, %zero, sizes = [1, 3] : (tensor<Nx3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
        %t1 = stablehlo.dynamic_slice %f#3, AT, %zero, sizes = [1, 3] : (tensor<Nx3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
        %s = stablehlo.reshape %s1 : (tensor<1x3xf32>) -> tensor<3xf32>
        %t = stablehlo.reshape %t1 : (tensor<1x3xf32>) -> tensor<3xf32>
        %tt = stablehlo.multiply %t, %t : tensor<3xf32>
        %dt = stablehlo.multiply %d, %tt : tensor<3xf32>
        %du = stablehlo.subtract %d, %dt : tensor<3xf32>
        %ds = stablehlo.multiply %du, %w : tensor<3xf32>
        %dsw = stablehlo.multiply %du, %s : tensor<3xf32>
        %dw2 = stablehlo.add %dw, %dsw : tensor<3xf32>
        %row = stablehlo.reshape %ds : (tensor<3xf32>) -> tensor<1x3xf32>
        %out2 = stablehlo.dynamic_update_slice %out, %row, AT, %zero : (tensor<Nx3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<Nx3xf32>
        %j2 = stablehlo.add %j, %one : tensor<i32>
        stablehlo.return %j2, %ds, %dw2, %out2 : tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<Nx3xf32>
      }
      return %g#1, %g#2, RESULT : tensor<3xf32>, tensor<3xf32>, tensor<Nx3xf32>
    })";
  auto replace = [&](const std::string& what, const std::string& by) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
      text.replace(at, what.size(), by);
  };
  replace("AT", at);
  replace("RESULT", result);
  replace("Nx3", std::to_string(trips) + "x3");
  replace("dense<N>", "dense<" + std::to_string(trips) + ">");
  return text;
}

// The checkpointed form, after comparing what it computes; null if there is none.
std::unique_ptr<Module> checkpointed(const std::string& text, int eighths = 8) {
  auto module = read(text);
  EXPECT_TRUE(normalize(*module).ok());
  auto variant = checkpoint_loops(*module, eighths);
  if (!variant) return nullptr;
  Status verified = verify(*variant);
  EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : to_string(verified.diagnostics()));
  auto want = interpret(*module, "main", arguments(*module));
  auto got = interpret(*variant, "main", arguments(*variant));
  EXPECT_TRUE(want.ok() && got.ok());
  if (!want.ok() || !got.ok()) return variant;
  for (size_t i = 0; i < want->size(); ++i)
    EXPECT_EQ(std::memcmp((*want)[i].data(), (*got)[i].data(),
                          static_cast<size_t>((*want)[i].size_bytes())),
              0)
        << "result " << i;
  return variant;
}

// Results of the program's own loops that have all 60 rows.
int whole_stacks(const Module& module) {
  int stacks = 0;
  for (Op* op : module.entry()->body())
    if (op->kind == OpKind::while_)
      for (Value* result : op->results())
        stacks += result->type.rank() == 2 && result->type.shape[0] == 60;
  return stacks;
}

TEST(CheckpointLoops, StateIsKeptEveryFewTrips) {
  auto variant = checkpointed(scan_gradient(60, "%back", "%g#3"));
  ASSERT_NE(variant, nullptr);
  // Forward and backward, each with a loop of chunks around, and one that runs a chunk again.
  EXPECT_EQ(count(*variant, OpKind::while_), 5);
  EXPECT_EQ(whole_stacks(*variant), 1) << "the result is left";
}

TEST(CheckpointLoops, ResidualsReadInTheOrderOfWriting) {
  EXPECT_NE(checkpointed(scan_gradient(60, "%j", "%g#3")), nullptr);
}

TEST(CheckpointLoops, SomeTripsKeepTheirStacks) {
  for (const char* at : {"%back", "%j"})
    for (int eighths : {2, 3, 5, 7}) {
      auto variant = checkpointed(scan_gradient(60, at, "%g#3"), eighths);
      ASSERT_NE(variant, nullptr);
      EXPECT_EQ(count(*variant, OpKind::while_), 7);
      EXPECT_EQ(whole_stacks(*variant), 2) << "the result, in both parts of the backward loop";
    }
}

// 61 trips have no divisors: a few are left over.
TEST(CheckpointLoops, ChunksNeedNotDivideTheTrips) {
  auto variant = checkpointed(scan_gradient(61, "%back", "%g#3"));
  ASSERT_NE(variant, nullptr);
  EXPECT_EQ(count(*variant, OpKind::while_), 7);
}

TEST(CheckpointLoops, StacksThatAreResultsStay) {
  auto variant = checkpointed(scan_gradient(60, "%back", "%f#2"));
  ASSERT_NE(variant, nullptr) << "the other stack is still worth it";
  EXPECT_EQ(whole_stacks(*variant), 4) << "one of each loop, over chunks and over stored trips";
}

TEST(CheckpointLoops, ShortLoopsStay) {
  EXPECT_EQ(checkpointed(scan_gradient(2, "%back", "%g#3")), nullptr);
}

}  // namespace
}  // namespace ullage
