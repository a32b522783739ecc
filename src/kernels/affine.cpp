#include "kernels/affine.h"

#include <algorithm>

namespace ullage {

Interval bounds(const Affine& affine, const std::vector<int64_t>& extents) {
  Interval out{affine.constant, affine.constant};
  for (size_t d = 0; d < affine.coefficients.size(); ++d) {
    int64_t reach = affine.coefficients[d] * (std::max<int64_t>(extents[d], 1) - 1);
    (reach < 0 ? out.lowest : out.highest) += reach;
  }
  return out;
}

namespace {

bool fits(const Interval& range, DType dtype) {
  if (!is_int(dtype)) return false;
  int width = bit_width(dtype);
  if (is_signed_int(dtype)) {
    int64_t limit = width == 64 ? INT64_MAX : (int64_t{1} << (width - 1)) - 1;
    return range.lowest >= -limit - 1 && range.highest <= limit;
  }
  return range.lowest >= 0 && (width >= 63 || range.highest < (int64_t{1} << width));
}

int64_t constant_value(const ExprNode& node) {
  int width = bit_width(node.dtype);
  uint64_t bits = node.bits[0];
  if (width == 64) return static_cast<int64_t>(bits);
  bits &= (uint64_t{1} << width) - 1;
  if (is_signed_int(node.dtype) && (bits >> (width - 1)) != 0) bits |= ~uint64_t{0} << width;
  return static_cast<int64_t>(bits);
}

// What a comparison of two affine values always gives, if it always gives the same.
std::optional<bool> always(CompareDirection direction, const Interval& a, const Interval& b) {
  switch (direction) {
    case CompareDirection::lt:
      if (a.highest < b.lowest) return true;
      if (a.lowest >= b.highest) return false;
      return {};
    case CompareDirection::ge:
      if (auto less = always(CompareDirection::lt, a, b)) return !*less;
      return {};
    case CompareDirection::gt:
      return always(CompareDirection::lt, b, a);
    case CompareDirection::le:
      return always(CompareDirection::ge, b, a);
    default:
      return {};
  }
}

}  // namespace

std::optional<Affine> affine_value(const Expr& expr, int32_t number,
                                   const std::vector<int64_t>& extents) {
  const ExprNode& node = expr.nodes[static_cast<size_t>(number)];
  auto checked = [&](std::optional<Affine> affine) -> std::optional<Affine> {
    if (!affine || !fits(bounds(*affine, extents), node.dtype)) return {};
    return affine;
  };
  auto operand = [&](size_t i) { return affine_value(expr, node.operands[i], extents); };
  if (!is_int(node.dtype)) return {};
  if (node.kind == ExprNode::Kind::index) return checked(node.access.affine);
  if (node.kind == ExprNode::Kind::constant) {
    Affine affine;
    affine.constant = constant_value(node);
    affine.coefficients.assign(extents.size(), 0);
    return checked(affine);
  }
  if (node.kind != ExprNode::Kind::op) return {};
  switch (node.op) {
    case OpKind::convert:
      return checked(operand(0));
    case OpKind::add:
    case OpKind::subtract: {
      std::optional<Affine> a = operand(0), b = operand(1);
      if (!a || !b) return {};
      int64_t sign = node.op == OpKind::add ? 1 : -1;
      a->constant += sign * b->constant;
      for (size_t d = 0; d < extents.size(); ++d) a->coefficients[d] += sign * b->coefficients[d];
      return checked(a);
    }
    case OpKind::select: {
      const ExprNode& condition = expr.nodes[static_cast<size_t>(node.operands[0])];
      if (condition.kind != ExprNode::Kind::op || condition.op != OpKind::compare) return {};
      std::optional<Affine> a = affine_value(expr, condition.operands[0], extents),
                            b = affine_value(expr, condition.operands[1], extents);
      if (!a || !b) return {};
      std::optional<bool> holds =
          always(condition.direction, bounds(*a, extents), bounds(*b, extents));
      if (!holds) return {};
      return operand(*holds ? 1 : 2);
    }
    default:
      return {};
  }
}

}  // namespace ullage
