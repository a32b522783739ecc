// What the planner finds for programs with loops and batched products, and that it is a plan.
#include "plan/planner.h"

#include <fmt/format.h>

#include "plan/small_programs.h"
#include "plan/validate.h"

namespace ullage {
namespace {

// A layer's weights are made of small integers in each trip, at a cost that is not paid twice: 1
// MiB of temporaries that need not be whole.
constexpr const char* kDequantisingLoop = R"(
func.func public @main(%w: tensor<4x512x512xi8>, %x: tensor<8x512xf32>) -> tensor<8x512xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<8x512xf32>
  cond {
    %n = stablehlo.constant dense<4> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %s = stablehlo.dynamic_slice %w, %i, %c0, %c0, sizes = [1, 512, 512] : (tensor<4x512x512xi8>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x512x512xi8>
    %q = stablehlo.reshape %s : (tensor<1x512x512xi8>) -> tensor<512x512xi8>
    %f = stablehlo.convert %q : (tensor<512x512xi8>) -> tensor<512x512xf32>
    %f1 = stablehlo.exponential %f : tensor<512x512xf32>
    %f2 = stablehlo.tanh %f1 : tensor<512x512xf32>
    %f3 = stablehlo.sine %f2 : tensor<512x512xf32>
    %f4 = stablehlo.log_plus_one %f3 : tensor<512x512xf32>
    %f5 = stablehlo.tanh %f4 : tensor<512x512xf32>
    %e = stablehlo.exponential %f5 : tensor<512x512xf32>
    %a = stablehlo.dot_general %y, %e, contracting_dims = [1] x [0] : (tensor<8x512xf32>, tensor<512x512xf32>) -> tensor<8x512xf32>
    %b = stablehlo.dot_general %a, %e, contracting_dims = [1] x [1] : (tensor<8x512xf32>, tensor<512x512xf32>) -> tensor<8x512xf32>
    %t = stablehlo.tanh %b : tensor<8x512xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %t : tensor<i32>, tensor<8x512xf32>
  }
  return %0#1 : tensor<8x512xf32>
})";

// Scores of 4 heads, softmax, and the sum of values.
constexpr const char* kAttention = R"(
func.func public @main(%q: tensor<4x512x64xf32>, %k: tensor<4x512x64xf32>, %v: tensor<4x512x64xf32>) -> tensor<4x512x64xf32> {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x512x64xf32>, tensor<4x512x64xf32>) -> tensor<4x512x512xf32>
  %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [2] : (tensor<4x512x512xf32>, tensor<f32>) -> tensor<4x512xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<4x512xf32>) -> tensor<4x512x512xf32>
  %d = stablehlo.subtract %s, %mb : tensor<4x512x512xf32>
  %e = stablehlo.exponential %d : tensor<4x512x512xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x512x512xf32>, tensor<f32>) -> tensor<4x512xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<4x512xf32>) -> tensor<4x512x512xf32>
  %p = stablehlo.divide %e, %tb : tensor<4x512x512xf32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x512x512xf32>, tensor<4x512x64xf32>) -> tensor<4x512x64xf32>
  return %o : tensor<4x512x64xf32>
})";

// A value of which one kernel reads the middle dimension, of few indices, slice by slice.
constexpr const char* kMiddleDimension = R"(
func.func public @main(%a: tensor<16x24x32xf32>, %b: tensor<16x32x128xf32>, %w: tensor<16x128xf32>) -> tensor<24xf32> {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %p = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<16x24x32xf32>, tensor<16x32x128xf32>) -> tensor<16x24x128xf32>
  %q = stablehlo.dot_general %p, %w, contracting_dims = [0] x [0] : (tensor<16x24x128xf32>, tensor<16x128xf32>) -> tensor<24x128x128xf32>
  %m = stablehlo.reduce(%q init: %lowest) applies stablehlo.maximum across dimensions = [1, 2] : (tensor<24x128x128xf32>, tensor<f32>) -> tensor<24xf32>
  return %m : tensor<24xf32>
})";

struct Planned {
  std::unique_ptr<SmallProgram> program;
  std::unique_ptr<Planner> planner;
  Plan free, tight;
};

Planned planned(const char* text) {
  Planned out;
  out.program = small_program(text);
  out.planner = std::make_unique<Planner>(out.program->graph, std::vector<ProgramVariant>{},
                                          out.program->target);
  out.free = *out.planner->plan({}).plan;
  PlanOptions options;
  options.budget_bytes = 0;
  options.budget_bytes = out.planner->plan(options).refusal.floor_bytes;
  out.tight = *out.planner->plan(options).plan;
  EXPECT_EQ(validate(out.free), std::vector<std::string>{});
  EXPECT_EQ(validate(out.tight, *options.budget_bytes), std::vector<std::string>{});
  return out;
}

int pieces(const PlanBlock& block) {
  int count = 0;
  for (const PlanStep& step : block.steps) {
    count += !step.axis.whole();
    for (const PlanBlock& nested : step.nested) count += pieces(nested);
  }
  return count;
}

// The weights are updated before they are read for the last time.
constexpr const char* kEarlyUpdate = R"(
func.func public @main(%w: tensor<512x512xf32> {tf.aliasing_output = 0 : i32}, %g: tensor<512x512xf32>, %x: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  %0 = stablehlo.subtract %w, %g : tensor<512x512xf32>
  %1 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %0, %1 : tensor<512x512xf32>, tensor<512x512xf32>
})";

TEST(Planner, ReadersComeBeforeTheUpdateInPlace) {
  Planned p = planned(kEarlyUpdate);
  EXPECT_EQ(p.free.temp_bytes, 0) << "scratch of the target is none";
  EXPECT_EQ(p.free.arena_bytes, 4 * (512 * 512 * 4)) << "three arguments and one result";
}

