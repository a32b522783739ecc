// A compiled scatter at run time. Threads share either boxes of the parallel dimensions or ranges
// of the targets: then each goes through all indices and applies the updates that fall into its
// range. Either way the updates of one element are applied by one thread, in order, so the result
// does not depend on the cut.
#pragma once

#include "codegen/cpu/kernel_recipe.h"

namespace ullage {

Result<KernelRecipe> scatter_recipe(const Kernel& kernel, const ScatterKernel& scatter,
                                    const KernelGraph& graph);

}  // namespace ullage
