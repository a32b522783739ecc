// Floats of 4, 6 and 8 bits: held as f32, which has all of their values, stored as one byte each.
#include "codegen/cpu/emit.h"
#include "support/check.h"

namespace ullage::cpu {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace {

enum class Special : uint8_t {
  ieee,               // the greatest exponent holds infinity and NaN
  all_ones_nan,       // no infinity; all ones is NaN
  negative_zero_nan,  // no infinity; what would be -0 is NaN
  none,               // every code is a finite number; what is too large saturates
  unsigned_exponent,  // powers of two, no sign, all ones is NaN
};

struct Format {
  int exponent_bits, mantissa_bits, bias;
  Special special;

  int64_t sign() const { return int64_t{1} << (exponent_bits + mantissa_bits); }
  int64_t magnitudes() const { return sign() - 1; }
  int64_t infinity() const { return ((int64_t{1} << exponent_bits) - 1) << mantissa_bits; }
  // The greatest finite magnitude.
  int64_t largest() const {
    return special == Special::ieee           ? infinity() - 1
           : special == Special::all_ones_nan ? magnitudes() - 1
                                              : magnitudes();
  }
  // The magnitude, or for negative_zero_nan the whole code, that numbers too large become.
  int64_t overflow() const {
    return special == Special::ieee                ? infinity()
           : special == Special::negative_zero_nan ? sign()
                                                   : magnitudes();
  }
  int smallest_exponent() const { return 1 - bias; }
};

Format format(DType dtype) {
  switch (dtype) {
    case DType::f4E2M1FN:
      return {2, 1, 1, Special::none};
    case DType::f6E2M3FN:
      return {2, 3, 1, Special::none};
    case DType::f6E3M2FN:
      return {3, 2, 3, Special::none};
    case DType::f8E3M4:
      return {3, 4, 3, Special::ieee};
    case DType::f8E4M3:
      return {4, 3, 7, Special::ieee};
    case DType::f8E4M3FN:
      return {4, 3, 7, Special::all_ones_nan};
    case DType::f8E4M3FNUZ:
      return {4, 3, 8, Special::negative_zero_nan};
    case DType::f8E4M3B11FNUZ:
      return {4, 3, 11, Special::negative_zero_nan};
    case DType::f8E5M2:
      return {5, 2, 15, Special::ieee};
    case DType::f8E5M2FNUZ:
      return {5, 2, 16, Special::negative_zero_nan};
    case DType::f8E8M0FNU:
      return {8, 0, 127, Special::unsigned_exponent};
    default:
      ULLAGE_CHECK(false, "no small float: " + std::string(name(dtype)));
      return {};
  }
}

constexpr int64_t kNan = 0x7fc00000;
constexpr int64_t kInfinity = 0x7f800000;
constexpr int kMantissa = 23, kBias = 127;

Value* as_byte(Emit& e, Value* code) {
  return e.b.CreateTrunc(code, e.like(code, e.b.getInt8Ty()));
}

// Nearest, ties to even, of a positive f32 as bits, with `dropped` mantissa bits fewer.
Value* round_bits(Emit& e, Value* magnitude, int dropped) {
  Value* odd = e.b.CreateAnd(e.b.CreateLShr(magnitude, e.integer(magnitude, dropped)),
                             e.integer(magnitude, 1));
  Value* half = e.integer(magnitude, (int64_t{1} << (dropped - 1)) - 1);
  return e.b.CreateLShr(e.b.CreateAdd(magnitude, e.b.CreateAdd(odd, half)),
                        e.integer(magnitude, dropped));
}

Value* encode_exponent(Emit& e, Value* value) {
  Value* bits = e.bits_of(value);
  Value* rounded = round_bits(e, bits, kMantissa);
  // Below the normal numbers of f32 the grid is that of code 0, 2^-127, and of code 1.
  Value* tiny = e.b.CreateICmpULT(bits, e.integer(bits, 1 << kMantissa));
  Value* up = e.b.CreateZExt(e.b.CreateICmpUGT(bits, e.integer(bits, 0x600000)), bits->getType());
  rounded = e.b.CreateSelect(tiny, up, rounded);
  // Negative numbers, infinity and NaN, all of which are above the finite numbers as integers.
  Value* none = e.b.CreateICmpUGE(bits, e.integer(bits, kInfinity));
  return as_byte(e, e.b.CreateSelect(none, e.integer(bits, 0xff), rounded));
}

}  // namespace

FloatLayout float_layout(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {11, 52, true};
    case DType::f32:
      return {8, 23, true};
    case DType::bf16:
      return {8, 7, true};
    case DType::f16:
      return {5, 10, true};
    default: {
      Format own = format(dtype);
      return {own.exponent_bits, own.mantissa_bits, own.special == Special::ieee};
    }
  }
}

bool is_small_float(DType dtype) {
  return is_float(dtype) && storage_bytes(dtype) == 1;
}

bool has_negative_zero(DType dtype) {
  return !is_small_float(dtype) || format(dtype).special != Special::negative_zero_nan;
}

