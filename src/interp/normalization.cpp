// Batch normalisation, in double, rounded once at the end.
#include <cmath>

#include "interp/eval.h"
#include "interp/product.h"

namespace ullage::interp {

namespace {

// The activation as doubles, and which feature each element belongs to.
struct Features {
  int64_t count, stride;

  Features(const Tensor& operand, int64_t dim)
      : count(operand.shape()[static_cast<size_t>(dim)]),
        stride(row_major_strides(operand.shape())[static_cast<size_t>(dim)]) {}
  size_t of(size_t element) const {
    return element / static_cast<size_t>(stride) % static_cast<size_t>(count);
  }
};

Tensor narrowed(const std::vector<double>& values, const Type& type) {
  Tensor out(type);
  narrow(values, out);
  return out;
}

std::vector<double> normalized(const Evaluation& e, const Features& features,
                               const std::vector<double>& mean,
                               const std::vector<double>& variance) {
  double epsilon = e.op.as<BatchNormAttributes>().epsilon;
  std::vector<double> x = widen<double>(e.operands[0]), scale = widen<double>(e.operands[1]),
                      offset = widen<double>(e.operands[2]);
  for (size_t k = 0; k < x.size(); ++k) {
    size_t f = features.of(k);
    x[k] = (x[k] - mean[f]) / std::sqrt(variance[f] + epsilon) * scale[f] + offset[f];
  }
  return x;
}

Result<Tensors> evaluate_inference(Evaluation& e) {
  Features features(e.operands[0], e.op.as<BatchNormAttributes>().feature_index);
  return Tensors{
      narrowed(normalized(e, features, widen<double>(e.operands[3]), widen<double>(e.operands[4])),
               e.types[0])};
}

Result<Tensors> evaluate_training(Evaluation& e) {
  Features features(e.operands[0], e.op.as<BatchNormAttributes>().feature_index);
  std::vector<double> x = widen<double>(e.operands[0]);
  auto n = static_cast<size_t>(features.count);
  std::vector<double> mean(n), variance(n);
  double per_feature = static_cast<double>(x.size()) / static_cast<double>(n);
  for (size_t k = 0; k < x.size(); ++k) mean[features.of(k)] += x[k] / per_feature;
  for (size_t k = 0; k < x.size(); ++k) {
    double centered = x[k] - mean[features.of(k)];
    variance[features.of(k)] += centered * centered / per_feature;
  }
  return Tensors{narrowed(normalized(e, features, mean, variance), e.types[0]),
                 narrowed(mean, e.types[1]), narrowed(variance, e.types[2])};
}

Result<Tensors> evaluate_grad(Evaluation& e) {
  const auto& a = e.op.as<BatchNormAttributes>();
  Features features(e.operands[0], a.feature_index);
  std::vector<double> x = widen<double>(e.operands[0]), scale = widen<double>(e.operands[1]),
                      mean = widen<double>(e.operands[2]);
  std::vector<double> variance = widen<double>(e.operands[3]), grad = widen<double>(e.operands[4]);
  auto n = static_cast<size_t>(features.count);
  double per_feature = static_cast<double>(x.size()) / static_cast<double>(n);
  std::vector<double> sum(n), dot(n), grad_scale(n);
  for (size_t k = 0; k < x.size(); ++k) {
    size_t f = features.of(k);
    sum[f] += grad[k];
    dot[f] += grad[k] * (x[k] - mean[f]);
  }
  for (size_t f = 0; f < n; ++f) grad_scale[f] = dot[f] / std::sqrt(variance[f] + a.epsilon);
  for (size_t k = 0; k < x.size(); ++k) {
    size_t f = features.of(k);
    double spread = variance[f] + a.epsilon, centered = x[k] - mean[f];
    x[k] = scale[f] / std::sqrt(spread) / per_feature *
           (per_feature * grad[k] - sum[f] - dot[f] * centered / spread);
  }
  return Tensors{narrowed(x, e.types[0]), narrowed(grad_scale, e.types[1]),
                 narrowed(sum, e.types[2])};
}

constexpr HandlerRow kRows[] = {
    {OpKind::batch_norm_inference, evaluate_inference},
    {OpKind::batch_norm_training, evaluate_training},
    {OpKind::batch_norm_grad, evaluate_grad},
};

}  // namespace

std::span<const HandlerRow> normalization_handlers() {
  return kRows;
}

}  // namespace ullage::interp
