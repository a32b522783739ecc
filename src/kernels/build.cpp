#include "kernels/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "kernels/captures.h"
#include "kernels/dense_loops.h"
#include "kernels/graph_builder.h"
#include "ops/combiner.h"
#include "ops/loop_facts.h"
#include "support/check.h"

namespace ullage {

Result<KernelGraph> GraphBuilder::build(std::span<Value* const> captured,
                                        const std::vector<ArgumentInfo>& argument_info) {
  analysis_ = analyze_region(module_, region_);
  for (Value* argument : region_.arguments())
    graph_.arguments.push_back(add_value(KernelValue::Kind::argument, argument));
  for (Value* value : captured)
    graph_.arguments.push_back(add_value(KernelValue::Kind::argument, value));
  graph_.argument_info = argument_info;
  graph_.argument_info.resize(graph_.arguments.size());
  find_unwritten();
  for (Op* op : region_) {
    if (has_trait(op->kind, kTerminator)) break;
    Status status = emit(op);
    if (!status) return status.diagnostics();
  }
  for (Value* value : region_.terminator()->operands()) {
    std::optional<ValueId> id = lookup(value);
    ULLAGE_CHECK(id, "result without a buffer");
    graph_.outputs.push_back(*id);
  }
  merge_loops(graph_);
  for (Kernel& kernel : graph_.kernels) finish_kernel(kernel, graph_, target_);
  return std::move(graph_);
}

ValueId GraphBuilder::add_value(KernelValue::Kind kind, Value* value) {
  KernelValue out;
  out.kind = kind;
  out.type = value->type;
  out.bytes = value->type.bytes();
  out.name = value->name;
  out.location = value->location;
  ValueId id = static_cast<ValueId>(graph_.values.size());
  graph_.values.push_back(std::move(out));
  ids_[value] = id;
  return id;
}

std::optional<ValueId> GraphBuilder::lookup(Value* value) const {
  auto it = ids_.find(analysis_.base(value));
  if (it == ids_.end()) return {};
  return it->second;
}

int32_t GraphBuilder::input_number(Draft& draft, ValueId id) {
  auto [it, added] =
      draft.input_numbers.try_emplace(id, static_cast<int32_t>(draft.kernel.inputs.size()));
  if (added) draft.kernel.inputs.push_back(id);
  return it->second;
}

ExprContext GraphBuilder::context(Draft& draft, Value* target) {
  ExprContext out;
  out.module = &module_;
  out.stored_input = [this, &draft, target](Value* value) -> std::optional<int32_t> {
    if (value == target) return {};
    std::optional<ValueId> id = lookup(value);
    if (!id) return {};
    return input_number(draft, *id);
  };
  return out;
}

Status GraphBuilder::finish(Draft&& draft, std::span<Value* const> results, Op* op) {
  Kernel& kernel = draft.kernel;
  kernel.location = op->location;
  KernelId id = static_cast<KernelId>(graph_.kernels.size());
  for (Value* value : results) {
    ValueId out = add_value(KernelValue::Kind::result, value);
    graph_.values[static_cast<size_t>(out)].producer = id;
    kernel.outputs.push_back(out);
  }
  graph_.kernels.push_back(std::move(kernel));
  return Ok{};
}

Diagnostic GraphBuilder::unsupported(Op* op, std::string_view why) {
  return error(fmt::format("{} is not supported by the compiler{}{}", op->mnemonic(),
                           why.empty() ? "" : ": ", why),
               module_.source(op->location),
               "only the interpreter runs it: `ullage check`, for programs that check themselves");
}

Status GraphBuilder::emit(Op* op) {
  if (op->num_results() == 1 && unwritten_.contains(op->result())) return Ok{};
  if (op->kind == OpKind::constant) return emit_constant(op);
  bool any = false;
  for (Value* value : op->results()) any |= analysis_.stored.contains(value);
  if (!any && is_fusible(module_, *op)) return Ok{};
  if (op->num_results() == 1 && analysis_.alias.contains(op->result())) return Ok{};
  if (op->num_results() == 1)
    if (auto it = analysis_.epilogue_of.find(op->result()); it != analysis_.epilogue_of.end())
      return emit_dot(it->second.product->op(), op->result());
  switch (op->kind) {
    case OpKind::dot_general:
      if (!analysis_.stored.contains(op->result()))
        return Ok{};  // the end of its epilogue emits it
      return emit_dot(op, op->result());
    case OpKind::reduce:
      return emit_reduce(op);
    case OpKind::dynamic_update_slice:
      if (!is_fusible(module_, *op)) return emit_update(op);
      break;
    case OpKind::scatter:
      return emit_scatter(op);
    case OpKind::reduce_window:
      return emit_window(op);
    case OpKind::select_and_scatter:
      return emit_select_and_scatter(op);
    case OpKind::while_:
      return emit_while(op);
    case OpKind::case_:
    case OpKind::if_:
      return emit_case(op);
    case OpKind::optimization_barrier:
      return emit_whole(op, BarrierKernel{}, "barrier");
    case OpKind::rng_bit_generator:
      return emit_whole(op, RngKernel{op->as<RngAttributes>().algorithm}, "rng_bit_generator");
    default:
      break;
  }
  if (const LibraryOperation* library = library_operation(*op)) return emit_library(op, *library);
  if (!is_fusible(module_, *op)) return unsupported(op);
  for (Value* value : op->results())
    if (analysis_.stored.contains(value)) {
      Status status = emit_loop(op, value);
      if (!status) return status;
    }
  return Ok{};
}

Status GraphBuilder::emit_constant(Op* op) {
  if (!analysis_.stored.contains(op->result())) return Ok{};
  const Literal& literal = op->as<ConstantAttributes>().value;
  // A large splat is filled by a kernel, so that it takes memory only while it is needed.
  if (literal.splat && literal.type.num_elements() > 1) return emit_loop(op, op->result());
  ValueId id = add_value(KernelValue::Kind::constant, op->result());
  graph_.values[static_cast<size_t>(id)].literal = literal;
  return Ok{};
}

constexpr int kSplits = 3;  // of loops, one after another: padding within padding

Status GraphBuilder::emit_loop(Op* op, Value* value) {
  Draft draft;
  LoopKernel loop;
  DenseLoops loops(value->type.shape);
  for (int splits = 0;; ++splits) {
    draft = {};
    loop = {};
    loop.extents = loops.extents();
    ExprBuilder builder(loop.expr, context(draft, value), loop.extents.size(), loop.extents);
    IndexVector index = loops.index(builder);
    std::vector<int32_t> nodes = builder.evaluate_parts(value, index);
    if (nodes.empty()) return unsupported(builder.failure());
    if (splits < kSplits && loops.split(builder.divisions())) continue;
    add_output(loop.outputs, value->type.dtype, 0, nodes,
               builder.address(value->type.shape, index));
    break;
  }
  loop.roles.assign(loop.extents.size(), LoopRole::parallel);
  draft.kernel.body = std::move(loop);
  draft.kernel.name = std::string(info(op->kind).name);
  return finish(std::move(draft), {&value, 1}, op);
}

Status GraphBuilder::emit_reduce(Op* op) {
  Draft draft;
  LoopKernel loop;
  const Dims& reduced = op->as<DimsAttributes>().dims;
  size_t count = op->num_results();
  const std::vector<int64_t>& shape = op->operand(0)->type.shape;
  auto is_reduced = [&](size_t d) {
    return std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(d)) != reduced.end();
  };
  std::vector<int64_t> loop_of(shape.size(), -1);
  for (bool pass : {false, true})
    for (size_t d = 0; d < shape.size(); ++d) {
      if (is_reduced(d) != pass || shape[d] == 1) continue;
      loop_of[d] = static_cast<int64_t>(loop.extents.size());
      loop.extents.push_back(shape[d]);
      loop.roles.push_back(pass ? LoopRole::reduced : LoopRole::parallel);
    }
  LoopKernel::Reduction reduction;
  {
    ExprBuilder builder(loop.expr, context(draft, nullptr), loop.extents.size());
    IndexVector index, out_index;
    for (size_t d = 0; d < shape.size(); ++d) {
      index.push_back(loop_of[d] < 0 ? builder.constant_index(0)
                                     : builder.loop_index(static_cast<size_t>(loop_of[d])));
      if (!is_reduced(d)) out_index.push_back(index.back());
    }
    for (size_t i = 0; i < count; ++i) {
      std::vector<int32_t> element = builder.evaluate_parts(op->operand(i), index);
      std::vector<int32_t> initial = builder.evaluate_parts(op->operand(count + i), {});
      if (element.empty() || initial.empty()) return unsupported(builder.failure());
      add_output(loop.outputs, op->operand(i)->type.dtype, static_cast<int32_t>(i), element,
                 builder.address(op->result(i)->type.shape, out_index));
      reduction.initial.insert(reduction.initial.end(), initial.begin(), initial.end());
    }
  }
  Status status = combiner(op, reduction);
  if (!status) return status;
  loop.reduction = std::move(reduction);
  draft.kernel.body = std::move(loop);
  draft.kernel.name = "reduce";
  return finish(std::move(draft), op->results(), op);
}

