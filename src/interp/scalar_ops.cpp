#include "interp/scalar_ops.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "interp/special.h"

namespace ullage::interp {

namespace {

using In = const Lanes* const*;
using Fn = LaneOp::Function;
using Real = long double;  // f64 and c128 are computed with 64 bits of mantissa where rounding is
                           // not defined exactly

// One row of the table: a function for each class of operand, null where the operation does not
// exist.
struct Functions {
  Fn i = nullptr, u = nullptr, f = nullptr, f64 = nullptr, c = nullptr, c128 = nullptr;
};

template <auto F>
void i1(const LaneOp&, In in, Lanes& out, size_t n) {
  for (size_t k = 0; k < n; ++k) out.i[k] = F(in[0]->i[k]);
}
template <auto F>
void i2(const LaneOp&, In in, Lanes& out, size_t n) {
  for (size_t k = 0; k < n; ++k) out.i[k] = F(in[0]->i[k], in[1]->i[k]);
}
template <auto F>
void u1(const LaneOp&, In in, Lanes& out, size_t n) {
  for (size_t k = 0; k < n; ++k) out.u[k] = F(in[0]->u[k]);
}
template <auto F>
void u2(const LaneOp&, In in, Lanes& out, size_t n) {
  for (size_t k = 0; k < n; ++k) out.u[k] = F(in[0]->u[k], in[1]->u[k]);
}
// Integer functions that need the width in bits of the element.
template <auto F>
void w1(const LaneOp& op, In in, Lanes& out, size_t n) {
  int bits = bit_width(op.operand);
  uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  for (size_t k = 0; k < n; ++k) out.u[k] = F(in[0]->u[k] & mask, bits);
}
template <auto F>
void w2(const LaneOp& op, In in, Lanes& out, size_t n) {
  int bits = bit_width(op.operand);
  uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  for (size_t k = 0; k < n; ++k)
    out.u[k] = F(static_cast<int64_t>(in[0]->u[k] << (64 - bits)) >> (64 - bits),
                 in[0]->u[k] & mask, in[1]->u[k] & mask, bits);
}
template <auto F, typename R>
void f1(const LaneOp&, In in, Lanes& out, size_t n) {
  for (size_t k = 0; k < n; ++k) out.f[k] = static_cast<double>(F(static_cast<R>(in[0]->f[k])));
}
template <auto F, typename R>
void f2(const LaneOp&, In in, Lanes& out, size_t n) {
  for (size_t k = 0; k < n; ++k)
    out.f[k] = static_cast<double>(F(static_cast<R>(in[0]->f[k]), static_cast<R>(in[1]->f[k])));
}
template <auto F, typename R>
void c1(const LaneOp&, In in, Lanes& out, size_t n) {
  for (size_t k = 0; k < n; ++k) out.c[k] = std::complex<double>(F(std::complex<R>(in[0]->c[k])));
}
template <auto F, typename R>
void c2(const LaneOp&, In in, Lanes& out, size_t n) {
  for (size_t k = 0; k < n; ++k)
    out.c[k] = std::complex<double>(F(std::complex<R>(in[0]->c[k]), std::complex<R>(in[1]->c[k])));
}
// Complex to real.
template <auto F, typename R>
void cr(const LaneOp&, In in, Lanes& out, size_t n) {
  for (size_t k = 0; k < n; ++k) out.f[k] = static_cast<double>(F(std::complex<R>(in[0]->c[k])));
}
// Floating point to i1.
template <auto F>
void fb(const LaneOp&, In in, Lanes& out, size_t n) {
  for (size_t k = 0; k < n; ++k) out.u[k] = F(in[0]->f[k]);
}

template <auto F>
constexpr Functions real1() {
  return {.f = f1<F, double>, .f64 = f1<F, Real>};
}
template <auto F>
constexpr Functions real2() {
  return {.f = f2<F, double>, .f64 = f2<F, Real>};
}
template <auto F>
constexpr Functions floating1() {
  return {.f = f1<F, double>, .f64 = f1<F, Real>, .c = c1<F, double>, .c128 = c1<F, Real>};
}
template <auto F>
constexpr Functions floating2() {
  return {.f = f2<F, double>, .f64 = f2<F, Real>, .c = c2<F, double>, .c128 = c2<F, Real>};
}
// Exact in double already: f64 needs no wider type.
template <auto F>
constexpr Functions exact1() {
  return {.f = f1<F, double>, .f64 = f1<F, double>};
}
// Only long double versions exist.
template <auto F>
constexpr Functions wide1() {
  return {.f = f1<F, Real>, .f64 = f1<F, Real>};
}
template <auto F>
constexpr Functions wide2() {
  return {.f = f2<F, Real>, .f64 = f2<F, Real>};
}

template <typename T>
constexpr bool kIsComplex = false;
template <typename T>
constexpr bool kIsComplex<std::complex<T>> = true;

// IEEE 754-2019 maximum and minimum: NaN wins, -0 is below +0. Complex numbers are ordered by real
// part, then imaginary.
constexpr auto maximum = [](auto a, auto b) {
  if constexpr (kIsComplex<decltype(a)>) {
    bool less = a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
    return less ? b : a;
  } else {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
  }
};
constexpr auto minimum = [](auto a, auto b) {
  if constexpr (kIsComplex<decltype(a)>) {
    bool less = b.real() < a.real() || (a.real() == b.real() && b.imag() < a.imag());
    return less ? b : a;
  } else {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
  }
};

// Division by zero gives all ones, the quotient of the lowest value and -1 wraps, as on the
// machines XLA runs on; the specification leaves both open.
constexpr auto divide_signed = [](int64_t a, int64_t b) -> int64_t {
  if (b == 0) return -1;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  return a / b;
};
constexpr auto divide_unsigned = [](uint64_t a, uint64_t b) {
  return b == 0 ? ~uint64_t{0} : a / b;
};
constexpr auto remainder_signed = [](int64_t a, int64_t b) -> int64_t {
  return b == 0 ? a : b == -1 ? 0 : a % b;
};
constexpr auto remainder_unsigned = [](uint64_t a, uint64_t b) { return b == 0 ? a : a % b; };

constexpr auto power_unsigned = [](uint64_t base, uint64_t exponent) {
  uint64_t out = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1) out *= base;
  return out;
};
constexpr auto power_signed = [](int64_t base, int64_t exponent) -> int64_t {
  if (exponent >= 0)
    return static_cast<int64_t>(
        power_unsigned(static_cast<uint64_t>(base), static_cast<uint64_t>(exponent)));
  // 1 / base^-exponent, truncated.
  return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
};

// Shifts by the width or more shift everything out; the amount is read as unsigned.
constexpr auto shift_left = [](int64_t, uint64_t x, uint64_t by, int bits) {
  return by >= static_cast<uint64_t>(bits) ? 0 : x << by;
};
constexpr auto shift_right_logical = [](int64_t, uint64_t x, uint64_t by, int bits) {
  return by >= static_cast<uint64_t>(bits) ? 0 : x >> by;
};
constexpr auto shift_right_arithmetic = [](int64_t extended, uint64_t, uint64_t by, int bits) {
  return static_cast<uint64_t>(extended >> (by >= static_cast<uint64_t>(bits) ? 63 : by));
};

constexpr auto multiply = [](auto a, auto b) {
  if constexpr (kIsComplex<decltype(a)>)
    return decltype(a)(a.real() * b.real() - a.imag() * b.imag(),
                       a.real() * b.imag() + a.imag() * b.real());
  else
    return a * b;
};

constexpr auto log_plus_one = [](auto z) {
  if constexpr (kIsComplex<decltype(z)>) {
    auto x = z.real(), y = z.imag();
    auto magnitude = std::hypot(1 + x, y);
    auto real = magnitude > 0.5 && magnitude < 3 ? std::log1p(x * (2 + x) + y * y) / 2
                                                 : std::log(magnitude);
    return decltype(z)(real, std::atan2(y, 1 + x));
  } else {
    return std::log1p(z);
  }
};
constexpr auto exponential_minus_one = [](auto z) {
  if constexpr (kIsComplex<decltype(z)>) {
    auto x = z.real(), y = z.imag();
    auto half = std::sin(y / 2);
    auto real = std::expm1(x) * std::cos(y) - 2 * half * half;
    return decltype(z)(real, y == 0 ? y : std::exp(x) * std::sin(y));
  } else {
    return std::expm1(z);
  }
};
constexpr auto exponential = [](auto z) {
  if constexpr (kIsComplex<decltype(z)>) {
    if (z.imag() == 0) return decltype(z)(std::exp(z.real()), z.imag());
  }
  return std::exp(z);
};
constexpr auto sign = [](auto x) {
  if constexpr (kIsComplex<decltype(x)>) {
    using R = typename decltype(x)::value_type;
    if (std::isnan(x.real()) || std::isnan(x.imag())) {
      R nan = std::numeric_limits<R>::quiet_NaN();
      return decltype(x)(nan, nan);
    }
    if (x == decltype(x)(0)) return decltype(x)(0);
    R magnitude = std::abs(x);
    return decltype(x)(x.real() / magnitude, x.imag() / magnitude);
  } else {
    if (std::isnan(x) || x == 0) return x;
    return x < 0 ? decltype(x)(-1) : decltype(x)(1);
  }
};
constexpr auto logistic = [](auto x) { return decltype(x)(1) / (decltype(x)(1) + std::exp(-x)); };
constexpr auto reciprocal_root = [](auto x) {
  if constexpr (!kIsComplex<decltype(x)>)
    if (x == 0) return decltype(x)(1) / x;  // keeps the sign of zero
  return decltype(x)(1) / std::sqrt(x);
};
constexpr auto cube_root = [](auto x) {
  if constexpr (kIsComplex<decltype(x)>)
    return x == decltype(x)(0) ? x : std::pow(x, decltype(x)(1) / decltype(x)(3));
  else
    return std::cbrt(x);
};
constexpr auto arc_tangent2 = [](auto y, auto x) {
  if constexpr (kIsComplex<decltype(y)>) {
    using C = decltype(y);
    C i(0, 1);
    C rough = -i * std::log((x + i * y) / std::sqrt(x * x + y * y));
    // The same up to half turns, without the logarithm of what is nearly one.
    C exact = std::atan(y / x);
    if (!std::isfinite(exact.real()) || !std::isfinite(exact.imag())) return rough;
    constexpr auto pi = std::numbers::pi_v<typename C::value_type>;
    return C(exact.real() + pi * std::round((rough.real() - exact.real()) / pi), exact.imag());
  } else {
    return std::atan2(y, x);
  }
};

// The order of IEEE 754 totalOrder, as integers.
int64_t order_key(double value) {
  auto bits = std::bit_cast<int64_t>(value);
  return bits ^ ((bits >> 63) & INT64_MAX);
}

template <typename T>
bool holds(CompareDirection direction, T a, T b) {
  switch (direction) {
    case CompareDirection::eq:
      return a == b;
    case CompareDirection::ne:
      return a != b;
    case CompareDirection::ge:
      return a >= b;
    case CompareDirection::gt:
      return a > b;
    case CompareDirection::le:
      return a <= b;
    case CompareDirection::lt:
      return a < b;
  }
  return false;
}

bool holds(CompareDirection direction, std::complex<double> a, std::complex<double> b) {
  if (direction == CompareDirection::eq) return a == b;
  if (direction == CompareDirection::ne) return a != b;
  return a.real() == b.real() ? holds(direction, a.imag(), b.imag())
                              : holds(direction, a.real(), b.real());
}

void compare(const LaneOp& op, In in, Lanes& out, size_t n) {
  switch (lane_class(op.operand)) {
    case LaneClass::signed_:
      for (size_t k = 0; k < n; ++k) out.u[k] = holds(op.direction, in[0]->i[k], in[1]->i[k]);
      break;
    case LaneClass::unsigned_:
      for (size_t k = 0; k < n; ++k) out.u[k] = holds(op.direction, in[0]->u[k], in[1]->u[k]);
      break;
    case LaneClass::real:
      if (op.compare == CompareType::totalorder)
        for (size_t k = 0; k < n; ++k)
          out.u[k] = holds(op.direction, order_key(in[0]->f[k]), order_key(in[1]->f[k]));
      else
        for (size_t k = 0; k < n; ++k) out.u[k] = holds(op.direction, in[0]->f[k], in[1]->f[k]);
      break;
    case LaneClass::complex:
      for (size_t k = 0; k < n; ++k) out.u[k] = holds(op.direction, in[0]->c[k], in[1]->c[k]);
      break;
  }
}

// Truncates; what does not fit saturates and NaN becomes 0 (the specification leaves both open).
int64_t to_signed(double value, int bits) {
  if (std::isnan(value)) return 0;
  double limit = std::ldexp(1.0, bits - 1);
  if (value >= limit) return static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  if (value < -limit) return -static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1) - 1;
  return static_cast<int64_t>(value);
}
uint64_t to_unsigned(double value, int bits) {
  if (std::isnan(value) || value <= -1) return 0;
  if (value >= std::ldexp(1.0, bits)) return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return value < 0 ? 0 : static_cast<uint64_t>(value);
}

