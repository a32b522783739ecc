#include "codegen/cpu/runtime_numbers.h"

#include <algorithm>
#include <climits>
#include <cstdlib>

namespace ullage {

namespace {

constexpr int kNoBuffer = INT_MAX;               // of index arithmetic
constexpr int kOffset = -1, kDynamicTerm = -2;   // parts of an access beside its dimensions
constexpr size_t kSmallExpression = 12;          // nodes: their values fit in registers
constexpr int64_t kWholeVectors = 2;             // lanes' strides up to here load them
constexpr int64_t kFarLanes = int64_t{1} << 26;  // up to here offsets of lanes fit 32 bits

// Whether the code contains the value: it is a form of its own.
bool is_plain(int64_t value) {
  return (value >= -1 && value <= 1) || is_number(value);
}

// Operations whose code is the same for a constant as for any other operand. Division of integers,
// powers and shifts have better ways for one.
bool is_indifferent(const ExprNode& node) {
  switch (node.op) {
    case OpKind::add:
    case OpKind::subtract:
    case OpKind::multiply:
    case OpKind::maximum:
    case OpKind::minimum:
    case OpKind::compare:
    case OpKind::select:
    case OpKind::clamp:
    case OpKind::and_:
    case OpKind::or_:
    case OpKind::xor_:
      return true;
    case OpKind::divide:
      return is_float(node.dtype);
    default:
      return false;
  }
}

}  // namespace

void RuntimeNumbers::take(int64_t& value) {
  if (!is_plain(value)) take_any(value);
}

void RuntimeNumbers::take_any(int64_t& value) {
  values_.push_back(value);
  value = kFirstNumber + static_cast<int64_t>(values_.size()) - 1;
}

void RuntimeNumbers::take(int64_t& value, Owner owner) {
  if (is_plain(value)) return;
  int64_t before = value;
  auto known = shared_.find({owner, before});
  if (known != shared_.end()) {
    value = known->second;
    return;
  }
  take(value);
  shared_[{owner, before}] = value;
}

void RuntimeNumbers::take(Access& access, int buffer, int vector_dim) {
  std::vector<int64_t>& c = access.affine.coefficients;
  for (int d = 0; d < static_cast<int>(c.size()); ++d) {
    int64_t& stride = c[static_cast<size_t>(d)];
    bool apart = std::abs(stride) > kWholeVectors && std::abs(stride) < kFarLanes;
    if (d != vector_dim || (apart && buffer != kNoBuffer)) take(stride, {buffer, d});
  }
  if (small_) take(access.affine.constant, {buffer, kOffset});
  for (Access::Dynamic& dynamic : access.dynamic) take(dynamic.stride, {buffer, kDynamicTerm});
}

void RuntimeNumbers::take_constants(Expr& expr) {
  if (!small_) return;
  std::vector<bool> stays(expr.nodes.size(), false);
  for (const ExprNode& node : expr.nodes)
    if (node.kind == ExprNode::Kind::op && !is_indifferent(node))
      for (int32_t operand : node.operands)
        if (operand >= 0) stays[static_cast<size_t>(operand)] = true;
  for (size_t i = 0; i < expr.nodes.size(); ++i) {
    ExprNode& node = expr.nodes[i];
    if (node.kind != ExprNode::Kind::constant || stays[i] || storage_bytes(node.dtype) > 8)
      continue;
    node.input = static_cast<int32_t>(values_.size());
    values_.push_back(static_cast<int64_t>(node.bits[0]));
    node.bits = {0, 0};
  }
}

void RuntimeNumbers::take(LoopNest& nest) {
  small_ = nest.expr.size() <= kSmallExpression;
  take_constants(nest.expr);
  for (size_t i = 0; i < nest.expr.nodes.size(); ++i) {
    ExprNode& node = nest.expr.nodes[i];
    switch (node.kind) {
      case ExprNode::Kind::load:
        take(node.access, node.input, nest.vector_dim);
        break;
      case ExprNode::Kind::in_range:
        node.access.affine.constant -= node.lower;
        node.upper = std::max<int64_t>(0, node.upper - node.lower);
        node.lower = 0;
        take(node.upper);
        [[fallthrough]];
      case ExprNode::Kind::index:
        take(node.access, kNoBuffer, nest.vector_dim);
        break;
      default:
        break;
    }
  }
  for (size_t k = 0; k < nest.outputs.size(); ++k) {
    KernelOutput& output = nest.outputs[k];
    // The parts of complex numbers are known by their offsets.
    int64_t offset = output.store.affine.constant;
    bool part = output.result >= 0;
    if (part) output.store.affine.constant = 0;
    take(output.store, -1 - (part ? output.result : static_cast<int>(k)), nest.vector_dim);
    if (part) output.store.affine.constant = offset;
  }
}

void RuntimeNumbers::take(std::vector<LoopCell>& cells) {
  for (LoopCell& cell : cells) {
    take(cell.nest);
    for (size_t d = 0; d < cell.cut.size(); ++d) {
      if (!cell.cut[d]) continue;
      take(cell.lower[d]);
      take(cell.upper[d]);
    }
  }
}

}  // namespace ullage
