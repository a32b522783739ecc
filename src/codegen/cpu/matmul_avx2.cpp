// Kernels for AVX2 with FMA and F16C: tiles of 6 x 16.
#if defined(__x86_64__)
#include <immintrin.h>

#include <type_traits>

#include "codegen/cpu/matmul_code.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif

namespace ullage {
namespace {

struct Vec {
  using T = __m256;
  static constexpr int lanes = 8;
  static constexpr int max_rows = 6;
  static constexpr bool in_registers = true;

  static T zero() { return _mm256_setzero_ps(); }
  static T load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, T v) { _mm256_storeu_ps(p, v); }
  static T broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static T fma(T a, T b, T c) { return _mm256_fmadd_ps(a, b, c); }
  static T add(T a, T b) { return _mm256_add_ps(a, b); }

  static __m256i mask(int64_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static T load_part(const float* p, int64_t count) { return _mm256_maskload_ps(p, mask(count)); }
  static void store_part(float* p, T v, int64_t count) { _mm256_maskstore_ps(p, mask(count), v); }

  static T load_bf16(const uint16_t* p) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static T load_f16(const uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static T load_i8(const int8_t* p) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
  }

  static void transpose(T* r) {
    T pair[8], quad[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
      pair[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
      pair[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
      quad[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
      quad[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xee);
      quad[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
      quad[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      r[i] = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20);
      r[i + 4] = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31);
    }
  }
};

}  // namespace
}  // namespace ullage

#include "codegen/cpu/matmul_code_impl.h"

namespace ullage {

const MatmulCode& matmul_code_avx2() {
  static const MatmulCode code = make_matmul_code(MatmulIsa::avx2);
  return code;
}

}  // namespace ullage

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
