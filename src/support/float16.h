// The two 16-bit floating formats as bit patterns: exact widening, and rounding to nearest even. A
// NaN stays a NaN.
#pragma once

#include <bit>
#include <cstdint>

namespace ullage {

inline float bf16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t float_to_bf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float f16_to_float(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t rest = bits & 0x7fff;
  if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  // As a float's bits the value is too small by 2^112, subnormals included; the multiplication is
  // exact.
  return std::bit_cast<float>(sign |
                              std::bit_cast<uint32_t>(std::bit_cast<float>(rest << 13) * 0x1p112f));
}

inline uint16_t float_to_f16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000)
    return static_cast<uint16_t>(sign | 0x7c00);  // 65520 and above round to infinity
  if (magnitude < 0x38800000) {
    // Below 2^-14 the unit in the last place is 2^-24: adding 0.5, whose own is 2^-24, rounds
    // there.
    uint32_t rounded = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
    return static_cast<uint16_t>(sign | rounded);
  }
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1) - (uint32_t{112} << 23);
  return static_cast<uint16_t>(sign | rounded >> 13);
}

}  // namespace ullage
