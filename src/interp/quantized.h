// Quantized tensors: stored integers and the real numbers they stand for. Private to interp/.
#pragma once

#include "interp/eval.h"

namespace ullage::interp {

// (stored - zero point) * scale, of the expressed type.
Result<Tensor> dequantize(Evaluation& e, const Tensor& stored);
// round(clamp(x / scale + zero point)), of `type`, which is quantized.
Result<Tensor> quantize(Evaluation& e, const Tensor& x, const Type& type);

// Any operation on quantized tensors as the specification's dequantize_op_quantize: operands become
// real numbers, the operation is done on those, quantized results are rounded back.
Result<Tensors> evaluate_quantized(Evaluation& e);

}  // namespace ullage::interp
