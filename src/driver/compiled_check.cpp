// Self-checking programs on the compiled path. What the checks compare becomes the results of the
// function, which is compiled and run; the interpreter then does the comparing on those results.
#include <fmt/format.h>

#include <cstring>

#include "driver/compile.h"
#include "driver/copy_module.h"
#include "driver/self_check.h"
#include "support/check.h"

namespace ullage {

namespace {

bool is_check(const Op& op) {
  if (info(op.kind).family == OpFamily::check) return true;
  if (op.kind != OpKind::custom_call || !op.as<CustomCallAttributes>().target.starts_with("check."))
    return false;
  // Some return what they found, which nothing but the function's own return may read.
  for (Value* result : op.results())
    for (const Use* use = result->first_use(); use; use = use->next)
      if (!has_trait(use->owner->kind, kTerminator)) return false;
  return true;
}

// One function of a program taken apart: what computes, and what compares.
struct SplitProgram {
  std::unique_ptr<Module> computing;  // its entry returns what is compared
  std::unique_ptr<Module> comparing;  // its entry takes that as arguments
  bool nested_checks = false;         // some checks are in loops, branches or called functions
};

SplitProgram split_checks(const Module& module, const Function& function) {
  SplitProgram out;
  out.computing = copy_module(module);
  out.comparing = std::make_unique<Module>();
  out.comparing->file = module.file;
  out.comparing->locations = module.locations;
  Function& judge = *out.comparing->functions.emplace_back(std::make_unique<Function>("main"));

  // An entry function is found by the name "main" before anything else.
  if (function.name != "main")
    std::erase_if(out.computing->functions,
                  [](const auto& other) { return other->name == "main"; });
  std::vector<Op*> checks;
  for (const auto& other : out.computing->functions) {
    other->is_public = other->name == function.name;
    walk(other->body(), [&](Op* op) {
      if (!is_check(*op)) return;
      if (op->region() == &other->body() && other->is_public)
        checks.push_back(op);
      else
        out.nested_checks = true;
    });
  }
  Function& entry = *out.computing->find(function.name);
  entry.body().terminator()->set_operands({});
  ValueMap map;
  std::vector<Value*> compared;
  for (Op* check : checks) {
    for (Value* operand : check->operands()) {
      if (map.lookup(operand) != operand) continue;
      map.set(operand, judge.add_argument(operand->type, {}, operand->location));
      compared.push_back(operand);
    }
    clone(check, judge, judge.body(), map);
    check->erase();
  }
  judge.create(judge.body(), OpKind::return_, {}, {});
  entry.body().terminator()->set_operands(compared);
  entry.result_types.clear();
  entry.result_extra.clear();
  for (Value* value : compared) entry.result_types.push_back(value->type);
  return out;
}

Result<std::vector<Tensor>> run_compiled(std::unique_ptr<Module> module,
                                         const CompileSettings& settings, ThreadPool& pool) {
  Result<std::unique_ptr<PlannedProgram>> planned = plan_program(std::move(module), settings);
  if (!planned) return planned.diagnostics();
  std::vector<PhaseTime> times;
  Result<ExecProgram> code = generate_code(**planned, settings, times);
  if (!code) return code.diagnostics();
  Result<std::unique_ptr<Executor>> executor = Executor::load(std::move(*code), {}, pool);
  if (!executor) return executor.diagnostics();
  (*executor)->run();
  std::vector<Tensor> out;
  for (const Type& type : (*planned)->module->entry()->result_types) {
    Tensor tensor(type);
    std::span<const std::byte> bytes = (*executor)->output(out.size());
    if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
    out.push_back(std::move(tensor));
  }
  return out;
}

CheckOutcome check_compiled(const Module& module, const Function& function, CheckReport& checks,
                            const CompileSettings& settings, ThreadPool& pool) {
  SplitProgram program = split_checks(module, function);
  if (program.nested_checks)
    return {error("a check inside a loop, a branch or a called function",
                  module.source(function.location)),
            false};
  Result<std::vector<Tensor>> values = std::vector<Tensor>();
  try {
    values = run_compiled(std::move(program.computing), settings, pool);
  } catch (const InternalError& problem) {
    // One broken function must not hide the results of the others.
    return {
        error(fmt::format("internal error: {}", problem.what()), module.source(function.location))};
  }
  if (!values) return {values.diagnostics(), false};
  InterpretOptions options;
  options.checks = &checks;
  Result<std::vector<Tensor>> compared =
      interpret(*program.comparing, "main", std::move(*values), options);
  if (!compared) return {compared.diagnostics()};
  return {};
}

}  // namespace

CheckEngine compiled_engine(const CompileSettings& settings) {
  auto pool = std::make_shared<ThreadPool>(settings.threads);
  return [settings, pool](const Module& module, const Function& function, CheckReport& checks) {
    return check_compiled(module, function, checks, settings, *pool);
  };
}

}  // namespace ullage
