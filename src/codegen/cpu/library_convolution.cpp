// Convolutions as convolution_plan.h plans them: what the matrix product family asks of the input
// is looked up as it packs, so no array of windows ever exists.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstring>

#include "codegen/cpu/clones.h"
#include "codegen/cpu/convolution_plan.h"
#include "codegen/cpu/library_kernels.h"
#include "runtime/thread_pool.h"
#include "support/float16.h"

namespace ullage {

namespace {

constexpr int64_t kTask = 65536;  // multiply-adds that one thread takes at least, outside products
constexpr int64_t kLaneChunk = 256;  // groups whose sums are held at a time

struct F32 {
  using Stored = float;
  static float load(float x) { return x; }
};
struct Bf16 {
  using Stored = uint16_t;
  static float load(uint16_t x) { return bf16_to_float(x); }
};
struct F16 {
  using Stored = uint16_t;
  static float load(uint16_t x) { return f16_to_float(x); }
};

template <typename F>
auto with_format(DType dtype, F f) {
  if (dtype == DType::bf16) return f(Bf16{});
  if (dtype == DType::f16) return f(F16{});
  return f(F32{});
}

// Coordinates of a flat index in the loops of m or k.
struct Coordinates {
  int64_t at[kMaxSpatial + 1];
};

void locate(const std::vector<ConvolutionLoop>& loops, int64_t index, Coordinates& c) {
  for (size_t i = loops.size(); i-- > 0;) {
    c.at[i] = index % loops[i].extent;
    index /= loops[i].extent;
  }
}

// The next index of all loops but the last one.
void advance_outer(const std::vector<ConvolutionLoop>& loops, Coordinates& c) {
  for (size_t i = loops.size() - 1; i-- > 0;) {
    if (++c.at[i] < loops[i].extent) return;
    c.at[i] = 0;
  }
}

// Where the window of an output position begins, per spatial dimension in steps of the dilated
// input, and where the image begins in memory.
struct Window {
  int64_t start[kMaxSpatial];
  int64_t offset = 0;
};

Window window_of(const ConvolutionPlan& plan, const Coordinates& m) {
  Window window;
  for (size_t d = 0; d < plan.spatial.size(); ++d) window.start[d] = -plan.spatial[d].low;
  for (size_t i = 0; i < plan.m.size(); ++i) {
    const ConvolutionLoop& loop = plan.m[i];
    if (loop.spatial < 0)
      window.offset += m.at[i] * loop.input_stride;
    else
      window.start[loop.spatial] +=
          m.at[i] * plan.spatial[static_cast<size_t>(loop.spatial)].stride;
  }
  return window;
}

// Which window element, and which feature, k is; `reach` in steps of the dilated input.
struct Element {
  int64_t reach[kMaxSpatial];
  int64_t offset;
};

Element element_of(const ConvolutionPlan& plan, const Coordinates& k) {
  Element element;
  element.offset = 0;
  for (size_t d = 0; d < plan.spatial.size(); ++d) {
    const ConvolutionSpatial& s = plan.spatial[d];
    element.reach[d] = s.reversed ? (s.window - 1) * s.window_dilation : 0;
  }
  for (size_t i = 0; i < plan.k.size(); ++i) {
    const ConvolutionLoop& loop = plan.k[i];
    if (loop.spatial < 0) {
      element.offset += k.at[i] * loop.input_stride;
    } else {
      const ConvolutionSpatial& s = plan.spatial[static_cast<size_t>(loop.spatial)];
      int64_t reach = k.at[i] * s.window_dilation;
      element.reach[loop.spatial] += s.reversed ? -reach : reach;
    }
  }
  return element;
}

// The offset of an input element along one dimension; false where there is none.
inline bool inside(const ConvolutionSpatial& s, int64_t position, int64_t& offset) {
  if (position < 0) return false;
  if (s.input_dilation > 1) {
    if (position % s.input_dilation != 0) return false;
    position /= s.input_dilation;
  }
  offset += position * s.input_stride;
  return position < s.input;
}

inline bool inside(const ConvolutionPlan& plan, const Window& window, const Element& element,
                   int64_t& offset) {
  offset = window.offset + element.offset;
  for (size_t d = 0; d < plan.spatial.size(); ++d)
    if (!inside(plan.spatial[d], window.start[d] + element.reach[d], offset)) return false;
  return true;
}

// What there is to run along where all loops have a single step.
const ConvolutionLoop kSingle{-1, 1, 0, 0};

struct Context {
  const ConvolutionPlan* plan = nullptr;
  const std::byte* input = nullptr;
  const std::byte* kernel = nullptr;
  std::byte* output = nullptr;
};

template <typename Format>
void copy_run(const typename Format::Stored* from, int64_t step, int64_t count, float* to) {
  if constexpr (std::is_same_v<Format, F32>) {
    if (step == 1) {
      std::memcpy(to, from, static_cast<size_t>(count) * 4);
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i) to[i] = Format::load(from[i * step]);
}

// A stretch of k, the same for every output position: features of one window element, or of
// several columns of the window that lie one after another in memory.
struct Run {
  Element element;
  int64_t flat;     // the element's offset from where the window begins, when all of it is inside
  int64_t to;       // from the first k
  int64_t count;    // elements
  int64_t columns;  // 0: a single window element
};

// The window lies inside the input as a whole.
bool interior(const ConvolutionPlan& plan, const Window& window) {
  for (size_t d = 0; d < plan.spatial.size(); ++d) {
    const ConvolutionSpatial& s = plan.spatial[d];
    if (s.input_dilation != 1 || window.start[d] < 0 ||
        window.start[d] + (s.window - 1) * s.window_dilation >= s.input)
      return false;
  }
  return true;
}

// Coordinates of the next index.
void advance(const std::vector<ConvolutionLoop>& loops, Coordinates& c) {
  for (size_t i = loops.size(); i-- > 0;) {
    if (++c.at[i] < loops[i].extent) return;
    c.at[i] = 0;
  }
}

// Cuts [k0, k1) into runs. The window's last dimension joins the features where it comes before
// them in the order of k and they continue each other in memory: then `joined` is its loop.
int64_t cut_runs(const ConvolutionPlan& plan, int64_t k0, int64_t k1, Run* runs,
                 const ConvolutionLoop*& joined) {
  const size_t last = plan.k.size() - 1;
  const int64_t features = plan.k[last].extent;
  joined = last > 0 && plan.k[last - 1].spatial >= 0 ? &plan.k[last - 1] : nullptr;
  if (joined) {
    const ConvolutionSpatial& s = plan.spatial[static_cast<size_t>(joined->spatial)];
    if (s.reversed || s.input_dilation != 1 || s.input_stride * s.window_dilation != features)
      joined = nullptr;
  }
  Coordinates at;
  locate(plan.k, k0, at);
  int64_t count = 0;
  for (int64_t k = k0; k < k1; ++count) {
    Run& run = runs[count];
    run.element = element_of(plan, at);
    run.flat = run.element.offset;
    for (size_t d = 0; d < plan.spatial.size(); ++d)
      run.flat += run.element.reach[d] * plan.spatial[d].input_stride;
    run.to = k - k0;
    run.columns = 0;
    const int64_t feature = at.at[last];
    if (joined && feature == 0)
      run.columns = std::min(joined->extent - at.at[last - 1], (k1 - k) / features);
    if (run.columns > 1) {
      run.count = run.columns * features;
      at.at[last - 1] += run.columns - 1;
    } else {
      run.columns = 0;
      run.count = std::min(features - feature, k1 - k);
    }
    k += run.count;
    at.at[last] = 0;
    advance_outer(plan.k, at);
  }
  return count;
}

// Positions first, first + step, ... of a dimension without dilation: [low, high) are inside.
struct Inside {
  int64_t low, high;
};
Inside inside_range(const ConvolutionSpatial& s, int64_t position, int64_t step, int64_t count) {
  int64_t low = position >= 0 ? 0 : (-position + step - 1) / step;
  int64_t high = position >= s.input ? 0 : (s.input - 1 - position) / step + 1;
  low = std::min(low, count);
  return {low, std::clamp(high, low, count)};
}

template <typename Format>
void copy_border_run(const ConvolutionPlan& plan, const typename Format::Stored* input,
                     const Window& window, const Run& run, const ConvolutionLoop* joined,
                     float* to) {
  int64_t offset = 0;
  if (run.columns == 0) {
    if (inside(plan, window, run.element, offset))
      copy_run<Format>(input + offset, 1, run.count, to);
    else
      std::fill(to, to + run.count, 0.0f);
    return;
  }
  const auto d = static_cast<size_t>(joined->spatial);
  const ConvolutionSpatial& s = plan.spatial[d];
  offset = window.offset + run.element.offset;
  bool valid = true;
  for (size_t e = 0; e < plan.spatial.size() && valid; ++e)
    if (e != d) valid = inside(plan.spatial[e], window.start[e] + run.element.reach[e], offset);
  int64_t position = window.start[d] + run.element.reach[d];
  Inside part = inside_range(s, position, s.window_dilation, run.columns);
  if (!valid) part = {run.columns, run.columns};
  const int64_t features = run.count / run.columns;
  std::fill(to, to + part.low * features, 0.0f);
  if (part.low < part.high)
    copy_run<Format>(input + offset + (position + part.low * s.window_dilation) * s.input_stride, 1,
                     (part.high - part.low) * features, to + part.low * features);
  std::fill(to + part.high * features, to + run.count, 0.0f);
}

// Rows of output positions, k contiguous; k ends with the input features.
template <typename Format>
void eval_rows(void* opaque, int64_t batch, int64_t m0, int64_t m1, int64_t k0, int64_t k1,
               float* dst, int64_t dst_stride) {
  const Context& context = *static_cast<const Context*>(opaque);
  const ConvolutionPlan& plan = *context.plan;
  const auto* input = reinterpret_cast<const typename Format::Stored*>(context.input) +
                      batch * (plan.per_image ? plan.image_input : plan.input_group);
  Run runs[matmul_k_block];
  const ConvolutionLoop* joined = nullptr;
  Coordinates at;
  locate(plan.m, m0, at);
  const int64_t count = cut_runs(plan, k0, k1, runs, joined);
  for (int64_t m = m0; m < m1; ++m, dst += dst_stride, advance(plan.m, at)) {
    const Window window = window_of(plan, at);
    if (!interior(plan, window)) {
      for (const Run* run = runs; run < runs + count; ++run)
        copy_border_run<Format>(plan, input, window, *run, joined, dst + run->to);
      continue;
    }
    const auto* from = input + window.offset;
    for (size_t d = 0; d < plan.spatial.size(); ++d)
      from += window.start[d] * plan.spatial[d].input_stride;
    for (const Run* run = runs; run < runs + count; ++run)
      copy_run<Format>(from + run->flat, 1, run->count, dst + run->to);
  }
}

// Rows of k, output positions contiguous.
template <typename Format>
void eval_columns(void* opaque, int64_t batch, int64_t k0, int64_t k1, int64_t m0, int64_t m1,
                  float* dst, int64_t dst_stride) {
  const Context& context = *static_cast<const Context*>(opaque);
  const ConvolutionPlan& plan = *context.plan;
  const auto* input = reinterpret_cast<const typename Format::Stored*>(context.input) +
                      batch * (plan.per_image ? plan.image_input : plan.input_group);
  const ConvolutionLoop& inner = plan.m.empty() ? kSingle : plan.m.back();
  Coordinates kc, first;
  locate(plan.k, k0, kc);
  locate(plan.m, m0, first);
  for (int64_t k = k0; k < k1; ++k, dst += dst_stride, advance(plan.k, kc)) {
    const Element element = element_of(plan, kc);
    Coordinates mc = first;
    for (int64_t m = m0; m < m1;) {
      float* to = dst + (m - m0);
      const int64_t from = plan.m.empty() ? 0 : mc.at[plan.m.size() - 1];
      const int64_t count = std::min(inner.extent - from, m1 - m);
      const Window window = window_of(plan, mc);
      m += count;
      if (!plan.m.empty()) {
        mc.at[plan.m.size() - 1] = 0;
        advance_outer(plan.m, mc);
      }
      int64_t offset = 0;
      if (inner.spatial < 0) {
        if (inside(plan, window, element, offset))
          copy_run<Format>(input + offset, inner.input_stride, count, to);
        else
          std::fill(to, to + count, 0.0f);
        continue;
      }
      const auto d = static_cast<size_t>(inner.spatial);
      const ConvolutionSpatial& s = plan.spatial[d];
      offset = window.offset + element.offset;
      bool valid = true;
      for (size_t e = 0; e < plan.spatial.size() && valid; ++e)
        if (e != d) valid = inside(plan.spatial[e], window.start[e] + element.reach[e], offset);
      int64_t position = window.start[d] + element.reach[d];
      if (!valid) {
        std::fill(to, to + count, 0.0f);
      } else if (s.input_dilation == 1) {
        Inside part = inside_range(s, position, s.stride, count);
        std::fill(to, to + part.low, 0.0f);
        if (part.low < part.high)
          copy_run<Format>(input + offset + (position + part.low * s.stride) * s.input_stride,
                           s.stride * s.input_stride, part.high - part.low, to + part.low);
        std::fill(to + part.high, to + count, 0.0f);
      } else {
        for (int64_t i = 0; i < count; ++i, position += s.stride) {
          int64_t here = offset;
          to[i] = inside(s, position, here) ? Format::load(input[here]) : 0.0f;
        }
      }
    }
  }
}

int64_t memory_offset(const std::vector<ConvolutionLoop>& loops, int64_t index) {
  int64_t offset = 0;
  for (size_t i = loops.size(); i-- > 0;) {
    offset += index % loops[i].extent * loops[i].memory_stride;
    index /= loops[i].extent;
  }
  return offset;
}

// The kernel where it is no plain matrix: rows of k, or of output features.
template <typename Format>
void eval_kernel(void* opaque, int64_t batch, int64_t outer0, int64_t outer1, int64_t inner0,
                 int64_t inner1, float* dst, int64_t dst_stride) {
  const Context& context = *static_cast<const Context*>(opaque);
  const ConvolutionPlan& plan = *context.plan;
  const auto* kernel = reinterpret_cast<const typename Format::Stored*>(context.kernel) +
                       (plan.per_image ? 0 : batch * plan.kernel_group);
  if (!plan.matmul.problem.b.inner_is_k) {
    for (int64_t k = outer0; k < outer1; ++k, dst += dst_stride)
      copy_run<Format>(kernel + memory_offset(plan.k, k) + inner0 * plan.kernel_n, plan.kernel_n,
                       inner1 - inner0, dst);
    return;
  }
  const ConvolutionLoop& last = plan.k.empty() ? kSingle : plan.k.back();
  for (int64_t n = outer0; n < outer1; ++n, dst += dst_stride)
    for (int64_t k = inner0; k < inner1;) {
      int64_t count = std::min(last.extent - k % last.extent, inner1 - k);
      copy_run<Format>(kernel + memory_offset(plan.k, k) + n * plan.kernel_n, last.memory_stride,
                       count, dst + (k - inner0));
      k += count;
    }
}

void store(DType dtype, std::byte* out, int64_t at, float value) {
  switch (dtype) {
    case DType::bf16: {
      uint16_t bits = float_to_bf16(value);
      std::memcpy(out + 2 * at, &bits, 2);
      return;
    }
    case DType::f16: {
      uint16_t bits = float_to_f16(value);
      std::memcpy(out + 2 * at, &bits, 2);
      return;
    }
    default:
      std::memcpy(out + 4 * at, &value, 4);
  }
}

void store_sums(void* opaque, int64_t batch, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                const float* sums, int64_t stride) {
  const Context& context = *static_cast<const Context*>(opaque);
  const ConvolutionPlan& plan = *context.plan;
  int64_t base = batch * (plan.per_image ? plan.image_output : plan.output_group);
  for (int64_t m = m0; m < m1; ++m, sums += stride) {
    int64_t row = base + memory_offset(plan.m, m);
    if (plan.out == DType::f32 && plan.output_n == 1) {
      std::memcpy(context.output + 4 * (row + n0), sums, static_cast<size_t>(n1 - n0) * 4);
      continue;
    }
    for (int64_t n = n0; n < n1; ++n)
      store(plan.out, context.output, row + n * plan.output_n, sums[n - n0]);
  }
}

ULLAGE_CLONES void add_products(float* __restrict sums, const float* __restrict x,
                                const float* __restrict w, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sums[i] += x[i] * w[i];
}

class CompiledConvolution : public CompiledKernel {
 public:
  explicit CompiledConvolution(ConvolutionPlan plan) : plan_(std::move(plan)) {}

  void run(const KernelCall& call, ThreadPool& pool) const override {
    switch (plan_.method) {
      case ConvolutionPlan::Method::product:
        if (plan_.phases.empty() || !finite_kernel(call.buffers[1], pool))
          return run_product(plan_, call.buffers[1], call.buffers[2], call, pool);
        for (const ConvolutionPlan::Phase& phase : plan_.phases)
          run_product(phase.plan, call.buffers[1] + phase.kernel_offset * storage_bytes(plan_.rhs),
                      call.buffers[2] + phase.output_offset * storage_bytes(plan_.out), call, pool);
        return;
      case ConvolutionPlan::Method::lanes:
        return with_format(plan_.lhs, [&]<typename L>(L) {
          with_format(plan_.rhs, [&]<typename R>(R) { run_lanes<L, R>(call, pool); });
        });
      case ConvolutionPlan::Method::direct:
        return run_direct(call, pool);
    }
  }

 private:
  // Whether zeros beside the input and in its holes add nothing to a sum, whatever they meet.
  bool finite_kernel(const std::byte* kernel, ThreadPool& pool) const {
    return with_format(plan_.rhs, [&]<typename Format>(Format) {
      const auto* values = reinterpret_cast<const typename Format::Stored*>(kernel);
      const int64_t elements = plan_.groups * plan_.k_size * plan_.n;
      std::atomic<bool> finite = true;
      pool.parallel_for((elements + kTask - 1) / kTask, [&](int64_t task, int) {
        const int64_t end = std::min(elements, (task + 1) * kTask);
        bool all = true;
        for (int64_t i = task * kTask; i < end; ++i) all &= std::isfinite(Format::load(values[i]));
        if (!all) finite = false;
      });
      return finite.load();
    });
  }

  static void run_product(const ConvolutionPlan& plan, const std::byte* kernel, std::byte* output,
                          const KernelCall& call, ThreadPool& pool) {
    Context context{&plan, call.buffers[0], kernel, output};
    MatmulArgs args;
    args.a.context = args.b.context = args.epilogue_context = &context;
    bool rows = plan.matmul.problem.a.inner_is_k;
    args.a.eval = with_format(plan.lhs, [&]<typename Format>(Format) -> MatmulEval {
      return rows ? eval_rows<Format> : eval_columns<Format>;
    });
    if (plan.kernel_computed)
      args.b.eval = with_format(
          plan.rhs, [&]<typename Format>(Format) -> MatmulEval { return eval_kernel<Format>; });
    else
      args.b.data = kernel;
    if (plan.output_computed)
      args.epilogue = store_sums;
    else
      args.c = reinterpret_cast<float*>(output);
    MatmulPlan matmul = plan.matmul;  // the plan is the same for every pool, its scratch aside
    matmul.threads = pool.threads();
    matmul.scratch_bytes = matmul.scratch_bytes_per_worker * pool.threads();
    run_matmul(matmul, args, call.scratch, pool);
  }

  // Sums in blocks of matmul_k_block, as products have them.
  template <typename L, typename R>
  void run_lanes(const KernelCall& call, ThreadPool& pool) const {
    const auto* input = reinterpret_cast<const typename L::Stored*>(call.buffers[0]);
    const auto* kernel = reinterpret_cast<const typename R::Stored*>(call.buffers[1]);
    const bool finite = finite_kernel(call.buffers[1], pool);
    int64_t chunks = (plan_.groups + kLaneChunk - 1) / kLaneChunk;
    int64_t jobs = chunks * plan_.m_size;
    int64_t grain = std::max<int64_t>(1, kTask / std::max<int64_t>(1, plan_.k_size * kLaneChunk));
    pool.parallel_for((jobs + grain - 1) / grain, [&](int64_t task, int) {
      alignas(64) float block[kLaneChunk], total[kLaneChunk], x[kLaneChunk], w[kLaneChunk];
      for (int64_t job = task * grain; job < std::min(jobs, (task + 1) * grain); ++job) {
        int64_t m = job / chunks, group = job % chunks * kLaneChunk;
        int64_t count = std::min(kLaneChunk, plan_.groups - group);
        Coordinates mc, kc;
        locate(plan_.m, m, mc);
        locate(plan_.k, 0, kc);
        const Window window = window_of(plan_, mc);
        std::fill(total, total + count, 0.0f);
        for (int64_t k0 = 0; k0 < plan_.k_size; k0 += matmul_k_block) {
          std::fill(block, block + count, 0.0f);
          for (int64_t k = k0; k < std::min(plan_.k_size, k0 + matmul_k_block); ++k) {
            int64_t offset = 0;
            bool valid = inside(plan_, window, element_of(plan_, kc), offset);
            int64_t weight = 0;
            for (size_t i = 0; i < plan_.k.size(); ++i)
              weight += kc.at[i] * plan_.k[i].memory_stride;
            if (!plan_.k.empty() && ++kc.at[plan_.k.size() - 1] == plan_.k.back().extent) {
              kc.at[plan_.k.size() - 1] = 0;
              advance_outer(plan_.k, kc);
            }
            if (!valid && finite) continue;
            if (!valid) std::fill(x, x + count, 0.0f);
            const float* xs = valid ? lanes<L>(input + offset + group, count, x) : x;
            const float* ws = lanes<R>(kernel + weight + group, count, w);
            add_products(block, xs, ws, count);
          }
          for (int64_t i = 0; i < count; ++i) total[i] += block[i];
        }
        int64_t out = memory_offset(plan_.m, m) + group;
        for (int64_t i = 0; i < count; ++i) store(plan_.out, call.buffers[2], out + i, total[i]);
      }
    });
  }

  template <typename Format>
  static const float* lanes(const typename Format::Stored* from, int64_t count, float* room) {
    if constexpr (std::is_same_v<Format, F32>) return from;
    copy_run<Format>(from, 1, count, room);
    return room;
  }

  // Sums are made in double, in the complex type, or, of integers, in their low 64 bits.
  void run_direct(const KernelCall& call, ThreadPool& pool) const {
    if (plan_.out == DType::c64) return run_direct<std::complex<float>>(call, pool);
    if (plan_.out == DType::c128) return run_direct<std::complex<double>>(call, pool);
    if (is_float(plan_.out)) return run_direct<double>(call, pool);
    run_direct<uint64_t>(call, pool);
  }

  template <typename Sum>
  static Sum element(DType dtype, const std::byte* data, int64_t at) {
    auto read = [&]<typename T>(T value) {
      std::memcpy(&value, data + at * static_cast<int64_t>(sizeof(T)), sizeof(T));
      return value;
    };
    if constexpr (!std::is_arithmetic_v<Sum>) {
      return read(Sum{});
    } else {
      if (dtype == DType::f32) return static_cast<Sum>(read(float{}));
      if (dtype == DType::f64) return static_cast<Sum>(read(double{}));
      bool is_signed = is_signed_int(dtype);
      switch (storage_bytes(dtype)) {
        case 1:
          return is_signed ? static_cast<Sum>(read(int8_t{})) : static_cast<Sum>(read(uint8_t{}));
        case 2:
          return is_signed ? static_cast<Sum>(read(int16_t{})) : static_cast<Sum>(read(uint16_t{}));
        case 4:
          return is_signed ? static_cast<Sum>(read(int32_t{})) : static_cast<Sum>(read(uint32_t{}));
        default:
          return is_signed ? static_cast<Sum>(read(int64_t{})) : static_cast<Sum>(read(uint64_t{}));
      }
    }
  }

  template <typename Sum>
  static void put(DType dtype, std::byte* data, int64_t at, Sum sum) {
    if constexpr (std::is_same_v<Sum, double>) {
      if (dtype == DType::f32) return store(dtype, data, at, static_cast<float>(sum));
    }
    // Integers wrap: their low bytes come first.
    int64_t width = storage_bytes(dtype);
    std::memcpy(data + at * width, &sum, static_cast<size_t>(width));
  }

  template <typename Sum>
  void run_direct(const KernelCall& call, ThreadPool& pool) const {
    int64_t jobs = plan_.groups * plan_.m_size;
    int64_t grain = std::max<int64_t>(1, kTask / std::max<int64_t>(1, plan_.k_size * plan_.n));
    pool.parallel_for((jobs + grain - 1) / grain, [&](int64_t task, int) {
      for (int64_t job = task * grain; job < std::min(jobs, (task + 1) * grain); ++job) {
        int64_t group = job / plan_.m_size, m = job % plan_.m_size;
        Coordinates mc;
        locate(plan_.m, m, mc);
        const Window window = window_of(plan_, mc);
        int64_t out = memory_offset(plan_.m, m) + group * plan_.output_group;
        for (int64_t n = 0; n < plan_.n; ++n) {
          Sum sum{};
          for (int64_t k = 0; k < plan_.k_size; ++k) {
            Coordinates kc;
            locate(plan_.k, k, kc);
            int64_t offset = 0;
            Sum x{};
            if (inside(plan_, window, element_of(plan_, kc), offset))
              x = element<Sum>(plan_.lhs, call.buffers[0], offset + group * plan_.input_group);
            sum += x * element<Sum>(plan_.rhs, call.buffers[1],
                                    memory_offset(plan_.k, k) + group * plan_.kernel_group +
                                        n * plan_.kernel_n);
          }
          put(plan_.out, call.buffers[2], out + n * plan_.output_n, sum);
        }
      }
    });
  }

  ConvolutionPlan plan_;
};

}  // namespace

Result<KernelRecipe> convolution_recipe(const Kernel&, const LibraryKernel& library) {
  ConvolutionPlan plan = plan_convolution(*library.op, 1);
  KernelRecipe recipe;
  recipe.finish = [plan](const std::vector<void*>&, std::shared_ptr<const void>) {
    return std::make_shared<CompiledConvolution>(plan);
  };
  return recipe;
}

}  // namespace ullage
