#include "plan/pack.h"

#include <algorithm>
#include <array>
#include <limits>

#include "plan/pack_exact.h"
#include "plan/pack_greedy.h"
#include "plan/pack_iterated.h"
#include "plan/pack_problem.h"
#include "support/check.h"

namespace ullage {

namespace {

// One independent part, with the best placement of it so far. Heights count from the base of the
// part.
struct PartState {
  PackPart part;
  PackProblem problem;
  std::vector<int64_t> offsets;
  std::vector<int32_t> order;  // the order that gave the best greedy placement
  PackFit fit = PackFit::lowest;
  int64_t height = 0;
  PackMethod method = PackMethod::greedy;
  bool infeasible = false;  // no placement within the target exists
};

void check_input(std::span<const PackBuffer> buffers) {
  constexpr int64_t most = int64_t{1} << 62;
  int64_t total = 0;
  for (const PackBuffer& b : buffers) {
    ULLAGE_CHECK(b.lower < b.upper, "a buffer's life is empty");
    ULLAGE_CHECK(b.size >= 0 && b.size < most, "a buffer's size is out of range");
    ULLAGE_CHECK(b.alignment > 0 && b.alignment < most, "a buffer's alignment is out of range");
    ULLAGE_CHECK(b.fixed_offset < 0 || (b.fixed_offset % b.alignment == 0 && b.fixed_offset < most),
                 "a fixed offset is off its alignment or out of range");
    total += b.size + (b.alignment - 1);
    ULLAGE_CHECK(total >= 0 && total < most, "the buffers add up to more than can be counted");
  }
}

// Two fixed buffers that overlap while both are alive, or one that ends above the capacity; empty
// when there are none.
std::vector<int32_t> fixed_conflict(const PackProblem& problem, int64_t capacity) {
  std::vector<int32_t> fixed;
  for (int32_t i = 0; i < problem.size(); ++i) {
    const PackBuffer& b = problem.buffers[i];
    if (b.fixed_offset < 0) continue;
    if (capacity >= 0 && b.fixed_offset + b.size > capacity) return {i};
    fixed.push_back(i);
  }
  auto at = [&](int32_t i) { return problem.buffers[i].fixed_offset; };
  std::stable_sort(fixed.begin(), fixed.end(), [&](int32_t a, int32_t b) { return at(a) < at(b); });
  for (size_t k = 0; k < fixed.size(); ++k) {
    int32_t i = fixed[k];
    for (size_t m = k + 1; m < fixed.size() && at(fixed[m]) < at(i) + problem.buffers[i].size;
         ++m) {
      int32_t j = fixed[m];
      if (problem.first[i] < problem.last[j] && problem.first[j] < problem.last[i])
        return {std::min(i, j), std::max(i, j)};
    }
  }
  return {};
}

std::vector<int32_t> alive_in(const PackProblem& problem, int32_t section) {
  std::vector<int32_t> alive;
  for (int32_t i = 0; i < problem.size(); ++i)
    if (problem.first[i] <= section && section < problem.last[i]) alive.push_back(i);
  return alive;
}

class Packer {
 public:
  Packer(const PackProblem& problem, const PackOptions& options, PackStats& stats)
      : problem_(problem), options_(options), stats_(stats) {}

  // Fills in `offsets`; afterwards `obstacle` holds the buffers of a part that was proved not to
  // fit, if any.
  void run(std::span<int64_t> offsets, std::vector<int32_t>& obstacle);

 private:
  int64_t steps_left() const { return options_.step_limit - stats_.steps; }
  void place_greedily(PartState& state, int64_t target);
  bool try_exact(PartState& state, int64_t target, int64_t steps);
  void improve(PartState& state, int64_t target, int64_t steps);
  std::vector<int32_t> shrink_obstacle(const PartState& state, int64_t target);

