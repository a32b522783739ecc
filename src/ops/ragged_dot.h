// The kind of a chlo.ragged_dot, and where its dimensions lie: for its verifier and
// the pass that rewrites it; the interpreter has a reading of its own.
//   noncontracting: [b..., m..., k...], [g, b..., k..., n...] -> [b..., m..., n...]
//   contracting:    [b..., m..., k...], [b..., k..., n...] -> [g, b..., m..., n...]
//   batch:          as dot_general, whatever the groups.
// Sizes of groups are [g], or [prefix..., g] with the left operand's batch dimensions and those of
// the ragged one's kind that are named before it.
#pragma once

#include "ir/ir.h"

namespace ullage {

struct RaggedDot {
  enum class Mode : uint8_t { noncontracting, contracting, batch } mode = Mode::noncontracting;
  Dims prefix;              // dimensions of the left operand
  int64_t rhs_dim = -1;     // contracting: the right operand's ragged dimension
  Dims rhs_prefix;          // contracting: the prefix in the right operand
  int64_t result_dim = -1;  // noncontracting: the result's ragged dimension
  Dims result_prefix;       // noncontracting: the prefix in the result
};

// Of attributes with one ragged dimension; ranks are those of verified operations.
RaggedDot ragged_dot(const DotAttributes& attributes, int64_t lhs_rank);

}  // namespace ullage
