// Included by fft_*.cpp, each of which sets the instruction set before. Stockham's algorithm: a
// step reads elements `rest` apart and writes them next to each other, so that the result is in
// order without a permutation (Van Loan, "Computational Frameworks for the Fast Fourier Transform",
// 1992).

namespace ullage {
namespace {

// A vector of `bytes`; arithmetic with scalars applies to each element.
template <typename T, int bytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(bytes)));
};

template <typename E, typename T>
inline E load(const T* from) {
  E out;
  __builtin_memcpy(&out, from, sizeof(E));
  return out;
}
template <typename E, typename T>
inline void store(T* to, E value) {
  __builtin_memcpy(to, &value, sizeof(E));
}

template <int n, typename F>
inline void unrolled(F f) {
  [&]<int... k>(std::integer_sequence<int, k...>) {
    (f(std::integral_constant<int, k>()), ...);
  }(std::make_integer_sequence<int, n>());
}

// b[j] = sum over k of a[k] exp(-2 pi i j k / factor), in place. T is the scalar type of E.
template <typename T, typename E>
inline void butterfly2(E* re, E* im) {
  E r = re[0] - re[1], i = im[0] - im[1];
  re[0] += re[1], im[0] += im[1];
  re[1] = r, im[1] = i;
}

template <typename T, typename E>
inline void butterfly4(E* re, E* im) {
  E ar = re[0] + re[2], ai = im[0] + im[2], br = re[0] - re[2], bi = im[0] - im[2];
  E cr = re[1] + re[3], ci = im[1] + im[3], dr = re[1] - re[3], di = im[1] - im[3];
  re[0] = ar + cr, im[0] = ai + ci;
  re[1] = br + di, im[1] = bi - dr;
  re[2] = ar - cr, im[2] = ai - ci;
  re[3] = br - di, im[3] = bi + dr;
}

template <typename T, typename E>
inline void butterfly8(E* re, E* im) {
  constexpr T half = static_cast<T>(0.70710678118654752440084436210484903928L);
  E er[4] = {re[0], re[2], re[4], re[6]}, ei[4] = {im[0], im[2], im[4], im[6]};
  E odd_r[4] = {re[1], re[3], re[5], re[7]}, odd_i[4] = {im[1], im[3], im[5], im[7]};
  butterfly4<T>(er, ei);
  butterfly4<T>(odd_r, odd_i);
  E r1 = (odd_r[1] + odd_i[1]) * half, i1 = (odd_i[1] - odd_r[1]) * half;
  E r3 = (odd_i[3] - odd_r[3]) * half, i3 = (odd_r[3] + odd_i[3]) * -half;
  E tr[4] = {odd_r[0], r1, odd_i[2], r3}, ti[4] = {odd_i[0], i1, -odd_r[2], i3};
  unrolled<4>([&](auto k) {
    re[k] = er[k] + tr[k], im[k] = ei[k] + ti[k];
    re[k + 4] = er[k] - tr[k], im[k + 4] = ei[k] - ti[k];
  });
}

template <typename T, typename E>
inline void butterfly3(E* re, E* im) {
  constexpr T s = static_cast<T>(0.86602540378443864676372317075293618347L);
  E tr = re[1] + re[2], ti = im[1] + im[2];
  E dr = (re[1] - re[2]) * s, di = (im[1] - im[2]) * s;
  E mr = re[0] - tr * T(0.5), mi = im[0] - ti * T(0.5);
  re[0] += tr, im[0] += ti;
  re[1] = mr + di, im[1] = mi - dr;
  re[2] = mr - di, im[2] = mi + dr;
}

