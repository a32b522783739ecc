#include "kernels/window.h"

#include <algorithm>
#include <cstring>

#include "kernels/affine.h"
#include "kernels/reduction.h"
#include "ops/combiner.h"

namespace ullage {

namespace {

struct Window {
  std::vector<int64_t> size, stride, base_dilation, window_dilation, low, high;
};

Window window_of(const Op& op) {
  const auto& a = op.as<WindowAttributes>();
  size_t rank = a.window_dimensions.size();
  auto or_ones = [&](const Dims& dims) { return dims.empty() ? Dims(rank, 1) : dims; };
  Window w{a.window_dimensions,
           or_ones(a.window_strides),
           or_ones(a.base_dilations),
           or_ones(a.window_dilations),
           Dims(rank, 0),
           Dims(rank, 0)};
  for (size_t d = 0; d < a.padding.size(); ++d) {
    w.low[d] = a.padding[d].first;
    w.high[d] = a.padding[d].second;
  }
  return w;
}

// Loops over windows, then over the elements of one.
struct WindowLoops {
  std::vector<int64_t> extents;
  std::vector<LoopRole> roles;
  std::vector<int64_t> window_loop, element_loop;  // per dimension, -1 where the extent is 1
};

WindowLoops window_loops(const std::vector<int64_t>& windows, const std::vector<int64_t>& size) {
  WindowLoops out;
  auto add = [&](int64_t extent, LoopRole role, std::vector<int64_t>& loop) {
    loop.push_back(extent == 1 ? -1 : static_cast<int64_t>(out.extents.size()));
    if (extent == 1) return;
    out.extents.push_back(extent);
    out.roles.push_back(role);
  };
  for (int64_t extent : windows) add(extent, LoopRole::parallel, out.window_loop);
  for (int64_t extent : size) add(extent, LoopRole::reduced, out.element_loop);
  return out;
}

Index loop_or_zero(const ExprBuilder& builder, int64_t loop) {
  return loop < 0 ? builder.constant_index(0) : builder.loop_index(static_cast<size_t>(loop));
}

// Where the element lies in the operand; `inside` is false for padding and holes.
IndexVector element_index(ExprBuilder& builder, const Window& w, const WindowLoops& loops,
                          const std::vector<int64_t>& shape, int32_t& inside) {
  IndexVector out;
  for (size_t d = 0; d < shape.size(); ++d) {
    Index at = builder.add(
        builder.scaled(loop_or_zero(builder, loops.window_loop[d]), w.stride[d]),
        builder.scaled(loop_or_zero(builder, loops.element_loop[d]), w.window_dilation[d]));
    at.affine.constant -= w.low[d];
    at = builder.divided(at, w.base_dilation[d], inside);
    bool covered = false;
    if (at.dynamic.empty()) {
      Interval range = bounds(at.affine, loops.extents);
      covered = range.lowest >= 0 && range.highest < shape[d];
    }
    if (!covered) inside = builder.both(inside, builder.range_node(at, 0, shape[d]));
    out.push_back(std::move(at));
  }
  return out;
}

int32_t constant_node(Expr& expr, DType dtype, int64_t value) {
  ExprNode node;
  node.kind = ExprNode::Kind::constant;
  node.dtype = dtype;
  std::memcpy(node.bits.data(), &value, static_cast<size_t>(storage_bytes(dtype)));
  return expr.add(node);
}

int32_t parameter_node(Expr& expr, DType dtype, int32_t number) {
  ExprNode node;
  node.kind = ExprNode::Kind::parameter;
  node.dtype = dtype;
  node.input = number;
  return expr.add(node);
}

int32_t operation(Expr& expr, OpKind op, DType dtype, int32_t a, int32_t b, int32_t c = -1) {
  ExprNode node;
  node.op = op;
  node.dtype = dtype;
  node.operands = {a, b, c};
  return expr.add(node);
}

int32_t compared(Expr& expr, CompareDirection direction, int32_t a, int32_t b) {
  ExprNode node;
  node.op = OpKind::compare;
  node.dtype = DType::i1;
  node.direction = direction;
  node.operands = {a, b, -1};
  return expr.add(node);
}

// Whether a scalar is a constant that leaves every value as it is when combined with it.
bool is_identity(Value* value, OpKind combiner) {
  while (value->op() &&
         (value->op()->kind == OpKind::broadcast_in_dim || value->op()->kind == OpKind::reshape))
    value = value->op()->operand(0);
  if (!value->op() || value->op()->kind != OpKind::constant) return false;
  const Literal& literal = value->op()->as<ConstantAttributes>().value;
  if (!literal.splat && literal.type.num_elements() != 1) return false;
  DType dtype = literal.type.dtype;
  if (is_complex(dtype)) {
    auto is_part = [&](size_t part, double wanted) {
      const std::byte* at = literal.element(0);
      double number = 0;
      if (dtype == DType::c128) {
        std::memcpy(&number, at + part * sizeof number, sizeof number);
      } else {
        float narrow = 0;
        std::memcpy(&narrow, at + part * sizeof narrow, sizeof narrow);
        number = static_cast<double>(narrow);
      }
      return number == wanted;
    };
    bool known = combiner == OpKind::add || combiner == OpKind::multiply;
    return known && is_part(0, combiner == OpKind::add ? 0 : 1) && is_part(1, 0);
  }
  uint64_t bits = 0;
  std::memcpy(&bits, literal.element(0), static_cast<size_t>(storage_bytes(dtype)));
  // Zero of either sign: sums of nothing but -0 are 0 in a window that is padded with 0, and here.
  if (combiner == OpKind::add && bits == 0) return true;
  uint64_t identity = identity_bits(combiner, dtype);
  int width = 8 * storage_bytes(dtype);
  if (width < 64) identity &= (uint64_t{1} << width) - 1;
  return bits == identity;
}

}  // namespace

std::optional<Cumulative> cumulative(const Op& op) {
  const std::vector<int64_t>& shape = op.operand(0)->type.shape;
  Window w = window_of(op);
  std::optional<Cumulative> found;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (w.stride[d] != 1 || w.base_dilation[d] != 1) return {};
    if (w.size[d] == 1 && w.low[d] == 0 && w.high[d] == 0) continue;
    if (found || w.size[d] != shape[d] || w.window_dilation[d] != 1) return {};
    found = Cumulative{static_cast<int64_t>(d), w.low[d] == 0};
    if ((found->reverse ? w.high[d] : w.low[d]) != shape[d] - 1) return {};
    if ((found->reverse ? w.low[d] : w.high[d]) != 0) return {};
  }
  if (!found) return {};
  // Padding is combined too. A general body has its initial value for an identity, or else no
  // defined result.
  if (std::optional<OpKind> combiner = plain_combiner(op))
    if (!is_identity(op.operand(op.num_results()), *combiner)) return {};
  return found;
}

