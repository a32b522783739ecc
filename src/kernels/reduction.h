// The order in which a reduction combines its elements, fixed by the kernel alone: never by
// threads, pieces or budget.
//
// A reduction with a known combiner goes through the first reduced dimension (of extent other than
// 1) in blocks of `block_rows` rows, a power of two up to 256. Each block (with all of the other
// reduced dimensions) is reduced on its own, starting from the combiner's identity; the results of
// the blocks are then combined in order onto an accumulator that starts from the initial value. So
// a piece of the first reduced dimension that starts at a multiple of 256 may continue from what
// earlier pieces left in the output, with the same bits, as long as the output has the
// accumulator's dtype. Within a block:
//   columns  lanes run across a parallel dimension; every lane combines its elements one by one, in
//   row-major order rows     lanes run along the last reduced dimension: element j of a row goes to
//   accumulator j mod 64; the 64 are then
//            combined pairwise: four vectors of 16, then halves of the vector
// A reduction with a general body (fold) combines element by element onto the initial value, in
// row-major order. Narrower floats are accumulated in f32 and rounded once, at the end.
//
// When there are too few results to occupy threads, blocks are reduced in parallel and their
// results wait in scratch.
#pragma once

#include <cstdint>

#include "kernels/kernel_graph.h"

namespace ullage {

enum class ReductionForm : uint8_t { columns, rows, fold };

struct ReductionPlan {
  ReductionForm form = ReductionForm::fold;
  int lane_dim = -1;       // loop dimension along which the lanes of a vector run; -1: no vectors
  int64_t block_rows = 1;  // of the first reduced dimension
  int64_t blocks = 1;
  bool split = false;         // blocks in parallel
  int64_t scratch_bytes = 0;  // the blocks' results, when split
};

ReductionPlan plan_reduction(const LoopKernel& kernel);
int64_t reduction_scratch_bytes(const LoopKernel& kernel);

// The dtype of the accumulator for elements of `dtype`.
DType accumulation_dtype(DType dtype);

// Bits of the value e with combine(e, x) == x for every x, in the encoding of ExprNode::bits.
uint64_t identity_bits(OpKind combiner, DType dtype);

}  // namespace ullage