template <typename T, typename E>
inline void butterfly5(E* re, E* im) {
  constexpr T c1 = static_cast<T>(0.30901699437494742410229341718281905886L);
  constexpr T c2 = static_cast<T>(-0.80901699437494742410229341718281905886L);
  constexpr T s1 = static_cast<T>(0.95105651629515357211643933337938214340L);
  constexpr T s2 = static_cast<T>(0.58778525229247312916870595463907276860L);
  E ar = re[1] + re[4], ai = im[1] + im[4], br = re[2] + re[3], bi = im[2] + im[3];
  E cr = re[1] - re[4], ci = im[1] - im[4], dr = re[2] - re[3], di = im[2] - im[3];
  E m1r = re[0] + (ar * c1 + br * c2), m1i = im[0] + (ai * c1 + bi * c2);
  E m2r = re[0] + (ar * c2 + br * c1), m2i = im[0] + (ai * c2 + bi * c1);
  E n1r = cr * s1 + dr * s2, n1i = ci * s1 + di * s2;
  E n2r = cr * s2 - dr * s1, n2i = ci * s2 - di * s1;
  re[0] += ar + br, im[0] += ai + bi;
  re[1] = m1r + n1i, im[1] = m1i - n1r;
  re[4] = m1r - n1i, im[4] = m1i + n1r;
  re[2] = m2r + n2i, im[2] = m2i - n2r;
  re[3] = m2r - n2i, im[3] = m2i + n2r;
}

template <int factor, typename T, typename E>
inline void butterfly(E* re, E* im) {
  if constexpr (factor == 2) butterfly2<T>(re, im);
  if constexpr (factor == 3) butterfly3<T>(re, im);
  if constexpr (factor == 4) butterfly4<T>(re, im);
  if constexpr (factor == 5) butterfly5<T>(re, im);
  if constexpr (factor == 8) butterfly8<T>(re, im);
}

// A butterfly of elements E that are `step` apart, then the twiddles W, `w_step` apart.
template <int factor, typename E, typename W, typename T>
inline void one(const T* xr, const T* xi, int64_t step, const T* wr, const T* wi, int64_t w_step,
                E* re, E* im) {
  unrolled<factor>([&](auto k) {
    re[k] = load<E>(xr + k * step);
    im[k] = load<E>(xi + k * step);
  });
  butterfly<factor, T>(re, im);
  unrolled<factor - 1>([&](auto before) {
    constexpr int k = decltype(before)::value + 1;
    W c = load<W>(wr + before * w_step), s = load<W>(wi + before * w_step);
    E r = re[k] * c - im[k] * s;
    im[k] = re[k] * s + im[k] * c;
    re[k] = r;
  });
}

// Neighbours q and on, as many at a time as `bytes` hold, then fewer.
template <int factor, int bytes, typename T>
inline void neighbours(const T* xr, const T* xi, T* yr, T* yi, int64_t q, int64_t stride,
                       int64_t step, const T* wr, const T* wi, int64_t w_step) {
  constexpr int64_t lanes = bytes / static_cast<int64_t>(sizeof(T));
  using E = std::conditional_t<lanes == 1, T, typename VectorOf<T, bytes>::Type>;
  for (; q + lanes <= stride; q += lanes) {
    E re[factor], im[factor];
    one<factor, E, T>(xr + q, xi + q, step, wr, wi, w_step, re, im);
    unrolled<factor>([&](auto k) {
      store(yr + k * stride + q, re[k]);
      store(yi + k * stride + q, im[k]);
    });
  }
  if constexpr (lanes > 1)
    if (q < stride) neighbours<factor, bytes / 2>(xr, xi, yr, yi, q, stride, step, wr, wi, w_step);
}

template <int factor, typename T>
void step(const FftStep<T>& step, int64_t lanes, const T* xr, const T* xi, T* yr, T* yi) {
  const int64_t rest = step.rest, stride = step.stride * lanes;
  const T* wr = step.twiddles.data();
  const T* wi = wr + (factor - 1) * rest;
  if (stride > 1) {
    for (int64_t p = 0; p < rest; ++p)
      neighbours<factor, kFftVectorBytes>(xr + stride * p, xi + stride * p,
                                          yr + stride * factor * p, yi + stride * factor * p, 0,
                                          stride, stride * rest, wr + p, wi + p, rest);
    return;
  }
  // Of a single line, neighbours are in p, and results come to lie among each other.
  constexpr int64_t width = kFftVectorBytes / static_cast<int64_t>(sizeof(T));
  using E = typename VectorOf<T, kFftVectorBytes>::Type;
  int64_t p = 0;
  for (; p + width <= rest; p += width) {
    E re[factor], im[factor];
    one<factor, E, E>(xr + p, xi + p, rest, wr + p, wi + p, rest, re, im);
    for (int64_t l = 0; l < width; ++l)
      unrolled<factor>([&](auto k) {
        yr[factor * (p + l) + k] = re[k][l];
        yi[factor * (p + l) + k] = im[k][l];
      });
  }
  for (; p < rest; ++p) {
    T re[factor], im[factor];
    one<factor, T, T>(xr + p, xi + p, rest, wr + p, wi + p, rest, re, im);
    unrolled<factor>([&](auto k) { yr[factor * p + k] = re[k], yi[factor * p + k] = im[k]; });
  }
}

