// Iterated greedy: the placement heuristics run again and again on an order in which the buffers
// that end too high have been moved to the front. For parts on which the exact search gave up. Only
// the packer includes this.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/pack_greedy.h"

namespace ullage {

struct IteratedGreedy {
  const PackProblem& problem;
  PackFit fit;
  int64_t target;  // stop at this height
  int64_t steps;   // or when so much work is done
};

// Improves the placement given by `order`, `offsets` and `height`, if it can; deterministic.
void iterate_greedy(const IteratedGreedy& task, std::vector<int32_t> order,
                    std::vector<int64_t>& offsets, int64_t& height, int64_t& placements,
                    int64_t& steps);

}  // namespace ullage
