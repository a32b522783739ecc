#include "codegen/cpu/dot_plan.h"

#include <algorithm>

namespace ullage {

std::vector<int> dims_of(const LoopNest& nest, int group) {
  std::vector<int> dims;
  for (size_t d = 0; d < nest.groups.size(); ++d)
    if (nest.groups[d] == group) dims.push_back(static_cast<int>(d));
  return dims;
}

namespace {

// The stride of a group's flat index, if there is one: the nest has at most one dimension of the
// group.
std::optional<int64_t> group_stride(const LoopNest& nest, int group, const Affine& affine) {
  // Dimensions were merged for all accesses together; merge again for this one alone.
  int64_t stride = 0, extent = 1;
  bool any = false;
  std::vector<int> dims = dims_of(nest, group);
  for (size_t i = dims.size(); i-- > 0;) {
    size_t d = static_cast<size_t>(dims[i]);
    int64_t c = d < affine.coefficients.size() ? affine.coefficients[d] : 0;
    if (!any)
      stride = c, any = true;
    else if (c != stride * extent)
      return std::nullopt;
    extent *= nest.extents[d];
  }
  return stride;
}

bool exact_as_f32(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16 || dtype == DType::i8;
}

std::optional<PlainOperand> plain_operand(const LoopNest& nest, int32_t root, int free_group) {
  const std::vector<ExprNode>& nodes = nest.expr.nodes;
  const ExprNode* node = &nodes[static_cast<size_t>(root)];
  while (node->kind == ExprNode::Kind::op && node->op == OpKind::convert) {
    const ExprNode* from = &nodes[static_cast<size_t>(node->operands[0])];
    if (node->dtype != DType::f32 || !exact_as_f32(from->dtype)) return std::nullopt;
    node = from;
  }
  if (node->kind != ExprNode::Kind::load || node->guard >= 0 || !exact_as_f32(node->dtype))
    return std::nullopt;
  std::vector<uint64_t> depends = dependences(nest.expr);
  for (const Access::Dynamic& dynamic : node->access.dynamic)
    if (depends[static_cast<size_t>(dynamic.node)] != 0) return std::nullopt;
  auto batch = group_stride(nest, kDotBatch, node->access.affine);
  auto free = group_stride(nest, free_group, node->access.affine);
  auto k = group_stride(nest, kDotK, node->access.affine);
  if (!batch || !free || !k) return std::nullopt;
  return PlainOperand{node->input, node->dtype, *batch, *free, *k, node->access};
}

// Which of two groups' innermost dimensions suits vectors better; the first wins only if it is
// better.
bool prefers(const LoopNest& nest, int first, int second) {
  std::vector<int> a = dims_of(nest, first), b = dims_of(nest, second);
  if (a.empty() || b.empty()) return b.empty() && !a.empty();
  return best_vector_dim(nest, {a.back(), b.back()}) == a.back();
}

// Whether the streaming kernel can cut k into blocks of 256: one dimension, or inner ones whose
// extents divide 256.
bool blocks_fit(const LoopNest& nest) {
  std::vector<int> dims = dims_of(nest, kDotK);
  int64_t inner = 1;
  for (size_t i = 1; i < dims.size(); ++i) inner *= nest.extents[static_cast<size_t>(dims[i])];
  return inner <= kDotBlock && kDotBlock % std::max<int64_t>(inner, 1) == 0;
}

}  // namespace

MatmulType matmul_type(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return MatmulType::bf16;
    case DType::f16:
      return MatmulType::f16;
    case DType::i8:
      return MatmulType::i8;
    default:
      return MatmulType::f32;
  }
}

