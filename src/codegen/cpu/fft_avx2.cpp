// Fourier transforms for AVX2.
#if defined(__x86_64__)
#include "codegen/cpu/fft_code.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#pragma GCC optimize("O3")
#endif

namespace ullage {
namespace {
constexpr int kFftVectorBytes = 32;
}
}  // namespace ullage

#include "codegen/cpu/fft_code_impl.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

namespace ullage {

const FftCode& fft_code_avx2() {
  return code;
}

}  // namespace ullage
#endif
