// Data movement: operations whose result elements are operand elements or functions of their index.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/rules.h"

namespace ullage::ops {

namespace {

Result<Types> infer_constant(const OpView& view) {
  const Literal& value = std::get<ConstantAttributes>(view.attributes).value;
  return Types{value.type};
}

Result<const Type*> declared_tensor(const OpView& view) {
  if (view.declared.size() != 1 || !view.declared[0].is_tensor())
    return violation(view, 0, "the result type must be given, as one tensor");
  return &view.declared[0];
}

Result<Types> infer_iota(const OpView& view) {
  auto declared = declared_tensor(view);
  if (!declared) return declared.diagnostics();
  int64_t dim = std::get<DimAttributes>(view.attributes).dim;
  if (dim < 0 || dim >= (*declared)->rank())
    return violation(
        view, 1,
        fmt::format("iota_dimension {} is not a dimension of {}", dim, to_string(**declared)));
  if (element_class(**declared) == kBool)
    return violation(view, 0, "does not produce " + to_string(**declared));
  return Types{**declared};
}

Result<Types> infer_bitcast_convert(const OpView& view) {
  auto declared = declared_tensor(view);
  if (!declared) return declared.diagnostics();
  const Type& operand = view.operands[0];
  const Type& result = **declared;
  if (!operand.is_tensor()) return violation(view, 1, "the operand must be a tensor");
  if (is_complex(operand.dtype) != is_complex(result.dtype))
    return violation(view, 2, "converts complex types only to complex types");
  int from = bit_width(operand.dtype), to = bit_width(result.dtype);
  std::vector<int64_t> expected = operand.shape;
  bool fits = true;
  if (to < from) {
    fits = from % to == 0;
    expected.push_back(from / to);
  } else if (to > from) {
    fits = !expected.empty() && dims_agree(expected.back() * from, to);
    if (fits) expected.pop_back();
  }
  if (!fits || !compatible_shapes(expected, result.shape))
    return violation(
        view, 1, fmt::format("cannot reinterpret {} as {}", to_string(operand), to_string(result)));
  return Types{result};
}

Result<Types> infer_broadcast(const OpView& view) {
  const Dims& sizes = std::get<DimsAttributes>(view.attributes).dims;
  if (!all_in_range(sizes, 0, INT64_MAX))
    return violation(view, 0, "broadcast_sizes must not be negative, found " + shape_string(sizes));
  return Types{with_shape(view.operands[0], concat(sizes, view.operands[0].shape))};
}

Result<Types> infer_broadcast_in_dim(const OpView& view) {
  auto declared = declared_tensor(view);
  if (!declared) return declared.diagnostics();
  const Type& operand = view.operands[0];
  const Type& result = **declared;
  const Dims& dims = std::get<DimsAttributes>(view.attributes).dims;
  if (!operand.is_tensor() || !same_element(operand, result))
    return violation(
        view, 1,
        fmt::format("element types differ: {} to {}", to_string(operand), to_string(result)));
  if (dims.size() != operand.shape.size())
    return violation(view, 2,
                     fmt::format("broadcast_dimensions {} for an operand of rank {}",
                                 shape_string(dims), operand.rank()));
  if (!all_in_range(dims, 0, result.rank()))
    return violation(view, 3,
                     fmt::format("broadcast_dimensions {} for a result of rank {}",
                                 shape_string(dims), result.rank()));
  if (!all_unique(dims))
    return violation(view, 4, "broadcast_dimensions repeat: " + shape_string(dims));
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t extent = operand.shape[d], target = result.shape[static_cast<size_t>(dims[d])];
    if (extent != 1 && !dims_agree(extent, target))
      return violation(view, 5,
                       fmt::format("dimension {} of {} cannot become dimension {} of {}", d,
                                   to_string(operand), dims[d], to_string(result)));
  }
  return Types{result};
}

Result<Types> infer_concatenate(const OpView& view) {
  int64_t dim = std::get<DimAttributes>(view.attributes).dim;
  if (view.operands.empty()) return violation(view, 3, "needs at least one operand");
  const Type& first = view.operands[0];
  if (!first.is_tensor() || dim < 0 || dim >= first.rank())
    return violation(view, 4, fmt::format("dimension {} is not one of {}", dim, to_string(first)));
  Type result = with_shape(first, first.shape);
  auto at = static_cast<size_t>(dim);
  int64_t total = 0;
  for (const Type& operand : view.operands) {
    if (!operand.is_tensor() || !same_element(operand, first))
      return violation(
          view, 1,
          fmt::format("element types differ: {} and {}", to_string(first), to_string(operand)));
    std::vector<int64_t> shape = operand.shape;
    if (shape.size() == result.shape.size()) shape[at] = result.shape[at];
    if (!compatible_shapes(shape, result.shape))
      return violation(view, 2,
                       fmt::format("shapes differ outside dimension {}: {} and {}", dim,
                                   to_string(first), to_string(operand)));
    for (size_t d = 0; d < shape.size(); ++d)
      if (result.shape[d] == kDynamic) result.shape[d] = shape[d];
    total =
        total == kDynamic || operand.shape[at] == kDynamic ? kDynamic : total + operand.shape[at];
  }
  result.shape[at] = total;
  return Types{result};
}

Result<Types> infer_reshape(const OpView& view) {
  auto declared = declared_tensor(view);
  if (!declared) return declared.diagnostics();
  const Type& operand = view.operands[0];
  const Type& result = **declared;
  if (!operand.is_tensor() || !same_element(operand, result))
    return violation(
        view, 1,
        fmt::format("element types differ: {} to {}", to_string(operand), to_string(result)));
  if (operand.is_static() && result.is_static() && operand.num_elements() != result.num_elements())
    return violation(view, 2,
                     fmt::format("{} has {} elements, {} has {}", to_string(operand),
                                 operand.num_elements(), to_string(result), result.num_elements()));
  return Types{result};
}

Result<Types> infer_reverse(const OpView& view) {
  const Dims& dims = std::get<DimsAttributes>(view.attributes).dims;
  if (!all_unique(dims)) return violation(view, 2, "dimensions repeat: " + shape_string(dims));
  if (!all_in_range(dims, 0, view.operands[0].rank()))
    return violation(
        view, 3,
        fmt::format("dimensions {} of {}", shape_string(dims), to_string(view.operands[0])));
  return Types{view.operands[0]};
}

Result<Types> infer_slice(const OpView& view) {
  const auto& a = std::get<SliceAttributes>(view.attributes);
  const Type& operand = view.operands[0];
  size_t rank = operand.shape.size();
  if (a.start.size() != rank || a.limit.size() != rank || a.strides.size() != rank)
    return violation(view, 2,
                     "start_indices, limit_indices and strides need one entry per dimension of " +
                         to_string(operand));
  std::vector<int64_t> shape(rank);
  for (size_t d = 0; d < rank; ++d) {
    bool inside = operand.shape[d] == kDynamic || a.limit[d] <= operand.shape[d];
    if (a.start[d] < 0 || a.start[d] > a.limit[d] || !inside)
      return violation(view, 3,
                       fmt::format("[{}:{}] does not lie in dimension {} of {}", a.start[d],
                                   a.limit[d], d, to_string(operand)));
    if (a.strides[d] <= 0)
      return violation(view, 4, "strides must be positive: " + shape_string(a.strides));
    shape[d] = (a.limit[d] - a.start[d] + a.strides[d] - 1) / a.strides[d];
  }
  return Types{with_shape(operand, shape)};
}

Result<Types> infer_transpose(const OpView& view) {
  const Dims& permutation = std::get<DimsAttributes>(view.attributes).dims;
  const Type& operand = view.operands[0];
  if (permutation.size() != operand.shape.size() || !all_unique(permutation) ||
      !all_in_range(permutation, 0, operand.rank()))
    return violation(view, 2,
                     fmt::format("{} does not permute the dimensions of {}",
                                 shape_string(permutation), to_string(operand)));
  std::vector<int64_t> shape;
  for (int64_t d : permutation) shape.push_back(operand.shape[static_cast<size_t>(d)]);
  Type result = with_shape(operand, shape);
  if (result.quantized && view.declared.size() == 1) result = with_shape(view.declared[0], shape);
  return Types{result};
}

Result<Types> infer_pad(const OpView& view) {
  const auto& a = std::get<PadAttributes>(view.attributes);
  const Type& operand = view.operands[0];
  size_t rank = operand.shape.size();
  if (!operand.is_tensor() || !view.operands[1].is_tensor() ||
      !same_element(operand, view.operands[1]))
    return violation(view, 1,
                     fmt::format("element types differ: {} and {}", to_string(operand),
                                 to_string(view.operands[1])));
  if (view.operands[1].rank() != 0)
    return violation(view, 0,
                     "padding_value must be a scalar, found " + to_string(view.operands[1]));
  if (a.low.size() != rank || a.high.size() != rank || a.interior.size() != rank)
    return violation(view, 2, "paddings need one entry per dimension of " + to_string(operand));
  std::vector<int64_t> shape(rank, kDynamic);
  for (size_t d = 0; d < rank; ++d) {
    if (a.interior[d] < 0)
      return violation(view, 3,
                       "interior_padding must not be negative: " + shape_string(a.interior));
    int64_t extent = operand.shape[d];
    if (extent == kDynamic) continue;
    shape[d] = extent + a.low[d] + std::max<int64_t>(extent - 1, 0) * a.interior[d] + a.high[d];
    if (shape[d] < 0)
      return violation(view, 4, fmt::format("dimension {} of the result would be {}", d, shape[d]));
  }
  return Types{with_shape(operand, shape)};
}

// Start indices of dynamic_slice and dynamic_update_slice: scalars of one integer type, one per
// dimension.
Status check_starts(const OpView& view, size_t first, int count_rule, int type_rule) {
  const Type& operand = view.operands[0];
  if (view.operands.size() != first + operand.shape.size())
    return violation(view, count_rule,
                     fmt::format("{} start indices for an operand of rank {}",
                                 view.operands.size() - first, operand.rank()));
  for (const Type& start : view.operands.subspan(first)) {
    if (!start.is_tensor() || start.rank() != 0 || !(element_class(start) & kInteger))
      return violation(view, type_rule,
                       "start indices must be integer scalars, found " + to_string(start));
    if (start.dtype != view.operands[first].dtype)
      return violation(view, type_rule, "start indices must have the same type");
  }
  return Ok{};
}

Result<Types> infer_dynamic_slice(const OpView& view) {
  const Dims& sizes = std::get<DimsAttributes>(view.attributes).dims;
  if (view.operands.empty()) return violation(view, 2, "needs an operand");
  const Type& operand = view.operands[0];
  if (auto starts = check_starts(view, 1, 2, 3); !starts) return starts.diagnostics();
  if (sizes.size() != operand.shape.size())
    return violation(view, 2,
                     fmt::format("slice_sizes {} for {}", shape_string(sizes), to_string(operand)));
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] < 0 || (operand.shape[d] != kDynamic && sizes[d] > operand.shape[d]))
      return violation(
          view, 4,
          fmt::format("slice_sizes {} do not fit in {}", shape_string(sizes), to_string(operand)));
  return Types{with_shape(operand, sizes)};
}

