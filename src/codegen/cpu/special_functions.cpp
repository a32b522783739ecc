#include "codegen/cpu/special_functions.h"

#include <math.h>

#include <cmath>
#include <limits>

namespace ullage::cpu {

double logistic(double x) {
  double exponential = std::exp(-std::fabs(x));
  return (x < 0 ? exponential : 1.0) / (1.0 + exponential);
}

double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

// Upward recurrence to 10, then the asymptotic series; reflection for negative arguments.
double digamma(double x) {
  if (x == 0) return std::numeric_limits<double>::quiet_NaN();
  if (x < 0) {
    double fraction = x - std::nearbyint(x);  // exact, and small numbers keep their digits
    if (fraction == 0) return std::numeric_limits<double>::quiet_NaN();
    return digamma(1 - x) - M_PI / std::tan(M_PI * fraction);
  }
  double shift = 0;
  for (; x < 10; x += 1) shift -= 1 / x;
  double z = 1 / (x * x);
  double series =
      z *
      (1.0 / 12 -
       z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760))))));
  return shift + std::log(x) - 0.5 / x - series;
}

// Winitzki's closed form as a start, then Newton steps with Halley's correction on erf or, near the
// ends, erfc.
double erf_inv(double y) {
  double a = std::fabs(y);
  if (!(a < 1))
    return a == 1 ? std::copysign(std::numeric_limits<double>::infinity(), y)
                  : std::numeric_limits<double>::quiet_NaN();
  if (y == 0) return y;
  double log_term = std::log1p(-a * a);
  double t = 2 / (M_PI * 0.147) + log_term / 2;
  double x = std::sqrt(std::sqrt(t * t - log_term / 0.147) - t);
  for (int i = 0; i < 3; ++i) {
    double excess = a < 0.5 ? std::erf(x) - a : (1 - a) - std::erfc(x);
    double step = excess / (M_2_SQRTPI * std::exp(-x * x));
    x -= step / (1 + x * step);
  }
  return std::copysign(x, y);
}

// The power series, all of whose terms are positive, or the asymptotic one for large arguments
// (DLMF 10.25.2, 10.40.1).
double bessel_i1e(double x) {
  double a = std::fabs(x);
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return std::copysign(0.0, x);
  double sum = 0;
  if (a < 24) {
    double term = a / 2, square = term * term;
    for (int k = 1; term > sum * 1e-18 && term > 0; ++k) {
      sum += term;
      term *= square / (k * (k + 1.0));
    }
    return std::copysign(sum * std::exp(-a), x);
  }
  double term = 1;
  for (int k = 1; k < 32; ++k) {
    sum += term;
    double odd = 2 * k - 1;
    double next = term * (odd * odd - 4) / (8 * a * k);
    if (std::fabs(next) >= std::fabs(term) || std::fabs(next) < 1e-18) break;
    term = next;
  }
  // The product under the root would overflow.
  double root = a < 1e300 ? std::sqrt(2 * M_PI * a) : std::sqrt(2 * M_PI) * std::sqrt(a);
  return std::copysign(sum / root, x);
}

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The sum over k >= 0 of ((q + k) / unit)^-s for s > 1 and a q at which no term is infinite, by
// Euler-Maclaurin summation (DLMF 25.11.5): terms up to q + 12, the integral of the rest, and
// corrections by Bernoulli numbers divided by factorials.
double sum_of_powers(double s, double q, double unit) {
  constexpr double kCoefficients[] = {1.0 / 12,
                                      -1.0 / 720,
                                      1.0 / 30240,
                                      -1.0 / 1209600,
                                      1.0 / 47900160,
                                      -691.0 / 1307674368000,
                                      1.0 / 74724249600,
                                      -3617.0 / 10670622842880000,
                                      43867.0 / 5109094217170944000};
  double sum = 0;
  if (q < -64) {
    // The terms at negative numbers, mirrored, are those between two positive ones.
    double rest = q - std::floor(q);
    double mirrored = sum_of_powers(s, 1 - rest, unit) - sum_of_powers(s, 1 - q, unit);
    return (std::fmod(s, 2) == 0 ? mirrored : -mirrored) + sum_of_powers(s, rest, unit);
  }
  for (; q < 0; q += 1) sum += std::pow(q / unit, -s);
  for (int k = 0; k < 12; ++k, q += 1) {
    double term = std::pow(q / unit, -s);
    sum += term;
    if (std::fabs(term) <= std::fabs(sum) * 1e-18) return sum;
  }
  double power = std::pow(q / unit, -s);
  // The integral may be there where the power is not.
  sum += unit * std::pow(q / unit, 1 - s) / (s - 1) + power / 2;
  double factor = s * power / q;
  double order = s;
  for (double coefficient : kCoefficients) {
    double term = coefficient * factor;
    sum += term;
    if (std::fabs(term) <= std::fabs(sum) * 1e-18) break;
    factor *= (order + 1) * (order + 2) / (q * q);
    order += 2;
  }
  return sum;
}

// Terms at opposite numbers cancel where s is odd: where the sum over those of 1 - q begins.
double past_opposites(bool odd, double q) {
  bool halves = q < 0 && q - std::floor(q) == 0.5;
  return odd && halves ? 1 - q : q;
}

}  // namespace

// DLMF 25.11.1.
double zeta(double s, double q) {
  q = past_opposites(std::fmod(s, 2) == 1, q);
  if (!(s >= 1) || std::isnan(q)) return kNan;
  if (s == 1) return kInfinity;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (s != std::floor(s)) return kNan;  // the terms would be complex
  }
  if (std::isinf(q)) return 0;
  if (std::isinf(s)) return q > 1 ? 0 : q == 1 ? 1 : kInfinity;  // what the terms tend to
  return sum_of_powers(s, q, 1);
}

// DLMF 5.15.1: (-1)^(n+1) n! zeta(n + 1, x).
double polygamma(double n, double x) {
  if (n == 0) return digamma(x);
  if (!(n > 0) || std::isinf(n) || n != std::floor(n)) return kNan;
  double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  x = past_opposites(sign < 0, x);
  if (std::isnan(x)) return x;
  if (std::isinf(x) && x > 0) return sign * 0;
  if (x <= 0 && x == std::floor(x)) return sign * kInfinity;
  double powers = zeta(n + 1, x), factorial = std::tgamma(n + 1);
  if (std::isfinite(factorial) && std::isfinite(powers) && std::fabs(powers) > 1e-280)
    return sign * factorial * powers;
  // One of the factors lies outside of what a double holds: the largest term is put apart.
  double above = x - std::floor(x), below = std::ceil(x) - x;
  double largest = x > 0 ? x : std::min(above, below);
  int unread = 0;
  long double scale = std::exp(lgammal_r(n + 1.0L, &unread) -
                               (n + 1.0L) * std::log(static_cast<long double>(largest)));
  if (x < 0 && below < above && sign < 0) sign = 1;  // an odd power of a negative number
  if (scale == 0 || std::isinf(scale)) return sign * static_cast<double>(scale);
  return sign * static_cast<double>(scale * std::fabs(sum_of_powers(n + 1, x, largest)));
}

}  // namespace ullage::cpu
