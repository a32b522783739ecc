#include "compile_settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "driver/session.h"
#include "ops/verify.h"
#include "report/html_report.h"
#include "support/file.h"
#include "syntax/reader.h"

namespace ullage {

namespace {

// Shows the current phase on a terminal once compilation has taken two seconds, and wipes it at the
// end.
class ProgressLine {
 public:
  void phase(std::string_view name) {
    if (!isatty(STDERR_FILENO)) return;
    if (std::chrono::steady_clock::now() - begin_ < std::chrono::seconds(2)) return;
    fmt::print(stderr, "\r\033[Kcompiling: {}", name);
    std::fflush(stderr);
    shown_ = true;
  }
  ~ProgressLine() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool shown_ = false;
};

}  // namespace

CompileSettings compile_settings(const VerbCall& call) {
  CompileSettings settings;
  settings.budget_bytes = call.options.number(Opt::memory_budget);
  settings.threads =
      static_cast<int>(call.options.number(Opt::threads)
                           .value_or(std::max(1u, std::thread::hardware_concurrency())));
  settings.disabled = call.options.list(Opt::disable);
  settings.verify_plan = call.options.flag(Opt::verify_plan);
  settings.dump_dir = call.options.text(Opt::dump_dir);
  settings.stop_after = call.options.text(Opt::to);
  auto line = std::make_shared<ProgressLine>();
  settings.progress = [line](std::string_view phase) { line->phase(phase); };
  return settings;
}

Result<std::unique_ptr<PlannedProgram>> plan_operand(const VerbCall& call,
                                                     const CompileSettings& settings,
                                                     const RunRequest* run) {
  Result<std::string> text = read_program(call, call.operands[0]);
  if (!text) return text.diagnostics();
  Result<std::unique_ptr<Module>> module = read_module(*text, shown_path(call.operands[0]));
  if (!module) return module.diagnostics();
  if (run && has_dynamic_shapes(**module)) {
    if (Status verified = verify(**module); !verified) return verified.diagnostics();
    Result<std::vector<KnownArgument>> arguments = known_arguments(**module, *run);
    if (!arguments) return arguments.diagnostics();
    if (Status refined = refine_shapes(**module, *arguments); !refined)
      return refined.diagnostics();
  }
  return plan_program(std::move(*module), settings);
}

Status write_html(const VerbCall& call, const PlannedProgram& planned, const MemoryReport& memory) {
  std::string path = call.options.text(Opt::report);
  if (path.empty()) return Ok{};
  return write_file(path, to_html(memory, *planned.outcome.plan, planned.module->locations,
                                  "Memory of " + shown_path(call.operands[0])));
}

int refuse(const VerbCall& call, const PlannedProgram& planned) {
  RefusalReport report = refusal_report(shown_path(call.operands[0]), planned);
  if (call.options.flag(Opt::json)) {
    fmt::print("{}", to_json(report));
    return kExitOverBudget;
  }
  fmt::print(stderr, "{}", to_text(report));
  for (const std::string& tried : planned.outcome.refusal.tried)
    fmt::print(stderr, "  tried: {}\n", tried);
  return kExitOverBudget;
}

}  // namespace ullage
