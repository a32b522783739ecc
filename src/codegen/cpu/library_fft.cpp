// stablehlo.fft as kernels/fft_plan.h plans it. Tables of roots of unity are made when a program is
// compiled, in long double. Groups of lines are split into planes of real and imaginary parts,
// transformed and put back.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "codegen/cpu/fft_code.h"
#include "codegen/cpu/host.h"
#include "codegen/cpu/library_kernels.h"
#include "kernels/fft_plan.h"
#include "kernels/sort_plan.h"
#include "runtime/thread_pool.h"

namespace ullage {

const FftCode& fft_code() {
#if defined(__x86_64__)
  switch (host().level) {
    case IsaLevel::avx512:
      return fft_code_avx512();
    case IsaLevel::avx2:
      return fft_code_avx2();
    default:
      break;
  }
#endif
  return fft_code_baseline();
}

namespace {

constexpr int64_t kTask = 16384;  // elements that one thread takes at least

// exp(-2 pi i k / n)
template <typename T>
std::pair<T, T> root(int64_t k, int64_t n) {
  long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(k % n) /
                      static_cast<long double>(n);
  return {static_cast<T>(std::cos(angle)), static_cast<T>(-std::sin(angle))};
}

template <typename T>
FftTransform<T> make_transform(int64_t length) {
  FftTransform<T> out;
  int64_t left = length, stride = 1;
  for (int factor : fft_factors(length)) {
    FftStep<T> step;
    step.factor = factor;
    step.stride = stride;
    step.rest = left / factor;
    size_t rows = static_cast<size_t>(factor - 1) * static_cast<size_t>(step.rest);
    step.twiddles.resize(2 * rows);
    for (int64_t j = 1; j < factor; ++j)
      for (int64_t p = 0; p < step.rest; ++p) {
        size_t at = static_cast<size_t>((j - 1) * step.rest + p);
        std::tie(step.twiddles[at], step.twiddles[rows + at]) = root<T>(j * p, left);
      }
    step.roots.resize(2 * static_cast<size_t>(factor));
    for (int64_t j = 0; j < factor; ++j)
      std::tie(step.roots[static_cast<size_t>(j)], step.roots[static_cast<size_t>(factor + j)]) =
          root<double>(j, factor);
    left = step.rest;
    stride *= factor;
    out.steps.push_back(std::move(step));
  }
  return out;
}

template <typename T>
const FftOperations<T>& operations() {
  if constexpr (std::is_same_v<T, float>)
    return fft_code().f32;
  else
    return fft_code().f64;
}

// A line's transform, of `length` or through a convolution of `padded` elements.
template <typename T>
struct Line {
  FftPass pass;
  FftTransform<T> transform;
  std::vector<T> chirp_re, chirp_im;    // exp(-pi i k k / length)
  std::vector<T> filter_re, filter_im;  // transformed, divided by `padded`
  std::vector<T> split_re, split_im;    // exp(-2 pi i k / n), to take real lines apart

  explicit Line(const FftPass& p) : pass(p) {
    transform = make_transform<T>(pass.padded > 0 ? pass.padded : pass.length);
    if (pass.padded > 0) make_chirp();
    if (pass.kind != FftPass::Kind::complex && pass.n % 2 == 0)
      for (int64_t k = 0; k <= pass.length; ++k) {
        auto [c, s] = root<T>(k, pass.n);
        split_re.push_back(c);
        split_im.push_back(s);
      }
  }

  // Forward.
  FftPlanes<T> run(FftPlanes<T> data, FftPlanes<T> other) const {
    if (pass.padded == 0) return operations<T>().transform(transform, pass.lanes, data, other);
    int64_t lanes = pass.lanes, n = pass.length;
    FftPlanes<T> rest = {data.re + n * lanes, data.im + n * lanes};
    scale(data, chirp_re, chirp_im, n);
    std::fill_n(rest.re, (pass.padded - n) * lanes, T(0));
    std::fill_n(rest.im, (pass.padded - n) * lanes, T(0));
    FftPlanes<T> once = operations<T>().transform(transform, lanes, data, other);
    scale(once, filter_re, filter_im, pass.padded);
    // The inverse transform is the forward one with the parts exchanged.
    FftPlanes<T> free = once.re == data.re ? other : data;
    FftPlanes<T> back = operations<T>().transform(transform, lanes, {once.im, once.re}, free);
    FftPlanes<T> out = {back.im, back.re};
    scale(out, chirp_re, chirp_im, n);
    return out;
  }

