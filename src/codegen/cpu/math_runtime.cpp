// What generated code may call: the C library's double-precision functions and a few of our own.
#include <math.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <string>
#include <unordered_map>

#include "codegen/cpu/jit.h"
#include "codegen/cpu/special_functions.h"

extern "C" {
// Conversions to and from f16 of the compiler's own library, for hosts without instructions for it.
// Only their addresses are taken here.
void __extendhfsf2();
void __truncsfhf2();
void __truncdfhf2();
}

namespace ullage {
namespace {

using Complex = std::complex<double>;

// Functions of complex numbers that the library lacks or has less exactly.
Complex log_plus_one(Complex z) {
  // log|1 + z| by way of |1 + z|^2 - 1, so that small z keep their digits.
  double x = z.real(), y = z.imag();
  if (std::fabs(x) < 0.5 && std::fabs(y) < 0.5)
    return {0.5 * std::log1p(x * (2 + x) + y * y), std::atan2(y, 1 + x)};
  return std::log(Complex(1 + x, y));
}
Complex exp_minus_one(Complex z) {
  double x = z.real(), y = z.imag(), half = std::sin(0.5 * y);
  double real = std::expm1(x) * std::cos(y) - 2 * half * half;
  return {real, y == 0 ? y : std::exp(x) * std::sin(y)};
}
Complex logistic(Complex z) {
  return Complex(1) / (Complex(1) + std::exp(-z));
}
Complex cube_root(Complex z) {
  if (z == Complex(0)) return z;
  return std::polar(std::cbrt(std::abs(z)), std::arg(z) / 3);
}
Complex reciprocal_root(Complex z) {
  return Complex(1) / std::sqrt(z);
}

// One row for each function of a complex number: its two parts, as functions of two reals.
#define ULLAGE_COMPLEX_FUNCTIONS(row)                                                     \
  row(log, std::log(z)) row(log_plus_one, log_plus_one(z))                                \
      row(exponential_minus_one, exp_minus_one(z)) row(sqrt, std::sqrt(z))                \
          row(rsqrt, reciprocal_root(z)) row(cbrt, cube_root(z)) row(tanh, std::tanh(z))  \
              row(tan, std::tan(z)) row(sine, std::sin(z)) row(cosine, std::cos(z))       \
                  row(logistic, logistic(z)) row(chlo_acos, std::acos(z))                 \
                      row(chlo_acosh, std::acosh(z)) row(chlo_asin, std::asin(z))         \
                          row(chlo_asinh, std::asinh(z)) row(chlo_atan, std::atan(z))     \
                              row(chlo_atanh, std::atanh(z)) row(chlo_sinh, std::sinh(z)) \
                                  row(chlo_cosh, std::cosh(z)) row(chlo_tan, std::tan(z))

#define ULLAGE_COMPLEX_PARTS(name, expression)       \
  double complex_##name##_real(double x, double y) { \
    Complex z(x, y);                                 \
    return (expression).real();                      \
  }                                                  \
  double complex_##name##_imag(double x, double y) { \
    Complex z(x, y);                                 \
    return (expression).imag();                      \
  }
ULLAGE_COMPLEX_FUNCTIONS(ULLAGE_COMPLEX_PARTS)
#undef ULLAGE_COMPLEX_PARTS

using Unary = double (*)(double);
using Binary = double (*)(double, double);
void* of(Unary function) {
  return reinterpret_cast<void*>(function);
}
void* of(Binary function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

void* runtime_symbol(const std::string& name) {
  static const std::unordered_map<std::string, void*> table = {
      {"exp", of(static_cast<Unary>(::exp))},
      {"expm1", of(static_cast<Unary>(::expm1))},
      {"log", of(static_cast<Unary>(::log))},
      {"log1p", of(static_cast<Unary>(::log1p))},
      {"tanh", of(static_cast<Unary>(::tanh))},
      {"sin", of(static_cast<Unary>(::sin))},
      {"cos", of(static_cast<Unary>(::cos))},
      {"tan", of(static_cast<Unary>(::tan))},
      {"cbrt", of(static_cast<Unary>(::cbrt))},
      {"erf", of(static_cast<Unary>(::erf))},
      {"erfc", of(static_cast<Unary>(::erfc))},
      {"acos", of(static_cast<Unary>(::acos))},
      {"acosh", of(static_cast<Unary>(::acosh))},
      {"asin", of(static_cast<Unary>(::asin))},
      {"asinh", of(static_cast<Unary>(::asinh))},
      {"atan", of(static_cast<Unary>(::atan))},
      {"atanh", of(static_cast<Unary>(::atanh))},
      {"sinh", of(static_cast<Unary>(::sinh))},
      {"cosh", of(static_cast<Unary>(::cosh))},
      {"pow", of(static_cast<Binary>(::pow))},
      {"atan2", of(static_cast<Binary>(::atan2))},
      {"fmod", of(static_cast<Binary>(::fmod))},
      // What the code generator calls where the processor has no rounding instructions.
      {"trunc", of(static_cast<Unary>(::trunc))},
      {"floor", of(static_cast<Unary>(::floor))},
      {"ceil", of(static_cast<Unary>(::ceil))},
      {"roundeven", of(static_cast<Unary>(::roundeven))},
      {"truncf", reinterpret_cast<void*>(static_cast<float (*)(float)>(::truncf))},
      {"floorf", reinterpret_cast<void*>(static_cast<float (*)(float)>(::floorf))},
      {"ceilf", reinterpret_cast<void*>(static_cast<float (*)(float)>(::ceilf))},
      {"roundevenf", reinterpret_cast<void*>(static_cast<float (*)(float)>(::roundevenf))},
      {"__extendhfsf2", reinterpret_cast<void*>(&__extendhfsf2)},
      {"__truncsfhf2", reinterpret_cast<void*>(&__truncsfhf2)},
      {"__truncdfhf2", reinterpret_cast<void*>(&__truncdfhf2)},
      {"memcpy",
       reinterpret_cast<void*>(static_cast<void* (*)(void*, const void*, size_t)>(::memcpy))},
      {"memset", reinterpret_cast<void*>(static_cast<void* (*)(void*, int, size_t)>(::memset))},
#define ULLAGE_COMPLEX_ROWS(name, expression)                   \
  {"ullage_complex_" #name "_real", of(complex_##name##_real)}, \
      {"ullage_complex_" #name "_imag", of(complex_##name##_imag)},
      ULLAGE_COMPLEX_FUNCTIONS(ULLAGE_COMPLEX_ROWS)
#undef ULLAGE_COMPLEX_ROWS
          {"ullage_logistic", of(static_cast<Unary>(cpu::logistic))},
      {"ullage_lgamma", of(cpu::log_gamma)},
      {"ullage_digamma", of(cpu::digamma)},
      {"ullage_erf_inv", of(cpu::erf_inv)},
      {"ullage_bessel_i1e", of(cpu::bessel_i1e)},
      {"ullage_zeta", of(cpu::zeta)},
      {"ullage_polygamma", of(cpu::polygamma)},
  };
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace ullage
