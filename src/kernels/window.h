// Windowed reductions as kernels: reduce_window as a loop nest that reduces over the window, or, if
// every window is a prefix of a dimension, as a scan; select_and_scatter as a fold that finds the
// place in each window, followed by a scatter. Called by build.cpp.
#pragma once

#include <optional>

#include "kernels/expr_builder.h"
#include "kernels/kernel_graph.h"

namespace ullage {

// The dimension that a reduce_window goes along as a cumulative sum (or product, maximum, ...)
// does: the windows are all prefixes, or all suffixes, of it.
struct Cumulative {
  int64_t dim = 0;
  bool reverse = false;
};
std::optional<Cumulative> cumulative(const Op& op);

// Kernels without their combiners. Nothing when an operation on the way cannot be expressed;
// `failure` then names it.
std::optional<LoopKernel> window_reduction(Op* op, const ExprContext& context, Op*& failure);
std::optional<ScanKernel> cumulative_scan(Op* op, const ExprContext& context, Op*& failure);
// Exchanges accumulators and elements in a body that has no single combiner.
void swap_sides(LoopKernel::Reduction& reduction);

// For each window of a select_and_scatter the selected element and its flat index in the operand
// (of type `index`), -1 for a window that covers nothing.
std::optional<LoopKernel> window_selection(Op* op, DType index, const ExprContext& context,
                                           Op*& failure);

// The scatter that follows, without its body. Input 0 is the initialised result, input 1 holds the
// selected indices.
std::optional<ScatterKernel> selected_scatter(Op* op, DType index, const ExprContext& context,
                                              Op*& failure);

}  // namespace ullage
