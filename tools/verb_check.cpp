// ullage check FILE...: runs self-checking programs and counts.
#include <fmt/format.h>

#include "driver/self_check.h"
#include "verbs.h"

namespace ullage {

int run_check(const VerbCall& call) {
  SelfCheckReport report;
  CheckEngine engine = interpreter_engine();
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
  fmt::print("{} passed, {} failed\n", report.passed, report.failed);
  if (report.unreadable) return kExitUserError;
  return report.failed == 0 ? kExitFine : kExitCheckFailed;
}

}  // namespace ullage