Result<Types> infer_dynamic_update_slice(const OpView& view) {
  if (view.operands.size() < 2) return violation(view, 4, "needs an operand and an update");
  const Type& operand = view.operands[0];
  const Type& update = view.operands[1];
  if (!operand.is_tensor() || !update.is_tensor() || !same_element(operand, update))
    return violation(
        view, 2,
        fmt::format("element types differ: {} and {}", to_string(operand), to_string(update)));
  if (update.rank() != operand.rank())
    return violation(view, 3,
                     fmt::format("ranks differ: {} and {}", to_string(operand), to_string(update)));
  if (auto starts = check_starts(view, 2, 4, 5); !starts) return starts.diagnostics();
  for (size_t d = 0; d < update.shape.size(); ++d)
    if (update.shape[d] != kDynamic && operand.shape[d] != kDynamic &&
        update.shape[d] > operand.shape[d])
      return violation(
          view, 6,
          fmt::format("the update {} does not fit in {}", to_string(update), to_string(operand)));
  return Types{operand};
}

Result<Types> infer_torch_index_select(const OpView& view) {
  const Type& operand = view.operands[0];
  const Type& index = view.operands[1];
  if (view.declared.size() == 1) return Types{view.declared[0]};
  if (!operand.is_tensor() || !(element_class(index) & kInteger))
    return violation(view, 0, "needs a tensor and integer indices");
  return violation(view, 0, "the result type must be given");
}

}  // namespace

