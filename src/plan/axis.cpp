#include "plan/axis.h"

#include <algorithm>
#include <array>

#include "kernels/reduction.h"
#include "support/check.h"

namespace ullage {

namespace {

std::vector<int64_t> joined(std::initializer_list<std::vector<int64_t>> groups) {
  std::vector<int64_t> out;
  for (const auto& group : groups) out.insert(out.end(), group.begin(), group.end());
  return out;
}

// An expression of a kernel with its loop space, and the dimension of it that an axis cuts (-1 when
// it does not depend on the axis).
struct Part {
  const Expr* expr = nullptr;
  std::vector<int64_t> extents;
  int dim = -1;
};

int reduced_dim(const LoopKernel& loop) {
  auto it = std::find(loop.roles.begin(), loop.roles.end(), LoopRole::reduced);
  return it == loop.roles.end() ? -1 : static_cast<int>(it - loop.roles.begin());
}

std::vector<Part> parts(const Kernel& kernel, PieceAxis axis) {
  if (const LoopKernel* loop = kernel.get<LoopKernel>())
    return {{&loop->expr, loop->extents, axis.contracted() ? reduced_dim(*loop) : axis.dim}};
  const DotKernel* dot = kernel.get<DotKernel>();
  if (!dot) return {};
  // Where each group begins in the three loop spaces; -1 for the one that it is not in.
  int batch = static_cast<int>(dot->batch.size());
  int after_m = batch + static_cast<int>(dot->m.size());
  int after_k = batch + static_cast<int>(dot->k.size());
  std::array<int, 3> dims = axis.contracted() ? std::array{after_m, batch, -1}
                            : axis.dim == 0   ? std::array{batch, -1, batch}
                            : axis.dim == 1   ? std::array{-1, after_k, after_m}
                                              : std::array{0, 0, 0};
  return {{&dot->lhs, joined({dot->batch, dot->m, dot->k}), dims[0]},
          {&dot->rhs, joined({dot->batch, dot->k, dot->n}), dims[1]},
          {&dot->epilogue, joined({dot->batch, dot->m, dot->n}), dims[2]}};
}

// The values that a dynamic term's node can have, which is clamped by constants.
std::optional<std::pair<int64_t, int64_t>> range_of(const Expr& expr, int32_t node) {
  const ExprNode& clamp = expr.nodes[static_cast<size_t>(node)];
  if (clamp.kind != ExprNode::Kind::op || clamp.op != OpKind::clamp) return {};
  const ExprNode& low = expr.nodes[static_cast<size_t>(clamp.operands[0])];
  const ExprNode& high = expr.nodes[static_cast<size_t>(clamp.operands[2])];
  if (low.kind != ExprNode::Kind::constant || high.kind != ExprNode::Kind::constant) return {};
  return std::pair(static_cast<int64_t>(low.bits[0]), static_cast<int64_t>(high.bits[0]));
}

// The coordinate of the cut dimension must be the loop index itself: of the other terms each moves
// by whole rounds of the cut, or all of them together stay within one stride.
OperandUse classify(const Expr& expr, const Access& access, const std::vector<int64_t>& extents,
                    int dim, int64_t elements) {
  const Affine& affine = access.affine;
  size_t at = static_cast<size_t>(dim);
  if (dim < 0 || (access.dynamic.empty() && affine.coefficients[at] == 0)) return {};
  OperandUse mixed{OperandUse::Kind::mixed, {}};
  if (affine.coefficients[at] <= 0) return mixed;
  Cut cut{affine.coefficients[at], extents[at]};
  int64_t round = cut.stride * cut.extent;
  if (round == 0 || elements % round != 0) return mixed;
  int64_t lowest = affine.constant % round, highest = lowest;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (d == at || affine.coefficients[d] % round == 0) continue;
    int64_t reach = affine.coefficients[d] * (extents[d] - 1);
    (reach < 0 ? lowest : highest) += reach;
  }
  for (const Access::Dynamic& term : access.dynamic) {
    auto range = range_of(expr, term.node);
    if (!range || term.stride < 0) return mixed;
    lowest += term.stride * range->first;
    highest += term.stride * range->second;
  }
  if (lowest < 0 || highest >= cut.stride) return mixed;
  return {OperandUse::Kind::slice, cut};
}

// One stride for the whole group of dimensions that starts at `first`.
bool evenly_strided(const Affine& affine, const std::vector<int64_t>& extents, size_t first) {
  for (size_t d = 0; d + 1 < extents.size(); ++d)
    if (affine.coefficients[first + d] != affine.coefficients[first + d + 1] * extents[d + 1])
      return false;
  return true;
}

// Sums that can go on from what the output holds.
bool accumulates(const Kernel& kernel, const KernelGraph& graph) {
  if (kernel.outputs.size() != 1) return false;
  DType dtype = graph.values[static_cast<size_t>(kernel.outputs[0])].type.dtype;
  if (const DotKernel* dot = kernel.get<DotKernel>()) {
    const Access& store = dot->outputs[0].store;
    size_t batch = dot->batch.size();
    return dtype == DType::f32 && store.dynamic.empty() &&
           evenly_strided(store.affine, dot->batch, 0) &&
           evenly_strided(store.affine, dot->m, batch) &&
           evenly_strided(store.affine, dot->n, batch + dot->m.size());
  }
  const LoopKernel* loop = kernel.get<LoopKernel>();
  return loop && loop->reduction && loop->reduction->combiner && accumulation_dtype(dtype) == dtype;
}

int64_t elements_of(const KernelGraph& graph, ValueId value) {
  return graph.values[static_cast<size_t>(value)].type.num_elements();
}

const std::vector<int64_t>& bits_shape(const Kernel& generator, const KernelGraph& graph) {
  return graph.values[static_cast<size_t>(generator.outputs[1])].type.shape;
}

const std::vector<KernelOutput>& outputs_of(const Kernel& kernel) {
  if (const LoopKernel* loop = kernel.get<LoopKernel>()) return loop->outputs;
  const DotKernel* dot = kernel.get<DotKernel>();
  ULLAGE_CHECK(dot, "outputs of a loop nest or a product");
  return dot->outputs;
}

// Addresses in full values become addresses in the buffer of a slice.
void move_into(Affine& affine, const Slice& slice, int dim) {
  int64_t round = slice.cut.stride * slice.cut.extent, dense = slice.cut.stride * slice.step;
  for (size_t d = 0; d < affine.coefficients.size(); ++d)
    if (static_cast<int>(d) != dim && affine.coefficients[d] % round == 0)
      affine.coefficients[d] = affine.coefficients[d] / round * dense;
  affine.constant = affine.constant / round * dense + affine.constant % round;
}

bool is_dense(const Slice& slice, int64_t elements) {
  return slice.whole() || slice.cut.stride * slice.cut.extent == elements;
}

}  // namespace

