#include "codegen/cpu/compile.h"

#include <map>
#include <unordered_map>

#include "codegen/cpu/convolution_plan.h"
#include "codegen/cpu/dot_plan.h"
#include "codegen/cpu/jit.h"
#include "codegen/cpu/kernel_recipe.h"
#include "codegen/cpu/precompiled.h"
#include "kernels/host_call.h"
#include "runtime/host_call.h"
#include "support/check.h"

namespace ullage {

struct CpuCompiler::State {
  CompileOptions options;
  std::unordered_map<const Kernel*, std::vector<std::string>> names;  // functions of each kernel
  std::unordered_map<const Kernel*, KernelRecipe> recipes;
  std::unordered_map<std::string, std::string> known;  // code key -> function name
  size_t precompiled = 0;
  std::vector<JitUnit> pending;
  std::unordered_map<std::string, void*> addresses;
  std::vector<std::shared_ptr<const JitCode>> code;
  std::unordered_map<const Kernel*, std::shared_ptr<const CompiledKernel>> compiled;
};

CpuCompiler::CpuCompiler(CompileOptions options) : state_(std::make_unique<State>()) {
  state_->options = options;
}
CpuCompiler::~CpuCompiler() = default;

Status CpuCompiler::add(const Kernel& kernel, const KernelGraph& graph) {
  if (state_->names.contains(&kernel)) return Ok{};
  Result<KernelRecipe> recipe = kernel_recipe(kernel, graph, host(state_->options.isa));
  if (!recipe) return recipe.diagnostics();
  std::vector<std::string> names;
  for (KernelRecipe::Code& code : recipe->functions) {
    auto [at, fresh] =
        state_->known.try_emplace(code.key, "k" + std::to_string(state_->known.size()));
    if (fresh) {
      void* ready = state_->options.precompiled
                        ? precompiled_function(host(state_->options.isa).level, code.key)
                        : nullptr;
      if (ready)
        state_->addresses[at->second] = ready, ++state_->precompiled;
      else
        state_->pending.push_back({at->second, std::move(code.emit), code.weight});
    }
    names.push_back(at->second);
  }
  state_->names[&kernel] = std::move(names);
  state_->recipes[&kernel] = std::move(*recipe);
  return Ok{};
}

Status CpuCompiler::add(const KernelGraph& graph) {
  std::vector<Diagnostic> problems;
  auto note = [&](const Status& status) {
    if (!status)
      problems.insert(problems.end(), status.diagnostics().begin(), status.diagnostics().end());
  };
  auto nested = [&](const std::shared_ptr<KernelGraph>& inner) {
    if (inner) note(add(*inner));
  };
  for (const Kernel& kernel : graph.kernels) {
    if (const auto* loop = kernel.get<WhileKernel>()) {
      nested(loop->condition);
      nested(loop->body);
      continue;
    }
    if (const auto* conditional = kernel.get<CaseKernel>()) {
      for (const auto& branch : conditional->branches) nested(branch);
      continue;
    }
    if (!kernel.get<BarrierKernel>()) note(add(kernel, graph));
  }
  if (!problems.empty()) return problems;
  return Ok{};
}

Status CpuCompiler::compile() {
  Result<std::shared_ptr<const JitCode>> code = jit_compile(
      state_->pending, {state_->options.threads, state_->options.isa, state_->options.print_ir});
  if (!code) return code.diagnostics();
  for (const JitUnit& unit : state_->pending)
    state_->addresses[unit.name] = (*code)->find(unit.name);
  state_->pending.clear();
  state_->code.push_back(*code);
  // All code of this compiler lives as long as any of its kernels.
  auto owner = std::make_shared<std::vector<std::shared_ptr<const JitCode>>>(state_->code);
  for (auto& [kernel, recipe] : state_->recipes) {
    std::vector<void*> functions;
    for (const std::string& name : state_->names[kernel])
      functions.push_back(state_->addresses.at(name));
    state_->compiled[kernel] = recipe.finish(functions, owner);
  }
  state_->recipes.clear();
  return Ok{};
}

std::vector<std::shared_ptr<const CompiledKernel>> CpuCompiler::kernels(
    const KernelGraph& graph) const {
  std::vector<std::shared_ptr<const CompiledKernel>> result;
  for (const Kernel& kernel : graph.kernels) {
    auto found = state_->compiled.find(&kernel);
    result.push_back(found == state_->compiled.end() ? nullptr : found->second);
  }
  return result;
}

std::shared_ptr<const CompiledKernel> CpuCompiler::kernel(const Kernel& variant) const {
  auto found = state_->compiled.find(&variant);
  return found == state_->compiled.end() ? nullptr : found->second;
}

size_t CpuCompiler::distinct() const {
  return state_->known.size();
}

size_t CpuCompiler::precompiled() const {
  return state_->precompiled;
}

Result<std::vector<std::shared_ptr<const CompiledKernel>>> compile_kernels(
    const KernelGraph& graph, const CompileOptions& options) {
  CpuCompiler compiler(options);
  if (Status status = compiler.add(graph); !status) return status.diagnostics();
  if (Status status = compiler.compile(); !status) return status.diagnostics();
  return compiler.kernels(graph);
}

Target cpu_target(int threads) {
  set_host_answers(has_host_target);
  const Host& machine = host();
  // Rates per thread of the classes of machines met so far; they only weigh alternatives against
  // each other.
  double width = machine.vector_bytes / 64.0;
  Target target;
  target.threads = threads;
  target.flops_per_second = 1.8e11 * width * threads;
  target.vector_ops_per_second = 5e10 * width * threads;
  target.bytes_per_second = 1.5e10 * (1 + 0.8 * (threads - 1));
  target.kernel_seconds = 1e-6;
  target.dot_scratch = dot_scratch_bytes;
  target.convolution_scratch = convolution_scratch_bytes;
  return target;
}

}  // namespace ullage
