#include "codegen/cpu/compiled_scatter.h"

#include <algorithm>

#include "codegen/cpu/box_chunks.h"
#include "codegen/cpu/compiled_loop.h"
#include "codegen/cpu/emit_kernels.h"
#include "codegen/cpu/runtime_numbers.h"
#include "runtime/thread_pool.h"

namespace ullage {

namespace {

struct ScatterShape {
  std::vector<int64_t> extents;
  std::vector<int> parallel;  // dimensions of the nest, outermost first
  int64_t targets = 0;        // elements of an output
  int64_t columns = 1;        // updates at one position
  int64_t positions = 1;
  int64_t grain = 1;  // updates worth a chunk
  std::vector<int64_t> numbers;
};

constexpr int64_t kWideWindow = 1024;  // updates per position and chunk

class CompiledScatter : public CompiledKernel {
 public:
  CompiledScatter(cpu::ScatterFunction function, ScatterShape shape,
                  std::shared_ptr<const void> code)
      : function_(function), shape_(std::move(shape)), code_(std::move(code)) {}

  void run(const KernelCall& call, ThreadPool& pool) const override {
    std::vector<int64_t> lower(shape_.extents.size(), 0), upper = shape_.extents;
    for (int64_t extent : upper)
      if (extent == 0) return;
    auto range = [&](const std::vector<int64_t>& low, const std::vector<int64_t>& high,
                     int64_t first, int64_t last) {
      // Positions are shared out by where their windows begin, which may lie before the array or
      // behind it.
      if (first == 0) first = INT64_MIN;
      if (last == shape_.targets) last = INT64_MAX;
      function_(call.buffers, low.data(), high.data(), first, last, shape_.numbers.data());
    };
    int64_t work = shape_.columns * shape_.positions;
    if (work < 2 * shape_.grain || pool.threads() == 1) {
      range(lower, upper, 0, cpu::kAllTargets);
    } else if (shape_.columns >= 2 * kWideWindow) {
      int64_t columns = std::max(kWideWindow, shape_.grain / shape_.positions);
      BoxChunks chunks(shape_.parallel, lower, upper, columns, 64);
      pool.parallel_for(chunks.count(), [&](int64_t number, int) {
        std::vector<int64_t> low, high;
        chunks.box(number, low, high);
        range(low, high, 0, cpu::kAllTargets);
      });
    } else {
      int64_t parts = pool.threads();
      pool.parallel_for(parts, [&](int64_t part, int) {
        range(lower, upper, shape_.targets * part / parts, shape_.targets * (part + 1) / parts);
      });
    }
  }

