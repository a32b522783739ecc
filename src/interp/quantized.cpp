#include "interp/quantized.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interp/lanes.h"
#include "interp/product.h"

namespace ullage::interp {

namespace {

// The quantization parameters of element k: per tensor, or per slice of one dimension.
size_t parameter_of(const Type& type, size_t k) {
  const Quantization& q = *type.quantized;
  if (!q.dimension) return 0;
  auto d = static_cast<size_t>(*q.dimension);
  return k / static_cast<size_t>(row_major_strides(type.shape)[d]) %
         static_cast<size_t>(type.shape[d]);
}

// Rounds to the expressed type, as each step of the definitions does.
double rounded(DType dtype, double value) {
  Lanes lanes;
  lanes.f[0] = value;
  round_to(dtype, 1, lanes);
  return lanes.f[0];
}

// The types by which data moves unchanged: whoever only moves elements can do it on stored
// integers.
bool moves_only(const Evaluation& e) {
  switch (e.op.kind) {
    case OpKind::broadcast_in_dim:
    case OpKind::concatenate:
    case OpKind::dynamic_slice:
    case OpKind::dynamic_update_slice:
    case OpKind::gather:
    case OpKind::pad:
    case OpKind::reshape:
    case OpKind::reverse:
    case OpKind::slice:
    case OpKind::transpose:
    case OpKind::constant:
    case OpKind::bitcast_convert:
    case OpKind::optimization_barrier:
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<Tensor> dequantize(Evaluation& e, const Tensor& stored) {
  const Type& type = stored.type();
  if (!type.quantized) return stored;
  const Quantization& q = *type.quantized;
  if (!is_float(q.expressed)) return e.problem("quantized tensors must express floats");
  Tensor out(Type::tensor(q.expressed, type.shape));
  std::vector<double> values(static_cast<size_t>(out.num_elements()));
  for (size_t k = 0; k < values.size(); ++k) {
    size_t p = parameter_of(type, k);
    double difference =
        static_cast<double>(stored.int_at(static_cast<int64_t>(k)) - q.zero_points[p]);
    values[k] = rounded(q.expressed, difference) * rounded(q.expressed, q.scales[p]);
  }
  narrow(values, out);
  return out;
}

Result<Tensor> quantize(Evaluation& e, const Tensor& x, const Type& type) {
  const Quantization& q = *type.quantized;
  if (!is_float(q.expressed) || !is_float(x.dtype()))
    return e.problem("quantized tensors must express floats");
  std::vector<double> values = widen<double>(x);
  double least = rounded(q.expressed, static_cast<double>(q.storage_min)),
         most = rounded(q.expressed, static_cast<double>(q.storage_max));
  for (size_t k = 0; k < values.size(); ++k) {
    size_t p = parameter_of(type, k);
    double scaled = rounded(q.expressed, values[k] / rounded(q.expressed, q.scales[p]));
    double shifted =
        rounded(q.expressed, scaled + rounded(q.expressed, static_cast<double>(q.zero_points[p])));
    // NaN stands for nothing a quantized type can hold; like a conversion to integers, it becomes
    // 0.
    values[k] = std::isnan(shifted) ? 0 : std::nearbyint(std::min(std::max(shifted, least), most));
    values[k] = std::min(std::max(values[k], static_cast<double>(q.storage_min)),
                         static_cast<double>(q.storage_max));
  }
  Tensor out(type);
  narrow(values, out);
  return out;
}

Result<Tensors> evaluate_quantized(Evaluation& e) {
  if (moves_only(e)) return handler_of(e.op.kind)(e);
  if (e.op.num_regions() > 0)
    return e.problem("the interpreter does not support regions over quantized tensors");
  Tensors real;
  for (const Tensor& operand : e.operands) {
    auto value = dequantize(e, operand);
    if (!value) return value.diagnostics();
    real.push_back(std::move(*value));
  }
  Tensors results;
  if (e.op.kind == OpKind::uniform_quantize || e.op.kind == OpKind::uniform_dequantize) {
    results = std::move(real);
  } else {
    Evaluation inner{e.op, real, e.types, e.module, e.outer, e.checks};
    for (Type& type : inner.types)
      if (type.quantized) type = Type::tensor(type.quantized->expressed, type.shape);
    Handler handler = handler_of(e.op.kind);
    if (!handler) return e.problem("the interpreter does not support this operation");
    auto computed = handler(inner);
    if (!computed) return computed;
    results = std::move(*computed);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!e.types[i].quantized) continue;
    auto stored = quantize(e, results[i], e.types[i]);
    if (!stored) return stored.diagnostics();
    results[i] = std::move(*stored);
  }
  return results;
}

}  // namespace ullage::interp
