// A compiled loop kernel at run time: cuts the box into chunks by its shape alone and runs them on
// the pool.
#pragma once

#include "codegen/cpu/emit_kernels.h"
#include "runtime/kernel.h"

namespace ullage {

struct LoopShape {
  std::vector<int64_t> extents;
  std::vector<int> loops;  // from outermost to innermost, the vector dimension last
  int rows_dim = -1;
  int64_t rows_scale = 1;
  int64_t grain = 1;  // elements worth a chunk
  int tile_dim = -1;  // as in LoopNest
  std::vector<int64_t> numbers;
};

// Elements worth handing to another thread, from what one costs.
double elements_per_chunk(double operations, double bytes);

LoopShape loop_shape(const LoopNest& nest, double bytes_per_element);
std::shared_ptr<const CompiledKernel> make_compiled_loop(cpu::LoopFunction function,
                                                         LoopShape shape,
                                                         std::shared_ptr<const void> code);

}  // namespace ullage
