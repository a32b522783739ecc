#include "kernels/scatter.h"

#include <algorithm>

#include "kernels/affine.h"

namespace ullage {

namespace {

bool contains(const Dims& dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

// Dimensions below `rank` that are not in `dims`.
Dims others(int64_t rank, const Dims& dims) {
  Dims out;
  for (int64_t d = 0; d < rank; ++d)
    if (!contains(dims, d)) out.push_back(d);
  return out;
}

}  // namespace

std::optional<ScatterKernel> scatter_kernel(Op* op, const ExprContext& context, Op*& failure) {
  using Dim = ScatterKernel::Dim;
  const auto& a = op->as<ScatterAttributes>();
  size_t count = op->num_results();
  const std::vector<int64_t>& shape = op->operand(0)->type.shape;
  Value* indices = op->operand(count);
  const std::vector<int64_t>& update_shape = op->operand(count + 1)->type.shape;
  int64_t rank = static_cast<int64_t>(shape.size());
  int64_t update_rank = static_cast<int64_t>(update_shape.size());
  Dims positions = others(update_rank, a.update_window_dims);  // of the updates
  Dims removed = a.inserted_window_dims;
  removed.insert(removed.end(), a.input_batching_dims.begin(), a.input_batching_dims.end());
  Dims window_dims = others(rank, removed);  // of the operand

  ScatterKernel kernel;
  std::vector<int64_t> loop_of(update_shape.size(), -1);
  for (size_t d = 0; d < update_shape.size(); ++d) {
    if (update_shape[d] == 1) continue;
    loop_of[d] = static_cast<int64_t>(kernel.extents.size());
    kernel.extents.push_back(update_shape[d]);
    kernel.dims.push_back(Dim::position);
  }
  ExprBuilder builder(kernel.expr, context, kernel.extents.size());
  IndexVector update_index;
  for (int64_t loop : loop_of)
    update_index.push_back(loop < 0 ? builder.constant_index(0)
                                    : builder.loop_index(static_cast<size_t>(loop)));

  // Index of the target in each dimension of the operand.
  IndexVector position_index;
  for (int64_t d : positions) position_index.push_back(update_index[static_cast<size_t>(d)]);
  IndexVector target(shape.size(), builder.constant_index(0));
  for (size_t i = 0; i < a.scatter_dims_to_operand_dims.size(); ++i) {
    IndexVector at = position_index;
    if (a.index_vector_dim < indices->type.rank())
      at.insert(at.begin() + a.index_vector_dim, builder.constant_index(static_cast<int64_t>(i)));
    std::optional<int32_t> start = builder.wide_integer(indices, at);
    if (!start) {
      failure = builder.failure();
      return {};
    }
    Index& index = target[static_cast<size_t>(a.scatter_dims_to_operand_dims[i])];
    if (std::optional<Affine> affine = affine_value(kernel.expr, *start, kernel.extents))
      index.affine = *affine;
    else
      index.dynamic.push_back({*start, 1});
  }
  for (size_t i = 0; i < a.input_batching_dims.size(); ++i) {
    int64_t at = a.scatter_indices_batching_dims[i];
    if (at > a.index_vector_dim) --at;
    target[static_cast<size_t>(a.input_batching_dims[i])] = position_index[static_cast<size_t>(at)];
  }
  bool single = std::all_of(positions.begin(), positions.end(),
                            [&](int64_t d) { return update_shape[static_cast<size_t>(d)] == 1; });
  for (size_t i = 0; i < window_dims.size(); ++i) {
    size_t within = static_cast<size_t>(a.update_window_dims[i]);
    bool moved = contains(a.scatter_dims_to_operand_dims, window_dims[i]);
    if (loop_of[within] >= 0)
      kernel.dims[static_cast<size_t>(loop_of[within])] =
          moved && !single ? Dim::window : Dim::parallel;
    Index& index = target[static_cast<size_t>(window_dims[i])];
    index = builder.add(index, update_index[within]);
  }
  // An index that is a function of one position alone is different for every such position.
  for (const Index& index : target) {
    if (!index.dynamic.empty()) continue;
    int64_t only = -1, terms = 0;
    for (size_t d = 0; d < index.affine.coefficients.size(); ++d)
      if (index.affine.coefficients[d] != 0) only = static_cast<int64_t>(d), ++terms;
    if (terms == 1) kernel.dims[static_cast<size_t>(only)] = Dim::parallel;
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (target[d].dynamic.empty()) {
      Interval range = bounds(target[d].affine, kernel.extents);
      if (range.lowest >= 0 && range.highest < shape[d]) continue;
    }
    kernel.in_range = builder.both(kernel.in_range, builder.range_node(target[d], 0, shape[d]));
  }
  Access store = builder.address(shape, target);
  for (size_t i = 0; i < count; ++i) {
    Value* updates = op->operand(count + 1 + i);
    std::vector<int32_t> update = builder.evaluate_parts(updates, update_index);
    if (update.empty()) {
      failure = builder.failure();
      return {};
    }
    add_output(kernel.outputs, updates->type.dtype, static_cast<int32_t>(i), update, store);
  }
  return kernel;
}

}  // namespace ullage
