// Lanes: up to kLanes elements of one type, widened to one of four classes, on which all arithmetic
// of the interpreter is done: int64_t for signed integers, uint64_t for unsigned ones and i1,
// double for floats, complex<double> for complex numbers. Results are brought back to their element
// type after every operation, so each operation is rounded once: a double holds sums, products,
// quotients and square roots of f32 and narrower exactly enough that rounding them again is
// harmless (53 >= 2 * 24 + 2 bits). Private to interp/.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "ir/type.h"

namespace ullage::interp {

inline constexpr size_t kLanes = 512;

enum class LaneClass : uint8_t { signed_, unsigned_, real, complex };
LaneClass lane_class(DType dtype);

struct alignas(64) Lanes {
  Lanes() {}  // uninitialised on purpose
  Lanes(const Lanes&) = default;
  Lanes& operator=(const Lanes&) = default;
  union {
    int64_t i[kLanes];
    uint64_t u[kLanes];
    double f[kLanes];
    std::complex<double> c[kLanes];
  };
};

// n <= kLanes consecutive elements.
void load(DType dtype, const std::byte* from, size_t n, Lanes& to);
void store(DType dtype, const Lanes& from, size_t n, std::byte* to);
// Elements `stride` elements apart, which may be 0 or negative.
void load_strided(DType dtype, const std::byte* from, int64_t stride, size_t n, Lanes& to);
// Brings lanes to values of the element type: integers wrap, floats round to nearest even.
void round_to(DType dtype, size_t n, Lanes& lanes);

// A binary floating-point format of at most 16 bits (f32 and f64 are the machine's own).
struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  // What the top of the range means: an infinity and NaNs as in IEEE 754; NaN as the all-ones code
  // ("FN"); NaN as the code of negative zero ("FNUZ"); nothing but numbers.
  enum class Special : uint8_t {
    ieee,
    all_ones_nan,
    negative_zero_nan,
    none,
    unsigned_exponent
  } special;
};
const FloatFormat& float_format(DType dtype);
uint16_t encode(const FloatFormat& format,
                double value);  // rounds to nearest even; overflows as the format can
double decode(const FloatFormat& format, uint16_t code);

// The double nearest to an integer, with the lowest bit set when inexact ("round to odd"), so that
// rounding it to a narrower type rounds the integer correctly.
double odd_from(int64_t value);
double odd_from(uint64_t value);

}  // namespace ullage::interp
