// Fourier transforms, by splitting off the smallest prime factor again and again (Cooley and
// Tukey), in long double.
#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "interp/eval.h"
#include "interp/index_space.h"
#include "interp/product.h"

namespace ullage::interp {

namespace {

using Complex = std::complex<long double>;

int64_t smallest_factor(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p)
    if (n % p == 0) return p;
  return n;
}

// roots[k] = exp(sign 2 pi i k / size); n divides size.
void transform(const Complex* in, int64_t stride, Complex* out, int64_t n,
               const std::vector<Complex>& roots) {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  int64_t p = smallest_factor(n), m = n / p, size = static_cast<int64_t>(roots.size()),
          step = size / n;
  for (int64_t r = 0; r < p; ++r) transform(in + r * stride, stride * p, out + r * m, m, roots);
  std::vector<Complex> column(static_cast<size_t>(p));
  for (int64_t k = 0; k < m; ++k) {
    for (int64_t r = 0; r < p; ++r) column[static_cast<size_t>(r)] = out[r * m + k];
    for (int64_t q = 0; q < p; ++q) {
      Complex sum = 0;
      for (int64_t r = 0; r < p; ++r) {
        const Complex& root = roots[static_cast<size_t>(r * (k + q * m) % n * step)];
        const Complex& x = column[static_cast<size_t>(r)];
        sum += Complex(root.real() * x.real() - root.imag() * x.imag(),
                       root.real() * x.imag() + root.imag() * x.real());
      }
      out[q * m + k] = sum;
    }
  }
}

// Transforms every line along `dim`; the inverse is scaled by 1/n.
void transform_dim(std::vector<Complex>& values, const std::vector<int64_t>& shape, size_t dim,
                   bool inverse) {
  int64_t n = shape[dim], stride = row_major_strides(shape)[dim];
  if (values.empty()) return;
  std::vector<Complex> roots(static_cast<size_t>(n)), line(static_cast<size_t>(n)),
      out(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) {
    long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(k) /
                        static_cast<long double>(n);
    roots[static_cast<size_t>(k)] = {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
  }
  std::vector<int64_t> lines = shape;
  lines[dim] = 1;
  Index strides = row_major_strides(shape);
  for_each_index(lines, [&](const Index& index) {
    Complex* base = values.data() + dot(index, strides);
    for (int64_t k = 0; k < n; ++k) line[static_cast<size_t>(k)] = base[k * stride];
    transform(line.data(), 1, out.data(), n, roots);
    for (int64_t k = 0; k < n; ++k)
      base[k * stride] = inverse ? out[static_cast<size_t>(k)] / static_cast<long double>(n)
                                 : out[static_cast<size_t>(k)];
  });
}

Result<Tensors> evaluate_fft(Evaluation& e) {
  const auto& a = e.op.as<FftAttributes>();
  const Tensor& operand = e.operands[0];
  std::vector<Complex> values;
  for (const std::complex<double>& x : widen<std::complex<double>>(operand)) values.emplace_back(x);
  std::vector<int64_t> shape = operand.shape();
  size_t last = shape.size() - 1, first = shape.size() - a.length.size();
  // Resizes the last dimension; f(line, k) gives element k of the new line.
  auto resize_last = [&](int64_t extent, auto f) {
    int64_t old = shape[last], lines = 1;
    for (size_t d = 0; d < last; ++d) lines *= shape[d];
    std::vector<Complex> out;
    out.reserve(static_cast<size_t>(lines * extent));
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t k = 0; k < extent; ++k) out.push_back(f(values.data() + line * old, k));
    values = std::move(out);
    shape[last] = extent;
  };
  bool inverse = a.type == FftType::ifft || a.type == FftType::irfft;
  if (a.type == FftType::irfft) {
    for (size_t d = first; d < last; ++d) transform_dim(values, shape, d, true);
    // The full line is Hermitian: what is missing is the conjugate of the mirrored element.
    int64_t n = a.length.back();
    resize_last(n, [&](const Complex* line, int64_t k) {
      return k <= n / 2 ? line[k] : std::conj(line[n - k]);
    });
    transform_dim(values, shape, last, true);
  } else {
    transform_dim(values, shape, last, inverse);
    if (a.type == FftType::rfft)
      resize_last(e.types[0].shape[last], [](const Complex* line, int64_t k) { return line[k]; });
    for (size_t d = first; d < last; ++d) transform_dim(values, shape, d, inverse);
  }
  Tensor out(e.types[0]);
  std::vector<std::complex<double>> rounded;
  rounded.reserve(values.size());
  for (const Complex& x : values)
    rounded.emplace_back(static_cast<double>(x.real()), static_cast<double>(x.imag()));
  narrow(rounded, out);
  return Tensors{std::move(out)};
}

constexpr HandlerRow kRows[] = {{OpKind::fft, evaluate_fft}};

}  // namespace

std::span<const HandlerRow> fft_handlers() {
  return kRows;
}

}  // namespace ullage::interp
