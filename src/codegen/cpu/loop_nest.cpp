#include "codegen/cpu/loop_nest.h"

#include <algorithm>

#include "support/check.h"

namespace ullage {

int64_t LoopNest::elements() const {
  int64_t total = 1;
  for (int64_t extent : extents) total *= extent;
  return total;
}

void remap(Affine& affine, const DimMap& map) {
  std::vector<int64_t> coefficients(static_cast<size_t>(map.rank), 0);
  for (size_t d = 0; d < affine.coefficients.size(); ++d)
    if (map.target[d] >= 0 && map.leads[d])
      coefficients[static_cast<size_t>(map.target[d])] = affine.coefficients[d];
  affine.coefficients = std::move(coefficients);
}

void remap(Expr& expr, const DimMap& map) {
  for (ExprNode& node : expr.nodes) remap(node.access.affine, map);
}

void remap(std::vector<KernelOutput>& outputs, const DimMap& map) {
  for (KernelOutput& output : outputs) remap(output.store.affine, map);
}

int64_t affine_bound(const Affine& affine, const std::vector<int64_t>& extents) {
  auto magnitude = [](int64_t v) { return v < 0 ? -v : v; };
  int64_t bound = magnitude(affine.constant);
  for (size_t d = 0; d < affine.coefficients.size(); ++d)
    bound += magnitude(affine.coefficients[d]) * extents[d];
  return bound;
}

// The coefficient of dimension d, where an empty list stands for zeros.
static int64_t coefficient(const Affine& affine, int d) {
  size_t at = static_cast<size_t>(d);
  return at < affine.coefficients.size() ? affine.coefficients[at] : 0;
}

int best_vector_dim(const LoopNest& nest, const std::vector<int>& dims) {
  int best = -1;
  double best_score = 0;
  for (int d : dims) {
    double score = 0;
    auto judge = [&](const Affine& affine, double weight) {
      int64_t c = coefficient(affine, d);
      if (c == 1)
        score += weight;
      else if (c == 0)
        score += weight * 0.5;
      else if (c == 2)  // every other element of two vectors
        score += weight * 0.3;
    };
    for (const ExprNode& node : nest.expr.nodes)
      if (node.kind == ExprNode::Kind::load) {
        bool scalar = true;
        for (int64_t c : node.access.affine.coefficients) scalar &= c == 0;
        if (!scalar) judge(node.access.affine, 1);
      }
    for (const KernelOutput& output : nest.outputs) judge(output.store.affine, 1.5);
    // A short vector dimension leaves lanes idle.
    int64_t extent = nest.extents[static_cast<size_t>(d)];
    if (extent < kLanes) score *= 0.1 + 0.9 * static_cast<double>(extent) / kLanes;
    if (best < 0 || score >= best_score) best = d, best_score = score;
  }
  return best;
}

LoopNest collapse(const std::vector<int64_t>& extents, const std::vector<int>& groups,
                  const Expr& expr, const std::vector<KernelOutput>& outputs, int outermost) {
  size_t rank = extents.size();
  ULLAGE_CHECK(groups.size() == rank && rank <= 64, "one group per loop dimension, at most 64");
  LoopNest nest;
  nest.expr = expr;
  nest.outputs = outputs;
  auto pad = [rank](Affine& affine) { affine.coefficients.resize(rank, 0); };
  for (ExprNode& node : nest.expr.nodes) pad(node.access.affine);
  for (KernelOutput& output : nest.outputs) pad(output.store.affine);

  // Innermost to outermost: a dimension joins the merged one inside it if its coefficient is that
  // of the merged one times its extent, everywhere. The innermost dimension of a merged one leads:
  // its coefficient stays.
  DimMap map;
  map.target.assign(rank, -1);
  map.leads.assign(rank, false);
  nest.scale_of.assign(rank, 1);
  int leader = -1, merged_last = -1;
  auto joins = [&](size_t outer, int64_t inner_extent) {
    auto agrees = [&](const Affine& affine) {
      return affine.coefficients[outer] ==
             affine.coefficients[static_cast<size_t>(leader)] * inner_extent;
    };
    for (const ExprNode& node : nest.expr.nodes)
      if (!agrees(node.access.affine)) return false;
    for (const KernelOutput& output : nest.outputs)
      if (!agrees(output.store.affine)) return false;
    return true;
  };
  for (size_t i = rank; i-- > 0;) {
    if (extents[i] == 1) continue;
    if (leader >= 0 && merged_last != outermost && nest.groups.back() == groups[i] &&
        joins(i, nest.extents.back())) {
      nest.scale_of[i] = nest.extents.back();
      nest.extents.back() *= extents[i];
    } else {
      leader = static_cast<int>(i);
      nest.extents.push_back(extents[i]);
      nest.groups.push_back(groups[i]);
      map.leads[i] = true;
    }
    map.target[i] = static_cast<int>(nest.extents.size()) - 1;
    merged_last = static_cast<int>(i);
  }
  map.rank = static_cast<int>(nest.extents.size());
  for (int& target : map.target)
    if (target >= 0) target = map.rank - 1 - target;
  std::reverse(nest.extents.begin(), nest.extents.end());
  std::reverse(nest.groups.begin(), nest.groups.end());
  nest.dim_of = map.target;
  remap(nest.expr, map);
  remap(nest.outputs, map);

  nest.small_index = true;
  constexpr int64_t kSmall = int64_t{1} << 30;
  for (const ExprNode& node : nest.expr.nodes) {
    if (node.kind != ExprNode::Kind::index && node.kind != ExprNode::Kind::in_range) continue;
    int64_t bound = affine_bound(node.access.affine, nest.extents);
    if (node.kind == ExprNode::Kind::in_range)
      bound = std::max(bound, std::max(std::abs(node.lower), std::abs(node.upper)));
    if (bound >= kSmall) nest.small_index = false;
  }
  return nest;
}

bool is_transposed_load(const Expr& expr, const std::vector<uint64_t>& depends, size_t number,
                        int vector, int tile) {
  const ExprNode& node = expr.nodes[number];
  if (node.kind != ExprNode::Kind::load || node.guard >= 0) return false;
  int64_t across = std::abs(coefficient(node.access.affine, vector));
  if (across < 2 || coefficient(node.access.affine, tile) != 1) return false;
  uint64_t both = uint64_t{1} << vector | uint64_t{1} << tile;
  for (const Access::Dynamic& dynamic : node.access.dynamic)
    if (depends[static_cast<size_t>(dynamic.node)] & both) return false;
  return true;
}

LoopNest make_loop_nest(const LoopKernel& kernel) {
  std::vector<int> groups;
  for (LoopRole role : kernel.roles) groups.push_back(static_cast<int>(role));
  LoopNest nest = collapse(kernel.extents, groups, kernel.expr, kernel.outputs, kernel.cut_dim);
  for (int group : nest.groups) nest.roles.push_back(static_cast<LoopRole>(group));
  size_t cut = static_cast<size_t>(kernel.cut_dim);
  if (cut < kernel.roles.size() && kernel.roles[cut] == LoopRole::parallel) {
    nest.rows_dim = nest.dim_of[cut];
    nest.rows_scale = nest.scale_of[cut];
  }
  for (size_t i = 0; i < kernel.roles.size(); ++i)
    if (kernel.roles[i] == LoopRole::reduced && nest.dim_of[i] >= 0) {
      nest.reduced_dim = nest.dim_of[i];
      nest.reduced_scale = nest.scale_of[i];
      break;
    }
  std::vector<int> parallel;
  int rank = static_cast<int>(nest.extents.size());
  for (int d = 0; d < rank; ++d)
    if (nest.roles[static_cast<size_t>(d)] == LoopRole::parallel) parallel.push_back(d);
  if (!parallel.empty()) nest.vector_dim = best_vector_dim(nest, parallel);
  for (int d = 0; d < rank; ++d)
    if (d != nest.vector_dim) nest.order.push_back(d);
  if (kernel.reduction || nest.vector_dim < 0 ||
      nest.extents[static_cast<size_t>(nest.vector_dim)] < kLanes)
    return nest;
  std::vector<uint64_t> depends = dependences(nest.expr);
  for (int d : parallel) {
    if (d == nest.vector_dim || nest.extents[static_cast<size_t>(d)] < kLanes) continue;
    for (size_t i = 0; i < nest.expr.nodes.size(); ++i)
      if (is_transposed_load(nest.expr, depends, i, nest.vector_dim, d)) nest.tile_dim = d;
  }
  if (nest.tile_dim >= 0) {
    nest.order.erase(std::find(nest.order.begin(), nest.order.end(), nest.tile_dim));
    nest.order.push_back(nest.tile_dim);
  }
  return nest;
}

std::vector<bool> needed_nodes(const Expr& expr, const std::vector<int32_t>& roots) {
  std::vector<bool> needed(expr.nodes.size(), false);
  for (int32_t root : roots)
    if (root >= 0) needed[static_cast<size_t>(root)] = true;
  for (size_t i = expr.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    const ExprNode& node = expr.nodes[i];
    for (int32_t operand : node.operands)
      if (operand >= 0) needed[static_cast<size_t>(operand)] = true;
    if (node.guard >= 0) needed[static_cast<size_t>(node.guard)] = true;
    for (const Access::Dynamic& dynamic : node.access.dynamic)
      needed[static_cast<size_t>(dynamic.node)] = true;
  }
  return needed;
}

std::vector<uint64_t> dependences(const Expr& expr) {
  std::vector<uint64_t> result(expr.nodes.size(), 0);
  for (size_t i = 0; i < expr.nodes.size(); ++i) {
    const ExprNode& node = expr.nodes[i];
    uint64_t mask = 0;
    for (int32_t operand : node.operands)
      if (operand >= 0) mask |= result[static_cast<size_t>(operand)];
    if (node.guard >= 0) mask |= result[static_cast<size_t>(node.guard)];
    for (const Access::Dynamic& dynamic : node.access.dynamic)
      mask |= result[static_cast<size_t>(dynamic.node)];
    for (size_t d = 0; d < node.access.affine.coefficients.size(); ++d)
      if (node.access.affine.coefficients[d] != 0) mask |= uint64_t{1} << d;
    // A finished sum belongs to one element of the output: it depends on every dimension.
    if (node.kind == ExprNode::Kind::accumulator) mask = ~uint64_t{0};
    result[i] = mask;
  }
  return result;
}

void append_key(std::string& key, int64_t value) {
  // Seven bits a byte, small magnitudes first (LEB128 of the zigzag code).
  uint64_t code = static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
  for (; code >= 128; code >>= 7) key.push_back(static_cast<char>(code | 128));
  key.push_back(static_cast<char>(code));
}

void append_key(std::string& key, const Access& access) {
  append_key(key, access.affine.constant);
  append_key(key, static_cast<int64_t>(access.affine.coefficients.size()));
  for (int64_t c : access.affine.coefficients) append_key(key, c);
  append_key(key, static_cast<int64_t>(access.dynamic.size()));
  for (const Access::Dynamic& dynamic : access.dynamic) {
    append_key(key, dynamic.node);
    append_key(key, dynamic.stride);
  }
}

void append_key(std::string& key, const Expr& expr) {
  append_key(key, static_cast<int64_t>(expr.nodes.size()));
  for (const ExprNode& node : expr.nodes) {
    key.push_back(static_cast<char>(node.kind));
    key.push_back(static_cast<char>(node.dtype));
    append_key(key, static_cast<int64_t>(node.op));
    key.push_back(static_cast<char>(node.direction));
    key.push_back(static_cast<char>(node.compare_type));
    append_key(key, node.precision.exponent_bits);
    append_key(key, node.precision.mantissa_bits);
    for (int32_t operand : node.operands) append_key(key, operand);
    key.push_back(static_cast<char>(node.part));
    append_key(key, node.input);
    append_key(key, node.guard);
    append_key(key, node.access);
    append_key(key, node.lower);
    append_key(key, node.upper);
    for (uint64_t bits : node.bits) append_key(key, static_cast<int64_t>(bits));
  }
}

void append_key(std::string& key, const LoopNest& nest) {
  append_key(key, nest.vector_dim);
  append_key(key, nest.tile_dim);
  for (int dim : nest.order) append_key(key, dim);
  append_key(key, nest.small_index);
  append_key(key, static_cast<int64_t>(nest.extents.size()));
  for (LoopRole role : nest.roles) key.push_back(static_cast<char>(role));
  append_key(key, nest.expr);
  for (const KernelOutput& output : nest.outputs) {
    append_key(key, output.node);
    append_key(key, output.result);
    append_key(key, output.store);
  }
}

}  // namespace ullage
