// Convolutions as sums over windows: output[g, m, n] = sum over k of input(g, m, k) * kernel(g, k,
// n), where g counts groups, m is a batch element and an output position, k a kernel position and
// an input feature, n an output feature of the group. Loops of m are in the memory order of the
// output and those of k in that of the kernel, so that both are usually plain matrices and only the
// input's elements need to be looked up. No LLVM here.
#pragma once

#include <optional>
#include <vector>

#include "codegen/cpu/matmul.h"
#include "kernels/kernel_graph.h"

namespace ullage {

inline constexpr int kMaxSpatial = 6;

struct ConvolutionLoop {
  int spatial = -1;  // a spatial dimension, or -1: the batch (of m) or the input features (of k)
  int64_t extent = 1;
  int64_t input_stride = 0;   // only where spatial < 0
  int64_t memory_stride = 0;  // in the output (m) or the kernel (k)
};

struct ConvolutionSpatial {
  int64_t input = 1, window = 1, output = 1;
  int64_t stride = 1, low = 0, input_dilation = 1, window_dilation = 1;
  bool reversed = false;
  int64_t input_stride = 0;  // in memory
};

struct ConvolutionPlan {
  enum class Method : uint8_t {
    product,  // by the matrix product family, f32 sums in its order
    lanes,    // one feature in and out per group, groups next to each other in memory
    direct,   // one output element after another: f64, integers, complex numbers
  };
  Method method = Method::direct;
  DType lhs = DType::f32, rhs = DType::f32, out = DType::f32;
  std::vector<ConvolutionSpatial> spatial;
  std::vector<ConvolutionLoop> m, k;  // outermost first
  int64_t groups = 1, n = 1, m_size = 1, k_size = 1;
  int64_t input_group = 0, kernel_group = 0, output_group = 0;  // strides between groups
  int64_t kernel_n = 0, output_n = 0;                           // strides between output features

  // Of method product.
  MatmulPlan matmul;
  bool per_image = false;  // its batch is that of images, not groups; m is without them
  int64_t image_input = 0, image_output = 0;
  bool kernel_computed = false;  // the kernel is no plain matrix
  bool output_computed = false;  // neither is the output, or it has to be rounded
  int64_t scratch_bytes = 0;

  // Of a dilated input each output position meets, along a dimension, only every so many elements
  // of the window; positions that meet the same ones are a convolution without dilation, which does
  // not multiply the zeros between the input's elements. Where the kernel is finite they add
  // nothing, and these may run instead of the whole.
  struct Phase;
  std::vector<Phase> phases;
};

struct ConvolutionPlan::Phase {
  ConvolutionPlan plan;
  int64_t kernel_offset = 0, output_offset = 0;  // elements
};

ConvolutionPlan plan_convolution(const Op& op, int threads);
int64_t convolution_scratch_bytes(const LibraryKernel& kernel, int threads);

}  // namespace ullage
