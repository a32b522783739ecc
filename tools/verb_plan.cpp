// ullage plan FILE: compiles and plans without allocating or running.
#include <fmt/format.h>

#include <chrono>

#include "compile_settings.h"
#include "driver/session.h"
#include "support/file.h"

namespace ullage {

// N budgets between the floor and what the program takes unconstrained.
static Result<std::vector<ParetoPoint>> pareto(PlannedProgram& planned, int64_t count) {
  int64_t most = planned.outcome.plan->arena_bytes;
  PlanOptions options = planned.plan_options;
  options.budget_bytes = 0;
  int64_t floor = planned.planner->plan(options).refusal.floor_bytes;
  std::vector<ParetoPoint> out;
  for (int64_t i = 0; i < count; ++i) {
    int64_t budget = count == 1 ? most : floor + (most - floor) * i / (count - 1);
    options.budget_bytes = budget;
    PlanOutcome outcome = planned.planner->plan(options);
    if (!outcome.plan) continue;
    const Plan& plan = *outcome.plan;
    ParetoPoint point{budget, plan.arena_bytes, plan.predicted_seconds,
                      plan.recomputed_flops / std::max(1.0, plan.flops - plan.recomputed_flops)};
    // A larger budget is never slower: the plan for the smaller one fits too.
    if (!out.empty() && out.back().predicted_seconds < point.predicted_seconds) {
      point = out.back();
      point.budget_bytes = budget;
    }
    out.push_back(point);
  }
  return out;
}

int run_plan(const VerbCall& call) {
  auto begin = std::chrono::steady_clock::now();
  CompileSettings settings = compile_settings(call);
  settings.budgets_follow = call.options.number(Opt::pareto).has_value();
  Result<std::unique_ptr<PlannedProgram>> planned = plan_operand(call, settings);
  if (!planned) return fail(planned.diagnostics());
  if (!(*planned)->outcome.plan) return refuse(call, **planned);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  PlanReport report = plan_report(shown_path(call.operands[0]), **planned, seconds);
  report.budget_bytes = settings.budget_bytes;
  MemoryReport memory = memory_report(**planned);
  if (std::string path = call.options.text(Opt::csv); !path.empty()) {
    Status written = write_file(path, buffers_csv(*(*planned)->outcome.plan));
    if (!written) return fail(written.diagnostics());
  }
  if (Status written = write_html(call, **planned, memory); !written)
    return fail(written.diagnostics());
  std::vector<ParetoPoint> points;
  if (std::optional<int64_t> count = call.options.number(Opt::pareto)) {
    Result<std::vector<ParetoPoint>> curve = pareto(**planned, *count);
    if (!curve) return fail(curve.diagnostics());
    points = std::move(*curve);
  }
  if (call.options.flag(Opt::json)) {
    fmt::print("{}", points.empty() ? to_json(report) : to_json(report, points));
    return kExitFine;
  }
  fmt::print("{}", to_text(report));
  fmt::print("\n{}", to_text(memory));
  if (!points.empty()) fmt::print("\n{}", to_text(points));
  return kExitFine;
}

}  // namespace ullage
