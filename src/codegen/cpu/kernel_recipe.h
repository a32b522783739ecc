// From a kernel to code: which functions it needs, under a key that is equal for kernels whose code
// is equal, and how to make the executable kernel once the functions have addresses. One maker per
// kind of kernel.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/cpu/host.h"
#include "kernels/kernel_graph.h"
#include "runtime/kernel.h"
#include "support/diagnostics.h"

namespace llvm {
class Module;
}

namespace ullage {

struct KernelRecipe {
  struct Code {
    std::string key;
    std::function<void(llvm::Module&, const Host&, const std::string& name)> emit;
    double weight = 1;
  };
  std::vector<Code> functions;
  std::function<std::shared_ptr<const CompiledKernel>(const std::vector<void*>& functions,
                                                      std::shared_ptr<const void> code)>
      finish;
};

Result<KernelRecipe> kernel_recipe(const Kernel& kernel, const KernelGraph& graph,
                                   const Host& host);

}  // namespace ullage
