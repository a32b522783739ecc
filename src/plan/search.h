// The greedy search: of all moves on a schedule the one that removes most bytes above the budget
// per second it costs, again and again until the schedule fits. Called by the planner for the
// program, and by itself for the bodies of loops.
#pragma once

#include "plan/planner.h"

namespace ullage {

// How finely a search may cut. Few pieces are faster where they suffice; where they do not, a cut
// cannot be made finer later.
struct PieceRange {
  int64_t fewest = 2, most = 64;
};

// Edits the schedule until its peak is within the budget, or no move helps, or `steps` (entries
// simulated) run out. Returns whether it fits.
bool fit_schedule(ScheduledGraph& work, int64_t budget, const Target& target,
                  const PlanOptions& options, const PieceRange& pieces, int64_t& steps);

}  // namespace ullage
