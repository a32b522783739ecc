#include "normalize/normalize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "interp/interpret.h"
#include "ops/verify.h"
#include "syntax/reader.h"
#include "syntax/writer.h"

namespace ullage {
namespace {

std::unique_ptr<Module> normalized(const std::string& text) {
  Result<std::unique_ptr<Module>> module = read_text(text, "test.mlir");
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : to_string(module.diagnostics()));
  Status verified = verify(**module);
  EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : to_string(verified.diagnostics()));
  EXPECT_TRUE(normalize(**module).ok());
  Status again = verify(**module);
  EXPECT_TRUE(again.ok()) << (again.ok() ? "" : to_string(again.diagnostics()));
  return std::move(*module);
}

int count(const Module& module, OpKind kind) {
  int found = 0;
  for (const auto& function : module.functions)
    walk(function->body(), [&](Op* op) { found += op->kind == kind; });
  return found;
}

TEST(Normalize, InlinesCallsButNotPointwiseFunctions) {
  auto module = normalized(R"(
    func.func public @main(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
      %0 = call @relu(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      %1 = call @product(%0, %w) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
      return %1 : tensor<4x4xf32>
    }
    func.func private @relu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %c = stablehlo.constant dense<0.0> : tensor<f32>
      %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
      %r = stablehlo.maximum %x, %b : tensor<4x8xf32>
      return %r : tensor<4x8xf32>
    }
    func.func private @product(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
      %r = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
      return %r : tensor<4x4xf32>
    })");
  EXPECT_EQ(count(*module, OpKind::call), 1);
  EXPECT_NE(module->find("relu"), nullptr);
  EXPECT_EQ(module->find("product"), nullptr);
}

TEST(Normalize, TopKStaysOneOperation) {
  auto module = normalized(R"(
    func.func public @main(%x: tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
      %0:2 = stablehlo.composite "chlo.top_k" %x {composite_attributes = {k = 3 : i64, largest = true}, decomposition = @parts} : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
      return %0#0, %0#1 : tensor<4x3xf32>, tensor<4x3xi32>
    }
    func.func private @parts(%x: tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
      %0 = stablehlo.iota dim = 1 : tensor<4x8xi32>
      %1:2 = "stablehlo.sort"(%x, %0) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
        %2 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
      %3 = stablehlo.slice %1#0 [0:4, 0:3] : (tensor<4x8xf32>) -> tensor<4x3xf32>
      %4 = stablehlo.slice %1#1 [0:4, 0:3] : (tensor<4x8xi32>) -> tensor<4x3xi32>
      return %3, %4 : tensor<4x3xf32>, tensor<4x3xi32>
    })");
  EXPECT_EQ(count(*module, OpKind::chlo_top_k), 1);
  EXPECT_EQ(count(*module, OpKind::sort), 0);
}

TEST(Normalize, UnrollsTinyPointwiseLoops) {
  auto module = normalized(R"(
    func.func public @main(%x: tensor<64xui32>) -> tensor<64xui32> {
      %0 = call @rounds(%x) : (tensor<64xui32>) -> tensor<64xui32>
      return %0 : tensor<64xui32>
    }
    func.func private @rounds(%x: tensor<64xui32>) -> tensor<64xui32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<64xui32>
      cond {
        %n = stablehlo.constant dense<5> : tensor<i32>
        %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %one : tensor<i32>
        %u = stablehlo.convert %j : (tensor<i32>) -> tensor<ui32>
        %b = stablehlo.broadcast_in_dim %u, dims = [] : (tensor<ui32>) -> tensor<64xui32>
        %w = stablehlo.xor %v, %b : tensor<64xui32>
        stablehlo.return %j, %w : tensor<i32>, tensor<64xui32>
      }
      return %0#1 : tensor<64xui32>
    })");
  EXPECT_EQ(count(*module, OpKind::while_), 0);
  EXPECT_EQ(count(*module, OpKind::xor_), 5);
  EXPECT_EQ(count(*module, OpKind::call), 1);  // one pointwise node
}

TEST(Normalize, CountsLoopsAndCapturesInvariants) {
  auto module = normalized(R"(
    func.func public @main(%w: tensor<8x8xf32>, %x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
      %start = stablehlo.constant dense<10> : tensor<i32>
      %0:3 = stablehlo.while(%i = %start, %a = %w, %v = %x) : tensor<i32>, tensor<8x8xf32>, tensor<8x8xf32>
      cond {
        %n = stablehlo.constant dense<3> : tensor<i32>
        %p = stablehlo.compare GE, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %two = stablehlo.constant dense<2> : tensor<i32>
        %j = stablehlo.subtract %i, %two : tensor<i32>
        %y = stablehlo.dot_general %v, %a, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
        stablehlo.return %j, %a, %y : tensor<i32>, tensor<8x8xf32>, tensor<8x8xf32>
      }
      return %0#1, %0#2 : tensor<8x8xf32>, tensor<8x8xf32>
    })");
  Op* loop = nullptr;
  walk(module->entry()->body(), [&](Op* op) {
    if (op->kind == OpKind::while_) loop = op;
  });
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->num_operands(), 2u);  // counter and %v
  std::optional<CountedLoop> counted = counted_loop(*loop);
  ASSERT_TRUE(counted.has_value());
  EXPECT_EQ(counted->start, 10);
  EXPECT_EQ(counted->step, -2);
  EXPECT_EQ(counted->trip_count, 4);  // 10, 8, 6, 4
  // The invariant result is the argument itself.
  EXPECT_EQ(module->entry()->body().terminator()->operand(0), module->entry()->body().argument(0));
}