Status GraphBuilder::combiner(Op* op, LoopKernel::Reduction& reduction) {
  if (!is_complex(op->result(0)->type.dtype)) reduction.combiner = plain_combiner(*op);
  if (reduction.combiner) return Ok{};
  return region_body(op, op->nested(0), reduction.body, reduction.body_results);
}

Status GraphBuilder::emit_update(Op* op, std::optional<ValueId> copy) {
  Draft draft;
  Value* operand = op->operand(0);
  Value* update = op->operand(1);
  ValueId into = copy ? *copy : *lookup(operand);
  int32_t target = input_number(draft, into);
  LoopKernel loop;
  DenseLoops loops(update->type.shape);
  loop.extents = loops.extents();
  loop.roles.assign(loop.extents.size(), LoopRole::parallel);
  ExprBuilder builder(loop.expr, context(draft, nullptr), loop.extents.size());
  IndexVector index = loops.index(builder);
  std::vector<int32_t> nodes = builder.evaluate_parts(update, index);
  if (nodes.empty()) return unsupported(builder.failure());
  IndexVector out = index;
  for (size_t d = 0; d < out.size(); ++d) {
    int64_t upper = operand->type.shape[d] - update->type.shape[d];
    if (upper == 0) continue;
    std::optional<int32_t> start = builder.clamped_start(op->operand(d + 2), upper);
    if (!start) return unsupported(builder.failure());
    out[d].dynamic.push_back({*start, 1});
  }
  add_output(loop.outputs, operand->type.dtype, 0, nodes,
             builder.address(operand->type.shape, out));
  // Reading other elements of the array while it is overwritten would see new values.
  for (const ExprNode& n : loop.expr.nodes)
    if (n.kind == ExprNode::Kind::load && n.input == target &&
        !(n.access == loop.outputs.front().store) && !(n.access == loop.outputs.back().store)) {
      // What is left is a place that the array itself tells, under another type.
      if (lookup(update)) return emit_update(op, copy_of(into, op));
      Status status = store_first(update);
      return status ? emit_update(op) : status;
    }
  draft.kernel.body = std::move(loop);
  draft.kernel.name = "dynamic_update_slice";
  draft.kernel.in_place.push_back({0, target, true});
  return finish(std::move(draft), op->results(), op);
}

