// A compiled bit generator at run time: any range of the result from its position alone.
#pragma once

#include "codegen/cpu/kernel_recipe.h"

namespace ullage {

Result<KernelRecipe> rng_recipe(const Kernel& kernel, const RngKernel& rng,
                                const KernelGraph& graph);

}  // namespace ullage
