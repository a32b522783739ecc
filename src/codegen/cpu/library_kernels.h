// Makers of the kernels that kernels/library.h lists, by name. Called by kernel_recipe.cpp.
#pragma once

#include "codegen/cpu/kernel_recipe.h"

namespace ullage {

Result<KernelRecipe> library_recipe(const Kernel& kernel, const LibraryKernel& library);

Result<KernelRecipe> sort_recipe(const Kernel& kernel, const LibraryKernel& library);
Result<KernelRecipe> top_k_recipe(const Kernel& kernel, const LibraryKernel& library);
Result<KernelRecipe> convolution_recipe(const Kernel& kernel, const LibraryKernel& library);
Result<KernelRecipe> fft_recipe(const Kernel& kernel, const LibraryKernel& library);
Result<KernelRecipe> host_call_recipe(const Kernel& kernel, const LibraryKernel& library);
Result<KernelRecipe> token_recipe(const Kernel& kernel, const LibraryKernel& library);
Result<KernelRecipe> lapack_recipe(const Kernel& kernel, const LibraryKernel& library);

}  // namespace ullage
