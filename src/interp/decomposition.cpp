// cholesky and triangular_solve, by substitution in double (complex<double>), rounded once at the
// end.
#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <limits>

#include "interp/eval.h"
#include "interp/product.h"

namespace ullage::interp {

namespace {

double conjugate(double x) {
  return x;
}
std::complex<double> conjugate(std::complex<double> x) {
  return std::conj(x);
}

// A = L L^H, reading one triangle of A. What is not positive definite yields NaN. The other
// triangle of the result is 0.
template <typename T>
void factor(T* a, int64_t n, bool lower) {
  auto at = [&](int64_t i, int64_t j) -> T& { return lower ? a[i * n + j] : a[j * n + i]; };
  for (int64_t j = 0; j < n; ++j) {
    double diagonal = std::real(at(j, j));
    for (int64_t k = 0; k < j; ++k) diagonal -= std::norm(at(j, k));
    double root = diagonal > 0 ? std::sqrt(diagonal) : std::numeric_limits<double>::quiet_NaN();
    at(j, j) = root;
    for (int64_t i = j + 1; i < n; ++i) {
      // With the upper triangle, at(i, j) is A[j, i]: the conjugate of what the lower one would
      // hold, consistently.
      T sum = at(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= at(i, k) * conjugate(at(j, k));
      at(i, j) = sum / root;
      at(j, i) = 0;
    }
  }
}

// Solves M x = b for one column; M is triangular as `lower` says.
template <typename M, typename T>
void substitute(M m, T* x, int64_t n, int64_t stride, bool lower, bool unit) {
  for (int64_t step = 0; step < n; ++step) {
    int64_t i = lower ? step : n - 1 - step;
    T sum = x[i * stride];
    for (int64_t k = lower ? 0 : i + 1; k < (lower ? i : n); ++k) sum -= m(i, k) * x[k * stride];
    x[i * stride] = unit ? sum : sum / m(i, i);
  }
}

template <typename T>
void solve(const T* a, T* b, int64_t n, int64_t rows, int64_t columns,
           const TriangularAttributes& t) {
  bool transposed = t.transpose_a != TransposeKind::no_transpose,
       adjoint = t.transpose_a == TransposeKind::adjoint;
  // X op(A) = B is op(A)^T X^T = B^T: one more transposition.
  bool flip = transposed != !t.left_side;
  auto m = [&](int64_t i, int64_t k) {
    T value = flip ? a[k * n + i] : a[i * n + k];
    return adjoint ? conjugate(value) : value;
  };
  bool lower = t.lower != flip;
  if (t.left_side)
    for (int64_t j = 0; j < columns; ++j) substitute(m, b + j, n, columns, lower, t.unit_diagonal);
  else
    for (int64_t i = 0; i < rows; ++i) substitute(m, b + i * columns, n, 1, lower, t.unit_diagonal);
}

template <typename T>
Tensor factor_all(const Tensor& a, bool lower) {
  std::vector<T> values = widen<T>(a);
  int64_t n = a.shape().back();
  for (int64_t at = 0; at < static_cast<int64_t>(values.size()); at += n * n)
    factor(values.data() + at, n, lower);
  Tensor out(a.type());
  narrow(values, out);
  return out;
}

template <typename T>
Tensor solve_all(const Tensor& a, const Tensor& b, const TriangularAttributes& t) {
  std::vector<T> x = widen<T>(a), y = widen<T>(b);
  size_t rank = b.shape().size();
  int64_t n = a.shape().back(), rows = b.shape()[rank - 2], columns = b.shape()[rank - 1];
  for (int64_t at = 0;
       rows * columns > 0 && (at + 1) * rows * columns <= static_cast<int64_t>(y.size()); ++at)
    solve(x.data() + at * n * n, y.data() + at * rows * columns, n, rows, columns, t);
  Tensor out(b.type());
  narrow(y, out);
  return out;
}

Result<Tensors> evaluate_cholesky(Evaluation& e) {
  bool lower = e.op.as<TriangularAttributes>().lower;
  const Tensor& a = e.operands[0];
  if (a.num_elements() == 0) return Tensors{a};
  return Tensors{is_complex(a.dtype()) ? factor_all<std::complex<double>>(a, lower)
                                       : factor_all<double>(a, lower)};
}

Result<Tensors> evaluate_triangular_solve(Evaluation& e) {
  const auto& t = e.op.as<TriangularAttributes>();
  const Tensor& a = e.operands[0];
  return Tensors{is_complex(a.dtype()) ? solve_all<std::complex<double>>(a, e.operands[1], t)
                                       : solve_all<double>(a, e.operands[1], t)};
}

constexpr HandlerRow kRows[] = {
    {OpKind::cholesky, evaluate_cholesky},
    {OpKind::triangular_solve, evaluate_triangular_solve},
};

}  // namespace

std::span<const HandlerRow> decomposition_handlers() {
  return kRows;
}

}  // namespace ullage::interp