// A butterfly of any odd factor, twiddles included, for as many neighbours as E holds. Elements k
// and factor - k share their cosines and have opposite sines: with their sums and differences, each
// sum of products serves two results. In double precision, D, so that factors as great as 61 round
// once.
template <typename E, typename D, typename T>
inline void odd_butterfly(const FftStep<T>& step, int64_t stride, int64_t p, const T* xr,
                          const T* xi, T* yr, T* yi) {
  const int64_t rest = step.rest, factor = step.factor, half = factor / 2;
  const auto wide = [](E x) -> D {
    if constexpr (std::is_same_v<E, D>)
      return x;
    else if constexpr (std::is_arithmetic_v<E>)
      return static_cast<D>(x);
    else
      return __builtin_convertvector(x, D);
  };
  const auto put = [](T* to, D x) {
    if constexpr (std::is_same_v<E, D>)
      store(to, x);
    else if constexpr (std::is_arithmetic_v<E>)
      *to = static_cast<E>(x);
    else
      store(to, __builtin_convertvector(x, E));
  };
  D sum_r[kMaxFftFactor / 2], sum_i[kMaxFftFactor / 2];
  D difference_r[kMaxFftFactor / 2], difference_i[kMaxFftFactor / 2];
  const D first_r = wide(load<E>(xr + stride * p)), first_i = wide(load<E>(xi + stride * p));
  D total_r = first_r, total_i = first_i;
  for (int64_t k = 1; k <= half; ++k) {
    const int64_t at = stride * (p + rest * k), mirrored = stride * (p + rest * (factor - k));
    const D ar = wide(load<E>(xr + at)), ai = wide(load<E>(xi + at));
    const D br = wide(load<E>(xr + mirrored)), bi = wide(load<E>(xi + mirrored));
    sum_r[k - 1] = ar + br, sum_i[k - 1] = ai + bi;
    difference_r[k - 1] = ar - br, difference_i[k - 1] = ai - bi;
    total_r += sum_r[k - 1], total_i += sum_i[k - 1];
  }
  put(yr + stride * factor * p, total_r);
  put(yi + stride * factor * p, total_i);
  const double *cosines = step.roots.data(), *sines = cosines + factor;
  const T *wr = step.twiddles.data(), *wi = wr + (factor - 1) * rest;
  for (int64_t j = 1; j <= half; ++j) {
    D even_r = first_r, even_i = first_i, odd_r = difference_r[0] * sines[j],
      odd_i = difference_i[0] * sines[j];
    even_r += sum_r[0] * cosines[j], even_i += sum_i[0] * cosines[j];
    int64_t root = j;
    for (int64_t k = 1; k < half; ++k) {
      root += j;
      if (root >= factor) root -= factor;
      const double c = cosines[root], s = sines[root];
      even_r += sum_r[k] * c, even_i += sum_i[k] * c;
      odd_r += difference_r[k] * s, odd_i += difference_i[k] * s;
    }
    const auto finish = [&](int64_t row, D re, D im) {
      const double c = wr[(row - 1) * rest + p], s = wi[(row - 1) * rest + p];
      put(yr + stride * (factor * p + row), re * c - im * s);
      put(yi + stride * (factor * p + row), re * s + im * c);
    };
    finish(j, even_r - odd_i, even_i + odd_r);
    finish(factor - j, even_r + odd_i, even_i - odd_r);
  }
}

template <typename T>
void odd_step(const FftStep<T>& step, int64_t lanes, const T* xr, const T* xi, T* yr, T* yi) {
  constexpr int64_t width = kFftVectorBytes / static_cast<int64_t>(sizeof(double));
  using D = typename VectorOf<double, kFftVectorBytes>::Type;
  using E = typename VectorOf<T, static_cast<int>(width * sizeof(T))>::Type;
  const int64_t stride = step.stride * lanes;
  for (int64_t p = 0; p < step.rest; ++p) {
    int64_t q = 0;
    for (; q + width <= stride; q += width)
      odd_butterfly<E, D>(step, stride, p, xr + q, xi + q, yr + q, yi + q);
    for (; q < stride; ++q)
      odd_butterfly<T, double>(step, stride, p, xr + q, xi + q, yr + q, yi + q);
  }
}

