#include "random/numbers.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "support/float16.h"

namespace ullage::random_programs {

std::complex<double> number_at(const Tensor& tensor, int64_t index) {
  switch (tensor.dtype()) {
    case DType::c64:
      return {static_cast<double>(tensor.as<float>()[2 * index]),
              static_cast<double>(tensor.as<float>()[2 * index + 1])};
    case DType::c128:
      return {tensor.as<double>()[2 * index], tensor.as<double>()[2 * index + 1]};
    case DType::f64:
      return tensor.as<double>()[index];
    case DType::f32:
      return static_cast<double>(tensor.as<float>()[index]);
    default:
      return tensor.real_at(index);
  }
}

void store_number_at(Tensor& tensor, int64_t index, std::complex<double> value) {
  std::byte* at = tensor.mutable_data() + index * storage_bytes(tensor.dtype());
  auto put = [&](auto x) { std::memcpy(at, &x, sizeof x), at += sizeof x; };
  switch (tensor.dtype()) {
    case DType::c64:
      put(static_cast<float>(value.real()));
      put(static_cast<float>(value.imag()));
      return;
    case DType::c128:
      put(value.real());
      put(value.imag());
      return;
    case DType::f64:
      return put(value.real());
    case DType::f32:
      return put(static_cast<float>(value.real()));
    case DType::bf16:
      return put(float_to_bf16(static_cast<float>(value.real())));
    case DType::f16:
      return put(float_to_f16(static_cast<float>(value.real())));
    default:
      ULLAGE_CHECK(false, "no number of this type");
  }
}

bool is_inexact_type(DType dtype) {
  return is_float(dtype) || is_complex(dtype);
}

int precision_bits(DType dtype) {
  switch (real_part(dtype)) {
    case DType::f64:
      return 53;
    case DType::f32:
      return 24;
    case DType::f16:
      return 11;
    case DType::bf16:
      return 8;
    case DType::f8E3M4:
      return 5;
    case DType::f8E4M3:
    case DType::f8E4M3FN:
    case DType::f8E4M3FNUZ:
    case DType::f8E4M3B11FNUZ:
    case DType::f6E2M3FN:
      return 4;
    case DType::f8E5M2:
    case DType::f8E5M2FNUZ:
    case DType::f6E3M2FN:
      return 3;
    case DType::f4E2M1FN:
      return 2;
    default:
      return 1;
  }
}

namespace {

int least_exponent(DType dtype) {  // of the smallest denormal number
  switch (real_part(dtype)) {
    case DType::f64:
      return -1074;
    case DType::f16:
      return -24;
    case DType::f32:
      return -149;
    case DType::bf16:
      return -133;
    default:  // of the types of 8 bits and less: none has smaller numbers
      return -24;
  }
}

// x = odd * 2^result.
int lowest_bit(double x) {
  int exponent = 0;
  double mantissa = std::frexp(std::fabs(x), &exponent);
  auto whole = static_cast<uint64_t>(std::ldexp(mantissa, 53));
  return exponent - 53 + std::countr_zero(whole);
}

}  // namespace

double spacing(DType dtype, double magnitude) {
  int exponent = least_exponent(dtype);
  if (magnitude > 0 && std::isfinite(magnitude)) {
    int e = 0;
    std::frexp(magnitude, &e);
    exponent = std::max(exponent, e - precision_bits(dtype));
  }
  return std::ldexp(1.0, exponent);
}

Tensor widened(const Tensor& tensor) {
  Tensor out(Type::tensor(is_complex(tensor.dtype()) ? DType::c128 : DType::f64, tensor.shape()));
  for (int64_t i = 0; i < tensor.num_elements(); ++i) store_number_at(out, i, number_at(tensor, i));
  return out;
}

Tensor magnitudes(const Tensor& tensor, std::span<const double> error) {
  Tensor out(Type::tensor(DType::f64, tensor.shape()));
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    double m = std::abs(number_at(tensor, i));
    if (!std::isfinite(m)) m = 0;
    store_number_at(out, i, m + (error.empty() ? 0 : error[static_cast<size_t>(i)]));
  }
  return out;
}

Tensor tensor_of(std::span<const double> values, std::vector<int64_t> shape) {
  Tensor out(Type::tensor(DType::f64, std::move(shape)));
  if (!values.empty()) std::memcpy(out.mutable_data(), values.data(), values.size_bytes());
  return out;
}

bool has_nan(const Tensor& tensor) {
  if (!is_inexact_type(tensor.dtype())) return false;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    std::complex<double> x = number_at(tensor, i);
    if (std::isnan(x.real()) || std::isnan(x.imag())) return true;
  }
  return false;
}

int granularity(const Tensor& tensor) {
  int least = 2000;
  auto look = [&](double x) {
    if (x != 0 && std::isfinite(x)) least = std::min(least, lowest_bit(x));
  };
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    std::complex<double> x = number_at(tensor, i);
    look(x.real());
    look(x.imag());
  }
  return least;
}

}  // namespace ullage::random_programs
