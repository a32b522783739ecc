// Scatter and windows: kernels that combine updates into arrays, or elements within windows.
#include <algorithm>

#include "kernels/graph_builder.h"
#include "kernels/scatter.h"
#include "kernels/window.h"

namespace ullage {

Status GraphBuilder::emit_scatter(Op* op) {
  size_t count = op->num_results();
  for (size_t i = 0; i < count; ++i)
    if (op->operand(i)->type.dtype != op->result(i)->type.dtype)
      return unsupported(op, "the results have another type than the operands");
  Draft draft;
  std::vector<ValueId> read;
  for (size_t i = count; i < op->num_operands(); ++i)
    if (std::optional<ValueId> id = lookup(op->operand(i))) read.push_back(*id);
  for (size_t i = 0; i < count; ++i) {
    ValueId id = *lookup(op->operand(i));
    // Every result replaces elements of an array of its own, which nothing else reads.
    if (std::find(read.begin(), read.end(), id) != read.end()) id = copy_of(id, op);
    read.push_back(id);
    input_number(draft, id);
    draft.kernel.in_place.push_back({static_cast<int32_t>(i), static_cast<int32_t>(i), true});
  }
  Op* failure = nullptr;
  std::optional<ScatterKernel> scatter = scatter_kernel(op, context(draft, nullptr), failure);
  if (!scatter) return unsupported(failure);
  // What is read from the arrays must be read before they change.
  bool reads_target =
      std::any_of(scatter->expr.nodes.begin(), scatter->expr.nodes.end(), [&](const ExprNode& n) {
        return n.kind == ExprNode::Kind::load && n.input < static_cast<int32_t>(count);
      });
  if (reads_target) {
    for (size_t i = count; i < op->num_operands(); ++i) {
      if (lookup(op->operand(i))) continue;
      Status status = store_first(op->operand(i));
      if (!status) return status;
    }
    return emit_scatter(op);
  }
  Status status = region_body(op, op->nested(0), scatter->body, scatter->body_results);
  if (!status) return status;
  draft.kernel.body = std::move(*scatter);
  draft.kernel.name = "scatter";
  return finish(std::move(draft), op->results(), op);
}

Status GraphBuilder::emit_window(Op* op) {
  for (size_t i = 0; i < op->num_results(); ++i)
    if (op->operand(i)->type.dtype != op->result(i)->type.dtype)
      return unsupported(op, "the results have another type than the operands");
  Draft draft;
  Op* failure = nullptr;
  if (cumulative(*op)) {
    std::optional<ScanKernel> scan = cumulative_scan(op, context(draft, nullptr), failure);
    if (!scan) return unsupported(failure);
    Status status = combiner(op, scan->reduction);
    if (!status) return status;
    // Backwards the element stands before what has been combined.
    if (cumulative(*op)->reverse) swap_sides(scan->reduction);
    draft.kernel.body = std::move(*scan);
    draft.kernel.name = "scan";
    return finish(std::move(draft), op->results(), op);
  }
  std::optional<LoopKernel> loop = window_reduction(op, context(draft, nullptr), failure);
  if (!loop) return unsupported(failure);
  Status status = combiner(op, *loop->reduction);
  if (!status) return status;
  draft.kernel.body = std::move(*loop);
  draft.kernel.name = "reduce_window";
  return finish(std::move(draft), op->results(), op);
}

std::vector<ValueId> GraphBuilder::finish_unnamed(Draft&& draft, const std::vector<Type>& types,
                                                  Op* op) {
  Kernel& kernel = draft.kernel;
  kernel.location = op->location;
  for (const Type& type : types) {
    KernelValue value;
    value.type = type;
    value.bytes = type.bytes();
    value.producer = static_cast<KernelId>(graph_.kernels.size());
    value.location = op->location;
    kernel.outputs.push_back(static_cast<ValueId>(graph_.values.size()));
    graph_.values.push_back(std::move(value));
  }
  std::vector<ValueId> out = kernel.outputs;
  graph_.kernels.push_back(std::move(kernel));
  return out;
}

Status GraphBuilder::emit_select_and_scatter(Op* op) {
  const Type& type = op->result()->type;
  const Type& source = op->operand(1)->type;
  if (op->operand(0)->type.dtype != type.dtype || source.dtype != type.dtype)
    return unsupported(op, "the result has another type than the operands");
  DType index = type.num_elements() <= INT32_MAX ? DType::i32 : DType::i64;
  Op* failure = nullptr;
  Draft select;
  std::optional<LoopKernel> selection =
      window_selection(op, index, context(select, nullptr), failure);
  if (!selection) return unsupported(failure);
  select.kernel.body = std::move(*selection);
  select.kernel.name = "select_in_window";
  ValueId places = finish_unnamed(
      std::move(select),
      {Type::tensor(type.dtype, source.shape), Type::tensor(index, source.shape)}, op)[1];

  Draft fill;
  LoopKernel loop;
  loop.extents = {type.num_elements()};
  loop.roles = {LoopRole::parallel};
  ExprBuilder builder(loop.expr, context(fill, nullptr), 1);
  std::vector<int32_t> initial = builder.evaluate_parts(op->operand(2), {});
  if (initial.empty()) return unsupported(builder.failure());
  add_output(loop.outputs, type.dtype, 0, initial, builder.loop_index(0));
  fill.kernel.body = std::move(loop);
  fill.kernel.name = "fill";
  ValueId filled = finish_unnamed(std::move(fill), {type}, op)[0];

  Draft draft;
  input_number(draft, filled);
  input_number(draft, places);
  std::optional<ScatterKernel> scatter =
      selected_scatter(op, index, context(draft, nullptr), failure);
  if (!scatter) return unsupported(failure);
  Status status = region_body(op, op->nested(1), scatter->body, scatter->body_results);
  if (!status) return status;
  draft.kernel.in_place.push_back({0, 0, true});
  draft.kernel.body = std::move(*scatter);
  draft.kernel.name = "select_and_scatter";
  return finish(std::move(draft), op->results(), op);
}

}  // namespace ullage