 private:
  static size_t index(int64_t k) { return static_cast<size_t>(k); }
  void scale(FftPlanes<T> data, const std::vector<T>& re, const std::vector<T>& im,
             int64_t count) const {
    if (pass.lanes == 1) return operations<T>().multiply(data, re.data(), im.data(), count);
    for (int64_t k = 0; k < count; ++k)
      for (int64_t l = 0; l < pass.lanes; ++l) {
        T &x = data.re[k * pass.lanes + l], &y = data.im[k * pass.lanes + l];
        T real = x * re[index(k)] - y * im[index(k)];
        y = x * im[index(k)] + y * re[index(k)];
        x = real;
      }
  }
  void make_chirp() {
    int64_t n = pass.length, padded = pass.padded;
    FftTransform<double> precise = make_transform<double>(padded);
    std::vector<double> re(index(padded)), im(index(padded)), re2(index(padded)),
        im2(index(padded));
    for (int64_t k = 0; k < n; ++k) {
      auto [c, s] = root<double>(k * k % (2 * n), 2 * n);
      chirp_re.push_back(static_cast<T>(c));
      chirp_im.push_back(static_cast<T>(s));
      re[index(k)] = re[index((padded - k) % padded)] = c;
      im[index(k)] = im[index((padded - k) % padded)] = -s;
    }
    FftPlanes<double> done = operations<double>().transform(precise, 1, {re.data(), im.data()},
                                                            {re2.data(), im2.data()});
    for (int64_t k = 0; k < padded; ++k) {
      filter_re.push_back(static_cast<T>(done.re[k] / static_cast<double>(padded)));
      filter_im.push_back(static_cast<T>(done.im[k] / static_cast<double>(padded)));
    }
  }
};

template <typename T>
class CompiledFft : public CompiledKernel {
 public:
  explicit CompiledFft(const FftPlan& plan) : plan_(plan) {
    for (const FftPass& pass : plan.passes) lines_.emplace_back(pass);
  }

  void run(const KernelCall& call, ThreadPool& pool) const override {
    T* between = reinterpret_cast<T*>(call.scratch);
    T* result = reinterpret_cast<T*>(call.buffers[1]);
    const T* from = reinterpret_cast<const T*>(call.buffers[0]);
    for (size_t i = 0; i < lines_.size(); ++i) {
      bool last = i + 1 == lines_.size();
      T* to = plan_.between_bytes > 0 && !last ? between : result;
      run_pass(lines_[i], from, to, call.scratch + plan_.between_bytes, pool);
      from = to;
    }
  }

 private:
  void run_pass(const Line<T>& line, const T* from, T* to, std::byte* scratch,
                ThreadPool& pool) const {
    const FftPass& pass = line.pass;
    // Groups of `lanes` lines: neighbours within `inner`, or whole lines one after another.
    int64_t lines = pass.inner > 1 ? pass.inner : pass.outer;
    int64_t groups = (lines + pass.lanes - 1) / pass.lanes;
    int64_t blocks = pass.inner > 1 ? pass.outer : 1;
    int64_t grain = std::max<int64_t>(1, kTask / (pass.n * pass.lanes));
    int64_t tasks = (groups * blocks + grain - 1) / grain;
    pool.parallel_for(tasks, [&](int64_t task, int worker) {
      T* planes = reinterpret_cast<T*>(scratch + worker * plan_.worker_bytes);
      int64_t plane = plan_.worker_bytes / 4 / static_cast<int64_t>(sizeof(T));
      FftPlanes<T> data{planes, planes + plane}, other{planes + 2 * plane, planes + 3 * plane};
      for (int64_t g = task * grain; g < std::min(groups * blocks, (task + 1) * grain); ++g) {
        int64_t first = g % groups * pass.lanes;
        run_group(line, from, to, g / groups, first, std::min(pass.lanes, lines - first), data,
                  other);
      }
    });
  }

