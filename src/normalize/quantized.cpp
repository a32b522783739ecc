// Quantized tensors become their stored integers. Operations on the numbers that these stand for
// are done on such numbers: operands are converted by (stored - zero point) * scale, results back
// by round(clamp(x / scale + zero point)), each step rounded to the expressed type, as the
// specification's dequantize_op_quantize says. The conversions are elementwise and fuse into the
// kernels around them; what only moves elements moves the integers.
#include <cmath>

#include "normalize/op_maker.h"
#include "normalize/rewrite.h"

namespace ullage {

namespace {

bool is_quantized(const Op& op) {
  for (Value* value : op.operands())
    if (value->type.quantized) return true;
  for (Value* value : op.results())
    if (value->type.quantized) return true;
  return false;
}

// Done on the stored integers, or by the operations of the regions.
bool keeps_stored(const Op& op) {
  if (op.num_regions() > 0) return true;
  switch (op.kind) {
    case OpKind::bitcast_convert:
    case OpKind::broadcast:
    case OpKind::concatenate:
    case OpKind::constant:
    case OpKind::dynamic_slice:
    case OpKind::dynamic_update_slice:
    case OpKind::gather:
    case OpKind::broadcast_in_dim:
    case OpKind::optimization_barrier:
    case OpKind::pad:
    case OpKind::reshape:
    case OpKind::reverse:
    case OpKind::slice:
    case OpKind::transpose:
    case OpKind::call:
    case OpKind::composite:
    case OpKind::custom_call:
    case OpKind::tuple:
    case OpKind::get_tuple_element:
      return true;
    default:
      return has_trait(op.kind, kTerminator) || info(op.kind).family == OpFamily::check;
  }
}

// A scale or zero point for every element: one number, or one per index of the quantized dimension.
template <typename T>
Value* parameter(OpMaker& maker, const Type& type, DType dtype, const std::vector<T>& values) {
  const Quantization& q = *type.quantized;
  Type all = Type::tensor(dtype, type.shape);
  if (!q.dimension) return maker.splat(all, static_cast<double>(values[0]));
  std::vector<double> numbers(values.begin(), values.end());
  DType exact = is_float(dtype) && bit_width(dtype) < 32 ? DType::f32 : dtype;
  Value* vector = maker.convert(maker.vector(exact, numbers), dtype);
  return maker.broadcast(vector, type.shape, {*q.dimension});
}

Value* dequantize(OpMaker& maker, Value* value) {
  const Type type = value->type;
  if (!type.quantized) return value;
  const Quantization& q = *type.quantized;
  // Differences of integers below 32 bits fit 32.
  DType wide = bit_width(q.storage) < 32 ? DType::i32 : DType::i64;
  Value* stored = maker.convert(value, wide);
  bool shifted = false;
  for (int64_t zero_point : q.zero_points) shifted |= zero_point != 0;
  if (shifted)
    stored = maker.same(OpKind::subtract, {stored, parameter(maker, type, wide, q.zero_points)});
  Value* number = maker.convert(stored, q.expressed);
  return maker.same(OpKind::multiply, {number, parameter(maker, type, q.expressed, q.scales)});
}

Value* quantize(OpMaker& maker, Value* value, const Type& type) {
  const Quantization& q = *type.quantized;
  Value* x = maker.convert(value, q.expressed);
  const Type real = x->type;
  x = maker.same(OpKind::divide, {x, parameter(maker, type, q.expressed, q.scales)});
  x = maker.same(OpKind::add, {x, parameter(maker, type, q.expressed, q.zero_points)});
  Value* is_nan = maker.compare(CompareDirection::ne, x, x);
  x = maker.same(OpKind::clamp, {maker.splat(real, static_cast<double>(q.storage_min)), x,
                                 maker.splat(real, static_cast<double>(q.storage_max))});
  x = maker.same(OpKind::round_nearest_even, {x});
  x = maker.make(OpKind::select, {is_nan, maker.splat(real, 0), x}, real);
  // The conversion saturates; a narrower range whose ends the float cannot hold is kept as
  // integers.
  DType wide = bit_width(q.storage) < 32 ? DType::i32 : DType::i64;
  x = maker.convert(x, wide);
  x = maker.same(OpKind::clamp,
                 {maker.integer(x->type, q.storage_min), x, maker.integer(x->type, q.storage_max)});
  return maker.convert(x, q.storage);
}

void expand(Function& function, Op* op) {
  OpMaker maker(function, op);
  std::vector<Value*> real;
  for (Value* operand : op->operands()) real.push_back(dequantize(maker, operand));
  if (op->kind != OpKind::uniform_quantize && op->kind != OpKind::uniform_dequantize) {
    std::vector<Type> types;
    for (Value* result : op->results()) {
      const Type& type = result->type;
      types.push_back(type.quantized ? Type::tensor(type.quantized->expressed, type.shape) : type);
    }
    Op* computed = maker.op(op->kind, real, types, op->attributes);
    real.assign(computed->results().begin(), computed->results().end());
  }
  for (size_t i = 0; i < real.size(); ++i) {
    const Type& type = op->result(i)->type;
    real[i] = type.quantized ? quantize(maker, real[i], type) : maker.convert(real[i], type.dtype);
    // Readers still dequantize by the type; it goes when all of them are done.
    real[i]->type.quantized = type.quantized;
  }
  maker.replace_with(real);
}

void strip(Type& type) {
  type.quantized = nullptr;
  for (Type& element : type.elements) strip(element);
}

void strip_region(Region& region) {
  for (Value* argument : region.arguments()) strip(argument->type);
  for (Op* op : region) {
    for (Value* result : op->results()) strip(result->type);
    if (op->kind == OpKind::constant) strip(op->as<ConstantAttributes>().value.type);
    for (size_t i = 0; i < op->num_regions(); ++i) strip_region(op->nested(i));
  }
}

}  // namespace

Status expand_quantized(Module& module, const NormalizeOptions& options) {
  bool any = false;
  for (const auto& function : module.functions) {
    std::vector<Op*> expanded;
    bool found = false;
    auto look = [&](Value* value) { found |= value->type.quantized != nullptr; };
    for (Value* argument : function->body().arguments()) look(argument);
    walk(function->body(), [&](Op* op) {
      for (Value* result : op->results()) look(result);
      if (is_quantized(*op) && !keeps_stored(*op)) expanded.push_back(op);
    });
    if (options.leaves(*function)) continue;
    any |= found;
    for (Op* op : expanded) expand(*function, op);
  }
  if (!any) return Ok{};
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    for (Type& type : function->result_types) strip(type);
    strip_region(function->body());
  }
  return Ok{};
}

}  // namespace ullage
