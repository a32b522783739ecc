// The elementwise operations on lanes: which function computes an operation for given element
// types. Private to interp/.
#pragma once

#include "interp/lanes.h"
#include "ir/ir.h"
#include "support/diagnostics.h"

namespace ullage::interp {

// One elementwise operation, ready to be applied to lanes.
struct LaneOp {
  // Operands hold values of their element types; out holds results before they are rounded to
  // `result`.
  using Function = void (*)(const LaneOp&, const Lanes* const* in, Lanes& out, size_t n);
  Function function = nullptr;
  DType operand = DType::f32;  // of the operand that decides: the last one for select
  DType result = DType::f32;
  CompareDirection direction = CompareDirection::eq;
  CompareType compare = CompareType::unspecified;
  int exponent_bits = 0, mantissa_bits = 0;

  void apply(const Lanes* const* in, Lanes& out, size_t n) const {
    function(*this, in, out, n);
    round_to(result, n, out);
  }
};

// Chooses the function. An operation or element type that has none is refused.
Result<LaneOp> lane_op(OpKind kind, std::span<const DType> operands, DType result,
                       const Attributes& attributes);
bool is_lane_op(OpKind kind);  // whether any element type has a function

}  // namespace ullage::interp