  const PackProblem& problem_;
  const PackOptions& options_;
  PackStats& stats_;
};

// Every recipe with both fits, until the target is met or the share of the steps is spent.
void Packer::place_greedily(PartState& state, int64_t target) {
  // More orders cost more than they bring beyond this; about half a second.
  constexpr int64_t most_steps = 100'000'000;
  int64_t share = std::min(options_.step_limit / 4, most_steps);
  GreedyPlacer placer(state.problem);
  std::vector<int64_t> offsets;
  for (std::string_view recipe : pack_recipes()) {
    std::vector<int32_t> order = make_pack_order(state.problem, recipe);
    for (PackFit fit : {PackFit::lowest, PackFit::tightest}) {
      bool first = state.offsets.empty();
      if (!first && (state.height <= target || placer.steps() >= share)) {
        stats_.steps += placer.steps();
        return;
      }
      int64_t ceiling = first ? std::numeric_limits<int64_t>::max() : state.height - 1;
      int64_t height = 0;
      ++stats_.placements;
      if (!placer.place(order, fit, ceiling, offsets, height)) continue;
      state.offsets = offsets;
      state.height = height;
      state.order = order;
      state.fit = fit;
    }
  }
  stats_.steps += placer.steps();
}

bool Packer::try_exact(PartState& state, int64_t target, int64_t steps) {
  ExactLimits limits{options_.node_limit - stats_.nodes, std::min(steps, steps_left())};
  if (limits.nodes <= 0 || limits.steps <= 0) return false;
  ExactResult result = pack_exact(state.problem, target, limits);
  stats_.nodes += result.nodes;
  stats_.steps += result.steps;
  state.infeasible = result.outcome == ExactOutcome::infeasible;
  if (result.outcome != ExactOutcome::found) return false;
  state.offsets = std::move(result.offsets);
  state.height = 0;
  for (int32_t i = 0; i < state.problem.size(); ++i)
    state.height = std::max(state.height, state.offsets[i] + state.problem.buffers[i].size);
  state.method = PackMethod::exact;
  return true;
}

void Packer::improve(PartState& state, int64_t target, int64_t steps) {
  int64_t steps_end = stats_.steps + steps;
  bool minimise = options_.capacity < 0;
  if (try_exact(state, target, minimise ? steps / 3 : steps / 4 * 3)) return;
  if (state.infeasible && !minimise) return;
  // Without a capacity: close in on the least height that the search reaches with a small share of
  // the steps each, above those that were proved too low and those on which it gave up.
  int64_t proved = state.infeasible ? target : target - 1;
  int64_t missed = target;
  int64_t step = std::max<int64_t>(state.problem.max_live / 1000, 1);
  while (minimise && state.height - missed > step && stats_.steps < steps_end) {
    int64_t middle = missed + (state.height - missed) / 2;
    if (try_exact(state, middle, steps / 12)) continue;
    missed = middle;
    if (state.infeasible) proved = middle;
  }
  if (state.height - proved <= step) return;
  int64_t before = state.height;
  int64_t left = std::min(steps_end - stats_.steps, steps / 4);
  iterate_greedy({state.problem, state.fit, std::max(target, proved + 1), left}, state.order,
                 state.offsets, state.height, stats_.placements, stats_.steps);
  if (state.height < before) state.method = PackMethod::iterated;
}

// Leaves buffers out, in blocks of falling size, as long as the rest is still proved not to fit.
// With enough steps the outcome cannot lose another buffer.
std::vector<int32_t> Packer::shrink_obstacle(const PartState& state, int64_t target) {
  std::vector<int32_t> kept = state.part.members;
  int64_t budget = std::min(steps_left(), options_.step_limit / 4);
  ExactLimits limits{2 * stats_.nodes + 1000, budget};
  for (size_t block = (kept.size() + 1) / 2; block > 0; block /= 2) {
    for (size_t at = 0; at < kept.size() && limits.steps > 0;) {
      auto begin = kept.begin() + static_cast<int64_t>(at);
      auto end = kept.begin() + static_cast<int64_t>(std::min(at + block, kept.size()));
      std::vector<PackBuffer> buffers;
      for (auto it = kept.begin(); it != kept.end(); ++it)
        if (it < begin || it >= end) buffers.push_back(problem_.buffers[*it]);
      ExactResult result = pack_exact(make_pack_problem(std::move(buffers)), target, limits);
      // Setting up costs too.
      int64_t steps = result.steps + 100 * static_cast<int64_t>(kept.size());
      stats_.steps += steps;
      limits.steps -= steps;
      if (result.outcome == ExactOutcome::infeasible)
        kept.erase(begin, end);
      else
        at += block;
    }
  }
  kept.insert(kept.end(), state.part.below.begin(), state.part.below.end());
  std::sort(kept.begin(), kept.end());
  return kept;
}

void Packer::run(std::span<int64_t> offsets, std::vector<int32_t>& obstacle) {
  bool possible = options_.capacity < 0 || options_.capacity >= problem_.max_live;
  // Nothing is gained below the bound of the busiest moment, wherever that is.
  int64_t target = options_.capacity;
  if (options_.capacity < 0 || !possible)
    target = problem_.max_live + static_cast<int64_t>(static_cast<double>(problem_.max_live) *
                                                      std::clamp(options_.tolerance, 0.0, 1.0));
  std::vector<PartState> states;
  for (PackPart& part : cut_into_parts(problem_, offsets)) {
    PartState state;
    std::vector<PackBuffer> buffers;
    for (int32_t i : part.members) buffers.push_back(problem_.buffers[i]);
    state.problem = make_pack_problem(std::move(buffers));
    state.part = std::move(part);
    states.push_back(std::move(state));
  }
  stats_.parts = static_cast<int64_t>(states.size());
  for (PartState& state : states) place_greedily(state, target - state.part.base);

  if (!states.empty()) stats_.method = PackMethod::greedy;
  std::stable_sort(states.begin(), states.end(), [](const PartState& a, const PartState& b) {
    return a.part.base + a.height > b.part.base + b.height;
  });
  size_t above = 0;
  for (const PartState& state : states) above += state.part.base + state.height > target;
  if (options_.exact && possible) {
    for (PartState& state : states) {
      if (state.part.base + state.height <= target) continue;
      improve(state, target - state.part.base, steps_left() / static_cast<int64_t>(above));
      if (above > 1) --above;
      stats_.method = std::max(stats_.method, state.method);
      if (options_.capacity < 0) {
        target = std::max(target, state.part.base + state.height);  // the others need no better
      } else if (state.infeasible) {
        obstacle = shrink_obstacle(state, target - state.part.base);
        break;
      }
    }
  }
  for (const PartState& state : states)
    for (size_t k = 0; k < state.part.members.size(); ++k)
      offsets[state.part.members[k]] = state.part.base + state.offsets[k];
}

}  // namespace

std::string_view name(PackMethod method) {
  constexpr std::array<std::string_view, 4> names = {"trivial", "greedy", "exact", "iterated"};
  return names[static_cast<size_t>(method)];
}

PackResult pack(std::span<const PackBuffer> buffers, const PackOptions& options) {
  check_input(buffers);
  PackResult result;
  result.offsets.assign(buffers.size(), 0);
  std::vector<int32_t> index;  // of the buffers that take room
  std::vector<PackBuffer> sized;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].size > 0) {
      index.push_back(static_cast<int32_t>(i));
      sized.push_back(buffers[i]);
    } else if (buffers[i].fixed_offset >= 0) {
      result.offsets[i] = buffers[i].fixed_offset;
    }
  }
  PackProblem problem = make_pack_problem(std::move(sized));
  result.max_live = problem.max_live;

  std::vector<int32_t> obstacle = fixed_conflict(problem, options.capacity);
  PackOptions effective = options;
  bool conflict = !obstacle.empty();
  if (conflict) effective.exact = false;  // placed all the same, for a report
  if (!conflict && options.capacity >= 0 && problem.max_live > options.capacity)
    obstacle = alive_in(problem, problem.busiest);
  result.proved_infeasible = !obstacle.empty();

  std::vector<int64_t> offsets(problem.buffers.size(), 0);
  std::vector<int32_t> unsolvable;
  Packer(problem, effective, result.stats).run(offsets, unsolvable);
  if (!unsolvable.empty()) {
    obstacle = std::move(unsolvable);
    result.proved_infeasible = true;
  }
  for (size_t k = 0; k < index.size(); ++k) {
    result.offsets[index[k]] = offsets[k];
    result.arena = std::max(result.arena, offsets[k] + problem.buffers[k].size);
  }
  result.fits = !conflict && (options.capacity < 0 || result.arena <= options.capacity);
  if (!result.fits) {
    if (obstacle.empty()) obstacle = alive_in(problem, problem.busiest);
    for (int32_t i : obstacle) result.obstacle.push_back(index[i]);
  }
  return result;
}

}  // namespace ullage