 private:
  cpu::ScatterFunction function_;
  ScatterShape shape_;
  std::shared_ptr<const void> code_;
};

int64_t stride_of(const LoopNest& nest, int dim) {
  return nest.outputs[0].store.affine.coefficients[static_cast<size_t>(dim)];
}

// Lanes along a dimension whose targets lie side by side; else along the innermost ordered one.
void choose_lanes(cpu::ScatterCode& code) {
  using Dim = ScatterKernel::Dim;
  LoopNest& nest = code.nest;
  constexpr int64_t kFewLanes = 8;
  std::vector<int> parallel, ordered;
  int contiguous = -1;
  for (int d = 0; d < static_cast<int>(nest.extents.size()); ++d) {
    size_t at = static_cast<size_t>(d);
    bool is_parallel = nest.groups[at] == static_cast<int>(Dim::parallel);
    (is_parallel ? parallel : ordered).push_back(d);
    if (is_parallel && stride_of(nest, d) == 1 && nest.extents[at] >= kFewLanes) contiguous = d;
  }
  if (contiguous < 0 && !ordered.empty()) {
    int last = ordered.back();
    if (nest.groups[static_cast<size_t>(last)] == static_cast<int>(Dim::window) &&
        stride_of(nest, last) == 1 && nest.extents[static_cast<size_t>(last)] >= kFewLanes)
      contiguous = last;
  }
  if (contiguous >= 0 || ordered.empty()) {
    nest.vector_dim =
        contiguous >= 0 ? contiguous : (parallel.empty() ? -1 : best_vector_dim(nest, parallel));
    for (int d : ordered)
      if (d != nest.vector_dim) nest.order.push_back(d);
    for (int d : parallel)
      if (d != nest.vector_dim) nest.order.push_back(d);
    return;
  }
  code.one_by_one = true;
  nest.vector_dim = ordered.back();
  nest.order = parallel;
  nest.order.insert(nest.order.end(), ordered.begin(), ordered.end() - 1);
}

}  // namespace

Result<KernelRecipe> scatter_recipe(const Kernel& kernel, const ScatterKernel& scatter,
                                    const KernelGraph& graph) {
  std::vector<int32_t> roots;
  for (const KernelOutput& output : scatter.outputs) {
    roots.push_back(output.node);
    for (const Access::Dynamic& dynamic : output.store.dynamic) roots.push_back(dynamic.node);
  }
  roots.push_back(scatter.in_range);
  std::string why = cpu::unsupported(scatter.expr, needed_nodes(scatter.expr, roots));
  if (why.empty())
    why = cpu::unsupported(scatter.body, needed_nodes(scatter.body, scatter.body_results));
  if (!why.empty()) return error("kernel " + kernel.name + ": " + why);

  cpu::ScatterCode code;
  std::vector<int> groups;
  for (ScatterKernel::Dim dim : scatter.dims) groups.push_back(static_cast<int>(dim));
  code.nest = collapse(scatter.extents, groups, scatter.expr, scatter.outputs);
  code.in_range = scatter.in_range;
  code.body = scatter.body;
  code.body_results = scatter.body_results;
  code.first_output = static_cast<int>(kernel.inputs.size());
  choose_lanes(code);

  LoopNest& nest = code.nest;
  ScatterShape shape;
  shape.extents = nest.extents;
  const Type& type = graph.values[static_cast<size_t>(kernel.outputs[0])].type;
  shape.targets = type.num_elements() * (is_complex(type.dtype) ? 2 : 1);
  for (size_t d = 0; d < nest.extents.size(); ++d) {
    bool parallel = nest.groups[d] == static_cast<int>(ScatterKernel::Dim::parallel);
    (parallel ? shape.columns : shape.positions) *= nest.extents[d];
    if (parallel && static_cast<int>(d) != nest.vector_dim)
      shape.parallel.push_back(static_cast<int>(d));
  }
  if (nest.vector_dim >= 0 && nest.groups[static_cast<size_t>(nest.vector_dim)] ==
                                  static_cast<int>(ScatterKernel::Dim::parallel))
    shape.parallel.push_back(nest.vector_dim);
  double bytes = 0;
  for (const KernelOutput& output : nest.outputs)
    bytes += 3 * storage_bytes(nest.expr.nodes[static_cast<size_t>(output.node)].dtype);
  constexpr double kApplyOperations = 25, kApplyBytes = 20;  // an update by itself
  shape.grain = static_cast<int64_t>(elements_per_chunk(
      operations_per_element(nest.expr) + (code.one_by_one ? kApplyOperations : 0),
      bytes + (code.one_by_one ? kApplyBytes : 0)));

  std::string key = "scatter";
  RuntimeNumbers numbers;
  numbers.take(nest);
  shape.numbers = numbers.values();
  for (int64_t number :
       {static_cast<int64_t>(code.first_output), int64_t{code.in_range}, int64_t{code.one_by_one}})
    append_key(key, number);
  for (int group : nest.groups) append_key(key, group);
  append_key(key, nest);
  append_key(key, code.body);
  for (int32_t node : code.body_results) append_key(key, node);
  double weight =
      12 + 2 * static_cast<double>(nest.expr.nodes.size()) + operations_per_element(nest.expr);
  KernelRecipe recipe;
  recipe.functions.push_back(
      {std::move(key),
       [code = std::move(code)](llvm::Module& module, const Host& host, const std::string& name) {
         cpu::emit_scatter(module, host, name, code);
       },
       weight});
  recipe.finish = [shape = std::move(shape)](const std::vector<void*>& functions,
                                             std::shared_ptr<const void> owner) {
    return std::make_shared<CompiledScatter>(reinterpret_cast<cpu::ScatterFunction>(functions[0]),
                                             shape, std::move(owner));
  };
  return recipe;
}

}  // namespace ullage
