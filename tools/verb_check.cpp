// ullage check FILE...: runs self-checking programs and counts.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "driver/self_check.h"
#include "verbs.h"

namespace ullage {

int run_check(const VerbCall& call) {
  SelfCheckReport report;
  const bool compiled = call.options.text(Opt::engine) == "compiled";
  CompileSettings settings;
  settings.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  settings.verify_plan = call.options.flag(Opt::verify_plan);
  CheckEngine engine = compiled ? compiled_engine(settings) : interpreter_engine();
  for (const std::string& path : call.operands) {
    size_t known = report.problems.size();
    Result<std::string> text = read_program(call, path);
    if (text.ok()) {
      self_check(*text, shown_path(path), engine, report);
    } else {
      report.problems.insert(report.problems.end(), text.diagnostics().begin(),
                             text.diagnostics().end());
      report.unreadable = true;
      ++report.failed;
    }
    for (; known < report.problems.size(); ++known)
      fmt::print(stderr, "{}\n", report.problems[known].str());
  }
  fmt::print("{} passed, {} failed", report.passed, report.failed);
  if (compiled) fmt::print(", {} not supported by the compiler", report.unsupported);
  fmt::print("\n");
  if (report.unreadable) return kExitUserError;
  return report.failed == 0 ? kExitFine : kExitCheckFailed;
}

}  // namespace ullage
