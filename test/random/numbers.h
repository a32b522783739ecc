// Numbers in tensors of any floating or complex element type, as doubles: for error bounds and
// comparisons.
#pragma once

#include <complex>
#include <span>
#include <vector>

#include "interp/tensor.h"

namespace ullage::random_programs {

// Real types give the real number with imaginary part 0.
std::complex<double> number_at(const Tensor& tensor, int64_t index);
void store_number_at(Tensor& tensor, int64_t index, std::complex<double> value);

bool is_inexact_type(DType dtype);  // floating or complex
int precision_bits(DType dtype);    // of the mantissa with its hidden bit
// The distance between neighbouring numbers of the type at this magnitude.
double spacing(DType dtype, double magnitude);

// The same shape in f64 (or, for complex elements, c128).
Tensor widened(const Tensor& tensor);
// Magnitudes as f64, infinities and NaNs as 0, plus an error each if `error` is not empty.
Tensor magnitudes(const Tensor& tensor, std::span<const double> error);
Tensor tensor_of(std::span<const double> values, std::vector<int64_t> shape);
bool has_nan(const Tensor& tensor);

// The largest e such that every finite element is a multiple of 2^e; large where all are zero.
int granularity(const Tensor& tensor);

}  // namespace ullage::random_programs