void convert(const LaneOp& op, In in, Lanes& out, size_t n) {
  LaneClass from = lane_class(op.operand), to = lane_class(op.result);
  const Lanes& a = *in[0];
  bool integer = from == LaneClass::signed_ || from == LaneClass::unsigned_;
  auto real = [&](size_t k) { return from == LaneClass::complex ? a.c[k].real() : a.f[k]; };
  // Nearest f64, or rounded to odd for narrower results.
  auto from_integer = [&](size_t k) {
    bool is_wide = op.result == DType::f64 || op.result == DType::c128;
    if (from == LaneClass::signed_) return is_wide ? static_cast<double>(a.i[k]) : odd_from(a.i[k]);
    return is_wide ? static_cast<double>(a.u[k]) : odd_from(a.u[k]);
  };
  int bits = bit_width(op.result);
  for (size_t k = 0; k < n; ++k) {
    if (op.result == DType::i1) {
      out.u[k] = integer ? a.u[k] != 0 : real(k) != 0;
    } else if (to == LaneClass::complex) {
      out.c[k] = from == LaneClass::complex
                     ? a.c[k]
                     : std::complex<double>(integer ? from_integer(k) : a.f[k], 0);
    } else if (to == LaneClass::real) {
      out.f[k] = integer ? from_integer(k) : real(k);
    } else if (integer) {
      out.u[k] = a.u[k];
    } else if (to == LaneClass::signed_) {
      out.i[k] = to_signed(real(k), bits);
    } else {
      out.u[k] = to_unsigned(real(k), bits);
    }
  }
}

