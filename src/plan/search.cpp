#include "plan/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "plan/axis.h"

namespace ullage {

namespace {

constexpr size_t kMaxRecomputeCandidates = 24;
constexpr size_t kMaxSplitCandidates = 6;
constexpr int kMaxReaders = 4;        // that are tried as the first one of a second copy
constexpr double kClearGain = 1.02;   // by which a gain is more than another
constexpr double kAlike = 0.9;        // of the last move's worth that the next one like it has
constexpr double kMinSeconds = 1e-7;  // so that free-looking moves are still counted

std::string value_label(const KernelGraph& graph, ValueId id) {
  const KernelValue& value = graph.values[static_cast<size_t>(id)];
  std::string type = to_string(value.type);
  return value.name.empty() ? type : "%" + value.name + " " + type;
}

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

// Other schedules for what a loop or conditional runs, and what the whole then costs.
struct TightBody {
  KernelId kernel = -1;
  NestedSchedules::mapped_type regions;
};

// One edited schedule and what it would bring.
struct Move {
  Schedule schedule;
  Profile profile;
  double score = 0;
  double excess = 0;  // that is left
  PlanDecision decision;
  MoveKind kind;
  std::optional<TightBody> body;  // instead of another schedule
};

class Search {
 public:
  Search(ScheduledGraph& work, const Target& target, const PlanOptions& options,
         const SearchGoal& goal, int64_t& steps)
      : work_(work),
        costs_(work.costs),
        target_(target),
        options_(options),
        goal_(goal),
        steps_(steps),
        bodies_(work.nested) {}

  bool run() {
    int64_t budget = goal_.bytes;
    Schedule& schedule = work_.schedule;
    Profile& profile = work_.profile;
    std::optional<Move> best;
    while (profile.peak > budget && steps_ > 0 && profile.seconds < goal_.seconds) {
      now_excess_ = excess(schedule, profile, budget);
      if (best) best = alike(schedule, profile, budget, best->kind, best->score * kAlike);
      if (!best) {
        consider_splits(schedule, profile, budget, best);
        consider_recomputation(schedule, profile, budget, best);
        consider_bodies(budget, best);
      }
      if (!best) return false;
      best->decision.bytes = profile.peak - best->profile.peak;
      best->decision.seconds = best->profile.seconds - profile.seconds;
      schedule = std::move(best->schedule);
      profile = std::move(best->profile);
      work_.decisions.push_back(std::move(best->decision));
      if (!best->body) continue;
      set_costs(work_.costs, *best->body);
      work_.nested[best->body->kernel] = std::move(best->body->regions);
      best.reset();
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
    // Kernels of one name may have other dimensions.
    auto has_axis = [&](int32_t x) {
      const Entry& producer = schedule.entries[index(profile.first_use[index(x)])];
      std::vector<PieceAxis> axes = piece_axes(schedule.kernel(producer), *schedule.graph);
      return std::find(axes.begin(), axes.end(), kind.axis) != axes.end();
    };
    if (kind.split) {
      for (int32_t x : split_candidates(schedule, profile))
        if (suits(x) && has_axis(x))
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
    Profile profile = simulate(*schedule, costs_, target_, work_.scope);
    double left = excess(*schedule, profile, budget);
    double gain = now_excess_ - left;
    if (gain <= 0) return;
    double cost = std::max(kMinSeconds, profile.seconds - now.seconds);
    double score = gain / cost;
    if (best && score <= best->score) return;
    best =
        Move{std::move(*schedule), std::move(profile), score, left, std::move(decision), kind, {}};
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
        Profile now = simulate(*out, costs_, target_, work_.scope);
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
    for (kind.pieces = goal_.pieces.fewest; kind.pieces <= goal_.pieces.most; kind.pieces *= 2) {
      std::optional<Schedule> edited = cut(schedule, profile, x, kind);
      if (!edited && kind.pieces == goal_.pieces.fewest && !in_one_piece_.contains({x, axis.dim})) {
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

  // Loops and conditionals at the peak: what they run is searched in turn, for as much less as is
  // missing, and for half of what it takes.
  void consider_bodies(int64_t budget, std::optional<Move>& best) {
    // The peak may be outside all kernels: what the program takes and returns.
    size_t at = index(work_.profile.peak_entry);
    if (at >= work_.schedule.entries.size()) return;
    KernelId k = work_.schedule.entries[at].kernel;
    auto found = bodies_.find(k);
    if (found == bodies_.end()) return;
    int64_t now = costs_.extra_bytes[index(k)];
    int64_t missing = work_.profile.peak - budget;
    for (int64_t wanted : {now - missing, now / 2}) {
      wanted = std::max<int64_t>(wanted, 0);
      if (wanted >= now) continue;
      std::optional<TightBody> body = tighten(k, found->second, wanted);
      if (!body) continue;
      KernelCosts costs = costs_;
      set_costs(costs, *body);
      if (costs.extra_bytes[index(k)] >= now) continue;
      steps_ -= static_cast<int64_t>(work_.schedule.entries.size());
      Profile profile = simulate(work_.schedule, costs, target_, work_.scope);
      double left = excess(work_.schedule, profile, budget);
      double gain = now_excess_ - left;
      if (gain <= 0) continue;
      double score = gain / std::max(kMinSeconds, profile.seconds - work_.profile.seconds);
      if (best && score <= best->score) continue;
      const Kernel& kernel = work_.schedule.graph->kernels[index(k)];
      size_t moves = 0;
      for (const auto& region : body->regions) moves += region->decisions.size();
      PlanDecision decision;
      decision.move = "body";
      decision.what = fmt::format("{}: {} moves inside", kernel.name, moves);
      decision.location = kernel.location;
      best = Move{work_.schedule, std::move(profile), score, left, std::move(decision), {}, body};
    }
  }

  std::optional<TightBody> tighten(KernelId k, const NestedSchedules::mapped_type& regions,
                                   int64_t wanted) {
    auto [it, fresh] = tightened_.try_emplace({k, wanted});
    if (!fresh) return it->second;
    TightBody body{k, {}};
    bool changed = false;
    for (const auto& region : regions) {
      if (extra_bytes(*region) <= wanted) {
        body.regions.push_back(region);
        continue;
      }
      auto tight = std::make_shared<ScheduledGraph>(*region);
      SearchGoal goal{.bytes = tight->profile.peak - extra_bytes(*region) + wanted,
                      .pieces = goal_.pieces};
      fit_schedule(*tight, goal, target_, options_, steps_);
      changed |= !tight->decisions.empty();
      body.regions.push_back(std::move(tight));
    }
    if (changed) it->second = std::move(body);
    return it->second;
  }

  void set_costs(KernelCosts& costs, const TightBody& body) const {
    const Kernel& kernel = work_.schedule.graph->kernels[index(body.kernel)];
    set_nested_costs(costs, body.kernel, kernel, body.regions);
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

  ScheduledGraph& work_;
  const KernelCosts& costs_;  // of work_
  const Target& target_;
  const PlanOptions& options_;
  SearchGoal goal_;
  int64_t& steps_;
  double now_excess_ = 0;
  std::set<std::pair<int32_t, int32_t>> in_one_piece_;  // instances and axes that nothing could cut
  NestedSchedules bodies_;                              // as they were at first
  std::map<std::pair<KernelId, int64_t>, std::optional<TightBody>> tightened_;
};

}  // namespace

bool fit_schedule(ScheduledGraph& work, const SearchGoal& goal, const Target& target,
                  const PlanOptions& options, int64_t& steps) {
  return Search(work, target, options, goal, steps).run();
}

}  // namespace ullage
