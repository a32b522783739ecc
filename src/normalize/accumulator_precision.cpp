// Products of narrow floats are summed in f32. Rounding the sum to bf16 or f16 only to widen it
// again for the next operation loses accuracy and saves nothing, so the rounding moves behind the
// elementwise operations that follow, as long as each value has a single reader. The operand of a
// product is a stored array, which rounding makes smaller: there the rounding is left out only
// where the array is small enough not to matter. What is read twice is rounded as the program says.
// The rule looks at the program's text alone, so that results do not depend on what is fused,
// stored or recomputed; it can be disabled by name.
#include <unordered_set>

#include "normalize/normalize.h"

namespace ullage {

namespace {

constexpr int64_t kSmallBytes = 64 << 10;  // an array that may as well be stored in f32

bool is_narrow(DType dtype) {
  return dtype == DType::bf16 || dtype == DType::f16;
}

Type widened(const Type& type) {
  return Type::tensor(DType::f32, type.shape);
}

class Widener {
 public:
  explicit Widener(Function& function) : function_(function) {}

  void visit(Region& region) {
    for (Op* op : region) {
      for (size_t i = 0; i < op->num_regions(); ++i) visit(op->nested(i));
      if (op->kind == OpKind::dot_general)
        widen_product(op);
      else if (op->kind == OpKind::convert)
        skip_rounding(op);
      else if (is_candidate(*op))
        widen_elementwise(op);
    }
  }

 private:
  Value* convert(Value* value, DType dtype, Op* before) {
    Type type = Type::tensor(dtype, value->type.shape);
    return function_
        .create(*before->region(), OpKind::convert, {&value, 1}, {&type, 1}, {}, before->location,
                0, before)
        ->result();
  }

  // Replaces `op` by its f32 form followed by the rounding.
  void replace(Op* op, std::span<Value* const> operands) {
    Type wide = widened(op->result()->type);
    Op* made = function_.create(*op->region(), op->kind, operands, {&wide, 1}, op->attributes,
                                op->location, 0, op);
    made->extra = op->extra;
    Value* rounded = convert(made->result(), op->result()->type.dtype, op);
    rounded->name = op->result()->name;
    rounded_.insert(rounded);
    op->result()->replace_all_uses_with(rounded);
    op->erase();
  }

  void widen_product(Op* op) {
    std::vector<Value*> operands = op->operands();
    bool wide_operand = false;
    for (Value*& operand : operands) {
      Value* wide = behind(operand);
      if (!wide || wide->type.bytes() > kSmallBytes) continue;
      operand = wide;
      wide_operand = true;
    }
    if (wide_operand)
      for (Value*& operand : operands)
        if (is_narrow(operand->type.dtype)) operand = convert(operand, DType::f32, op);
    if (is_narrow(op->result()->type.dtype) && !op->result()->type.quantized)
      replace(op, operands);
    else if (wide_operand)
      op->set_operands(operands);
  }

  // The f32 value behind a rounding that nobody else reads, or null.
  Value* behind(Value* value) const {
    return rounded_.contains(value) && value->has_one_use() ? value->op()->operand(0) : nullptr;
  }

  void skip_rounding(Op* op) {
    if (op->result()->type.dtype != DType::f32) return;
    if (Value* wide = behind(op->operand(0))) {
      op->result()->replace_all_uses_with(wide);
      op->erase();
    }
  }

  // What an operation does with the format itself, not only with the number, it does in its own.
  static bool depends_on_format(OpKind kind) {
    return kind == OpKind::reduce_precision || kind == OpKind::chlo_next_after;
  }

  bool is_candidate(const Op& op) const {
    if (!has_trait(op.kind, kElementwise) || depends_on_format(op.kind) ||
        !is_narrow(op.result()->type.dtype))
      return false;
    bool found = false;
    for (Value* operand : op.operands()) {
      if (!is_narrow(operand->type.dtype) && operand->type.dtype != DType::i1) return false;
      found |= behind(operand) != nullptr;
    }
    return found;
  }

  void widen_elementwise(Op* op) {
    std::vector<Value*> operands = op->operands();
    for (Value*& operand : operands) {
      if (Value* wide = behind(operand))
        operand = wide;
      else if (is_narrow(operand->type.dtype))
        operand = convert(operand, DType::f32, op);
    }
    replace(op, operands);
  }

  Function& function_;
  std::unordered_set<Value*> rounded_;  // results of roundings that this pass made
};

}  // namespace

Status keep_accumulator_precision(Module& module, const NormalizeOptions& options) {
  for (const auto& function : module.functions)
    if (!options.leaves(*function)) Widener(*function).visit(function->body());
  return Ok{};
}

}  // namespace ullage
