#include "interp/special.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace ullage::interp {

namespace {

constexpr long double kNaN = std::numeric_limits<long double>::quiet_NaN();
constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
constexpr long double kPi = std::numbers::pi_v<long double>;

// B(2k) for k = 1..15.
constexpr long double kBernoulli[] = {1.0L / 6,
                                      -1.0L / 30,
                                      1.0L / 42,
                                      -1.0L / 30,
                                      5.0L / 66,
                                      -691.0L / 2730,
                                      7.0L / 6,
                                      -3617.0L / 510,
                                      43867.0L / 798,
                                      -174611.0L / 330,
                                      854513.0L / 138,
                                      -236364091.0L / 2730,
                                      8553103.0L / 6,
                                      -23749461029.0L / 870,
                                      8615841276005.0L / 14322};

}  // namespace

long double digamma(long double x) {
  if (std::isnan(x) || x == -kInfinity) return kNaN;
  if (x == kInfinity) return x;
  if (x <= 0) {
    if (x == std::floor(x)) return kNaN;  // a pole
    // Reflection, 5.5.4. The argument of tan is reduced first, exactly.
    long double fraction = x - std::nearbyint(x);
    return digamma(1 - x) - kPi / std::tan(kPi * fraction);
  }
  long double sum = 0;
  while (x < 20) {  // 5.5.2
    sum -= 1 / x;
    x += 1;
  }
  long double inverse = 1 / (x * x), power = inverse, series = 0;
  for (int k = 1; k <= 12; ++k, power *= inverse) series += kBernoulli[k - 1] / (2 * k) * power;
  return sum + std::log(x) - 0.5L / x - series;  // 5.11.2
}

// For odd s the terms of -1/2 and 1/2, of -3/2 and 3/2, ... add up to nothing.
static long double after_pairs(bool odd, long double q) {
  return odd && q < 0 && q - std::floor(q) == 0.5L ? 1 - q : q;
}

long double hurwitz_zeta(long double s, long double q) {
  q = after_pairs(std::fmod(s, 2.0L) == 1, q);
  if (std::isnan(s) || std::isnan(q) || s < 1) return kNaN;
  if (s == 1) return kInfinity;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (s != std::floor(s)) return kNaN;  // (q + k)^-s is complex
  }
  if (std::isinf(q)) return 0;
  if (std::isinf(s)) return q > 1 ? 0 : q == 1 ? 1 : kInfinity;  // the limit of its terms
  if (q < -1000) {
    // The terms at negative numbers, (-1)^s times those at positive ones: the sum from the fraction
    // above to 1 - q less what lies beyond.
    long double above = std::ceil(q) - q;
    long double terms = hurwitz_zeta(s, above) - hurwitz_zeta(s, 1 - q);
    return (std::fmod(s, 2.0L) == 0 ? terms : -terms) + hurwitz_zeta(s, 1 - above);
  }
  // Terms up to a point where the expansion has converged to the last bit.
  long double sum = 0;
  int terms = 20;
  while (q < 0) {
    sum += std::pow(q, -s);
    q += 1;
  }
  for (int k = 0; k < terms; ++k) {
    long double term = std::pow(q, -s);
    sum += term;
    if (term < sum * 1e-22L) return sum;
    q += 1;
  }
  sum += std::pow(q, 1 - s) / (s - 1) + 0.5L * std::pow(q, -s);
  long double factor = s * std::pow(q, -s - 1), factorial = 2;
  for (int k = 1; k <= 15; ++k) {
    long double term = kBernoulli[k - 1] / factorial * factor;
    sum += term;
    if (std::abs(term) < std::abs(sum) * 1e-22L) break;
    factor *= (s + 2 * k - 1) * (s + 2 * k) / (q * q);
    factorial *= (2 * k + 1) * (2 * k + 2);
  }
  return sum;
}

long double polygamma(long double n, long double x) {
  if (n == 0) return digamma(x);
  if (n < 0 || n != std::floor(n) || std::isinf(n)) return kNaN;
  long double sign =
      std::fmod(n, 2.0L) == 0 ? -1 : 1;  // 5.15.2 with psi(n)(x) = (-1)^(n+1) n! zeta(n+1, x)
  x = after_pairs(sign < 0, x);
  if (x == kInfinity) return sign * 0.0L;
  bool pole = x <= 0 && x == std::floor(x);
  if (n < 700 || pole || std::isnan(x)) return sign * std::tgamma(n + 1) * hurwitz_zeta(n + 1, x);
  // n! and the powers leave the range of a long double, their product does not. The terms fall so
  // fast that few are seen beside the one nearest to zero.
  long double above = x > 0 ? x : x - std::floor(x), below = x > 0 ? kInfinity : std::ceil(x) - x;
  long double nearest = std::min(above, below), sum = 0;
  long double exponent = std::lgamma(n + 1) - (n + 1) * std::log(nearest);
  if (exponent < -800) return sign * 0.0L;  // below every format's least number
  for (int k = 0; k < 1000; ++k) sum += std::pow((above + k) / nearest, -(n + 1));
  for (int k = 0; k < 10 && x + k < 0; ++k)  // (-1)^(n+1) is the sign again
    sum += sign * std::pow((below + k) / nearest, -(n + 1));
  return sign * std::exp(exponent) * sum;
}

long double erf_inv(long double x) {
  if (std::isnan(x) || std::abs(x) > 1) return kNaN;
  if (std::abs(x) == 1) return std::copysign(kInfinity, x);
  if (x == 0) return x;
  long double a = std::abs(x), tail = 1 - a;
  // A rough start (Winitzki's approximation), good to about 2e-3.
  long double l = std::log1p(-a * a), b = 2 / (kPi * 0.147L) + l / 2;
  long double y = std::sqrt(std::sqrt(b * b - l / 0.147L) - b);
  long double scale = 2 / std::sqrt(kPi);
  for (int i = 0; i < 8; ++i) {
    // Near 1 erf has no resolution left; erfc does.
    long double residual = a < 0.5L ? std::erf(y) - a : tail - std::erfc(y);
    long double step = residual / (scale * std::exp(-y * y));
    step /= 1 + y * step;  // Halley's correction: f''/f' = -2y
    y -= step;
    if (std::abs(step) <= y * 1e-20L) break;
  }
  return std::copysign(y, x);
}

long double bessel_i1e(long double x) {
  if (std::isnan(x)) return x;
  long double a = std::abs(x);
  if (a == kInfinity) return std::copysign(0.0L, x);
  if (a < 40) {  // 10.25.2; all terms positive
    long double term = a / 2, sum = term, quarter = a * a / 4;
    for (int k = 1; k < 400 && term > sum * 1e-22L; ++k) {
      term *= quarter / (static_cast<long double>(k) * (k + 1));
      sum += term;
    }
    return std::copysign(sum * std::exp(-a), x);
  }
  long double term = 1, sum = 1;  // 10.40.1
  for (int k = 1; k < 60; ++k) {
    long double odd = 2 * k - 1, next = term * -(4 - odd * odd) / (k * 8 * a);
    if (std::abs(next) >= std::abs(term)) break;
    term = next;
    sum += term;
    if (std::abs(term) < std::abs(sum) * 1e-22L) break;
  }
  return std::copysign(sum / std::sqrt(2 * kPi * a), x);
}

}  // namespace ullage::interp
