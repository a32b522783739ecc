// Fourier transforms against the interpreter, which computes in long double: every kind, ranks,
// lengths with all sorts of factors, both precisions.
#include "library_testing.h"

namespace ullage {
namespace {

using namespace testing_cpu;

void check_fft(const std::string& kind, DType complex, const std::vector<int64_t>& shape,
               size_t rank) {
  bool wide = complex == DType::c128;
  DType real = wide ? DType::f64 : DType::f32;
  std::vector<int64_t> half = shape;
  half.back() = shape.back() / 2 + 1;
  std::string length;
  for (size_t d = shape.size() - rank; d < shape.size(); ++d)
    length += (length.empty() ? "" : ", ") + std::to_string(shape[d]);
  const std::vector<int64_t>& in_shape = kind == "IRFFT" ? half : shape;
  DType in_dtype = kind == "RFFT" ? real : complex;
  std::string in = shaped(in_shape, spelled(in_dtype));
  std::string out = kind == "IRFFT"  ? shaped(shape, spelled(real))
                    : kind == "RFFT" ? shaped(half, spelled(complex))
                                     : in;
  std::string text = "func.func public @main(%a: " + in + ") -> " + out +
                     " {\n  %0 = stablehlo.fft %a, type = " + kind + ", length = [" + length +
                     "] : (" + in + ") -> " + out + "\n  return %0 : " + out + "\n}\n";
  Tensor input = random_tensor(in_dtype, in_shape, 3);
  std::vector<Tensor> want = interpreted(text, {input});
  std::vector<Tensor> got = compiled(text, {input});
  ASSERT_EQ(got.size(), 1u);
  expect_near(got[0], want[0], wide ? 2e-15 : 1e-6, text);
  expect_same_bits(compiled(text, {input}, 3), got, text);
}

TEST(Fft, Lengths) {
  // Powers of two, mixed factors, odd ones, a great prime, its double, and twice a great prime.
  for (int64_t n : {1,  2,  3,  4,   5,   6,   7,   8,   12,   15,   16,   30,  32,
                    49, 61, 64, 128, 131, 262, 360, 512, 1000, 1024, 2048, 8192})
    for (const char* kind : {"FFT", "IFFT", "RFFT", "IRFFT"})
      for (DType complex : {DType::c64, DType::c128}) check_fft(kind, complex, {3, n}, 1);
}

TEST(Fft, OddFactorsRoundOnce) {
  for (int64_t n : {7, 17, 31, 61}) {
    const std::string type = "tensor<21x" + std::to_string(n) + "xcomplex<f32>>";
    const std::string text = "func.func public @main(%a: " + type + ") -> " + type +
                             " {\n  %0 = stablehlo.fft %a, type = FFT, length = [" +
                             std::to_string(n) + "] : (" + type + ") -> " + type +
                             "\n  return %0 : " + type + "\n}\n";
    Tensor input = random_tensor(DType::c64, {21, n}, 5);
    std::vector<double> want = parts(interpreted(text, {input})[0]);
    std::vector<double> got = parts(compiled(text, {input})[0]);
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 0x1p-23 * std::fabs(want[i])) << n << ", element " << i;
  }
}

TEST(Fft, ManyShortLines) {
  for (const char* kind : {"FFT", "IFFT", "RFFT", "IRFFT"})
    for (int64_t n : {9, 20, 64}) check_fft(kind, DType::c64, {37, n}, 1);
}

TEST(Fft, Ranks) {
  for (const char* kind : {"FFT", "IFFT", "RFFT", "IRFFT"})
    for (DType complex : {DType::c64, DType::c128}) {
      check_fft(kind, complex, {12, 20}, 2);
      check_fft(kind, complex, {2, 67, 34}, 2);
      check_fft(kind, complex, {2, 5, 16, 18}, 3);
      check_fft(kind, complex, {3, 4, 7}, 3);
    }
}

}  // namespace
}  // namespace ullage