std::optional<LoopKernel> window_reduction(Op* op, const ExprContext& context, Op*& failure) {
  Window w = window_of(*op);
  const std::vector<int64_t>& shape = op->operand(0)->type.shape;
  WindowLoops loops = window_loops(op->result(0)->type.shape, w.size);
  LoopKernel kernel;
  kernel.extents = loops.extents;
  kernel.roles = loops.roles;
  kernel.reduction.emplace();
  ExprBuilder builder(kernel.expr, context, loops.extents.size());
  int32_t inside = -1;
  IndexVector at = element_index(builder, w, loops, shape, inside);
  IndexVector out;
  for (int64_t loop : loops.window_loop) out.push_back(loop_or_zero(builder, loop));
  size_t count = op->num_results();
  for (size_t i = 0; i < count; ++i) {
    DType dtype = op->operand(i)->type.dtype;
    std::vector<int32_t> initial = builder.evaluate_parts(op->operand(count + i), {});
    std::vector<int32_t> element = builder.evaluate_parts(op->operand(i), at, inside);
    if (initial.empty() || element.empty()) {
      failure = builder.failure();
      return {};
    }
    for (size_t p = 0; p < element.size() && inside >= 0; ++p)
      element[p] =
          builder.op_node(OpKind::select, real_part(dtype), {inside, element[p], initial[p]});
    add_output(kernel.outputs, dtype, static_cast<int32_t>(i), element,
               builder.address(op->result(i)->type.shape, out));
    kernel.reduction->initial.insert(kernel.reduction->initial.end(), initial.begin(),
                                     initial.end());
  }
  return kernel;
}

std::optional<ScanKernel> cumulative_scan(Op* op, const ExprContext& context, Op*& failure) {
  Cumulative scan = *cumulative(*op);
  const std::vector<int64_t>& shape = op->operand(0)->type.shape;
  ScanKernel kernel;
  std::vector<int64_t> loop_of(shape.size(), -1);
  size_t scanned = static_cast<size_t>(scan.dim);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d == scanned || shape[d] == 1) continue;
    loop_of[d] = static_cast<int64_t>(kernel.extents.size());
    kernel.extents.push_back(shape[d]);
  }
  loop_of[scanned] = static_cast<int64_t>(kernel.extents.size());
  kernel.extents.push_back(shape[scanned]);
  ExprBuilder builder(kernel.expr, context, kernel.extents.size());
  IndexVector index;
  for (int64_t loop : loop_of) index.push_back(loop_or_zero(builder, loop));
  if (scan.reverse) {
    index[scanned] = builder.scaled(index[scanned], -1);
    index[scanned].affine.constant = shape[scanned] - 1;
  }
  size_t count = op->num_results();
  for (size_t i = 0; i < count; ++i) {
    std::vector<int32_t> initial = builder.evaluate_parts(op->operand(count + i), {});
    std::vector<int32_t> element = builder.evaluate_parts(op->operand(i), index);
    if (initial.empty() || element.empty()) {
      failure = builder.failure();
      return {};
    }
    add_output(kernel.outputs, op->operand(i)->type.dtype, static_cast<int32_t>(i), element,
               builder.address(shape, index));
    kernel.reduction.initial.insert(kernel.reduction.initial.end(), initial.begin(), initial.end());
  }
  return kernel;
}

