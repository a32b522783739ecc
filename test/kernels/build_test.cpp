#include "kernels/build.h"

#include "plan/small_programs.h"

namespace ullage {
namespace {

template <typename Body>
std::vector<const Kernel*> kernels_of(const KernelGraph& graph) {
  std::vector<const Kernel*> out;
  for (const Kernel& kernel : graph.kernels)
    if (kernel.get<Body>()) out.push_back(&kernel);
  return out;
}

TEST(BuildKernels, StoresOneActivationPerLayer) {
  auto program = small_program(kTrainingStep);
  // h is stored once: the maximum and the comparison are computed where they are read.
  int large = 0;
  for (const KernelValue& value : program->graph.values)
    if (value.kind == KernelValue::Kind::result && value.bytes == 1024 * 2048 * 4) ++large;
  EXPECT_EQ(large, 2) << to_string(program->graph);  // h and its cotangent
  EXPECT_EQ(kernels_of<DotKernel>(program->graph).size(), 5u);
  // The cotangent is the product's epilogue and may take the activation's buffer.
  bool in_place = false;
  for (const Kernel* dot : kernels_of<DotKernel>(program->graph))
    in_place |= !dot->in_place.empty();
  EXPECT_TRUE(in_place);
}

TEST(BuildKernels, UpdatesArePlacedInTheirArguments) {
  auto program = small_program(kTrainingStep);
  auto loops = kernels_of<LoopKernel>(program->graph);
  ASSERT_EQ(loops.size(), 2u);
  for (const Kernel* loop : loops)
    EXPECT_GE(loop->in_place.size(), 2u);  // over the weight or over the gradient
}

TEST(BuildKernels, UpdateOfZerosIsNoArray) {
  auto program = small_program(R"(
    func.func public @main(%a: tensor<512xf32>, %u: tensor<16xf32>, %v: tensor<16xf32>, %i: tensor<i32>) -> tensor<512xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %z = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<512xf32>
      %0 = stablehlo.dynamic_update_slice %z, %u, %i : (tensor<512xf32>, tensor<16xf32>, tensor<i32>) -> tensor<512xf32>
      %1 = stablehlo.dynamic_update_slice %a, %v, %i : (tensor<512xf32>, tensor<16xf32>, tensor<i32>) -> tensor<512xf32>
      %2 = stablehlo.add %0, %1 : tensor<512xf32>
      return %2 : tensor<512xf32>
    })");
  ASSERT_EQ(program->graph.kernels.size(), 2u) << to_string(program->graph);
  EXPECT_EQ(program->graph.kernels[0].name, "dynamic_update_slice") << "of an array that exists";
}

TEST(BuildKernels, ManyOperandsAreOneLoop) {
  std::string operands, types;
  for (int i = 0; i < 40; ++i) {
    operands += i ? ", %a" : "%a";
    types += i ? ", tensor<1xf32>" : "tensor<1xf32>";
  }
  auto program = small_program("func.func public @main(%a: tensor<1xf32>) -> tensor<40xf32> {\n" +
                               ("  %0 = stablehlo.concatenate " + operands) + ", dim = 0 : (" +
                               types + ") -> tensor<40xf32>\n  return %0 : tensor<40xf32>\n}");
  EXPECT_EQ(program->graph.kernels.size(), 1u) << to_string(program->graph);
}

TEST(BuildKernels, TransposedProductsExchangeTheirSides) {
  auto program = small_program(R"(
    func.func public @main(%a: tensor<32x16xf32>, %b: tensor<16x48xf32>) -> tensor<48x32xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x48xf32>) -> tensor<32x48xf32>
      %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<32x48xf32>) -> tensor<48x32xf32>
      return %1 : tensor<48x32xf32>
    })");
  ASSERT_EQ(program->graph.kernels.size(), 1u) << to_string(program->graph);
  const DotKernel& dot = *program->graph.kernels[0].get<DotKernel>();
  EXPECT_EQ(dot.m, (std::vector<int64_t>{48}));
  EXPECT_EQ(dot.n, (std::vector<int64_t>{32}));
  EXPECT_EQ(dot.outputs[0].store.affine.coefficients, (std::vector<int64_t>{32, 1}));
}

