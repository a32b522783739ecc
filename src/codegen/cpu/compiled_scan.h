// A compiled scan at run time: the parallel dimensions are spread over the pool.
#pragma once

#include "codegen/cpu/kernel_recipe.h"

namespace ullage {

Result<KernelRecipe> scan_recipe(const Kernel& kernel, const ScanKernel& scan);

}  // namespace ullage