void swap_sides(LoopKernel::Reduction& reduction) {
  int32_t count = static_cast<int32_t>(reduction.initial.size());
  for (ExprNode& node : reduction.body.nodes)
    if (node.kind == ExprNode::Kind::parameter) node.input = (node.input + count) % (2 * count);
}

std::optional<LoopKernel> window_selection(Op* op, DType index_type, const ExprContext& context,
                                           Op*& failure) {
  Window w = window_of(*op);
  Value* operand = op->operand(0);
  const std::vector<int64_t>& windows = op->operand(1)->type.shape;
  WindowLoops loops = window_loops(windows, w.size);
  LoopKernel kernel;
  kernel.extents = loops.extents;
  kernel.roles = loops.roles;
  LoopKernel::Reduction& reduction = kernel.reduction.emplace();
  ExprBuilder builder(kernel.expr, context, loops.extents.size());
  int32_t inside = -1;
  IndexVector at = element_index(builder, w, loops, operand->type.shape, inside);
  std::vector<int32_t> element = builder.evaluate_parts(operand, at, inside);
  if (element.empty()) {
    failure = builder.failure();
    return {};
  }
  int32_t place = builder.index_node(builder.address(operand->type.shape, at), index_type);
  int32_t none = constant_node(kernel.expr, index_type, -1);
  if (inside >= 0) place = builder.op_node(OpKind::select, index_type, {inside, place, none});
  IndexVector out;
  for (int64_t loop : loops.window_loop) out.push_back(loop_or_zero(builder, loop));
  Access store = builder.address(windows, out);
  DType dtype = real_part(operand->type.dtype);
  const auto count = static_cast<int32_t>(element.size());
  add_output(kernel.outputs, operand->type.dtype, 0, element, store);
  add_output(kernel.outputs, index_type, 1, {place}, store);
  reduction.initial.assign(element.size(), constant_node(kernel.expr, dtype, 0));
  reduction.initial.push_back(none);

  // The accumulator stays if it is an element and the new one is none, or not selected instead.
  Region& select = op->nested(0);
  ExprContext body_context = context;
  body_context.parameter = [&select, count](Value* value) -> std::optional<int32_t> {
    if (value->region() != &select) return {};
    return value->index() == 0 ? 0 : count + 1;
  };
  Expr& body = reduction.body;
  ExprBuilder selector(body, std::move(body_context), 0);
  std::optional<int32_t> chosen = selector.evaluate(select.terminator()->operand(0), {});
  if (!chosen) {
    failure = selector.failure();
    return {};
  }
  int32_t old_place = parameter_node(body, index_type, count),
          new_place = parameter_node(body, index_type, 2 * count + 1);
  int32_t zero = constant_node(body, index_type, 0);
  int32_t stays = operation(
      body, OpKind::and_, DType::i1, compared(body, CompareDirection::ge, old_place, zero),
      operation(body, OpKind::or_, DType::i1, compared(body, CompareDirection::lt, new_place, zero),
                *chosen));
  for (int32_t part = 0; part < count; ++part)
    reduction.body_results.push_back(operation(body, OpKind::select, dtype, stays,
                                               parameter_node(body, dtype, part),
                                               parameter_node(body, dtype, count + 1 + part)));
  reduction.body_results.push_back(
      operation(body, OpKind::select, index_type, stays, old_place, new_place));
  return kernel;
}

std::optional<ScatterKernel> selected_scatter(Op* op, DType index_type, const ExprContext& context,
                                              Op*& failure) {
  using Dim = ScatterKernel::Dim;
  Window w = window_of(*op);
  Value* source = op->operand(1);
  const std::vector<int64_t>& windows = source->type.shape;
  ScatterKernel kernel;
  std::vector<int64_t> loop_of;
  for (size_t d = 0; d < windows.size(); ++d) {
    loop_of.push_back(windows[d] == 1 ? -1 : static_cast<int64_t>(kernel.extents.size()));
    if (windows[d] == 1) continue;
    kernel.extents.push_back(windows[d]);
    // Windows that do not overlap select different elements.
    kernel.dims.push_back(w.size[d] <= w.stride[d] ? Dim::parallel : Dim::position);
  }
  ExprBuilder builder(kernel.expr, context, kernel.extents.size());
  IndexVector index;
  for (int64_t loop : loop_of) index.push_back(loop_or_zero(builder, loop));
  std::vector<int32_t> update = builder.evaluate_parts(source, index);
  if (update.empty()) {
    failure = builder.failure();
    return {};
  }
  ExprNode load;
  load.kind = ExprNode::Kind::load;
  load.dtype = index_type;
  load.input = 1;
  load.access = builder.address(windows, index);
  int32_t place = kernel.expr.add(load);
  if (index_type != DType::i64) place = builder.op_node(OpKind::convert, DType::i64, {place});
  Access store = builder.constant_index(0);
  store.dynamic.push_back({place, 1});
  kernel.in_range =
      compared(kernel.expr, CompareDirection::ge, place, constant_node(kernel.expr, DType::i64, 0));
  add_output(kernel.outputs, source->type.dtype, 0, update, store);
  return kernel;
}

}  // namespace ullage