DotPlan plan_dot(const DotKernel& dot, int threads) {
  DotPlan plan;
  plan.batch = dot.batch_size();
  plan.m = dot.m_size();
  plan.n = dot.n_size();
  plan.k = dot.k_size();
  plan.lhs_root = dot.lhs_root;
  plan.rhs_root = dot.rhs_root;
  auto nest = [&](const std::vector<std::pair<int, const std::vector<int64_t>*>>& parts,
                  const Expr& expr, const std::vector<KernelOutput>& outputs) {
    std::vector<int64_t> extents;
    std::vector<int> groups;
    for (auto [group, dims] : parts)
      for (int64_t extent : *dims) extents.push_back(extent), groups.push_back(group);
    return collapse(extents, groups, expr, outputs);
  };
  plan.lhs = nest({{kDotBatch, &dot.batch}, {kDotM, &dot.m}, {kDotK, &dot.k}}, dot.lhs, {});
  plan.rhs = nest({{kDotBatch, &dot.batch}, {kDotK, &dot.k}, {kDotN, &dot.n}}, dot.rhs, {});
  plan.epilogue =
      nest({{kDotBatch, &dot.batch}, {kDotM, &dot.m}, {kDotN, &dot.n}}, dot.epilogue, dot.outputs);
  plan.lhs_plain = plain_operand(plan.lhs, dot.lhs_root, kDotM);
  plan.rhs_plain = plain_operand(plan.rhs, dot.rhs_root, kDotN);

  if (plan.epilogue.outputs.size() == 1) {
    const KernelOutput& out = plan.epilogue.outputs[0];
    auto batch = group_stride(plan.epilogue, kDotBatch, out.store.affine);
    auto m = group_stride(plan.epilogue, kDotM, out.store.affine);
    auto n = group_stride(plan.epilogue, kDotN, out.store.affine);
    plan.strided_output = batch && m && n && out.store.dynamic.empty();
    if (plan.strided_output) {
      plan.output.batch_stride = *batch;
      plan.output.row_stride = *m;
      plan.output.column_stride = *n;
      plan.output_constant = out.store.affine.constant;
    }
    plan.output_is_f32 =
        plan.epilogue.expr.nodes[static_cast<size_t>(out.node)].dtype == DType::f32;
    plan.direct =
        plan.strided_output &&
        plan.epilogue.expr.nodes[static_cast<size_t>(out.node)].kind == ExprNode::Kind::accumulator;
  }

  plan.swapped = plan.n < plan.m;
  const LoopNest& weights = plan.swapped ? plan.lhs : plan.rhs;
  plan.narrow = std::min(plan.m, plan.n) <= kNarrow && blocks_fit(weights);
  if (plan.narrow) {
    plan.lanes_along_k = prefers(weights, kDotK, plan.swapped ? kDotM : kDotN);
    (plan.swapped ? plan.lhs_plain : plan.rhs_plain).reset();
    std::optional<PlainOperand>& narrow = plan.swapped ? plan.rhs_plain : plan.lhs_plain;
    int64_t rows = std::min(plan.m, plan.n);
    // A single row's elements of other types are converted when they are used.
    if (narrow && narrow->dtype != DType::f32 && (rows > 1 || plan.lanes_along_k)) {
      plan.converted_by_blocks = narrow->k_stride == 1 && !plan.lanes_along_k;
      if (!plan.converted_by_blocks) narrow.reset();
    }
    plan.scratch_bytes = narrow ? 0 : plan.batch * rows * plan.k * 4;
    return plan;
  }
  plan.lhs_inner_is_k = !prefers(plan.lhs, kDotM, kDotK);
  plan.rhs_inner_is_k = prefers(plan.rhs, kDotK, kDotN);
  MatmulProblem problem;
  problem.batch = plan.batch;
  problem.m = plan.m;
  problem.n = plan.n;
  problem.k = plan.k;
  auto operand = [](const std::optional<PlainOperand>& plain, const LoopNest& from,
                    bool inner_is_k) {
    MatmulOperand out;
    if (plain) {
      out.type = matmul_type(plain->dtype);
      out.batch_stride = plain->batch_stride;
      out.free_stride = plain->free_stride;
      out.k_stride = plain->k_stride;
    } else {
      out.computed = true;
      out.inner_is_k = inner_is_k;
      out.expensive = operations_per_element(from.expr) > 8;
    }
    return out;
  };
  problem.a = operand(plan.lhs_plain, plan.lhs, plan.lhs_inner_is_k);
  problem.b = operand(plan.rhs_plain, plan.rhs, plan.rhs_inner_is_k);
  problem.c = plan.output;
  problem.c.computed = !plan.direct;
  if (!plan.strided_output) {
    problem.c.batch_stride = plan.m * plan.n;
    problem.c.row_stride = plan.n;
    problem.c.column_stride = 1;
  }
  plan.matmul = plan_matmul(problem, threads);
  plan.scratch_bytes = plan.matmul.scratch_bytes;
  return plan;
}

int64_t dot_scratch_bytes(const DotKernel& dot, int threads) {
  return plan_dot(dot, threads).scratch_bytes;
}

}  // namespace ullage