std::vector<PieceAxis> piece_axes(const Kernel& kernel, const KernelGraph& graph) {
  using Kind = PieceAxis::Kind;
  std::vector<PieceAxis> out;
  if (touches_complex(kernel, graph)) return {};
  if (const LoopKernel* loop = kernel.get<LoopKernel>()) {
    if (std::any_of(kernel.in_place.begin(), kernel.in_place.end(),
                    [](const auto& p) { return p.required; }))
      return {};
    for (size_t d = 0; d < loop->roles.size(); ++d)
      if (loop->roles[d] == LoopRole::parallel && loop->extents[d] > 1)
        out.push_back({Kind::parallel, static_cast<int32_t>(d)});
    int reduced = reduced_dim(*loop);
    if (reduced >= 0 && loop->extents[static_cast<size_t>(reduced)] > 1 &&
        accumulates(kernel, graph))
      out.push_back({Kind::contracted});
  } else if (const DotKernel* dot = kernel.get<DotKernel>()) {
    if (!dot->batch.empty()) out.push_back({Kind::parallel, 2});
    if (!dot->m.empty()) out.push_back({Kind::parallel, 0});
    if (!dot->n.empty()) out.push_back({Kind::parallel, 1});
    if (!dot->k.empty() && accumulates(kernel, graph)) out.push_back({Kind::contracted});
  } else if (kernel.get<RngKernel>()) {
    const std::vector<int64_t>& shape = bits_shape(kernel, graph);
    for (size_t d = 0; d < std::min<size_t>(shape.size(), 2); ++d)
      if (shape[d] > 1) out.push_back({Kind::parallel, static_cast<int32_t>(d)});
  }
  return out;
}

