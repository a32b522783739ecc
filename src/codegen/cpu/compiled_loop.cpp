#include "codegen/cpu/compiled_loop.h"

#include <algorithm>

#include "codegen/cpu/box_chunks.h"
#include "runtime/thread_pool.h"
#include "support/check.h"

namespace ullage {

namespace {

// Work below this is not worth handing to another thread.
constexpr double kChunkNanoseconds = 40000;
constexpr double kNanosecondsPerOperation = 0.04, kNanosecondsPerByte = 0.05;

class CompiledLoop : public CompiledKernel {
 public:
  CompiledLoop(cpu::LoopFunction function, LoopShape shape, std::shared_ptr<const void> code)
      : function_(function), shape_(std::move(shape)), code_(std::move(code)) {}

  void run(const KernelCall& call, ThreadPool& pool) const override {
    size_t rank = shape_.extents.size();
    std::vector<int64_t> lower(rank, 0), upper = shape_.extents;
    ULLAGE_CHECK(call.axis != KernelCall::Axis::contracted,
                 "an elementwise kernel contracts nothing");
    if (call.upper >= 0 && shape_.rows_dim >= 0) {
      size_t d = static_cast<size_t>(shape_.rows_dim);
      lower[d] = call.lower * shape_.rows_scale;
      upper[d] = call.upper * shape_.rows_scale;
    }
    for (size_t d = 0; d < rank; ++d)
      if (lower[d] >= upper[d]) return;
    if (rank == 0) {
      function_(call.buffers, nullptr, nullptr, shape_.numbers.data());
      return;
    }

    BoxChunks chunks(shape_.loops, lower, upper, shape_.grain, 64);
    auto chunk = [&](int64_t number, int) {
      std::vector<int64_t> low, high;
      chunks.box(number, low, high);
      run_box(call.buffers, low, high);
    };
    if (chunks.count() == 1)
      chunk(0, 0);
    else
      pool.parallel_for(chunks.count(), chunk);
  }

 private:
  // Transposing kernels go by bands of columns, so that the pages read along the strided dimension
  // are few at a time.
  void run_box(std::byte* const* buffers, std::vector<int64_t>& low,
               std::vector<int64_t>& high) const {
    if (shape_.tile_dim < 0) {
      function_(buffers, low.data(), high.data(), shape_.numbers.data());
      return;
    }
    size_t vec = static_cast<size_t>(shape_.loops.back());
    int64_t end = high[vec];
    for (; low[vec] < end; low[vec] = high[vec]) {
      high[vec] = std::min(end, low[vec] + kBand);
      function_(buffers, low.data(), high.data(), shape_.numbers.data());
    }
  }

  static constexpr int64_t kBand = 128;
  cpu::LoopFunction function_;
  LoopShape shape_;
  std::shared_ptr<const void> code_;
};

}  // namespace

double elements_per_chunk(double operations, double bytes) {
  double nanoseconds = std::max(operations * kNanosecondsPerOperation, bytes * kNanosecondsPerByte);
  return std::clamp(kChunkNanoseconds / std::max(nanoseconds, 0.01), 256.0, 1048576.0);
}

LoopShape loop_shape(const LoopNest& nest, double bytes_per_element) {
  LoopShape shape;
  shape.extents = nest.extents;
  shape.loops = nest.order;
  if (nest.vector_dim >= 0) shape.loops.push_back(nest.vector_dim);
  shape.rows_dim = nest.rows_dim;
  shape.rows_scale = nest.rows_scale;
  shape.grain = static_cast<int64_t>(
      elements_per_chunk(operations_per_element(nest.expr), bytes_per_element));
  if (nest.vector_dim < 0) return shape;
  shape.tile_dim = nest.tile_dim;
  return shape;
}

std::shared_ptr<const CompiledKernel> make_compiled_loop(cpu::LoopFunction function,
                                                         LoopShape shape,
                                                         std::shared_ptr<const void> code) {
  return std::make_shared<CompiledLoop>(function, std::move(shape), std::move(code));
}

}  // namespace ullage
