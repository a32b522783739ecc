// Kernels for any processor: the shape of the AVX-512 ones, with std::fma for the same bits. Slow;
// it is what runs where nothing better does, and what tests compare with.
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "codegen/cpu/matmul_code.h"

namespace ullage {
namespace {

struct Vec {
  static constexpr int lanes = 16;
  static constexpr int max_rows = 12;
  static constexpr bool in_registers = false;
  struct T {
    float value[lanes];
  };

  template <typename F>
  static T each(F f) {
    T v;
    for (int i = 0; i < lanes; ++i) v.value[i] = f(i);
    return v;
  }
  static T zero() { return T{}; }
  static T load(const float* p) {
    T v;
    std::memcpy(v.value, p, sizeof v.value);
    return v;
  }
  static void store(float* p, const T& v) { std::memcpy(p, v.value, sizeof v.value); }
  static T broadcast(const float* p) {
    return each([&](int) { return *p; });
  }
  static T fma(const T& a, const T& b, const T& c) {
    return each([&](int i) { return std::fma(a.value[i], b.value[i], c.value[i]); });
  }
  static T add(const T& a, const T& b) {
    return each([&](int i) { return a.value[i] + b.value[i]; });
  }
  static T load_part(const float* p, int64_t count) {
    return each([&](int i) { return i < count ? p[i] : 0.0f; });
  }
  static void store_part(float* p, const T& v, int64_t count) {
    for (int64_t i = 0; i < count; ++i) p[i] = v.value[i];
  }
  static T load_bf16(const uint16_t* p) {
    return each([&](int i) { return bf16_to_f32(p[i]); });
  }
  static T load_f16(const uint16_t* p) {
    return each([&](int i) { return f16_to_f32(p[i]); });
  }
  static T load_i8(const int8_t* p) {
    return each([&](int i) { return static_cast<float>(p[i]); });
  }
  static void transpose(T* r) {
    for (int i = 0; i < lanes; ++i) {
      for (int j = 0; j < i; ++j) std::swap(r[i].value[j], r[j].value[i]);
    }
  }
};

}  // namespace
}  // namespace ullage

#include "codegen/cpu/matmul_code_impl.h"

namespace ullage {

const MatmulCode& matmul_code_baseline() {
  static const MatmulCode code = make_matmul_code(MatmulIsa::baseline);
  return code;
}

float bf16_to_f32(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t fraction = bits & 0x3ffu;
  uint32_t wide;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    std::memcpy(&wide, &magnitude, sizeof wide);
    wide |= sign;
  } else if (exponent == 31) {
    // As the hardware does, a signalling NaN becomes a quiet one.
    wide = sign | 0x7f800000u | (fraction << 13) | (fraction != 0 ? 0x400000u : 0u);
  } else {
    wide = sign | ((exponent + 112) << 23) | (fraction << 13);
  }
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

}  // namespace ullage
