#include "interp/lanes.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "support/check.h"

namespace ullage::interp {

LaneClass lane_class(DType dtype) {
  if (is_signed_int(dtype)) return LaneClass::signed_;
  if (is_float(dtype)) return LaneClass::real;
  return is_complex(dtype) ? LaneClass::complex : LaneClass::unsigned_;
}

const FloatFormat& float_format(DType dtype) {
  using S = FloatFormat::Special;
  static const FloatFormat f4e2m1{2, 1, 1, S::none}, f6e2m3{2, 3, 1, S::none},
      f6e3m2{3, 2, 3, S::none};
  static const FloatFormat f8e3m4{3, 4, 3, S::ieee}, f8e4m3{4, 3, 7, S::ieee},
      f8e4m3fn{4, 3, 7, S::all_ones_nan};
  static const FloatFormat f8e4m3fnuz{4, 3, 8, S::negative_zero_nan},
      f8e4m3b11{4, 3, 11, S::negative_zero_nan};
  static const FloatFormat f8e5m2{5, 2, 15, S::ieee}, f8e5m2fnuz{5, 2, 16, S::negative_zero_nan};
  static const FloatFormat f8e8m0{8, 0, 127, S::unsigned_exponent};
  static const FloatFormat bf16{8, 7, 127, S::ieee}, f16{5, 10, 15, S::ieee};
  switch (dtype) {
    case DType::f4E2M1FN:
      return f4e2m1;
    case DType::f6E2M3FN:
      return f6e2m3;
    case DType::f6E3M2FN:
      return f6e3m2;
    case DType::f8E3M4:
      return f8e3m4;
    case DType::f8E4M3:
      return f8e4m3;
    case DType::f8E4M3FN:
      return f8e4m3fn;
    case DType::f8E4M3FNUZ:
      return f8e4m3fnuz;
    case DType::f8E4M3B11FNUZ:
      return f8e4m3b11;
    case DType::f8E5M2:
      return f8e5m2;
    case DType::f8E5M2FNUZ:
      return f8e5m2fnuz;
    case DType::f8E8M0FNU:
      return f8e8m0;
    case DType::bf16:
      return bf16;
    case DType::f16:
      return f16;
    default:
      internal_error(__FILE__, __LINE__, "no small float format: " + std::string(name(dtype)));
  }
}

namespace {

struct Codes {
  uint32_t sign, infinity, nan, largest;  // largest finite magnitude
};

Codes codes(const FloatFormat& f) {
  using S = FloatFormat::Special;
  uint32_t magnitude = (1u << (f.exponent_bits + f.mantissa_bits)) - 1;
  uint32_t sign = magnitude + 1;
  switch (f.special) {
    case S::ieee: {
      uint32_t infinity = ((1u << f.exponent_bits) - 1) << f.mantissa_bits;
      return {sign, infinity, infinity | (1u << (f.mantissa_bits - 1)), infinity - 1};
    }
    case S::all_ones_nan:
      return {sign, magnitude, magnitude, magnitude - 1};
    case S::negative_zero_nan:
      return {sign, sign, sign, magnitude};
    case S::none:
      return {sign, magnitude, sign, magnitude};  // overflow saturates; NaN becomes -0
    case S::unsigned_exponent:
      return {0, 0xFF, 0xFF, 0xFE};
  }
  return {};
}

// Mantissa shifted right by `shift`, rounded to nearest even.
uint64_t round_shift(uint64_t mantissa, int shift) {
  if (shift <= 0) return mantissa << -shift;
  if (shift > 63) return 0;
  uint64_t half = uint64_t{1} << (shift - 1), rest = mantissa & ((half << 1) - 1),
           out = mantissa >> shift;
  return out + (rest > half || (rest == half && (out & 1)));
}

}  // namespace

uint16_t encode(const FloatFormat& f, double value) {
  Codes code = codes(f);
  auto bits = std::bit_cast<uint64_t>(value);
  bool negative = bits >> 63;
  uint32_t sign = negative ? code.sign : 0;
  int exponent = static_cast<int>((bits >> 52) & 0x7FF);
  uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  bool fnuz = f.special == FloatFormat::Special::negative_zero_nan;
  if (f.special == FloatFormat::Special::unsigned_exponent) {
    if (std::isnan(value) || negative || exponent == 0x7FF) return static_cast<uint16_t>(code.nan);
    if (exponent == 0) return 0;
    int rounded =
        exponent - 1023 + f.bias +
        (fraction > uint64_t{1} << 51 || (fraction == uint64_t{1} << 51 && (exponent & 1)));
    return static_cast<uint16_t>(rounded < 0 ? 0 : rounded > 0xFE ? 0xFF : rounded);
  }
  if (std::isnan(value))
    return static_cast<uint16_t>(fnuz || f.special == FloatFormat::Special::none ? code.nan
                                                                                 : sign | code.nan);
  if (exponent == 0x7FF) return static_cast<uint16_t>(fnuz ? code.nan : sign | code.infinity);
  if (exponent == 0)
    return static_cast<uint16_t>(fnuz ? 0 : sign);  // doubles that small are 0 in all these formats
  int scaled = exponent - 1023 + f.bias;            // biased exponent in the format
  uint64_t mantissa = fraction | uint64_t{1} << 52;
  int shift = 52 - f.mantissa_bits + (scaled < 1 ? 1 - scaled : 0);
  uint64_t rounded = round_shift(mantissa, shift);
  // The implicit bit adds 1 to the exponent field, and so does a carry out of rounding.
  uint64_t out =
      scaled < 1 ? rounded : (static_cast<uint64_t>(scaled - 1) << f.mantissa_bits) + rounded;
  if (out > code.largest) return static_cast<uint16_t>(fnuz ? code.nan : sign | code.infinity);
  if (out == 0 && fnuz) return 0;
  return static_cast<uint16_t>(sign | out);
}

double decode(const FloatFormat& f, uint16_t bits) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  Codes code = codes(f);
  if (f.special == FloatFormat::Special::unsigned_exponent)
    return bits == 0xFF ? kNaN : std::ldexp(1.0, bits - f.bias);
  uint32_t magnitude = bits & (code.sign - 1);
  double sign = bits & code.sign ? -1.0 : 1.0;
  if (f.special == FloatFormat::Special::negative_zero_nan && bits == code.nan) return kNaN;
  if (magnitude > code.largest)
    return f.special == FloatFormat::Special::ieee && magnitude == code.infinity
               ? sign * HUGE_VAL
               : std::copysign(kNaN, sign);
  int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  double fraction = magnitude & ((1u << f.mantissa_bits) - 1);
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - f.bias - f.mantissa_bits);
  return sign * std::ldexp(fraction + (1 << f.mantissa_bits), exponent - f.bias - f.mantissa_bits);
}

