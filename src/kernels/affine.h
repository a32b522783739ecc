// Facts about affine functions of loop indices and about nodes that are such functions.
#pragma once

#include <optional>

#include "kernels/expr.h"

namespace ullage {

struct Interval {
  int64_t lowest = 0, highest = 0;  // inclusive
};

// Values over 0 <= index < extent.
Interval bounds(const Affine& affine, const std::vector<int64_t>& extents);

// The node as an affine function of the loop indices, if it is one wherever 0 <= index < extent:
// seen through conversions, additions, and choices that the range of the index decides.
std::optional<Affine> affine_value(const Expr& expr, int32_t node,
                                   const std::vector<int64_t>& extents);

}  // namespace ullage
