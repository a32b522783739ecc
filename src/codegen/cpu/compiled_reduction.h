// A compiled reduction at run time. Results are spread over the pool; where there are too few of
// them, blocks of the reduced dimension are, their partial results wait in scratch, and a second
// function combines them in order.
#pragma once

#include "codegen/cpu/emit_kernels.h"
#include "runtime/kernel.h"

namespace ullage {

struct ReductionShape {
  std::vector<int64_t> extents;  // of the nest
  std::vector<int> results;      // loops over results that chunks may cut, outermost first
  int64_t grain = 1;             // results worth a chunk
  int64_t last_multiple = 1;
  int rows_dim = -1;
  int64_t rows_scale = 1;
  int reduced_dim = 0;
  int64_t reduced_scale = 1;
  int64_t block_length = 1;
  int64_t buffers = 0;  // inputs and outputs
  // When split: the first function's nest has the blocks as dimension 0 before these, the second
  // one's has them as its last.
  bool split = false;
  std::vector<std::vector<int64_t>> numbers;  // per function
  int64_t blocks_per_chunk = 1;
};

std::shared_ptr<const CompiledKernel> make_compiled_reduction(
    std::vector<cpu::ReductionFunction> functions, ReductionShape shape,
    std::shared_ptr<const void> code);

// The two nests of a split reduction. `inputs` is their number in the kernel; the first function's
// output, and the second one's input of that number, is the scratch.
cpu::ReductionCode block_reduction(const cpu::ReductionCode& whole);
cpu::ReductionCode combining_reduction(const cpu::ReductionCode& whole, int inputs);

}  // namespace ullage
