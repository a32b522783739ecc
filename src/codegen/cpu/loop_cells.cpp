#include "codegen/cpu/loop_cells.h"

#include <algorithm>
#include <optional>
#include <set>

namespace ullage {

namespace {

using Kind = ExprNode::Kind;

constexpr size_t kMaxCells = 9;  // the interior, edges and corners of padding in two dimensions
// Nodes of all cells to those of the nest. Tests around the lanes cost little: one for a vector.
constexpr double kMaxGrowth = 2, kMaxOuterGrowth = 1.25, kFreeNodes = 8;

int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

// The only dimension that a test depends on, or -1.
int tested_dim(const ExprNode& node) {
  if (node.kind != Kind::in_range || !node.access.dynamic.empty()) return -1;
  int dim = -1;
  const std::vector<int64_t>& c = node.access.affine.coefficients;
  for (size_t d = 0; d < c.size(); ++d) {
    if (c[d] == 0) continue;
    if (dim >= 0) return -1;
    dim = static_cast<int>(d);
  }
  return dim;
}

// First and last-plus-one index along `dim` for which the test holds, not clipped.
std::pair<int64_t, int64_t> where_true(const ExprNode& node, int dim) {
  int64_t c = node.access.affine.coefficients[static_cast<size_t>(dim)];
  int64_t first = node.lower - node.access.affine.constant;
  int64_t last = node.upper - 1 - node.access.affine.constant;
  if (c < 0) std::swap(first, last), first = -first, last = -last, c = -c;
  return {floor_div(first + c - 1, c), floor_div(last, c) + 1};
}

// The expression where some tests are known.
class Specialiser {
 public:
  Specialiser(const Expr& expr, const std::vector<std::optional<bool>>& tests) : expr_(expr) {
    size_t count = expr.nodes.size();
    same_.resize(count);
    known_ = tests;
    for (size_t i = 0; i < count; ++i) {
      same_[i] = static_cast<int32_t>(i);
      if (expr.nodes[i].kind == Kind::op) fold(i);
    }
  }

  void apply(LoopNest& nest, int32_t& root) {
    std::vector<bool> needed(expr_.nodes.size(), false);
    auto want = [&](int32_t node) {
      if (node >= 0) needed[static_cast<size_t>(same_[static_cast<size_t>(node)])] = true;
    };
    want(root);
    for (const KernelOutput& output : nest.outputs) {
      want(output.node);
      for (const Access::Dynamic& dynamic : output.store.dynamic) want(dynamic.node);
    }
    for (size_t i = expr_.nodes.size(); i-- > 0;) {
      if (!needed[i] || replaced(i)) continue;
      const ExprNode& node = expr_.nodes[i];
      for (int32_t operand : node.operands) want(operand);
      if (node.guard >= 0 && !known_[static_cast<size_t>(node.guard)]) want(node.guard);
      for (const Access::Dynamic& dynamic : node.access.dynamic) want(dynamic.node);
    }
    Expr out;
    number_.assign(expr_.nodes.size(), -1);
    for (size_t i = 0; i < expr_.nodes.size(); ++i)
      if (needed[i]) number_[i] = out.add(rewritten(i));
    for (KernelOutput& output : nest.outputs) {
      output.node = number_of(output.node);
      for (Access::Dynamic& dynamic : output.store.dynamic) dynamic.node = number_of(dynamic.node);
    }
    if (root >= 0) root = number_of(root);
    nest.expr = std::move(out);
  }

 private:
  std::optional<bool> known(int32_t node) const {
    return known_[static_cast<size_t>(same_[static_cast<size_t>(node)])];
  }

  void fold(size_t i) {
    const ExprNode& node = expr_.nodes[i];
    auto is = [&](size_t operand) { return same_[static_cast<size_t>(node.operands[operand])]; };
    auto become = [&](int32_t other) {
      same_[i] = other;
      known_[i] = known_[static_cast<size_t>(other)];
    };
    if (node.op == OpKind::select) {
      if (std::optional<bool> chosen = known(node.operands[0])) become(is(*chosen ? 1 : 2));
      return;
    }
    if (node.dtype != DType::i1) return;
    if (node.op == OpKind::not_) {
      if (std::optional<bool> value = known(node.operands[0])) known_[i] = !*value;
      return;
    }
    if (node.op != OpKind::and_ && node.op != OpKind::or_) return;
    bool settles = node.op == OpKind::or_;
    for (size_t side : {size_t{0}, size_t{1}}) {
      std::optional<bool> value = known(node.operands[side]);
      if (!value) continue;
      if (*value == settles)
        known_[i] = settles;
      else
        become(is(1 - side));
      return;
    }
  }

  // Whether the node stands for a constant.
  bool replaced(size_t i) const {
    const ExprNode& node = expr_.nodes[i];
    if (known_[i]) return true;
    return node.kind == Kind::load && node.guard >= 0 && known(node.guard) == false;
  }

  ExprNode rewritten(size_t i) const {
    ExprNode node = expr_.nodes[i];
    if (replaced(i)) {
      ExprNode constant;
      constant.kind = Kind::constant;
      constant.dtype = node.dtype;
      constant.bits[0] = known_[i].value_or(false);
      return constant;
    }
    for (int32_t& operand : node.operands)
      if (operand >= 0) operand = number_of(operand);
    if (node.guard >= 0) node.guard = known(node.guard) ? -1 : number_of(node.guard);
    for (Access::Dynamic& dynamic : node.access.dynamic) dynamic.node = number_of(dynamic.node);
    return node;
  }

  int32_t number_of(int32_t node) const {
    return number_[static_cast<size_t>(same_[static_cast<size_t>(node)])];
  }

