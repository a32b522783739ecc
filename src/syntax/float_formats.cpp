#include "syntax/float_formats.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/check.h"

namespace ullage::syntax {

namespace {

// What the all-ones exponent means, and where NaN is.
enum class Special : uint8_t {
  ieee,      // infinity and NaNs, as in IEEE 754
  nan_only,  // the all-ones pattern is NaN; no infinity ("FN")
  fnuz,      // the pattern of negative zero is NaN; no infinity, no negative zero
  none,      // every pattern is finite
  exponent,  // f8E8M0FNU: powers of two, no sign, all ones is NaN
};

struct Format {
  int exponent_bits, mantissa_bits, bias;
  Special special;
};

Format format(DType dtype) {
  switch (dtype) {
    case DType::f4E2M1FN:
      return {2, 1, 1, Special::none};
    case DType::f6E2M3FN:
      return {2, 3, 1, Special::none};
    case DType::f6E3M2FN:
      return {3, 2, 3, Special::none};
    case DType::f8E3M4:
      return {3, 4, 3, Special::ieee};
    case DType::f8E4M3:
      return {4, 3, 7, Special::ieee};
    case DType::f8E4M3FN:
      return {4, 3, 7, Special::nan_only};
    case DType::f8E4M3FNUZ:
      return {4, 3, 8, Special::fnuz};
    case DType::f8E4M3B11FNUZ:
      return {4, 3, 11, Special::fnuz};
    case DType::f8E5M2:
      return {5, 2, 15, Special::ieee};
    case DType::f8E5M2FNUZ:
      return {5, 2, 16, Special::fnuz};
    case DType::f8E8M0FNU:
      return {8, 0, 127, Special::exponent};
    case DType::bf16:
      return {8, 7, 127, Special::ieee};
    case DType::f16:
      return {5, 10, 15, Special::ieee};
    case DType::f32:
      return {8, 23, 127, Special::ieee};
    case DType::f64:
      return {11, 52, 1023, Special::ieee};
    default:
      ULLAGE_CHECK(false, "not a floating type");
      return {};
  }
}

uint64_t ones(int bits) {
  return (uint64_t{1} << bits) - 1;
}

// The largest finite magnitude, as bits without the sign.
uint64_t largest(const Format& f) {
  uint64_t all = ones(f.exponent_bits + f.mantissa_bits);
  switch (f.special) {
    case Special::ieee:
      return all - (uint64_t{1} << f.mantissa_bits);
    case Special::nan_only:
    case Special::exponent:
      return all - 1;
    default:
      return all;
  }
}

// The magnitude rounded to the format's grid as if its exponent had no upper end.
uint64_t round_magnitude(const Format& f, double magnitude) {
  if (f.special == Special::exponent) {
    if (magnitude <= std::ldexp(1.0, -127)) return 0;
    int exponent;
    double fraction = std::frexp(magnitude, &exponent);  // [0.5, 1)
    return static_cast<uint64_t>(exponent - 1 + f.bias + (fraction > 0.75 ? 1 : 0));
  }
  if (magnitude == 0) return 0;
  int exponent;
  std::frexp(magnitude, &exponent);
  exponent -= 1;
  int smallest = 1 - f.bias;
  int scale = std::max(exponent, smallest) - f.mantissa_bits;
  double steps =
      std::nearbyint(std::ldexp(magnitude, -scale));  // an integer up to 2^(mantissa_bits + 1)
  auto significand = static_cast<uint64_t>(steps);
  if (exponent < smallest) return significand;  // subnormal, or the smallest normal by rounding up
  return (static_cast<uint64_t>(exponent + f.bias - 1) << f.mantissa_bits) + significand;
}

}  // namespace

bool overflows(DType dtype, double value) {
  if (std::isnan(value)) return false;
  if (std::isinf(value)) return true;
  if (dtype == DType::f64) return false;
  Format f = format(dtype);
  if (f.special == Special::exponent && value <= 0) return true;
  return round_magnitude(f, std::fabs(value)) > largest(f);
}

uint64_t float_bits(DType dtype, double value) {
  if (dtype == DType::f64) {
    uint64_t bits;
    std::memcpy(&bits, &value, 8);
    return bits;
  }
  Format f = format(dtype);
  int width = f.exponent_bits + f.mantissa_bits;
  uint64_t negative_zero = uint64_t{1} << width;
  uint64_t sign = std::signbit(value) ? negative_zero : 0;
  if (f.special == Special::exponent) sign = 0;
  uint64_t nan = 0;
  switch (f.special) {
    case Special::ieee:
      nan = sign | (ones(f.exponent_bits) << f.mantissa_bits) |
            (uint64_t{1} << (f.mantissa_bits - 1));
      break;
    case Special::nan_only:
    case Special::exponent:
      nan = sign | ones(width);
      break;
    case Special::fnuz:
      nan = negative_zero;
      break;
    case Special::none:
      nan = sign | largest(f);
      break;
  }
  if (std::isnan(value)) return nan;
  uint64_t magnitude = std::isinf(value) ? UINT64_MAX : round_magnitude(f, std::fabs(value));
  if (magnitude > largest(f)) {
    if (f.special == Special::ieee) return sign | (ones(f.exponent_bits) << f.mantissa_bits);
    return f.special == Special::none ? sign | largest(f) : nan;
  }
  if (f.special == Special::fnuz && magnitude == 0) return 0;
  return sign | magnitude;
}

double float_value(DType dtype, uint64_t bits) {
  if (dtype == DType::f64) {
    double value;
    std::memcpy(&value, &bits, 8);
    return value;
  }
  Format f = format(dtype);
  int width = f.exponent_bits + f.mantissa_bits;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (f.special == Special::exponent)
    return bits == 255 ? kNan : std::ldexp(1.0, static_cast<int>(bits) - 127);
  uint64_t magnitude = bits & ones(width);
  double sign = bits >> width & 1 ? -1.0 : 1.0;
  if (f.special == Special::fnuz && magnitude == 0) return sign < 0 ? kNan : 0.0;
  if (magnitude > largest(f)) {
    bool infinite = f.special == Special::ieee && (magnitude & ones(f.mantissa_bits)) == 0;
    return infinite ? sign * std::numeric_limits<double>::infinity() : kNan;
  }
  auto exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  auto mantissa = static_cast<double>(magnitude & ones(f.mantissa_bits));
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  mantissa += static_cast<double>(uint64_t{1} << f.mantissa_bits);
  return sign * std::ldexp(mantissa, exponent - f.bias - f.mantissa_bits);
}

template <typename T>
static std::string shortest(T value) {
  char buffer[32];
  auto [end, code] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string text(buffer, end);
  if (text.find('.') == std::string::npos) text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

std::string decimal(double value) {
  return shortest(value);
}
std::string decimal(float value) {
  return shortest(value);
}

bool is_finite(DType dtype, uint64_t bits) {
  return std::isfinite(float_value(dtype, bits));
}

}  // namespace ullage::syntax
