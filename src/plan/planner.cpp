#include "plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/axis.h"
#include "support/size.h"

namespace ullage {

namespace {

constexpr size_t kMaxRecomputeCandidates = 24;
constexpr size_t kMaxSplitCandidates = 6;
constexpr int64_t kMaxPieces = 64;
constexpr int64_t kPieceLimits[] = {4, 16, kMaxPieces};  // few pieces are faster where they suffice
constexpr int kFloorRounds = 8;
constexpr double kMinSeconds = 1e-7;  // so that free-looking moves are still counted

std::string value_label(const KernelGraph& graph, ValueId id) {
  const KernelValue& value = graph.values[static_cast<size_t>(id)];
  std::string type = to_string(value.type);
  return value.name.empty() ? type : "%" + value.name + " " + type;
}

}  // namespace

struct Planner::Candidate {
  const KernelGraph* graph = nullptr;
  std::unordered_map<KernelId, std::vector<std::unique_ptr<NestedSchedule>>>* nested =
      nullptr;  // owned by the base
  std::unique_ptr<std::unordered_map<KernelId, std::vector<std::unique_ptr<NestedSchedule>>>>
      own_nested;
  KernelCosts costs;
  Schedule schedule;
  Profile profile;
  std::vector<PlanDecision> decisions;
};

Planner::Planner(const KernelGraph& as_written, const KernelGraph* merged, const Target& target)
    : as_written_(&as_written),
      merged_(merged),
      target_(target),
      lower_bound_(ullage::lower_bound_bytes(as_written)) {}

Planner::~Planner() = default;

Planner::Candidate Planner::start(bool from_merged) const {
  Candidate out;
  out.graph = from_merged ? merged_ : as_written_;
  out.own_nested = std::make_unique<
      std::unordered_map<KernelId, std::vector<std::unique_ptr<NestedSchedule>>>>();
  out.nested = out.own_nested.get();
  out.costs = kernel_costs(*out.graph, target_, *out.nested);
  out.schedule = make_schedule(*out.graph, memory_order(*out.graph, out.costs));
  out.profile = simulate(out.schedule, out.costs, target_, Scope::program);
  return out;
}

namespace {

// One edited schedule and what it would bring.
struct Move {
  Schedule schedule;
  Profile profile;
  double score = 0;
  double excess = 0;  // that is left
  PlanDecision decision;
};

class Search {
 public:
  Search(const KernelCosts& costs, const Target& target, const PlanOptions& options,
         int64_t most_pieces, int64_t& steps)
      : costs_(costs),
        target_(target),
        options_(options),
        most_pieces_(most_pieces),
        steps_(steps) {}

  // Edits the schedule until its peak is within the budget, or no move helps. Returns whether it
  // fits.
  bool run(Schedule& schedule, Profile& profile, std::vector<PlanDecision>& decisions,
           int64_t budget) {
    while (profile.peak > budget && steps_ > 0) {
      std::optional<Move> best;
      now_excess_ = excess(schedule, profile, budget);
      consider_splits(schedule, profile, budget, best);
      consider_recomputation(schedule, profile, budget, best);
      if (!best) return false;
      best->decision.bytes = profile.peak - best->profile.peak;
      best->decision.seconds = best->profile.seconds - profile.seconds;
      schedule = std::move(best->schedule);
      profile = std::move(best->profile);
      decisions.push_back(std::move(best->decision));
    }
    return profile.peak <= budget;
  }

 private:
  // Bytes above the budget, summed over the kernels of the schedule; the pieces of a kernel weigh
  // as much as the kernel. A little is added for the peak itself, so that of equal moves one at the
  // peak is taken.
  static double excess(const Schedule& schedule, const Profile& profile, int64_t budget) {
    double total = 0.01 * static_cast<double>(std::max<int64_t>(0, profile.peak - budget));
    for (size_t e = 0; e < schedule.entries.size(); ++e)
      total += static_cast<double>(std::max<int64_t>(0, profile.memory[e] - budget)) *
               schedule.entries[e].fraction;
    return total;
  }