template <typename T>
FftPlanes<T> transform(const FftTransform<T>& plan, int64_t lanes, FftPlanes<T> data,
                       FftPlanes<T> other) {
  for (const FftStep<T>& s : plan.steps) {
    switch (s.factor) {
      case 2:
        step<2>(s, lanes, data.re, data.im, other.re, other.im);
        break;
      case 3:
        step<3>(s, lanes, data.re, data.im, other.re, other.im);
        break;
      case 4:
        step<4>(s, lanes, data.re, data.im, other.re, other.im);
        break;
      case 5:
        step<5>(s, lanes, data.re, data.im, other.re, other.im);
        break;
      case 8:
        step<8>(s, lanes, data.re, data.im, other.re, other.im);
        break;
      default:
        odd_step(s, lanes, data.re, data.im, other.re, other.im);
        break;
    }
    FftPlanes<T> swap = data;
    data = other;
    other = swap;
  }
  return data;
}

template <typename T>
void split(const T* from, FftPlanes<T> to, int64_t count) {
  T* __restrict re = to.re;
  T* __restrict im = to.im;
  for (int64_t i = 0; i < count; ++i) re[i] = from[2 * i], im[i] = from[2 * i + 1];
}

template <typename T>
void join(FftPlanes<T> from, T* __restrict to, int64_t count, T scale) {
  for (int64_t i = 0; i < count; ++i) {
    to[2 * i] = from.re[i] * scale;
    to[2 * i + 1] = from.im[i] * scale;
  }
}

template <typename T>
void multiply(FftPlanes<T> data, const T* __restrict wr, const T* __restrict wi, int64_t count) {
  T* __restrict re = data.re;
  T* __restrict im = data.im;
  for (int64_t i = 0; i < count; ++i) {
    T r = re[i] * wr[i] - im[i] * wi[i];
    im[i] = re[i] * wi[i] + im[i] * wr[i];
    re[i] = r;
  }
}

// With z = e + i o, e and o the transforms of the even and of the odd elements.
template <typename T>
void to_real_spectrum(FftPlanes<T> z, const T* wr, const T* wi, int64_t length, T* __restrict out) {
  out[0] = z.re[0] + z.im[0], out[1] = 0;
  out[2 * length] = z.re[0] - z.im[0], out[2 * length + 1] = 0;
  for (int64_t k = 1; k < length; ++k) {
    T ar = z.re[k], ai = z.im[k], br = z.re[length - k], bi = z.im[length - k];
    T er = ar + br, ei = ai - bi, odd_r = ai + bi, odd_i = br - ar;
    out[2 * k] = (er + (odd_r * wr[k] - odd_i * wi[k])) * T(0.5);
    out[2 * k + 1] = (ei + (odd_r * wi[k] + odd_i * wr[k])) * T(0.5);
  }
}

template <typename T>
void from_real_spectrum(const T* x, const T* wr, const T* wi, int64_t length, FftPlanes<T> z) {
  T* __restrict re = z.re;
  T* __restrict im = z.im;
  // What the spectrum of a real line cannot have there counts for nothing.
  re[0] = x[0] + x[2 * length], im[0] = x[0] - x[2 * length];
  for (int64_t k = 1; k < length; ++k) {
    T ar = x[2 * k], ai = x[2 * k + 1], br = x[2 * (length - k)], bi = x[2 * (length - k) + 1];
    T dr = ar - br, di = ai + bi;
    T odd_r = dr * wr[k] + di * wi[k], odd_i = di * wr[k] - dr * wi[k];
    re[k] = ar + br - odd_i;
    im[k] = ai - bi + odd_r;
  }
}

const FftCode code = {{transform<float>, split<float>, join<float>, multiply<float>,
                       to_real_spectrum<float>, from_real_spectrum<float>},
                      {transform<double>, split<double>, join<double>, multiply<double>,
                       to_real_spectrum<double>, from_real_spectrum<double>}};

}  // namespace
}  // namespace ullage
