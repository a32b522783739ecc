// Conversions between dtypes, and between a value as held in registers and as stored in buffers.
#include "codegen/cpu/emit.h"
#include "support/check.h"

namespace ullage::cpu {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

// f32 bits to the nearest bf16, ties to even, as an integer in the low half; NaN stays NaN.
static Value* round_bf16_bits(Emit& e, Value* value) {
  Value* bits = e.bits_of(value);
  Value* low = e.b.CreateAnd(e.b.CreateLShr(bits, e.integer(bits, 16)), e.integer(bits, 1));
  Value* rounded = e.b.CreateAdd(bits, e.b.CreateAdd(low, e.integer(bits, 0x7fff)));
  Value* quiet = e.b.CreateOr(bits, e.integer(bits, 0x400000));
  Value* is_nan = e.b.CreateFCmpUNO(value, value);
  return e.b.CreateLShr(e.b.CreateSelect(is_nan, quiet, rounded), e.integer(bits, 16));
}

static Value* round_f16(Emit& e, Value* value) {
  return e.b.CreateFPTrunc(value, e.like(value, e.b.getHalfTy()));
}

Value* emit_normalize(Emit& e, Value* value, DType dtype) {
  if (is_small_float(dtype))
    return decode_small_float(e, encode_small_float(e, value, dtype), dtype);
  switch (dtype) {
    case DType::bf16: {
      Value* bits = round_bf16_bits(e, value);
      return e.as_real(e.b.CreateShl(bits, e.integer(bits, 16)), e.b.getFloatTy());
    }
    case DType::f16:
      return e.b.CreateFPExt(round_f16(e, value), e.like(value, e.b.getFloatTy()));
    case DType::i2:
    case DType::i4: {
      Value* shift = e.integer(value, 8 - bit_width(dtype));
      return e.b.CreateAShr(e.b.CreateShl(value, shift), shift);
    }
    case DType::ui2:
    case DType::ui4:
      return e.b.CreateAnd(value, e.integer(value, (1 << bit_width(dtype)) - 1));
    default:
      return value;
  }
}

Value* from_memory(Emit& e, Value* stored, DType dtype) {
  if (is_small_float(dtype)) return decode_small_float(e, stored, dtype);
  switch (dtype) {
    case DType::i1:
      return e.b.CreateICmpNE(stored, e.integer(stored, 0));
    case DType::bf16: {
      Value* wide = e.b.CreateZExt(stored, e.like(stored, e.b.getInt32Ty()));
      return e.as_real(e.b.CreateShl(wide, e.integer(wide, 16)), e.b.getFloatTy());
    }
    case DType::f16:
      return e.b.CreateFPExt(e.as_real(stored, e.b.getHalfTy()), e.like(stored, e.b.getFloatTy()));
    default:
      return emit_normalize(e, stored, dtype);
  }
}

Value* to_memory(Emit& e, Value* held, DType dtype) {
  if (is_small_float(dtype)) return encode_small_float(e, held, dtype);
  switch (dtype) {
    case DType::i1:
      return e.b.CreateZExt(held, e.like(held, e.b.getInt8Ty()));
    case DType::bf16: {
      Value* bits = e.bits_of(held);
      return e.b.CreateTrunc(e.b.CreateLShr(bits, e.integer(bits, 16)),
                             e.like(held, e.b.getInt16Ty()));
    }
    case DType::f16:
      return e.b.CreateBitCast(round_f16(e, held), e.like(held, e.b.getInt16Ty()));
    default:
      return held;
  }
}

static bool held_as_integer(DType dtype) {
  return dtype == DType::i1 || is_int(dtype);
}
static bool signed_dtype(DType dtype) {
  return is_signed_int(dtype);
}

// f64 to f32 such that a second rounding to fewer bits gives the right result: the last bit of an
// inexact result is set.
static Value* to_odd_f32(Emit& e, Value* value) {
  Value* nearest = e.b.CreateFPTrunc(value, e.like(value, e.b.getFloatTy()));
  Value* back = e.b.CreateFPExt(nearest, value->getType());
  Value* bits = e.bits_of(nearest);
  Value* grew = e.b.CreateFCmpOGT(e.intrinsic(Intrinsic::fabs, {back}),
                                  e.intrinsic(Intrinsic::fabs, {value}));
  Value* toward_zero = e.b.CreateSelect(grew, e.b.CreateSub(bits, e.integer(bits, 1)), bits);
  Value* odd = e.b.CreateOr(toward_zero, e.integer(bits, 1));
  return e.as_real(e.b.CreateSelect(e.b.CreateFCmpONE(back, value), odd, bits), e.b.getFloatTy());
}

static Value* real_to_real(Emit& e, Value* value, DType from, DType to) {
  if (to == DType::f64)
    return from == DType::f64 ? value : e.b.CreateFPExt(value, e.like(value, e.b.getDoubleTy()));
  if (from == DType::f64) {
    if (to == DType::f32) return e.b.CreateFPTrunc(value, e.like(value, e.b.getFloatTy()));
    return emit_normalize(e, to_odd_f32(e, value), to);
  }
  return to == DType::f32 || from == to ? value : emit_normalize(e, value, to);
}

static Value* real_to_integer(Emit& e, Value* value, DType to) {
  int width = bit_width(to);
  llvm::Type* type = e.like(value, e.held_type(to));
  Intrinsic::ID id = signed_dtype(to) ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat;
  if (width >= 8) return e.b.CreateIntrinsic(id, {type, value->getType()}, {value});
  Value* wide = e.b.CreateIntrinsic(id, {type, value->getType()}, {value});
  int64_t low = signed_dtype(to) ? -(int64_t{1} << (width - 1)) : 0;
  int64_t high = signed_dtype(to) ? -low - 1 : (int64_t{1} << width) - 1;
  if (signed_dtype(to)) wide = e.intrinsic(Intrinsic::smax, {wide, e.integer(wide, low)});
  return e.intrinsic(signed_dtype(to) ? Intrinsic::smin : Intrinsic::umin,
                     {wide, e.integer(wide, high)});
}

static Value* integer_to_real(Emit& e, Value* value, DType from, DType to) {
  bool is_signed = signed_dtype(from);
  llvm::Type* single = e.like(value, e.b.getFloatTy());
  llvm::Type* twice = e.like(value, e.b.getDoubleTy());
  auto convert = [&](llvm::Type* type) {
    return is_signed ? e.b.CreateSIToFP(value, type) : e.b.CreateUIToFP(value, type);
  };
  if (to == DType::f64) return convert(twice);
  if (to == DType::f32) return convert(single);
  // Rounding once: 32-bit integers are exact in f64. Those of 64 bits with more than 53 are rounded
  // to odd by hand.
  if (bit_width(from) <= 16) return emit_normalize(e, convert(single), to);
  if (bit_width(from) == 64) {
    Value* magnitude =
        is_signed ? e.b.CreateIntrinsic(Intrinsic::abs, {value->getType()}, {value, e.b.getFalse()})
                  : value;
    Value* lost = e.b.CreateAnd(magnitude, e.integer(value, 0x7ff));
    Value* sticky = e.b.CreateZExt(e.b.CreateICmpNE(lost, e.integer(value, 0)), value->getType());
    Value* kept = e.b.CreateOr(e.b.CreateAnd(magnitude, e.integer(value, ~int64_t{0x7ff})),
                               e.b.CreateShl(sticky, e.integer(value, 11)));
    Value* big = e.b.CreateICmpUGT(magnitude, e.integer(value, int64_t{1} << 52));
    Value* used = e.b.CreateSelect(big, kept, magnitude);
    Value* real = e.b.CreateUIToFP(used, twice);
    if (is_signed)
      real = e.b.CreateSelect(e.b.CreateICmpSLT(value, e.integer(value, 0)), e.b.CreateFNeg(real),
                              real);
    return emit_normalize(e, to_odd_f32(e, real), to);
  }
  return emit_normalize(e, to_odd_f32(e, convert(twice)), to);
}

Value* emit_convert(Emit& e, Value* value, DType from, DType to) {
  if (from == to) return value;
  if (to == DType::i1) {
    if (is_float(from)) return e.b.CreateFCmpUNE(value, e.real(value, 0));
    return e.b.CreateICmpNE(value, e.integer(value, 0));
  }
  if (held_as_integer(from)) {
    if (is_float(to)) {
      if (from != DType::i1) return integer_to_real(e, value, from, to);
      llvm::Type* type = e.like(value, e.held_type(to));
      return e.b.CreateSelect(value, llvm::ConstantFP::get(type, 1.0),
                              llvm::ConstantFP::get(type, 0.0));
    }
    llvm::Type* type = e.like(value, e.held_type(to));
    Value* sized = signed_dtype(from) ? e.b.CreateSExtOrTrunc(value, type)
                                      : e.b.CreateZExtOrTrunc(value, type);
    return emit_normalize(e, sized, to);
  }
  return is_float(to) ? real_to_real(e, value, from, to) : real_to_integer(e, value, to);
}

}  // namespace ullage::cpu
