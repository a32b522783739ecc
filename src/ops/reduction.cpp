// Reductions, windowed reductions and sorting.
#include <fmt/format.h>

#include "ops/rules.h"

namespace ullage::ops {

namespace {

// A body over N accumulators: (E..., E...) -> (E...), all scalars. Fills the element types of
// `results`.
Status check_body(const OpView& view, size_t n, int constraint, Types& results) {
  if (view.regions.empty()) return Ok{};
  Signature body = signature(*view.regions[0]);
  bool fits = body.arguments.size() == 2 * n && body.results.size() == n;
  for (size_t i = 0; fits && i < n; ++i)
    fits = body.results[i].is_tensor() && body.results[i].rank() == 0 &&
           compatible(body.arguments[i], body.results[i]) &&
           compatible(body.arguments[n + i], body.results[i]);
  if (!fits)
    return violation(
        view, constraint,
        fmt::format("the body must take {} scalars and return {} of the same types", 2 * n, n));
  for (size_t i = 0; i < n; ++i) results[i] = with_shape(body.results[i], results[i].shape);
  return Ok{};
}

Status check_inputs(const OpView& view, int count_rule, int shape_rule, int element_rule) {
  size_t n = view.operands.size() / 2;
  if (n == 0 || view.operands.size() % 2 != 0)
    return violation(view, count_rule, "needs as many init values as inputs, at least one");
  for (size_t i = 0; i < n; ++i) {
    const Type& input = view.operands[i];
    const Type& init = view.operands[n + i];
    if (!input.is_tensor() || !compatible_shapes(input.shape, view.operands[0].shape))
      return violation(view, shape_rule, "inputs must have the same shape");
    if (!init.is_tensor() || init.rank() != 0 || !same_element(input, init))
      return violation(
          view, element_rule,
          fmt::format("init value {} for an input {}", to_string(init), to_string(input)));
  }
  return Ok{};
}

Result<Types> infer_reduce(const OpView& view) {
  if (auto status = check_inputs(view, 3, 1, 2); !status) return status.diagnostics();
  size_t n = view.operands.size() / 2;
  const Dims& dims = std::get<DimsAttributes>(view.attributes).dims;
  const Type& input = view.operands[0];
  if (!all_in_range(dims, 0, input.rank()))
    return violation(view, 4,
                     fmt::format("dimensions {} of {}", shape_string(dims), to_string(input)));
  if (!all_unique(dims)) return violation(view, 5, "dimensions repeat: " + shape_string(dims));
  Types results;
  for (size_t i = 0; i < n; ++i)
    results.push_back(with_shape(view.operands[n + i], without(view.operands[i].shape, dims)));
  if (auto status = check_body(view, n, 6, results); !status) return status.diagnostics();
  return results;
}

// One entry per dimension (or none, meaning the default), all positive.
Status check_window_field(const OpView& view, const Dims& field, std::string_view name,
                          int size_rule, bool required) {
  size_t rank = view.operands[0].shape.size();
  if (field.size() != rank && (required || !field.empty()))
    return violation(
        view, size_rule,
        fmt::format("{} {} for {}", name, shape_string(field), to_string(view.operands[0])));
  if (!all_in_range(field, 1, INT64_MAX))
    return violation(view, size_rule + 1,
                     fmt::format("{} must be positive: {}", name, shape_string(field)));
  return Ok{};
}

Result<Types> infer_reduce_window(const OpView& view) {
  if (auto status = check_inputs(view, 1, 2, 3); !status) return status.diagnostics();
  const auto& a = std::get<WindowAttributes>(view.attributes);
  size_t n = view.operands.size() / 2, rank = view.operands[0].shape.size();
  struct Field {
    const Dims& dims;
    std::string_view name;
    int rule;
  } fields[] = {{a.window_dimensions, "window_dimensions", 4},
                {a.window_strides, "window_strides", 6},
                {a.base_dilations, "base_dilations", 8},
                {a.window_dilations, "window_dilations", 10}};
  for (const Field& f : fields)
    if (auto status = check_window_field(view, f.dims, f.name, f.rule, f.rule == 4); !status)
      return status.diagnostics();
  if (!a.padding.empty() && a.padding.size() != rank)
    return violation(view, 12, "padding needs one pair per dimension");
  std::vector<int64_t> shape(rank);
  for (size_t d = 0; d < rank; ++d)
    shape[d] =
        num_windows({.size = view.operands[0].shape[d],
                     .window = a.window_dimensions[d],
                     .stride = a.window_strides.empty() ? 1 : a.window_strides[d],
                     .low = a.padding.empty() ? 0 : a.padding[d].first,
                     .high = a.padding.empty() ? 0 : a.padding[d].second,
                     .base_dilation = a.base_dilations.empty() ? 1 : a.base_dilations[d],
                     .window_dilation = a.window_dilations.empty() ? 1 : a.window_dilations[d]});
  Types results;
  for (size_t i = 0; i < n; ++i) results.push_back(with_shape(view.operands[n + i], shape));
  if (auto status = check_body(view, n, 13, results); !status) return status.diagnostics();
  return results;
}

Result<Types> infer_select_and_scatter(const OpView& view) {
  const auto& a = std::get<WindowAttributes>(view.attributes);
  const Type& operand = view.operands[0];
  const Type& source = view.operands[1];
  const Type& init = view.operands[2];
  if (!operand.is_tensor() || !source.is_tensor() || !same_element(operand, source))
    return violation(
        view, 1,
        fmt::format("element types differ: {} and {}", to_string(operand), to_string(source)));
  if (!init.is_tensor() || init.rank() != 0 || !same_element(init, operand))
    return violation(
        view, 3,
        fmt::format("init value {} for an operand {}", to_string(init), to_string(operand)));
  size_t rank = operand.shape.size();
  if (auto status = check_window_field(view, a.window_dimensions, "window_dimensions", 4, true);
      !status)
    return status.diagnostics();
  if (auto status = check_window_field(view, a.window_strides, "window_strides", 6, false); !status)
    return status.diagnostics();
  if (!a.padding.empty() && a.padding.size() != rank)
    return violation(view, 8, "padding needs one pair per dimension");
  std::vector<int64_t> windows(rank);
  for (size_t d = 0; d < rank; ++d)
    windows[d] = num_windows({.size = operand.shape[d],
                              .window = a.window_dimensions[d],
                              .stride = a.window_strides.empty() ? 1 : a.window_strides[d],
                              .low = a.padding.empty() ? 0 : a.padding[d].first,
                              .high = a.padding.empty() ? 0 : a.padding[d].second});
  if (!compatible_shapes(windows, source.shape))
    return violation(view, 2,
                     fmt::format("source has type {}, expected shape {}", to_string(source),
                                 shape_string(windows)));
  if (view.regions.size() == 2) {
    Signature select = signature(*view.regions[0]), scatter = signature(*view.regions[1]);
    Type element = scalar_of(operand);
    if (select.arguments.size() != 2 || select.results.size() != 1 ||
        select.results[0].dtype != DType::i1 || !compatible(select.arguments[0], element) ||
        !compatible(select.arguments[1], element))
      return violation(view, 9, "select must take two scalars and return a tensor<i1>");
    if (scatter.arguments.size() != 2 || scatter.results.size() != 1 ||
        !compatible(scatter.arguments[0], scatter.results[0]) ||
        !compatible(scatter.arguments[1], scatter.results[0]))
      return violation(view, 10, "scatter must take two scalars and return one of the same type");
    return Types{with_shape(scatter.results[0], operand.shape)};
  }
  return Types{operand};
}

Result<Types> infer_sort(const OpView& view) {
  if (view.operands.empty()) return violation(view, 1, "needs at least one input");
  for (const Type& input : view.operands)
    if (!input.is_tensor() || !compatible_shapes(input.shape, view.operands[0].shape))
      return violation(view, 3, "inputs must have the same shape");
  int64_t dim = std::get<SortAttributes>(view.attributes).dimension, rank = view.operands[0].rank();
  if (dim < -rank || dim >= rank)
    return violation(view, 4, fmt::format("dimension {} of {}", dim, to_string(view.operands[0])));
  if (!view.regions.empty()) {
    Signature comparator = signature(*view.regions[0]);
    bool fits = comparator.arguments.size() == 2 * view.operands.size() &&
                comparator.results.size() == 1 && comparator.results[0].is_tensor() &&
                comparator.results[0].dtype == DType::i1;
    for (size_t i = 0; fits && i < comparator.arguments.size(); ++i)
      fits = compatible(comparator.arguments[i], scalar_of(view.operands[i / 2]));
    if (!fits)
      return violation(view, 5,
                       "the comparator must take two scalars per input and return a tensor<i1>");
  }
  return Types(view.operands.begin(), view.operands.end());
}

Result<Types> infer_top_k(const OpView& view) {
  const auto& a = std::get<TopKAttributes>(view.attributes);
  const Type& operand = view.operands[0];
  if (!operand.is_tensor() || operand.rank() == 0 ||
      !(element_class(operand) & (kBool | kInteger | kFloat)))
    return violation(view, 0,
                     "needs a tensor of numbers of rank 1 or more, found " + to_string(operand));
  if (a.k < 0 || (operand.shape.back() != kDynamic && a.k > operand.shape.back()))
    return violation(view, 0,
                     fmt::format("k = {} of a last dimension of {}", a.k, operand.shape.back()));
  std::vector<int64_t> shape = operand.shape;
  shape.back() = a.k;
  return Types{with_shape(operand, shape), Type::tensor(DType::i32, shape)};
}

}  // namespace

void add_reduction_rules(RuleTable& table) {
  row(table, OpKind::reduce) = {infer_reduce, attribute_index<DimsAttributes>(), 1, "(C7)"};
  row(table, OpKind::reduce_window) = {infer_reduce_window, attribute_index<WindowAttributes>(), 1,
                                       "(C15)"};
  row(table, OpKind::select_and_scatter) = {infer_select_and_scatter,
                                            attribute_index<WindowAttributes>(), 2, "(C11)"};
  row(table, OpKind::sort) = {infer_sort, attribute_index<SortAttributes>(), 1, "(C2)"};
  row(table, OpKind::chlo_top_k) = {infer_top_k, attribute_index<TopKAttributes>(), 0, ""};
}

}  // namespace ullage::ops
