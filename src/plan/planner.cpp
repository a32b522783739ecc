#include "plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "plan/search.h"
#include "support/size.h"

namespace ullage {

namespace {

constexpr int kFloorRounds = 8;
constexpr int64_t kLeastEighths = 6;  // of what is above the lower bound, tried beside the budget
constexpr PieceRange kPieceRanges[] = {{2, 4}, {8, 16}, {32, 64}};
constexpr PieceRange kFinest = kPieceRanges[2];

}  // namespace

Planner::Planner(const KernelGraph& as_written, const std::vector<ProgramVariant>& others,
                 const Target& target)
    : forms_{{"", &as_written}},
      target_(target),
      lower_bound_(ullage::lower_bound_bytes(as_written)) {
  forms_.insert(forms_.end(), others.begin(), others.end());
  bases_.resize(forms_.size());
}

Planner::~Planner() = default;

ScheduledGraph& Planner::base(size_t form) {
  std::optional<ScheduledGraph>& base = bases_[form];
  if (!base) base = schedule_graph(*forms_[form].graph, target_, Scope::program);
  return *base;
}

std::vector<size_t> Planner::promising(int64_t budget) {
  std::vector<size_t> order(forms_.size());
  std::iota(order.begin(), order.end(), 0);
  auto seconds = [&](size_t form) {
    const Profile& profile = base(form).profile;
    return profile.peak <= budget ? profile.seconds : std::numeric_limits<double>::infinity();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return seconds(a) < seconds(b); });
  return order;
}

// Moves are chosen greedily, so that aiming at less may find a faster plan, or one at all. It is
// tried with the form and the pieces that served best at the whole budget.
std::optional<Plan> Planner::search(const PlanOptions& options, int64_t budget, int64_t& steps) {
  std::optional<Plan> best;
  size_t best_form = 0;
  SearchGoal goal;
  PieceRange best_pieces;
  auto attempt = [&](size_t form, const PieceRange& pieces) {
    if (base(form).profile.seconds >= goal.seconds) return;
    goal.pieces = pieces;
    std::optional<Plan> one = fit(options, form, goal, steps);
    if (!one || one->predicted_seconds >= goal.seconds) return;
    goal.seconds = one->predicted_seconds;
    best = std::move(one);
    best_form = form;
    best_pieces = pieces;
  };
  goal.bytes = budget;
  for (size_t form : promising(budget))
    for (const PieceRange& pieces : kPieceRanges) attempt(form, pieces);
  for (int64_t eighths = 7; eighths >= kLeastEighths; --eighths) {
    goal.bytes = budget - (budget - lower_bound_) / 8 * (8 - eighths);
    if (best) {
      attempt(best_form, best_pieces);
      continue;
    }
    for (size_t form : promising(goal.bytes))
      for (const PieceRange& pieces : kPieceRanges) attempt(form, pieces);
  }
  return best;
}

std::optional<Plan> Planner::fit(const PlanOptions& options, size_t form, const SearchGoal& goal,
                                 int64_t& steps) {
  ScheduledGraph work = base(form);
  SearchGoal aim = goal;
  // Packing may need a little more than what is alive: aim lower by that much and try again.
  for (int round = 0; round < 4; ++round) {
    bool fits = fit_schedule(work, aim, target_, options, steps);
    if (work.profile.seconds >= goal.seconds) return {};
    Plan plan = lay_out_form(work, form, options);
    keep_lowest(plan);
    if (plan.arena_bytes <= goal.bytes) return plan;
    if (!fits) return {};
    aim.bytes -= std::max<int64_t>(plan.arena_bytes - goal.bytes, 64);
  }
  return {};
}

void Planner::keep_lowest(const Plan& plan) {
  if (!floor_plan_ || plan.arena_bytes < floor_plan_->arena_bytes) floor_plan_ = plan;
}

// What another form of the program computes beyond the one that was written is recomputation too.
Plan Planner::lay_out_form(const ScheduledGraph& work, size_t form, const PlanOptions& options) {
  Plan plan = lay_out(work, {}, options.separate_operands);
  if (form == 0) return plan;
  const ScheduledGraph &written = base(0), &other = base(form);
  auto flops = [](const ScheduledGraph& graph) {
    double total = 0;
    for (const Entry& entry : graph.schedule.entries) total += graph.schedule.kernel(entry).flops;
    return total;
  };
  plan.recomputed_flops += std::max(0.0, flops(other) - flops(written));
  PlanDecision decision;
  decision.move = forms_[form].name;
  decision.what = "in the whole program";
  decision.bytes = written.profile.peak - other.profile.peak;
  decision.seconds = other.profile.seconds - written.profile.seconds;
  plan.decisions.insert(plan.decisions.begin(), std::move(decision));
  return plan;
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
    for (size_t form = 0; form < forms_.size() && floor_plan_->arena_bytes > target; ++form)
      fit(options, form, {.bytes = target, .pieces = kFinest}, steps);
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
    outcome.plan = lay_out(base(0), {}, options.separate_operands);
    return outcome;
  }
  int64_t budget = *options.budget_bytes;
  if (budget >= lower_bound_) {
    if (std::optional<Plan> best = search(options, budget, steps)) {
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
    for (size_t form = 0; form < forms_.size(); ++form) {
      // Moves that lower the bytes alive may pack worse than none.
      keep_lowest(lay_out_form(base(form), form, options));
      steps = options.step_limit;
      fit(options, form, {.bytes = 0, .pieces = kFinest}, steps);
    }
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
