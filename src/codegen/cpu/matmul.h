// Our own matrix product family: C[m,n] = sum over k of A[m,k] * B[k,n], in f32, with whatever
// produces A and B evaluated while it is packed and whatever consumes C applied to finished tiles.
//
// What it promises, because plans rely on it:
//  - Bits. Every element is a sum over K blocks of 256, in order; each block is one chain of fused
//  multiply-adds from zero
//    (block 0, then += block 1, ...). Nothing else matters: not how M, N or the batch is cut, not a
//    cut of K at multiples of 256 continued with `accumulate`, not threads, instruction set,
//    layout, packing or who evaluates the operands.
//  - Memory. A plan states its scratch; a run allocates nothing and uses no other.
//  - Work is cut into tasks by shape, never by the number of threads.
//
// plan_matmul is called when a program is compiled, run_matmul by the compiled kernel. Extents and
// strides are in elements. "free" is m for A and n for B.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ullage {

class ThreadPool;

inline constexpr int64_t matmul_k_block = 256;

enum class MatmulType : uint8_t { f32, bf16, f16, i8 };
enum class MatmulIsa : uint8_t { baseline, avx2, avx512 };

std::string_view to_string(MatmulIsa isa);
bool host_has(MatmulIsa isa);
MatmulIsa best_matmul_isa();

// How an operand is to be had, as far as it is known at compile time.
struct MatmulOperand {
  // From memory, converted to f32: element (batch, free, k) is data[batch * batch_stride + free *
  // free_stride + k * k_stride].
  MatmulType type = MatmulType::f32;
  int64_t free_stride = 0;
  int64_t k_stride = 0;
  int64_t batch_stride = 0;
  // Or from a MatmulEval; then this says which dimension it puts innermost, and the strides mean
  // nothing.
  bool computed = false;
  bool inner_is_k = false;
  // An evaluation worth more than a little extra packing of the other operand: each element is
  // evaluated once per run whenever the scratch allows it.
  bool expensive = false;
};

struct MatmulOutput {
  // In memory: element (batch, m, n) is c[batch * batch_stride + m * row_stride + n *
  // column_stride].
  int64_t row_stride = 0;
  int64_t column_stride = 1;
  int64_t batch_stride = 0;
  // Or through a MatmulEpilogue, which writes the results itself. The strides then describe where
  // `accumulate` starts from.
  bool computed = false;
};

struct MatmulProblem {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  MatmulOperand a, b;
  MatmulOutput c;
};

// Evaluates operand elements [outer0, outer1) x [inner0, inner1) of a batch into dst[outer -
// outer0][inner - inner0], inner contiguous. Boxes have thousands of elements when the operand has.
// Must not throw; is called from several threads.
using MatmulEval = void (*)(void* context, int64_t batch, int64_t outer0, int64_t outer1,
                            int64_t inner0, int64_t inner1, float* dst, int64_t dst_outer_stride);

// Takes the finished sums of rows [m0, m1) and columns [n0, n1) of a batch; called once for every
// element.
using MatmulEpilogue = void (*)(void* context, int64_t batch, int64_t m0, int64_t m1, int64_t n0,
                                int64_t n1, const float* sums, int64_t sums_row_stride);

struct MatmulInput {
  const void* data = nullptr;  // of element (0, 0, 0), also when only a range is run
  MatmulEval eval = nullptr;
  void* context = nullptr;
};

// Half-open; an upper end below 0 means the extent. k0 is a multiple of matmul_k_block, and so is
// k1 or it is K.
struct MatmulRange {
  int64_t batch0 = 0, batch1 = -1;
  int64_t m0 = 0, m1 = -1;
  int64_t n0 = 0, n1 = -1;
  int64_t k0 = 0, k1 = -1;
};

struct MatmulArgs {
  MatmulInput a, b;
  // With an epilogue only for sums in several parts; otherwise it says where the epilogue writes,
  // so that those lines are fetched in time, or is null.
  float* c = nullptr;
  MatmulEpilogue epilogue = nullptr;
  void* epilogue_context = nullptr;
  MatmulRange range;
  bool accumulate = false;  // continue from the values in c
  bool unfinished = false;  // leave the sums in c, to be continued; the epilogue waits
};

// Which way an operand reaches the kernel.
enum class MatmulPacking : uint8_t {
  in_place,         // read where it is
  k_contiguous,     // copied rows of A, transposed panels of B
  free_contiguous,  // interleaved rows of A, copied panels of B
  general,          // neither dimension is contiguous
};

// A plan is plain data. "rows" and "columns" are those of the kernel: m and n, or n and m when
// `swapped`.
struct MatmulPlan {
  MatmulProblem problem;
  MatmulIsa isa = MatmulIsa::baseline;
  int threads = 1;
  bool swapped = false;          // computes the transpose, for a C with contiguous columns
  bool tile_in_scratch = false;  // sums are kept in scratch until they are finished
  MatmulPacking rows_packing = MatmulPacking::k_contiguous;
  MatmulPacking columns_packing = MatmulPacking::k_contiguous;
  int64_t tile_rows = 0, tile_columns = 0;    // of a task
  int64_t block_rows = 0, block_columns = 0;  // packed at a time within a task
  int64_t tasks_per_chunk = 1;
  // Parts of a worker's scratch, in floats: packed rows first, then these.
  int64_t columns_offset = 0, sums_offset = 0, box_offset = 0;
  int64_t row_stride = 0;                     // distance of packed rows
  int64_t columns_panel = 0, rows_panel = 0;  // distances of packed panels
  int64_t sums_stride = 0;
  int64_t box_floats = 0;
  int64_t scratch_bytes_per_worker = 0;
  int64_t scratch_bytes = 0;  // of all threads; 64-byte aligned scratch is expected
};

// `threads` scales only the scratch. The default instruction set is the best one of this host.
MatmulPlan plan_matmul(const MatmulProblem& problem, int threads);
MatmulPlan plan_matmul(const MatmulProblem& problem, int threads, MatmulIsa isa);

// Rows of elements as f32: to[row * to_stride + k] = from[row * stride + k].
void copy_rows_as_f32(MatmulType type, float* to, int64_t to_stride, const std::byte* from,
                      int64_t stride, int64_t rows, int64_t k);

// `scratch` holds plan.scratch_bytes; the pool has at most plan.threads threads.
void run_matmul(const MatmulPlan& plan, const MatmulArgs& args, std::byte* scratch,
                ThreadPool& pool);

}  // namespace ullage
