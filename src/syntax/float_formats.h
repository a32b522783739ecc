// Conversion between double and the floating-point element types, to the nearest, ties to even.
// Constants are written in decimal for every type; the bits come from here.
#pragma once

#include <cstdint>
#include <string>

#include "ir/type.h"

namespace ullage::syntax {

// The bits of `value` in a floating type. A value too large becomes infinity, or NaN or the largest
// number in types that have no infinity, as the type's definition says. A NaN stays one where the
// type has any.
uint64_t float_bits(DType dtype, double value);
// Exact, since every type is a subset of double.
double float_value(DType dtype, uint64_t bits);
// True when rounding `value` leaves the type's finite range, which a decimal literal must not.
bool overflows(DType dtype, double value);
// True when the bits are neither infinity nor NaN.
bool is_finite(DType dtype, uint64_t bits);

// The shortest decimals that read back as the same number, with a point: "1.0e+00".
std::string decimal(double value);
std::string decimal(float value);

}  // namespace ullage::syntax