Status GraphBuilder::emit_whole(Op* op, decltype(Kernel::body) body, std::string name) {
  Draft draft;
  for (Value* operand : op->operands()) draft.kernel.inputs.push_back(*lookup(operand));
  draft.kernel.body = std::move(body);
  draft.kernel.name = std::move(name);
  return finish(std::move(draft), op->results(), op);
}

Status GraphBuilder::store_first(Value* value) {
  ULLAGE_CHECK(!lookup(value), "a stored value is stored again");
  return emit_loop(value->op(), value);
}

ValueId GraphBuilder::copy_of(ValueId from, Op* op) {
  KernelValue value = graph_.values[static_cast<size_t>(from)];
  value.kind = KernelValue::Kind::result;
  value.literal.reset();
  value.producer = static_cast<KernelId>(graph_.kernels.size());
  value.consumers.clear();
  LoopKernel loop;
  loop.extents = {value.type.num_elements() * parts(value.type.dtype)};
  loop.roles = {LoopRole::parallel};
  ExprNode load;
  load.kind = ExprNode::Kind::load;
  load.dtype = real_part(value.type.dtype);
  load.input = 0;
  load.access.affine.coefficients = {1};
  loop.outputs.push_back({loop.expr.add(load), load.access});
  Kernel kernel;
  kernel.body = std::move(loop);
  kernel.name = "copy";
  kernel.inputs = {from};
  kernel.outputs = {static_cast<ValueId>(graph_.values.size())};
  kernel.location = op->location;
  graph_.values.push_back(std::move(value));
  graph_.kernels.push_back(std::move(kernel));
  return graph_.kernels.back().outputs[0];
}