void select(const LaneOp& op, In in, Lanes& out, size_t n) {
  if (lane_class(op.operand) == LaneClass::complex)
    for (size_t k = 0; k < n; ++k) out.c[k] = in[0]->u[k] ? in[1]->c[k] : in[2]->c[k];
  else
    for (size_t k = 0; k < n; ++k) out.u[k] = in[0]->u[k] ? in[1]->u[k] : in[2]->u[k];
}

// minimum(maximum(operand, min), max)
void clamp(const LaneOp& op, In in, Lanes& out, size_t n) {
  switch (lane_class(op.operand)) {
    case LaneClass::signed_:
      for (size_t k = 0; k < n; ++k)
        out.i[k] = std::min(std::max(in[1]->i[k], in[0]->i[k]), in[2]->i[k]);
      break;
    case LaneClass::unsigned_:
      for (size_t k = 0; k < n; ++k)
        out.u[k] = std::min(std::max(in[1]->u[k], in[0]->u[k]), in[2]->u[k]);
      break;
    case LaneClass::real:
      for (size_t k = 0; k < n; ++k)
        out.f[k] = minimum(maximum(in[1]->f[k], in[0]->f[k]), in[2]->f[k]);
      break;
    case LaneClass::complex:
      for (size_t k = 0; k < n; ++k)
        out.c[k] = minimum(maximum(in[1]->c[k], in[0]->c[k]), in[2]->c[k]);
      break;
  }
}