Value* encode_small_float(Emit& e, Value* value, DType dtype) {
  Format f = format(dtype);
  if (f.special == Special::unsigned_exponent) return encode_exponent(e, value);
  Value* bits = e.bits_of(value);
  Value* magnitude = e.b.CreateAnd(bits, e.integer(bits, 0x7fffffff));
  int dropped = kMantissa - f.mantissa_bits;
  Value* normal = e.b.CreateSub(round_bits(e, magnitude, dropped),
                                e.integer(bits, int64_t{kBias - f.bias} << f.mantissa_bits));
  // Subnormal numbers: the addition rounds to multiples of the smallest one.
  int64_t grid = int64_t{kBias + f.smallest_exponent() - f.mantissa_bits + kMantissa} << kMantissa;
  Value* anchor = e.as_real(e.integer(bits, grid), e.b.getFloatTy());
  Value* moved = e.b.CreateFAdd(e.as_real(magnitude, e.b.getFloatTy()), anchor);
  Value* subnormal = e.b.CreateSub(e.bits_of(moved), e.integer(bits, grid));
  Value* is_normal = e.b.CreateICmpUGE(
      magnitude, e.integer(bits, int64_t{kBias + f.smallest_exponent()} << kMantissa));
  Value* code = e.b.CreateSelect(is_normal, normal, subnormal);
  Value* large = e.b.CreateAnd(is_normal, e.b.CreateICmpUGT(normal, e.integer(bits, f.largest())));
  code = e.b.CreateSelect(large, e.integer(bits, f.overflow()), code);
  Value* sign = e.b.CreateLShr(e.b.CreateAnd(bits, e.integer(bits, -(int64_t{1} << 31))),
                               e.integer(bits, 31 - f.exponent_bits - f.mantissa_bits));
  bool signed_zero = f.special != Special::negative_zero_nan;
  if (!signed_zero) {
    Value* zero = e.b.CreateICmpEQ(code, e.integer(bits, 0));
    sign = e.b.CreateSelect(zero, e.integer(bits, 0), sign);
  }
  code = e.b.CreateOr(code, sign);
  Value* is_nan = e.b.CreateICmpUGT(magnitude, e.integer(bits, kInfinity));
  // Where there is no NaN it becomes -0, whose code is that of the NaN of other formats.
  Value* nan = e.integer(bits, f.sign());
  if (f.special == Special::ieee)
    nan = e.b.CreateOr(sign, e.integer(bits, f.infinity() | 1 << (f.mantissa_bits - 1)));
  if (f.special == Special::all_ones_nan) nan = e.b.CreateOr(sign, e.integer(bits, f.magnitudes()));
  return as_byte(e, e.b.CreateSelect(is_nan, nan, code));
}

Value* decode_small_float(Emit& e, Value* stored, DType dtype) {
  Format f = format(dtype);
  Value* code = e.b.CreateZExt(stored, e.like(stored, e.b.getInt32Ty()));
  llvm::Type* real = e.b.getFloatTy();
  if (f.special == Special::unsigned_exponent) {
    Value* bits = e.b.CreateShl(code, e.integer(code, kMantissa));
    Value* zero = e.b.CreateICmpEQ(code, e.integer(code, 0));
    bits = e.b.CreateSelect(zero, e.integer(code, 0x400000), bits);
    Value* is_nan = e.b.CreateICmpEQ(code, e.integer(code, 0xff));
    return e.as_real(e.b.CreateSelect(is_nan, e.integer(code, kNan), bits), real);
  }
  Value* magnitude = e.b.CreateAnd(code, e.integer(code, f.magnitudes()));
  Value* bits =
      e.b.CreateAdd(e.b.CreateShl(magnitude, e.integer(code, kMantissa - f.mantissa_bits)),
                    e.integer(code, int64_t{kBias - f.bias} << kMantissa));
  Value* steps = e.b.CreateSIToFP(magnitude, e.like(code, real));
  int64_t step = int64_t{kBias + f.smallest_exponent() - f.mantissa_bits} << kMantissa;
  Value* subnormal = e.bits_of(e.b.CreateFMul(steps, e.as_real(e.integer(code, step), real)));
  bits =
      e.b.CreateSelect(e.b.CreateICmpULT(magnitude, e.integer(code, int64_t{1} << f.mantissa_bits)),
                       subnormal, bits);
  if (f.special == Special::ieee || f.special == Special::all_ones_nan) {
    Value* beyond = e.b.CreateICmpUGT(magnitude, e.integer(code, f.largest()));
    Value* what = e.integer(code, kNan);
    if (f.special == Special::ieee)
      what = e.b.CreateSelect(e.b.CreateICmpEQ(magnitude, e.integer(code, f.infinity())),
                              e.integer(code, kInfinity), what);
    bits = e.b.CreateSelect(beyond, what, bits);
  }
  Value* sign = e.b.CreateShl(e.b.CreateAnd(code, e.integer(code, f.sign())),
                              e.integer(code, 31 - f.exponent_bits - f.mantissa_bits));
  bits = e.b.CreateOr(bits, sign);
  if (f.special == Special::negative_zero_nan)
    bits = e.b.CreateSelect(e.b.CreateICmpEQ(code, e.integer(code, f.sign())),
                            e.integer(code, kNan), bits);
  return e.as_real(bits, real);
}

}  // namespace ullage::cpu
