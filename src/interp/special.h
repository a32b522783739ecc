// Special functions of chlo that the C library lacks, evaluated in long double so that rounding to
// the element type gives the nearest value in almost all cases. Sources: DLMF (dlmf.nist.gov),
// sections named at each. Private to interp/.
#pragma once

namespace ullage::interp {

long double digamma(long double x);                      // DLMF 5.2, 5.5, 5.11
long double hurwitz_zeta(long double s, long double q);  // DLMF 25.11, by Euler-Maclaurin summation
long double polygamma(long double n,
                      long double x);   // DLMF 5.15; n is a non-negative integer, else NaN
long double erf_inv(long double x);     // by Newton's method on erf and erfc
long double bessel_i1e(long double x);  // exp(-|x|) I1(x), DLMF 10.25, 10.40

}  // namespace ullage::interp
