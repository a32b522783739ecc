// Products: dot_general in many forms, convolutions.
#include <algorithm>

#include "ops/infer.h"
#include "random/makers.h"

namespace ullage::random_programs {

namespace {

void dot_general(Generator& g) {
  Value* x = g.pick([](const Type& t) { return t.dtype != DType::i1 && t.rank() >= 1; });
  if (!x) return;
  const std::vector<int64_t>& shape = x->type.shape;
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < x->type.rank(); ++d) dims.push_back(d);
  g.random.shuffle(dims);
  DotAttributes a;
  std::vector<int64_t> other;  // shape of the right side: batch, contracting, free, then shuffled
  for (int64_t d : dims) {
    if (a.lhs_contracting.empty() || g.random.chance(15)) {
      if (g.random.chance(90) || !a.lhs_contracting.empty()) a.lhs_contracting.push_back(d);
    } else if (g.random.chance(30)) {
      a.lhs_batching.push_back(d);
    }
  }
  for (int64_t d : a.lhs_batching) other.push_back(shape[static_cast<size_t>(d)]);
  for (int64_t d : a.lhs_contracting) other.push_back(shape[static_cast<size_t>(d)]);
  for (int64_t i = g.random.between(0, 2); i > 0; --i)
    other.push_back(g.random.pick(std::vector<int64_t>{1, 2, 3, 5, 8, 16, 17, 33, 64}));
  std::vector<int64_t> order;
  for (size_t i = 0; i < other.size(); ++i) order.push_back(static_cast<int64_t>(i));
  g.random.shuffle(order);
  std::vector<int64_t> right(other.size()), place(other.size());
  for (size_t i = 0; i < order.size(); ++i) {
    place[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    right[i] = other[static_cast<size_t>(order[i])];
  }
  size_t at = 0;
  for (size_t i = 0; i < a.lhs_batching.size(); ++i) a.rhs_batching.push_back(place[at++]);
  for (size_t i = 0; i < a.lhs_contracting.size(); ++i) a.rhs_contracting.push_back(place[at++]);
  int64_t elements = 1;
  for (int64_t extent : right) elements *= extent;
  if (elements > g.most_elements()) return;
  DType dtype = x->type.dtype, result = dtype;
  if ((dtype == DType::bf16 || dtype == DType::f16) && g.random.chance(40)) result = DType::f32;
  if ((dtype == DType::i8 || dtype == DType::ui8) && g.random.chance(70)) result = DType::i32;
  Value* y = g.like(Type::tensor(dtype, right));
  if (g.random.chance(10) && x->type == y->type && !a.lhs_batching.empty()) y = x;
  std::vector<int64_t> out;
  for (int64_t d : a.lhs_batching) out.push_back(shape[static_cast<size_t>(d)]);
  auto free_dims = [&](const std::vector<int64_t>& from, const Dims& one, const Dims& two) {
    for (int64_t d = 0; d < static_cast<int64_t>(from.size()); ++d)
      if (std::find(one.begin(), one.end(), d) == one.end() &&
          std::find(two.begin(), two.end(), d) == two.end())
        out.push_back(from[static_cast<size_t>(d)]);
  };
  free_dims(shape, a.lhs_batching, a.lhs_contracting);
  free_dims(right, a.rhs_batching, a.rhs_contracting);
  if (out.size() > 6) return;
  g.append(OpKind::dot_general, {x, y}, a, {Type::tensor(result, out)});
}

void convolution(Generator& g) {
  const std::vector<DType> types = {DType::f32, DType::f32, DType::bf16,
                                    DType::f64, DType::i32, DType::c64};
  DType dtype = g.random.pick(types);
  const int64_t spatial = g.random.pick(std::vector<int64_t>{0, 1, 1, 2, 2, 2, 3});
  ConvolutionAttributes a;
  int64_t groups = g.random.chance(70) ? 1 : g.random.between(2, 3);
  bool of_batch = groups > 1 && g.random.chance(30);
  (of_batch ? a.batch_group_count : a.feature_group_count) = groups;
  int64_t batch = g.random.between(1, 3) * (of_batch ? groups : 1);
  int64_t inputs = g.random.between(1, 4), outputs = g.random.between(1, 4) * groups;
  int64_t rank = spatial + 2;
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d) order.push_back(d);
  std::vector<int64_t> lhs(static_cast<size_t>(rank)), rhs = lhs, out = lhs;
  auto layout = [&](std::vector<int64_t>& shape, int64_t& first, int64_t first_extent,
                    int64_t& second, int64_t second_extent, Dims& places) {
    if (g.random.chance(50)) g.random.shuffle(order);
    first = order[0], second = order[1];
    places.assign(order.begin() + 2, order.end());
    shape[static_cast<size_t>(first)] = first_extent;
    shape[static_cast<size_t>(second)] = second_extent;
  };
  auto& n = a.dims;
  layout(lhs, n.input_batch, batch, n.input_feature, inputs * (of_batch ? 1 : groups),
         n.input_spatial);
  layout(rhs, n.kernel_input_feature, inputs, n.kernel_output_feature, outputs, n.kernel_spatial);
  layout(out, n.output_batch, of_batch ? batch / groups : batch, n.output_feature, outputs,
         n.output_spatial);
  for (int64_t s = 0; s < spatial; ++s) {
    auto i = static_cast<size_t>(s);
    WindowDimension w;
    w.size = g.random.between(1, 9);
    w.window = g.random.between(1, 4);
    w.stride = g.random.chance(60) ? 1 : g.random.between(2, 3);
    w.low = g.random.between(0, 2);
    w.high = g.random.chance(90) ? g.random.between(0, 2) : -1;
    w.base_dilation = g.random.chance(80) ? 1 : 2;
    w.window_dilation = g.random.chance(80) ? 1 : 2;
    a.window_strides.push_back(w.stride);
    a.padding.push_back({w.low, w.high});
    a.lhs_dilation.push_back(w.base_dilation);
    a.rhs_dilation.push_back(w.window_dilation);
    a.window_reversal.push_back(g.random.chance(15));
    lhs[static_cast<size_t>(n.input_spatial[i])] = w.size;
    rhs[static_cast<size_t>(n.kernel_spatial[i])] = w.window;
    out[static_cast<size_t>(n.output_spatial[i])] = num_windows(w);
  }
  Value* x = g.like(Type::tensor(dtype, lhs));
  Value* y = g.like(Type::tensor(dtype, rhs));
  g.append(OpKind::convolution, {x, y}, a, {Type::tensor(dtype, out)});
}

const Maker kMakers[] = {
    {"dot_general", 9, dot_general},
    {"convolution", 2, convolution},
};

}  // namespace

std::span<const Maker> product_makers() {
  return kMakers;
}

}  // namespace ullage::random_programs
