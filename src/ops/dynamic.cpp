// Operations whose result shape is a run-time value. Inference checks what the static types tell
// and otherwise takes the declared type.
#include <fmt/format.h>

#include "ops/rules.h"

namespace ullage::ops {

namespace {

Result<Type> declared_type(const OpView& view, int shape_operand) {
  if (view.declared.size() != 1 || !view.declared[0].is_tensor())
    return violation(view, 0, "the result type must be given, as one tensor");
  const Type& declared = view.declared[0];
  const Type& shape = view.operands[static_cast<size_t>(shape_operand)];
  if (!shape.is_tensor() || shape.rank() != 1 || !(element_class(shape) & kInteger))
    return violation(view, 0,
                     "a shape operand must be a vector of integers, found " + to_string(shape));
  if (!dims_agree(shape.shape[0], declared.rank()))
    return violation(view,
                     view.kind == OpKind::dynamic_broadcast_in_dim ? 7
                     : view.kind == OpKind::dynamic_reshape        ? 4
                                                                   : 2,
                     fmt::format("a shape of {} elements for a result of type {}", shape.shape[0],
                                 to_string(declared)));
  return declared;
}

Result<Types> infer_dynamic_broadcast_in_dim(const OpView& view) {
  auto declared = declared_type(view, 1);
  if (!declared) return declared.diagnostics();
  const auto& a = std::get<DimsAttributes>(view.attributes);
  const Type& operand = view.operands[0];
  if (!operand.is_tensor() || !same_element(operand, *declared))
    return violation(
        view, 1,
        fmt::format("element types differ: {} to {}", to_string(operand), to_string(*declared)));
  if (a.dims.size() != operand.shape.size())
    return violation(
        view, 2,
        fmt::format("broadcast_dimensions {} for {}", shape_string(a.dims), to_string(operand)));
  if (!all_in_range(a.dims, 0, declared->rank()))
    return violation(
        view, 3,
        fmt::format("broadcast_dimensions {} for {}", shape_string(a.dims), to_string(*declared)));
  if (!all_unique(a.dims)) return violation(view, 4, "broadcast_dimensions repeat");
  for (size_t d = 0; d < a.dims.size(); ++d)
    if (operand.shape[d] != 1 &&
        !dims_agree(operand.shape[d], declared->shape[static_cast<size_t>(a.dims[d])]))
      return violation(view, 5,
                       fmt::format("dimension {} of {} cannot become dimension {} of {}", d,
                                   to_string(operand), a.dims[d], to_string(*declared)));
  if (!all_unique(concat(a.known_expanding, a.known_nonexpanding)))
    return violation(view, 8,
                     "known_expanding_dimensions and known_nonexpanding_dimensions overlap");
  if (!all_in_range(a.known_expanding, 0, operand.rank()))
    return violation(view, 9, "known_expanding_dimensions out of range");
  if (!all_in_range(a.known_nonexpanding, 0, operand.rank()))
    return violation(view, 10, "known_nonexpanding_dimensions out of range");
  return Types{*declared};
}

Result<Types> infer_dynamic_iota(const OpView& view) {
  auto declared = declared_type(view, 0);
  if (!declared) return declared.diagnostics();
  int64_t dim = std::get<DimAttributes>(view.attributes).dim;
  if (dim < 0 || dim >= declared->rank())
    return violation(view, 1, fmt::format("iota_dimension {} of {}", dim, to_string(*declared)));
  return Types{*declared};
}

Result<Types> infer_dynamic_reshape(const OpView& view) {
  auto declared = declared_type(view, 1);
  if (!declared) return declared.diagnostics();
  const Type& operand = view.operands[0];
  if (!operand.is_tensor() || !same_element(operand, *declared))
    return violation(
        view, 1,
        fmt::format("element types differ: {} to {}", to_string(operand), to_string(*declared)));
  if (operand.is_static() && declared->is_static() &&
      operand.num_elements() != declared->num_elements())
    return violation(view, 2,
                     fmt::format("{} and {} have different numbers of elements", to_string(operand),
                                 to_string(*declared)));
  return Types{*declared};
}

Result<Types> infer_dynamic_pad(const OpView& view) {
  auto declared = declared_type(view, 2);
  if (!declared) return declared.diagnostics();
  if (!same_element(view.operands[0], view.operands[1]) ||
      !same_element(view.operands[0], *declared))
    return violation(view, 1, "operand, padding value and result must have the same element type");
  return Types{*declared};
}

Result<Types> infer_real_dynamic_slice(const OpView& view) {
  auto declared = declared_type(view, 1);
  if (!declared) return declared.diagnostics();
  if (!same_element(view.operands[0], *declared))
    return violation(view, 0, "operand and result must have the same element type");
  return Types{*declared};
}

Result<Types> infer_get_dimension_size(const OpView& view) {
  int64_t dim = std::get<DimAttributes>(view.attributes).dim;
  if (dim < 0 || dim >= view.operands[0].rank())
    return violation(view, 1, fmt::format("dimension {} of {}", dim, to_string(view.operands[0])));
  return Types{Type::tensor(DType::i32, {})};
}

Result<Types> infer_set_dimension_size(const OpView& view) {
  int64_t dim = std::get<DimAttributes>(view.attributes).dim;
  const Type& operand = view.operands[0];
  if (dim < 0 || dim >= operand.rank())
    return violation(view, 1, fmt::format("dimension {} of {}", dim, to_string(operand)));
  if (view.declared.size() == 1 && compatible(view.declared[0], operand))
    return Types{view.declared[0]};
  Type result = operand;
  result.shape[static_cast<size_t>(dim)] = kDynamic;
  return Types{result};
}

}  // namespace

void add_dynamic_rules(RuleTable& table) {
  constexpr size_t kDim = attribute_index<DimAttributes>();
  row(table, OpKind::dynamic_broadcast_in_dim) = {infer_dynamic_broadcast_in_dim,
                                                  attribute_index<DimsAttributes>(), 0, "(C5)"};
  row(table, OpKind::dynamic_iota) = {infer_dynamic_iota, kDim, 0, "(C2)"};
  row(table, OpKind::dynamic_reshape) = {infer_dynamic_reshape, 0, 0, "(C2)"};
  row(table, OpKind::dynamic_pad) = {infer_dynamic_pad, 0, 0, "(C4)"};
  row(table, OpKind::real_dynamic_slice) = {infer_real_dynamic_slice, 0, 0, ""};
  row(table, OpKind::get_dimension_size) = {infer_get_dimension_size, kDim, 0, ""};
  row(table, OpKind::set_dimension_size) = {infer_set_dimension_size, kDim, 0, ""};
}

}  // namespace ullage::ops
