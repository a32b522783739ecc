#include "driver/self_check.h"

#include <fmt/format.h>

#include <memory>

#include "ops/verify.h"
#include "syntax/reader.h"

namespace ullage {
namespace {

void add(std::vector<Diagnostic>& to, const std::vector<Diagnostic>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void check_function(const Module& module, const Function& function, const CheckEngine& engine,
                    SelfCheckReport& report) {
  CheckReport checks;
  auto [status, supported] = engine(module, function, checks);
  if (!supported) {
    for (Diagnostic reason : status.diagnostics()) {
      reason.severity = Severity::warning;
      reason.message = fmt::format("@{} is not supported: {}", function.name, reason.message);
      report.problems.push_back(std::move(reason));
    }
    ++report.unsupported;
    return;
  }
  add(report.problems, checks.failures);
  if (!status.ok()) add(report.problems, status.diagnostics());
  bool passed = status.ok() && checks.failures.empty();
  ++(passed ? report.passed : report.failed);
}

void check_module(const Module& module, const std::string& file, const CheckEngine& engine,
                  SelfCheckReport& report) {
  Status status = verify(module);
  if (!status.ok()) {
    add(report.problems, status.diagnostics());
    report.unreadable = true;
    ++report.failed;
    return;
  }
  int64_t functions = 0;
  for (const std::unique_ptr<Function>& function : module.functions) {
    if (!function->is_public || !function->body().arguments().empty()) continue;
    ++functions;
    check_function(module, *function, engine, report);
  }
  if (functions > 0) return;
  report.problems.push_back(error("no public function without arguments to run", {.file = file}));
  report.unreadable = true;
  ++report.failed;
}

}  // namespace

CheckEngine interpreter_engine() {
  return [](const Module& module, const Function& function, CheckReport& checks) -> CheckOutcome {
    InterpretOptions options;
    options.checks = &checks;
    Result<std::vector<Tensor>> results = interpret(module, function.name, {}, options);
    if (!results.ok()) return {results.diagnostics()};
    return {};
  };
}

void self_check(std::string_view text, const std::string& file, const CheckEngine& engine,
                SelfCheckReport& report) {
  Result<std::vector<std::unique_ptr<Module>>> modules = read_modules(text, file);
  if (!modules.ok()) {
    add(report.problems, modules.diagnostics());
    report.unreadable = true;
    ++report.failed;
    return;
  }
  for (const std::unique_ptr<Module>& module : *modules)
    check_module(*module, file, engine, report);
}

}  // namespace ullage
