// What `ullage run` and `ullage plan` do, without the printing: read a program, compile it, feed
// it, run it, judge it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/case_file.h"
#include "driver/compile.h"
#include "driver/json_output.h"
#include "normalize/refine_shapes.h"
#include "report/memory_report.h"

namespace ullage {

PlanReport plan_report(const std::string& program, const PlannedProgram& planned,
                       double compile_seconds);
RefusalReport refusal_report(const std::string& program, const PlannedProgram& planned);
MemoryReport memory_report(const PlannedProgram& planned);

struct RunRequest {
  std::optional<CaseFile> expectations;  // from --case: inputs by recipe, outputs to judge
  std::vector<std::string> input_files;  // from --input
  int64_t repeat = 1;
  bool compare_interpreter = false;
  std::string output_file;  // .npz, or empty
  bool profile = false;     // measure each kind of kernel, in all steps but the first
};

struct RunResult {
  RunReport report;
  std::optional<CheckResult> comparison;  // with the interpreter
  std::vector<Executor::Spent> spent;     // of a profiled run
};

// What a run's arguments say about the shapes of a program whose own are dynamic.
Result<std::vector<KnownArgument>> known_arguments(const Module& module, const RunRequest& request);

// `planned` must have a plan. Arguments are written again before each step, outside the timed part.
Result<RunResult> run_program(const std::string& name, PlannedProgram& planned,
                              const CompileSettings& settings, const RunRequest& request,
                              double seconds_so_far);

}  // namespace ullage
