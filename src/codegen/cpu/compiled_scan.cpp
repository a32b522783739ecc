#include "codegen/cpu/compiled_scan.h"

#include <algorithm>
#include <cmath>

#include "codegen/cpu/box_chunks.h"
#include "codegen/cpu/compiled_loop.h"
#include "codegen/cpu/emit_kernels.h"
#include "codegen/cpu/runtime_numbers.h"
#include "kernels/reduction.h"
#include "runtime/thread_pool.h"

namespace ullage {

namespace {

constexpr int64_t kShortScan = 32;  // elements, which are combined one after another

struct ScanShape {
  std::vector<int64_t> extents;
  std::vector<int> parallel;  // dimensions that may be cut, outermost first
  int64_t grain = 1;          // scans worth a chunk
  int64_t last_multiple = 1;
  std::vector<int64_t> numbers;
};

class CompiledScan : public CompiledKernel {
 public:
  CompiledScan(cpu::ScanFunction function, ScanShape shape, std::shared_ptr<const void> code)
      : function_(function), shape_(std::move(shape)), code_(std::move(code)) {}

  void run(const KernelCall& call, ThreadPool& pool) const override {
    std::vector<int64_t> lower(shape_.extents.size(), 0), upper = shape_.extents;
    for (int64_t extent : upper)
      if (extent == 0) return;
    BoxChunks chunks(shape_.parallel, lower, upper, shape_.grain, shape_.last_multiple);
    auto chunk = [&](int64_t number, int) {
      std::vector<int64_t> low, high;
      chunks.box(number, low, high);
      function_(call.buffers, low.data(), high.data(), shape_.numbers.data());
    };
    if (chunks.count() == 1)
      chunk(0, 0);
    else
      pool.parallel_for(chunks.count(), chunk);
  }

 private:
  cpu::ScanFunction function_;
  ScanShape shape_;
  std::shared_ptr<const void> code_;
};

// Across a parallel dimension whose elements lie side by side, if it fills a vector; else along,
// unless there is little to go along: then across whatever there is.
int choose_lanes(LoopNest& nest) {
  constexpr int64_t kFewLanes = 8;
  int scanned = static_cast<int>(nest.extents.size()) - 1;
  auto stride = [&](int d) {
    return std::abs(nest.outputs[0].store.affine.coefficients[static_cast<size_t>(d)]);
  };
  for (int d = 0; d < scanned; ++d)
    if (stride(d) == 1 && nest.extents[static_cast<size_t>(d)] >= kFewLanes) return d;
  if (nest.extents.back() > kShortScan) return scanned;
  if (scanned > 0) return scanned - 1;
  // A dimension of one element, for the lanes.
  auto widen = [](Affine& affine) { affine.coefficients.insert(affine.coefficients.begin(), 0); };
  for (ExprNode& node : nest.expr.nodes) widen(node.access.affine);
  for (KernelOutput& output : nest.outputs) widen(output.store.affine);
  nest.extents.insert(nest.extents.begin(), 1);
  nest.groups.insert(nest.groups.begin(), 0);
  return 0;
}

}  // namespace

Result<KernelRecipe> scan_recipe(const Kernel& kernel, const ScanKernel& scan) {
  std::vector<int32_t> roots = scan.reduction.initial;
  for (const KernelOutput& output : scan.outputs) roots.push_back(output.node);
  std::string why = cpu::unsupported(scan.expr, needed_nodes(scan.expr, roots));
  if (why.empty() && !scan.reduction.combiner)
    why = cpu::unsupported(scan.reduction.body,
                           needed_nodes(scan.reduction.body, scan.reduction.body_results));
  if (!why.empty()) return error("kernel " + kernel.name + ": " + why);

  cpu::ScanCode code;
  std::vector<int> groups(scan.extents.size(), 0);
  groups.back() = 1;
  code.nest = collapse(scan.extents, groups, scan.expr, scan.outputs);
  code.reduction = scan.reduction;
  code.first_output = static_cast<int>(kernel.inputs.size());
  LoopNest& nest = code.nest;
  nest.vector_dim = choose_lanes(nest);
  for (const KernelOutput& output : nest.outputs) {
    DType dtype = nest.expr.nodes[static_cast<size_t>(output.node)].dtype;
    code.output_dtypes.push_back(dtype);
    bool wide = scan.reduction.combiner && nest.extents.back() > kShortScan;
    code.accumulators.push_back(wide ? accumulation_dtype(dtype) : dtype);
  }

  ScanShape shape;
  shape.extents = nest.extents;
  int scanned = static_cast<int>(nest.extents.size()) - 1;
  for (int d = 0; d < scanned; ++d)
    if (d != nest.vector_dim) shape.parallel.push_back(d);
  if (nest.vector_dim != scanned) {
    shape.parallel.push_back(nest.vector_dim);
    shape.last_multiple = kLanes;
  }
  double bytes = 0;
  for (const ExprNode& node : nest.expr.nodes)
    if (node.kind == ExprNode::Kind::load) bytes += storage_bytes(node.dtype);
  for (DType dtype : code.output_dtypes) bytes += storage_bytes(dtype);
  double body = scan.reduction.combiner ? 5 : 5 * operations_per_element(scan.reduction.body);
  double chunk = elements_per_chunk(operations_per_element(nest.expr) + body, bytes);
  double length = static_cast<double>(std::max<int64_t>(1, nest.extents.back()));
  shape.grain = std::max<int64_t>(1, static_cast<int64_t>(chunk / length));

  std::string key = "scan";
  double weight = 12 + 2 * static_cast<double>(nest.expr.nodes.size()) +
                  operations_per_element(nest.expr) + 5 * body;
  RuntimeNumbers numbers;
  numbers.take(nest);
  shape.numbers = numbers.values();
  append_key(key, code.first_output);
  append_key(key, nest);
  append_key(key, scan.reduction.combiner ? static_cast<int64_t>(*scan.reduction.combiner) : -1);
  append_key(key, scan.reduction.body);
  for (DType dtype : code.accumulators) append_key(key, static_cast<int64_t>(dtype));
  for (int32_t node : scan.reduction.initial) append_key(key, node);
  for (int32_t node : scan.reduction.body_results) append_key(key, node);
  KernelRecipe recipe;
  recipe.functions.push_back(
      {std::move(key),
       [code = std::move(code)](llvm::Module& module, const Host& host, const std::string& name) {
         cpu::emit_scan(module, host, name, code);
       },
       weight});
  recipe.finish = [shape = std::move(shape)](const std::vector<void*>& functions,
                                             std::shared_ptr<const void> owner) {
    return std::make_shared<CompiledScan>(reinterpret_cast<cpu::ScanFunction>(functions[0]), shape,
                                          std::move(owner));
  };
  return recipe;
}

}  // namespace ullage