TEST(Normalize, ProductsKeepTheirPrecisionUpToTheFirstSharedValue) {
  auto module = normalized(R"(
    func.func public @main(%x: tensor<8x16xbf16>, %w: tensor<16x16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<8x16xf32>) {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
      %1 = stablehlo.tanh %0 : tensor<8x16xbf16>
      %2 = stablehlo.negate %1 : tensor<8x16xbf16>
      %3 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
      %4 = stablehlo.convert %3 : (tensor<8x16xbf16>) -> tensor<8x16xf32>
      return %1, %2, %4 : tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<8x16xf32>
    })");
  for (Op* op : module->entry()->body()) {
    if (op->kind == OpKind::dot_general || op->kind == OpKind::tanh) {
      EXPECT_EQ(op->result()->type.dtype, DType::f32);
    }
    // The hyperbolic tangent has two readers, so what they read is rounded.
    if (op->kind == OpKind::negate) {
      EXPECT_EQ(op->result()->type.dtype, DType::bf16);
    }
  }
  // No rounding between the second product and its widening.
  EXPECT_EQ(module->entry()->body().terminator()->operand(2)->op()->kind, OpKind::dot_general);
}

TEST(Normalize, FoldingKeepsSplatsSmall) {
  auto module = normalized(R"(
    func.func public @main() -> tensor<4096x4096xf32> {
      %c = stablehlo.constant dense<2.0> : tensor<f32>
      %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4096x4096xf32>
      %s = stablehlo.multiply %b, %b : tensor<4096x4096xf32>
      return %s : tensor<4096x4096xf32>
    })");
  Op* constant = module->entry()->body().terminator()->operand(0)->op();
  ASSERT_EQ(constant->kind, OpKind::constant);
  const Literal& literal = constant->as<ConstantAttributes>().value;
  EXPECT_TRUE(literal.splat);
  float value = 0;
  std::memcpy(&value, literal.element(0), sizeof(value));
  EXPECT_EQ(value, 4.0f);
}

TEST(Normalize, FoldsReductionsThatOneElementSettles) {
  auto module = normalized(R"(
    func.func public @main() -> (tensor<8xf32>, tensor<8xf32>, tensor<f32>) {
      %zeros = stablehlo.constant dense<0.0> : tensor<8x100xf32>
      %tenths = stablehlo.constant dense<0.1> : tensor<8x100xf32>
      %three = stablehlo.constant dense<3.0> : tensor<f32>
      %0 = stablehlo.reduce(%zeros init: %three) applies stablehlo.add across dimensions = [1] : (tensor<8x100xf32>, tensor<f32>) -> tensor<8xf32>
      %1 = stablehlo.reduce(%tenths init: %three) applies stablehlo.add across dimensions = [1] : (tensor<8x100xf32>, tensor<f32>) -> tensor<8xf32>
      %2 = stablehlo.reduce(%tenths init: %three) applies stablehlo.minimum across dimensions = [0, 1] : (tensor<8x100xf32>, tensor<f32>) -> tensor<f32>
      return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<f32>
    })");
  EXPECT_EQ(count(*module, OpKind::reduce), 1);
  auto results = interpret(*module, "main", {});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ((*results)[0].as<float>()[7], 3.0f);
  EXPECT_EQ((*results)[2].as<float>()[0], 0.1f);
}

