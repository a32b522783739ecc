// Products: lhs * rhs with what is fused before and behind, as matrix products or plain reductions.
#include <algorithm>

#include "kernels/dense_loops.h"
#include "kernels/graph_builder.h"

namespace ullage {

namespace {

Dims free_dims(int64_t rank, const Dims& batching, const Dims& contracting) {
  Dims out;
  for (int64_t d = 0; d < rank; ++d)
    if (std::find(batching.begin(), batching.end(), d) == batching.end() &&
        std::find(contracting.begin(), contracting.end(), d) == contracting.end())
      out.push_back(d);
  return out;
}

}  // namespace

Status GraphBuilder::emit_dot(Op* op, Value* result) {
  const auto& attributes = op->as<DotAttributes>();
  Value* lhs = op->operand(0);
  Value* rhs = op->operand(1);
  if (!is_matmul(*op)) return emit_dot_as_reduction(op, result);

  struct Side {
    Value* value;
    const Dims *batching, *contracting;
    Dims free;
  };
  auto side = [](Value* value, const Dims& batching, const Dims& contracting) {
    return Side{value, &batching, &contracting,
                free_dims(value->type.rank(), batching, contracting)};
  };
  auto extents = [](Value* value, const Dims& dims) {
    std::vector<int64_t> out;
    for (int64_t d : dims)
      if (value->type.shape[static_cast<size_t>(d)] != 1)
        out.push_back(value->type.shape[static_cast<size_t>(d)]);
    return out;
  };
  Side rows = side(lhs, attributes.lhs_batching, attributes.lhs_contracting);
  Side columns = side(rhs, attributes.rhs_batching, attributes.rhs_contracting);
  size_t batches = rows.batching->size(), lhs_end = batches + rows.free.size();
  // Columns are what lies side by side in the result.
  Dims order;  // dimensions of the product, of extent above 1, as the result has them
  if (auto epilogue = analysis_.epilogue_of.find(result); epilogue != analysis_.epilogue_of.end()) {
    order = epilogue->second.order;
  } else {
    for (int64_t d = 0; d < result->type.rank(); ++d)
      if (result->type.shape[static_cast<size_t>(d)] != 1) order.push_back(d);
  }
  bool exchanged = !order.empty() && order.back() >= static_cast<int64_t>(batches) &&
                   order.back() < static_cast<int64_t>(lhs_end) &&
                   !extents(rhs, columns.free).empty();
  if (exchanged) std::swap(rows, columns);

  Draft draft;
  DotKernel dot;
  dot.batch = extents(rows.value, *rows.batching);
  dot.m = extents(rows.value, rows.free);
  dot.n = extents(columns.value, columns.free);
  dot.k = extents(rows.value, *rows.contracting);

  // Index of each operand dimension in the loop space that lists the given groups one after
  // another.
  auto place = [](ExprBuilder& builder, Value* value, std::initializer_list<const Dims*> groups) {
    IndexVector index(value->type.shape.size(), builder.constant_index(0));
    size_t next = 0;
    for (const Dims* group : groups)
      for (int64_t d : *group)
        if (value->type.shape[static_cast<size_t>(d)] != 1)
          index[static_cast<size_t>(d)] = builder.loop_index(next++);
    return index;
  };
  ExprContext shared = context(draft, result);
  // The product's own result must not be looked up as a stored value either.
  auto stored = shared.stored_input;
  shared.stored_input = [stored, product = op->result()](Value* value) -> std::optional<int32_t> {
    if (value == product) return {};
    return stored(value);
  };
  ExprBuilder left(dot.lhs, shared, dot.batch.size() + dot.m.size() + dot.k.size());
  auto lhs_root = left.evaluate(
      rows.value, place(left, rows.value, {rows.batching, &rows.free, rows.contracting}));
  if (!lhs_root) return unsupported(left.failure());
  ExprBuilder right(dot.rhs, shared, dot.batch.size() + dot.k.size() + dot.n.size());
  auto rhs_root = right.evaluate(
      columns.value,
      place(right, columns.value, {columns.batching, columns.contracting, &columns.free}));
  if (!rhs_root) return unsupported(right.failure());
  dot.lhs_root = *lhs_root;
  dot.rhs_root = *rhs_root;

  shared.accumulator = op->result();
  std::vector<int64_t> out_space = dot.batch;
  out_space.insert(out_space.end(), dot.m.begin(), dot.m.end());
  out_space.insert(out_space.end(), dot.n.begin(), dot.n.end());
  ExprBuilder after(dot.epilogue, shared, out_space.size());
  // The epilogue's value has the product's dimensions in some order.
  size_t m_loop = dot.batch.size(), n_loop = m_loop + dot.m.size();
  size_t batch_loop = 0, &lhs_loop = exchanged ? n_loop : m_loop,
         &rhs_loop = exchanged ? m_loop : n_loop;
  std::vector<size_t> loop_of;  // per dimension of the product
  for (size_t d = 0; d < op->result()->type.shape.size(); ++d) {
    size_t& loop = d < batches ? batch_loop : d < lhs_end ? lhs_loop : rhs_loop;
    loop_of.push_back(op->result()->type.shape[d] == 1 ? SIZE_MAX : loop++);
  }
  IndexVector index;
  std::vector<int64_t> result_shape = result->type.shape;
  size_t position = 0;
  for (int64_t extent : result_shape) {
    if (extent == 1) {
      index.push_back(after.constant_index(0));
      continue;
    }
    index.push_back(after.loop_index(loop_of[static_cast<size_t>(order[position++])]));
  }
  std::optional<int32_t> node = after.evaluate(result, index);
  if (!node) return unsupported(after.failure());
  dot.outputs.push_back({*node, after.address(result_shape, index)});
  draft.kernel.body = std::move(dot);
  draft.kernel.name = "dot";
  return finish(std::move(draft), {&result, 1}, op);
}

Status GraphBuilder::emit_dot_as_reduction(Op* op, Value* result) {
  if (result != op->result()) return unsupported(op, "a product of this type with an epilogue");
  const auto& attributes = op->as<DotAttributes>();
  Value* lhs = op->operand(0);
  Value* rhs = op->operand(1);
  DType dtype = op->result()->type.dtype;
  Draft draft;
  LoopKernel loop;
  const std::vector<int64_t>& out_shape = result->type.shape;
  DenseLoops loops(out_shape);
  loop.extents = loops.extents();
  loop.roles.assign(loop.extents.size(), LoopRole::parallel);
  for (int64_t d : attributes.lhs_contracting)
    if (lhs->type.shape[static_cast<size_t>(d)] != 1) {
      loop.extents.push_back(lhs->type.shape[static_cast<size_t>(d)]);
      loop.roles.push_back(LoopRole::reduced);
    }
  ExprBuilder builder(loop.expr, context(draft, result), loop.extents.size());
  IndexVector out = loops.index(builder);
  size_t next = loops.extents().size();
  IndexVector left(lhs->type.shape.size(), builder.constant_index(0)),
      right(rhs->type.shape.size(), builder.constant_index(0));
  size_t at = 0;
  for (size_t i = 0; i < attributes.lhs_batching.size(); ++i, ++at) {
    left[static_cast<size_t>(attributes.lhs_batching[i])] = out[at];
    right[static_cast<size_t>(attributes.rhs_batching[i])] = out[at];
  }
  for (int64_t d : free_dims(lhs->type.rank(), attributes.lhs_batching, attributes.lhs_contracting))
    left[static_cast<size_t>(d)] = out[at++];
  for (int64_t d : free_dims(rhs->type.rank(), attributes.rhs_batching, attributes.rhs_contracting))
    right[static_cast<size_t>(d)] = out[at++];
  for (size_t i = 0; i < attributes.lhs_contracting.size(); ++i) {
    size_t d = static_cast<size_t>(attributes.lhs_contracting[i]);
    if (lhs->type.shape[d] == 1) continue;
    left[d] = builder.loop_index(next);
    right[static_cast<size_t>(attributes.rhs_contracting[i])] = builder.loop_index(next++);
  }
  std::vector<int32_t> a = builder.evaluate_parts(lhs, left),
                       b = builder.evaluate_parts(rhs, right);
  if (a.empty() || b.empty()) return unsupported(builder.failure());
  DType real = real_part(dtype);
  auto node = [&](OpKind op, int32_t x, int32_t y = -1) {
    ExprNode out;
    out.op = op;
    out.dtype = real;
    out.operands = {x, y, -1};
    return loop.expr.add(out);
  };
  for (std::vector<int32_t>* side : {&a, &b})
    for (int32_t& part : *side)
      if (loop.expr.nodes[static_cast<size_t>(part)].dtype != real)
        part = node(OpKind::convert, part);
  auto product = [&](size_t i, size_t j) { return node(OpKind::multiply, a[i], b[j]); };
  LoopKernel::Reduction reduction;
  ExprNode zero;
  zero.kind = ExprNode::Kind::constant;
  zero.dtype = real;
  reduction.initial.assign(static_cast<size_t>(parts(dtype)), loop.expr.add(zero));
  std::vector<int32_t> products;
  if (!is_complex(dtype)) {
    reduction.combiner = OpKind::add;
    products = {product(0, 0)};
  } else {
    if (a.size() != 2 || b.size() != 2) return unsupported(op, "a product of mixed types");
    products = {node(OpKind::subtract, product(0, 0), product(1, 1)),
                node(OpKind::add, product(0, 1), product(1, 0))};
    for (int32_t part = 0; part < 2; ++part) {
      ExprNode sum, parameter;
      parameter.kind = ExprNode::Kind::parameter;
      parameter.dtype = sum.dtype = real;
      for (size_t i = 0; i < 2; ++i) {
        parameter.input = part + 2 * static_cast<int32_t>(i);
        sum.operands[i] = reduction.body.add(parameter);
      }
      reduction.body_results.push_back(reduction.body.add(sum));
    }
  }
  add_output(loop.outputs, dtype, 0, products, builder.address(out_shape, out));
  loop.reduction = std::move(reduction);
  draft.kernel.body = std::move(loop);
  draft.kernel.name = "dot";
  return finish(std::move(draft), {&result, 1}, op);
}

}  // namespace ullage
