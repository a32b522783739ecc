// Small programs for tests of kernels and plans: read, verified, normalised, built.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "kernels/build.h"
#include "normalize/normalize.h"
#include "ops/verify.h"
#include "syntax/reader.h"

namespace ullage {

struct SmallProgram {
  std::unique_ptr<Module> module;
  KernelGraph graph;
  Target target;
};

inline std::unique_ptr<SmallProgram> small_program(const std::string& text) {
  auto out = std::make_unique<SmallProgram>();
  Result<std::unique_ptr<Module>> module = read_text(text, "test.mlir");
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : to_string(module.diagnostics()));
  out->module = std::move(*module);
  Status verified = verify(*out->module);
  EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : to_string(verified.diagnostics()));
  EXPECT_TRUE(normalize(*out->module).ok());
  Result<KernelGraph> graph = build_kernels(*out->module, *out->module->entry(), out->target);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : to_string(graph.diagnostics()));
  out->graph = std::move(*graph);
  return out;
}

// A two-layer block, its gradient with respect to both weights, and a plain update of donated
// weights.
inline const char* kTrainingStep = R"(
func.func public @main(%w1: tensor<64x2048xf32> {tf.aliasing_output = 0 : i32},
                       %w2: tensor<2048x64xf32> {tf.aliasing_output = 1 : i32},
                       %x: tensor<1024x64xf32>) -> (tensor<64x2048xf32>, tensor<2048x64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rate = stablehlo.constant dense<0.125> : tensor<f32>
  %z = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<1024x2048xf32>
  %h = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x2048xf32>) -> tensor<1024x2048xf32>
  %r = stablehlo.maximum %h, %z : tensor<1024x2048xf32>
  %y = stablehlo.dot_general %r, %w2, contracting_dims = [1] x [0] : (tensor<1024x2048xf32>, tensor<2048x64xf32>) -> tensor<1024x64xf32>
  %gw2 = stablehlo.dot_general %r, %y, contracting_dims = [0] x [0] : (tensor<1024x2048xf32>, tensor<1024x64xf32>) -> tensor<2048x64xf32>
  %gr = stablehlo.dot_general %y, %w2, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<2048x64xf32>) -> tensor<1024x2048xf32>
  %on = stablehlo.compare GT, %h, %z, FLOAT : (tensor<1024x2048xf32>, tensor<1024x2048xf32>) -> tensor<1024x2048xi1>
  %gh = stablehlo.select %on, %gr, %z : tensor<1024x2048xi1>, tensor<1024x2048xf32>
  %gw1 = stablehlo.dot_general %x, %gh, contracting_dims = [0] x [0] : (tensor<1024x64xf32>, tensor<1024x2048xf32>) -> tensor<64x2048xf32>
  %rate1 = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<64x2048xf32>
  %rate2 = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<2048x64xf32>
  %d1 = stablehlo.multiply %gw1, %rate1 : tensor<64x2048xf32>
  %d2 = stablehlo.multiply %gw2, %rate2 : tensor<2048x64xf32>
  %n1 = stablehlo.subtract %w1, %d1 : tensor<64x2048xf32>
  %n2 = stablehlo.subtract %w2, %d2 : tensor<2048x64xf32>
  return %n1, %n2 : tensor<64x2048xf32>, tensor<2048x64xf32>
})";

