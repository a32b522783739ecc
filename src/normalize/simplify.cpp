// Local rewrites that change no value, capped folding of constants, and dead code.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "interp/interpret.h"
#include "normalize/rewrite.h"
#include "ops/combiner.h"

namespace ullage {

const Literal* constant_value(const Value* value) {
  if (!value->op() || value->op()->kind != OpKind::constant) return nullptr;
  return &value->op()->as<ConstantAttributes>().value;
}

std::optional<double> splat_number(const Value* value) {
  const Op* made = value->op();
  if (made && made->kind == OpKind::broadcast_in_dim) value = made->operand(0);
  const Literal* literal = constant_value(value);
  if (!literal || literal->type.quantized || is_complex(literal->type.dtype) ||
      literal->type.num_elements() == 0 || !(literal->splat || literal->type.num_elements() == 1))
    return {};
  std::vector<std::byte> bytes(literal->element(0),
                               literal->element(0) + storage_bytes(literal->type.dtype));
  return Tensor::from(Literal::make(Type::tensor(literal->type.dtype, {}), std::move(bytes), true))
      .real_at(0);
}

bool is_positive_zero(const Value* value) {
  std::optional<double> number = splat_number(value);
  return number && *number == 0 && !std::signbit(*number);
}

bool is_ieee_float(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

namespace {

// Calls that say where a value should lie, and compute nothing.
bool is_annotation(const Op& op) {
  const std::string& target = op.as<CustomCallAttributes>().target;
  return target == "Sharding" || target == "annotate_device_placement";
}

bool is_iota_sequence(const Dims& dims) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != static_cast<int64_t>(i)) return false;
  return true;
}

// The operand that the operation merely repeats, or null.
Value* forwarded(const Op& op) {
  switch (op.kind) {
    case OpKind::convert:
    case OpKind::reshape:
    case OpKind::slice:
    case OpKind::bitcast_convert:
      return op.operand(0)->type == op.result()->type ? op.operand(0) : nullptr;
    case OpKind::broadcast_in_dim:
    case OpKind::transpose:
      if (!(op.operand(0)->type == op.result()->type) ||
          !is_iota_sequence(op.as<DimsAttributes>().dims))
        return nullptr;
      return op.operand(0);
    case OpKind::concatenate:
      return op.num_operands() == 1 ? op.operand(0) : nullptr;
    case OpKind::negate: {
      const Op* inner = op.operand(0)->op();
      return inner && inner->kind == OpKind::negate ? inner->operand(0) : nullptr;
    }
    case OpKind::sdy_sharding_constraint:
      return op.operand(0);
    case OpKind::custom_call:
      return is_annotation(op) && op.num_operands() == 1 && op.num_results() == 1 &&
                     op.operand(0)->type == op.result()->type
                 ? op.operand(0)
                 : nullptr;
    default:
      return nullptr;
  }
}

Op* make_constant(Function& function, Op* before, Literal literal) {
  Type type = literal.type;
  return function.create(*before->region(), OpKind::constant, {}, {&type, 1},
                         ConstantAttributes{std::move(literal)}, before->location, 0, before);
}

// A splat stays a splat under operations that only move elements.
std::optional<Literal> fold_splat_movement(const Op& op) {
  switch (op.kind) {
    case OpKind::broadcast_in_dim:
    case OpKind::broadcast:
    case OpKind::reshape:
    case OpKind::transpose:
    case OpKind::slice:
    case OpKind::reverse: {
      const Literal* literal = constant_value(op.operand(0));
      if (!literal || literal->type.quantized || !op.result()->type.is_static()) return {};
      if (!literal->splat && literal->type.num_elements() != 1) return {};
      std::vector<std::byte> bytes(literal->element(0),
                                   literal->element(0) + storage_bytes(literal->type.dtype));
      return Literal::make(op.result()->type, std::move(bytes), true);
    }
    case OpKind::bitcast_convert: {
      // Of elements of one byte again and again, whole or in parts.
      const Literal* literal = constant_value(op.operand(0));
      const Type& type = op.result()->type;
      if (!literal || literal->type.quantized || !type.is_static() || !literal->splat) return {};
      if (bit_width(literal->type.dtype) < 8 || bit_width(type.dtype) < 8) return {};
      const std::byte* first = literal->element(0);
      const int width = storage_bytes(literal->type.dtype);
      if (!std::all_of(first, first + width, [&](std::byte b) { return b == *first; })) return {};
      return Literal::make(
          type, std::vector<std::byte>(static_cast<size_t>(storage_bytes(type.dtype)), *first),
          true);
    }
    default:
      return {};
  }
}

bool is_splat(const Literal& literal) {
  return literal.splat || literal.type.num_elements() == 1;
}

// Evaluates an elementwise operation on one element of constants, with the interpreter, and makes
// the result a splat of `type`.
std::optional<Literal> fold_element(OpKind kind, const Attributes& attributes,
                                    std::span<const Literal* const> operands, const Type& type) {
  Function scratch("fold");
  std::vector<Value*> values;
  std::vector<Tensor> tensors;
  for (const Literal* literal : operands) {
    std::vector<std::byte> bytes(literal->element(0),
                                 literal->element(0) + storage_bytes(literal->type.dtype));
    Type scalar = Type::tensor(literal->type.dtype, {});
    tensors.push_back(Tensor::from(Literal::make(scalar, bytes, true)));
    values.push_back(scratch.body().add_argument(scalar));
  }
  Type scalar = Type::tensor(type.dtype, {});
  Op* one = scratch.create(scratch.body(), kind, values, {&scalar, 1}, attributes);
  Result<std::vector<Tensor>> result = evaluate(*one, tensors);
  if (!result) return {};
  const Tensor& folded = (*result)[0];
  return Literal::make(type, {folded.data(), folded.data() + folded.size_bytes()}, true);
}

// A reduction of equal elements that the first of them settles, in whatever order: zeros are
// added, a maximum is taken.
std::optional<Literal> fold_splat_reduction(const Op& op) {
  if (op.kind != OpKind::reduce || op.num_results() != 1) return {};
  const Literal* element = constant_value(op.operand(0));
  const Literal* initial = constant_value(op.operand(1));
  const Type& type = op.result()->type;
  std::optional<OpKind> combine = plain_combiner(op);
  if (!element || !initial || !combine || !is_splat(*element) || !type.is_static() ||
      type.quantized || op.operand(0)->type.num_elements() == 0)
    return {};
  std::array<const Literal*, 2> pair = {initial, element};
  std::optional<Literal> first = fold_element(*combine, {}, pair, type);
  pair = {element, element};
  std::optional<Literal> among = fold_element(*combine, {}, pair, type);
  if (!first || !among) return {};
  pair[0] = &*first;
  std::optional<Literal> second = fold_element(*combine, {}, pair, type);
  bool settled = second && *second->bytes == *first->bytes &&
                 std::memcmp(among->element(0), element->element(0), among->bytes->size()) == 0;
  return settled ? first : std::nullopt;
}

// Evaluates an operation on constants with the interpreter, on one element if all operands are
// splats.
std::optional<Literal> fold(const Op& op, const NormalizeOptions& options) {
  if (op.num_results() != 1 || op.num_operands() == 0 || op.num_regions() != 0) return {};
  const Type& type = op.result()->type;
  if (!type.is_tensor() || !type.is_static() || type.quantized) return {};
  bool elementwise = has_trait(op.kind, kElementwise);
  if (!elementwise && !has_trait(op.kind, kIndexing) && op.kind != OpKind::bitcast_convert)
    return {};
  std::vector<const Literal*> literals;
  for (Value* operand : op.operands()) {
    const Literal* literal = constant_value(operand);
    if (!literal || literal->type.quantized) return {};
    literals.push_back(literal);
  }
  auto splat = [](const Literal* literal) { return is_splat(*literal); };
  if (elementwise && std::all_of(literals.begin(), literals.end(), splat))
    return fold_element(op.kind, op.attributes, literals, type);
  if (type.bytes() > options.fold_limit_bytes) return {};
  std::vector<Tensor> operands;
  for (const Literal* literal : literals) {
    if (literal->type.bytes() > options.fold_limit_bytes) return {};
    operands.push_back(Tensor::from(*literal));
  }
  Result<std::vector<Tensor>> result = evaluate(op, operands);
  if (!result) return {};
  const Tensor& folded = (*result)[0];
  return Literal::make(type, {folded.data(), folded.data() + folded.size_bytes()});
}

// reshape(reshape(x)) reads x; the same for nested conversions that lose nothing is left alone
// (rounding).
bool merge_reshapes(Op& op) {
  if (op.kind != OpKind::reshape) return false;
  Op* inner = op.operand(0)->op();
  if (!inner || inner->kind != OpKind::reshape) return false;
  op.set_operand(0, inner->operand(0));
  return true;
}

// The greatest of -x, as the least of x is written, are those of x from the other end: negating
// turns IEEE 754's totalOrder around. Then -x, which a search needs in memory, need not exist.
bool search_from_the_other_end(Function& function, Op* op) {
  if (op->kind != OpKind::chlo_top_k || !is_float(op->operand(0)->type.dtype)) return false;
  const Op* negated = op->operand(0)->op();
  if (!negated || negated->kind != OpKind::negate) return false;
  TopKAttributes attributes = op->as<TopKAttributes>();
  attributes.largest = !attributes.largest;
  Value* operand = negated->operand(0);
  std::array<Type, 2> types = {op->result(0)->type, op->result(1)->type};
  Op* search = function.create(*op->region(), OpKind::chlo_top_k, {&operand, 1}, types, attributes,
                               op->location, 0, op);
  Value* values = search->result(0);
  Op* back = function.create(*op->region(), OpKind::negate, {&values, 1}, {types.data(), 1}, {},
                             op->location, 0, op);
  op->result(0)->replace_all_uses_with(back->result());
  op->result(1)->replace_all_uses_with(search->result(1));
  op->erase();
  return true;
}

// Results that the callee returns under one name are one value.
void merge_equal_results(const Module& module, Op& call) {
  const Function* callee = module.find(call.as<CallAttributes>().callee);
  if (!callee) return;
  const Op* end = callee->body().terminator();
  for (size_t i = 0; i < call.num_results(); ++i)
    for (size_t j = i + 1; j < call.num_results(); ++j)
      if (end->operand(i) == end->operand(j)) call.result(j)->replace_all_uses_with(call.result(i));
}

void simplify_region(const Module& module, Function& function, Region& region,
                     const NormalizeOptions& options) {
  for (Op* op : region) {
    for (size_t i = 0; i < op->num_regions(); ++i)
      simplify_region(module, function, op->nested(i), options);
    while (merge_reshapes(*op)) {
    }
    if (op->kind == OpKind::call) merge_equal_results(module, *op);
    if (search_from_the_other_end(function, op)) continue;
    if (op->num_results() != 1 || op->kind == OpKind::constant) continue;
    if (Value* value = forwarded(*op)) {
      op->result()->replace_all_uses_with(value);
      op->erase();
      continue;
    }
    std::optional<Literal> literal = fold_splat_movement(*op);
    if (!literal) literal = fold_splat_reduction(*op);
    if (!literal) literal = fold(*op, options);
    if (!literal) continue;
    op->result()->replace_all_uses_with(make_constant(function, op, std::move(*literal))->result());
    op->erase();
  }
}

bool has_effect(const Module& module, const Op& op) {
  if (op.kind == OpKind::custom_call && is_annotation(op)) return false;
  if (has_trait(op.kind, kTerminator)) return true;
  if (op.kind == OpKind::call) {
    const Function* callee = module.find(op.as<CallAttributes>().callee);
    return !callee || !is_pointwise(module, *callee);
  }
  if (op.kind == OpKind::case_ || op.kind == OpKind::if_ || op.kind == OpKind::while_) {
    // A loop that is not counted might not end; dropping it would hide that, but its results are
    // all that counts.
    for (size_t i = 0; i < op.num_regions(); ++i)
      for (Op* inner : op.nested(i))
        if (!has_trait(inner->kind, kTerminator) && has_effect(module, *inner)) return true;
    return false;
  }
  return !has_trait(op.kind, kPure);
}

bool unused(const Op& op) {
  return std::all_of(op.results().begin(), op.results().end(),
                     [](Value* result) { return !result->has_uses(); });
}

void remove_dead_in(const Module& module, Region& region) {
  Op* prev = nullptr;
  for (Op* op = region.last(); op; op = prev) {
    prev = op->prev();
    if (!has_trait(op->kind, kTerminator) && unused(*op) && !has_effect(module, *op)) {
      op->erase();
      continue;
    }
    for (size_t i = 0; i < op->num_regions(); ++i) remove_dead_in(module, op->nested(i));
  }
}

}  // namespace

void simplify_function(const Module& module, Function& function, const NormalizeOptions& options) {
  simplify_region(module, function, function.body(), options);
  remove_dead_ops(module, function);
}

void remove_dead_ops(const Module& module, Function& function) {
  remove_dead_in(module, function.body());
}

Status simplify(Module& module, const NormalizeOptions& options) {
  for (const auto& function : module.functions)
    if (!options.leaves(*function)) simplify_function(module, *function, options);
  return Ok{};
}

Status remove_dead(Module& module, const NormalizeOptions& options) {
  for (const auto& function : module.functions)
    if (!options.leaves(*function)) remove_dead_ops(module, *function);
  return Ok{};
}

}  // namespace ullage
