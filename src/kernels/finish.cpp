// What follows from a kernel's body: costs, scratch, and which operands its outputs may overwrite.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/build.h"
#include "kernels/library.h"
#include "kernels/reduction.h"

namespace ullage {

static int64_t product(const std::vector<int64_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

int64_t DotKernel::batch_size() const {
  return product(batch);
}
int64_t DotKernel::m_size() const {
  return product(m);
}
int64_t DotKernel::n_size() const {
  return product(n);
}
int64_t DotKernel::k_size() const {
  return product(k);
}

bool touches_complex(const Kernel& kernel, const KernelGraph& graph) {
  auto complex = [&](ValueId id) {
    return is_complex(graph.values[static_cast<size_t>(id)].type.dtype);
  };
  return std::any_of(kernel.inputs.begin(), kernel.inputs.end(), complex) ||
         std::any_of(kernel.outputs.begin(), kernel.outputs.end(), complex);
}

namespace {

int32_t result_of(const std::vector<KernelOutput>& outputs, size_t o) {
  return outputs[o].result >= 0 ? outputs[o].result : static_cast<int32_t>(o);
}

// Whether `expr` reads input only at elements that `outputs` store to result `result`, everywhere
// and unconditionally.
bool reads_only_at(const Expr& expr, int32_t input, const std::vector<KernelOutput>& outputs,
                   int32_t result) {
  for (const ExprNode& node : expr.nodes) {
    if (node.kind != ExprNode::Kind::load || node.input != input) continue;
    if (node.guard >= 0) return false;
    bool found = false;
    for (size_t o = 0; o < outputs.size(); ++o)
      found |= result_of(outputs, o) == result && node.access == outputs[o].store;
    if (!found) return false;
  }
  return true;
}

bool reads(const Expr& expr, int32_t input) {
  return std::any_of(expr.nodes.begin(), expr.nodes.end(), [input](const ExprNode& node) {
    return node.kind == ExprNode::Kind::load && node.input == input;
  });
}

// Every element of the output is written exactly once: the store covers the whole buffer.
bool covers(const KernelValue& value, int64_t stores) {
  return value.type.num_elements() == stores;
}

void permit_in_place(Kernel& kernel, const KernelGraph& graph, const Expr& expr,
                     const std::vector<KernelOutput>& outputs, int64_t stores,
                     std::initializer_list<const Expr*> others) {
  for (size_t o = 0; o < kernel.outputs.size(); ++o) {
    const KernelValue& out = graph.values[static_cast<size_t>(kernel.outputs[o])];
    if (!covers(out, stores)) continue;
    for (size_t i = 0; i < kernel.inputs.size(); ++i) {
      const KernelValue& in = graph.values[static_cast<size_t>(kernel.inputs[i])];
      int32_t input = static_cast<int32_t>(i);
      if (in.kind == KernelValue::Kind::constant || in.bytes != out.bytes) continue;
      if (storage_bytes(in.type.dtype) != storage_bytes(out.type.dtype)) continue;
      if (std::any_of(others.begin(), others.end(),
                      [&](const Expr* other) { return reads(*other, input); }))
        continue;
      if (reads_only_at(expr, input, outputs, static_cast<int32_t>(o)))
        kernel.in_place.push_back({static_cast<int32_t>(o), input, false});
    }
  }
}

double vector_operations(const Expr& expr) {
  return operations_per_element(expr);
}

}  // namespace

void finish_kernel(Kernel& kernel, const KernelGraph& graph, const Target& target) {
  kernel.bytes_moved = 0;
  for (ValueId input : kernel.inputs)
    kernel.bytes_moved += static_cast<double>(graph.values[static_cast<size_t>(input)].bytes);
  for (ValueId output : kernel.outputs)
    kernel.bytes_moved += static_cast<double>(graph.values[static_cast<size_t>(output)].bytes);
  if (const LoopKernel* loop = kernel.get<LoopKernel>()) {
    double count = static_cast<double>(product(loop->extents));
    kernel.flops = count * (vector_operations(loop->expr) + (loop->reduction ? 1 : 0));
    if (loop->reduction) {
      kernel.scratch_bytes = reduction_scratch_bytes(*loop);
    } else if (kernel.in_place.empty()) {
      permit_in_place(kernel, graph, loop->expr, loop->outputs, product(loop->extents), {});
    }
    // A slice written into a large array, or read from one, moves the slice only.
    double touched = 0;
    for (const ExprNode& node : loop->expr.nodes)
      if (node.kind == ExprNode::Kind::load) touched += count * storage_bytes(node.dtype);
    for (size_t o = 0; o < loop->outputs.size(); ++o) touched += count * 4;
    kernel.bytes_moved = std::min(kernel.bytes_moved, touched);
  } else if (const ScanKernel* scan = kernel.get<ScanKernel>()) {
    double body = scan->reduction.combiner ? 1 : vector_operations(scan->reduction.body);
    constexpr double kStepsPerElement = 5;  // within a vector, and onto what came before
    kernel.flops = static_cast<double>(product(scan->extents)) *
                   (vector_operations(scan->expr) + kStepsPerElement * body);
    if (kernel.in_place.empty())
      permit_in_place(kernel, graph, scan->expr, scan->outputs, product(scan->extents), {});
  } else if (const ScatterKernel* scatter = kernel.get<ScatterKernel>()) {
    double count = static_cast<double>(product(scatter->extents));
    // One element after another, to places in memory that nobody knows beforehand.
    constexpr double kOperationsPerTarget = 16;
    kernel.flops = count * (vector_operations(scatter->expr) + kOperationsPerTarget);
    double touched = 0;
    for (const ExprNode& node : scatter->expr.nodes)
      if (node.kind == ExprNode::Kind::load) touched += count * storage_bytes(node.dtype);
    for (const KernelOutput& output : scatter->outputs)
      touched +=
          2 * count * storage_bytes(scatter->expr.nodes[static_cast<size_t>(output.node)].dtype);
    kernel.bytes_moved = std::min(kernel.bytes_moved, touched);
  } else if (const DotKernel* dot = kernel.get<DotKernel>()) {
    double batch = static_cast<double>(dot->batch_size()), m = static_cast<double>(dot->m_size()),
           n = static_cast<double>(dot->n_size()), k = static_cast<double>(dot->k_size());
    kernel.flops = 2 * batch * m * n * k;
    // Prologues and epilogue, in the currency of multiply-adds on the same vector units.
    kernel.flops += 2 * batch *
                    (m * k * vector_operations(dot->lhs) + k * n * vector_operations(dot->rhs) +
                     m * n * vector_operations(dot->epilogue));
    if (target.dot_scratch) kernel.scratch_bytes = target.dot_scratch(*dot, target.threads);
    if (kernel.in_place.empty())
      permit_in_place(kernel, graph, dot->epilogue, dot->outputs,
                      dot->batch_size() * dot->m_size() * dot->n_size(), {&dot->lhs, &dot->rhs});
  } else if (const WhileKernel* loop = kernel.get<WhileKernel>()) {
    double trips = static_cast<double>(loop->trip_count.value_or(16));
    kernel.flops = kernel.bytes_moved = 0;
    for (const Kernel& inner : loop->body->kernels) {
      kernel.flops += trips * inner.flops;
      kernel.bytes_moved += trips * inner.bytes_moved;
    }
  } else if (const CaseKernel* branches = kernel.get<CaseKernel>()) {
    kernel.flops = kernel.bytes_moved = 0;
    for (const auto& branch : branches->branches) {
      double flops = 0, bytes = 0;
      for (const Kernel& inner : branch->kernels) flops += inner.flops, bytes += inner.bytes_moved;
      kernel.flops = std::max(kernel.flops, flops);
      kernel.bytes_moved = std::max(kernel.bytes_moved, bytes);
    }
  } else if (const LibraryKernel* call = kernel.get<LibraryKernel>()) {
    const LibraryOperation& library = *library_operation(*call->op);
    auto scratch = library.scratch_bytes ? library.scratch_bytes : target.convolution_scratch;
    if (scratch) kernel.scratch_bytes = scratch(*call, target.threads);
    if (library.in_place)
      for (int32_t i : library.in_place(*call)) kernel.in_place.push_back({i, i, false});
    kernel.flops = library.operations(*call);
  } else if (kernel.get<BarrierKernel>()) {
    kernel.bytes_moved = 0;
  }
}

double seconds(const Kernel& kernel, const Target& target) {
  if (kernel.get<BarrierKernel>()) return 0;
  const LibraryKernel* library = kernel.get<LibraryKernel>();
  bool is_product = kernel.get<DotKernel>() || kernel.get<WhileKernel>() ||
                    (library && library_operation(*library->op)->is_product);
  double arithmetic =
      kernel.flops / (is_product ? target.flops_per_second : target.vector_ops_per_second);
  return target.kernel_seconds + std::max(arithmetic, kernel.bytes_moved / target.bytes_per_second);
}

}  // namespace ullage