int64_t axis_extent(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis) {
  if (kernel.get<RngKernel>()) return bits_shape(kernel, graph)[static_cast<size_t>(axis.dim)];
  for (const Part& part : parts(kernel, axis))
    if (part.dim >= 0) return part.extents[static_cast<size_t>(part.dim)];
  ULLAGE_CHECK(false, "not an axis of this kernel");
  return 0;
}

OperandUse input_use(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis, size_t input) {
  std::optional<OperandUse> use;
  const Type& type = graph.values[static_cast<size_t>(kernel.inputs[input])].type;
  int64_t elements = type.num_elements();
  for (const Part& part : parts(kernel, axis))
    for (const ExprNode& node : part.expr->nodes) {
      if (node.kind != ExprNode::Kind::load || node.input != static_cast<int32_t>(input)) continue;
      // Read as elements of another size, the value has other coordinates than its producer's.
      if (storage_bytes(node.dtype) != storage_bytes(type.dtype))
        return {OperandUse::Kind::mixed, {}};
      OperandUse one = classify(*part.expr, node.access, part.extents, part.dim, elements);
      if (use && *use != one) return {OperandUse::Kind::mixed, {}};
      use = one;
    }
  return use.value_or(OperandUse{});  // a generator's state is read whole for every piece
}

OperandUse output_use(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis,
                      size_t output) {
  int64_t elements = elements_of(graph, kernel.outputs[output]);
  if (kernel.get<RngKernel>()) {
    if (output == 0) return {};
    const std::vector<int64_t>& shape = bits_shape(kernel, graph);
    int64_t outer = axis.dim == 0 ? 1 : shape[0], extent = shape[static_cast<size_t>(axis.dim)];
    if (elements == 0) return {OperandUse::Kind::mixed, {}};
    return {OperandUse::Kind::slice, {elements / (outer * extent), extent}};
  }
  if (axis.contracted()) return {};
  Part last = parts(kernel, axis).back();
  return classify(*last.expr, outputs_of(kernel)[output].store, last.extents, last.dim, elements);
}

bool needs_variant(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis,
                   const std::vector<Slice>& operands) {
  if (axis.parallel() && axis.dim != 0) return true;
  for (size_t i = 0; i < operands.size(); ++i) {
    size_t inputs = kernel.inputs.size();
    ValueId value = i < inputs ? kernel.inputs[i] : kernel.outputs[i - inputs];
    if (!is_dense(operands[i], elements_of(graph, value))) return true;
  }
  return false;
}

Kernel piece_variant(const Kernel& kernel, PieceAxis axis, const std::vector<Slice>& operands) {
  Kernel out = kernel;
  size_t inputs = kernel.inputs.size();
  if (RngKernel* rng = out.get<RngKernel>()) {
    const Slice& bits = operands[inputs + 1];
    rng->cut_dim = axis.dim;
    if (!bits.whole()) rng->spacing = bits.cut.stride * bits.step;
    return out;
  }
  LoopKernel* loop = out.get<LoopKernel>();
  DotKernel* dot = out.get<DotKernel>();
  ULLAGE_CHECK(loop || dot, "this kernel has no variants");
  if (axis.parallel()) (loop ? loop->cut_dim : dot->cut_dim) = axis.dim;
  std::vector<Part> from = parts(kernel, axis);
  std::vector<Expr*> to = loop ? std::vector<Expr*>{&loop->expr}
                               : std::vector<Expr*>{&dot->lhs, &dot->rhs, &dot->epilogue};
  for (size_t p = 0; p < from.size(); ++p)
    for (ExprNode& node : to[p]->nodes)
      if (node.kind == ExprNode::Kind::load && !operands[static_cast<size_t>(node.input)].whole())
        move_into(node.access.affine, operands[static_cast<size_t>(node.input)], from[p].dim);
  std::vector<KernelOutput>& outputs = loop ? loop->outputs : dot->outputs;
  for (size_t o = 0; o < outputs.size(); ++o)
    if (!operands[inputs + o].whole())
      move_into(outputs[o].store.affine, operands[inputs + o], from.back().dim);
  return out;
}

}  // namespace ullage
