#include "codegen/cpu/library_kernels.h"

#include "support/check.h"

namespace ullage {

Result<KernelRecipe> library_recipe(const Kernel& kernel, const LibraryKernel& library) {
  struct Row {
    std::string_view name;
    Result<KernelRecipe> (*make)(const Kernel&, const LibraryKernel&);
  };
  static constexpr Row kRows[] = {
      {"sort", sort_recipe},
      {"top_k", top_k_recipe},
      {"cholesky", lapack_recipe},
      {"triangular_solve", lapack_recipe},
      {"lapack", lapack_recipe},
      {"fft", fft_recipe},
      {"convolution", convolution_recipe},
      {"host_call", host_call_recipe},
      {"token", token_recipe},
  };
  for (const Row& row : kRows)
    if (row.name == library.name) return row.make(kernel, library);
  ULLAGE_CHECK(false, "a library kernel without a maker");
}

}  // namespace ullage