  // Lines first..first+count of a block. Missing lanes repeat the last one.
  void run_group(const Line<T>& line, const T* from, T* to, int64_t block, int64_t first,
                 int64_t count, FftPlanes<T> data, FftPlanes<T> other) const {
    using Kind = FftPass::Kind;
    const FftPass& pass = line.pass;
    const int64_t lanes = pass.lanes, n = pass.n, length = pass.length, inner = pass.inner;
    FftPlanes<T> in = plan_.inverse ? FftPlanes<T>{data.im, data.re} : data;
    if (pass.kind == Kind::complex) {
      if (inner > 1) {
        for (int64_t k = 0; k < n; ++k) {
          const T* source = from + 2 * ((block * n + k) * inner + first);
          operations<T>().split(source, {in.re + k * lanes, in.im + k * lanes}, count);
          for (int64_t l = count; l < lanes; ++l) in.re[k * lanes + l] = in.im[k * lanes + l] = 0;
        }
      } else if (lanes == 1) {
        operations<T>().split(from + 2 * first * n, in, n);
      } else {
        for (int64_t l = 0; l < lanes; ++l) {
          const T* source = from + 2 * (first + std::min(l, count - 1)) * n;
          for (int64_t k = 0; k < n; ++k)
            in.re[k * lanes + l] = source[2 * k], in.im[k * lanes + l] = source[2 * k + 1];
        }
      }
      FftPlanes<T> out = line.run(data, other);
      if (plan_.inverse) std::swap(out.re, out.im);
      const T scale = plan_.inverse ? T(1) / static_cast<T>(n) : T(1);
      if (inner > 1) {
        for (int64_t k = 0; k < n; ++k) {
          T* target = to + 2 * ((block * n + k) * inner + first);
          operations<T>().join({out.re + k * lanes, out.im + k * lanes}, target, count, scale);
        }
      } else if (lanes == 1) {
        operations<T>().join(out, to + 2 * first * n, n, scale);
      } else {
        for (int64_t l = 0; l < count; ++l) {
          T* target = to + 2 * (first + l) * n;
          for (int64_t k = 0; k < n; ++k) {
            target[2 * k] = out.re[k * lanes + l] * scale;
            target[2 * k + 1] = out.im[k * lanes + l] * scale;
          }
        }
      }
      return;
    }
    const bool even = n % 2 == 0;
    const int64_t bins = n / 2 + 1;
    if (even && lanes == 1) {
      const T *re = line.split_re.data(), *im = line.split_im.data();
      if (pass.kind == Kind::real_to_complex) {
        operations<T>().split(from + first * n, data, length);
        operations<T>().to_real_spectrum(line.run(data, other), re, im, length,
                                         to + 2 * first * bins);
        return;
      }
      // Always inverse: the parts are exchanged around the forward transform.
      operations<T>().from_real_spectrum(from + 2 * first * bins, re, im, length, in);
      FftPlanes<T> z = line.run(data, other);
      operations<T>().join({z.im, z.re}, to + first * n, length, T(1) / static_cast<T>(n));
      return;
    }
    if (pass.kind == Kind::real_to_complex) {
      for (int64_t l = 0; l < lanes; ++l) {
        const T* source = from + (first + std::min(l, count - 1)) * n;
        for (int64_t k = 0; k < length; ++k) {
          data.re[k * lanes + l] = even ? source[2 * k] : source[k];
          data.im[k * lanes + l] = even ? source[2 * k + 1] : T(0);
        }
      }
      FftPlanes<T> z = line.run(data, other);
      for (int64_t l = 0; l < count; ++l) {
        T* target = to + 2 * (first + l) * bins;
        for (int64_t k = 0; k < bins; ++k) {
          if (!even) {
            target[2 * k] = z.re[k * lanes + l], target[2 * k + 1] = z.im[k * lanes + l];
            continue;
          }
          // Spectra of the even and the odd elements, from those of their sum z = e + i o.
          int64_t a = k % length * lanes + l, b = (length - k) % length * lanes + l;
          T er = z.re[a] + z.re[b], ei = z.im[a] - z.im[b];
          T odd_r = z.im[a] + z.im[b], odd_i = z.re[b] - z.re[a];
          T c = line.split_re[static_cast<size_t>(k)], s = line.split_im[static_cast<size_t>(k)];
          target[2 * k] = (er + (odd_r * c - odd_i * s)) * T(0.5);
          target[2 * k + 1] = (ei + (odd_r * s + odd_i * c)) * T(0.5);
        }
      }
      return;
    }
    // complex_to_real, always inverse: the parts are exchanged around the forward transform.
    for (int64_t l = 0; l < lanes; ++l) {
      const T* source = from + 2 * (first + std::min(l, count - 1)) * bins;
      auto bin = [&](int64_t k) {
        // What a real line cannot have counts for nothing.
        bool real = k == 0 || (even && k == bins - 1);
        return std::pair<T, T>(source[2 * k], real ? T(0) : source[2 * k + 1]);
      };
      for (int64_t k = 0; k < length; ++k) {
        int64_t at = k * lanes + l;
        if (!even) {
          auto [re, im] = bin(k < bins ? k : n - k);
          in.re[at] = re, in.im[at] = k < bins ? im : -im;
          continue;
        }
        auto [ar, ai] = bin(k);
        auto [br, bi] = bin(length - k);
        T er = ar + br, ei = ai - bi, dr = ar - br, di = ai + bi;
        // Odd elements: multiplied by exp(+2 pi i k / n), then by i.
        T c = line.split_re[static_cast<size_t>(k)], s = -line.split_im[static_cast<size_t>(k)];
        T odd_r = dr * c - di * s, odd_i = dr * s + di * c;
        in.re[at] = er - odd_i, in.im[at] = ei + odd_r;
      }
    }
    FftPlanes<T> z = line.run(data, other);
    std::swap(z.re, z.im);
    const T scale = T(1) / static_cast<T>(n);
    for (int64_t l = 0; l < count; ++l) {
      T* target = to + (first + l) * n;
      for (int64_t k = 0; k < length; ++k) {
        if (!even) {
          target[k] = z.re[k * lanes + l] * scale;
          continue;
        }
        target[2 * k] = z.re[k * lanes + l] * scale;
        target[2 * k + 1] = z.im[k * lanes + l] * scale;
      }
    }
  }

  FftPlan plan_;
  std::vector<Line<T>> lines_;
};

}  // namespace

Result<KernelRecipe> fft_recipe(const Kernel&, const LibraryKernel& library) {
  FftPlan plan = plan_fft(*library.op, 1);
  KernelRecipe recipe;
  recipe.finish = [plan](const std::vector<void*>&,
                         std::shared_ptr<const void>) -> std::shared_ptr<const CompiledKernel> {
    if (plan.wide) return std::make_shared<CompiledFft<double>>(plan);
    return std::make_shared<CompiledFft<float>>(plan);
  };
  return recipe;
}

}  // namespace ullage