// Small arrays lie side by side, and large ones on lines of the cache.
TEST(Planner, SmallBuffersTakeTheirBytes) {
  Planned p = planned(R"(
func.func public @main(%a: tensor<10xf32>, %b: tensor<300xf32>, %c: tensor<f32>) -> (tensor<10xf32>, tensor<f32>, tensor<300xf32>) {
  %0 = stablehlo.negate %a : tensor<10xf32>
  %1 = stablehlo.negate %c : tensor<f32>
  %2 = stablehlo.negate %b : tensor<300xf32>
  return %0, %1, %2 : tensor<10xf32>, tensor<f32>, tensor<300xf32>
})");
  EXPECT_LT(p.free.temp_bytes, 64);
  for (const PlanBuffer& buffer : p.free.buffers) {
    EXPECT_EQ(buffer.offset % (buffer.bytes == 1200 ? 64 : 4), 0);
  }
}

// Singular values alone: neither the vectors nor what is left of the matrix have memory.
TEST(Planner, ResultsThatNobodyReadsHaveNoMemory) {
  auto program = [](const char* returned, const char* types) {
    return planned(fmt::format(R"(
func.func public @main(%a: tensor<64x64xf32>) -> ({1}) {{
  %r:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%a) {{mhlo.backend_config = {{mode = 78 : ui8}}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]}} : (tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<i32>)
  return {0} : {1}
}})",
                               returned, types)
                       .c_str());
  };
  Planned one = program("%r#1", "tensor<64xf32>");
  Planned two = program("%r#1, %r#2", "tensor<64xf32>, tensor<64x64xf32>");
  constexpr int64_t kMatrix = 64 * 64 * 4;
  EXPECT_LT(one.free.temp_bytes + kMatrix, two.free.temp_bytes + 128) << "the vectors in scratch";
  int64_t buffers = 0;
  for (const PlanBuffer& buffer : one.free.buffers) buffers += buffer.bytes == kMatrix;
  EXPECT_EQ(buffers, 1) << "the argument";
}

// Three products in a row from one state of a loop to the next.
constexpr const char* kLayersInLoop = R"(
func.func public @main(%w: tensor<512x512xf32>, %x: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<64x512xf32>
  cond {
    %n = stablehlo.constant dense<4> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %a = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
    %b = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
    %c = stablehlo.dot_general %b, %w, contracting_dims = [1] x [0] : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
    %d = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %d : tensor<i32>, tensor<64x512xf32>
  }
  return %0#1 : tensor<64x512xf32>
})";

// The state's own buffer, which is the result's, is free between its last reader and its next
// content: one buffer beside it is enough.
TEST(Planner, BuffersOfCarriedValuesHoldOthersMeanwhile) {
  Planned p = planned(kLayersInLoop);
  constexpr int64_t kState = 64 * 512 * 4;
  EXPECT_GE(p.free.temp_bytes, kState);
  EXPECT_LT(p.free.temp_bytes, kState + 1024) << "and the counter";
}

// The bytes of a float are read along the second dimension, whose stride in bytes is that of the
// first in floats.
constexpr const char* kBytesOfFloats = R"(
func.func public @main(%x: tensor<4x4x64x64xf32>) -> tensor<4x4x64x64x4xi8> {
  %0 = stablehlo.exponential %x : tensor<4x4x64x64xf32>
  %1 = stablehlo.bitcast_convert %0 : (tensor<4x4x64x64xf32>) -> tensor<4x4x64x64x4xi8>
  %2 = stablehlo.transpose %1, dims = [0, 1, 3, 2, 4] : (tensor<4x4x64x64x4xi8>) -> tensor<4x4x64x64x4xi8>
  return %2 : tensor<4x4x64x64x4xi8>
})";

TEST(Planner, ElementsOfAnotherSizeAreNotCutAlike) {
  Planned p = planned(kBytesOfFloats);
  EXPECT_GE(p.tight.temp_bytes, 4 * 4 * 64 * 64 * 4) << "the floats exist whole";
}

TEST(Planner, CutsInsideLoops) {
  Planned p = planned(kDequantisingLoop);
  EXPECT_GE(p.free.temp_bytes, 1 << 20) << "the weights are read twice, so they are stored";
  EXPECT_LT(p.tight.temp_bytes, 600 << 10) << "two blocks of the sum";
  EXPECT_GT(pieces(p.tight.main), 0);
  bool named = false;
  for (const PlanDecision& decision : p.tight.decisions) named |= decision.move == "body";
  EXPECT_TRUE(named);
}

TEST(Planner, AttentionNeverExistsWhole) {
  Planned p = planned(kAttention);
  EXPECT_GE(p.free.temp_bytes, 4 << 20);
  EXPECT_LT(p.tight.temp_bytes, 1 << 20);
  EXPECT_EQ(p.tight.recomputed_flops, 0);
}

// 16 MiB of logits: once without a budget, since the lookup is made before they are overwritten,
// and one block of 256 rows in the end.
TEST(Planner, CrossEntropyNeverExistsWhole) {
  Planned p = planned(kCrossEntropy);
  EXPECT_LT(p.free.temp_bytes, 17 << 20);
  EXPECT_LT(p.tight.temp_bytes, 5 << 20);
  EXPECT_EQ(p.tight.recomputed_flops, 0);
}

TEST(Planner, PiecesOfMiddleDimensionsMayBeSingleIndices) {
  Planned p = planned(kMiddleDimension);
  EXPECT_GE(p.free.temp_bytes, 3 << 19);
  EXPECT_LT(p.tight.temp_bytes, 600 << 10);
}

}  // namespace
}  // namespace ullage