// T is the element's own type: in a wider one the sum would be rounded twice.
template <typename T>
void fused_multiply_add(const LaneOp&, In in, Lanes& out, size_t n) {
  for (size_t k = 0; k < n; ++k)
    out.f[k] = std::fma(static_cast<T>(in[0]->f[k]), static_cast<T>(in[1]->f[k]),
                        static_cast<T>(in[2]->f[k]));
}

void make_complex(const LaneOp&, In in, Lanes& out, size_t n) {
  for (size_t k = 0; k < n; ++k) out.c[k] = {in[0]->f[k], in[1]->f[k]};
}

// Rounds the significand of an IEEE word and flushes what the narrower exponent cannot hold.
template <typename Bits>
Bits reduce_word(Bits bits, int own_exponent, int own_mantissa, int exponent, int mantissa) {
  Bits sign = static_cast<Bits>(bits & static_cast<Bits>(Bits{1} << (own_exponent + own_mantissa)));
  Bits magnitude = static_cast<Bits>(bits ^ sign);
  Bits infinity = static_cast<Bits>(((Bits{1} << own_exponent) - 1) << own_mantissa);
  if (magnitude > infinity) return bits;
  if (mantissa < own_mantissa) {
    int shift = own_mantissa - mantissa;
    Bits last = static_cast<Bits>((magnitude >> shift) & 1);
    magnitude = static_cast<Bits>(magnitude + (Bits{1} << (shift - 1)) - 1 + last);
    magnitude = static_cast<Bits>((magnitude >> shift) << shift);
  }
  if (exponent < own_exponent) {
    int bias = (1 << (own_exponent - 1)) - 1, reach = (1 << (exponent - 1)) - 1;
    int at = static_cast<int>(magnitude >> own_mantissa);
    if (at > bias + reach) magnitude = infinity;
    if (at <= bias - reach) magnitude = 0;
  }
  return static_cast<Bits>(sign | std::min(magnitude, infinity));
}

