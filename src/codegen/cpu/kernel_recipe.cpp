#include "codegen/cpu/kernel_recipe.h"

#include "codegen/cpu/compiled_dot.h"
#include "codegen/cpu/compiled_loop.h"
#include "codegen/cpu/compiled_reduction.h"
#include "codegen/cpu/compiled_rng.h"
#include "codegen/cpu/compiled_scan.h"
#include "codegen/cpu/compiled_scatter.h"
#include "codegen/cpu/emit_kernels.h"
#include "codegen/cpu/library_kernels.h"
#include "codegen/cpu/loop_cells.h"
#include "codegen/cpu/loop_nest.h"
#include "codegen/cpu/runtime_numbers.h"

namespace ullage {

static Diagnostic refuse(const Kernel& kernel, std::string why) {
  return error("kernel " + kernel.name + ": " + std::move(why));
}

static double stored_bytes_per_element(const LoopNest& nest) {
  double bytes = 0;
  for (const ExprNode& node : nest.expr.nodes)
    if (node.kind == ExprNode::Kind::load) bytes += storage_bytes(node.dtype);
  for (const KernelOutput& output : nest.outputs)
    bytes += storage_bytes(nest.expr.nodes[static_cast<size_t>(output.node)].dtype);
  return bytes;
}

static double compile_weight(const Expr& expr) {
  return 4 + static_cast<double>(expr.nodes.size()) + operations_per_element(expr);
}

static Result<KernelRecipe> loop_recipe(const Kernel& kernel, const LoopKernel& loop) {
  LoopNest nest = make_loop_nest(loop);
  int first_output = static_cast<int>(kernel.inputs.size());
  std::vector<LoopCell> cells = cut_at_tests(nest);
  RuntimeNumbers numbers;
  numbers.take(cells);
  std::string key = "loop";
  append_key(key, first_output);
  append_cells_key(key, cells);
  LoopShape shape = loop_shape(nest, stored_bytes_per_element(nest));
  shape.numbers = numbers.values();
  double weight = compile_weight(nest.expr);
  KernelRecipe recipe;
  recipe.functions.push_back({std::move(key),
                              [cells = std::move(cells), first_output](
                                  llvm::Module& module, const Host& host, const std::string& name) {
                                cpu::emit_loop(module, host, name, cells, first_output);
                              },
                              weight});
  recipe.finish = [shape = std::move(shape)](const std::vector<void*>& functions,
                                             std::shared_ptr<const void> code) {
    return make_compiled_loop(reinterpret_cast<cpu::LoopFunction>(functions[0]), shape,
                              std::move(code));
  };
  return recipe;
}

// Its numbers become the next ones of the shape.
static KernelRecipe::Code reduction_function(cpu::ReductionCode code, ReductionShape& shape) {
  double weight = 10 + 3 * compile_weight(code.nest.expr);
  RuntimeNumbers numbers;
  numbers.take(code.nest);
  numbers.take_any(code.block_length);
  shape.numbers.push_back(numbers.values());
  std::string key = "reduction";
  append_key(key, code.first_output);
  append_key(key, static_cast<int64_t>(code.form));
  append_key(key, code.block_length);
  append_key(key, code.nest);
  append_key(key, code.reduction.combiner ? static_cast<int64_t>(*code.reduction.combiner) : -1);
  append_key(key, code.reduction.body);
  for (int32_t node : code.reduction.initial) append_key(key, node);
  for (int32_t node : code.reduction.body_results) append_key(key, node);
  for (DType dtype : code.output_dtypes) key.push_back(static_cast<char>(dtype));
  return {
      std::move(key),
      [code = std::move(code)](llvm::Module& module, const Host& host, const std::string& name) {
        cpu::emit_reduction(module, host, name, code);
      },
      weight};
}

static Result<KernelRecipe> reduction_recipe(const Kernel& kernel, const LoopKernel& loop) {
  ReductionPlan plan = plan_reduction(loop);
  cpu::ReductionCode code;
  code.nest = make_loop_nest(loop);
  code.reduction = *loop.reduction;
  code.form = plan.form;
  code.first_output = static_cast<int>(kernel.inputs.size());
  LoopNest& nest = code.nest;
  if (nest.reduced_dim < 0) {  // nothing but extents of 1
    nest.reduced_dim = static_cast<int>(nest.extents.size());
    nest.extents.push_back(1);
    nest.roles.push_back(LoopRole::reduced);
  }
  nest.vector_dim = plan.lane_dim < 0 ? -1 : nest.dim_of[static_cast<size_t>(plan.lane_dim)];
  // Of nothing: a row that is several dimensions may have an extent of 0 among them.
  code.block_length = std::max<int64_t>(1, plan.block_rows * nest.reduced_scale);
  for (const KernelOutput& output : nest.outputs) {
    DType dtype = nest.expr.nodes[static_cast<size_t>(output.node)].dtype;
    code.output_dtypes.push_back(dtype);
    code.accumulators.push_back(loop.reduction->combiner ? accumulation_dtype(dtype) : dtype);
  }

  ReductionShape shape;
  shape.extents = nest.extents;
  shape.rows_dim = nest.rows_dim;
  shape.rows_scale = nest.rows_scale;
  shape.reduced_dim = nest.reduced_dim;
  shape.reduced_scale = nest.reduced_scale;
  shape.block_length = loop.reduction->combiner ? code.block_length : 1;
  shape.buffers = static_cast<int64_t>(kernel.inputs.size() + kernel.outputs.size());
  shape.split = plan.split;
  double results = 1, elements = static_cast<double>(nest.elements());
  bool lanes_across = nest.vector_dim >= 0 &&
                      nest.roles[static_cast<size_t>(nest.vector_dim)] == LoopRole::parallel;
  for (int d = 0; d < static_cast<int>(nest.extents.size()); ++d) {
    if (nest.roles[static_cast<size_t>(d)] != LoopRole::parallel) continue;
    results *= static_cast<double>(nest.extents[static_cast<size_t>(d)]);
    // When split, the combining function's dimensions are these in their own order.
    if (!(lanes_across && d == nest.vector_dim) || plan.split) shape.results.push_back(d);
  }
  if (lanes_across && !plan.split) shape.results.push_back(nest.vector_dim);
  double chunk =
      elements_per_chunk(operations_per_element(nest.expr) + 1, stored_bytes_per_element(nest));
  shape.grain =
      std::max<int64_t>(1, static_cast<int64_t>(chunk * results / std::max(elements, 1.0)));
  shape.last_multiple =
      lanes_across ? (plan.form == ReductionForm::columns ? cpu::kReductionStrip : kLanes) : 1;
  double blocks = static_cast<double>(std::max<int64_t>(1, plan.blocks));
  shape.blocks_per_chunk =
      std::max<int64_t>(1, static_cast<int64_t>(chunk * blocks / std::max(elements, 1.0)));

  KernelRecipe recipe;
  if (plan.split) {
    recipe.functions.push_back(reduction_function(block_reduction(code), shape));
    recipe.functions.push_back(
        reduction_function(combining_reduction(code, code.first_output), shape));
  } else {
    recipe.functions.push_back(reduction_function(code, shape));
  }
  recipe.finish = [shape = std::move(shape)](const std::vector<void*>& functions,
                                             std::shared_ptr<const void> owner) {
    std::vector<cpu::ReductionFunction> typed;
    for (void* function : functions)
      typed.push_back(reinterpret_cast<cpu::ReductionFunction>(function));
    return make_compiled_reduction(std::move(typed), shape, std::move(owner));
  };
  return recipe;
}

// Everything the kernel evaluates, for checking that it can be compiled.
static std::string unsupported_part(const LoopKernel& loop) {
  std::vector<int32_t> roots;
  for (const KernelOutput& output : loop.outputs) {
    roots.push_back(output.node);
    for (const Access::Dynamic& dynamic : output.store.dynamic) roots.push_back(dynamic.node);
  }
  if (!loop.reduction) return cpu::unsupported(loop.expr, needed_nodes(loop.expr, roots));
  roots.insert(roots.end(), loop.reduction->initial.begin(), loop.reduction->initial.end());
  std::string why = cpu::unsupported(loop.expr, needed_nodes(loop.expr, roots));
  if (!why.empty() || loop.reduction->combiner) return why;
  return cpu::unsupported(loop.reduction->body,
                          needed_nodes(loop.reduction->body, loop.reduction->body_results));
}

static std::string unsupported_part(const DotKernel& dot) {
  std::string why = cpu::unsupported(dot.lhs, needed_nodes(dot.lhs, {dot.lhs_root}));
  if (why.empty()) why = cpu::unsupported(dot.rhs, needed_nodes(dot.rhs, {dot.rhs_root}));
  if (!why.empty()) return why;
  for (const auto& [expr, root] :
       {std::pair(&dot.lhs, dot.lhs_root), std::pair(&dot.rhs, dot.rhs_root)}) {
    DType dtype = expr->nodes[static_cast<size_t>(root)].dtype;
    if (dtype == DType::f64 || (is_int(dtype) && bit_width(dtype) > 16))
      return "products of " + std::string(name(dtype)) + " are not compiled yet";
  }
  std::vector<int32_t> roots;
  for (const KernelOutput& output : dot.outputs) {
    roots.push_back(output.node);
    for (const Access::Dynamic& dynamic : output.store.dynamic) roots.push_back(dynamic.node);
  }
  return cpu::unsupported(dot.epilogue, needed_nodes(dot.epilogue, roots));
}

Result<KernelRecipe> kernel_recipe(const Kernel& kernel, const KernelGraph& graph, const Host&) {
  if (const auto* loop = kernel.get<LoopKernel>()) {
    if (std::string why = unsupported_part(*loop); !why.empty()) return refuse(kernel, why);
    return loop->reduction ? reduction_recipe(kernel, *loop) : loop_recipe(kernel, *loop);
  }
  if (const auto* dot = kernel.get<DotKernel>()) {
    if (std::string why = unsupported_part(*dot); !why.empty()) return refuse(kernel, why);
    return dot_recipe(kernel, *dot);
  }
  if (const auto* scan = kernel.get<ScanKernel>()) return scan_recipe(kernel, *scan);
  if (const auto* scatter = kernel.get<ScatterKernel>())
    return scatter_recipe(kernel, *scatter, graph);
  if (const auto* rng = kernel.get<RngKernel>()) return rng_recipe(kernel, *rng, graph);
  if (const auto* library = kernel.get<LibraryKernel>()) return library_recipe(kernel, *library);
  return refuse(kernel, "this kind of kernel is not compiled yet");
}

}  // namespace ullage
