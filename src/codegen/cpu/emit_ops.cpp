// Elementwise operations on held values, with the semantics of the StableHLO specification: one
// function per family of dtypes. Transcendental functions are in emit_math.cpp.
#include <cmath>

#include "codegen/cpu/emit.h"
#include "codegen/cpu/emit_kernels.h"
#include "support/check.h"

namespace ullage::cpu {

using llvm::CmpInst;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

static CmpInst::Predicate float_predicate(CompareDirection direction) {
  switch (direction) {
    case CompareDirection::eq:
      return CmpInst::FCMP_OEQ;
    case CompareDirection::ne:
      return CmpInst::FCMP_UNE;
    case CompareDirection::ge:
      return CmpInst::FCMP_OGE;
    case CompareDirection::gt:
      return CmpInst::FCMP_OGT;
    case CompareDirection::le:
      return CmpInst::FCMP_OLE;
    case CompareDirection::lt:
      return CmpInst::FCMP_OLT;
  }
  return CmpInst::FCMP_OEQ;
}

static CmpInst::Predicate integer_predicate(CompareDirection direction, bool is_signed) {
  switch (direction) {
    case CompareDirection::eq:
      return CmpInst::ICMP_EQ;
    case CompareDirection::ne:
      return CmpInst::ICMP_NE;
    case CompareDirection::ge:
      return is_signed ? CmpInst::ICMP_SGE : CmpInst::ICMP_UGE;
    case CompareDirection::gt:
      return is_signed ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT;
    case CompareDirection::le:
      return is_signed ? CmpInst::ICMP_SLE : CmpInst::ICMP_ULE;
    case CompareDirection::lt:
      return is_signed ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT;
  }
  return CmpInst::ICMP_EQ;
}

// Float bits as integers whose signed order is the total order.
static Value* total_order(Emit& e, Value* x) {
  Value* bits = e.bits_of(x);
  int64_t width = x->getType()->getScalarSizeInBits();
  Value* sign = e.b.CreateAShr(bits, e.integer(bits, width - 1));
  return e.b.CreateXor(bits, e.b.CreateLShr(sign, e.integer(bits, 1)));
}

static Value* compare(Emit& e, const ExprNode& node, DType type, Value* x, Value* y) {
  if (!is_float(type))
    return e.b.CreateICmp(integer_predicate(node.direction, is_signed_int(type)), x, y);
  if (node.compare_type == CompareType::totalorder)
    return e.b.CreateICmp(integer_predicate(node.direction, true), total_order(e, x),
                          total_order(e, y));
  return e.b.CreateFCmp(float_predicate(node.direction), x, y);
}

static Value* boolean_operation(Emit& e, OpKind op, Value* x, Value* y) {
  switch (op) {
    case OpKind::add:
    case OpKind::or_:
    case OpKind::maximum:
      return e.b.CreateOr(x, y);
    case OpKind::multiply:
    case OpKind::and_:
    case OpKind::minimum:
      return e.b.CreateAnd(x, y);
    case OpKind::xor_:
      return e.b.CreateXor(x, y);
    case OpKind::not_:
      return e.b.CreateNot(x);
    default:
      return nullptr;
  }
}

// Division as the specification has it where the processor would trap: x / 0 is all ones, x % 0 is
// x, and the quotient of the smallest integer and -1 wraps.
static Value* divide_integers(Emit& e, Value* x, Value* y, bool is_signed, bool remainder) {
  Value* zero = e.integer(x, 0);
  Value* one = e.integer(x, 1);
  Value* by_zero = e.b.CreateICmpEQ(y, zero);
  Value* safe = e.b.CreateSelect(by_zero, one, y);
  if (!is_signed) {
    Value* result = remainder ? e.b.CreateURem(x, safe) : e.b.CreateUDiv(x, safe);
    return e.b.CreateSelect(by_zero, remainder ? x : e.integer(x, -1), result);
  }
  Value* minus = e.b.CreateICmpEQ(y, e.integer(x, -1));
  safe = e.b.CreateSelect(minus, one, safe);
  Value* result = remainder ? e.b.CreateSRem(x, safe) : e.b.CreateSDiv(x, safe);
  if (!remainder) result = e.b.CreateSelect(minus, e.b.CreateSub(zero, x), result);
  return e.b.CreateSelect(by_zero, remainder ? x : e.integer(x, -1), result);
}

// base ^ exponent with wrapping multiplication; a negative exponent gives 0 except for bases 1 and
// -1.
static Value* power_integers(Emit& e, Value* base, Value* exponent, bool is_signed, int width) {
  Value* one = e.integer(base, 1);
  Value* result = one;
  Value* square = base;
  for (int bit = 0; bit < width; ++bit) {
    Value* set = e.b.CreateICmpNE(e.b.CreateAnd(exponent, e.integer(base, int64_t{1} << bit)),
                                  e.integer(base, 0));
    result = e.b.CreateSelect(set, e.b.CreateMul(result, square), result);
    if (bit + 1 < width) square = e.b.CreateMul(square, square);
  }
  if (!is_signed) return result;
  Value* is_one = e.b.CreateICmpEQ(base, one);
  Value* is_minus = e.b.CreateICmpEQ(base, e.integer(base, -1));
  Value* odd = e.b.CreateICmpNE(e.b.CreateAnd(exponent, one), e.integer(base, 0));
  Value* negative =
      e.b.CreateSelect(is_one, one,
                       e.b.CreateSelect(is_minus, e.b.CreateSelect(odd, e.integer(base, -1), one),
                                        e.integer(base, 0)));
  return e.b.CreateSelect(e.b.CreateICmpSLT(exponent, e.integer(base, 0)), negative, result);
}

// Shifts by the width or more shift everything out; the amount counts as unsigned.
static Value* shift(Emit& e, OpKind op, DType type, Value* x, Value* amount) {
  int width = bit_width(type);
  Value* inside = e.b.CreateICmpULT(amount, e.integer(x, width));
  Value* safe = e.b.CreateSelect(inside, amount, e.integer(x, 0));
  switch (op) {
    case OpKind::shift_left:
      return e.b.CreateSelect(inside, e.b.CreateShl(x, safe), e.integer(x, 0));
    case OpKind::shift_right_logical: {
      Value* source = width < 8 ? e.b.CreateAnd(x, e.integer(x, (1 << width) - 1)) : x;
      return e.b.CreateSelect(inside, e.b.CreateLShr(source, safe), e.integer(x, 0));
    }
    default: {
      // For an unsigned type the top bit is the sign all the same.
      Value* source = x;
      if (width < 8) {
        Value* up = e.integer(x, 8 - width);
        source = e.b.CreateAShr(e.b.CreateShl(x, up), up);
      }
      return e.b.CreateAShr(source, e.b.CreateSelect(inside, amount, e.integer(x, width - 1)));
    }
  }
}

static Value* integer_operation(Emit& e, OpKind op, DType type, Value* x, Value* y) {
  bool is_signed = is_signed_int(type);
  int width = bit_width(type);
  switch (op) {
    case OpKind::add:
      return e.b.CreateAdd(x, y);
    case OpKind::subtract:
      return e.b.CreateSub(x, y);
    case OpKind::multiply:
      return e.b.CreateMul(x, y);
    case OpKind::chlo_square:
      return e.b.CreateMul(x, x);
    case OpKind::divide:
      return divide_integers(e, x, y, is_signed, false);
    case OpKind::remainder:
      return divide_integers(e, x, y, is_signed, true);
    case OpKind::power:
      return power_integers(e, x, y, is_signed, width);
    case OpKind::maximum:
      return e.intrinsic(is_signed ? Intrinsic::smax : Intrinsic::umax, {x, y});
    case OpKind::minimum:
      return e.intrinsic(is_signed ? Intrinsic::smin : Intrinsic::umin, {x, y});
    case OpKind::and_:
      return e.b.CreateAnd(x, y);
    case OpKind::or_:
      return e.b.CreateOr(x, y);
    case OpKind::xor_:
      return e.b.CreateXor(x, y);
    case OpKind::not_:
      return e.b.CreateNot(x);
    case OpKind::negate:
      return e.b.CreateNeg(x);
    case OpKind::shift_left:
    case OpKind::shift_right_arithmetic:
    case OpKind::shift_right_logical:
      return shift(e, op, type, x, y);
    case OpKind::abs:
      return is_signed ? e.b.CreateIntrinsic(Intrinsic::abs, {x->getType()}, {x, e.b.getFalse()})
                       : x;
    case OpKind::sign: {
      Value* zero = e.integer(x, 0);
      Value* positive = e.b.CreateSelect(e.b.CreateICmpEQ(x, zero), zero, e.integer(x, 1));
      if (!is_signed) return positive;
      return e.b.CreateSelect(e.b.CreateICmpSLT(x, zero), e.integer(x, -1), positive);
    }
    case OpKind::popcnt: {
      Value* source = width < 8 ? e.b.CreateAnd(x, e.integer(x, (1 << width) - 1)) : x;
      return e.intrinsic(Intrinsic::ctpop, {source});
    }
    case OpKind::count_leading_zeros: {
      Value* source = width < 8 ? e.b.CreateAnd(x, e.integer(x, (1 << width) - 1)) : x;
      Value* zeros = e.b.CreateIntrinsic(Intrinsic::ctlz, {x->getType()}, {source, e.b.getFalse()});
      return width < 8 ? e.b.CreateSub(zeros, e.integer(x, 8 - width)) : zeros;
    }
    default:
      return nullptr;
  }
}

// An element's bits in memory, as integers.
static Value* bits_in_memory(Emit& e, DType dtype, Value* x) {
  Value* stored = to_memory(e, x, dtype);
  return stored->getType()->isFPOrFPVectorTy() ? e.bits_of(stored) : stored;
}
static Value* of_bits_in_memory(Emit& e, DType dtype, Value* bits) {
  if (dtype == DType::f32 || dtype == DType::f64)
    return e.as_real(bits, dtype == DType::f64 ? e.b.getDoubleTy() : e.b.getFloatTy());
  return from_memory(e, bits, dtype);
}

// Keeps `exponent_bits` and `mantissa_bits` of a value, rounding to nearest even and flushing what
// the narrower exponent cannot hold: of the bits in memory, so that denormals of the element's own
// type lose only what they have too much. Types that are no IEEE formats are reduced as f32.
static Value* reduce_precision(Emit& e, DType dtype, const ReducePrecisionAttributes& to,
                               Value* x) {
  const FloatLayout own = float_layout(dtype);
  const FloatLayout layout = own.ieee ? own : float_layout(DType::f32);
  const int mantissa = layout.mantissa_bits, exponent = layout.exponent_bits;
  Value* bits = own.ieee ? bits_in_memory(e, dtype, x) : e.bits_of(x);
  Value* original_nan = e.b.CreateFCmpUNO(x, x);
  const int64_t sign_mask = INT64_MIN >> (63 - mantissa - exponent);
  if (to.mantissa_bits < mantissa) {
    int64_t drop = mantissa - to.mantissa_bits;
    Value* last = e.b.CreateAnd(e.b.CreateLShr(bits, e.integer(bits, drop)), e.integer(bits, 1));
    Value* bias = e.b.CreateAdd(last, e.integer(bits, (int64_t{1} << (drop - 1)) - 1));
    bits = e.b.CreateAnd(e.b.CreateAdd(bits, bias), e.integer(bits, -(int64_t{1} << drop)));
  }
  if (to.exponent_bits < own.exponent_bits) {
    int64_t bias = (int64_t{1} << (exponent - 1)) - 1;
    int64_t reduced_bias = (int64_t{1} << (to.exponent_bits - 1)) - 1;
    Value* field = e.integer(bits, ((int64_t{1} << exponent) - 1) << mantissa);
    Value* exponent_field = e.b.CreateAnd(bits, field);
    Value* sign = e.b.CreateAnd(bits, e.integer(bits, sign_mask));
    Value* overflow =
        e.b.CreateICmpUGT(exponent_field, e.integer(bits, (bias + reduced_bias) << mantissa));
    Value* underflow =
        e.b.CreateICmpULE(exponent_field, e.integer(bits, (bias - reduced_bias) << mantissa));
    bits = e.b.CreateSelect(overflow, e.b.CreateOr(sign, field), bits);
    bits = e.b.CreateSelect(underflow, sign, bits);
  }
  Value* result = of_bits_in_memory(e, own.ieee ? dtype : DType::f32, bits);
  return e.b.CreateSelect(original_nan, to.mantissa_bits > 0 ? x : e.b.CreateFAdd(x, x), result);
}

// The neighbour of x toward y: one step of its bits in memory.
static Value* next_after(Emit& e, DType dtype, Value* x, Value* y) {
  Value* bits = bits_in_memory(e, dtype, x);
  Value* zero = e.real(x, 0);
  int64_t sign = INT64_MIN >> (64 - bit_width(dtype));
  Value* from_zero = e.b.CreateOr(e.b.CreateAnd(bits_in_memory(e, dtype, y), e.integer(bits, sign)),
                                  e.integer(bits, 1));
  Value* away = e.b.CreateICmpEQ(e.b.CreateFCmpOGT(y, x), e.b.CreateFCmpOGT(x, zero));
  Value* moved = e.b.CreateSelect(away, e.b.CreateAdd(bits, e.integer(bits, 1)),
                                  e.b.CreateSub(bits, e.integer(bits, 1)));
  moved = e.b.CreateSelect(e.b.CreateFCmpOEQ(x, zero), from_zero, moved);
  // Where -0 is missing, the least negative number is followed by the one zero.
  if (!has_negative_zero(dtype))
    moved =
        e.b.CreateSelect(e.b.CreateICmpEQ(moved, e.integer(bits, sign)), e.integer(bits, 0), moved);
  Value* result = of_bits_in_memory(e, dtype, moved);
  result = e.b.CreateSelect(e.b.CreateFCmpOEQ(x, y), y, result);
  return e.b.CreateSelect(e.b.CreateFCmpUNO(x, y), e.b.CreateFAdd(x, y), result);
}

static Value* round_away(Emit& e, Value* x) {
  // trunc(x + copysign(largest value below one half, x)): exact for every x.
  double below_half =
      x->getType()->getScalarSizeInBits() == 64 ? 0x1.fffffffffffffp-2 : 0x1.fffffep-2;
  Value* half = e.intrinsic(Intrinsic::copysign, {e.real(x, below_half), x});
  return e.intrinsic(Intrinsic::trunc, {e.b.CreateFAdd(x, half)});
}

static Value* is_infinite(Emit& e, Value* x) {
  return e.b.CreateFCmpOEQ(e.intrinsic(Intrinsic::fabs, {x}), e.real(x, INFINITY));
}

// Results are not yet rounded to a narrower type; null for operations that emit_math knows.
static Value* float_operation(Emit& e, const ExprNode& node, Value* x, Value* y) {
  switch (node.op) {
    case OpKind::add:
      return e.b.CreateFAdd(x, y);
    case OpKind::subtract:
      return e.b.CreateFSub(x, y);
    case OpKind::multiply:
      return e.b.CreateFMul(x, y);
    case OpKind::divide:
      return e.b.CreateFDiv(x, y);
    case OpKind::chlo_square:
      return e.b.CreateFMul(x, x);
    case OpKind::maximum:
      return e.intrinsic(Intrinsic::maximum, {x, y});
    case OpKind::minimum:
      return e.intrinsic(Intrinsic::minimum, {x, y});
    case OpKind::abs:
      return e.intrinsic(Intrinsic::fabs, {x});
    case OpKind::negate:
      return e.b.CreateFNeg(x);
    case OpKind::ceil:
      return e.intrinsic(Intrinsic::ceil, {x});
    case OpKind::floor:
      return e.intrinsic(Intrinsic::floor, {x});
    case OpKind::round_nearest_even:
      return e.intrinsic(Intrinsic::roundeven, {x});
    case OpKind::round_nearest_afz:
      return round_away(e, x);
    case OpKind::sqrt:
      return e.intrinsic(Intrinsic::sqrt, {x});
    case OpKind::real:
    case OpKind::chlo_conj:
      return x;
    case OpKind::imag:
      return e.real(x, 0);
    case OpKind::sign: {
      Value* one = e.intrinsic(Intrinsic::copysign, {e.real(x, 1), x});
      return e.b.CreateSelect(e.b.CreateFCmpONE(x, e.real(x, 0)), one, x);
    }
    case OpKind::chlo_next_after:
      return next_after(e, node.dtype, x, y);
    case OpKind::reduce_precision:
      return reduce_precision(e, node.dtype, node.precision, x);
    default:
      return nullptr;
  }
}

// Operations whose result is a bf16 or f16 value whenever the operands are. Smaller types may lack
// signs, zero, or large integers.
static bool keeps_precision(OpKind op) {
  switch (op) {
    case OpKind::maximum:
    case OpKind::minimum:
    case OpKind::abs:
    case OpKind::negate:
    case OpKind::ceil:
    case OpKind::floor:
    case OpKind::round_nearest_even:
    case OpKind::round_nearest_afz:
    case OpKind::sign:
    case OpKind::real:
    case OpKind::imag:
    case OpKind::chlo_conj:
      return true;
    default:
      return false;
  }
}

static Value* bitcast(Emit& e, Value* x, DType from, DType to) {
  llvm::Type* held = e.held_type(to);
  Value* stored = to_memory(e, x, from);
  if (to == DType::f32 || to == DType::f64) return e.b.CreateBitCast(stored, e.like(x, held));
  Value* integers = stored->getType()->isFPOrFPVectorTy() ? e.bits_of(stored) : stored;
  return from_memory(e, integers, to);
}

static Value* float_test(Emit& e, OpKind op, Value* x) {
  switch (op) {
    case OpKind::is_finite:
      return e.b.CreateFCmpOLT(e.intrinsic(Intrinsic::fabs, {x}), e.real(x, INFINITY));
    case OpKind::chlo_is_inf:
      return is_infinite(e, x);
    case OpKind::chlo_is_pos_inf:
      return e.b.CreateFCmpOEQ(x, e.real(x, INFINITY));
    case OpKind::chlo_is_neg_inf:
      return e.b.CreateFCmpOEQ(x, e.real(x, -INFINITY));
    default:
      return nullptr;
  }
}

Value* emit_operation(Emit& e, const ExprNode& node, DType operand_type,
                      llvm::ArrayRef<Value*> operands) {
  Value* x = operands.size() > 0 ? operands[0] : nullptr;
  Value* y = operands.size() > 1 ? operands[1] : nullptr;
  if (node.part > 0)
    return e.call_per_lane(
        "ullage_complex_" + std::string(info(node.op).name) + (node.part == 1 ? "_real" : "_imag"),
        operands);
  switch (node.op) {
    case OpKind::select:
      return e.b.CreateSelect(x, y, operands[2]);
    case OpKind::compare:
      return compare(e, node, operand_type, x, y);
    case OpKind::convert:
      return emit_convert(e, x, operand_type, node.dtype);
    case OpKind::bitcast_convert:
      return bitcast(e, x, operand_type, node.dtype);
    case OpKind::clamp:
      return emit_combine(e, OpKind::minimum, node.dtype,
                          emit_combine(e, OpKind::maximum, node.dtype, x, y), operands[2]);
    case OpKind::fused_multiply_add:
      return e.fma(x, y, operands[2]);
    default:
      break;
  }
  Value* result = nullptr;
  if (node.dtype == DType::i1 && is_float(operand_type)) {
    result = float_test(e, node.op, x);
  } else if (node.dtype == DType::i1) {
    result = boolean_operation(e, node.op, x, y);
  } else if (is_float(node.dtype)) {
    result = float_operation(e, node, x, y);
    bool exact = result && keeps_precision(node.op) && !is_small_float(node.dtype);
    if (!result) result = emit_math(e, node.op, node.dtype, operands);
    if (result && !exact) result = emit_normalize(e, result, node.dtype);
  } else {
    result = integer_operation(e, node.op, node.dtype, x, y);
    if (result) result = emit_normalize(e, result, node.dtype);
  }
  ULLAGE_CHECK(result, "operation " + std::string(info(node.op).name) + " reached code generation");
  return result;
}

Value* emit_combine(Emit& e, OpKind combiner, DType dtype, Value* a, Value* b) {
  ExprNode node;
  node.op = combiner;
  node.dtype = dtype;
  return emit_operation(e, node, dtype, {a, b});
}

// Operations on floats that emit_math has, and those with an i1 result.
static bool compiled_float_operation(OpKind op) {
  switch (op) {
    case OpKind::chlo_ragged_dot:
    case OpKind::chlo_top_k:
    case OpKind::complex:
    case OpKind::map:
    case OpKind::uniform_dequantize:
    case OpKind::uniform_quantize:
      return false;
    default:
      break;
  }
  OpFamily family = info(op).family;
  return family == OpFamily::elementwise || family == OpFamily::chlo ||
         op == OpKind::bitcast_convert;
}

static bool compiled_dtype(DType dtype) {
  return dtype == DType::i1 || is_int(dtype) || is_float(dtype);
}

std::string unsupported(const Expr& expr, const std::vector<bool>& needed) {
  for (size_t i = 0; i < expr.nodes.size(); ++i) {
    if (!needed[i]) continue;
    const ExprNode& node = expr.nodes[i];
    if (!compiled_dtype(node.dtype))
      return "elements of type " + std::string(name(node.dtype)) + " are not compiled yet";
    if (node.kind != ExprNode::Kind::op || node.part > 0) continue;
    std::string what = std::string(info(node.op).mnemonic) + " on " +
                       std::string(name(node.dtype)) + " is not compiled yet";
    DType operand = node.operands[0] >= 0 ? expr.nodes[static_cast<size_t>(node.operands[0])].dtype
                                          : node.dtype;
    if (node.op == OpKind::bitcast_convert && bit_width(operand) != bit_width(node.dtype))
      return what;
    if (node.op == OpKind::select || node.op == OpKind::compare || node.op == OpKind::convert ||
        node.op == OpKind::clamp || node.op == OpKind::bitcast_convert)
      continue;
    if (is_float(node.dtype) || (node.dtype == DType::i1 && is_float(operand))) {
      if (!compiled_float_operation(node.op)) return what;
      continue;
    }
    switch (node.op) {
      case OpKind::add:
      case OpKind::subtract:
      case OpKind::multiply:
      case OpKind::divide:
      case OpKind::remainder:
      case OpKind::power:
      case OpKind::maximum:
      case OpKind::minimum:
      case OpKind::and_:
      case OpKind::or_:
      case OpKind::xor_:
      case OpKind::not_:
      case OpKind::negate:
      case OpKind::shift_left:
      case OpKind::shift_right_arithmetic:
      case OpKind::shift_right_logical:
      case OpKind::abs:
      case OpKind::sign:
      case OpKind::popcnt:
      case OpKind::count_leading_zeros:
      case OpKind::chlo_square:
        continue;
      default:
        return what;
    }
  }
  return {};
}

}  // namespace ullage::cpu