TEST(Normalize, ContractsProductsThatOneSumReads) {
  auto module = normalized(R"(
    func.func public @main(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>, %h: tensor<8xbf16>)
        -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>) {
      %0 = stablehlo.multiply %x, %y : tensor<8xf32>
      %1 = stablehlo.add %z, %0 : tensor<8xf32>
      %2 = stablehlo.multiply %x, %z : tensor<8xf32>
      %3 = stablehlo.subtract %2, %y : tensor<8xf32>
      %4 = stablehlo.multiply %y, %z : tensor<8xf32>
      %5 = stablehlo.subtract %x, %4 : tensor<8xf32>
      %6 = stablehlo.multiply %x, %x : tensor<8xf32>
      %7 = stablehlo.add %6, %6 : tensor<8xf32>
      %8 = stablehlo.multiply %h, %h : tensor<8xbf16>
      %9 = stablehlo.add %8, %h : tensor<8xbf16>
      return %1, %3, %5, %7, %9 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>
    })");
  EXPECT_EQ(count(*module, OpKind::fused_multiply_add), 3);
  EXPECT_EQ(count(*module, OpKind::multiply), 2);
  EXPECT_EQ(count(*module, OpKind::add), 2);

  // Values whose products need more bits than an f32 has.
  std::vector<float> x, y, z;
  for (int i = 0; i < 8; ++i) {
    x.push_back(1.0f + static_cast<float>(i + 1) * 0x1p-20f);
    y.push_back(1.0f - static_cast<float>(i + 1) * 0x1p-20f);
    z.push_back(-1.0f + static_cast<float>(i) * 0x1p-22f);
  }
  auto f32 = [](const std::vector<float>& values) { return Tensor::of(DType::f32, {8}, values); };
  Tensor h = Tensor::of(DType::bf16, {8}, std::vector<uint16_t>(8));
  auto results = interpret(*module, "main", {f32(x), f32(y), f32(z), h});
  ASSERT_TRUE(results.ok());
  for (size_t i = 0; i < 8; ++i) {
    auto value = [&](size_t result) { return (*results)[result].as<float>()[i]; };
    EXPECT_EQ(value(0), std::fma(x[i], y[i], z[i]));
    EXPECT_EQ(value(1), std::fma(x[i], z[i], -y[i]));
    EXPECT_EQ(value(2), std::fma(-y[i], z[i], x[i]));
  }

  // The operation is written, and read again.
  std::string text = write_text(*module);
  EXPECT_NE(text.find("ullage.fused_multiply_add"), std::string::npos);
  Result<std::unique_ptr<Module>> again = read_text(text, "again.mlir");
  ASSERT_TRUE(again.ok()) << to_string(again.diagnostics());
  EXPECT_EQ(count(**again, OpKind::fused_multiply_add), 3);
}

// b * m + (1 - b) * g: the small term must not be lost in the rounded large one.
TEST(Normalize, ContractsTheHeavierOfTwoProducts) {
  auto module = normalized(R"(
    func.func public @main(%m: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
      %light = stablehlo.constant dense<9.99999977E-4> : tensor<f32>
      %heavy = stablehlo.constant dense<-9.990000e-01> : tensor<f32>
      %0 = stablehlo.broadcast_in_dim %light, dims = [] : (tensor<f32>) -> tensor<4xf32>
      %1 = stablehlo.broadcast_in_dim %heavy, dims = [] : (tensor<f32>) -> tensor<4xf32>
      %2 = stablehlo.multiply %0, %g : tensor<4xf32>
      %3 = stablehlo.multiply %1, %m : tensor<4xf32>
      %4 = stablehlo.add %2, %3 : tensor<4xf32>
      return %4 : tensor<4xf32>
    })");
  int found = 0;
  walk(module->entry()->body(), [&](Op* op) {
    if (op->kind != OpKind::fused_multiply_add) return;
    ++found;
    EXPECT_EQ(op->operand(1), module->entry()->body().argument(0));
    EXPECT_EQ(op->operand(2)->op()->operand(1), module->entry()->body().argument(1));
  });
  EXPECT_EQ(found, 1);
}
TEST(AccumulatorPrecision, NeighboursAreThoseOfTheNarrowFormat) {
  auto module = normalized(R"(
    func.func public @main(%x: tensor<4x8xf16>, %w: tensor<8x3xf16>, %to: tensor<4x3xf16>) -> (tensor<4x3xf16>, tensor<4x3xf16>) {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf16>, tensor<8x3xf16>) -> tensor<4x3xf16>
      %1 = chlo.next_after %0, %to : tensor<4x3xf16>, tensor<4x3xf16> -> tensor<4x3xf16>
      %2 = stablehlo.dot_general %w, %x, contracting_dims = [0] x [1] : (tensor<8x3xf16>, tensor<4x8xf16>) -> tensor<3x4xf16>
      %3 = stablehlo.tanh %2 : tensor<3x4xf16>
      %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<3x4xf16>) -> tensor<4x3xf16>
      return %1, %4 : tensor<4x3xf16>, tensor<4x3xf16>
    })");
  for (Op* op : module->entry()->body()) {
    if (op->kind == OpKind::chlo_next_after) {
      EXPECT_EQ(op->result()->type.dtype, DType::f16);
    }
    if (op->kind == OpKind::tanh) {
      EXPECT_EQ(op->result()->type.dtype, DType::f32);
    }
  }
  EXPECT_EQ(count(*module, OpKind::chlo_next_after), 1);
}

}  // namespace
}  // namespace ullage