namespace {

// Decoded values of every code of a format.
const double* decode_table(DType dtype) {
  static const auto build = [](DType d) {
    const FloatFormat& format = float_format(d);
    int bits = storage_bytes(d) == 1 ? 8 : 16;
    auto table = std::make_unique<std::vector<double>>(size_t{1} << bits);
    for (uint32_t code = 0; code < table->size(); ++code)
      (*table)[code] =
          decode(format, static_cast<uint16_t>(code & ((1u << std::max(bit_width(d), 1)) - 1)));
    return table;
  };
  static std::unique_ptr<std::vector<double>> tables[kDTypeCount];
  static const bool built = [] {
    for (int i = 0; i < kDTypeCount; ++i) {
      auto d = static_cast<DType>(i);
      if (is_float(d) && bit_width(d) <= 16) tables[i] = build(d);
    }
    return true;
  }();
  (void)built;
  return tables[static_cast<size_t>(dtype)]->data();
}

double from_bf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// double -> bf16 without the generic path, which is several times slower.
uint16_t to_bf16(double value) {
  auto single = static_cast<float>(value);
  if (std::isnan(single))
    return static_cast<uint16_t>((std::bit_cast<uint32_t>(single) >> 16) | 0x40);
  // Round to odd on the way down to float, so that the second rounding sees what the first dropped.
  auto bits = std::bit_cast<uint32_t>(single);
  double back = single;
  if (back != value && std::isfinite(value)) {
    if (std::abs(back) > std::abs(value)) bits -= 1;
    bits |= 1;
  }
  bits += 0x7FFF + ((bits >> 16) & 1);
  return static_cast<uint16_t>(bits >> 16);
}

template <typename T>
T at(const std::byte* from, int64_t index) {
  T value;
  std::memcpy(&value, from + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Storage of a narrow integer may carry any upper bits; its value is the low ones.
int64_t sign_extend(uint64_t value, int bits) {
  int shift = 64 - bits;
  return static_cast<int64_t>(value << shift) >> shift;
}

template <typename F>
void each(int64_t stride, size_t n, F f) {
  if (stride == 1)
    for (size_t k = 0; k < n; ++k) f(k, static_cast<int64_t>(k));
  else
    for (size_t k = 0; k < n; ++k) f(k, static_cast<int64_t>(k) * stride);
}

template <typename T>
void put(std::byte* to, size_t index, T value) {
  std::memcpy(to + index * sizeof(T), &value, sizeof(T));
}

}  // namespace

void load_strided(DType dtype, const std::byte* from, int64_t stride, size_t n, Lanes& to) {
  switch (dtype) {
    case DType::i1:
      return each(stride, n, [&](size_t k, int64_t e) { to.u[k] = at<uint8_t>(from, e) != 0; });
    case DType::i2:
    case DType::i4:
    case DType::i8: {
      int bits = bit_width(dtype);
      return each(stride, n,
                  [&](size_t k, int64_t e) { to.i[k] = sign_extend(at<uint8_t>(from, e), bits); });
    }
    case DType::i16:
      return each(stride, n, [&](size_t k, int64_t e) { to.i[k] = at<int16_t>(from, e); });
    case DType::i32:
      return each(stride, n, [&](size_t k, int64_t e) { to.i[k] = at<int32_t>(from, e); });
    case DType::i64:
      return each(stride, n, [&](size_t k, int64_t e) { to.i[k] = at<int64_t>(from, e); });
    case DType::ui2:
    case DType::ui4:
    case DType::ui8: {
      uint64_t mask = (1u << bit_width(dtype)) - 1;
      return each(stride, n, [&](size_t k, int64_t e) { to.u[k] = at<uint8_t>(from, e) & mask; });
    }
    case DType::ui16:
      return each(stride, n, [&](size_t k, int64_t e) { to.u[k] = at<uint16_t>(from, e); });
    case DType::ui32:
      return each(stride, n, [&](size_t k, int64_t e) { to.u[k] = at<uint32_t>(from, e); });
    case DType::ui64:
      return each(stride, n, [&](size_t k, int64_t e) { to.u[k] = at<uint64_t>(from, e); });
    case DType::bf16:
      return each(stride, n,
                  [&](size_t k, int64_t e) { to.f[k] = from_bf16(at<uint16_t>(from, e)); });
    case DType::f16: {
      const double* table = decode_table(dtype);
      return each(stride, n, [&](size_t k, int64_t e) { to.f[k] = table[at<uint16_t>(from, e)]; });
    }
    case DType::f32:
      return each(stride, n, [&](size_t k, int64_t e) { to.f[k] = at<float>(from, e); });
    case DType::f64:
      return each(stride, n, [&](size_t k, int64_t e) { to.f[k] = at<double>(from, e); });
    case DType::c64:
      return each(stride, n, [&](size_t k, int64_t e) {
        to.c[k] = {at<float>(from, 2 * e), at<float>(from, 2 * e + 1)};
      });
    case DType::c128:
      return each(stride, n, [&](size_t k, int64_t e) {
        to.c[k] = {at<double>(from, 2 * e), at<double>(from, 2 * e + 1)};
      });
    default: {
      const double* table = decode_table(dtype);
      return each(stride, n, [&](size_t k, int64_t e) { to.f[k] = table[at<uint8_t>(from, e)]; });
    }
  }
}

void load(DType dtype, const std::byte* from, size_t n, Lanes& to) {
  load_strided(dtype, from, 1, n, to);
}

void store(DType dtype, const Lanes& from, size_t n, std::byte* to) {
  switch (dtype) {
    case DType::i2:
    case DType::i4:
    case DType::i8:
      for (size_t k = 0; k < n; ++k)
        put(to, k, static_cast<int8_t>(sign_extend(from.u[k], bit_width(dtype))));
      return;
    case DType::i1:
    case DType::ui2:
    case DType::ui4:
    case DType::ui8: {
      auto mask = static_cast<uint8_t>((1u << bit_width(dtype)) - 1);
      for (size_t k = 0; k < n; ++k) put(to, k, static_cast<uint8_t>(from.u[k] & mask));
      return;
    }
    case DType::i16:
    case DType::ui16:
      for (size_t k = 0; k < n; ++k) put(to, k, static_cast<uint16_t>(from.u[k]));
      return;
    case DType::i32:
    case DType::ui32:
      for (size_t k = 0; k < n; ++k) put(to, k, static_cast<uint32_t>(from.u[k]));
      return;
    case DType::i64:
    case DType::ui64:
    case DType::f64:
      std::memcpy(to, from.u, n * 8);
      return;
    case DType::bf16:
      for (size_t k = 0; k < n; ++k) put(to, k, to_bf16(from.f[k]));
      return;
    case DType::f16: {
      const FloatFormat& format = float_format(dtype);
      for (size_t k = 0; k < n; ++k) put(to, k, encode(format, from.f[k]));
      return;
    }
    case DType::f32:
      for (size_t k = 0; k < n; ++k) put(to, k, static_cast<float>(from.f[k]));
      return;
    case DType::c64:
      for (size_t k = 0; k < 2 * n; ++k) put(to, k, static_cast<float>(from.f[k]));
      return;
    case DType::c128:
      std::memcpy(to, from.c, n * 16);
      return;
    default: {
      const FloatFormat& format = float_format(dtype);
      for (size_t k = 0; k < n; ++k) put(to, k, static_cast<uint8_t>(encode(format, from.f[k])));
      return;
    }
  }
}

void round_to(DType dtype, size_t n, Lanes& lanes) {
  switch (dtype) {
    case DType::i64:
    case DType::ui64:
    case DType::f64:
    case DType::c128:
      return;
    case DType::f32:
      for (size_t k = 0; k < n; ++k) lanes.f[k] = static_cast<float>(lanes.f[k]);
      return;
    case DType::c64:
      // Part by part: g++ 12 folds complex<double>(complex<float>(z)) to z.
      for (size_t k = 0; k < 2 * n; ++k) lanes.f[k] = static_cast<float>(lanes.f[k]);
      return;
    case DType::bf16:
      for (size_t k = 0; k < n; ++k) lanes.f[k] = from_bf16(to_bf16(lanes.f[k]));
      return;
    default:
      break;
  }
  int bits = bit_width(dtype);
  if (is_signed_int(dtype)) {
    for (size_t k = 0; k < n; ++k) lanes.i[k] = sign_extend(lanes.u[k], bits);
  } else if (is_float(dtype)) {
    const FloatFormat& format = float_format(dtype);
    const double* table = decode_table(dtype);
    for (size_t k = 0; k < n; ++k) lanes.f[k] = table[encode(format, lanes.f[k])];
  } else {
    uint64_t mask = (uint64_t{1} << bits) - 1;
    for (size_t k = 0; k < n; ++k) lanes.u[k] &= mask;
  }
}

double odd_from(int64_t value) {
  if (value < 0) return -odd_from(static_cast<uint64_t>(0) - static_cast<uint64_t>(value));
  return odd_from(static_cast<uint64_t>(value));
}

double odd_from(uint64_t value) {
  int excess = 64 - std::countl_zero(value) - 53;
  if (excess <= 0) return static_cast<double>(value);
  uint64_t kept = value >> excess, dropped = value & ((uint64_t{1} << excess) - 1);
  return std::ldexp(static_cast<double>(kept | (dropped != 0)), excess);
}

}  // namespace ullage::interp
