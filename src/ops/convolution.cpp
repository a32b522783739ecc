// convolution and dynamic_conv.
#include <fmt/format.h>

#include "ops/products.h"
#include "ops/rules.h"

namespace ullage::ops {

namespace {

Dims with_ends(int64_t first, const Dims& middle, int64_t last) {
  Dims out{first};
  out.insert(out.end(), middle.begin(), middle.end());
  out.push_back(last);
  return out;
}

Result<Types> infer_convolution(const OpView& view) {
  const auto& a = std::get<ConvolutionAttributes>(view.attributes);
  const Type& lhs = view.operands[0];
  const Type& rhs = view.operands[1];
  if (!lhs.is_tensor() || !rhs.is_tensor() || lhs.rank() != rhs.rank() || lhs.rank() < 2)
    return violation(view, 1,
                     fmt::format("needs equal ranks of 2 or more, found {} and {}", to_string(lhs),
                                 to_string(rhs)));
  if (view.declared.size() == 1 && view.declared[0].is_tensor() &&
      !holds_products(lhs, rhs, view.declared[0]))
    return violation(view, 0,
                     fmt::format("products of {} and {} are not rounded to {}; convert what they "
                                 "give",
                                 to_string(lhs), to_string(rhs), to_string(view.declared[0])));
  int64_t rank = lhs.rank();
  auto spatial = static_cast<size_t>(rank - 2);
  struct Field {
    const Dims& dims;
    std::string_view name;
    int rule;
  } fields[] = {{a.window_strides, "window_strides", 2},
                {a.lhs_dilation, "lhs_dilation", 5},
                {a.rhs_dilation, "rhs_dilation", 7}};
  for (const Field& f : fields) {
    if (!f.dims.empty() && f.dims.size() != spatial)
      return violation(
          view, f.rule,
          fmt::format("{} {} for {} spatial dimensions", f.name, shape_string(f.dims), spatial));
    if (!all_in_range(f.dims, 1, INT64_MAX))
      return violation(view, f.rule + 1,
                       fmt::format("{} must be positive: {}", f.name, shape_string(f.dims)));
  }
  if (!a.padding.empty() && a.padding.size() != spatial)
    return violation(
        view, 4,
        fmt::format("{} padding pairs for {} spatial dimensions", a.padding.size(), spatial));
  if (!a.window_reversal.empty() && a.window_reversal.size() != spatial)
    return violation(view, 9,
                     fmt::format("{} window_reversal entries for {} spatial dimensions",
                                 a.window_reversal.size(), spatial));
  if (a.feature_group_count <= 0)
    return violation(view, 21, fmt::format("feature_group_count is {}", a.feature_group_count));
  if (a.batch_group_count <= 0)
    return violation(view, 22, fmt::format("batch_group_count is {}", a.batch_group_count));
  if (a.feature_group_count != 1 && a.batch_group_count != 1)
    return violation(view, 23, "feature_group_count and batch_group_count cannot both exceed 1");
  const ConvolutionDimensionNumbers& n = a.dims;
  struct Numbers {
    Dims all;
    size_t spatial;
    std::string_view name;
    int size_rule, range_rule;
  } numbers[] = {{with_ends(n.input_batch, n.input_spatial, n.input_feature),
                  n.input_spatial.size(), "input", 12, 13},
                 {with_ends(n.kernel_input_feature, n.kernel_spatial, n.kernel_output_feature),
                  n.kernel_spatial.size(), "kernel", 17, 18},
                 {with_ends(n.output_batch, n.output_spatial, n.output_feature),
                  n.output_spatial.size(), "output", 19, 20}};
  for (const Numbers& number : numbers) {
    if (number.spatial != spatial)
      return violation(
          view, number.size_rule,
          fmt::format("{} {} spatial dimensions for rank {}", number.spatial, number.name, rank));
    if (!all_unique(number.all) || !all_in_range(number.all, 0, rank))
      return violation(
          view, number.range_rule,
          fmt::format("{} dimensions {} for rank {}", number.name, shape_string(number.all), rank));
  }
  auto lhs_dim = [&](int64_t d) { return lhs.shape[static_cast<size_t>(d)]; };
  auto rhs_dim = [&](int64_t d) { return rhs.shape[static_cast<size_t>(d)]; };
  int64_t batch = lhs_dim(n.input_batch), features = lhs_dim(n.input_feature);
  int64_t kernel_in = rhs_dim(n.kernel_input_feature),
          kernel_out = rhs_dim(n.kernel_output_feature);
  if (batch != kDynamic && batch % a.batch_group_count != 0)
    return violation(view, 10,
                     fmt::format("batch size {} is not divisible by batch_group_count {}", batch,
                                 a.batch_group_count));
  if (features != kDynamic && features % a.feature_group_count != 0)
    return violation(view, 11,
                     fmt::format("{} input features are not divisible by feature_group_count {}",
                                 features, a.feature_group_count));
  if (features != kDynamic && !dims_agree(kernel_in, features / a.feature_group_count))
    return violation(view, 14,
                     fmt::format("the kernel has {} input features, expected {}", kernel_in,
                                 features / a.feature_group_count));
  if (kernel_out != kDynamic && kernel_out % a.batch_group_count != 0)
    return violation(view, 15,
                     fmt::format("{} output features are not divisible by batch_group_count {}",
                                 kernel_out, a.batch_group_count));
  if (kernel_out != kDynamic && kernel_out % a.feature_group_count != 0)
    return violation(view, 16,
                     fmt::format("{} output features are not divisible by feature_group_count {}",
                                 kernel_out, a.feature_group_count));
  if (!a.precision.empty() && a.precision.size() != 2)
    return violation(view, 24, fmt::format("precision_config has {} entries", a.precision.size()));
  if ((element_class(lhs) & kComplex) != (element_class(rhs) & kComplex))
    return violation(view, 27,
                     fmt::format("element types cannot be multiplied: {} and {}", to_string(lhs),
                                 to_string(rhs)));
  std::vector<int64_t> shape(static_cast<size_t>(rank));
  shape[static_cast<size_t>(n.output_batch)] =
      batch == kDynamic ? kDynamic : batch / a.batch_group_count;
  shape[static_cast<size_t>(n.output_feature)] = kernel_out;
  for (size_t i = 0; i < spatial; ++i) {
    bool fixed = view.kind == OpKind::convolution;
    shape[static_cast<size_t>(n.output_spatial[i])] =
        fixed ? num_windows({.size = lhs_dim(n.input_spatial[i]),
                             .window = rhs_dim(n.kernel_spatial[i]),
                             .stride = a.window_strides.empty() ? 1 : a.window_strides[i],
                             .low = a.padding.empty() ? 0 : a.padding[i].first,
                             .high = a.padding.empty() ? 0 : a.padding[i].second,
                             .base_dilation = a.lhs_dilation.empty() ? 1 : a.lhs_dilation[i],
                             .window_dilation = a.rhs_dilation.empty() ? 1 : a.rhs_dilation[i]})
              : kDynamic;
  }
  const Type& like =
      view.declared.size() == 1 && view.declared[0].is_tensor() ? view.declared[0] : lhs;
  return Types{with_shape(like, shape)};
}

}  // namespace

void add_convolution_rules(RuleTable& table) {
  for (OpKind kind : {OpKind::convolution, OpKind::dynamic_conv})
    row(table, kind) = {infer_convolution, attribute_index<ConvolutionAttributes>(), 0, "(C25)"};
}

}  // namespace ullage::ops
