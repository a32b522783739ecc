#include "ops/combiner.h"

namespace ullage {

std::optional<OpKind> plain_combiner(const Op& reduction) {
  Region& body = reduction.nested(0);
  Op* end = body.terminator();
  if (end->num_operands() != 1) return {};
  Op* only = end->operand(0)->op();
  if (!only || only->num_operands() != 2 || only != body.first()) return {};
  Value *a = body.argument(0), *b = body.argument(1);
  if (!((only->operand(0) == a && only->operand(1) == b) ||
        (only->operand(1) == a && only->operand(0) == b)))
    return {};
  switch (only->kind) {
    case OpKind::add:
    case OpKind::multiply:
    case OpKind::maximum:
    case OpKind::minimum:
    case OpKind::and_:
    case OpKind::or_:
    case OpKind::xor_:
      return only->kind;
    default:
      return {};
  }
}

}  // namespace ullage
