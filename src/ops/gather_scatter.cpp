// gather and scatter: the two operations addressed by index vectors.
#include <fmt/format.h>

#include "ops/rules.h"

namespace ullage::ops {

namespace {

// Extents of the index tensor without its index vector dimension.
Dims batch_sizes(const Type& indices, int64_t index_vector_dim) {
  return without(indices.shape, {index_vector_dim});
}

// Puts `window` at the positions `window_dims` of a shape and `batch` at the others.
Dims combine(const Dims& batch, const Dims& window, const Dims& window_dims) {
  Dims out;
  size_t b = 0, w = 0;
  for (size_t i = 0; i < batch.size() + window.size(); ++i) {
    bool is_window = contains(window_dims, static_cast<int64_t>(i));
    out.push_back(is_window && w < window.size() ? window[w++]
                  : b < batch.size()             ? batch[b++]
                                                 : window[w++]);
  }
  return out;
}

int64_t index_vector_size(const Type& indices, int64_t index_vector_dim) {
  return index_vector_dim < indices.rank() ? indices.shape[static_cast<size_t>(index_vector_dim)]
                                           : 1;
}

// gather, and dynamic_gather whose slice sizes are an operand: numbering follows gather.
Result<Types> infer_gather(const OpView& view) {
  const auto& a = std::get<GatherAttributes>(view.attributes);
  const Type& operand = view.operands[0];
  const Type& indices = view.operands[1];
  if (!operand.is_tensor() || !indices.is_tensor() || !(element_class(indices) & kInteger))
    return violation(view, 0, "needs a tensor and integer indices");
  int64_t rank = operand.rank();
  if (static_cast<size_t>(rank) !=
      a.offset_dims.size() + a.collapsed_slice_dims.size() + a.operand_batching_dims.size())
    return violation(
        view, 1,
        fmt::format("{} offset, {} collapsed and {} batching dimensions for an operand of rank {}",
                    a.offset_dims.size(), a.collapsed_slice_dims.size(),
                    a.operand_batching_dims.size(), rank));
  if (a.index_vector_dim < 0 || a.index_vector_dim > indices.rank())
    return violation(
        view, 2, fmt::format("index_vector_dim {} for {}", a.index_vector_dim, to_string(indices)));
  int64_t vector_size = index_vector_size(indices, a.index_vector_dim);
  if (!dims_agree(vector_size, static_cast<int64_t>(a.start_index_map.size())))
    return violation(view, 3,
                     fmt::format("start_index_map {} for index vectors of {} elements",
                                 shape_string(a.start_index_map), vector_size));
  if (!all_unique(a.offset_dims) || !all_sorted(a.offset_dims))
    return violation(view, 4,
                     "offset_dims must be sorted and unique: " + shape_string(a.offset_dims));
  Dims batch = batch_sizes(indices, a.index_vector_dim);
  auto result_rank = static_cast<int64_t>(batch.size() + a.offset_dims.size());
  if (!all_in_range(a.offset_dims, 0, result_rank))
    return violation(view, 5,
                     fmt::format("offset_dims {} for a result of rank {}",
                                 shape_string(a.offset_dims), result_rank));
  if (!all_unique(concat(a.collapsed_slice_dims, a.operand_batching_dims)))
    return violation(view, 6, "collapsed_slice_dims and operand_batching_dims overlap");
  if (!all_sorted(a.collapsed_slice_dims))
    return violation(
        view, 7, "collapsed_slice_dims must be sorted: " + shape_string(a.collapsed_slice_dims));
  if (!all_in_range(a.collapsed_slice_dims, 0, rank))
    return violation(view, 8,
                     "collapsed_slice_dims out of range: " + shape_string(a.collapsed_slice_dims));
  if (!all_sorted(a.operand_batching_dims))
    return violation(
        view, 10, "operand_batching_dims must be sorted: " + shape_string(a.operand_batching_dims));
  if (!all_in_range(a.operand_batching_dims, 0, rank))
    return violation(
        view, 11, "operand_batching_dims out of range: " + shape_string(a.operand_batching_dims));
  if (!all_unique(a.start_indices_batching_dims))
    return violation(view, 13, "start_indices_batching_dims repeat");
  if (!all_in_range(a.start_indices_batching_dims, 0, indices.rank()))
    return violation(view, 14, "start_indices_batching_dims out of range");
  if (contains(a.start_indices_batching_dims, a.index_vector_dim))
    return violation(view, 15, "index_vector_dim is a batching dimension");
  if (a.operand_batching_dims.size() != a.start_indices_batching_dims.size())
    return violation(view, 16,
                     "operand and start indices have different numbers of batching dimensions");
  for (size_t i = 0; i < a.operand_batching_dims.size(); ++i)
    if (!dims_agree(operand.shape[static_cast<size_t>(a.operand_batching_dims[i])],
                    indices.shape[static_cast<size_t>(a.start_indices_batching_dims[i])]))
      return violation(view, 17, "batching dimensions of operand and start indices differ in size");
  if (!all_unique(concat(a.start_index_map, a.operand_batching_dims)))
    return violation(view, 18, "start_index_map and operand_batching_dims overlap");
  if (!all_in_range(a.start_index_map, 0, rank))
    return violation(view, 19, "start_index_map out of range: " + shape_string(a.start_index_map));
  if (view.kind == OpKind::dynamic_gather) {
    Dims window(a.offset_dims.size(), kDynamic);
    return Types{with_shape(operand, combine(batch, window, a.offset_dims))};
  }
  if (a.slice_sizes.size() != operand.shape.size())
    return violation(
        view, 20,
        fmt::format("slice_sizes {} for {}", shape_string(a.slice_sizes), to_string(operand)));
  for (size_t d = 0; d < a.slice_sizes.size(); ++d)
    if (a.slice_sizes[d] < 0 ||
        (operand.shape[d] != kDynamic && a.slice_sizes[d] > operand.shape[d]))
      return violation(view, 21,
                       fmt::format("slice_sizes {} do not fit in {}", shape_string(a.slice_sizes),
                                   to_string(operand)));
  for (int64_t d : a.collapsed_slice_dims)
    if (a.slice_sizes[static_cast<size_t>(d)] > 1)
      return violation(view, 9,
                       fmt::format("collapsed dimension {} has slice size {}", d,
                                   a.slice_sizes[static_cast<size_t>(d)]));
  for (int64_t d : a.operand_batching_dims)
    if (a.slice_sizes[static_cast<size_t>(d)] > 1)
      return violation(view, 12,
                       fmt::format("batching dimension {} has slice size {}", d,
                                   a.slice_sizes[static_cast<size_t>(d)]));
  Dims window = without(a.slice_sizes, concat(a.collapsed_slice_dims, a.operand_batching_dims));
  return Types{with_shape(operand, combine(batch, window, a.offset_dims))};
}

Result<Types> infer_scatter(const OpView& view) {
  const auto& a = std::get<ScatterAttributes>(view.attributes);
  if (view.operands.size() < 3 || view.operands.size() % 2 == 0)
    return violation(view, 5, "needs as many updates as inputs, and scatter_indices between them");
  size_t n = view.operands.size() / 2;
  auto inputs = view.operands.first(n);
  const Type& indices = view.operands[n];
  auto updates = view.operands.subspan(n + 1);
  if (!indices.is_tensor() || !(element_class(indices) & kInteger))
    return violation(view, 0, "scatter_indices must be integers, found " + to_string(indices));
  for (size_t i = 0; i < n; ++i) {
    if (!inputs[i].is_tensor() || !compatible_shapes(inputs[i].shape, inputs[0].shape))
      return violation(view, 1, "inputs must have the same shape");
    if (!updates[i].is_tensor() || !compatible_shapes(updates[i].shape, updates[0].shape))
      return violation(view, 3, "updates must have the same shape");
    if (!same_element(inputs[i], updates[i]))
      return violation(view, 6,
                       fmt::format("element types differ: {} and {}", to_string(inputs[i]),
                                   to_string(updates[i])));
  }
  int64_t rank = inputs[0].rank();
  if (static_cast<size_t>(rank) !=
      a.update_window_dims.size() + a.inserted_window_dims.size() + a.input_batching_dims.size())
    return violation(
        view, 2,
        fmt::format("{} window, {} inserted and {} batching dimensions for inputs of rank {}",
                    a.update_window_dims.size(), a.inserted_window_dims.size(),
                    a.input_batching_dims.size(), rank));
  if (!all_unique(a.update_window_dims) || !all_sorted(a.update_window_dims))
    return violation(
        view, 7,
        "update_window_dims must be sorted and unique: " + shape_string(a.update_window_dims));
  if (!all_in_range(a.update_window_dims, 0, updates[0].rank()))
    return violation(view, 8,
                     "update_window_dims out of range: " + shape_string(a.update_window_dims));
  if (!all_unique(concat(a.inserted_window_dims, a.input_batching_dims)))
    return violation(view, 9, "inserted_window_dims and input_batching_dims overlap");
  if (!all_sorted(a.inserted_window_dims))
    return violation(view, 10, "inserted_window_dims must be sorted");
  if (!all_in_range(a.inserted_window_dims, 0, rank))
    return violation(view, 11,
                     "inserted_window_dims out of range: " + shape_string(a.inserted_window_dims));
  if (!all_sorted(a.input_batching_dims))
    return violation(view, 12, "input_batching_dims must be sorted");
  if (!all_in_range(a.input_batching_dims, 0, rank))
    return violation(view, 13,
                     "input_batching_dims out of range: " + shape_string(a.input_batching_dims));
  if (!all_unique(a.scatter_indices_batching_dims))
    return violation(view, 14, "scatter_indices_batching_dims repeat");
  if (!all_in_range(a.scatter_indices_batching_dims, 0, indices.rank()))
    return violation(view, 15, "scatter_indices_batching_dims out of range");
  if (contains(a.scatter_indices_batching_dims, a.index_vector_dim))
    return violation(view, 16, "index_vector_dim is a batching dimension");
  if (a.input_batching_dims.size() != a.scatter_indices_batching_dims.size())
    return violation(view, 17,
                     "inputs and scatter_indices have different numbers of batching dimensions");
  for (size_t i = 0; i < a.input_batching_dims.size(); ++i)
    if (!dims_agree(inputs[0].shape[static_cast<size_t>(a.input_batching_dims[i])],
                    indices.shape[static_cast<size_t>(a.scatter_indices_batching_dims[i])]))
      return violation(view, 18,
                       "batching dimensions of inputs and scatter_indices differ in size");
  if (a.index_vector_dim < 0 || a.index_vector_dim > indices.rank())
    return violation(
        view, 22,
        fmt::format("index_vector_dim {} for {}", a.index_vector_dim, to_string(indices)));
  int64_t vector_size = index_vector_size(indices, a.index_vector_dim);
  if (!dims_agree(vector_size, static_cast<int64_t>(a.scatter_dims_to_operand_dims.size())))
    return violation(view, 19,
                     fmt::format("scatter_dims_to_operand_dims {} for index vectors of {} elements",
                                 shape_string(a.scatter_dims_to_operand_dims), vector_size));
  if (!all_unique(concat(a.scatter_dims_to_operand_dims, a.input_batching_dims)))
    return violation(view, 20, "scatter_dims_to_operand_dims and input_batching_dims overlap");
  if (!all_in_range(a.scatter_dims_to_operand_dims, 0, rank))
    return violation(view, 21, "scatter_dims_to_operand_dims out of range");
  Dims batch = batch_sizes(indices, a.index_vector_dim);
  Dims limits = without(inputs[0].shape, concat(a.inserted_window_dims, a.input_batching_dims));
  if (updates[0].shape.size() != batch.size() + limits.size())
    return violation(view, 4,
                     fmt::format("updates of type {} for scatter_indices {} and inputs {}",
                                 to_string(updates[0]), to_string(indices), to_string(inputs[0])));
  size_t b = 0, w = 0;
  for (size_t d = 0; d < updates[0].shape.size(); ++d) {
    int64_t extent = updates[0].shape[d];
    bool is_window = contains(a.update_window_dims, static_cast<int64_t>(d));
    int64_t limit = is_window ? limits[w++] : batch[b++];
    bool fits = is_window ? extent == kDynamic || limit == kDynamic || extent <= limit
                          : dims_agree(extent, limit);
    if (!fits)
      return violation(view, 4,
                       fmt::format("dimension {} of the updates is {}, expected {}{}", d, extent,
                                   is_window ? "at most " : "", limit));
  }
  Types results(inputs.begin(), inputs.end());
  if (!view.regions.empty()) {
    Signature body = signature(*view.regions[0]);
    bool fits = body.arguments.size() == 2 * n && body.results.size() == n;
    for (size_t i = 0; fits && i < n; ++i)
      fits = body.results[i].is_tensor() && body.results[i].rank() == 0 &&
             compatible(body.arguments[i], body.results[i]) &&
             compatible(body.arguments[n + i], body.results[i]);
    if (!fits)
      return violation(view, 23,
                       "the update computation must take and return one scalar per input, twice");
    for (size_t i = 0; i < n; ++i) results[i] = with_shape(body.results[i], inputs[i].shape);
  }
  return results;
}

}  // namespace

void add_gather_scatter_rules(RuleTable& table) {
  row(table, OpKind::gather) = {infer_gather, attribute_index<GatherAttributes>(), 0, "(C22)"};
  row(table, OpKind::dynamic_gather) = {infer_gather, attribute_index<GatherAttributes>(), 0,
                                        "(C13)"};
  row(table, OpKind::scatter) = {infer_scatter, attribute_index<ScatterAttributes>(), 1, "(C24)"};
}

}  // namespace ullage::ops
