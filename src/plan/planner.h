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

// A kernel graph with its schedule, and with those of the loop bodies, conditions and branches in
// it, each of which runs as one entry of its parent.
struct ScheduledGraph;
using NestedSchedules =
    std::unordered_map<KernelId, std::vector<std::shared_ptr<const ScheduledGraph>>>;
struct ScheduledGraph {
  Scope scope = Scope::program;
  NestedSchedules nested;
  KernelCosts costs;
  Schedule schedule;
  Profile profile;
  std::vector<PlanDecision> decisions;
};

struct PlanOptions {
  std::optional<int64_t> budget_bytes;
  // Whether "recompute" or "split" may be applied to a value made there; empty: always.
  std::function<bool(std::string_view move, Location where)> enabled;
  // Arguments, constants and results get memory of their own, from and for the caller of a run.
  bool separate_operands = false;
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

struct SearchGoal;

// Another form of the same program: the same results by other operations.
struct ProgramVariant {
  std::string_view name;  // of what makes it
  const KernelGraph* graph = nullptr;
};

class Planner {
 public:
  // `as_written` honours the program's own recomputation; the others are forms of the same program
  // that recompute less or more, to be weighed where there is a budget. All must outlive the plans
  // made.
  Planner(const KernelGraph& as_written, const std::vector<ProgramVariant>& others,
          const Target& target);
  ~Planner();

  PlanOutcome plan(const PlanOptions& options);
  int64_t lower_bound_bytes() const { return lower_bound_; }

 private:
  // Form number `form` of the program as it is before any move.
  ScheduledGraph& base(size_t form);
  // The fastest plan found within the budget, of all forms, or nothing.
  std::optional<Plan> search(const PlanOptions& options, int64_t budget, int64_t& steps);
  // A plan from one form that meets the goal, or nothing. Stops when `steps` runs out.
  std::optional<Plan> fit(const PlanOptions& options, size_t form, const SearchGoal& goal,
                          int64_t& steps);
  // The forms, those first that fit without a move, the fastest of them first.
  std::vector<size_t> promising(int64_t budget);
  Plan lay_out_form(const ScheduledGraph& work, size_t form, const PlanOptions& options);
  void keep_lowest(const Plan& plan);
  void search_floor(const PlanOptions& options);

  std::vector<ProgramVariant> forms_;  // the first is the one that was written
  const Target& target_;
  int64_t lower_bound_ = 0;
  std::vector<std::optional<ScheduledGraph>> bases_;
  std::optional<Plan> floor_plan_;  // the plan of least memory found so far
  bool floor_searched_ = false;
};

// A graph in a good order, and everything nested in it.
ScheduledGraph schedule_graph(const KernelGraph& graph, const Target& target, Scope scope);
// Bytes that a nested graph needs beyond its arguments, which the parent holds.
int64_t extra_bytes(const ScheduledGraph& nested);
// What a loop or conditional costs its parent when its regions are scheduled like this.
void set_nested_costs(KernelCosts& costs, KernelId id, const Kernel& kernel,
                      const NestedSchedules::mapped_type& regions);

// Turns a schedule into a plan: buffers, steps, addresses (plan/layout.cpp).
Plan lay_out(const ScheduledGraph& program, std::optional<int64_t> capacity,
             bool separate_operands = false);

// A bound that holds for every plan: what must exist at entry, at exit, and around the most
// demanding kernel.
int64_t lower_bound_bytes(const KernelGraph& graph);

}  // namespace ullage
