#include "normalize/stack_ops.h"

#include <algorithm>

namespace ullage {

bool same_index(const Value* a, const Value* b, int depth) {
  if (a == b) return true;
  const Op* x = a->op();
  const Op* y = b->op();
  if (!x || !y || x->kind != y->kind || !(a->type == b->type) || depth > 4) return false;
  if (const Literal* literal = constant_value(a))
    return literal->type.num_elements() == 1 && is_int(literal->type.dtype) &&
           literal->int_at(0) == constant_value(b)->int_at(0);
  if (x->kind != OpKind::add && x->kind != OpKind::subtract && x->kind != OpKind::convert)
    return false;
  for (size_t i = 0; i < x->num_operands(); ++i)
    if (!same_index(x->operand(i), y->operand(i), depth + 1)) return false;
  return true;
}

static std::optional<int64_t> integer(const Value* value) {
  const Literal* literal = constant_value(value);
  if (!literal || literal->type.num_elements() != 1 || !is_int(literal->type.dtype)) return {};
  return literal->int_at(0);
}

bool covers(const Value* index, const Op& loop, const CountedLoop& counted, int64_t extent) {
  if (counted.trip_count != extent || counted.step != 1 || counted.start != 0) return false;
  const Value* counter = loop.nested(1).argument(counted.counter);
  if (index == counter) return true;
  int64_t taken = 0;  // off the minuend, after the counter
  const Op* op = index->op();
  while (op && op->kind == OpKind::subtract && op->operand(1) != counter) {
    std::optional<int64_t> constant = integer(op->operand(1));
    if (!constant) return false;
    taken += *constant;
    op = op->operand(0)->op();
  }
  if (!op || op->kind != OpKind::subtract) return false;
  std::optional<int64_t> from = integer(op->operand(0));
  return from && *from - taken == extent - 1;
}

Value* slice_index(const Op& op) {
  const std::vector<int64_t>& shape = op.operand(0)->type.shape;
  size_t starts = op.kind == OpKind::dynamic_slice ? 1 : 2;
  const std::vector<int64_t>& part =
      starts == 1 ? op.result()->type.shape : op.operand(1)->type.shape;
  if (shape.empty() || part[0] != 1 ||
      !std::equal(shape.begin() + 1, shape.end(), part.begin() + 1))
    return nullptr;
  return op.operand(starts);
}

Op* stack_writer(const Op& loop, const CountedLoop& counted, size_t i) {
  const Region& body = loop.nested(1);
  Value* next = body.terminator()->operand(i);
  Op* write = next->op();
  if (!write || write->kind != OpKind::dynamic_update_slice || write->region() != &body ||
      write->operand(0) != body.argument(i) || !next->has_one_use())
    return nullptr;
  Value* index = slice_index(*write);
  return index && covers(index, loop, counted, next->type.shape[0]) ? write : nullptr;
}

bool is_within(const Op* op, const Region& region) {
  for (const Region* at = op->region();; at = at->parent()->region()) {
    if (at == &region) return true;
    if (!at->parent()) return false;
  }
}

const Op* containing(const Op* op, const Region& region) {
  while (op && op->region() != &region) op = op->region()->parent();
  return op;
}

bool comes_before(const Op* a, const Op* b) {
  for (const Op* at = a; at; at = at->next())
    if (at == b) return a != b;
  return false;
}

Value* through_reshape(Value* value) {
  for (;;) {
    Op* op = value->op();
    if (!op || !value->has_one_use()) return value;
    bool unit = op->kind == OpKind::reshape ||
                (op->kind == OpKind::broadcast_in_dim &&
                 op->operand(0)->type.num_elements() == value->type.num_elements());
    if (!unit || !is_unit_reshape(op->operand(0)->type, value->type)) return value;
    if (op->kind == OpKind::broadcast_in_dim &&
        !std::is_sorted(op->as<DimsAttributes>().dims.begin(), op->as<DimsAttributes>().dims.end()))
      return value;
    value = op->operand(0);
  }
}

}  // namespace ullage