void reduce_precision(const LaneOp& op, In in, Lanes& out, size_t n) {
  for (size_t k = 0; k < n; ++k) {
    double x = in[0]->f[k];
    if (op.operand == DType::f64) {
      out.f[k] = std::bit_cast<double>(
          reduce_word(std::bit_cast<uint64_t>(x), 11, 52, op.exponent_bits, op.mantissa_bits));
    } else if (op.operand == DType::f32) {
      auto word = std::bit_cast<uint32_t>(static_cast<float>(x));
      out.f[k] = std::bit_cast<float>(reduce_word(word, 8, 23, op.exponent_bits, op.mantissa_bits));
    } else {
      const FloatFormat& format = float_format(op.operand);
      uint16_t word = reduce_word(encode(format, x), format.exponent_bits, format.mantissa_bits,
                                  op.exponent_bits, op.mantissa_bits);
      out.f[k] = decode(format, word);
    }
  }
}

void next_after(const LaneOp& op, In in, Lanes& out, size_t n) {
  for (size_t k = 0; k < n; ++k) {
    double from = in[0]->f[k], to = in[1]->f[k];
    if (op.operand == DType::f64) {
      out.f[k] = std::nextafter(from, to);
    } else if (op.operand == DType::f32) {
      out.f[k] = std::nextafter(static_cast<float>(from), static_cast<float>(to));
    } else if (std::isnan(from) || std::isnan(to) || from == to) {
      out.f[k] = from == to ? to : std::numeric_limits<double>::quiet_NaN();
    } else {
      const FloatFormat& format = float_format(op.operand);
      uint16_t code = encode(format, from);
      auto sign = static_cast<uint16_t>(1u << (format.exponent_bits + format.mantissa_bits));
      if (from == 0)
        code = static_cast<uint16_t>(to < 0 ? sign | 1 : 1);
      else
        code = static_cast<uint16_t>((to > from) == (from > 0) ? code + 1 : code - 1);
      // Formats without -0 have a NaN there.
      if (code == sign && format.special == FloatFormat::Special::negative_zero_nan) code = 0;
      out.f[k] = decode(format, code);
    }
  }
}

void copy(const LaneOp& op, In in, Lanes& out, size_t n) {
  std::memcpy(out.u, in[0]->u, n * (lane_class(op.operand) == LaneClass::complex ? 16 : 8));
}

