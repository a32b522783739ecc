// The arithmetic of Fourier transforms, once per instruction set: fft_code_impl.h holds the source,
// fft_avx512.cpp, fft_avx2.cpp and fft_baseline.cpp compile it. Real and imaginary parts are in
// planes of their own. Nothing is fused, so all of them give the same bits. Called by
// library_fft.cpp.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/fft_plan.h"

namespace ullage {

// One step of a transform of `n` elements that are `lanes` apart: radix `factor`, after steps that
// have taken apart n / (factor * rest).
template <typename T>
struct FftStep {
  int factor = 2;
  int64_t rest = 1;         // elements left per factor after this step
  int64_t stride = 1;       // product of the factors before
  std::vector<T> twiddles;  // (factor - 1) rows of `rest` real parts, then as many imaginary ones
  // Of unity of order `factor`: real parts, then imaginary ones. For the factors without code of
  // their own only, which are odd.
  std::vector<double> roots;
};

template <typename T>
struct FftPlanes {
  T* re = nullptr;
  T* im = nullptr;
};

template <typename T>
struct FftTransform {
  std::vector<FftStep<T>> steps;
};

template <typename T>
struct FftOperations {
  // Forward transform of `lanes` interleaved lines: element i of line l at [i * lanes + l]. Returns
  // which of the two has the result.
  FftPlanes<T> (*transform)(const FftTransform<T>& plan, int64_t lanes, FftPlanes<T> data,
                            FftPlanes<T> other);
  // Complex elements one after another, to planes and back.
  void (*split)(const T* from, FftPlanes<T> to, int64_t count);
  void (*join)(FftPlanes<T> from, T* to, int64_t count, T scale);
  // data[k] *= by[k]
  void (*multiply)(FftPlanes<T> data, const T* re, const T* im, int64_t count);
  // The spectrum of 2 * length real elements from that of the complex elements they make, two by
  // two, and back (times 2 * length); roots[k] = exp(-2 pi i k / (2 * length)).
  void (*to_real_spectrum)(FftPlanes<T> z, const T* re, const T* im, int64_t length, T* out);
  void (*from_real_spectrum)(const T* spectrum, const T* re, const T* im, int64_t length,
                             FftPlanes<T> z);
};

struct FftCode {
  FftOperations<float> f32;
  FftOperations<double> f64;
};

const FftCode& fft_code();

const FftCode& fft_code_baseline();
#if defined(__x86_64__)
const FftCode& fft_code_avx2();
const FftCode& fft_code_avx512();
#endif

}  // namespace ullage
