// How a product is computed: by the matrix product family (matmul.h), with plain operands read
// where they are and other expressions evaluated while packing, or, when one side is narrow, by a
// streaming kernel made for the expression. The choice depends on the kernel alone. No LLVM here.
#pragma once

#include <optional>

#include "codegen/cpu/loop_nest.h"
#include "codegen/cpu/matmul.h"

namespace ullage {

inline constexpr int64_t kNarrow = 16;  // rows (or columns) that a streaming kernel takes at most

// Groups of the dimensions of the three nests.
enum DotGroup : int { kDotBatch, kDotM, kDotN, kDotK };

// An operand that is an array in memory with one stride per group.
struct PlainOperand {
  int32_t input = -1;
  DType dtype = DType::f32;
  int64_t batch_stride = 0, free_stride = 0, k_stride = 0;
  Access access;  // its constant and invariant dynamic terms remain to be added
};

struct DotPlan {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  LoopNest lhs, rhs, epilogue;
  int32_t lhs_root = -1, rhs_root = -1;
  // Operands that are read where they are. The streaming kernel evaluates the expression of its
  // wide side in any case, and of the narrow one unless that is here.
  std::optional<PlainOperand> lhs_plain, rhs_plain;
  // Output strides when the epilogue only stores the sum as f32 (`direct`), or when it could be
  // continued from.
  bool direct = false;
  bool strided_output = false;
  bool output_is_f32 = false;
  MatmulOutput output;
  int64_t output_constant = 0;

  bool narrow = false;         // streaming kernel
  bool swapped = false;        // n is the narrow side: the weights are the lhs
  bool lanes_along_k = false;  // of the streaming kernel
  // Its narrow operand becomes f32 on the stack, a block of k for a strip at a time.
  bool converted_by_blocks = false;
  MatmulPlan matmul;  // otherwise
  bool lhs_inner_is_k = true, rhs_inner_is_k = false;
  int64_t scratch_bytes = 0;
};

DotPlan plan_dot(const DotKernel& dot, int threads);
MatmulType matmul_type(DType dtype);  // f32 for all that is not one

int64_t dot_scratch_bytes(const DotKernel& dot, int threads);

// Dimensions of a nest that belong to a group, outermost first.
std::vector<int> dims_of(const LoopNest& nest, int group);

}  // namespace ullage