Status GraphBuilder::region_body(Op* op, Region& region, Expr& body,
                                 std::vector<int32_t>& results) {
  bool outside = false;
  ExprContext body_context;
  body_context.module = &module_;
  body_context.stored_input = [&outside](Value* value) -> std::optional<int32_t> {
    if (value->op() && value->op()->kind == OpKind::constant) return {};
    bool stored = !value->op();
    outside |= stored;
    return stored ? std::optional<int32_t>(0) : std::nullopt;
  };
  // Arguments that are complex numbers are two parameters each.
  body_context.parameter = [&region](Value* value) -> std::optional<int32_t> {
    if (value->region() != &region) return {};
    int32_t number = 0;
    for (size_t i = 0; i < value->index(); ++i) number += parts(region.argument(i)->type.dtype);
    return number;
  };
  ExprBuilder builder(body, std::move(body_context), 0);
  for (Value* result : region.terminator()->operands()) {
    std::vector<int32_t> nodes = builder.evaluate_parts(result, {});
    if (nodes.empty()) return unsupported(builder.failure());
    results.insert(results.end(), nodes.begin(), nodes.end());
  }
  if (outside) return unsupported(op, "its region reads a value from outside");
  return Ok{};
}

Status GraphBuilder::emit_library(Op* op, const LibraryOperation& library) {
  std::vector<Value*> values = op->operands();
  values.insert(values.end(), op->results().begin(), op->results().end());
  bool tokens = library.name == "host_call" || library.name == "token";
  for (Value* value : values) {
    if (tokens && value->type.kind == Type::Kind::token) continue;
    if (!value->type.is_tensor() || !value->type.is_static() || value->type.quantized)
      return unsupported(op, "types like " + to_string(value->type));
  }
  if (std::string why = library.refusal(*op); !why.empty()) return unsupported(op, why);
  LibraryKernel kernel;
  kernel.name = std::string(library.name);
  kernel.op = op;
  if (op->num_regions() > 0) {
    Status status = region_body(op, op->nested(0), kernel.body, kernel.body_results);
    if (!status) return status;
  }
  Status status = emit_whole(op, std::move(kernel), std::string(library.name));
  if (!status || !library.leaves_out) return status;
  const std::vector<ValueId>& outputs = graph_.kernels.back().outputs;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (library.leaves_out(*op, i)) graph_.values[static_cast<size_t>(outputs[i])].bytes = 0;
  return status;
}

Result<std::shared_ptr<KernelGraph>> GraphBuilder::nested_graph(
    Region& region, std::span<Value* const> captured, const std::vector<ArgumentInfo>& info) {
  GraphBuilder builder(module_, region, target_);
  Result<KernelGraph> graph = builder.build(captured, info);
  if (!graph) return graph.diagnostics();
  return std::make_shared<KernelGraph>(std::move(*graph));
}

