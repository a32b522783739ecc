#include "codegen/cpu/compiled_reduction.h"

#include <algorithm>

#include "codegen/cpu/box_chunks.h"
#include "runtime/thread_pool.h"
#include "support/check.h"

namespace ullage {

namespace {

class CompiledReduction : public CompiledKernel {
 public:
  CompiledReduction(std::vector<cpu::ReductionFunction> functions, ReductionShape shape,
                    std::shared_ptr<const void> code)
      : functions_(std::move(functions)), shape_(std::move(shape)), code_(std::move(code)) {}

  void run(const KernelCall& call, ThreadPool& pool) const override {
    std::vector<int64_t> lower(shape_.extents.size(), 0), upper = shape_.extents;
    auto restrict = [&](int dim, int64_t scale) {
      if (dim < 0) return;
      lower[static_cast<size_t>(dim)] = call.lower * scale;
      upper[static_cast<size_t>(dim)] = call.upper * scale;
    };
    if (call.axis == KernelCall::Axis::contracted && call.upper >= 0)
      restrict(shape_.reduced_dim, shape_.reduced_scale);
    else if (call.upper >= 0)
      restrict(shape_.rows_dim, shape_.rows_scale);
    size_t reduced = static_cast<size_t>(shape_.reduced_dim);
    ULLAGE_CHECK(lower[reduced] % shape_.block_length == 0,
                 "a piece of a reduction starts at a block");
    for (int dim : shape_.results)
      if (lower[static_cast<size_t>(dim)] >= upper[static_cast<size_t>(dim)]) return;
    if (shape_.split) {
      run_split(call, lower, upper, pool);
      return;
    }
    BoxChunks chunks(shape_.results, lower, upper, shape_.grain, shape_.last_multiple);
    auto chunk = [&](int64_t number, int) {
      std::vector<int64_t> low, high;
      chunks.box(number, low, high);
      functions_[0](call.buffers, low.data(), high.data(), call.accumulate,
                    shape_.numbers[0].data());
    };
    if (chunks.count() == 1)
      chunk(0, 0);
    else
      pool.parallel_for(chunks.count(), chunk);
  }

 private:
  void run_split(const KernelCall& call, const std::vector<int64_t>& lower,
                 const std::vector<int64_t>& upper, ThreadPool& pool) const {
    size_t reduced = static_cast<size_t>(shape_.reduced_dim);
    int64_t length = shape_.block_length;
    int64_t first = lower[reduced] / length;
    int64_t whole = upper[reduced] / length, last = (upper[reduced] + length - 1) / length;
    size_t inputs = static_cast<size_t>(shape_.buffers) - 1;
    std::vector<std::byte*> buffers(call.buffers, call.buffers + inputs);
    buffers.push_back(call.scratch);
    buffers.push_back(call.buffers[inputs]);

    auto blocks = [&](int64_t from, int64_t to, int64_t rows) {
      std::vector<int64_t> low = {from}, high = {to};
      low.insert(low.end(), lower.begin(), lower.end());
      high.insert(high.end(), upper.begin(), upper.end());
      low[reduced + 1] = 0;
      high[reduced + 1] = rows;
      functions_[0](buffers.data(), low.data(), high.data(), 0, shape_.numbers[0].data());
    };
    int64_t chunks = (last - first + shape_.blocks_per_chunk - 1) / shape_.blocks_per_chunk;
    pool.parallel_for(chunks, [&](int64_t number, int) {
      int64_t from = first + number * shape_.blocks_per_chunk;
      int64_t to = std::min(last, from + shape_.blocks_per_chunk);
      if (from < std::min(to, whole)) blocks(from, std::min(to, whole), length);
      if (to > whole) blocks(whole, to, upper[reduced] - whole * length);
    });
    std::vector<int64_t> low, high;
    for (int dim : shape_.results) {
      low.push_back(lower[static_cast<size_t>(dim)]);
      high.push_back(upper[static_cast<size_t>(dim)]);
    }
    low.push_back(first);
    high.push_back(last);
    functions_[1](buffers.data(), low.data(), high.data(), call.accumulate,
                  shape_.numbers[1].data());
  }

