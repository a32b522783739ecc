#include "kernels/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "kernels/captures.h"
#include "kernels/expr_builder.h"
#include "kernels/library.h"
#include "kernels/region_analysis.h"
#include "kernels/scatter.h"
#include "kernels/window.h"
#include "ops/combiner.h"
#include "ops/trip_count.h"
#include "support/check.h"

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

class GraphBuilder {
 public:
  GraphBuilder(const Module& module, const Region& region, const Target& target)
      : module_(module), region_(region), target_(target) {}

  // `captured`: values of outer regions that become arguments after the region's own.
  Result<KernelGraph> build(std::span<Value* const> captured,
                            const std::vector<ArgumentInfo>& argument_info) {
    analysis_ = analyze_region(module_, region_);
    for (Value* argument : region_.arguments()) add_argument(argument);
    for (Value* value : captured) add_argument(value);
    graph_.argument_info = argument_info;
    graph_.argument_info.resize(graph_.arguments.size());
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

 private:
  ValueId add_value(KernelValue::Kind kind, Value* value) {
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

  void add_argument(Value* value) {
    graph_.arguments.push_back(add_value(KernelValue::Kind::argument, value));
  }

  std::optional<ValueId> lookup(Value* value) const {
    auto it = ids_.find(analysis_.base(value));
    if (it == ids_.end()) return {};
    return it->second;
  }

  // ---- One kernel under construction ----
  struct Draft {
    Kernel kernel;
    std::unordered_map<ValueId, int32_t> input_numbers;
  };

  int32_t input_number(Draft& draft, ValueId id) {
    auto [it, added] =
        draft.input_numbers.try_emplace(id, static_cast<int32_t>(draft.kernel.inputs.size()));
    if (added) draft.kernel.inputs.push_back(id);
    return it->second;
  }

  // Stored values are loaded; `target` itself is computed.
  ExprContext context(Draft& draft, Value* target) {
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

  Status finish(Draft&& draft, std::span<Value* const> results, Op* op) {
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

  Diagnostic unsupported(Op* op, std::string_view why = {}) {
    return error(
        fmt::format("{} is not supported by the compiler{}{}", op->mnemonic(),
                    why.empty() ? "" : ": ", why),
        module_.source(op->location),
        "only the interpreter runs it: `ullage check`, for programs that check themselves");
  }

  Status emit(Op* op) {
    if (op->kind == OpKind::constant) return emit_constant(op);
    bool any = false;
    for (Value* value : op->results()) any |= analysis_.stored.contains(value);
    if (!any && !is_kernel_operation(*op)) return Ok{};
    if (op->num_results() == 1 && analysis_.alias.contains(op->result())) return Ok{};
    if (op->num_results() == 1)
      if (auto it = analysis_.epilogue_of.find(op->result()); it != analysis_.epilogue_of.end())
        return emit_dot(it->second->op(), op->result());
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

  bool is_kernel_operation(const Op& op) const { return !is_fusible(module_, op); }

  Status emit_constant(Op* op) {
    if (!analysis_.stored.contains(op->result())) return Ok{};
    const Literal& literal = op->as<ConstantAttributes>().value;
    // A large splat is filled by a kernel, so that it takes memory only while it is needed.
    if (literal.splat && literal.type.num_elements() > 1) return emit_loop(op, op->result());
    ValueId id = add_value(KernelValue::Kind::constant, op->result());
    graph_.values[static_cast<size_t>(id)].literal = literal;
    return Ok{};
  }

  // Loop dimensions of a dense array: those of its shape that have more than one element.
  static IndexVector dense_index(const ExprBuilder& builder, const std::vector<int64_t>& shape,
                                 size_t& next) {
    IndexVector index;
    for (int64_t extent : shape)
      index.push_back(extent == 1 ? builder.constant_index(0) : builder.loop_index(next++));
    return index;
  }

  static std::vector<int64_t> long_dims(const std::vector<int64_t>& shape) {
    std::vector<int64_t> out;
    for (int64_t extent : shape)
      if (extent != 1) out.push_back(extent);
    return out;
  }

  Status emit_loop(Op* op, Value* value) {
    Draft draft;
    LoopKernel loop;
    loop.extents = long_dims(value->type.shape);
    loop.roles.assign(loop.extents.size(), LoopRole::parallel);
    ExprBuilder builder(loop.expr, context(draft, value), loop.extents.size());
    size_t next = 0;
    IndexVector index = dense_index(builder, value->type.shape, next);
    std::vector<int32_t> nodes = builder.evaluate_parts(value, index);
    if (nodes.empty()) return unsupported(builder.failure());
    add_output(loop.outputs, value->type.dtype, 0, nodes,
               builder.address(value->type.shape, index));
    draft.kernel.body = std::move(loop);
    draft.kernel.name = std::string(info(op->kind).name);
    return finish(std::move(draft), {&value, 1}, op);
  }

  Status emit_reduce(Op* op) {
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

  // A single operation on both arguments is a plain combiner; anything else becomes a body
  // expression.
  Status combiner(Op* op, LoopKernel::Reduction& reduction) {
    if (!is_complex(op->result(0)->type.dtype)) reduction.combiner = plain_combiner(*op);
    if (reduction.combiner) return Ok{};
    return region_body(op, op->nested(0), reduction.body, reduction.body_results);
  }

  Status emit_update(Op* op) {
    Draft draft;
    Value* operand = op->operand(0);
    Value* update = op->operand(1);
    int32_t target = input_number(draft, *lookup(operand));
    LoopKernel loop;
    loop.extents = long_dims(update->type.shape);
    loop.roles.assign(loop.extents.size(), LoopRole::parallel);
    ExprBuilder builder(loop.expr, context(draft, nullptr), loop.extents.size());
    size_t next = 0;
    IndexVector index = dense_index(builder, update->type.shape, next);
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
        Status status = store_first(update);
        return status ? emit_update(op) : status;
      }
    draft.kernel.body = std::move(loop);
    draft.kernel.name = "dynamic_update_slice";
    draft.kernel.in_place.push_back({0, target, true});
    return finish(std::move(draft), op->results(), op);
  }

  // Kernels whose operands are whole buffers, in order.
  template <typename Body>
  Status emit_whole(Op* op, Body body, std::string name) {
    Draft draft;
    for (Value* operand : op->operands()) draft.kernel.inputs.push_back(*lookup(operand));
    draft.kernel.body = std::move(body);
    draft.kernel.name = std::move(name);
    return finish(std::move(draft), op->results(), op);
  }

  // Gives a value that was to be virtual a buffer after all.
  Status store_first(Value* value) {
    ULLAGE_CHECK(!lookup(value), "a stored value is stored again");
    return emit_loop(value->op(), value);
  }

  // A buffer for one more copy of a stored value.
  ValueId copy_of(ValueId from, Op* op) {
    KernelValue value = graph_.values[static_cast<size_t>(from)];
    value.kind = KernelValue::Kind::result;
    value.literal.reset();
    value.producer = static_cast<KernelId>(graph_.kernels.size());
    value.consumers.clear();
    LoopKernel loop;
    loop.extents = {value.type.num_elements()};
    loop.roles = {LoopRole::parallel};
    ExprNode load;
    load.kind = ExprNode::Kind::load;
    load.dtype = value.type.dtype;
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

  Status emit_scatter(Op* op) {
    size_t count = op->num_results();
    for (size_t i = 0; i < count; ++i)
      if (op->operand(i)->type.dtype != op->result(i)->type.dtype)
        return unsupported(op, "the results have another type than the operands");
    for (size_t i = 1; i < count; ++i)
      if (is_complex(op->result(i)->type.dtype) != is_complex(op->result(0)->type.dtype))
        return unsupported(op, "real and complex arrays together");
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

  Status emit_window(Op* op) {
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

  // A kernel whose outputs no value of the program names.
  std::vector<ValueId> finish_unnamed(Draft&& draft, const std::vector<Type>& types, Op* op) {
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

  // The places that the windows select, an array of initial values, and a scatter onto it.
  Status emit_select_and_scatter(Op* op) {
    const Type& type = op->result()->type;
    const Type& source = op->operand(1)->type;
    if (op->operand(0)->type.dtype != type.dtype || source.dtype != type.dtype)
      return unsupported(op, "the result has another type than the operands");
    if (is_complex(type.dtype)) return unsupported(op, "complex numbers");
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
    std::optional<int32_t> initial = builder.evaluate(op->operand(2), {});
    if (!initial) return unsupported(builder.failure());
    loop.outputs.push_back({*initial, builder.loop_index(0)});
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

  // A region of the operation as an expression of its arguments.
  Status region_body(Op* op, Region& region, Expr& body, std::vector<int32_t>& results) {
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

  Status emit_library(Op* op, const LibraryOperation& library) {
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
    return emit_whole(op, std::move(kernel), std::string(library.name));
  }

  Status emit_dot(Op* op, Value* result) {
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
    std::vector<int64_t> order = result_order(op->result(), result);
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

  // Dimensions of the product (of extent above 1) in the order in which `result` has them.
  std::vector<int64_t> result_order(Value* product, Value* result) {
    if (result == product) {
      std::vector<int64_t> out;
      for (size_t d = 0; d < product->type.shape.size(); ++d)
        if (product->type.shape[d] != 1) out.push_back(static_cast<int64_t>(d));
      return out;
    }
    Op* op = result->op();
    for (Value* operand : op->operands()) {
      if (!reaches(operand, product)) continue;
      std::vector<int64_t> inner = result_order(product, operand);
      if (op->kind != OpKind::transpose) return inner;
      // Rank among the long dimensions of the operand.
      const std::vector<int64_t>& shape = operand->type.shape;
      std::vector<size_t> rank(shape.size());
      size_t next = 0;
      for (size_t d = 0; d < shape.size(); ++d) rank[d] = shape[d] == 1 ? SIZE_MAX : next++;
      std::vector<int64_t> out;
      for (int64_t d : op->as<DimsAttributes>().dims)
        if (shape[static_cast<size_t>(d)] != 1) out.push_back(inner[rank[static_cast<size_t>(d)]]);
      return out;
    }
    ULLAGE_CHECK(false, "epilogue that does not read its product");
  }

  bool reaches(Value* from, Value* product) {
    if (from == product) return true;
    if (!from->op() || from->op()->region() != &region_ || lookup(from)) return false;
    auto [it, added] = reaches_.try_emplace({from, product}, false);
    if (!added) return it->second;
    bool found = false;
    for (Value* operand : from->op()->operands()) found = found || reaches(operand, product);
    return reaches_[{from, product}] = found;
  }

  // Products of other types (integers, f64) are plain reductions of lhs * rhs; they take no
  // epilogue.
  Status emit_dot_as_reduction(Op* op, Value* result) {
    if (result != op->result()) return unsupported(op, "a product of this type with an epilogue");
    const auto& attributes = op->as<DotAttributes>();
    Value* lhs = op->operand(0);
    Value* rhs = op->operand(1);
    DType dtype = op->result()->type.dtype;
    Draft draft;
    LoopKernel loop;
    const std::vector<int64_t>& out_shape = result->type.shape;
    loop.extents = long_dims(out_shape);
    loop.roles.assign(loop.extents.size(), LoopRole::parallel);
    for (int64_t d : attributes.lhs_contracting)
      if (lhs->type.shape[static_cast<size_t>(d)] != 1) {
        loop.extents.push_back(lhs->type.shape[static_cast<size_t>(d)]);
        loop.roles.push_back(LoopRole::reduced);
      }
    ExprBuilder builder(loop.expr, context(draft, result), loop.extents.size());
    size_t next = 0;
    IndexVector out = dense_index(builder, out_shape, next);
    IndexVector left(lhs->type.shape.size(), builder.constant_index(0)),
        right(rhs->type.shape.size(), builder.constant_index(0));
    size_t at = 0;
    for (size_t i = 0; i < attributes.lhs_batching.size(); ++i, ++at) {
      left[static_cast<size_t>(attributes.lhs_batching[i])] = out[at];
      right[static_cast<size_t>(attributes.rhs_batching[i])] = out[at];
    }
    for (int64_t d :
         free_dims(lhs->type.rank(), attributes.lhs_batching, attributes.lhs_contracting))
      left[static_cast<size_t>(d)] = out[at++];
    for (int64_t d :
         free_dims(rhs->type.rank(), attributes.rhs_batching, attributes.rhs_contracting))
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

  Result<std::shared_ptr<KernelGraph>> nested_graph(Region& region,
                                                    std::span<Value* const> captured,
                                                    const std::vector<ArgumentInfo>& info) {
    GraphBuilder builder(module_, region, target_);
    Result<KernelGraph> graph = builder.build(captured, info);
    if (!graph) return graph.diagnostics();
    return std::make_shared<KernelGraph>(std::move(*graph));
  }

  Status emit_while(Op* op) {
    Draft draft;
    std::vector<Value*> captured = capture_values(*op);
    WhileKernel loop;
    loop.carried = static_cast<int64_t>(op->num_operands());
    for (Value* operand : op->operands()) draft.kernel.inputs.push_back(*lookup(operand));
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

  Status emit_case(Op* op) {
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

  const Module& module_;
  const Region& region_;
  const Target& target_;
  RegionAnalysis analysis_;
  KernelGraph graph_;
  std::unordered_map<Value*, ValueId> ids_;

  struct PairHash {
    size_t operator()(const std::pair<Value*, Value*>& p) const {
      return reinterpret_cast<size_t>(p.first) * 31 + reinterpret_cast<size_t>(p.second);
    }
  };
  std::unordered_map<std::pair<Value*, Value*>, bool, PairHash> reaches_;
};

}  // namespace

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
