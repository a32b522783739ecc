#include "plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "plan/axis.h"
#include "support/size.h"

namespace ullage {

namespace {

constexpr size_t kMaxRecomputeCandidates = 24;
constexpr size_t kMaxSplitCandidates = 6;
constexpr int kFloorRounds = 8;
constexpr int kMaxReaders = 4;        // that are tried as the first one of a second copy
constexpr double kClearGain = 1.02;   // by which a gain is more than another
constexpr double kAlike = 0.9;        // of the last move's worth that the next one like it has
constexpr double kMinSeconds = 1e-7;  // so that free-looking moves are still counted

std::string value_label(const KernelGraph& graph, ValueId id) {
  const KernelValue& value = graph.values[static_cast<size_t>(id)];
  std::string type = to_string(value.type);
  return value.name.empty() ? type : "%" + value.name + " " + type;
}

}  // namespace

// How finely a search may cut. Few pieces are faster where they suffice; where they do not, a cut
// cannot be made finer later.
struct Planner::PieceRange {
  int64_t fewest, most;
};
static constexpr Planner::PieceRange kPieceRanges[] = {{2, 4}, {8, 16}, {32, 64}};
static constexpr Planner::PieceRange kFinest = kPieceRanges[2];

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

// What is done to an instance, apart from which one. Programs repeat their layers, so a move that
// helped is worth trying on the next instance like it before everything else is weighed again.
struct MoveKind {
  bool split = false;  // else recomputed
  PieceAxis axis;
  int64_t pieces = 0;
  bool apart = false;  // made again for later readers first
  // The instances it suits.
  int64_t bytes = 0;
  double producer_flops = 0;
  std::string_view producer;
};

// One edited schedule and what it would bring.
struct Move {
  Schedule schedule;
  Profile profile;
  double score = 0;
  double excess = 0;  // that is left
  PlanDecision decision;
  MoveKind kind;
};

class Search {
 public:
  Search(const KernelCosts& costs, const Target& target, const PlanOptions& options,
         const Planner::PieceRange& pieces, int64_t& steps)
      : costs_(costs), target_(target), options_(options), pieces_(pieces), steps_(steps) {}

