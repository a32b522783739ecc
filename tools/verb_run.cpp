// ullage run FILE: plans, compiles, runs and judges.
#include <fmt/format.h>

#include <chrono>

#include "compile_settings.h"
#include "driver/session.h"

namespace ullage {

static void print_profile(const std::vector<Executor::Spent>& spent) {
  if (spent.empty()) return;
  double total = 0;
  for (const Executor::Spent& one : spent) total += one.seconds;
  fmt::print("\ntime by kind of kernel\n");
  for (const Executor::Spent& one : spent)
    fmt::print("  {:5.1f} %  {:9.3f} ms  {:6} calls  {:9.1f} us each  {}\n",
               100 * one.seconds / total, one.seconds * 1e3, one.calls,
               one.seconds / static_cast<double>(one.calls) * 1e6, one.name);
}

int run_run(const VerbCall& call) {
  auto begin = std::chrono::steady_clock::now();
  CompileSettings settings = compile_settings(call);
  RunRequest request;
  if (std::string path = call.options.text(Opt::case_file); !path.empty()) {
    Result<CaseFile> expectations = read_case_file(path);
    if (!expectations) return fail(expectations.diagnostics());
    request.expectations = std::move(*expectations);
  }
  request.input_files = call.options.list(Opt::input);
  request.repeat = call.options.number(Opt::repeat).value_or(1);
  request.compare_interpreter = call.options.given(Opt::compare);
  request.profile = call.options.flag(Opt::profile);
  request.output_file = call.options.text(Opt::output);
  begin = std::chrono::steady_clock::now();
  Result<std::unique_ptr<PlannedProgram>> planned = plan_operand(call, settings, &request);
  if (!planned) return fail(planned.diagnostics());
  if (!(*planned)->outcome.plan) return refuse(call, **planned);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Result<RunResult> result =
      run_program(shown_path(call.operands[0]), **planned, settings, request, seconds);
  if (!result) return fail(result.diagnostics());
  result->report.plan.budget_bytes = settings.budget_bytes;
  MemoryReport memory = memory_report(**planned);
  if (Status written = write_html(call, **planned, memory); !written)
    return fail(written.diagnostics());
  if (call.options.flag(Opt::json)) {
    fmt::print("{}", to_json(result->report));
  } else {
    fmt::print("{}", to_text(result->report));
    fmt::print("\n{}", to_text(memory));
    print_profile(result->spent);
  }
  bool failed = result->report.check && !result->report.check->passed;
  if (result->comparison) {
    fmt::print(stderr, "compared with the interpreter: {}\n", result->comparison->summary());
    failed |= !result->comparison->passed;
  }
  return failed ? kExitCheckFailed : kExitFine;
}

}  // namespace ullage
