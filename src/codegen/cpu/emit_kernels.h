// Emitters of whole kernels: each adds one function to a module. The signatures of the functions
// are given next to them.
#pragma once

#include <string>
#include <vector>

#include "codegen/cpu/host.h"
#include "codegen/cpu/loop_cells.h"
#include "codegen/cpu/loop_nest.h"
#include "kernels/reduction.h"

namespace llvm {
class Module;
}

namespace ullage::cpu {

// Why a dtype or an operation cannot be compiled; empty if all can.
std::string unsupported(const Expr& expr, const std::vector<bool>& needed);

// Runs the box lower <= index < upper of a nest, which is given as the cells that it was cut into;
// the arrays have one entry per dimension of the nest, and no side of the box is empty. `numbers`,
// here and below: what was taken out of the code (runtime_numbers.h).
using LoopFunction = void (*)(std::byte* const* buffers, const int64_t* lower, const int64_t* upper,
                              const int64_t* numbers);
void emit_loop(llvm::Module& module, const Host& host, const std::string& name,
               const std::vector<LoopCell>& cells, int first_output);

// Parts of products: a box of an expression that also reads or writes a side array of f32, whose
// element for an index is side[(outer - outer_origin) * outer_stride + inner - inner_origin], where
// outer and inner are the flat indices of two groups of dimensions.
struct BoxSide {
  enum class Kind : uint8_t {
    evaluate,  // writes the value of the cells' root, as f32, to the side array; no outputs
    epilogue,  // accumulator nodes read the side array
  };
  Kind kind = Kind::evaluate;
  std::vector<int64_t> outer, inner;  // per dimension of the nest: its stride in the flat index
};
using BoxFunction = void (*)(std::byte* const* buffers, const int64_t* lower, const int64_t* upper,
                             const int64_t* numbers, float* side, int64_t outer_stride,
                             int64_t outer_origin, int64_t inner_origin);
void emit_box(llvm::Module& module, const Host& host, const std::string& name,
              const std::vector<LoopCell>& cells, int first_output, const BoxSide& side);

// The sum of constant offsets and invariant dynamic terms of the accesses, in elements.
using OffsetsFunction = void (*)(std::byte* const* buffers, int64_t* offsets);
void emit_offsets(llvm::Module& module, const Host& host, const std::string& name, const Expr& expr,
                  const std::vector<Access>& accesses);

// A product with few rows, for one strip of columns: adds to sums[row * strip + column - first
// column] the products of x[k * rows + row] and the weights. The box is over the weights'
// dimensions: single batches and outer columns, at most dot_strip(rows) inner columns, and a range
// of k that starts at a block. Sums have room for whole vectors.
using SmallDotFunction = void (*)(std::byte* const* buffers, const int64_t* lower,
                                  const int64_t* upper, const std::byte* const* x, float* sums,
                                  const int64_t* numbers);
// The more columns, the longer the stretches of memory that are read; the sums of all rows stay in
// the nearest cache.
constexpr int64_t dot_strip(int64_t rows) {
  return rows <= 2 ? 1024 : rows <= 8 ? 512 : 256;
}

struct SmallDotCode {
  LoopNest weights;  // its vector_dim: the innermost of k or of the columns
  int32_t root = -1;
  std::vector<int> batch_dims, column_dims,
      k_dims;                      // of the nest, outermost first; the latter two have one at least
  std::vector<int64_t> k_extents;  // of k_dims
  int64_t block_rows = 256;        // indices of the outermost k dimension in a block of 256 k
  int rows = 1;
  bool lanes_along_k = false;  // k is the contiguous dimension
  // The narrow operand: x[row] points to the row's element of k = 0, `x_stride` elements before the
  // next. Rows are `x_row_stride` elements apart, or where that is 0 each is found by itself.
  DType x_dtype = DType::f32;
  int64_t x_stride = 1;
  int64_t x_row_stride = 0;
};
void emit_small_dot(llvm::Module& module, const Host& host, const std::string& name,
                    const SmallDotCode& code);

// Random words of `vectors` * kLanes blocks from `first_block` on: 4 words a block (Philox) or 2
// (Threefry), in order. state: key, low and high half of the counter.
using RngFunction = void (*)(const uint64_t* state, int64_t first_block, int64_t vectors,
                             uint32_t* words);
void emit_rng(llvm::Module& module, const Host& host, const std::string& name, bool philox);

// Updates of a box, all of its positions in order. Only targets with first <= offset < last are
// written, where the offset leaves out the parallel dimensions: calls with other ranges or other
// boxes of parallel dimensions may run at the same time.
inline constexpr int64_t kAllTargets = INT64_MAX;  // as `last`, with 0 as `first`
using ScatterFunction = void (*)(std::byte* const* buffers, const int64_t* lower,
                                 const int64_t* upper, int64_t first, int64_t last,
                                 const int64_t* numbers);
struct ScatterCode {
  LoopNest nest;  // groups are ScatterKernel::Dim
  int32_t in_range = -1;
  Expr body;
  std::vector<int32_t> body_results;
  int first_output = 0;
  // Lanes are updates one after another, whose targets may be the same: they are computed together
  // and applied one by one.
  bool one_by_one = false;
};
void emit_scatter(llvm::Module& module, const Host& host, const std::string& name,
                  const ScatterCode& code);

// A scan over a box; the box has all of the scanned dimension, which is the last. It goes by blocks
// of kScanBlock elements, each begun anew; what came before the block is combined with the results,
// so that rounding errors of long sums stay small. Lanes run across a parallel dimension, or along
// the scanned one: then 16 elements are combined among themselves (with the ones 1, 2, 4 and 8
// places before), and the last of the 16 before with each.
inline constexpr int64_t kScanBlock = 4096;
using ScanFunction = void (*)(std::byte* const* buffers, const int64_t* lower, const int64_t* upper,
                              const int64_t* numbers);
struct ScanCode {
  LoopNest nest;  // vector_dim: the lanes' dimension
  LoopKernel::Reduction reduction;
  std::vector<DType> accumulators;   // per output
  std::vector<DType> output_dtypes;  // per output
  int first_output = 0;
};
void emit_scan(llvm::Module& module, const Host& host, const std::string& name,
               const ScanCode& code);

// Merges the runs from[begin, middle) and from[middle, end) of positions into to[begin, end); the
// element at a position of operand i is buffers[i][base + position * stride]. Equal elements keep
// their order.
using MergeFunction = void (*)(std::byte* const* buffers, int64_t base, int64_t stride,
                               const uint32_t* from, uint32_t* to, int64_t begin, int64_t middle,
                               int64_t end);
struct MergeCode {
  std::vector<DType> operands;
  // Parameters: of each operand the left element and the right one, two of each if complex.
  Expr body;
  int32_t result = -1;
};
void emit_merge(llvm::Module& module, const Host& host, const std::string& name,
                const MergeCode& code);

// A reduction over the box; `continues` != 0 starts from what the outputs hold instead of the
// initial values.
using ReductionFunction = void (*)(std::byte* const* buffers, const int64_t* lower,
                                   const int64_t* upper, int64_t continues, const int64_t* numbers);
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