TEST(BuildKernels, SeveralOutputsInOnePass) {
  auto program = small_program(R"(
    func.func public @main(%m: tensor<512xf32> {tf.aliasing_output = 0 : i32}, %p: tensor<512xf32> {tf.aliasing_output = 1 : i32},
                           %g: tensor<512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
      %m1 = stablehlo.add %m, %g : tensor<512xf32>
      %s = stablehlo.sqrt %m1 : tensor<512xf32>
      %p1 = stablehlo.subtract %p, %s : tensor<512xf32>
      return %m1, %p1 : tensor<512xf32>, tensor<512xf32>
    })");
  ASSERT_EQ(program->graph.kernels.size(), 1u) << to_string(program->graph);
  EXPECT_EQ(program->graph.kernels[0].outputs.size(), 2u);
}

TEST(BuildKernels, WhatOnlyTheSamePassReadsIsNotStored) {
  // Too many operations for one expression, though one kernel runs them all.
  std::string chain = "func.func public @main(%v0: tensor<64x64xf32>) -> tensor<64x64xf32> {\n";
  for (int i = 0; i < 120; ++i)
    chain += "  %v" + std::to_string(i + 1) + " = stablehlo.exponential %v" + std::to_string(i) +
             " : tensor<64x64xf32>\n";
  auto program = small_program(chain + "  return %v120 : tensor<64x64xf32>\n}");
  ASSERT_EQ(program->graph.kernels.size(), 1u);
  EXPECT_EQ(program->graph.kernels[0].outputs.size(), 1u);
}

TEST(BuildKernels, InterleavedRowsAreLoopsOfTheirOwn) {
  auto program = small_program(R"(
    func.func public @main(%a: tensor<7x6x32xf32>, %b: tensor<7x6x32xf32>) -> tensor<7x12x32xf32> {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %even = stablehlo.pad %a, %z, low = [0, 0, 0], high = [0, 1, 0], interior = [0, 1, 0] : (tensor<7x6x32xf32>, tensor<f32>) -> tensor<7x12x32xf32>
      %odd = stablehlo.pad %b, %z, low = [0, 1, 0], high = [0, 0, 0], interior = [0, 1, 0] : (tensor<7x6x32xf32>, tensor<f32>) -> tensor<7x12x32xf32>
      %0 = stablehlo.add %even, %odd : tensor<7x12x32xf32>
      return %0 : tensor<7x12x32xf32>
    })");
  ASSERT_EQ(program->graph.kernels.size(), 1u) << to_string(program->graph);
  const LoopKernel& loop = *program->graph.kernels[0].get<LoopKernel>();
  EXPECT_EQ(loop.extents, (std::vector<int64_t>{7, 6, 2, 32}));
  for (const ExprNode& node : loop.expr.nodes) {
    EXPECT_NE(node.op, OpKind::shift_right_arithmetic) << to_string(program->graph);
    if (node.kind == ExprNode::Kind::load) {
      EXPECT_TRUE(node.access.dynamic.empty());
    }
  }
}

TEST(BuildKernels, RandomBitsAreNeverStored) {
  auto program = small_program(R"(
    func.func public @main(%k: tensor<ui64>, %x: tensor<256x256xf32>, %y: tensor<256x256xf32>) -> (tensor<f32>, tensor<f32>) {
      %i = stablehlo.iota dim = 0 : tensor<256x256xui64>
      %b = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<ui64>) -> tensor<256x256xui64>
      %h = stablehlo.multiply %i, %b : tensor<256x256xui64>
      %s = stablehlo.convert %h : (tensor<256x256xui64>) -> tensor<256x256xf32>
      %u = stablehlo.multiply %x, %s : tensor<256x256xf32>
      %v = stablehlo.multiply %y, %s : tensor<256x256xf32>
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%u init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<256x256xf32>, tensor<f32>) -> tensor<f32>
      %1 = stablehlo.reduce(%v init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<256x256xf32>, tensor<f32>) -> tensor<f32>
      return %0, %1 : tensor<f32>, tensor<f32>
    })");
  for (const KernelValue& value : program->graph.values) {
    if (value.kind == KernelValue::Kind::result) {
      EXPECT_EQ(value.bytes, 4);
    }
  }
}

