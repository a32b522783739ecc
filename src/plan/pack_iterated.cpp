#include "plan/pack_iterated.h"

#include <algorithm>
#include <limits>

namespace ullage {

namespace {

// splitmix64: the same numbers on every machine.
struct Random {
  uint64_t state = 0x9e3779b97f4a7c15ULL;
  uint64_t next() {
    uint64_t x = state += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
  size_t below(size_t bound) { return static_cast<size_t>(next() % bound); }
};

// Moves up to three of the buffers that end above the threshold to random earlier places; false
// when there are none that can move.
bool advance_highest(const PackProblem& problem, const std::vector<int64_t>& offsets,
                     int64_t threshold, Random& random, std::vector<int32_t>& order) {
  std::vector<size_t> high;
  for (size_t k = 1; k < order.size(); ++k)
    if (offsets[order[k]] + problem.buffers[order[k]].size > threshold) high.push_back(k);
  if (high.empty()) return false;
  size_t moves = std::min(high.size(), 1 + random.below(3));
  for (size_t m = 0; m < moves; ++m) {
    size_t from = high[random.below(high.size())];
    size_t to = random.below(from);
    std::rotate(order.begin() + static_cast<int64_t>(to),
                order.begin() + static_cast<int64_t>(from),
                order.begin() + static_cast<int64_t>(from) + 1);
  }
  return true;
}

}  // namespace

void iterate_greedy(const IteratedGreedy& task, std::vector<int32_t> order,
                    std::vector<int64_t>& offsets, int64_t& height, int64_t& placements,
                    int64_t& steps) {
  const PackProblem& problem = task.problem;
  GreedyPlacer placer(problem);
  Random random;
  // The walk accepts a placement that is a little worse than the current one, so that it can leave
  // a dead end; the best one is kept aside.
  std::vector<int64_t> current_offsets(offsets), next_offsets;
  int64_t current = height;
  if (!placer.place(order, task.fit, std::numeric_limits<int64_t>::max(), current_offsets, current))
    return;
  int64_t overhead = 0;                      // of copying orders
  int64_t patience = 4000 + problem.size();  // placements without improvement
  for (int64_t idle = 0; height > task.target && idle < patience; ++idle) {
    if (placer.steps() + overhead >= task.steps) break;
    std::vector<int32_t> next = order;
    int64_t threshold = std::max(task.target, current - (current - task.target) / 4 - 1);
    if (!advance_highest(problem, current_offsets, threshold, random, next)) break;
    PackFit fit = random.below(4) == 0 ? PackFit::tightest : PackFit::lowest;
    int64_t next_height = 0;
    int64_t ceiling = current + (current - task.target) / 32;
    ++placements;
    overhead += problem.size();
    if (!placer.place(next, fit, ceiling, next_offsets, next_height)) continue;
    order = std::move(next);
    current = next_height;
    current_offsets = next_offsets;
    if (current < height) {
      height = current;
      offsets = current_offsets;
      idle = 0;
    }
  }
  steps += placer.steps() + overhead;
}

}  // namespace ullage
