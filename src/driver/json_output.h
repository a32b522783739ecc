// The JSON objects and the short texts that `ullage run` and `ullage plan` print. Plain numbers in,
// text out; the keys are a contract with the scripts that read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/judge.h"

namespace ullage {

struct PlanReport {
  std::string program;  // the file as the user named it
  std::optional<int64_t> budget_bytes;
  int64_t argument_bytes = 0;
  int64_t output_bytes = 0;
  int64_t alias_bytes = 0;  // of outputs that live in arguments
  int64_t constant_bytes = 0;
  int64_t temp_bytes = 0;
  int64_t planned_peak_bytes =
      0;  // arguments, outputs not aliased, constants, temporaries and scratch at the worst moment
  int64_t lower_bound_bytes = 0;     // no plan needs less (proved)
  double recompute_flops_ratio = 0;  // flops of recomputation over flops of the program
  double predicted_seconds = 0;      // of a step, by the planner's cost model
  double compile_seconds = 0;
};

struct RunReport {
  PlanReport plan;
  int64_t measured_peak_bytes = 0;  // high-water mark of the arena and the buffers
  int64_t process_peak_bytes = 0;   // the process's peak resident set
  std::vector<double> step_seconds;
  std::vector<std::string> outputs_sha256;
  std::optional<CheckResult> check;
};

struct Obstacle {
  std::string value;
  int64_t bytes = 0;
  std::string shape;
  std::string source;  // file:line of the user's program
  std::string reason;
};

// Obstacles of one kind beyond those that are listed one by one.
struct MoreObstacles {
  std::string reason;
  int64_t count = 0;
  int64_t bytes = 0;  // of all of them
};

struct RefusalReport {
  std::string program;
  int64_t budget_bytes = 0;
  int64_t floor_bytes = 0;          // the smallest budget that works
  int64_t lower_bound_bytes = 0;    // below this no plan exists
  std::vector<Obstacle> obstacles;  // the largest of each kind, largest first
  std::vector<MoreObstacles> more;
  // How the user gives a budget; {} stands for its bytes.
  std::string budget_option = "--memory-budget={}";
};

struct ParetoPoint {
  int64_t budget_bytes = 0;
  int64_t planned_peak_bytes = 0;
  double predicted_seconds = 0;
  double recompute_flops_ratio = 0;
};

// One object each, ended by a newline. A figure that does not exist is null, and so is one that is
// not finite.
std::string to_json(const PlanReport& report);
std::string to_json(const RunReport& report);
std::string to_json(const RefusalReport& report);
// The plan's object with a list "pareto".
std::string to_json(const PlanReport& report, const std::vector<ParetoPoint>& points);

// The same for people, a few lines each.
std::string to_text(const PlanReport& report);
std::string to_text(const RunReport& report);
std::string to_text(const RefusalReport& report);
std::string to_text(const std::vector<ParetoPoint>& points);

// Peak resident set of this process so far (VmHWM); 0 where the system does not tell.
int64_t process_peak_bytes();

}  // namespace ullage
