#include "interp/product.h"

#include <algorithm>
#include <numeric>

#include "interp/index_space.h"
#include "interp/lanes.h"

namespace ullage::interp {

namespace {

template <typename T>
constexpr bool kComplex = false;
template <typename T>
constexpr bool kComplex<std::complex<T>> = true;

}  // namespace

template <typename T>
std::vector<T> widen(const Tensor& tensor, const Dims& order) {
  std::vector<int64_t> shape;
  Index strides, own = row_major_strides(tensor.shape());
  for (int64_t d : order) {
    shape.push_back(tensor.shape()[static_cast<size_t>(d)]);
    strides.push_back(own[static_cast<size_t>(d)]);
  }
  Tensor ordered(Type::tensor(tensor.dtype(), shape));
  auto width = static_cast<size_t>(storage_bytes(tensor.dtype()));
  copy_box(width, shape, tensor.data(), strides, ordered.mutable_data(), row_major_strides(shape));
  std::vector<T> out(static_cast<size_t>(ordered.num_elements()));
  Lanes lanes;
  LaneClass cls = lane_class(tensor.dtype());
  for (size_t at = 0; at < out.size(); at += kLanes) {
    size_t n = std::min(out.size() - at, kLanes);
    load(tensor.dtype(), ordered.data() + at * width, n, lanes);
    for (size_t k = 0; k < n; ++k) {
      if constexpr (std::is_same_v<T, uint64_t>) {
        out[at + k] = lanes.u[k];
      } else if (cls == LaneClass::complex) {
        if constexpr (kComplex<T>)
          out[at + k] = T(static_cast<typename T::value_type>(lanes.c[k].real()),
                          static_cast<typename T::value_type>(lanes.c[k].imag()));
        else
          out[at + k] = static_cast<T>(lanes.c[k].real());
      } else {
        using R = decltype(std::real(T{}));
        out[at + k] = cls == LaneClass::real      ? static_cast<R>(lanes.f[k])
                      : cls == LaneClass::signed_ ? static_cast<R>(lanes.i[k])
                                                  : static_cast<R>(lanes.u[k]);
      }
    }
  }
  return out;
}

template <typename T>
std::vector<T> widen(const Tensor& tensor) {
  Dims order(tensor.shape().size());
  std::iota(order.begin(), order.end(), 0);
  return widen<T>(tensor, order);
}

template <typename T>
void narrow(const std::vector<T>& values, Tensor& out) {
  int64_t width = storage_bytes(out.dtype());
  std::byte* to = out.mutable_data();
  LaneClass cls = lane_class(out.dtype());
  Lanes lanes;
  for (size_t at = 0; at < values.size(); at += kLanes) {
    size_t n = std::min(values.size() - at, kLanes);
    for (size_t k = 0; k < n; ++k) {
      const T& value = values[at + k];
      if constexpr (std::is_same_v<T, uint64_t>) {
        lanes.u[k] = value;
      } else if (cls == LaneClass::complex) {
        lanes.c[k] = {static_cast<double>(std::real(value)), static_cast<double>(std::imag(value))};
      } else if (cls == LaneClass::real) {
        lanes.f[k] = static_cast<double>(std::real(value));
      } else {
        lanes.i[k] = static_cast<int64_t>(std::real(value));
      }
    }
    store(out.dtype(), lanes, n, to + static_cast<int64_t>(at) * width);
  }
}

// Wider vectors where the machine has them. Products and sums stay separate operations (no
// contraction), so results do not depend on it. Sanitizers do not get along with the indirect calls
// this makes.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ULLAGE_CLONES __attribute__((target_clones("avx2", "default"), optimize("O3")))
#else
#define ULLAGE_CLONES
#endif

// Four rows of c at a time, so that each row of b is read a quarter as often.
template <typename T>
[[gnu::always_inline]] inline void four_rows_of(const T* a, const T* b, T* __restrict c,
                                                int64_t inner, int64_t columns) {
  T *c0 = c, *c1 = c + columns, *c2 = c + 2 * columns, *c3 = c + 3 * columns;
  for (int64_t k = 0; k < inner; ++k) {
    T x0 = a[k], x1 = a[inner + k], x2 = a[2 * inner + k], x3 = a[3 * inner + k];
    const T* row = b + k * columns;
#pragma GCC ivdep
    for (int64_t j = 0; j < columns; ++j) {
      c0[j] += x0 * row[j];
      c1[j] += x1 * row[j];
      c2[j] += x2 * row[j];
      c3[j] += x3 * row[j];
    }
  }
}
ULLAGE_CLONES
static void four_rows(const float* a, const float* b, float* c, int64_t inner, int64_t columns) {
  four_rows_of(a, b, c, inner, columns);
}
ULLAGE_CLONES
static void four_rows(const double* a, const double* b, double* c, int64_t inner, int64_t columns) {
  four_rows_of(a, b, c, inner, columns);
}

template <typename T>
void multiply_add(const T* a, const T* b, T* c, int64_t rows, int64_t inner, int64_t columns) {
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    for (; i + 4 <= rows; i += 4) four_rows(a + i * inner, b, c + i * columns, inner, columns);
  for (; i < rows; ++i) {
    T* out = c + i * columns;
    for (int64_t k = 0; k < inner; ++k) {
      T x = a[i * inner + k];
      const T* row = b + k * columns;
      for (int64_t j = 0; j < columns; ++j) {
        if constexpr (kComplex<T>)
          out[j] += T(x.real() * row[j].real() - x.imag() * row[j].imag(),
                      x.real() * row[j].imag() + x.imag() * row[j].real());
        else
          out[j] += x * row[j];
      }
    }
  }
}

#define ULLAGE_INSTANTIATE(T)                                   \
  template std::vector<T> widen<T>(const Tensor&, const Dims&); \
  template std::vector<T> widen<T>(const Tensor&);              \
  template void narrow<T>(const std::vector<T>&, Tensor&);      \
  template void multiply_add<T>(const T*, const T*, T*, int64_t, int64_t, int64_t);
ULLAGE_INSTANTIATE(float)
ULLAGE_INSTANTIATE(double)
ULLAGE_INSTANTIATE(std::complex<float>)
ULLAGE_INSTANTIATE(std::complex<double>)
ULLAGE_INSTANTIATE(uint64_t)
#undef ULLAGE_INSTANTIATE

}  // namespace ullage::interp
