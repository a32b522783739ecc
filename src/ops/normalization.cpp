// Batch normalisation: inference, training and gradient.
#include <fmt/format.h>

#include "ops/rules.h"

namespace ullage::ops {

namespace {

// Operand 0 is the activation; operands `first` to `last` are per-feature vectors.
Status check_features(const OpView& view, size_t first, size_t last, int size_rule) {
  const Type& operand = view.operands[0];
  int64_t feature = std::get<BatchNormAttributes>(view.attributes).feature_index;
  if (!operand.is_tensor() || feature < 0 || feature >= operand.rank())
    return violation(view, 1, fmt::format("feature_index {} of {}", feature, to_string(operand)));
  if (!(element_class(operand) & kFloat))
    return violation(view, 0,
                     "the operand must be of a floating-point type, found " + to_string(operand));
  for (const Type& other : view.operands)
    if (!other.is_tensor() || !same_element(other, operand))
      return violation(
          view, 2,
          fmt::format("element types differ: {} and {}", to_string(operand), to_string(other)));
  for (size_t i = first; i <= last; ++i) {
    const Type& vector = view.operands[i];
    if (vector.rank() != 1 ||
        !dims_agree(vector.shape[0], operand.shape[static_cast<size_t>(feature)]))
      return violation(view, size_rule,
                       fmt::format("operand {} is {}, expected one element per feature of {}", i,
                                   to_string(vector), to_string(operand)));
  }
  return Ok{};
}

Result<Types> infer_inference(const OpView& view) {
  if (auto status = check_features(view, 1, 4, 3); !status) return status.diagnostics();
  return Types{view.operands[0]};
}

Result<Types> infer_training(const OpView& view) {
  if (auto status = check_features(view, 1, 2, 3); !status) return status.diagnostics();
  return Types{view.operands[0], view.operands[1], view.operands[1]};
}

Result<Types> infer_grad(const OpView& view) {
  if (auto status = check_features(view, 1, 3, 5); !status) return status.diagnostics();
  if (!compatible_shapes(view.operands[0].shape, view.operands[4].shape))
    return violation(view, 3,
                     fmt::format("operand and grad_output differ in shape: {} and {}",
                                 to_string(view.operands[0]), to_string(view.operands[4])));
  return Types{view.operands[0], view.operands[1], view.operands[1]};
}

}  // namespace

void add_normalization_rules(RuleTable& table) {
  constexpr size_t kBatchNorm = attribute_index<BatchNormAttributes>();
  row(table, OpKind::batch_norm_inference) = {infer_inference, kBatchNorm, 0, "(C7)"};
  row(table, OpKind::batch_norm_training) = {infer_training, kBatchNorm, 0, "(C7)"};
  row(table, OpKind::batch_norm_grad) = {infer_grad, kBatchNorm, 0, "(C3)"};
}

}  // namespace ullage::ops