void imag_of_real(const LaneOp&, In, Lanes& out, size_t n) {
  for (size_t k = 0; k < n; ++k) out.f[k] = 0;
}

Functions with(Functions base, Fn i, Fn u) {
  base.i = i;
  base.u = u;
  return base;
}

#define ULLAGE_OP(kind, mnemonic, family, operands, results, traits) +1
constexpr size_t kOpCount = 0
#include "ir/ops.def"
    ;

using FunctionTable = std::array<Functions, kOpCount>;

FunctionTable build_functions() {
  FunctionTable t{};
  auto set = [&](OpKind kind, Functions functions) { t[static_cast<size_t>(kind)] = functions; };
  auto all = [](Fn fn) { return Functions{fn, fn, fn, fn, fn, fn}; };

  set(OpKind::abs, {.i = i1<[](int64_t x) {
                      return x < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x;
                    }>,
                    .f = f1<[](double x) { return std::abs(x); }, double>,
                    .f64 = f1<[](double x) { return std::abs(x); }, double>,
                    .c = cr<[](auto z) { return std::abs(z); }, double>,
                    .c128 = cr<[](auto z) { return std::abs(z); }, Real>});
  set(OpKind::cbrt, floating1<cube_root>());
  set(OpKind::ceil, exact1<[](double x) { return std::ceil(x); }>());
  set(OpKind::floor, exact1<[](double x) { return std::floor(x); }>());
  set(OpKind::round_nearest_afz, exact1<[](double x) { return std::round(x); }>());
  set(OpKind::round_nearest_even, exact1<[](double x) { return std::nearbyint(x); }>());
  set(OpKind::cosine, floating1<[](auto x) { return std::cos(x); }>());
  set(OpKind::sine, floating1<[](auto x) { return std::sin(x); }>());
  set(OpKind::tan, floating1<[](auto x) { return std::tan(x); }>());
  set(OpKind::tanh, floating1<[](auto x) { return std::tanh(x); }>());
  set(OpKind::exponential, floating1<exponential>());
  set(OpKind::exponential_minus_one, floating1<exponential_minus_one>());
  set(OpKind::log, floating1<[](auto x) { return std::log(x); }>());
  set(OpKind::log_plus_one, floating1<log_plus_one>());
  set(OpKind::logistic, floating1<logistic>());
  set(OpKind::rsqrt, floating1<reciprocal_root>());
  Functions root = floating1<[](auto x) { return std::sqrt(x); }>();
  root.f64 = root.f;  // sqrt is rounded exactly
  set(OpKind::sqrt, root);
  set(OpKind::sign,
      with(floating1<sign>(), i1<[](int64_t x) -> int64_t { return (x > 0) - (x < 0); }>, nullptr));
  set(OpKind::negate,
      {.i = i1<[](int64_t x) { return static_cast<int64_t>(0 - static_cast<uint64_t>(x)); }>,
       .u = u1<[](uint64_t x) { return 0 - x; }>,
       .f = f1<[](double x) { return -x; }, double>,
       .f64 = f1<[](double x) { return -x; }, double>,
       .c = c1<[](auto z) { return -z; }, double>,
       .c128 = c1<[](auto z) { return -z; }, double>});
  Fn invert = u1<[](uint64_t x) { return ~x; }>;
  set(OpKind::not_, {.i = invert, .u = invert});
  Fn count_zeros = w1<[](uint64_t x, int bits) {
    return static_cast<uint64_t>(std::countl_zero(x) - (64 - bits));
  }>;
  set(OpKind::count_leading_zeros, {.i = count_zeros, .u = count_zeros});
  Fn count_ones = w1<[](uint64_t x, int) { return static_cast<uint64_t>(std::popcount(x)); }>;
  set(OpKind::popcnt, {.i = count_ones, .u = count_ones});
  Fn real_part = cr<[](auto z) { return z.real(); }, double>,
     imag_part = cr<[](auto z) { return z.imag(); }, double>;
  set(OpKind::real, {.f = copy, .f64 = copy, .c = real_part, .c128 = real_part});
  set(OpKind::imag, {.f = imag_of_real, .f64 = imag_of_real, .c = imag_part, .c128 = imag_part});
  Fn finite = fb<[](double x) { return std::isfinite(x); }>;
  set(OpKind::is_finite, {.f = finite, .f64 = finite});
  set(OpKind::reduce_precision, {.f = reduce_precision, .f64 = reduce_precision});

  auto plus = [](auto a, auto b) { return a + b; };
  auto minus = [](auto a, auto b) { return a - b; };
  auto quotient = [](auto a, auto b) { return a / b; };
  // Sums, differences, products and quotients of f64 are rounded once, as IEEE 754 defines them.
  Fn add_u = u2<plus>, sub_u = u2<minus>, mul_u = u2<multiply>;
  set(OpKind::add,
      {add_u, add_u, f2<plus, double>, f2<plus, double>, c2<plus, double>, c2<plus, double>});
  set(OpKind::subtract,
      {sub_u, sub_u, f2<minus, double>, f2<minus, double>, c2<minus, double>, c2<minus, double>});
  set(OpKind::multiply, {mul_u, mul_u, f2<multiply, double>, f2<multiply, double>,
                         c2<multiply, double>, c2<multiply, Real>});
  set(OpKind::divide, {i2<divide_signed>, u2<divide_unsigned>, f2<quotient, double>,
                       f2<quotient, double>, c2<quotient, double>, c2<quotient, Real>});
  Functions modulo = real2<[](auto a, auto b) { return std::fmod(a, b); }>();
  set(OpKind::remainder, with(modulo, i2<remainder_signed>, u2<remainder_unsigned>));
  set(OpKind::maximum,
      with(floating2<maximum>(), i2<[](int64_t a, int64_t b) { return std::max(a, b); }>,
           u2<[](uint64_t a, uint64_t b) { return std::max(a, b); }>));
  set(OpKind::minimum,
      with(floating2<minimum>(), i2<[](int64_t a, int64_t b) { return std::min(a, b); }>,
           u2<[](uint64_t a, uint64_t b) { return std::min(a, b); }>));
  set(OpKind::power, with(floating2<[](auto a, auto b) { return std::pow(a, b); }>(),
                          i2<power_signed>, u2<power_unsigned>));
  set(OpKind::atan2, floating2<arc_tangent2>());
  Fn and_u = u2<[](uint64_t a, uint64_t b) { return a & b; }>,
     or_u = u2<[](uint64_t a, uint64_t b) { return a | b; }>;
  Fn xor_u = u2<[](uint64_t a, uint64_t b) { return a ^ b; }>;
  set(OpKind::and_, {.i = and_u, .u = and_u});
  set(OpKind::or_, {.i = or_u, .u = or_u});
  set(OpKind::xor_, {.i = xor_u, .u = xor_u});
  Fn left = w2<shift_left>, logical = w2<shift_right_logical>,
     arithmetic = w2<shift_right_arithmetic>;
  set(OpKind::shift_left, {.i = left, .u = left});
  set(OpKind::shift_right_logical, {.i = logical, .u = logical});
  set(OpKind::shift_right_arithmetic, {.i = arithmetic, .u = arithmetic});
  set(OpKind::compare, all(compare));
  set(OpKind::convert, all(convert));
  set(OpKind::select, all(select));
  set(OpKind::clamp, all(clamp));
  set(OpKind::fused_multiply_add,
      {.f = fused_multiply_add<float>, .f64 = fused_multiply_add<double>});
  set(OpKind::complex, {.f = make_complex, .f64 = make_complex});

  set(OpKind::chlo_acos, floating1<[](auto x) { return std::acos(x); }>());
  set(OpKind::chlo_acosh, floating1<[](auto x) { return std::acosh(x); }>());
  set(OpKind::chlo_asin, floating1<[](auto x) { return std::asin(x); }>());
  set(OpKind::chlo_asinh, floating1<[](auto x) { return std::asinh(x); }>());
  set(OpKind::chlo_atan, floating1<[](auto x) { return std::atan(x); }>());
  set(OpKind::chlo_atanh, floating1<[](auto x) { return std::atanh(x); }>());
  set(OpKind::chlo_cosh, floating1<[](auto x) { return std::cosh(x); }>());
  set(OpKind::chlo_sinh, floating1<[](auto x) { return std::sinh(x); }>());
  set(OpKind::chlo_tan, floating1<[](auto x) { return std::tan(x); }>());
  set(OpKind::chlo_conj, {.i = copy,
                          .u = copy,
                          .f = copy,
                          .f64 = copy,
                          .c = c1<[](auto z) { return std::conj(z); }, double>,
                          .c128 = c1<[](auto z) { return std::conj(z); }, double>});
  auto square = [](auto x) { return multiply(x, x); };
  Fn square_u = u1<square>;
  set(OpKind::chlo_square, {square_u, square_u, f1<square, double>, f1<square, double>,
                            c1<square, double>, c1<square, Real>});
  set(OpKind::chlo_erf, real1<[](auto x) { return std::erf(x); }>());
  set(OpKind::chlo_erfc, real1<[](auto x) { return std::erfc(x); }>());
  set(OpKind::chlo_lgamma, real1<[](auto x) { return std::lgamma(x); }>());
  set(OpKind::chlo_erf_inv, wide1<[](Real x) { return erf_inv(x); }>());
  set(OpKind::chlo_digamma, wide1<[](Real x) { return digamma(x); }>());
  set(OpKind::chlo_bessel_i1e, wide1<[](Real x) { return bessel_i1e(x); }>());
  set(OpKind::chlo_polygamma, wide2<[](Real n, Real x) { return polygamma(n, x); }>());
  set(OpKind::chlo_zeta, wide2<[](Real x, Real q) { return hurwitz_zeta(x, q); }>());
  Fn inf = fb<[](double x) { return std::isinf(x); }>;
  Fn positive = fb<[](double x) { return x == HUGE_VAL; }>,
     negative = fb<[](double x) { return x == -HUGE_VAL; }>;
  set(OpKind::chlo_is_inf, {.f = inf, .f64 = inf});
  set(OpKind::chlo_is_pos_inf, {.f = positive, .f64 = positive});
  set(OpKind::chlo_is_neg_inf, {.f = negative, .f64 = negative});
  set(OpKind::chlo_next_after, {.f = next_after, .f64 = next_after});
  return t;
}

