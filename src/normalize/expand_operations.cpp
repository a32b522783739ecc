#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>

#include "normalize/expand.h"
#include "normalize/rewrite.h"

namespace ullage {

bool expand_map(const Module&, OpMaker& maker, Op* op) {
  Region& body = op->nested(0);
  const std::vector<int64_t>& shape = op->result()->type.shape;
  // Everything in the body has one element.
  auto forwards = [](const Op& inner) {
    return inner.kind == OpKind::reshape || inner.kind == OpKind::broadcast_in_dim ||
           inner.kind == OpKind::broadcast || inner.kind == OpKind::transpose;
  };
  for (Op* inner : body) {
    if (has_trait(inner->kind, kTerminator) || inner->kind == OpKind::constant) continue;
    if (!has_trait(inner->kind, kElementwise) && !forwards(*inner)) return false;
    if (inner->result()->type.num_elements() != 1) return false;
  }
  ValueMap map;
  for (size_t i = 0; i < op->num_operands(); ++i) map.set(body.argument(i), op->operand(i));
  for (Op* inner : body) {
    if (has_trait(inner->kind, kTerminator)) break;
    Type type = Type::tensor(inner->result()->type.dtype, shape);
    if (inner->kind == OpKind::constant) {
      const Literal& one = inner->as<ConstantAttributes>().value;
      std::vector<std::byte> bytes(one.element(0), one.element(0) + storage_bytes(one.type.dtype));
      map.set(inner->result(),
              maker.make(OpKind::constant, {}, type,
                         ConstantAttributes{Literal::make(type, std::move(bytes), true)}));
      continue;
    }
    std::vector<Value*> operands;
    for (Value* operand : inner->operands()) operands.push_back(map.lookup(operand));
    map.set(inner->result(),
            forwards(*inner)
                ? operands[0]
                : maker.op(inner->kind, operands, {&type, 1}, inner->attributes)->result());
  }
  maker.replace_with({map.lookup(body.terminator()->operand(0))});
  return true;
}

// Between elements below a byte and wider ones, which are stored in other numbers of bytes: parts
// of a wide element are its bits from the low ones up.
bool expand_bitcast(const Module&, OpMaker& maker, Op* op) {
  Value* operand = op->operand(0);
  const Type from = operand->type, to = op->result()->type;
  int from_bits = bit_width(from.dtype), to_bits = bit_width(to.dtype);
  int narrow = std::min(from_bits, to_bits), wide = std::max(from_bits, to_bits);
  if (narrow == wide || narrow >= 8 || is_complex(from.dtype) || is_complex(to.dtype)) return false;
  if (std::popcount(static_cast<unsigned>(narrow)) != 1 || wide % narrow != 0) return false;
  auto bits_of = [](int bits) {
    return bits == 1    ? DType::i1
           : bits == 2  ? DType::ui2
           : bits == 4  ? DType::ui4
           : bits == 8  ? DType::ui8
           : bits == 16 ? DType::ui16
           : bits == 32 ? DType::ui32
                        : DType::ui64;
  };
  auto as = [&](Value* value, DType dtype) {
    if (value->type.dtype == dtype) return value;
    return maker.make(OpKind::bitcast_convert, {value}, Type::tensor(dtype, value->type.shape));
  };
  // One dimension more than the wide elements: their parts. Small elements are shifted as bytes.
  const Type& parts = from_bits < to_bits ? from : to;
  DType computed = bits_of(std::max(wide, 8));
  Type shifted = Type::tensor(computed, parts.shape);
  int64_t last = static_cast<int64_t>(parts.shape.size()) - 1;
  Value* place = maker.make(OpKind::iota, {}, shifted, DimAttributes{last});
  Value* shift = maker.same(OpKind::multiply, {place, maker.integer(shifted, narrow)});
  Value* result = nullptr;
  if (from_bits < to_bits) {
    Value* bits = maker.convert(as(operand, bits_of(narrow)), computed);
    Value* sum = maker.sum(maker.same(OpKind::shift_left, {bits, shift}), {last});
    result = maker.convert(sum, bits_of(wide));
  } else {
    Value* bits = maker.convert(as(operand, bits_of(wide)), computed);
    Dims dims(from.shape.size());
    std::iota(dims.begin(), dims.end(), 0);
    bits = maker.broadcast(bits, parts.shape, dims);
    bits = maker.same(OpKind::shift_right_logical, {bits, shift});
    bits = maker.same(OpKind::and_, {bits, maker.integer(shifted, (int64_t{1} << narrow) - 1)});
    result = maker.convert(bits, bits_of(narrow));
  }
  maker.replace_with({as(result, to.dtype)});
  return true;
}

bool expand_collective(const Module&, OpMaker& maker, Op* op) {
  if (op->kind == OpKind::partition_id || op->kind == OpKind::replica_id) {
    maker.replace_with({maker.integer(op->result()->type, 0)});
    return true;
  }
  const auto& attributes = op->as<CollectiveAttributes>();
  if (op->kind == OpKind::collective_permute) {
    // Whoever is not sent anything gets zeros.
    const Dims& pairs = attributes.pairs;
    if (std::any_of(pairs.begin(), pairs.end(), [](int64_t d) { return d != 0; })) return false;
    Value* sent = op->operand(0);
    if (pairs.empty()) sent = maker.splat(sent->type, 0);
    maker.replace_with({sent});
    return true;
  }
  if (attributes.group_size > 1) return false;
  for (size_t i = 0; i < op->num_results(); ++i)
    if (!(op->operand(i)->type == op->result(i)->type)) return false;
  maker.replace_with(op->operands());
  return true;
}

namespace {

bool expand_dimension_size(const Module&, OpMaker& maker, Op* op) {
  int64_t extent = op->operand(0)->type.shape[static_cast<size_t>(op->as<DimAttributes>().dim)];
  if (extent == kDynamic) return false;
  maker.replace_with({maker.integer(op->result()->type, extent)});
  return true;
}

bool expand_tuple_element(const Module&, OpMaker& maker, Op* op) {
  Op* tuple = op->operand(0)->op();
  if (!tuple || tuple->kind != OpKind::tuple) return false;
  maker.replace_with({tuple->operand(static_cast<size_t>(op->as<DimAttributes>().dim))});
  return true;
}

struct Row {
  OpKind kind;
  bool (*expand)(const Module& module, OpMaker& maker, Op* op);
};
const Row kRows[] = {
    {OpKind::map, expand_map},
    {OpKind::bitcast_convert, expand_bitcast},
    {OpKind::dot, expand_dot},
    {OpKind::einsum, expand_einsum},
    {OpKind::unary_einsum, expand_einsum},
    {OpKind::torch_index_select, expand_index_select},
    {OpKind::batch_norm_inference, expand_batch_norm},
    {OpKind::batch_norm_training, expand_batch_norm},
    {OpKind::batch_norm_grad, expand_batch_norm},
    {OpKind::dot_general, expand_narrowing_product},
    {OpKind::convolution, expand_convolution},
    {OpKind::chlo_top_k, expand_top_k},
    {OpKind::cholesky, expand_decomposition},
    {OpKind::triangular_solve, expand_decomposition},
    {OpKind::chlo_ragged_dot, expand_ragged_dot},
    {OpKind::custom_call, expand_custom_call},
    {OpKind::get_dimension_size, expand_dimension_size},
    {OpKind::get_tuple_element, expand_tuple_element},
    {OpKind::partition_id, expand_collective},
    {OpKind::replica_id, expand_collective},
    {OpKind::all_gather, expand_collective},
    {OpKind::all_reduce, expand_collective},
    {OpKind::all_to_all, expand_collective},
    {OpKind::collective_broadcast, expand_collective},
    {OpKind::collective_permute, expand_collective},
    {OpKind::cross_replica_sum, expand_collective},
    {OpKind::reduce_scatter, expand_collective},
};

const Row* row_of(OpKind kind) {
  auto row = std::find_if(std::begin(kRows), std::end(kRows),
                          [&](const Row& r) { return r.kind == kind; });
  return row == std::end(kRows) ? nullptr : row;
}

bool is_static(const Op& op) {
  auto fixed = [](Value* value) { return value->type.is_static(); };
  std::vector<Value*> operands = op.operands();
  return std::all_of(operands.begin(), operands.end(), fixed) &&
         std::all_of(op.results().begin(), op.results().end(), fixed);
}

bool calls_in_map(const Function& function) {
  bool found = false;
  walk(function.body(), [&](Op* op) {
    if (op->kind == OpKind::map)
      walk(op->nested(0), [&](Op* inner) { found |= inner->kind == OpKind::call; });
  });
  return found;
}

}  // namespace

Status expand_operations(Module& module, const NormalizeOptions& options) {
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    for (int depth = 0; depth < 8 && calls_in_map(*function); ++depth)
      inline_into(module, *function, [](const Op&, const Function&) { return true; });
    std::vector<Op*> found;
    walk(function->body(), [&](Op* op) {
      if (row_of(op->kind) && is_static(*op)) found.push_back(op);
    });
    for (Op* op : found) {
      OpMaker maker(*function, op);
      row_of(op->kind)->expand(module, maker, op);
    }
  }
  return Ok{};
}

}  // namespace ullage
