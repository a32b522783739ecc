// A compiled product at run time.
#pragma once

#include "codegen/cpu/dot_plan.h"
#include "codegen/cpu/emit_kernels.h"
#include "codegen/cpu/kernel_recipe.h"

namespace ullage {

Result<KernelRecipe> dot_recipe(const Kernel& kernel, const DotKernel& dot);

}  // namespace ullage
