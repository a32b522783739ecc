// The greedy search: of all moves on a schedule the one that removes most bytes above the budget
// per second it costs, again and again until the schedule fits. Called by the planner for the
// program, and by itself for the bodies of loops.
#pragma once

#include <limits>

#include "plan/planner.h"

namespace ullage {

// How finely a search may cut. Few pieces are faster where they suffice; where they do not, a cut
// cannot be made finer later.
struct PieceRange {
  int64_t fewest = 2, most = 64;
};

// What a search is after, and when it gives up.
struct SearchGoal {
  int64_t bytes = 0;
  double seconds = std::numeric_limits<double>::infinity();  // of a plan that exists already
  PieceRange pieces;
};

// Edits the schedule until its peak is within the goal's bytes, or it is as slow as the plan that
// exists, or no move helps, or `steps` (entries simulated) run out. Returns whether it fits.
bool fit_schedule(ScheduledGraph& work, const SearchGoal& goal, const Target& target,
                  const PlanOptions& options, int64_t& steps);

}  // namespace ullage