  bool enabled(std::string_view move, const Schedule& schedule, size_t x) const {
    if (!options_.enabled) return true;
    ValueId value = schedule.instances[x].value;
    return options_.enabled(move, schedule.graph->values[static_cast<size_t>(value)].location);
  }

  void consider(std::optional<Schedule> schedule, const Profile& now, int64_t budget,
                std::optional<Move>& best, PlanDecision decision) {
    if (!schedule) return;
    steps_ -= static_cast<int64_t>(schedule->entries.size());
    Profile profile = simulate(*schedule, costs_, target_, Scope::program);
    double left = excess(*schedule, profile, budget);
    double gain = now_excess_ - left;
    if (gain <= 0) return;
    double cost = std::max(kMinSeconds, profile.seconds - now.seconds);
    double score = gain / cost;
    if (best && score <= best->score) return;
    best = Move{std::move(*schedule), std::move(profile), score, left, std::move(decision)};
  }

  static size_t index(int32_t x) { return static_cast<size_t>(x); }

  void consider_splits(const Schedule& schedule, const Profile& profile, int64_t budget,
                       std::optional<Move>& best) {
    int32_t at = profile.peak_entry;
    std::vector<int32_t> candidates;
    for (size_t x = 0; x < schedule.instances.size(); ++x)
      if (profile.first_use[x] >= 0 && profile.first_use[x] <= at && profile.last_use[x] >= at &&
          schedule.instances[x].slice.whole() && enabled("split", schedule, x))
        candidates.push_back(static_cast<int32_t>(x));
    keep_largest(schedule, candidates, kMaxSplitCandidates);
    for (int32_t x : candidates) {
      if (negligible(schedule, profile, x)) continue;
      const Kernel& producer =
          schedule.kernel(schedule.entries[index(profile.first_use[index(x)])]);
      for (PieceAxis axis : piece_axes(producer, *schedule.graph))
        if (axis.parallel()) consider_split(schedule, profile, x, axis, budget, best);
    }
  }

  // The fewest pieces beyond which halving gains nothing more: where this region no longer stands
  // above the budget.
  void consider_split(const Schedule& schedule, const Profile& profile, int32_t x, PieceAxis axis,
                      int64_t budget, std::optional<Move>& best) {
    std::optional<Move> chosen;
    for (int64_t pieces = 2; pieces <= most_pieces_; pieces *= 2) {
      std::optional<Schedule> edited = split(schedule, profile, target_, x, axis, pieces);
      if (!edited) break;
      std::optional<Move> one;
      consider(std::move(edited), profile, budget, one,
               describe("split", schedule, x,
                        fmt::format(" in {} pieces{}", pieces,
                                    axis.dim == 0 ? "" : " of an inner dimension")));
      if (!one || (chosen && now_excess_ - one->excess < (now_excess_ - chosen->excess) * 1.02))
        break;
      chosen = std::move(one);
    }
    if (chosen && (!best || chosen->score > best->score)) best = std::move(chosen);
  }

  // Too small to make a difference at this size of program.
  static bool negligible(const Schedule& schedule, const Profile& profile, int32_t x) {
    return schedule.instances[index(x)].bytes * 4096 < profile.peak;
  }