  // Edits the schedule until its peak is within the budget, or no move helps. Returns whether it
  // fits.
  bool run(Schedule& schedule, Profile& profile, std::vector<PlanDecision>& decisions,
           int64_t budget) {
    std::optional<Move> best;
    while (profile.peak > budget && steps_ > 0) {
      now_excess_ = excess(schedule, profile, budget);
      if (best) best = alike(schedule, profile, budget, best->kind, best->score * kAlike);
      if (!best) {
        consider_splits(schedule, profile, budget, best);
        consider_recomputation(schedule, profile, budget, best);
      }
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

  MoveKind kind_of(const Schedule& schedule, const Profile& profile, int32_t x) const {
    const Kernel& producer = schedule.kernel(schedule.entries[index(profile.first_use[index(x)])]);
    MoveKind kind;
    kind.bytes = schedule.instances[index(x)].bytes;
    kind.producer = producer.name;
    kind.producer_flops = producer.flops;
    return kind;
  }

  // The same move for another instance, if it brings at least `least` bytes per second.
  std::optional<Move> alike(const Schedule& schedule, const Profile& profile, int64_t budget,
                            const MoveKind& kind, double least) {
    std::optional<Move> best;
    auto suits = [&](int32_t x) {
      MoveKind other = kind_of(schedule, profile, x);
      return other.bytes == kind.bytes && other.producer == kind.producer &&
             other.producer_flops == kind.producer_flops;
    };
    if (kind.split) {
      for (int32_t x : split_candidates(schedule, profile))
        if (suits(x))
          consider(cut(schedule, profile, x, kind), profile, budget, best, kind,
                   describe_split(schedule, x, kind));
    } else {
      auto [candidates, next] = recomputation_candidates(schedule, profile);
      for (int32_t x : candidates)
        if (suits(x))
          consider(recompute(schedule, profile, x, next[index(x)]), profile, budget, best, kind,
                   describe("recompute", schedule, x, ""));
    }
    if (best && best->score < least) best.reset();
    return best;
  }

  void consider(std::optional<Schedule> schedule, const Profile& now, int64_t budget,
                std::optional<Move>& best, const MoveKind& kind, PlanDecision decision) {
    if (!schedule) return;
    steps_ -= static_cast<int64_t>(schedule->entries.size());
    Profile profile = simulate(*schedule, costs_, target_, Scope::program);
    double left = excess(*schedule, profile, budget);
    double gain = now_excess_ - left;
    if (gain <= 0) return;
    double cost = std::max(kMinSeconds, profile.seconds - now.seconds);
    double score = gain / cost;
    if (best && score <= best->score) return;
    best = Move{std::move(*schedule), std::move(profile), score, left, std::move(decision), kind};
  }

  static size_t index(int32_t x) { return static_cast<size_t>(x); }

  // Whole values alive at the peak.
  std::vector<int32_t> split_candidates(const Schedule& schedule, const Profile& profile) const {
    int32_t at = profile.peak_entry;
    std::vector<int32_t> candidates;
    for (size_t x = 0; x < schedule.instances.size(); ++x)
      if (profile.first_use[x] >= 0 && profile.first_use[x] <= at && profile.last_use[x] >= at &&
          schedule.instances[x].slice.whole() && enabled("split", schedule, x) &&
          !negligible(schedule, profile, static_cast<int32_t>(x)))
        candidates.push_back(static_cast<int32_t>(x));
    keep_largest(schedule, candidates, kMaxSplitCandidates);
    return candidates;
  }

  void consider_splits(const Schedule& schedule, const Profile& profile, int64_t budget,
                       std::optional<Move>& best) {
    for (int32_t x : split_candidates(schedule, profile)) {
      const Kernel& producer =
          schedule.kernel(schedule.entries[index(profile.first_use[index(x)])]);
      // Of a value's axes the one that helps most, of those that help alike the cheapest.
      std::optional<Move> chosen;
      for (PieceAxis axis : piece_axes(producer, *schedule.graph)) {
        if (!axis.parallel()) continue;
        std::optional<Move> one = consider_split(schedule, profile, x, axis, budget);
        if (!one) continue;
        double gain = now_excess_ - one->excess, had = chosen ? now_excess_ - chosen->excess : 0;
        if (gain > had * kClearGain || (gain * kClearGain > had && one->score > chosen->score))
          chosen = std::move(one);
      }
      if (chosen && (!best || chosen->score > best->score)) best = std::move(chosen);
    }
  }

  // Readers that need others' results of all of the value, as a gradient does, keep it from being
  // cut. Then it is made again for the later ones, and both are cut.
  std::optional<Schedule> cut(const Schedule& schedule, const Profile& profile, int32_t x,
                              const MoveKind& kind) {
    if (!kind.apart) return split(schedule, profile, target_, x, kind.axis, kind.pieces);
    int readers = 0;
    for (size_t e = 0; e < schedule.entries.size() && readers < kMaxReaders; ++e) {
      std::span<const int32_t> inputs = schedule.inputs(schedule.entries[e]);
      if (std::find(inputs.begin(), inputs.end(), x) == inputs.end() || readers++ == 0) continue;
      std::optional<Schedule> out = recompute(schedule, profile, x, static_cast<int32_t>(e));
      if (!out) continue;
      size_t again = schedule.instances.size();
      while (again < out->instances.size() &&
             out->instances[again].value != schedule.instances[index(x)].value)
        ++again;
      for (size_t one : {index(x), again}) {
        if (!out || one >= out->instances.size()) break;
        steps_ -= static_cast<int64_t>(out->entries.size());
        Profile now = simulate(*out, costs_, target_, Scope::program);
        out = split(*out, now, target_, static_cast<int32_t>(one), kind.axis, kind.pieces);
      }
      if (out) return out;
    }
    return {};
  }

  // The fewest pieces beyond which halving gains nothing more: where this region no longer stands
  // above the budget.
  std::optional<Move> consider_split(const Schedule& schedule, const Profile& profile, int32_t x,
                                     PieceAxis axis, int64_t budget) {
    std::optional<Move> chosen;
    MoveKind kind = kind_of(schedule, profile, x);
    kind.split = true;
    kind.axis = axis;
    for (kind.pieces = pieces_.fewest; kind.pieces <= pieces_.most; kind.pieces *= 2) {
      std::optional<Schedule> edited = cut(schedule, profile, x, kind);
      if (!edited && kind.pieces == pieces_.fewest && !in_one_piece_.contains({x, axis.dim})) {
        kind.apart = true;
        edited = cut(schedule, profile, x, kind);
        if (!edited) in_one_piece_.insert({x, axis.dim});
      }
      if (!edited) break;
      std::optional<Move> one;
      consider(std::move(edited), profile, budget, one, kind, describe_split(schedule, x, kind));
      if (!one ||
          (chosen && now_excess_ - one->excess < (now_excess_ - chosen->excess) * kClearGain))
        break;
      chosen = std::move(one);
    }
    return chosen;
  }

  // Too small to make a difference at this size of program.
  static bool negligible(const Schedule& schedule, const Profile& profile, int32_t x) {
    return schedule.instances[index(x)].bytes * 4096 < profile.peak;
  }

  // Values alive at the peak that nobody uses just then, and the next reader of each instance.
  std::pair<std::vector<int32_t>, std::vector<int32_t>> recomputation_candidates(
      const Schedule& schedule, const Profile& profile) const {
    int32_t at = profile.peak_entry;
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
    return {std::move(candidates), std::move(next)};
  }

  void consider_recomputation(const Schedule& schedule, const Profile& profile, int64_t budget,
                              std::optional<Move>& best) {
    auto [candidates, next] = recomputation_candidates(schedule, profile);
    for (int32_t x : candidates)
      consider(recompute(schedule, profile, x, next[index(x)]), profile, budget, best,
               kind_of(schedule, profile, x), describe("recompute", schedule, x, ""));
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

  static PlanDecision describe_split(const Schedule& schedule, int32_t x, const MoveKind& kind) {
    return describe("split", schedule, x,
                    fmt::format("{} in {} pieces{}", kind.apart ? ", made twice," : "", kind.pieces,
                                kind.axis.dim == 0 ? "" : " of an inner dimension"));
  }

  const KernelCosts& costs_;
  const Target& target_;
  const PlanOptions& options_;
  Planner::PieceRange pieces_;
  int64_t& steps_;
  double now_excess_ = 0;
  std::set<std::pair<int32_t, int32_t>> in_one_piece_;  // instances and axes that nothing could cut
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
  for (const PieceRange& pieces : kPieceRanges) {
    std::optional<Plan> plan = fit(options, budget, from_merged, pieces, steps);
    if (plan && (!best || plan->predicted_seconds < best->predicted_seconds))
      best = std::move(plan);
  }
  return best;
}

std::optional<Plan> Planner::fit(const PlanOptions& options, int64_t budget, bool from_merged,
                                 const PieceRange& pieces, int64_t& steps) {
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
    bool fits = Search(work.costs, target_, options, pieces, steps)
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
    fit(options, target, false, kFinest, steps);
    if (merged_ && floor_plan_->arena_bytes > target) fit(options, target, true, kFinest, steps);
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
    fit(options, 0, false, kFinest, steps);
    steps = options.step_limit;
    if (merged_) fit(options, 0, true, kFinest, steps);
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
