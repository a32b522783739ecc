// The pipeline, top to bottom, in the order in which things happen.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "codegen/cpu/compile.h"
#include "driver/compile.h"
#include "driver/dump.h"
#include "driver/load.h"
#include "kernels/build.h"
#include "normalize/normalize.h"
#include "ops/verify.h"
#include "support/check.h"

namespace ullage {

namespace {

class Phases {
 public:
  Phases(const CompileSettings& settings, std::vector<PhaseTime>& times) : settings_(settings), times_(times) {}

  bool enabled(std::string_view name) const {
    return std::find(settings_.disabled.begin(), settings_.disabled.end(), name) == settings_.disabled.end();
  }

  template <typename F>
  auto run(std::string_view name, F&& body) {
    if (settings_.progress) settings_.progress(name);
    auto begin = std::chrono::steady_clock::now();
    auto result = body();
    times_.push_back({std::string(name), std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()});
    return result;
  }

 private:
  const CompileSettings& settings_;
  std::vector<PhaseTime>& times_;
};

Status normalize_module(Module& module, const CompileSettings& settings, Dumper& dumper) {
  return normalize(
      module, {},
      [&](std::string_view pass) {
        return std::find(settings.disabled.begin(), settings.disabled.end(), pass) == settings.disabled.end();
      },
      [&](std::string_view pass) { dumper.write(pass, module); });
}

bool has_barriers(const Module& module) {
  bool found = false;
  for (const auto& function : module.functions)
    walk(function->body(), [&](Op* op) { found |= op->kind == OpKind::optimization_barrier; });
  return found;
}

}  // namespace

std::vector<std::string_view> phase_names() {
  std::vector<std::string_view> out = {"verify"};
  for (const NormalizePass& pass : normalize_passes()) out.push_back(pass.name);
  out.insert(out.end(), {"kernels", "plan", "code"});
  return out;
}

Result<std::unique_ptr<PlannedProgram>> plan_program(std::unique_ptr<Module> module, const CompileSettings& settings) {
  auto out = std::make_unique<PlannedProgram>();
  out->module = std::move(module);
  Phases phases(settings, out->phases);
  Dumper dumper(settings.dump_dir);
  dumper.write("input", *out->module);

  Status status = phases.run("verify", [&] { return verify(*out->module); });
  if (!status) return status.diagnostics();
  if (!out->module->entry())
    return error("the program has no entry function", {out->module->file}, "name one function \"main\", or make only one public");

  status = phases.run("normalize", [&] { return normalize_module(*out->module, settings, dumper); });
  if (!status) return status.diagnostics();

  out->target = cpu_target(settings.threads);
  Result<KernelGraph> graph =
      phases.run("kernels", [&] { return build_kernels(*out->module, *out->module->entry(), out->target); });
  if (!graph) return graph.diagnostics();
  out->graph = std::move(*graph);
  dumper.write("kernels", to_string(out->graph));

  // With a budget the program's own recomputation is a hint: the planner also looks at the program without it.
  if (settings.budget_bytes && has_barriers(*out->module) && phases.enabled("merge-recomputation")) {
    out->merged_module = phases.run("merge-recomputation", [&] { return merge_recomputation(*out->module); });
    dumper.write("merge-recomputation", *out->merged_module);
    Result<KernelGraph> merged = build_kernels(*out->merged_module, *out->merged_module->entry(), out->target);
    if (!merged) return merged.diagnostics();
    out->merged_graph = std::make_unique<KernelGraph>(std::move(*merged));
  }

  out->outcome = phases.run("plan", [&] {
    out->planner = std::make_unique<Planner>(out->graph, out->merged_graph.get(), out->target);
    PlanOptions options;
    options.budget_bytes = settings.budget_bytes;
    options.enabled = [&](std::string_view move) { return phases.enabled(move); };
    return out->planner->plan(options);
  });
  if (out->outcome.plan) dumper.write("plan", describe(*out->outcome.plan));
  return out;
}

Result<std::unique_ptr<Module>> transform_program(std::unique_ptr<Module> module, const CompileSettings& settings,
                                                  const std::vector<std::string>& passes) {
  Dumper dumper(settings.dump_dir);
  dumper.write("input", *module);
  Status status = verify(*module);
  if (!status) return status.diagnostics();
  if (settings.stop_after == "verify") return module;
  auto run = [&](const NormalizePass& pass) {
    Status done = pass.run(*module, {});
    if (done) dumper.write(pass.name, *module);
    return done;
  };
  if (!passes.empty()) {
    for (const std::string& name : passes) {
      auto it = std::find_if(normalize_passes().begin(), normalize_passes().end(), [&](const auto& p) { return p.name == name; });
      if (it == normalize_passes().end())
        return error(fmt::format("there is no pass named \"{}\"", name), {}, "`ullage help opt` lists the passes");
      status = run(*it);
      if (!status) return status.diagnostics();
    }
    return module;
  }
  for (const NormalizePass& pass : normalize_passes()) {
    status = run(pass);
    if (!status) return status.diagnostics();
    if (pass.name == settings.stop_after) break;
  }
  return module;
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
    return added ? compiler.compile() : added;
  });
  if (!status) return status.diagnostics();
  return load_steps(*program.outcome.plan, compiler);
}

}  // namespace ullage