  const Expr& expr_;
  std::vector<int32_t> same_;               // the node that has this one's value
  std::vector<std::optional<bool>> known_;  // values of tests and what follows from them
  std::vector<int32_t> number_;             // in the new expression
};

using Breaks = std::vector<std::vector<int64_t>>;  // per dimension, with 0 and the extent

// Cuts that leave no cell narrower than a vector: one that is too near to another makes way for one
// a vector further on, and the tests in between stay.
std::vector<int64_t> vectors_apart(const std::set<int64_t>& cuts, int64_t extent) {
  std::vector<int64_t> at = {0};
  for (int64_t cut : cuts)
    if (cut > at.back()) at.push_back(std::max(cut, at.back() + kLanes));
  while (at.size() > 1 && extent - at.back() < kLanes) at.pop_back();
  bool tests_at_end = !cuts.empty() && *cuts.rbegin() > at.back();
  if (tests_at_end && extent - at.back() >= 2 * kLanes) at.push_back(extent - kLanes);
  at.push_back(extent);
  return at;
}

// Where the tests along each dimension change.
Breaks changes(const LoopNest& nest, const std::vector<bool>& needed) {
  std::vector<std::set<int64_t>> found(nest.extents.size());
  for (size_t i = 0; i < nest.expr.nodes.size(); ++i) {
    const ExprNode& node = nest.expr.nodes[i];
    int dim = needed[i] ? tested_dim(node) : -1;
    if (dim < 0) continue;
    size_t d = static_cast<size_t>(dim);
    auto [first, end] = where_true(node, dim);
    for (int64_t at : {first, end})
      if (at > 0 && at < nest.extents[d]) found[d].insert(at);
  }
  Breaks out;
  for (size_t d = 0; d < found.size(); ++d) {
    std::vector<int64_t> at = {0};
    at.insert(at.end(), found[d].begin(), found[d].end());
    at.push_back(nest.extents[d]);
    if (static_cast<int>(d) == nest.vector_dim) at = vectors_apart(found[d], nest.extents[d]);
    out.push_back(std::move(at));
  }
  return out;
}

std::vector<LoopCell> cells_between(const Breaks& at, const LoopNest& nest, int32_t root) {
  size_t rank = nest.extents.size();
  std::vector<LoopCell> cells;
  std::vector<size_t> position(rank, 0);
  for (;;) {
    LoopCell cell;
    for (size_t d = 0; d < rank; ++d) {
      cell.lower.push_back(at[d][position[d]]);
      cell.upper.push_back(at[d][position[d] + 1]);
      cell.cut.push_back(at[d].size() > 2);
    }
    std::vector<std::optional<bool>> tests(nest.expr.nodes.size());
    for (size_t i = 0; i < nest.expr.nodes.size(); ++i) {
      int dim = tested_dim(nest.expr.nodes[i]);
      if (dim < 0) continue;
      size_t d = static_cast<size_t>(dim);
      auto [first, end] = where_true(nest.expr.nodes[i], dim);
      if (cell.lower[d] >= first && cell.upper[d] <= end) tests[i] = true;
      if (cell.upper[d] <= first || cell.lower[d] >= end || first >= end) tests[i] = false;
    }
    cell.nest = nest;
    cell.root = root;
    Specialiser(nest.expr, tests).apply(cell.nest, cell.root);
    cells.push_back(std::move(cell));
    size_t d = rank;
    while (d > 0 && ++position[d - 1] + 1 == at[d - 1].size()) position[--d] = 0;
    if (d == 0) return cells;
  }
}

}  // namespace

std::vector<LoopCell> cut_at_tests(const LoopNest& nest, int32_t root) {
  std::vector<int32_t> roots = {root};
  for (const KernelOutput& output : nest.outputs) {
    roots.push_back(output.node);
    for (const Access::Dynamic& dynamic : output.store.dynamic) roots.push_back(dynamic.node);
  }
  std::vector<bool> needed = needed_nodes(nest.expr, roots);
  size_t before = static_cast<size_t>(std::count(needed.begin(), needed.end(), true));
  Breaks found = changes(nest, needed), at;
  for (int64_t extent : nest.extents) at.push_back({0, extent});
  std::vector<LoopCell> cells = cells_between(at, nest, root);
  // The innermost loops first: there the tests cost most.
  std::vector<int> order = nest.order;
  if (nest.vector_dim >= 0) order.push_back(nest.vector_dim);
  for (size_t i = order.size(); i-- > 0;) {
    size_t d = static_cast<size_t>(order[i]);
    if (found[d].size() == 2 || cells.size() * (found[d].size() - 1) > kMaxCells) continue;
    at[d] = found[d];
    std::vector<LoopCell> finer = cells_between(at, nest, root);
    size_t nodes = 0;
    for (const LoopCell& cell : finer) nodes += cell.nest.expr.size();
    double growth = order[i] == nest.vector_dim ? kMaxGrowth : kMaxOuterGrowth;
    if (static_cast<double>(nodes) <= growth * static_cast<double>(before) + kFreeNodes)
      cells = std::move(finer);
    else
      at[d] = {0, nest.extents[d]};
  }
  return cells;
}

void append_cells_key(std::string& key, const std::vector<LoopCell>& cells) {
  append_key(key, static_cast<int64_t>(cells.size()));
  for (const LoopCell& cell : cells) {
    append_key(key, cell.root);
    append_key(key, cell.nest);
    for (size_t d = 0; d < cell.cut.size(); ++d) {
      append_key(key, cell.cut[d]);
      if (!cell.cut[d]) continue;
      append_key(key, cell.lower[d]);
      append_key(key, cell.upper[d]);
    }
  }
}

}  // namespace ullage