  void consider_recomputation(const Schedule& schedule, const Profile& profile, int64_t budget,
                              std::optional<Move>& best) {
    int32_t at = profile.peak_entry;
    // Values alive at the peak that nobody uses just then, and their next reader.
    std::vector<int32_t> next(schedule.instances.size(), -1), used_at(schedule.instances.size(), 0);
    for (size_t e = schedule.entries.size(); e-- > static_cast<size_t>(std::max(0, at));)
      for (int32_t x : schedule.inputs(schedule.entries[e])) {
        next[index(x)] = static_cast<int32_t>(e);
        if (static_cast<int32_t>(e) == at) used_at[index(x)] = 1;
      }
    std::vector<int32_t> candidates;
    for (size_t x = 0; x < schedule.instances.size(); ++x) {
      if (profile.first_use[x] < 0 || profile.first_use[x] >= at || profile.last_use[x] <= at)
        continue;
      if (used_at[x] || next[x] <= at || negligible(schedule, profile, static_cast<int32_t>(x)))
        continue;
      if (!enabled("recompute", schedule, x)) continue;
      candidates.push_back(static_cast<int32_t>(x));
    }
    keep_largest(schedule, candidates, kMaxRecomputeCandidates);
    for (int32_t x : candidates)
      consider(recompute(schedule, profile, x, next[index(x)]), profile, budget, best,
               describe("recompute", schedule, x, ""));
  }

  static void keep_largest(const Schedule& schedule, std::vector<int32_t>& candidates,
                           size_t count) {
    std::stable_sort(candidates.begin(), candidates.end(), [&](int32_t a, int32_t b) {
      return schedule.instances[index(a)].bytes > schedule.instances[index(b)].bytes;
    });
    if (candidates.size() > count) candidates.resize(count);
  }

  static PlanDecision describe(std::string move, const Schedule& schedule, int32_t x,
                               std::string suffix) {
    const Instance& instance = schedule.instances[index(x)];
    PlanDecision out;
    out.move = std::move(move);
    out.what = value_label(*schedule.graph, instance.value) + suffix;
    out.location = schedule.graph->values[index(instance.value)].location;
    return out;
  }

  const KernelCosts& costs_;
  const Target& target_;
  const PlanOptions& options_;
  int64_t most_pieces_;
  int64_t& steps_;
  double now_excess_ = 0;
};

}  // namespace

Plan Planner::finish(const Candidate& candidate) const {
  Plan plan = lay_out(candidate.schedule, candidate.profile, candidate.costs, *candidate.nested,
                      target_, {});
  plan.decisions = candidate.decisions;
  return plan;
}

std::optional<Plan> Planner::fit(const PlanOptions& options, int64_t budget, bool from_merged,
                                 int64_t& steps) {
  std::optional<Plan> best;
  for (int64_t most_pieces : kPieceLimits) {
    if (budget < lower_bound_ && most_pieces != kMaxPieces) continue;  // only looking for the floor
    std::optional<Plan> plan = fit(options, budget, from_merged, most_pieces, steps);
    if (plan && (!best || plan->predicted_seconds < best->predicted_seconds))
      best = std::move(plan);
  }
  return best;
}

std::optional<Plan> Planner::fit(const PlanOptions& options, int64_t budget, bool from_merged,
                                 int64_t most_pieces, int64_t& steps) {
  std::unique_ptr<Candidate>& base = from_merged ? merged_base_ : base_;
  if (!base) base = std::make_unique<Candidate>(start(from_merged));
  Candidate work;
  work.graph = base->graph;
  work.nested = base->own_nested.get();
  work.costs = base->costs;
  work.schedule = base->schedule;
  work.profile = base->profile;
  int64_t target = budget;
  // Packing may need a little more than what is alive: aim lower by that much and try again.
  for (int round = 0; round < 4; ++round) {
    bool fits = Search(work.costs, target_, options, most_pieces, steps)
                    .run(work.schedule, work.profile, work.decisions, target);
    Plan plan = finish(work);
    if (!floor_plan_ || plan.arena_bytes < floor_plan_->arena_bytes) floor_plan_ = plan;
    if (plan.arena_bytes <= budget) return plan;
    if (!fits) return {};
    target -= std::max<int64_t>(plan.arena_bytes - budget, 64);
  }
  return {};
}

// Aiming at nothing finds a low plan, not the lowest: what helps at one budget differs from what
// helps at another. So the space between what no plan can go below and what was found is halved a
// number of times.
void Planner::search_floor(const PlanOptions& options) {
  int64_t impossible = lower_bound_;
  for (int round = 0; round < kFloorRounds && impossible < floor_plan_->arena_bytes; ++round) {
    int64_t target = impossible + (floor_plan_->arena_bytes - impossible) / 2;
    int64_t before = floor_plan_->arena_bytes;
    int64_t steps = options.step_limit / 4;
    fit(options, target, false, steps);
    if (merged_ && floor_plan_->arena_bytes > target) fit(options, target, true, steps);
    if (floor_plan_->arena_bytes > target) impossible = target;
    if (floor_plan_->arena_bytes == before && before - impossible < before / 256) break;
  }
}

static std::vector<PlanObstacle> obstacles_of(const Plan& plan) {
  std::vector<PlanObstacle> out;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.first > plan.peak_time || buffer.last < plan.peak_time || !buffer.graph ||
        buffer.value < 0)
      continue;
    const KernelValue& value = buffer.graph->values[static_cast<size_t>(buffer.value)];
    PlanObstacle obstacle;
    if (!value.name.empty()) obstacle.value = "%" + value.name;
    obstacle.bytes = buffer.bytes;
    obstacle.type = value.type;
    obstacle.location = value.location;
    switch (buffer.kind) {
      case PlanBuffer::Kind::argument:
        obstacle.reason = "argument that must exist at this moment";
        break;
      case PlanBuffer::Kind::constant:
        obstacle.reason = "constant of the program";
        break;
      case PlanBuffer::Kind::scratch:
        obstacle.reason = "scratch of the kernel that runs";
        break;
      case PlanBuffer::Kind::temporary:
        obstacle.reason = buffer.output
                              ? "result that must exist at the end"
                              : "still to be read, and no move found makes it again or cuts it";
        break;
    }
    out.push_back(std::move(obstacle));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const PlanObstacle& a, const PlanObstacle& b) { return a.bytes > b.bytes; });
  return out;
}