  std::vector<cpu::ReductionFunction> functions_;
  ReductionShape shape_;
  std::shared_ptr<const void> code_;
};

// Row-major strides of the parallel dimensions, in nest order.
std::vector<int64_t> result_strides(const LoopNest& nest, int64_t& total) {
  std::vector<int64_t> strides(nest.extents.size(), 0);
  total = 1;
  for (size_t d = nest.extents.size(); d-- > 0;) {
    if (nest.roles[d] != LoopRole::parallel) continue;
    strides[d] = total;
    total *= nest.extents[d];
  }
  return strides;
}

}  // namespace

cpu::ReductionCode block_reduction(const cpu::ReductionCode& whole) {
  cpu::ReductionCode code = whole;
  LoopNest& nest = code.nest;
  size_t reduced = static_cast<size_t>(nest.reduced_dim);
  int64_t results = 1;
  std::vector<int64_t> strides = result_strides(nest, results);
  for (ExprNode& node : nest.expr.nodes) {
    std::vector<int64_t>& c = node.access.affine.coefficients;
    c.resize(nest.extents.size(), 0);
    c.insert(c.begin(), c[reduced] * whole.block_length);
  }
  int64_t blocks = (nest.extents[reduced] + whole.block_length - 1) / whole.block_length;
  nest.extents.insert(nest.extents.begin(), blocks);
  nest.roles.insert(nest.roles.begin(), LoopRole::parallel);
  nest.extents[reduced + 1] = std::min(nest.extents[reduced + 1], whole.block_length);
  if (nest.vector_dim >= 0) ++nest.vector_dim;
  ++nest.reduced_dim;
  nest.rows_dim = -1;

  // The element in the accumulator's dtype, the combiner's identity to start from, and the scratch
  // to go to.
  DType dtype = whole.accumulators[0];
  int32_t root = nest.outputs[0].node;
  if (nest.expr.nodes[static_cast<size_t>(root)].dtype != dtype) {
    ExprNode convert;
    convert.op = OpKind::convert;
    convert.dtype = dtype;
    convert.operands = {root, -1, -1};
    convert.access.affine.coefficients.assign(nest.extents.size(), 0);
    root = nest.expr.add(convert);
  }
  ExprNode identity;
  identity.kind = ExprNode::Kind::constant;
  identity.dtype = dtype;
  identity.bits[0] = identity_bits(*code.reduction.combiner, dtype);
  code.reduction.initial = {nest.expr.add(identity)};
  Access store;
  store.affine.coefficients = {results};
  store.affine.coefficients.insert(store.affine.coefficients.end(), strides.begin(), strides.end());
  nest.outputs = {{root, store}};
  code.output_dtypes = {dtype};
  return code;
}

cpu::ReductionCode combining_reduction(const cpu::ReductionCode& whole, int inputs) {
  const LoopNest& from = whole.nest;
  int64_t results = 1;
  std::vector<int64_t> strides = result_strides(from, results);
  cpu::ReductionCode code;
  code.reduction.combiner = whole.reduction.combiner;
  code.form = ReductionForm::fold;
  code.accumulators = whole.accumulators;
  code.first_output = inputs + 1;
  LoopNest& nest = code.nest;
  nest.small_index = from.small_index;
  // Parallel dimensions keep their order; the blocks come last.
  DimMap map;
  Access load;
  for (size_t d = 0; d < from.extents.size(); ++d) {
    bool kept = from.roles[d] == LoopRole::parallel;
    map.target.push_back(kept ? map.rank : -1);
    map.leads.push_back(kept);
    if (!kept) continue;
    ++map.rank;
    nest.extents.push_back(from.extents[d]);
    nest.roles.push_back(LoopRole::parallel);
    load.affine.coefficients.push_back(strides[d]);
  }
  ++map.rank;
  load.affine.coefficients.push_back(results);
  int64_t blocks = (from.extents[static_cast<size_t>(from.reduced_dim)] + whole.block_length - 1) /
                   whole.block_length;
  nest.extents.push_back(blocks);
  nest.roles.push_back(LoopRole::reduced);
  nest.reduced_dim = map.rank - 1;
  nest.vector_dim = map.rank - 2;  // -1 when there is a single result
  nest.expr = from.expr;
  remap(nest.expr, map);
  nest.outputs = from.outputs;
  remap(nest.outputs, map);
  ExprNode partial;
  partial.kind = ExprNode::Kind::load;
  partial.dtype = whole.accumulators[0];
  partial.input = inputs;
  partial.access = load;
  int32_t node = nest.expr.add(partial);
  code.reduction.initial = whole.reduction.initial;
  code.block_length = blocks;
  code.output_dtypes = whole.output_dtypes;
  nest.outputs[0].node = node;
  return code;
}

std::shared_ptr<const CompiledKernel> make_compiled_reduction(
    std::vector<cpu::ReductionFunction> functions, ReductionShape shape,
    std::shared_ptr<const void> code) {
  return std::make_shared<CompiledReduction>(std::move(functions), std::move(shape),
                                             std::move(code));
}

}  // namespace ullage