// The backward half of such a block: the hidden layer comes again from its input, and everything
// made of it keeps the hidden dimension or sums over it.
inline const char* kBackwardStep = R"(
func.func public @main(%w1: tensor<64x2048xf32> {tf.aliasing_output = 0 : i32},
                       %w2: tensor<2048x64xf32> {tf.aliasing_output = 1 : i32},
                       %x: tensor<256x64xf32>, %gy: tensor<256x64xf32>)
    -> (tensor<64x2048xf32>, tensor<2048x64xf32>, tensor<256x64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<256x2048xf32>
  %h = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x2048xf32>) -> tensor<256x2048xf32>
  %r = stablehlo.maximum %h, %z : tensor<256x2048xf32>
  %gw2 = stablehlo.dot_general %r, %gy, contracting_dims = [0] x [0] : (tensor<256x2048xf32>, tensor<256x64xf32>) -> tensor<2048x64xf32>
  %gr = stablehlo.dot_general %gy, %w2, contracting_dims = [1] x [1] : (tensor<256x64xf32>, tensor<2048x64xf32>) -> tensor<256x2048xf32>
  %on = stablehlo.compare GT, %h, %z, FLOAT : (tensor<256x2048xf32>, tensor<256x2048xf32>) -> tensor<256x2048xi1>
  %gh = stablehlo.select %on, %gr, %z : tensor<256x2048xi1>, tensor<256x2048xf32>
  %gw1 = stablehlo.dot_general %x, %gh, contracting_dims = [0] x [0] : (tensor<256x64xf32>, tensor<256x2048xf32>) -> tensor<64x2048xf32>
  %gx = stablehlo.dot_general %gh, %w1, contracting_dims = [1] x [1] : (tensor<256x2048xf32>, tensor<64x2048xf32>) -> tensor<256x64xf32>
  %n1 = stablehlo.subtract %w1, %gw1 : tensor<64x2048xf32>
  %n2 = stablehlo.subtract %w2, %gw2 : tensor<2048x64xf32>
  return %n1, %n2, %gx : tensor<64x2048xf32>, tensor<2048x64xf32>, tensor<256x64xf32>
})";

// Mean cross-entropy of 1024 rows over 4096 classes and its gradients, as JAX writes it: the logits
// are read by a maximum, an exponential, a lookup of one class per row, and both gradients.
inline const char* kCrossEntropy = R"(
func.func public @main(%x: tensor<1024x64xf32>, %w: tensor<64x4096xf32>, %y: tensor<1024x1x1xi32>)
    -> (tensor<f32>, tensor<1024x64xf32>, tensor<64x4096xf32>) {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %share = stablehlo.constant dense<-9.765625E-4> : tensor<1024x1xf32>
  %zeros = stablehlo.constant dense<0.0> : tensor<1024x4096xf32>
  %l = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x4096xf32>) -> tensor<1024x4096xf32>
  %m = stablehlo.reduce(%l init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<1024x4096xf32>, tensor<f32>) -> tensor<1024xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<1024xf32>) -> tensor<1024x4096xf32>
  %d = stablehlo.subtract %l, %mb : tensor<1024x4096xf32>
  %e = stablehlo.exponential %d : tensor<1024x4096xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x4096xf32>, tensor<f32>) -> tensor<1024xf32>
  %lt = stablehlo.log %t : tensor<1024xf32>
  %lse = stablehlo.add %lt, %m : tensor<1024xf32>
  %g = "stablehlo.gather"(%l, %y) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<1024x4096xf32>, tensor<1024x1x1xi32>) -> tensor<1024x1xf32>
  %gr = stablehlo.reshape %g : (tensor<1024x1xf32>) -> tensor<1024xf32>
  %each = stablehlo.subtract %lse, %gr : tensor<1024xf32>
  %loss = stablehlo.reduce(%each init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
  %hot = "stablehlo.scatter"(%zeros, %y, %share) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1024x4096xf32>, tensor<1024x1x1xi32>, tensor<1024x1xf32>) -> tensor<1024x4096xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<1024xf32>) -> tensor<1024x4096xf32>
  %p = stablehlo.divide %e, %tb : tensor<1024x4096xf32>
  %gl = stablehlo.add %p, %hot : tensor<1024x4096xf32>
  %gx = stablehlo.dot_general %gl, %w, contracting_dims = [1] x [1] : (tensor<1024x4096xf32>, tensor<64x4096xf32>) -> tensor<1024x64xf32>
  %gw = stablehlo.dot_general %x, %gl, contracting_dims = [0] x [0] : (tensor<1024x64xf32>, tensor<1024x4096xf32>) -> tensor<64x4096xf32>
  return %loss, %gx, %gw : tensor<f32>, tensor<1024x64xf32>, tensor<64x4096xf32>
})";

}  // namespace ullage
