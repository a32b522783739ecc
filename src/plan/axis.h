// How a kernel behaves when it is run in pieces: along its rows (the outermost parallel dimension)
// or along the first contracted or reduced dimension, where pieces accumulate.
#pragma once

#include <optional>

#include "kernels/kernel_graph.h"
#include "plan/plan.h"

namespace ullage {

inline constexpr int64_t kReduceBlock = kDotBlock;  // contracted pieces end at multiples of this

enum class AxisUse : uint8_t {
  none,   // the operand is needed whole, whatever the piece
  rows,   // piece [lower, upper) of the axis touches rows [lower, upper) of the operand and nothing
          // else
  mixed,  // anything else: the operand must exist whole
};

// Extent of the axis, or nothing if the kernel cannot be cut along it.
std::optional<int64_t> axis_extent(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis);

AxisUse input_use(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis, size_t input);
AxisUse output_use(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis, size_t output);

}  // namespace ullage
