// The pipeline, top to bottom, in the order in which things happen.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "codegen/cpu/compile.h"
#include "driver/compile.h"
#include "driver/disabled.h"
#include "driver/dump.h"
#include "driver/load.h"
#include "driver/variants.h"
#include "kernels/build.h"
#include "normalize/normalize.h"
#include "ops/verify.h"
#include "plan/validate.h"
#include "support/check.h"

namespace ullage {

namespace {

#ifdef NDEBUG
constexpr bool kDebugBuild = false;
#else
constexpr bool kDebugBuild = true;
#endif

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Phases {
 public:
  Phases(const CompileSettings& settings, std::vector<PhaseTime>& times)
      : settings_(settings), times_(times) {}

  template <typename F>
  auto run(std::string_view name, F&& body) {
    if (settings_.progress) settings_.progress(name);
    auto begin = Clock::now();
    auto result = body();
    times_.push_back({std::string(name), seconds_since(begin)});
    return result;
  }

 private:
  const CompileSettings& settings_;
  std::vector<PhaseTime>& times_;
};

PassEnabled pass_filter(const Disabled& disabled) {
  return [&disabled](std::string_view pass, const Function* function) {
    return function ? !disabled.in_function(pass, function->name) : !disabled.everywhere(pass);
  };
}

Status normalize_module(Module& module, const Disabled& disabled, Dumper& dumper,
                        std::vector<PhaseTime>& times) {
  auto begin = Clock::now();
  return normalize(module, {}, pass_filter(disabled), [&](std::string_view pass) {
    times.push_back({std::string(pass), seconds_since(begin)});
    dumper.write(pass, module);
    begin = Clock::now();
  });
}

// Other forms of the program than as written, which a budget may ask for.
Status add_variants(PlannedProgram& program, const Disabled& disabled, Phases& phases,
                    Dumper& dumper) {
  for (const ProgramForm& form : kProgramForms) {
    if (disabled.in_function(form.name, program.module->entry()->name)) continue;
    std::unique_ptr<Module> module =
        phases.run(form.name, [&] { return form.make(*program.module); });
    if (!module) continue;
    dumper.write(form.name, *module);
    Result<KernelGraph> graph = build_kernels(*module, *module->entry(), program.target);
    if (!graph) return graph.diagnostics();
    program.variants.push_back(
        std::make_unique<PlannedProgram::Variant>(form.name, std::move(module), std::move(*graph)));
  }
  return Ok{};
}

}  // namespace

std::vector<std::string_view> phase_names() {
  std::vector<std::string_view> out = {"verify"};
  for (const NormalizePass& pass : normalize_passes()) out.push_back(pass.name);
  out.insert(out.end(), {"kernels", "plan", "code"});
  return out;
}

Result<std::unique_ptr<PlannedProgram>> plan_program(std::unique_ptr<Module> module,
                                                     const CompileSettings& settings) {
  auto out = std::make_unique<PlannedProgram>();
  out->module = std::move(module);
  Phases phases(settings, out->phases);
  Dumper dumper(settings.dump_dir);
  dumper.write("input", *out->module);

  Status status = phases.run("verify", [&] { return verify(*out->module); });
  if (!status) return status.diagnostics();
  if (!out->module->entry())
    return error("the program has no entry function", {out->module->file},
                 "name one function \"main\", or make only one public");

  Result<Disabled> disabled = Disabled::make(settings.disabled, *out->module);
  if (!disabled) return disabled.diagnostics();
  if (settings.progress) settings.progress("normalize");
  status = normalize_module(*out->module, *disabled, dumper, out->phases);
  if (!status) return status.diagnostics();

  out->target = cpu_target(settings.threads);
  Result<KernelGraph> graph = phases.run(
      "kernels", [&] { return build_kernels(*out->module, *out->module->entry(), out->target); });
  if (!graph) return graph.diagnostics();
  out->graph = std::move(*graph);
  dumper.write("kernels", to_string(out->graph));

  if (settings.budget_bytes || settings.budgets_follow) {
    status = add_variants(*out, *disabled, phases, dumper);
    if (!status) return status.diagnostics();
  }

  out->plan_options.budget_bytes = settings.budget_bytes;
  out->plan_options.separate_operands = settings.separate_operands;
  out->plan_options.enabled = [disabled = *disabled, module = out->module.get()](
                                  std::string_view move, Location where) {
    return !disabled.at(move, module->locations, where);
  };
  out->outcome = phases.run("plan", [&] {
    std::vector<ProgramVariant> others;
    for (const auto& variant : out->variants) others.push_back({variant->name, &variant->graph});
    out->planner = std::make_unique<Planner>(out->graph, others, out->target);
    return out->planner->plan(out->plan_options);
  });
  if (out->outcome.plan) {
    if (settings.verify_plan || kDebugBuild)
      phases.run("verify-plan", [&] {
        std::vector<std::string> violations =
            validate(*out->outcome.plan, settings.budget_bytes.value_or(-1));
        ULLAGE_CHECK(violations.empty(), "plan: " + violations.front());
        return true;
      });
    dumper.write("plan", describe(*out->outcome.plan));
  }
  Status written = dumper.write_phases(out->phases, out->outcome);
  if (!written) return written.diagnostics();
  return out;
}

Result<std::unique_ptr<Module>> transform_program(std::unique_ptr<Module> module,
                                                  const CompileSettings& settings,
                                                  const std::vector<std::string>& passes) {
  Dumper dumper(settings.dump_dir);
  dumper.write("input", *module);
  Status status = verify(*module);
  if (!status) return status.diagnostics();
  Result<Disabled> disabled = Disabled::make(settings.disabled, *module);
  if (!disabled) return disabled.diagnostics();
  if (settings.stop_after == "verify") return module;
  std::vector<PhaseTime> times;
  auto run = [&](const NormalizePass& pass) {
    auto begin = Clock::now();
    Status done = run_pass(pass, *module, {}, pass_filter(*disabled));
    times.push_back({std::string(pass.name), seconds_since(begin)});
    if (done) dumper.write(pass.name, *module);
    return done;
  };
  if (!passes.empty()) {
    for (const std::string& name : passes) {
      auto it = std::find_if(normalize_passes().begin(), normalize_passes().end(),
                             [&](const auto& p) { return p.name == name; });
      if (it == normalize_passes().end())
        return error(fmt::format("there is no pass named \"{}\"", name), {},
                     "`ullage help opt` lists the passes");
      status = run(*it);
      if (!status) return status.diagnostics();
    }
    status = dumper.write_phases(times, {});
    if (!status) return status.diagnostics();
    return module;
  }
  for (const NormalizePass& pass : normalize_passes()) {
    status = run(pass);
    if (!status) return status.diagnostics();
    if (pass.name == settings.stop_after) break;
  }
  status = dumper.write_phases(times, {});
  if (!status) return status.diagnostics();
  return module;
}

// The variants of kernels that a plan's blocks run, loops' included.
static Status add_variants(const PlanBlock& block, CpuCompiler& compiler) {
  for (const auto& variant : block.variants)
    if (Status added = compiler.add(*variant, *block.graph); !added) return added;
  for (const PlanStep& step : block.steps)
    for (const PlanBlock& nested : step.nested)
      if (Status added = add_variants(nested, compiler); !added) return added;
  return Ok{};
}

Result<ExecProgram> generate_code(const PlannedProgram& program, const CompileSettings& settings,
                                  std::vector<PhaseTime>& times) {
  ULLAGE_CHECK(program.outcome.plan, "code for a program without a plan");
  Phases phases(settings, times);
  CompileOptions options;
  options.threads = settings.threads;
  CpuCompiler compiler(options);
  Status status = phases.run("code", [&] {
    Status added = compiler.add(program.planned_graph());
    if (added) added = add_variants(program.outcome.plan->main, compiler);
    return added ? compiler.compile() : added;
  });
  if (!status) return status.diagnostics();
  status = Dumper(settings.dump_dir).write_phases(times, program.outcome);
  if (!status) return status.diagnostics();
  return load_steps(*program.outcome.plan, compiler);
}

}  // namespace ullage
