// Operations on narrow elements by way of wider ones, which hold all their values.
#include <array>
#include <numeric>

#include "normalize/expand.h"

namespace ullage {

namespace {

// The type that an element is computed in: itself, unless it is narrow.
DType widened(DType dtype) {
  if (is_float(dtype)) return bit_width(dtype) < 16 ? DType::f32 : dtype;
  if (dtype == DType::i1) return DType::ui8;
  if (!is_int(dtype) || bit_width(dtype) >= 8) return dtype;
  return is_signed_int(dtype) ? DType::i8 : DType::ui8;
}

}  // namespace

bool expand_convolution(const Module&, OpMaker& maker, Op* op) {
  Value *lhs = op->operand(0), *rhs = op->operand(1);
  const Type type = op->result()->type;
  auto narrow = [](DType dtype) { return widened(dtype) != dtype; };
  if (!narrow(lhs->type.dtype) && !narrow(rhs->type.dtype) && !narrow(type.dtype)) return false;
  bool real = is_float(lhs->type.dtype) || is_float(rhs->type.dtype);
  auto wide = [&](Value* value) {
    return maker.convert(value, real ? DType::f32 : widened(value->type.dtype));
  };
  // Sums of integers wrap as those of the narrower type do; a truth value is that of the sum.
  DType sum = real || is_float(type.dtype) ? DType::f32
              : narrow(type.dtype)         ? DType::i32
                                           : type.dtype;
  Value* result = maker.make(OpKind::convolution, {wide(lhs), wide(rhs)},
                             Type::tensor(sum, type.shape), op->attributes);
  maker.replace_with({maker.convert(result, type.dtype)});
  return true;
}

// Of f64 with a result in fewer bits: the sum is rounded once.
bool expand_narrowing_product(const Module&, OpMaker& maker, Op* op) {
  Value *lhs = op->operand(0), *rhs = op->operand(1);
  const Type type = op->result()->type;
  if (lhs->type.dtype != DType::f64 || rhs->type.dtype != DType::f64 || !is_float(type.dtype) ||
      type.dtype == DType::f64 || op->as<DotAttributes>().algorithm)
    return false;
  Value* sum = maker.make(OpKind::dot_general, {lhs, rhs}, Type::tensor(DType::f64, type.shape),
                          op->attributes);
  maker.replace_with({maker.convert(sum, type.dtype)});
  return true;
}

// The places of the largest of what the elements become, and the elements from there: of NaNs the
// wider type would not keep every bit.
bool expand_top_k(const Module&, OpMaker& maker, Op* op) {
  Value* operand = op->operand(0);
  DType wide = widened(operand->type.dtype);
  if (operand->type.dtype == DType::i1 || wide == operand->type.dtype) return false;
  const Type values = op->result(0)->type, places = op->result(1)->type;
  std::array<Value*, 1> operands = {maker.convert(operand, wide)};
  std::array<Type, 2> results = {Type::tensor(wide, values.shape), places};
  Value* found = maker.op(OpKind::chlo_top_k, operands, results, op->attributes)->result(1);
  GatherAttributes gather;
  gather.slice_sizes.assign(operand->type.shape.size(), 1);
  gather.index_vector_dim = places.rank();
  gather.start_index_map = {places.rank() - 1};
  gather.collapsed_slice_dims = gather.start_index_map;
  gather.operand_batching_dims.resize(places.shape.size() - 1);
  std::iota(gather.operand_batching_dims.begin(), gather.operand_batching_dims.end(), 0);
  gather.start_indices_batching_dims = gather.operand_batching_dims;
  maker.replace_with({maker.make(OpKind::gather, {operand, found}, values, gather), found});
  return true;
}

bool expand_decomposition(const Module&, OpMaker& maker, Op* op) {
  const Type type = op->result()->type;
  DType wide = widened(type.dtype);
  if (wide == type.dtype) return false;
  std::vector<Value*> operands;
  for (Value* operand : op->operands()) operands.push_back(maker.convert(operand, wide));
  Type result = Type::tensor(wide, type.shape);
  Value* value = maker.op(op->kind, operands, {&result, 1}, op->attributes)->result();
  maker.replace_with({maker.convert(value, type.dtype)});
  return true;
}

}  // namespace ullage
