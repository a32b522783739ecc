// convolution and dynamic_conv: for each output position the window's elements are gathered into a
// row (zeros outside the input), and rows are multiplied with the kernel. Order of summation:
// kernel positions row-major, then input features.
#include <fmt/format.h>

#include <algorithm>

#include "interp/eval.h"
#include "interp/index_space.h"
#include "interp/product.h"
#include "ops/infer.h"

namespace ullage::interp {

namespace {

Tensor convolve(const Tensor& lhs, const Tensor& rhs, const ConvolutionAttributes& a,
                const Type& result) {
  const ConvolutionDimensionNumbers& n = a.dims;
  size_t spatial = n.input_spatial.size();
  auto or_ones = [&](const Dims& dims) { return dims.empty() ? Dims(spatial, 1) : dims; };
  Dims stride = or_ones(a.window_strides), lhs_dilation = or_ones(a.lhs_dilation),
       rhs_dilation = or_ones(a.rhs_dilation);
  auto order = [](int64_t first, const Dims& middle, int64_t last) {
    Dims out{first};
    out.insert(out.end(), middle.begin(), middle.end());
    out.push_back(last);
    return out;
  };
  // Canonical orders: input [batch, spatial, feature], kernel [output feature last].
  Dims kernel_order = n.kernel_spatial;
  kernel_order.push_back(n.kernel_input_feature);
  kernel_order.push_back(n.kernel_output_feature);
  std::vector<int64_t> input, window, output;
  for (size_t d = 0; d < spatial; ++d) {
    input.push_back(lhs.shape()[static_cast<size_t>(n.input_spatial[d])]);
    window.push_back(rhs.shape()[static_cast<size_t>(n.kernel_spatial[d])]);
    output.push_back(result.shape[static_cast<size_t>(n.output_spatial[d])]);
  }
  int64_t features = lhs.shape()[static_cast<size_t>(n.input_feature)];
  int64_t kernel_in = rhs.shape()[static_cast<size_t>(n.kernel_input_feature)];
  int64_t kernel_out = rhs.shape()[static_cast<size_t>(n.kernel_output_feature)];
  int64_t batch = result.shape[static_cast<size_t>(n.output_batch)];
  int64_t groups = a.feature_group_count * a.batch_group_count, columns = kernel_out / groups;
  int64_t positions = element_count(output), inner = element_count(window) * kernel_in;
  Index input_strides = row_major_strides(input);
  Tensor canonical(Type::tensor(result.dtype, [&] {
    std::vector<int64_t> shape{batch};
    shape.insert(shape.end(), output.begin(), output.end());
    shape.push_back(kernel_out);
    return shape;
  }()));
  with_accumulator(lhs.dtype(), rhs.dtype(), result.dtype, inner, [&]<typename T>(T) {
    std::vector<T> x = widen<T>(lhs, order(n.input_batch, n.input_spatial, n.input_feature)),
                   y = widen<T>(rhs, kernel_order);
    std::vector<T> out(static_cast<size_t>(batch * positions * kernel_out)),
        row(static_cast<size_t>(inner));
    std::vector<T> kernel(static_cast<size_t>(inner * columns)), sums(static_cast<size_t>(columns));
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t k = 0; k < inner; ++k)
        for (int64_t j = 0; j < columns; ++j)
          kernel[static_cast<size_t>(k * columns + j)] =
              y[static_cast<size_t>(k * kernel_out + g * columns + j)];
      int64_t first_feature = a.feature_group_count > 1 ? g * kernel_in : 0,
              first_batch = a.batch_group_count > 1 ? g * batch : 0;
      for (int64_t b = 0; b < batch; ++b) {
        int64_t position = 0;
        const T* image =
            x.data() + (first_batch + b) * element_count(input) * features + first_feature;
        for_each_index(output, [&](const Index& at) {
          size_t filled = 0;
          for_each_index(window, [&](const Index& k) {
            int64_t offset = 0;
            bool inside = true;
            for (size_t d = 0; d < spatial; ++d) {
              bool reversed = !a.window_reversal.empty() && a.window_reversal[d];
              int64_t low = a.padding.empty() ? 0 : a.padding[d].first;
              int64_t p = at[d] * stride[d] +
                          (reversed ? window[d] - 1 - k[d] : k[d]) * rhs_dilation[d] - low;
              inside =
                  inside && p >= 0 && p % lhs_dilation[d] == 0 && p / lhs_dilation[d] < input[d];
              offset += p / lhs_dilation[d] * input_strides[d];
            }
            for (int64_t f = 0; f < kernel_in; ++f)
              row[filled++] = inside ? image[offset * features + f] : T{};
          });
          std::fill(sums.begin(), sums.end(), T{});
          multiply_add(row.data(), kernel.data(), sums.data(), 1, inner, columns);
          std::copy(sums.begin(), sums.end(),
                    out.begin() + (b * positions + position) * kernel_out + g * columns);
          ++position;
        });
      }
    }
    // On truth values the sum is "or".
    if constexpr (std::is_same_v<T, uint64_t>)
      if (result.dtype == DType::i1)
        for (T& value : out) value = value != 0;
    narrow(out, canonical);
  });
  // Back to the order of dimensions the program wants.
  Tensor out(result);
  Dims output_order = order(n.output_batch, n.output_spatial, n.output_feature);
  Index own = row_major_strides(result.shape), strides;
  for (int64_t d : output_order) strides.push_back(own[static_cast<size_t>(d)]);
  copy_box(static_cast<size_t>(storage_bytes(result.dtype)), canonical.shape(), canonical.data(),
           row_major_strides(canonical.shape()), out.mutable_data(), strides);
  return out;
}

Result<Tensors> evaluate_convolution(Evaluation& e) {
  return Tensors{
      convolve(e.operands[0], e.operands[1], e.op.as<ConvolutionAttributes>(), e.types[0])};
}

Result<Tensors> evaluate_dynamic_conv(Evaluation& e) {
  ConvolutionAttributes a = e.op.as<ConvolutionAttributes>();
  const Tensor& padding = e.operands[2];
  a.padding.clear();
  for (int64_t k = 0; k + 1 < padding.num_elements(); k += 2)
    a.padding.emplace_back(padding.int_at(k), padding.int_at(k + 1));
  Type operands[] = {e.operands[0].type(), e.operands[1].type()},
       declared[] = {e.op.result()->type};
  auto types = infer_types(OpKind::convolution, operands, a, declared);
  if (!types) return types.diagnostics();
  if (!compatible(declared[0], (*types)[0]))
    return e.problem(fmt::format("(C25): the result is {}, declared as {}", to_string((*types)[0]),
                                 to_string(declared[0])));
  return Tensors{convolve(e.operands[0], e.operands[1], a, (*types)[0])};
}

constexpr HandlerRow kRows[] = {
    {OpKind::convolution, evaluate_convolution},
    {OpKind::dynamic_conv, evaluate_dynamic_conv},
};

}  // namespace

std::span<const HandlerRow> convolution_handlers() {
  return kRows;
}

}  // namespace ullage::interp
