#include "plan/axis.h"

#include <algorithm>

namespace ullage {

namespace {

// Whether an access with the given loop extents stays, for each index i of `dim`, within elements
// [i * stride, (i+1) * stride).
AxisUse classify(const Access& access, const std::vector<int64_t>& extents, size_t dim,
                 int64_t stride) {
  const Affine& affine = access.affine;
  if (access.dynamic.empty() && affine.coefficients[dim] == 0) return AxisUse::none;
  if (!access.dynamic.empty() || affine.coefficients[dim] != stride) return AxisUse::mixed;
  int64_t lowest = affine.constant, highest = affine.constant;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (d == dim) continue;
    int64_t reach = affine.coefficients[d] * (extents[d] - 1);
    (reach < 0 ? lowest : highest) += reach;
  }
  return lowest >= 0 && highest < stride ? AxisUse::rows : AxisUse::mixed;
}

AxisUse combine(AxisUse a, AxisUse b, bool first) {
  if (first) return b;
  return a == b ? a : AxisUse::mixed;
}

AxisUse loads_of(const Expr& expr, const std::vector<int64_t>& extents, int32_t input, size_t dim,
                 int64_t stride, std::optional<AxisUse> before) {
  AxisUse use = before.value_or(AxisUse::none);
  bool first = !before;
  for (const ExprNode& node : expr.nodes) {
    if (node.kind != ExprNode::Kind::load || node.input != input) continue;
    AxisUse one = classify(node.access, extents, dim, stride);
    // A load at a computed place may depend on the axis through its index.
    use = combine(use, one, first);
    first = false;
  }
  return use;
}

bool reads(const Expr& expr, int32_t input) {
  return std::any_of(expr.nodes.begin(), expr.nodes.end(), [input](const ExprNode& n) {
    return n.kind == ExprNode::Kind::load && n.input == input;
  });
}

std::vector<int64_t> joined(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

std::optional<size_t> loop_dim(const LoopKernel& loop, PieceAxis axis) {
  LoopRole role = axis == PieceAxis::rows ? LoopRole::parallel : LoopRole::reduced;
  for (size_t d = 0; d < loop.roles.size(); ++d)
    if (loop.roles[d] == role) {
      if (axis == PieceAxis::rows && d != 0) return {};
      return d;
    }
  return {};
}

// Sums that can go on from what the output holds: nothing is rounded or applied at the end.
bool accumulates(const Kernel& kernel, const KernelGraph& graph) {
  if (kernel.outputs.size() != 1) return false;
  DType dtype = graph.values[static_cast<size_t>(kernel.outputs[0])].type.dtype;
  if (const DotKernel* dot = kernel.get<DotKernel>()) {
    const ExprNode& node = dot->epilogue.nodes[static_cast<size_t>(dot->outputs[0].node)];
    return node.kind == ExprNode::Kind::accumulator && dtype == DType::f32;
  }
  const LoopKernel* loop = kernel.get<LoopKernel>();
  return loop && loop->reduction && loop->reduction->combiner && dtype != DType::bf16 &&
         dtype != DType::f16;
}

}  // namespace

std::optional<int64_t> axis_extent(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis) {
  if (const LoopKernel* loop = kernel.get<LoopKernel>()) {
    std::optional<size_t> dim = loop_dim(*loop, axis);
    if (!dim || (axis == PieceAxis::contracted && !accumulates(kernel, graph))) return {};
    if (std::any_of(kernel.in_place.begin(), kernel.in_place.end(),
                    [](const auto& p) { return p.required; }))
      return {};
    return loop->extents[*dim];
  }
  if (const DotKernel* dot = kernel.get<DotKernel>()) {
    if (!dot->batch.empty()) return {};
    if (axis == PieceAxis::rows) return dot->m.empty() ? std::optional<int64_t>() : dot->m[0];
    if (dot->k.empty() || !accumulates(kernel, graph)) return {};
    return dot->k[0];
  }
  if (kernel.get<RngKernel>() && axis == PieceAxis::rows) {
    const Type& bits = graph.values[static_cast<size_t>(kernel.outputs[1])].type;
    return bits.rank() == 0 ? std::optional<int64_t>() : bits.shape[0];
  }
  return {};
}

AxisUse input_use(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis, size_t input) {
  int64_t extent = *axis_extent(kernel, graph, axis);
  int64_t elements = graph.values[static_cast<size_t>(kernel.inputs[input])].type.num_elements();
  int64_t stride = elements % extent == 0 ? elements / extent : -1;
  int32_t number = static_cast<int32_t>(input);
  if (const LoopKernel* loop = kernel.get<LoopKernel>())
    return loads_of(loop->expr, loop->extents, number, *loop_dim(*loop, axis), stride, {});
  if (const DotKernel* dot = kernel.get<DotKernel>()) {
    std::optional<AxisUse> use;
    bool rows = axis == PieceAxis::rows;
    if (reads(dot->lhs, number))
      use =
          loads_of(dot->lhs, joined(dot->m, dot->k), number, rows ? 0 : dot->m.size(), stride, use);
    if (reads(dot->rhs, number)) {
      if (rows)
        use = use ? combine(*use, AxisUse::none, false) : AxisUse::none;
      else
        use = loads_of(dot->rhs, joined(dot->k, dot->n), number, 0, stride, use);
    }
    if (reads(dot->epilogue, number)) {
      if (rows)
        use = loads_of(dot->epilogue, joined(dot->m, dot->n), number, 0, stride, use);
      else
        use = use ? combine(*use, AxisUse::none, false) : AxisUse::none;
    }
    return use.value_or(AxisUse::none);
  }
  return AxisUse::none;  // a generator's state
}

AxisUse output_use(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis, size_t output) {
  if (axis == PieceAxis::contracted) return AxisUse::none;
  int64_t extent = *axis_extent(kernel, graph, axis);
  int64_t elements = graph.values[static_cast<size_t>(kernel.outputs[output])].type.num_elements();
  int64_t stride = elements % extent == 0 ? elements / extent : -1;
  if (const LoopKernel* loop = kernel.get<LoopKernel>())
    return classify(loop->outputs[output].store, loop->extents, 0, stride);
  if (const DotKernel* dot = kernel.get<DotKernel>())
    return classify(dot->outputs[output].store, joined(dot->m, dot->n), 0, stride);
  return output == 1 ? AxisUse::rows : AxisUse::none;
}

}  // namespace ullage
