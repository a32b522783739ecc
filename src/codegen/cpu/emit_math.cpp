// Transcendental functions. On f32 (and bf16, f16, which are computed in f32) they are inline
// polynomials without branches, fitted for least greatest relative error; the bound of each in
// units in the last place is stated and tested. f64 and rare functions call the runtime lane by
// lane, in double precision.
#include <cmath>

#include "codegen/cpu/emit.h"
#include "support/check.h"

namespace ullage::cpu {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace {

// x > bound ? bound : x, and the like: a NaN stays.
Value* at_most(Emit& e, Value* x, double bound) {
  Value* limit = e.real(x, bound);
  return e.b.CreateSelect(e.b.CreateFCmpOLT(limit, x), limit, x);
}
Value* at_least(Emit& e, Value* x, double bound) {
  Value* limit = e.real(x, bound);
  return e.b.CreateSelect(e.b.CreateFCmpOGT(limit, x), limit, x);
}
Value* magnitude(Emit& e, Value* x) {
  return e.intrinsic(Intrinsic::fabs, {x});
}
Value* with_sign(Emit& e, Value* x, Value* sign) {
  return e.intrinsic(Intrinsic::copysign, {x, sign});
}

// Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
constexpr double kRound = 12582912.0;
constexpr int64_t kRoundBits = 0x4B400000;
constexpr double kLn2High = 0x1.62e4p-1, kLn2Low = 0x1.7f7d1cf79abcap-20;
constexpr double kLog2E = 1.4426950408889634;

// 2^n as f32, for integers n with -127 < n < 128.
Value* power_of_two(Emit& e, Value* n) {
  Value* bits = e.b.CreateShl(e.b.CreateAdd(n, e.integer(n, 127)), e.integer(n, 23));
  return e.as_real(bits, e.b.getFloatTy());
}

struct Reduced {
  Value* n;  // integer
  Value* r;  // x - n ln 2
};
Reduced reduce_by_ln2(Emit& e, Value* x) {
  Value* shifted = e.fma(x, e.real(x, kLog2E), e.real(x, kRound));
  Value* n = e.b.CreateFSub(shifted, e.real(x, kRound));
  Value* r = e.fma(n, e.real(x, -kLn2High), x);
  r = e.fma(n, e.real(x, -kLn2Low), r);
  Value* bits = e.bits_of(shifted);
  return {e.b.CreateSub(bits, e.integer(bits, kRoundBits)), r};
}

// 1 ulp; correct down to the smallest denormal.
Value* exp_f32(Emit& e, Value* x) {
  Reduced reduced = reduce_by_ln2(e, at_least(e, at_most(e, x, 89), -104.5));
  Value* r = reduced.r;
  Value* p = e.polynomial(
      r, {4.999999305e-01, 1.666651479e-01, 4.166845683e-02, 8.369419043e-03, 1.381314236e-03});
  Value* sum = e.b.CreateFAdd(e.fma(e.b.CreateFMul(r, r), p, r), e.real(x, 1));
  // In two steps, so that neither factor leaves the range of normal numbers.
  Value* half = e.b.CreateAShr(reduced.n, e.integer(reduced.n, 1));
  Value* rest = e.b.CreateSub(reduced.n, half);
  return e.b.CreateFMul(e.b.CreateFMul(sum, power_of_two(e, half)), power_of_two(e, rest));
}

// 2 ulp.
Value* expm1_f32(Emit& e, Value* x) {
  Reduced reduced = reduce_by_ln2(e, at_least(e, at_most(e, x, 89), -40));
  Value* r = reduced.r;
  Value* p = e.polynomial(r, {5.000000047e-01, 1.666666635e-01, 4.166634870e-02, 8.333391640e-03,
                              1.394165293e-03, 1.984595726e-04});
  p = e.fma(e.b.CreateFMul(r, r), p, r);
  Value* scale = power_of_two(e, e.b.CreateSub(reduced.n, e.integer(reduced.n, 1)));  // half of 2^n
  Value* result = e.fma(scale, p, e.b.CreateFSub(scale, e.real(x, 0.5)));
  result = e.b.CreateFAdd(result, result);
  return e.b.CreateSelect(e.b.CreateFCmpOLT(magnitude(e, x), e.real(x, 0x1p-26)), x, result);
}

// 1 ulp. Denormals are scaled up first.
Value* log_f32(Emit& e, Value* x) {
  Value* tiny = e.b.CreateFCmpOLT(x, e.real(x, 0x1p-126));
  Value* scaled = e.b.CreateSelect(tiny, e.b.CreateFMul(x, e.real(x, 0x1p23)), x);
  Value* bits = e.bits_of(scaled);
  // x = 2^exponent * m with m in [sqrt(1/2), sqrt(2)).
  Value* exponent =
      e.b.CreateAShr(e.b.CreateSub(bits, e.integer(bits, 0x3f3504f3)), e.integer(bits, 23));
  Value* m = e.as_real(e.b.CreateSub(bits, e.b.CreateShl(exponent, e.integer(bits, 23))),
                       e.b.getFloatTy());
  Value* f = e.b.CreateFSub(m, e.real(x, 1));
  Value* n = e.b.CreateSIToFP(exponent, x->getType());
  n = e.b.CreateSelect(tiny, e.b.CreateFSub(n, e.real(x, 23)), n);
  Value* q = e.polynomial(
      f, {3.333331260e-01, -2.500000960e-01, 2.000211873e-01, -1.666799567e-01, 1.421955091e-01,
          -1.240559142e-01, 1.188817460e-01, -1.167564130e-01, 6.746601326e-02});
  Value* square = e.b.CreateFMul(f, f);
  Value* tail = e.b.CreateFMul(e.b.CreateFMul(square, f), q);
  tail = e.fma(n, e.real(x, kLn2Low), tail);
  tail = e.fma(square, e.real(x, -0.5), tail);
  Value* result = e.fma(n, e.real(x, kLn2High), e.b.CreateFAdd(f, tail));
  Value* regular = e.b.CreateFCmpOLT(x, e.real(x, INFINITY));
  result = e.b.CreateSelect(regular, result, x);  // infinity and NaN
  result = e.b.CreateSelect(e.b.CreateFCmpOLT(x, e.real(x, 0)), e.real(x, NAN), result);
  return e.b.CreateSelect(e.b.CreateFCmpOEQ(x, e.real(x, 0)), e.real(x, -INFINITY), result);
}

// 2 ulp: log of the rounded sum, plus what the rounding lost.
Value* log1p_f32(Emit& e, Value* x) {
  Value* one = e.real(x, 1);
  Value* u = e.b.CreateFAdd(x, one);
  Value* large = e.b.CreateFCmpOGE(x, one);
  Value* lost = e.b.CreateSelect(large, e.b.CreateFSub(one, e.b.CreateFSub(u, x)),
                                 e.b.CreateFSub(x, e.b.CreateFSub(u, one)));
  Value* logarithm = log_f32(e, u);
  Value* corrected = e.b.CreateFAdd(logarithm, e.b.CreateFDiv(lost, u));
  Value* special =
      e.b.CreateOr(e.b.CreateFCmpOEQ(u, e.real(x, 0)), e.b.CreateFCmpOEQ(u, e.real(x, INFINITY)));
  Value* result = e.b.CreateSelect(special, logarithm, corrected);
  return e.b.CreateSelect(e.b.CreateFCmpOLT(magnitude(e, x), e.real(x, 0x1p-26)), x, result);
}

// 2 ulp.
Value* tanh_f32(Emit& e, Value* x) {
  Value* a = magnitude(e, x);
  Value* z = e.b.CreateFMul(a, a);
  Value* p = e.polynomial(
      z, {-3.333328392e-01, 1.333149125e-01, -5.374349526e-02, 2.065057900e-02, -5.717036561e-03});
  Value* small = e.fma(e.b.CreateFMul(a, z), p, a);
  Value* one = e.real(x, 1);
  Value* exponential = exp_f32(e, e.b.CreateFAdd(a, a));
  Value* large =
      e.b.CreateFSub(one, e.b.CreateFDiv(e.real(x, 2), e.b.CreateFAdd(exponential, one)));
  Value* is_small = e.b.CreateFCmpOLT(a, e.real(x, 0.625));
  return with_sign(e, e.b.CreateSelect(is_small, small, large), x);
}

// 2 ulp; exp of the negative magnitude only, so that nothing overflows and small results keep their
// digits.
Value* logistic_f32(Emit& e, Value* x) {
  Value* one = e.real(x, 1);
  Value* exponential = exp_f32(e, e.b.CreateFNeg(magnitude(e, x)));
  Value* numerator = e.b.CreateSelect(e.b.CreateFCmpOLT(x, e.real(x, 0)), exponential, one);
  return e.b.CreateFDiv(numerator, e.b.CreateFAdd(exponential, one));
}

// 2 ulp: a series near zero, elsewhere 1 - exp(log erfc).
Value* erf_f32(Emit& e, Value* x) {
  Value* a = magnitude(e, x);
  Value* z = e.b.CreateFMul(a, a);
  Value* p =
      e.polynomial(z, {1.283791671e-01, -3.761263848e-01, 1.128378275e-01, -2.686544582e-02,
                       5.221074881e-03, -8.484711487e-04, 1.127054478e-04, -9.680137277e-06});
  Value* small = e.fma(a, p, a);
  Value* q = e.polynomial(at_most(e, a, 4),
                          {1.692051242e-04, -1.129488406e+00, -6.334008509e-01, -1.082203840e-01,
                           2.508061645e-02, -4.156254899e-03, 4.313935619e-04, -2.082861808e-05});
  Value* large = e.b.CreateFSub(e.real(x, 1), exp_f32(e, q));
  Value* is_small = e.b.CreateFCmpOLT(a, e.real(x, 0.95));
  return with_sign(e, e.b.CreateSelect(is_small, small, large), x);
}

// M. Giles, "Approximating the erfinv function", 2010: relative error 3.5e-7.
Value* erf_inv_f32(Emit& e, Value* x) {
  Value* one = e.real(x, 1);
  Value* w =
      e.b.CreateFNeg(log_f32(e, e.b.CreateFMul(e.b.CreateFSub(one, x), e.b.CreateFAdd(one, x))));
  Value* near =
      e.polynomial(e.b.CreateFSub(w, e.real(x, 2.5)),
                   {1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087,
                    -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08});
  Value* root = e.b.CreateFSub(e.intrinsic(Intrinsic::sqrt, {w}), e.real(x, 3));
  Value* far =
      e.polynomial(root, {2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773,
                          -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257});
  Value* p = e.b.CreateSelect(e.b.CreateFCmpOLT(w, e.real(x, 5)), near, far);
  Value* at_end = e.b.CreateFCmpOEQ(magnitude(e, x), e.real(x, 1));
  return e.b.CreateFMul(x, e.b.CreateSelect(at_end, e.real(x, INFINITY), p));
}

// 2 ulp everywhere: the multiple of pi/2 is taken off in double precision, with 106 bits of it.
// Arguments from 2^40 on, infinities and NaN take a branch to the runtime.
Value* sin_or_cos_f32(Emit& e, Value* x, bool cosine) {
  llvm::Type* twice = e.like(x, e.b.getDoubleTy());
  Value* wide = e.b.CreateFPExt(x, twice);
  constexpr double kRound64 = 0x1.8p52;
  Value* shifted = e.fma(wide, e.real(wide, 0.63661977236758134), e.real(wide, kRound64));
  Value* n = e.b.CreateFSub(shifted, e.real(wide, kRound64));
  // Without fused multiply-add the products must be exact: fewer bits of pi/2 in the first, and a
  // smaller range.
  Value* r64 = e.fma(n, e.real(wide, e.host.fma ? -0x1.921fb54442d18p0 : -0x1.921fb544p0), wide);
  r64 = e.fma(n, e.real(wide, e.host.fma ? -0x1.1a62633145c07p-54 : -0x1.0b4611a626331p-34), r64);
  Value* r = e.b.CreateFPTrunc(r64, x->getType());
  Value* quadrant = e.b.CreateTrunc(e.bits_of(shifted), e.like(x, e.b.getInt32Ty()));
  if (cosine) quadrant = e.b.CreateAdd(quadrant, e.integer(quadrant, 1));
  Value* z = e.b.CreateFMul(r, r);
  Value* p =
      e.polynomial(z, {-1.666666664e-01, 8.333328890e-03, -1.983917608e-04, 2.716810008e-06});
  Value* sine = e.fma(e.b.CreateFMul(r, z), p, r);
  Value* q =
      e.polynomial(z, {4.166666661e-02, -1.388888281e-03, 2.479928256e-05, -2.719142532e-07});
  Value* cos_value = e.fma(e.b.CreateFMul(z, z), q, e.fma(z, e.real(x, -0.5), e.real(x, 1)));
  Value* swap =
      e.b.CreateICmpNE(e.b.CreateAnd(quadrant, e.integer(quadrant, 1)), e.integer(quadrant, 0));
  Value* value = e.b.CreateSelect(swap, cos_value, sine);
  Value* sign =
      e.b.CreateShl(e.b.CreateAnd(quadrant, e.integer(quadrant, 2)), e.integer(quadrant, 30));
  value = e.as_real(e.b.CreateXor(e.bits_of(value), sign), e.b.getFloatTy());
  if (!cosine)
    value = e.b.CreateSelect(e.b.CreateFCmpOLT(magnitude(e, x), e.real(x, 0x1p-13)), x, value);

  Value* regular = e.b.CreateFCmpOLT(magnitude(e, x), e.real(x, e.host.fma ? 0x1p40 : 0x1p19));
  Value* all = regular->getType()->isVectorTy() ? e.b.CreateAndReduce(regular) : regular;
  llvm::BasicBlock* before = e.b.GetInsertBlock();
  llvm::BasicBlock* slow = llvm::BasicBlock::Create(e.context, "slow", e.function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(e.context, "after", e.function);
  e.b.CreateCondBr(all, after, slow);
  e.b.SetInsertPoint(slow);
  Value* exact = e.b.CreateFPTrunc(e.call_per_lane(cosine ? "cos" : "sin", {wide}), x->getType());
  // What a lane computes must not depend on which others it shares a vector with.
  exact = e.b.CreateSelect(regular, value, exact);
  llvm::BasicBlock* slow_end = e.b.GetInsertBlock();
  e.b.CreateBr(after);
  e.b.SetInsertPoint(after);
  llvm::PHINode* phi = e.b.CreatePHI(x->getType(), 2);
  phi->addIncoming(value, before);
  phi->addIncoming(exact, slow_end);
  return phi;
}

// 1 ulp: 2^(y log2 |x|) in double precision, then the special cases of IEEE pow.
Value* pow_f32(Emit& e, Value* x, Value* y) {
  llvm::Type* twice = e.like(x, e.b.getDoubleTy());
  llvm::Type* i32 = e.like(x, e.b.getInt32Ty());
  Value* a = magnitude(e, x);
  Value* wide = e.b.CreateFPExt(a, twice);
  Value* bits = e.bits_of(wide);
  Value* high = e.b.CreateTrunc(e.b.CreateLShr(bits, e.integer(bits, 32)), i32);
  Value* exponent =
      e.b.CreateAShr(e.b.CreateSub(high, e.integer(high, 0x3fe6a09e)), e.integer(high, 20));
  Value* offset =
      e.b.CreateShl(e.b.CreateZExt(e.b.CreateShl(exponent, e.integer(high, 20)), bits->getType()),
                    e.integer(bits, 32));
  Value* m = e.as_real(e.b.CreateSub(bits, offset), e.b.getDoubleTy());
  Value* s = e.b.CreateFDiv(e.b.CreateFSub(m, e.real(m, 1)), e.b.CreateFAdd(m, e.real(m, 1)));
  Value* p = e.polynomial(e.b.CreateFMul(s, s), {2.88539008177792677e+00, 9.61796693924530821e-01,
                                                 5.77078017199473936e-01, 4.12198406940202433e-01,
                                                 3.20616186787347768e-01, 2.61446814045145526e-01,
                                                 2.42925932864861610e-01});
  Value* log2 = e.fma(s, p, e.b.CreateSIToFP(exponent, twice));
  Value* w = e.b.CreateFMul(e.b.CreateFPExt(y, twice), log2);
  w = at_least(e, at_most(e, w, 160), -200);
  constexpr double kRound64 = 0x1.8p52;
  Value* shifted = e.b.CreateFAdd(w, e.real(w, kRound64));
  Value* r = e.b.CreateFSub(w, e.b.CreateFSub(shifted, e.real(w, kRound64)));
  Value* power =
      e.polynomial(r, {9.99999999999710565e-01, 6.93147180544232966e-01, 2.40226506993889755e-01,
                       5.55041094845895311e-02, 9.61812847173609993e-03, 1.33334433712764175e-03,
                       1.54038782077529018e-04, 1.53120303085018242e-05, 1.31742561686626614e-06});
  Value* scaled = e.as_real(
      e.b.CreateAdd(e.bits_of(power), e.b.CreateShl(e.bits_of(shifted), e.integer(bits, 52))),
      e.b.getDoubleTy());
  Value* result = e.b.CreateFPTrunc(scaled, x->getType());

  Value* zero = e.real(x, 0);
  Value* one = e.real(x, 1);
  Value* infinity = e.real(x, INFINITY);
  Value* y_positive = e.b.CreateFCmpOGT(y, zero);
  Value* is_zero = e.b.CreateFCmpOEQ(a, zero);
  Value* is_infinite = e.b.CreateFCmpOEQ(a, infinity);
  result = e.b.CreateSelect(is_zero, e.b.CreateSelect(y_positive, zero, infinity), result);
  result = e.b.CreateSelect(is_infinite, e.b.CreateSelect(y_positive, infinity, zero), result);
  result = e.b.CreateSelect(e.b.CreateFCmpOEQ(a, one), one, result);
  Value* half = e.b.CreateFMul(y, e.real(x, 0.5));
  Value* whole = e.b.CreateFCmpOEQ(e.intrinsic(Intrinsic::trunc, {y}), y);
  Value* odd = e.b.CreateAnd(whole, e.b.CreateFCmpUNE(e.intrinsic(Intrinsic::trunc, {half}), half));
  result = e.b.CreateSelect(odd, with_sign(e, result, x), result);
  Value* negative =
      e.b.CreateAnd(e.b.CreateFCmpOLT(x, zero), e.b.CreateFCmpOGT(x, e.real(x, -INFINITY)));
  result = e.b.CreateSelect(e.b.CreateAnd(negative, e.b.CreateNot(whole)), e.real(x, NAN), result);
  Value* is_nan = e.b.CreateFCmpUNO(x, y);
  result = e.b.CreateSelect(is_nan, e.real(x, NAN), result);
  Value* is_one = e.b.CreateOr(e.b.CreateFCmpOEQ(x, one), e.b.CreateFCmpOEQ(y, zero));
  return e.b.CreateSelect(is_one, one, result);
}

// Functions of the runtime (math_runtime.cpp), by operation.
const char* runtime_name(OpKind op) {
  switch (op) {
    case OpKind::exponential:
      return "exp";
    case OpKind::exponential_minus_one:
      return "expm1";
    case OpKind::log:
      return "log";
    case OpKind::log_plus_one:
      return "log1p";
    case OpKind::tanh:
      return "tanh";
    case OpKind::logistic:
      return "ullage_logistic";
    case OpKind::sine:
      return "sin";
    case OpKind::cosine:
      return "cos";
    case OpKind::tan:
    case OpKind::chlo_tan:
      return "tan";
    case OpKind::cbrt:
      return "cbrt";
    case OpKind::power:
      return "pow";
    case OpKind::atan2:
      return "atan2";
    case OpKind::remainder:
      return "fmod";
    case OpKind::chlo_erf:
      return "erf";
    case OpKind::chlo_erfc:
      return "erfc";
    case OpKind::chlo_erf_inv:
      return "ullage_erf_inv";
    case OpKind::chlo_acos:
      return "acos";
    case OpKind::chlo_acosh:
      return "acosh";
    case OpKind::chlo_asin:
      return "asin";
    case OpKind::chlo_asinh:
      return "asinh";
    case OpKind::chlo_atan:
      return "atan";
    case OpKind::chlo_atanh:
      return "atanh";
    case OpKind::chlo_sinh:
      return "sinh";
    case OpKind::chlo_cosh:
      return "cosh";
    case OpKind::chlo_lgamma:
      return "ullage_lgamma";
    case OpKind::chlo_digamma:
      return "ullage_digamma";
    case OpKind::chlo_bessel_i1e:
      return "ullage_bessel_i1e";
    case OpKind::chlo_zeta:
      return "ullage_zeta";
    case OpKind::chlo_polygamma:
      return "ullage_polygamma";
    default:
      return nullptr;
  }
}

}  // namespace

Value* emit_math(Emit& e, OpKind op, DType dtype, llvm::ArrayRef<Value*> operands) {
  Value* x = operands[0];
  if (op == OpKind::rsqrt) return e.b.CreateFDiv(e.real(x, 1), e.intrinsic(Intrinsic::sqrt, {x}));
  if (dtype != DType::f64) {
    switch (op) {
      case OpKind::exponential:
        return exp_f32(e, x);
      case OpKind::exponential_minus_one:
        return expm1_f32(e, x);
      case OpKind::log:
        return log_f32(e, x);
      case OpKind::log_plus_one:
        return log1p_f32(e, x);
      case OpKind::tanh:
        return tanh_f32(e, x);
      case OpKind::logistic:
        return logistic_f32(e, x);
      case OpKind::sine:
        return sin_or_cos_f32(e, x, false);
      case OpKind::cosine:
        return sin_or_cos_f32(e, x, true);
      case OpKind::power:
        return pow_f32(e, x, operands[1]);
      case OpKind::chlo_erf:
        return erf_f32(e, x);
      case OpKind::chlo_erf_inv:
        return erf_inv_f32(e, x);
      default:
        break;
    }
  }
  const char* name = runtime_name(op);
  if (!name) return nullptr;
  if (dtype == DType::f64) return e.call_per_lane(name, operands);
  std::vector<Value*> wide;
  for (Value* operand : operands)
    wide.push_back(e.b.CreateFPExt(operand, e.like(x, e.b.getDoubleTy())));
  return e.b.CreateFPTrunc(e.call_per_lane(name, wide), x->getType());
}

}  // namespace ullage::cpu
