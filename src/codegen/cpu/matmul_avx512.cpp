// Kernels for AVX-512 (foundation instructions only): tiles of 12 x 32.
#if defined(__x86_64__)
#include <immintrin.h>

#include <type_traits>

#include "codegen/cpu/matmul_code.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC target("avx512f,prefer-vector-width=512")
// GCC 12 warns about the undefined registers in its own intrinsics.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace ullage {
namespace {

struct Vec {
  using T = __m512;
  static constexpr int lanes = 16;
  static constexpr int max_rows = 12;
  static constexpr bool in_registers = true;

  static T zero() { return _mm512_setzero_ps(); }
  static T load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, T v) { _mm512_storeu_ps(p, v); }
  static T broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static T fma(T a, T b, T c) { return _mm512_fmadd_ps(a, b, c); }
  static T add(T a, T b) { return _mm512_add_ps(a, b); }

  static __mmask16 mask(int64_t count) {
    return static_cast<__mmask16>((1u << static_cast<unsigned>(count)) - 1u);
  }
  static T load_part(const float* p, int64_t count) {
    return _mm512_maskz_loadu_ps(mask(count), p);
  }
  static void store_part(float* p, T v, int64_t count) { _mm512_mask_storeu_ps(p, mask(count), v); }

  static T load_bf16(const uint16_t* p) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static T load_f16(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static T load_i8(const int8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
  }

  static void transpose(T* r) {
    T pair[16], quad[16], half[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
      pair[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
      pair[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    // Now quad[4 g + j], 128-bit lane l: column 4 l + j of rows 4 g to 4 g + 3.
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
      quad[i] = _mm512_shuffle_ps(pair[i], pair[i + 2], 0x44);
      quad[i + 1] = _mm512_shuffle_ps(pair[i], pair[i + 2], 0xee);
      quad[i + 2] = _mm512_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
      quad[i + 3] = _mm512_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      half[j] = _mm512_shuffle_f32x4(quad[j], quad[4 + j], 0x88);      // lanes 0, 2
      half[4 + j] = _mm512_shuffle_f32x4(quad[j], quad[4 + j], 0xdd);  // lanes 1, 3
      half[8 + j] = _mm512_shuffle_f32x4(quad[8 + j], quad[12 + j], 0x88);
      half[12 + j] = _mm512_shuffle_f32x4(quad[8 + j], quad[12 + j], 0xdd);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      r[j] = _mm512_shuffle_f32x4(half[j], half[8 + j], 0x88);
      r[8 + j] = _mm512_shuffle_f32x4(half[j], half[8 + j], 0xdd);
      r[4 + j] = _mm512_shuffle_f32x4(half[4 + j], half[12 + j], 0x88);
      r[12 + j] = _mm512_shuffle_f32x4(half[4 + j], half[12 + j], 0xdd);
    }
  }
};

}  // namespace
}  // namespace ullage

#include "codegen/cpu/matmul_code_impl.h"

namespace ullage {

const MatmulCode& matmul_code_avx512() {
  static const MatmulCode code = make_matmul_code(MatmulIsa::avx512);
  return code;
}

}  // namespace ullage

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
