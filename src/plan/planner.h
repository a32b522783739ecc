// The planner: takes every memory decision. Input are kernel graphs of one program, a budget and a
// cost model; output is a Plan within the budget, or a refusal with the smallest budget that works.
// Work is counted in steps, never in time, so the same program and budget always give the same
// plan.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plan/plan.h"
#include "plan/schedule.h"

namespace ullage {

// A region of the program that runs as one entry of its parent (loop body, loop condition, branch),
// scheduled by itself.
struct NestedSchedule {
  Schedule schedule;
  KernelCosts costs;
  Profile profile;
  std::unordered_map<KernelId, std::vector<std::unique_ptr<NestedSchedule>>> nested;
};

struct PlanOptions {
  std::optional<int64_t> budget_bytes;
  // Whether "recompute" or "split" may be applied to a value made there; empty: always.
  std::function<bool(std::string_view move, Location where)> enabled;
  int64_t step_limit = 80'000'000;  // schedule entries simulated in search of a plan
};

// Why a program cannot run in less.
struct PlanObstacle {
  std::string value;  // its name with '%', may be empty
  int64_t bytes = 0;
  Type type;
  Location location;
  std::string reason;
};

struct Refusal {
  int64_t budget_bytes = 0;
  int64_t floor_bytes = 0;        // the smallest budget for which this planner has a plan
  int64_t lower_bound_bytes = 0;  // below which no plan exists, whoever makes it
  std::vector<PlanObstacle> obstacles;
  std::vector<std::string> tried;
};

struct PlanOutcome {
  std::optional<Plan> plan;
  Refusal refusal;  // when there is no plan
};

class Planner {
 public:
  // `as_written` honours the program's own recomputation; `merged`, if given, is the same program
  // with it undone, from which the planner may choose its own. Both must outlive the plans made.
  Planner(const KernelGraph& as_written, const KernelGraph* merged, const Target& target);
  ~Planner();

  PlanOutcome plan(const PlanOptions& options);
  int64_t lower_bound_bytes() const { return lower_bound_; }

  struct PieceRange;

 private:
  struct Candidate;  // one schedule of one graph, with its profile

  // A plan within the budget from one of the two programs, or nothing. Stops when `steps` runs out.
  std::optional<Plan> fit(const PlanOptions& options, int64_t budget, bool from_merged,
                          int64_t& steps);
  std::optional<Plan> fit(const PlanOptions& options, int64_t budget, bool from_merged,
                          const PieceRange& pieces, int64_t& steps);
  Plan finish(const Candidate& candidate) const;
  Candidate start(bool from_merged) const;
  void search_floor(const PlanOptions& options);

  const KernelGraph* as_written_;
  const KernelGraph* merged_;
  const Target& target_;
  int64_t lower_bound_ = 0;
  std::unique_ptr<Candidate> base_, merged_base_;
  std::optional<Plan> floor_plan_;  // the plan of least memory found so far
  bool floor_searched_ = false;
};

// Schedules a nested graph, and everything in it.
std::unique_ptr<NestedSchedule> schedule_nested(const KernelGraph& graph, const Target& target);
// Costs of the graph's kernels; fills `nested` with the schedules of loops and branches.
KernelCosts kernel_costs(
    const KernelGraph& graph, const Target& target,
    std::unordered_map<KernelId, std::vector<std::unique_ptr<NestedSchedule>>>& nested);

// Turns a schedule into a plan: buffers, steps, addresses (plan/layout.cpp).
Plan lay_out(
    const Schedule& schedule, const Profile& profile, const KernelCosts& costs,
    const std::unordered_map<KernelId, std::vector<std::unique_ptr<NestedSchedule>>>& nested,
    const Target& target, std::optional<int64_t> capacity);

// A bound that holds for every plan: what must exist at entry, at exit, and around the most
// demanding kernel.
int64_t lower_bound_bytes(const KernelGraph& graph);

}  // namespace ullage
