// Included by fft_*.cpp, each of which sets the instruction set before. Stockham's algorithm: a
// step reads elements `rest` apart and writes them next to each other, so that the result is in
// order without a permutation (Van Loan, "Computational Frameworks for the Fast Fourier Transform",
// 1992).

namespace ullage {
namespace {

template <int n, typename F>
inline void unrolled(F f) {
  [&]<int... k>(std::integer_sequence<int, k...>) {
    (f(std::integral_constant<int, k>()), ...);
  }(std::make_integer_sequence<int, n>());
}

// b[j] = sum over k of a[k] exp(-2 pi i j k / factor), in place.
template <typename T>
inline void butterfly2(T* re, T* im) {
  T r = re[0] - re[1], i = im[0] - im[1];
  re[0] += re[1], im[0] += im[1];
  re[1] = r, im[1] = i;
}

template <typename T>
inline void butterfly4(T* re, T* im) {
  T ar = re[0] + re[2], ai = im[0] + im[2], br = re[0] - re[2], bi = im[0] - im[2];
  T cr = re[1] + re[3], ci = im[1] + im[3], dr = re[1] - re[3], di = im[1] - im[3];
  re[0] = ar + cr, im[0] = ai + ci;
  re[1] = br + di, im[1] = bi - dr;
  re[2] = ar - cr, im[2] = ai - ci;
  re[3] = br - di, im[3] = bi + dr;
}

template <typename T>
inline void butterfly8(T* re, T* im) {
  constexpr T half = static_cast<T>(0.70710678118654752440084436210484903928L);
  T er[4] = {re[0], re[2], re[4], re[6]}, ei[4] = {im[0], im[2], im[4], im[6]};
  T odd_r[4] = {re[1], re[3], re[5], re[7]}, odd_i[4] = {im[1], im[3], im[5], im[7]};
  butterfly4(er, ei);
  butterfly4(odd_r, odd_i);
  T r1 = (odd_r[1] + odd_i[1]) * half, i1 = (odd_i[1] - odd_r[1]) * half;
  T r3 = (odd_i[3] - odd_r[3]) * half, i3 = -(odd_r[3] + odd_i[3]) * half;
  T tr[4] = {odd_r[0], r1, odd_i[2], r3}, ti[4] = {odd_i[0], i1, -odd_r[2], i3};
  unrolled<4>([&](auto k) {
    re[k] = er[k] + tr[k], im[k] = ei[k] + ti[k];
    re[k + 4] = er[k] - tr[k], im[k + 4] = ei[k] - ti[k];
  });
}

template <typename T>
inline void butterfly3(T* re, T* im) {
  constexpr T s = static_cast<T>(0.86602540378443864676372317075293618347L);
  T tr = re[1] + re[2], ti = im[1] + im[2];
  T dr = (re[1] - re[2]) * s, di = (im[1] - im[2]) * s;
  T mr = re[0] - tr * T(0.5), mi = im[0] - ti * T(0.5);
  re[0] += tr, im[0] += ti;
  re[1] = mr + di, im[1] = mi - dr;
  re[2] = mr - di, im[2] = mi + dr;
}

template <typename T>
inline void butterfly5(T* re, T* im) {
  constexpr T c1 = static_cast<T>(0.30901699437494742410229341718281905886L);
  constexpr T c2 = static_cast<T>(-0.80901699437494742410229341718281905886L);
  constexpr T s1 = static_cast<T>(0.95105651629515357211643933337938214340L);
  constexpr T s2 = static_cast<T>(0.58778525229247312916870595463907276860L);
  T ar = re[1] + re[4], ai = im[1] + im[4], br = re[2] + re[3], bi = im[2] + im[3];
  T cr = re[1] - re[4], ci = im[1] - im[4], dr = re[2] - re[3], di = im[2] - im[3];
  T m1r = re[0] + (ar * c1 + br * c2), m1i = im[0] + (ai * c1 + bi * c2);
  T m2r = re[0] + (ar * c2 + br * c1), m2i = im[0] + (ai * c2 + bi * c1);
  T n1r = cr * s1 + dr * s2, n1i = ci * s1 + di * s2;
  T n2r = cr * s2 - dr * s1, n2i = ci * s2 - di * s1;
  re[0] += ar + br, im[0] += ai + bi;
  re[1] = m1r + n1i, im[1] = m1i - n1r;
  re[4] = m1r - n1i, im[4] = m1i + n1r;
  re[2] = m2r + n2i, im[2] = m2i - n2r;
  re[3] = m2r - n2i, im[3] = m2i + n2r;
}

template <int factor, typename T>
inline void butterfly(T* re, T* im) {
  if constexpr (factor == 2) butterfly2(re, im);
  if constexpr (factor == 3) butterfly3(re, im);
  if constexpr (factor == 4) butterfly4(re, im);
  if constexpr (factor == 5) butterfly5(re, im);
  if constexpr (factor == 8) butterfly8(re, im);
}

// One butterfly between element `at` of x and element `to` of y.
template <int factor, typename T>
inline void one(const T* __restrict xr, const T* __restrict xi, T* __restrict yr, T* __restrict yi,
                int64_t from, int64_t from_step, int64_t to, int64_t to_step, const T* wr,
                const T* wi, int64_t w_step) {
  T re[factor], im[factor];
  unrolled<factor>([&](auto k) {
    re[k] = xr[from + k * from_step];
    im[k] = xi[from + k * from_step];
  });
  butterfly<factor>(re, im);
  yr[to] = re[0], yi[to] = im[0];
  unrolled<factor - 1>([&](auto before) {
    constexpr int k = decltype(before)::value + 1;
    T c = wr[before * w_step], s = wi[before * w_step];
    yr[to + k * to_step] = re[k] * c - im[k] * s;
    yi[to + k * to_step] = re[k] * s + im[k] * c;
  });
}

template <int factor, typename T>
void step(const FftStep<T>& step, int64_t lanes, const T* __restrict xr, const T* __restrict xi,
          T* __restrict yr, T* __restrict yi) {
  const int64_t rest = step.rest, stride = step.stride * lanes;
  const T* wr = step.twiddles.data();
  const T* wi = wr + (factor - 1) * rest;
  if (stride == 1) {
    for (int64_t p = 0; p < rest; ++p)
      one<factor>(xr, xi, yr, yi, p, rest, factor * p, 1, wr + p, wi + p, rest);
    return;
  }
  for (int64_t p = 0; p < rest; ++p)
    for (int64_t q = 0; q < stride; ++q)
      one<factor>(xr, xi, yr, yi, stride * p + q, stride * rest, stride * factor * p + q, stride,
                  wr + p, wi + p, rest);
}

// Any factor, by its definition.
template <typename T>
void any_step(const FftStep<T>& step, int64_t lanes, const T* __restrict xr, const T* __restrict xi,
              T* __restrict yr, T* __restrict yi) {
  const int64_t rest = step.rest, stride = step.stride * lanes, factor = step.factor;
  const T* wr = step.twiddles.data();
  const T* wi = wr + (factor - 1) * rest;
  const T* cr = step.roots.data();
  const T* ci = cr + factor;
  for (int64_t p = 0; p < rest; ++p)
    for (int64_t j = 0; j < factor; ++j) {
      T c = j == 0 ? T(1) : wr[(j - 1) * rest + p], s = j == 0 ? T(0) : wi[(j - 1) * rest + p];
      T* __restrict to_r = yr + stride * (factor * p + j);
      T* __restrict to_i = yi + stride * (factor * p + j);
      for (int64_t q = 0; q < stride; ++q) {
        T re = 0, im = 0;
        for (int64_t k = 0; k < factor; ++k) {
          T x = xr[stride * (p + rest * k) + q], y = xi[stride * (p + rest * k) + q];
          T a = cr[j * k % factor], b = ci[j * k % factor];
          re += x * a - y * b;
          im += x * b + y * a;
        }
        to_r[q] = re * c - im * s;
        to_i[q] = re * s + im * c;
      }
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
        any_step(s, lanes, data.re, data.im, other.re, other.im);
        break;
    }
    FftPlanes<T> swap = data;
    data = other;
    other = swap;
  }
  return data;
}

const FftCode code = {transform<float>, transform<double>};

}  // namespace
}  // namespace ullage