const Functions& functions_of(OpKind kind) {
  static const FunctionTable table = build_functions();
  return table[static_cast<size_t>(kind)];
}

Fn pick(const Functions& functions, DType dtype) {
  switch (lane_class(dtype)) {
    case LaneClass::signed_:
      return functions.i;
    case LaneClass::unsigned_:
      return functions.u;
    case LaneClass::real:
      return dtype == DType::f64 ? functions.f64 : functions.f;
    case LaneClass::complex:
      return dtype == DType::c128 ? functions.c128 : functions.c;
  }
  return nullptr;
}

}  // namespace

bool is_lane_op(OpKind kind) {
  const Functions& f = functions_of(kind);
  return f.i || f.u || f.f || f.c;
}

Result<LaneOp> lane_op(OpKind kind, std::span<const DType> operands, DType result,
                       const Attributes& attributes) {
  LaneOp op;
  op.operand = operands.back();
  op.result = result;
  if (const auto* a = std::get_if<CompareAttributes>(&attributes)) {
    op.direction = a->direction;
    op.compare = a->type;
  }
  if (const auto* a = std::get_if<ReducePrecisionAttributes>(&attributes)) {
    op.exponent_bits = static_cast<int>(a->exponent_bits);
    op.mantissa_bits = static_cast<int>(a->mantissa_bits);
  }
  // On truth values addition is "or" and multiplication "and".
  if (op.operand == DType::i1 && (kind == OpKind::add || kind == OpKind::multiply))
    kind = kind == OpKind::add ? OpKind::or_ : OpKind::and_;
  op.function = pick(functions_of(kind), op.operand);
  if (!op.function)
    return error(fmt::format("the interpreter has no {} for elements of type {}",
                             info(kind).mnemonic, name(op.operand)));
  return op;
}

}  // namespace ullage::interp