// Arrays of one repeated constant that only begin loops which overwrite them before anyone reads.
void GraphBuilder::find_unwritten() {
  for (Op* op : region_) {
    if (op->num_results() != 1 || (op->kind != OpKind::constant && !is_fusible(module_, *op)))
      continue;
    std::vector<Value*> operands = op->operands();
    if (std::any_of(operands.begin(), operands.end(),
                    [&](Value* operand) { return analysis_.stored.contains(operand); }))
      continue;
    bool unread = op->result()->has_uses();
    for (const Use* use = op->result()->first_use(); use && unread; use = use->next) {
      unread = use->owner->kind == OpKind::while_ && use->owner->region() == &region_;
      std::vector<size_t> numbers = unread ? overwritten(*use->owner) : std::vector<size_t>();
      unread = std::find(numbers.begin(), numbers.end(), use->index) != numbers.end();
    }
    if (unread) unwritten_.insert(op->result());
  }
}

// Memory in which nothing is written.
ValueId GraphBuilder::unwritten(const Type& type, Op* op) {
  LoopKernel loop;
  loop.extents = {0};
  loop.roles = {LoopRole::parallel};
  ExprNode zero;
  zero.kind = ExprNode::Kind::constant;
  zero.dtype = real_part(type.dtype);
  Access store;
  store.affine.coefficients = {1};
  loop.outputs.push_back({loop.expr.add(zero), store});
  Draft draft;
  draft.kernel.body = std::move(loop);
  draft.kernel.name = "unwritten";
  return finish_unnamed(std::move(draft), {type}, op)[0];
}

Status GraphBuilder::emit_while(Op* op) {
  Draft draft;
  std::vector<Value*> captured = capture_values(*op);
  WhileKernel loop;
  loop.carried = static_cast<int64_t>(op->num_operands());
  for (Value* operand : op->operands())
    draft.kernel.inputs.push_back(unwritten_.contains(operand) ? unwritten(operand->type, op)
                                                               : *lookup(operand));
  for (Value* value : captured) draft.kernel.inputs.push_back(*lookup(value));
  // Carried values belong to the loop: their buffers are free space once dead, as donated
  // arguments are.
  std::vector<ArgumentInfo> info(op->num_operands() + captured.size());
  for (size_t i = 0; i < op->num_operands(); ++i) {
    info[i].donated = true;
    info[i].aliases_output = static_cast<int64_t>(i);
  }
  auto body = nested_graph(op->nested(1), captured, info);
  if (!body) return body.diagnostics();
  loop.body = *body;
  loop.trip_count = trip_count(*op);
  if (!loop.trip_count) {
    auto condition = nested_graph(op->nested(0), captured, {});
    if (!condition) return condition.diagnostics();
    loop.condition = *condition;
  }
  for (int32_t i = 0; i < static_cast<int32_t>(op->num_operands()); ++i)
    draft.kernel.in_place.push_back({i, i, true});
  draft.kernel.body = std::move(loop);
  draft.kernel.name = "while";
  return finish(std::move(draft), op->results(), op);
}

Status GraphBuilder::emit_case(Op* op) {
  Draft draft;
  std::vector<Value*> captured = capture_values(*op);
  draft.kernel.inputs.push_back(*lookup(op->operand(0)));
  for (Value* value : captured) draft.kernel.inputs.push_back(*lookup(value));
  CaseKernel branches;
  for (size_t r = 0; r < op->num_regions(); ++r) {
    auto branch = nested_graph(op->nested(r), captured, {});
    if (!branch) return branch.diagnostics();
    branches.branches.push_back(*branch);
  }
  draft.kernel.body = std::move(branches);
  draft.kernel.name = std::string(info(op->kind).name);
  return finish(std::move(draft), op->results(), op);
}

Result<KernelGraph> build_kernels(const Module& module, const Function& function,
                                  const Target& target) {
  Result<KernelGraph> graph =
      GraphBuilder(module, function.body(), target).build({}, function.argument_info);
  if (!graph) return graph;
  for (ArgumentInfo& info : graph->argument_info)
    info.donated = info.donated || info.aliases_output;
  for (KernelValue& value : graph->values)
    if (value.kind == KernelValue::Kind::argument)
      if (std::string label = module.locations.label(value.location); !label.empty())
        value.name = label;
  return graph;
}

}  // namespace ullage
