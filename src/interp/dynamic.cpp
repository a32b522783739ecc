// Operations whose result shape is a run-time value: the shape is read from an operand, checked,
// and the static counterpart's definition applied.
#include <fmt/format.h>

#include <algorithm>

#include "interp/eval.h"
#include "interp/index_space.h"
#include "ops/infer.h"

namespace ullage::interp {

namespace {

Dims read_dims(const Tensor& t) {
  Dims out;
  for (int64_t k = 0; k < t.num_elements(); ++k) out.push_back(t.int_at(k));
  return out;
}

// The declared type with the extents of `shape`, which must agree with it and not be negative.
Result<Type> run_time_type(Evaluation& e, const Dims& shape) {
  Type type = e.op.result()->type;
  bool fits = compatible_shapes(type.shape, shape) &&
              std::all_of(shape.begin(), shape.end(), [](int64_t d) { return d >= 0; });
  if (!fits) {
    Type found = type;
    found.shape = shape;
    return e.problem(
        fmt::format("the run-time shape {} does not fit {}", to_string(found), to_string(type)));
  }
  type.shape = shape;
  type.bounds.clear();
  return type;
}

// Evaluates a static operation in place of the dynamic one.
Result<Tensors> evaluate_as(Evaluation& e, OpKind kind, Attributes attributes, Tensors operands,
                            const Type& result) {
  Function scratch("scratch");
  std::vector<Value*> values;
  for (const Tensor& operand : operands) values.push_back(scratch.add_argument(operand.type()));
  Type types[] = {result};
  Op* op =
      scratch.create(scratch.body(), kind, values, types, std::move(attributes), e.op.location);
  Evaluation inner{*op, operands, {}, e.module, nullptr, nullptr};
  return evaluate_op(inner);
}

Result<Tensors> evaluate_dynamic_broadcast(Evaluation& e) {
  auto type = run_time_type(e, read_dims(e.operands[1]));
  if (!type) return type.diagnostics();
  const Dims& dims = e.op.as<DimsAttributes>().dims;
  Type operand[] = {e.operands[0].type()}, declared[] = {*type};
  if (auto checked =
          infer_types(OpKind::broadcast_in_dim, operand, DimsAttributes{dims, {}, {}}, declared);
      !checked)
    return checked.diagnostics();
  return evaluate_as(e, OpKind::broadcast_in_dim, DimsAttributes{dims, {}, {}}, {e.operands[0]},
                     *type);
}

Result<Tensors> evaluate_dynamic_iota(Evaluation& e) {
  auto type = run_time_type(e, read_dims(e.operands[0]));
  if (!type) return type.diagnostics();
  return evaluate_as(e, OpKind::iota, e.op.attributes, {}, *type);
}

Result<Tensors> evaluate_dynamic_reshape(Evaluation& e) {
  auto type = run_time_type(e, read_dims(e.operands[1]));
  if (!type) return type.diagnostics();
  return evaluate_as(e, OpKind::reshape, {}, {e.operands[0]}, *type);
}

Result<Tensors> evaluate_dynamic_pad(Evaluation& e) {
  PadAttributes a{read_dims(e.operands[2]), read_dims(e.operands[3]), read_dims(e.operands[4])};
  Type operands[] = {e.operands[0].type(), e.operands[1].type()};
  auto types = infer_types(OpKind::pad, operands, a);
  if (!types) return types.diagnostics();
  auto type = run_time_type(e, (*types)[0].shape);
  if (!type) return type.diagnostics();
  return evaluate_as(e, OpKind::pad, a, {e.operands[0], e.operands[1]}, *type);
}

Result<Tensors> evaluate_real_dynamic_slice(Evaluation& e) {
  SliceAttributes a{read_dims(e.operands[1]), read_dims(e.operands[2]), read_dims(e.operands[3])};
  Type operands[] = {e.operands[0].type()};
  auto types = infer_types(OpKind::slice, operands, a);
  if (!types) return types.diagnostics();
  auto type = run_time_type(e, (*types)[0].shape);
  if (!type) return type.diagnostics();
  return evaluate_as(e, OpKind::slice, a, {e.operands[0]}, *type);
}

Result<Tensors> evaluate_get_dimension_size(Evaluation& e) {
  int64_t extent = e.operands[0].shape()[static_cast<size_t>(e.op.as<DimAttributes>().dim)];
  return Tensors{Tensor::scalar<int32_t>(DType::i32, static_cast<int32_t>(extent))};
}

// Keeps the first elements of the dimension: what lies beyond the new size is no longer part of the
// tensor.
Result<Tensors> evaluate_set_dimension_size(Evaluation& e) {
  const Tensor& operand = e.operands[0];
  auto dim = static_cast<size_t>(e.op.as<DimAttributes>().dim);
  int64_t size = e.operands[1].int_at(0);
  if (size < 0 || size > operand.shape()[dim])
    return e.problem(
        fmt::format("size {} of dimension {} of {}", size, dim, to_string(operand.type())));
  SliceAttributes a{Dims(operand.shape().size(), 0), operand.shape(),
                    Dims(operand.shape().size(), 1)};
  a.limit[dim] = size;
  Type type = operand.type();
  type.shape[dim] = size;
  return evaluate_as(e, OpKind::slice, a, {operand}, type);
}

constexpr HandlerRow kRows[] = {
    {OpKind::dynamic_broadcast_in_dim, evaluate_dynamic_broadcast},
    {OpKind::dynamic_iota, evaluate_dynamic_iota},
    {OpKind::dynamic_reshape, evaluate_dynamic_reshape},
    {OpKind::dynamic_pad, evaluate_dynamic_pad},
    {OpKind::real_dynamic_slice, evaluate_real_dynamic_slice},
    {OpKind::get_dimension_size, evaluate_get_dimension_size},
    {OpKind::set_dimension_size, evaluate_set_dimension_size},
};

}  // namespace

std::span<const HandlerRow> dynamic_handlers() {
  return kRows;
}

}  // namespace ullage::interp
