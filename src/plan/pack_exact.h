// Exact search for a packing within a capacity.
//
// Buffers are placed by rising offset, each at its *floor*: the lowest offset above its placed
// contemporaries. Every packing can be pushed down until each buffer stands on the bottom or on a
// contemporary, so nothing is lost. At a node the unplaced buffers are tried lowest floor first.
// Inferences:
//   - dominance: no buffer is placed as high as the end another unplaced buffer could still have at
//   its own floor, since
//     that other one would fit below it;
//   - refutation: once "b at its floor" has failed, b is *barred* from that floor until a
//   contemporary is placed under it.
//     In a pushed-down packing b then stands on an unplaced contemporary that reaches into the
//     refused place, so its floor rises to the least end of such a contemporary, and without one
//     the node fails;
//   - sections: the lowest floor in a section plus all its unplaced bytes must stay within the
//   capacity;
//   - bottom: in plain problems a buffer that lives throughout the unplaced rest and has the lowest
//   floor goes there, with
//     no alternative;
//   - decomposition: when no unplaced buffer crosses some border between sections, the two sides
//   are solved apart, each
//     with tie-breaking orders of its own; a side that fails untouched by the last placement fails
//     the whole node;
//   - twins: of two buffers with the same life, size and floor only one is tried;
//   - memory: a state (unplaced buffers, their floors, which are barred) that failed once is not
//   searched again.
// The first five ideas besides refutation are those of MiniMalloc (ASPLOS 2023). The order among
// equal floors decides how long a search takes, so several orders are run in turn under doubling
// node limits. Only the packer includes this.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/pack_problem.h"

namespace ullage {

enum class ExactOutcome : uint8_t { found, infeasible, gave_up };

struct ExactLimits {
  int64_t nodes = 0;
  int64_t steps = 0;
};

struct ExactResult {
  ExactOutcome outcome = ExactOutcome::gave_up;
  std::vector<int64_t> offsets;  // when found
  int64_t nodes = 0;
  int64_t steps = 0;
};

// `infeasible` is a proof, up to a 128-bit hash collision. Gives up when a limit is reached, or at
// once when the problem has too many buffers to recurse over or too many pairs of contemporaries to
// list.
ExactResult pack_exact(const PackProblem& problem, int64_t capacity, const ExactLimits& limits);

}  // namespace ullage
