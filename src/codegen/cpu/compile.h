// Machine code for kernels. A CpuCompiler collects the kernels of a program, of all its graphs;
// compiles each distinct one once, on several threads; and hands out what the executor runs. Loops,
// conditionals and barriers have no code of their own: they give null, and their bodies are graphs
// to add. Called by the driver after planning.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/cpu/host.h"
#include "kernels/kernel_graph.h"
#include "runtime/kernel.h"
#include "support/diagnostics.h"

namespace ullage {

struct CompileOptions {
  int threads = 1;                  // that compile
  IsaLevel isa = IsaLevel::avx512;  // at most this; tests force lower ones
  bool print_ir = false;
  bool precompiled = true;  // take what is part of the binary
};

class CpuCompiler {
 public:
  explicit CpuCompiler(CompileOptions options = {});
  ~CpuCompiler();
  CpuCompiler(const CpuCompiler&) = delete;
  CpuCompiler& operator=(const CpuCompiler&) = delete;

  // Notes every kernel of the graph and of the graphs inside it. Fails for what cannot be compiled.
  Status add(const KernelGraph& graph);
  // Notes a variant of one of the graph's kernels.
  Status add(const Kernel& variant, const KernelGraph& graph);
  // Compiles all that was added since the last call.
  Status compile();
  // One entry per kernel of a graph that was added and compiled; null for while, case and barrier.
  std::vector<std::shared_ptr<const CompiledKernel>> kernels(const KernelGraph& graph) const;

  std::shared_ptr<const CompiledKernel> kernel(const Kernel& variant) const;

  size_t distinct() const;     // functions that differ in code
  size_t precompiled() const;  // of them, those that are part of the binary

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All of it for one graph.
Result<std::vector<std::shared_ptr<const CompiledKernel>>> compile_kernels(
    const KernelGraph& graph, const CompileOptions& options);

// Costs on this machine with so many threads.
Target cpu_target(int threads);

}  // namespace ullage
