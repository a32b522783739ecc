// Emitters of whole kernels: each adds one function to a module. The signatures of the functions
// are given next to them.
#pragma once

#include <string>

#include "codegen/cpu/host.h"
#include "codegen/cpu/loop_nest.h"
#include "kernels/reduction.h"

namespace llvm {
class Module;
}

namespace ullage::cpu {

// Why a dtype or an operation cannot be compiled; empty if all can.
std::string unsupported(const Expr& expr, const std::vector<bool>& needed);

// Runs the box lower <= index < upper of the nest; the arrays have one entry per dimension of the
// nest, and no side of the box is empty.
using LoopFunction = void (*)(std::byte* const* buffers, const int64_t* lower,
                              const int64_t* upper);
void emit_loop(llvm::Module& module, const Host& host, const std::string& name,
               const LoopNest& nest, int first_output);

// Parts of products: a box of an expression that also reads or writes a side array of f32, whose
// element for an index is side[(outer - outer_origin) * outer_stride + inner - inner_origin], where
// outer and inner are the flat indices of two groups of dimensions.
struct BoxSide {
  enum class Kind : uint8_t {
    evaluate,  // writes the root's value, converted to f32, to the side array; no outputs
    epilogue,  // accumulator nodes read the side array
  };
  Kind kind = Kind::evaluate;
  int32_t root = -1;                  // of evaluate
  std::vector<int64_t> outer, inner;  // per dimension of the nest: its stride in the flat index
};
using BoxFunction = void (*)(std::byte* const* buffers, const int64_t* lower, const int64_t* upper,
                             float* side, int64_t outer_stride, int64_t outer_origin,
                             int64_t inner_origin);
void emit_box(llvm::Module& module, const Host& host, const std::string& name, const LoopNest& nest,
              int first_output, const BoxSide& side);

// The sum of constant offsets and invariant dynamic terms of the accesses, in elements.
using OffsetsFunction = void (*)(std::byte* const* buffers, int64_t* offsets);
void emit_offsets(llvm::Module& module, const Host& host, const std::string& name, const Expr& expr,
                  const std::vector<Access>& accesses);

// A product with few rows, for one strip of columns: adds to sums[row * strip + column - first
// column] the products of x[k * rows + row] and the weights. The box is over the weights'
// dimensions: single batches and outer columns, at most dot_strip(rows) inner columns, and a range
// of k that starts at a block. Sums have room for whole vectors.
using SmallDotFunction = void (*)(std::byte* const* buffers, const int64_t* lower,
                                  const int64_t* upper, const float* x, float* sums);
// The more columns, the longer the stretches of memory that are read; the sums of all rows stay in
// the nearest cache.
constexpr int64_t dot_strip(int64_t rows) {
  return rows <= 2 ? 1024 : rows <= 8 ? 512 : 256;
}

struct SmallDotCode {
  LoopNest weights;
  int32_t root = -1;
  std::vector<int> batch_dims, column_dims,
      k_dims;                      // of the nest, outermost first; the latter two have one at least
  std::vector<int64_t> k_extents;  // of k_dims
  int64_t block_rows = 256;        // indices of the outermost k dimension in a block of 256 k
  int rows = 1;
  bool lanes_along_k = false;  // k is the contiguous dimension
};
void emit_small_dot(llvm::Module& module, const Host& host, const std::string& name,
                    const SmallDotCode& code);

// Random words of `vectors` * kLanes blocks from `first_block` on: 4 words a block (Philox) or 2
// (Threefry), in order. state: key, low and high half of the counter.
using RngFunction = void (*)(const uint64_t* state, int64_t first_block, int64_t vectors,
                             uint32_t* words);
void emit_rng(llvm::Module& module, const Host& host, const std::string& name, bool philox);

// A reduction over the box; `continues` != 0 starts from what the outputs hold instead of the
// initial values.
using ReductionFunction = void (*)(std::byte* const* buffers, const int64_t* lower,
                                   const int64_t* upper, int64_t continues);
inline constexpr int64_t kReductionStrip =
    2048;  // columns whose accumulators are on the stack at a time

struct ReductionCode {
  LoopNest nest;  // vector_dim: the lanes' dimension, -1 for scalar code
  LoopKernel::Reduction reduction;
  ReductionForm form = ReductionForm::fold;
  int64_t block_length = 1;          // of the first reduced dimension of the nest
  std::vector<DType> accumulators;   // per output
  std::vector<DType> output_dtypes;  // per output: as stored, which is what the initial values have
  int first_output = 0;
};
void emit_reduction(llvm::Module& module, const Host& host, const std::string& name,
                    const ReductionCode& code);

}  // namespace ullage::cpu
