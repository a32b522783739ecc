// Widened tensors and their products, shared by dot_general, convolution and the decompositions.
// Private to interp/.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "interp/tensor.h"
#include "ir/attributes.h"

namespace ullage::interp {

// T is float, double, a complex of them, or uint64_t for integers modulo 2^64.

// All elements of a tensor, its dimensions in the given order.
template <typename T>
std::vector<T> widen(const Tensor& tensor, const Dims& order);
template <typename T>
std::vector<T> widen(const Tensor& tensor);

// Rounds the values to the element type of `out`.
template <typename T>
void narrow(const std::vector<T>& values, Tensor& out);

// c[i, j] += sum over k, in order, of a[i, k] * b[k, j]; row-major, `columns` apart.
template <typename T>
void multiply_add(const T* a, const T* b, T* c, int64_t rows, int64_t inner, int64_t columns);

// Sums of up to this many products are accumulated in f32 when nothing in them is wider; longer
// ones in f64, because there no order of f32 additions is canonical and the one nearest to exact is
// the best judge.
inline constexpr int64_t kShortSum = 64;

// The type in which `length` products for a result of type `result` are accumulated: f(T{}).
template <typename F>
auto with_accumulator(DType lhs, DType rhs, DType result, int64_t length, F f) {
  bool complex = is_complex(lhs) || is_complex(rhs);
  auto is_wide = [](DType dtype) { return real_part(dtype) == DType::f64; };
  bool wide = length > kShortSum || is_wide(lhs) || is_wide(rhs) || is_wide(result);
  if (complex) return wide ? f(std::complex<double>{}) : f(std::complex<float>{});
  if (is_float(lhs) || is_float(rhs) || is_float(result)) return wide ? f(double{}) : f(float{});
  return f(uint64_t{});
}

}  // namespace ullage::interp
