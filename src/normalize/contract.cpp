// A multiplication that only one addition or subtraction reads becomes one operation with it, which
// rounds once. The choice is made here, on the program, and not where kernels happen to fuse, so
// that no later decision changes a bit. Narrow floats are left alone: they round after each
// operation, and so are products that others read too: to compute them twice would keep their
// operands alive.
#include <array>
#include <cmath>

#include "normalize/rewrite.h"

namespace ullage {

namespace {

bool contractable(const Value* value, const Op& reader) {
  const Op* product = value->op();
  return product && product->kind == OpKind::multiply && value->has_one_use() &&
         product->region() == reader.region();
}

// The size of a constant that all elements are multiplied by, if a factor is one; else 0.
double constant_factor(const Value* product) {
  for (Value* factor : product->op()->operands())
    if (std::optional<double> value = splat_number(factor)) return std::abs(*value);
  return 0;
}

void contract(Function& function, Op* op) {
  const Type& type = op->result()->type;
  if (!type.is_tensor() || (type.dtype != DType::f32 && type.dtype != DType::f64)) return;
  bool first = contractable(op->operand(0), *op), second = contractable(op->operand(1), *op);
  if (!first && !second) return;
  // Of two products the heavier keeps its bits: in a moving average rounding it would lose small
  // increments altogether.
  if (first && second) first = constant_factor(op->operand(0)) >= constant_factor(op->operand(1));
  size_t which = first ? 0 : 1;

  Op* product = op->operand(which)->op();
  auto create = [&](OpKind kind, std::span<Value* const> operands) {
    return function.create(*op->region(), kind, operands, {&type, 1}, {}, op->location, 0, op)
        ->result();
  };
  auto negated = [&](Value* value) { return create(OpKind::negate, {&value, 1}); };
  std::array<Value*, 3> operands = {product->operand(0), product->operand(1),
                                    op->operand(1 - which)};
  if (op->kind == OpKind::subtract) {
    Value*& sign = which == 0 ? operands[2] : operands[0];
    sign = negated(sign);
  }
  op->result()->replace_all_uses_with(create(OpKind::fused_multiply_add, operands));
  op->erase();
  product->erase();
}

}  // namespace

Status contract_multiply_add(Module& module, const NormalizeOptions& options) {
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    std::vector<Op*> sums;
    walk(function->body(), [&](Op* op) {
      if (op->kind == OpKind::add || op->kind == OpKind::subtract) sums.push_back(op);
    });
    for (Op* op : sums) contract(*function, op);
  }
  return Ok{};
}

}  // namespace ullage
