// The whole way from a program to something that runs: the one readable list of phases is
// pipeline.cpp. The command line, the C++ API and the PJRT plugin all come through here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"
#include "kernels/kernel_graph.h"
#include "plan/planner.h"
#include "runtime/executor.h"
#include "support/diagnostics.h"

namespace ullage {

struct CompileSettings {
  std::optional<int64_t> budget_bytes;
  std::string budget_option = "--memory-budget={}";  // how its user gave it, for refusals
  bool budgets_follow = false;  // plan_options will be planned with budgets, if this has none
  int threads = 1;
  std::vector<std::string> disabled;  // NAME or NAME@WHERE, see driver/disabled.h
  // Arguments and results are memory of the caller, see driver/executable.h.
  bool separate_operands = false;
  bool verify_plan = false;  // see plan/validate.h; debug builds always do
  std::string dump_dir;      // empty: no dumps
  std::string stop_after;    // phase; empty: all
  std::function<void(std::string_view phase)> progress;  // called when a phase begins
};

struct PhaseTime {
  std::string name;
  double seconds = 0;
};

// A program through planning. Graphs and plan refer to the module, so it stays alive with them.
struct PlannedProgram {
  std::unique_ptr<Module> module;
  Target target;
  KernelGraph graph;
  // Other forms of it that the planner weighs under a budget (driver/variants.h).
  struct Variant {
    std::string_view name;
    std::unique_ptr<Module> module;
    KernelGraph graph;
  };
  std::vector<std::unique_ptr<Variant>> variants;
  std::unique_ptr<Planner> planner;
  PlanOptions plan_options;  // for planning again, with another budget
  PlanOutcome outcome;
  std::vector<PhaseTime> phases;

  // The graph that the plan runs.
  const KernelGraph& planned_graph() const { return *outcome.plan->main.graph; }
};

// Verifies, normalises, builds kernels and plans. A budget that cannot be met is not an error here:
// see `outcome`.
Result<std::unique_ptr<PlannedProgram>> plan_program(std::unique_ptr<Module> module,
                                                     const CompileSettings& settings);

// Normalises only, up to `settings.stop_after`; for `ullage opt`.
Result<std::unique_ptr<Module>> transform_program(std::unique_ptr<Module> module,
                                                  const CompileSettings& settings,
                                                  const std::vector<std::string>& passes);

// Machine code for the plan, and the steps over addresses. The plan must exist.
Result<ExecProgram> generate_code(const PlannedProgram& program, const CompileSettings& settings,
                                  std::vector<PhaseTime>& phases);

// All phases in order, for help texts and `--to`.
std::vector<std::string_view> phase_names();

}  // namespace ullage
