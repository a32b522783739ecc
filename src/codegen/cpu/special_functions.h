// Special functions of real numbers that generated code calls, in double precision.
#pragma once

namespace ullage::cpu {

double logistic(double x);
double log_gamma(double x);
double digamma(double x);
double erf_inv(double y);
double bessel_i1e(double x);      // exp(-|x|) I1(x)
double zeta(double s, double q);  // Hurwitz: the sum of (q + k)^-s over k >= 0
double polygamma(double n, double x);

}  // namespace ullage::cpu
