// Fourier transforms for AVX-512.
#if defined(__x86_64__)
#include "codegen/cpu/fft_code.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")
#pragma GCC optimize("O3")
#endif

namespace ullage {
namespace {
constexpr int kFftVectorBytes = 64;
}
}  // namespace ullage

#include "codegen/cpu/fft_code_impl.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

namespace ullage {

const FftCode& fft_code_avx512() {
  return code;
}

}  // namespace ullage
#endif