PlanOutcome Planner::plan(const PlanOptions& options) {
  PlanOutcome outcome;
  int64_t steps = options.step_limit;
  if (!options.budget_bytes) {
    base_ = base_ ? std::move(base_) : std::make_unique<Candidate>(start(false));
    outcome.plan = finish(*base_);
    return outcome;
  }
  int64_t budget = *options.budget_bytes;
  if (budget >= lower_bound_) {
    std::optional<Plan> best = fit(options, budget, false, steps);
    if (merged_) {
      std::optional<Plan> other = fit(options, budget, true, steps);
      if (other && (!best || other->predicted_seconds < best->predicted_seconds))
        best = std::move(other);
    }
    if (best) {
      outcome.plan = std::move(best);
      return outcome;
    }
    // What an earlier, tighter search found also fits.
    if (floor_plan_ && floor_plan_->arena_bytes <= budget) {
      outcome.plan = floor_plan_;
      return outcome;
    }
  }
  if (!floor_searched_) {
    steps = options.step_limit;
    fit(options, 0, false, steps);
    steps = options.step_limit;
    if (merged_) fit(options, 0, true, steps);
    search_floor(options);
    floor_searched_ = true;
  }
  if (floor_plan_->arena_bytes <= budget) {
    outcome.plan = floor_plan_;
    return outcome;
  }
  outcome.refusal.budget_bytes = budget;
  outcome.refusal.floor_bytes = floor_plan_->arena_bytes;
  outcome.refusal.lower_bound_bytes = lower_bound_;
  outcome.refusal.obstacles = obstacles_of(*floor_plan_);
  for (const PlanDecision& decision : floor_plan_->decisions)
    if (outcome.refusal.tried.size() < 16)
      outcome.refusal.tried.push_back(
          fmt::format("{} {}: {} less", decision.move, decision.what, format_size(decision.bytes)));
  return outcome;
}

}  // namespace ullage
