#include "kernels/expr.h"

#include <functional>

namespace ullage {

bool operator==(const ExprNode& a, const ExprNode& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.op == b.op && a.direction == b.direction &&
         a.compare_type == b.compare_type && a.precision == b.precision &&
         a.operands == b.operands && a.part == b.part && a.input == b.input && a.guard == b.guard &&
         a.access == b.access && a.lower == b.lower && a.upper == b.upper && a.bits == b.bits;
}

static size_t hash(const ExprNode& node) {
  size_t h = static_cast<size_t>(node.kind) * 131 + static_cast<size_t>(node.op);
  auto mix = [&h](uint64_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ull, h ^= h >> 29; };
  mix(static_cast<uint64_t>(node.dtype));
  for (int32_t operand : node.operands) mix(static_cast<uint64_t>(operand));
  mix(static_cast<uint64_t>(node.input) * 4 + node.part);
  mix(static_cast<uint64_t>(node.access.affine.constant));
  for (int64_t c : node.access.affine.coefficients) mix(static_cast<uint64_t>(c));
  mix(node.bits[0]);
  mix(node.bits[1]);
  return h;
}

int32_t Expr::add(ExprNode node) {
  if (nodes.size() >= buckets_.size()) {
    buckets_.assign(std::max<size_t>(32, buckets_.size() * 2), {});
    for (size_t i = 0; i < nodes.size(); ++i)
      buckets_[hash(nodes[i]) % buckets_.size()].push_back(static_cast<int32_t>(i));
  }
  std::vector<int32_t>& bucket = buckets_[hash(node) % buckets_.size()];
  for (int32_t i : bucket)
    if (nodes[static_cast<size_t>(i)] == node) return i;
  int32_t number = static_cast<int32_t>(nodes.size());
  bucket.push_back(number);
  nodes.push_back(std::move(node));
  return number;
}

double operation_cost(OpKind op, DType dtype) {
  double width = bit_width(dtype) > 32 ? 2 : 1;  // half as many lanes
  switch (op) {
    case OpKind::divide:
    case OpKind::remainder:
    case OpKind::sqrt:
    case OpKind::rsqrt:
      return 4 * width;
    case OpKind::exponential:
    case OpKind::log:
    case OpKind::tanh:
    case OpKind::logistic:
    case OpKind::sine:
    case OpKind::cosine:
    case OpKind::exponential_minus_one:
    case OpKind::log_plus_one:
    case OpKind::cbrt:
      return 20 * width;
    case OpKind::power:
    case OpKind::atan2:
    case OpKind::tan:
      return 40 * width;
    default:
      return info(op).family == OpFamily::chlo && op != OpKind::chlo_square ? 30 * width : width;
  }
}

double operations_per_element(const Expr& expr) {
  double total = 0;
  for (const ExprNode& node : expr.nodes)
    if (node.kind == ExprNode::Kind::op) total += operation_cost(node.op, node.dtype);
  return total;
}

}  // namespace ullage