TEST(BuildKernels, LoopsReadSlicesInPlace) {
  auto program = small_program(R"(
    func.func public @main(%w: tensor<4x64x64xf32>, %x: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %0:2 = stablehlo.while(%i = %c, %v = %x) : tensor<i32>, tensor<8x64xf32>
      cond {
        %n = stablehlo.constant dense<4> : tensor<i32>
        %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %z = stablehlo.constant dense<0> : tensor<i32>
        %s = stablehlo.dynamic_slice %w, %i, %z, %z, sizes = [1, 64, 64] : (tensor<4x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x64xf32>
        %m = stablehlo.reshape %s : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
        %y = stablehlo.dot_general %v, %m, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %y : tensor<i32>, tensor<8x64xf32>
      }
      return %0#1 : tensor<8x64xf32>
    })");
  auto loops = kernels_of<WhileKernel>(program->graph);
  ASSERT_EQ(loops.size(), 1u);
  const WhileKernel& loop = *loops[0]->get<WhileKernel>();
  EXPECT_EQ(loop.trip_count, 4);
  for (const KernelValue& value : loop.body->values) {
    if (value.kind == KernelValue::Kind::result) {
      EXPECT_LE(value.bytes, 8 * 64 * 4);
    }
  }
}

// A loop that stacks `%e`, which `body` makes, in an array of zeros, at `at`.
std::unique_ptr<SmallProgram> stacking_loop(const std::string& at, const std::string& body) {
  return small_program(
      R"(
    func.func public @main(%x: tensor<64xf32>) -> (tensor<8x64xf32>, tensor<64xf32>) {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %zeros = stablehlo.constant dense<0.0> : tensor<8x64xf32>
      %0:3 = stablehlo.while(%i = %c, %v = %x, %s = %zeros) : tensor<i32>, tensor<64xf32>, tensor<8x64xf32>
      cond {
        %n = stablehlo.constant dense<8> : tensor<i32>
        %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %z = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %one : tensor<i32>
        %y = stablehlo.sine %v : tensor<64xf32>
        )" +
      body + R"(
        %r = stablehlo.reshape %e : (tensor<64xf32>) -> tensor<1x64xf32>
        %t = stablehlo.dynamic_update_slice %s, %r, )" +
      at +
      R"(, %z : (tensor<8x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<8x64xf32>
        stablehlo.return %j, %y, %t : tensor<i32>, tensor<64xf32>, tensor<8x64xf32>
      }
      return %0#2, %0#1 : tensor<8x64xf32>, tensor<64xf32>
    })");
}

int count_kernels(const KernelGraph& graph, const std::string& name) {
  return static_cast<int>(std::count_if(graph.kernels.begin(), graph.kernels.end(),
                                        [&](const Kernel& kernel) { return kernel.name == name; }));
}

TEST(BuildKernels, StacksThatALoopWritesWholeBeginUnwritten) {
  const std::string twice = "%e = stablehlo.add %y, %y : tensor<64xf32>";
  auto program = stacking_loop("%i", twice);
  EXPECT_EQ(count_kernels(program->graph, "unwritten"), 1) << to_string(program->graph);
  EXPECT_EQ(count_kernels(program->graph, "constant"), 0) << to_string(program->graph);
  auto unfinished = stacking_loop("%one", twice);
  EXPECT_EQ(count_kernels(unfinished->graph, "unwritten"), 0) << to_string(unfinished->graph);
  auto read = stacking_loop("%i", R"(
        %old = stablehlo.dynamic_slice %s, %i, %z, sizes = [1, 64] : (tensor<8x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1x64xf32>
        %o = stablehlo.reshape %old : (tensor<1x64xf32>) -> tensor<64xf32>
        %e = stablehlo.add %y, %o : tensor<64xf32>)");
  EXPECT_EQ(count_kernels(read->graph, "unwritten"), 0) << to_string(read->graph);
}

TEST(BuildKernels, UpdatesAtPlacesThatTheArrayItselfTells) {
  auto program = small_program(R"(
    func.func public @main(%i: tensor<i64>, %u: tensor<1xf16>) -> tensor<4xf16> {
      %a = stablehlo.bitcast_convert %i : (tensor<i64>) -> tensor<4xf16>
      %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<4xf16>, tensor<1xf16>, tensor<i64>) -> tensor<4xf16>
      return %0 : tensor<4xf16>
    })");
  ASSERT_EQ(program->graph.kernels.size(), 2u) << to_string(program->graph);
  const Kernel& update = program->graph.kernels[1];
  ASSERT_EQ(update.in_place.size(), 1u);
  EXPECT_EQ(update.inputs[static_cast<size_t>(update.in_place[0].input)],
            program->graph.kernels[0].outputs[0]);
}

}  // namespace
}  // namespace ullage
