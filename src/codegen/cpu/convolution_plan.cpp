#include "codegen/cpu/convolution_plan.h"

#include <algorithm>
#include <numeric>

namespace ullage {

namespace {

int64_t product(const std::vector<ConvolutionLoop>& loops) {
  int64_t size = 1;
  for (const ConvolutionLoop& loop : loops) size *= loop.extent;
  return size;
}

void drop_and_sort(std::vector<ConvolutionLoop>& loops) {
  std::erase_if(loops, [](const ConvolutionLoop& loop) { return loop.extent == 1; });
  std::stable_sort(loops.begin(), loops.end(),
                   [](const auto& a, const auto& b) { return a.memory_stride > b.memory_stride; });
}

// The stride of the loops taken as one, if they can be.
std::optional<int64_t> joint_stride(const std::vector<ConvolutionLoop>& loops) {
  for (size_t i = 0; i + 1 < loops.size(); ++i)
    if (loops[i].memory_stride != loops[i + 1].memory_stride * loops[i + 1].extent) return {};
  return loops.empty() ? 1 : loops.back().memory_stride;
}

bool small_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

MatmulType matmul_type(DType dtype) {
  return dtype == DType::f32    ? MatmulType::f32
         : dtype == DType::bf16 ? MatmulType::bf16
                                : MatmulType::f16;
}

void plan_product(ConvolutionPlan& plan, int threads) {
  MatmulProblem problem;
  std::optional<int64_t> rows = joint_stride(plan.m);
  if (!rows && plan.groups == 1) {
    // Images with their features before their positions: one product each.
    auto images = std::find_if(plan.m.begin(), plan.m.end(),
                               [](const ConvolutionLoop& loop) { return loop.spatial < 0; });
    std::vector<ConvolutionLoop> without = plan.m;
    if (images != plan.m.end()) {
      without.erase(without.begin() + (images - plan.m.begin()));
      rows = joint_stride(without);
      if (rows) {
        plan.per_image = true;
        plan.image_input = images->input_stride;
        plan.image_output = images->memory_stride;
        problem.batch = images->extent;
        plan.m = std::move(without);
        plan.m_size = product(plan.m);
      }
    }
  }
  if (!plan.per_image) problem.batch = plan.groups;
  problem.m = plan.m_size;
  problem.n = plan.n;
  problem.k = plan.k_size;
  problem.a.computed = true;
  problem.a.expensive = true;
  problem.a.inner_is_k =
      !plan.k.empty() && plan.k.back().spatial < 0 && plan.k.back().input_stride == 1;
  std::optional<int64_t> k_stride = joint_stride(plan.k);
  bool reversed = std::any_of(plan.spatial.begin(), plan.spatial.end(),
                              [](const ConvolutionSpatial& s) { return s.reversed; });
  plan.kernel_computed = !k_stride || reversed;
  if (plan.kernel_computed) {
    problem.b.computed = true;
    problem.b.inner_is_k = plan.kernel_n != 1;
  } else {
    problem.b.type = matmul_type(plan.rhs);
    problem.b.free_stride = plan.kernel_n;
    problem.b.k_stride = *k_stride;
    problem.b.batch_stride = plan.per_image ? 0 : plan.kernel_group;
  }
  plan.output_computed = !rows || plan.out != DType::f32;
  problem.c.computed = plan.output_computed;
  if (rows) {
    problem.c.row_stride = *rows;
    problem.c.column_stride = plan.output_n;
    problem.c.batch_stride = plan.per_image ? plan.image_output : plan.output_group;
  }
  plan.matmul = plan_matmul(problem, threads);
  plan.scratch_bytes = plan.matmul.scratch_bytes;
}

void simplify_loops(ConvolutionPlan& plan) {
  drop_and_sort(plan.m);
  drop_and_sort(plan.k);
  plan.m_size = product(plan.m);
  plan.k_size = product(plan.k);
}

void finish_product(ConvolutionPlan& plan, int threads) {
  simplify_loops(plan);
  plan_product(plan, threads);
}

// One dimension of a phase: the output positions first, first + every, ...
struct SpatialPhase {
  ConvolutionSpatial spatial;
  int64_t output_first = 0, output_every = 1;
  int64_t kernel_first = 0, kernel_every = 1;
};

// An output position o and a window element w meet at the input's element (o * stride + w *
// window_dilation - low) / input_dilation, if that is one.
std::vector<SpatialPhase> spatial_phases(const ConvolutionSpatial& s) {
  const int64_t dilation = s.input_dilation;
  const int64_t every = dilation / std::gcd(s.stride, dilation);
  const int64_t step = dilation / std::gcd(s.window_dilation, dilation);
  std::vector<SpatialPhase> phases;
  for (int64_t r = 0; r < std::min(every, s.output); ++r) {
    auto position = [&](int64_t w) { return r * s.stride + w * s.window_dilation - s.low; };
    int64_t first = 0;
    while (first < step && position(first) % dilation != 0) ++first;
    SpatialPhase phase;
    phase.output_first = r;
    phase.output_every = every;
    phase.kernel_every = step;
    phase.spatial = s;
    phase.spatial.input_dilation = 1;
    phase.spatial.output = (s.output - r + every - 1) / every;
    phase.spatial.window =
        first == step || first >= s.window ? 0 : (s.window - first - 1) / step + 1;
    phase.spatial.stride = every * s.stride / dilation;
    phase.spatial.window_dilation = step * s.window_dilation / dilation;
    if (phase.spatial.window > 0) {
      phase.spatial.low = -position(first) / dilation;
      // Where the window is reversed, elements are counted from its end.
      phase.kernel_first =
          s.reversed ? s.window - 1 - first - step * (phase.spatial.window - 1) : first;
    }
    phases.push_back(phase);
  }
  return phases;
}

constexpr size_t kMaxPhases = 64;

// The convolutions without dilation that together are `whole`; none if they are too many.
std::vector<ConvolutionPlan::Phase> plan_phases(const ConvolutionPlan& whole, int threads) {
  std::vector<ConvolutionPlan::Phase> out = {{whole}};
  for (size_t d = 0; d < whole.spatial.size(); ++d) {
    if (whole.spatial[d].input_dilation == 1) continue;
    std::vector<ConvolutionPlan::Phase> next;
    for (const ConvolutionPlan::Phase& before : out)
      for (const SpatialPhase& along : spatial_phases(whole.spatial[d])) {
        ConvolutionPlan::Phase phase = before;
        phase.plan.spatial[d] = along.spatial;
        for (ConvolutionLoop& loop : phase.plan.m) {
          if (loop.spatial != static_cast<int>(d)) continue;
          phase.output_offset += along.output_first * loop.memory_stride;
          loop.memory_stride *= along.output_every;
          loop.extent = along.spatial.output;
        }
        for (ConvolutionLoop& loop : phase.plan.k) {
          if (loop.spatial != static_cast<int>(d)) continue;
          phase.kernel_offset += along.kernel_first * loop.memory_stride;
          loop.memory_stride *= along.kernel_every;
          loop.extent = along.spatial.window;
        }
        next.push_back(std::move(phase));
      }
    if (next.size() > kMaxPhases) return {};
    out = std::move(next);
  }
  for (ConvolutionPlan::Phase& phase : out) finish_product(phase.plan, threads);
  return out;
}

}  // namespace

ConvolutionPlan plan_convolution(const Op& op, int threads) {
  const auto& a = op.as<ConvolutionAttributes>();
  const ConvolutionDimensionNumbers& dims = a.dims;
  const Type &lhs = op.operand(0)->type, &rhs = op.operand(1)->type, &out = op.result()->type;
  std::vector<int64_t> lhs_strides = row_major_strides(lhs.shape),
                       rhs_strides = row_major_strides(rhs.shape),
                       out_strides = row_major_strides(out.shape);
  auto at = [](const std::vector<int64_t>& values, int64_t d) {
    return values[static_cast<size_t>(d)];
  };
  ConvolutionPlan plan;
  plan.lhs = lhs.dtype;
  plan.rhs = rhs.dtype;
  plan.out = out.dtype;
  for (size_t d = 0; d < dims.input_spatial.size(); ++d) {
    ConvolutionSpatial s;
    s.input = at(lhs.shape, dims.input_spatial[d]);
    s.window = at(rhs.shape, dims.kernel_spatial[d]);
    s.output = at(out.shape, dims.output_spatial[d]);
    s.input_stride = at(lhs_strides, dims.input_spatial[d]);
    if (!a.window_strides.empty()) s.stride = a.window_strides[d];
    if (!a.padding.empty()) s.low = a.padding[d].first;
    if (!a.lhs_dilation.empty()) s.input_dilation = a.lhs_dilation[d];
    if (!a.rhs_dilation.empty()) s.window_dilation = a.rhs_dilation[d];
    if (!a.window_reversal.empty()) s.reversed = a.window_reversal[d];
    plan.spatial.push_back(s);
    int number = static_cast<int>(d);
    plan.m.push_back({number, s.output, 0, at(out_strides, dims.output_spatial[d])});
    plan.k.push_back({number, s.window, 0, at(rhs_strides, dims.kernel_spatial[d])});
  }
  int64_t images = at(out.shape, dims.output_batch);
  int64_t kernel_in = at(rhs.shape, dims.kernel_input_feature);
  plan.m.push_back(
      {-1, images, at(lhs_strides, dims.input_batch), at(out_strides, dims.output_batch)});
  plan.k.push_back({-1, kernel_in, at(lhs_strides, dims.input_feature),
                    at(rhs_strides, dims.kernel_input_feature)});
  plan.groups = a.feature_group_count * a.batch_group_count;
  plan.n = at(rhs.shape, dims.kernel_output_feature) / plan.groups;
  plan.kernel_n = at(rhs_strides, dims.kernel_output_feature);
  plan.output_n = at(out_strides, dims.output_feature);
  plan.input_group = a.feature_group_count > 1 ? kernel_in * at(lhs_strides, dims.input_feature)
                                               : images * at(lhs_strides, dims.input_batch);
  plan.kernel_group = plan.n * plan.kernel_n;
  plan.output_group = plan.n * plan.output_n;
  if (!small_float(plan.lhs) || !small_float(plan.rhs) || !small_float(plan.out)) {
    simplify_loops(plan);
    return plan;
  }
  if (plan.groups > 1 && plan.n == 1 && kernel_in == 1 && plan.input_group == 1 &&
      plan.kernel_group == 1 && plan.output_group == 1) {
    plan.method = ConvolutionPlan::Method::lanes;
    simplify_loops(plan);
    return plan;
  }
  plan.method = ConvolutionPlan::Method::product;
  if (std::any_of(plan.spatial.begin(), plan.spatial.end(),
                  [](const ConvolutionSpatial& s) { return s.input_dilation > 1; }))
    plan.phases = plan_phases(plan, threads);
  finish_product(plan, threads);
  for (const ConvolutionPlan::Phase& phase : plan.phases)
    plan.scratch_bytes = std::max(plan.scratch_bytes, phase.plan.scratch_bytes);
  return plan;
}

int64_t convolution_scratch_bytes(const LibraryKernel& kernel, int threads) {
  return plan_convolution(*kernel.op, threads).scratch_bytes;
}

}  // namespace ullage
