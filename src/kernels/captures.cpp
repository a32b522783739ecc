#include "kernels/captures.h"

#include <unordered_set>

namespace ullage {

static bool is_inside(const Region* region, const Op& op) {
  for (; region; region = region->parent() ? region->parent()->region() : nullptr)
    if (region->parent() == &op) return true;
  return false;
}

static bool is_splat(const Value& value) {
  if (!value.op() || value.op()->kind != OpKind::constant) return false;
  const Literal& literal = value.op()->as<ConstantAttributes>().value;
  return literal.splat || literal.type.num_elements() == 1;
}

static void copy_into(Region& region, Value* constant) {
  ValueMap map;
  Op* copy = clone(constant->op(), *region.function(), region, map, region.first());
  walk(region, [&](Op* inner) {
    for (size_t i = 0; i < inner->num_operands(); ++i)
      if (inner->operand(i) == constant) inner->set_operand(i, copy->result());
  });
}

std::vector<Value*> capture_values(Op& op) {
  std::vector<Value*> out;
  std::unordered_set<Value*> seen;
  for (size_t r = 0; r < op.num_regions(); ++r)
    walk(op.nested(r), [&](Op* inner) {
      for (Value* operand : inner->operands()) {
        const Region* home = operand->op() ? operand->op()->region() : operand->region();
        if (!is_inside(home, op) && seen.insert(operand).second) out.push_back(operand);
      }
    });
  std::erase_if(out, [&](Value* value) {
    if (!is_splat(*value)) return false;
    for (size_t r = 0; r < op.num_regions(); ++r) copy_into(op.nested(r), value);
    return true;
  });
  return out;
}

}  // namespace ullage
