// Scatter operations as kernels. Called by build.cpp.
#pragma once

#include <optional>

#include "kernels/expr_builder.h"
#include "kernels/kernel_graph.h"

namespace ullage {

// The kernel without its body's expression. Nothing when an operation on the way cannot be
// expressed; `failure` then names it. Dimensions of the updates along which targets provably
// differ are parallel: window dimensions that no index moves, batching dimensions, and positions
// whose index is the position itself.
std::optional<ScatterKernel> scatter_kernel(Op* op, const ExprContext& context, Op*& failure);

}  // namespace ullage