void add_movement_rules(RuleTable& table) {
  constexpr size_t kDims = attribute_index<DimsAttributes>();
  constexpr size_t kDim = attribute_index<DimAttributes>();
  row(table, OpKind::constant) = {infer_constant, attribute_index<ConstantAttributes>(), 0, "(C1)"};
  row(table, OpKind::iota) = {infer_iota, kDim, 0, "(C1)"};
  row(table, OpKind::bitcast_convert) = {infer_bitcast_convert, 0, 0, "(C1)"};
  row(table, OpKind::broadcast) = {infer_broadcast, kDims, 0, ""};
  row(table, OpKind::broadcast_in_dim) = {infer_broadcast_in_dim, kDims, 0, "(C5)"};
  row(table, OpKind::concatenate) = {infer_concatenate, kDim, 0, "(C6)"};
  row(table, OpKind::reshape) = {infer_reshape, 0, 0, "(C2)"};
  row(table, OpKind::reverse) = {infer_reverse, kDims, 0, "(C1)"};
  row(table, OpKind::slice) = {infer_slice, attribute_index<SliceAttributes>(), 0, "(C5)"};
  row(table, OpKind::transpose) = {infer_transpose, kDims, 0, "(C3)"};
  row(table, OpKind::pad) = {infer_pad, attribute_index<PadAttributes>(), 0, "(C4)"};
  row(table, OpKind::dynamic_slice) = {infer_dynamic_slice, kDims, 0, "(C5)"};
  row(table, OpKind::dynamic_update_slice) = {infer_dynamic_update_slice, 0, 0, "(C1)"};
  row(table, OpKind::torch_index_select) = {infer_torch_index_select, kDim, 0, ""};
}

}  // namespace ullage::ops
