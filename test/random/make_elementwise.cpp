// Elementwise operations on every type.
#include "random/makers.h"
#include "random/numbers.h"

namespace ullage::random_programs {

namespace {

const std::vector<OpKind> kFloatUnary = {OpKind::abs,
                                         OpKind::cbrt,
                                         OpKind::ceil,
                                         OpKind::cosine,
                                         OpKind::exponential,
                                         OpKind::exponential_minus_one,
                                         OpKind::floor,
                                         OpKind::log,
                                         OpKind::log_plus_one,
                                         OpKind::logistic,
                                         OpKind::negate,
                                         OpKind::round_nearest_afz,
                                         OpKind::round_nearest_even,
                                         OpKind::rsqrt,
                                         OpKind::sign,
                                         OpKind::sine,
                                         OpKind::sqrt,
                                         OpKind::tan,
                                         OpKind::tanh,
                                         OpKind::negate,
                                         OpKind::abs,
                                         OpKind::chlo_square,
                                         OpKind::chlo_erf,
                                         OpKind::chlo_erfc,
                                         OpKind::chlo_acos,
                                         OpKind::chlo_acosh,
                                         OpKind::chlo_asin,
                                         OpKind::chlo_asinh,
                                         OpKind::chlo_atan,
                                         OpKind::chlo_atanh,
                                         OpKind::chlo_sinh,
                                         OpKind::chlo_cosh};
const std::vector<OpKind> kPredicates = {OpKind::is_finite, OpKind::chlo_is_inf,
                                         OpKind::chlo_is_neg_inf, OpKind::chlo_is_pos_inf};
const std::vector<OpKind> kIntUnary = {OpKind::abs,         OpKind::negate,
                                       OpKind::not_,        OpKind::sign,
                                       OpKind::popcnt,      OpKind::count_leading_zeros,
                                       OpKind::chlo_square, OpKind::chlo_conj};
const std::vector<OpKind> kComplexUnary = {
    OpKind::negate,      OpKind::exponential, OpKind::log,    OpKind::sqrt,
    OpKind::tanh,        OpKind::sine,        OpKind::cosine, OpKind::chlo_conj,
    OpKind::sign,        OpKind::logistic,    OpKind::rsqrt,  OpKind::exponential_minus_one,
    OpKind::log_plus_one};
const std::vector<OpKind> kFloatBinary = {
    OpKind::add,       OpKind::add,    OpKind::subtract, OpKind::multiply,
    OpKind::multiply,  OpKind::divide, OpKind::maximum,  OpKind::minimum,
    OpKind::remainder, OpKind::power,  OpKind::atan2,    OpKind::chlo_next_after};
const std::vector<OpKind> kIntBinary = {OpKind::add,
                                        OpKind::subtract,
                                        OpKind::multiply,
                                        OpKind::divide,
                                        OpKind::remainder,
                                        OpKind::maximum,
                                        OpKind::minimum,
                                        OpKind::and_,
                                        OpKind::or_,
                                        OpKind::xor_,
                                        OpKind::shift_left,
                                        OpKind::shift_right_arithmetic,
                                        OpKind::shift_right_logical,
                                        OpKind::power};
const std::vector<OpKind> kTruthBinary = {OpKind::and_,    OpKind::or_,     OpKind::xor_,
                                          OpKind::add,     OpKind::maximum, OpKind::minimum,
                                          OpKind::multiply};
const std::vector<OpKind> kComplexBinary = {OpKind::add,    OpKind::subtract, OpKind::multiply,
                                            OpKind::divide, OpKind::power,    OpKind::maximum,
                                            OpKind::minimum};

bool any(const Type&) {
  return true;
}

void unary(Generator& g) {
  Value* x = g.pick(any);
  if (!x) return;
  DType dtype = x->type.dtype;
  if (dtype == DType::i1)
    g.append(OpKind::not_, {x});
  else if (is_complex(dtype))
    g.append(g.random.pick(kComplexUnary), {x});
  else if (is_int(dtype))
    g.append(g.random.pick(kIntUnary), {x});
  else if (g.random.chance(8))
    g.append(g.random.pick(kPredicates), {x});
  else
    g.append(g.random.pick(kFloatUnary), {x});
}

void binary(Generator& g) {
  Value* x = g.pick(any);
  if (!x) return;
  Value* y = g.like(x->type);
  if (g.random.chance(50)) std::swap(x, y);
  DType dtype = x->type.dtype;
  const std::vector<OpKind>& kinds = dtype == DType::i1  ? kTruthBinary
                                     : is_complex(dtype) ? kComplexBinary
                                     : is_int(dtype)     ? kIntBinary
                                                         : kFloatBinary;
  g.append(g.random.pick(kinds), {x, y});
}

// x * y + z in one of its forms: where a compiler may round once.
void multiply_add(Generator& g) {
  Value* x = g.pick_number(any);
  if (!x) return;
  Op* product = g.append(OpKind::multiply, {x, g.like(x->type)});
  if (!product) return;
  Value* z = g.like(x->type);
  OpKind kind = g.random.chance(50) ? OpKind::add : OpKind::subtract;
  if (g.random.chance(50))
    g.append(kind, {product->result(), z});
  else
    g.append(kind, {z, product->result()});
}

void compare(Generator& g) {
  Value* x = g.pick(any);
  if (!x) return;
  CompareAttributes attributes;
  attributes.direction = static_cast<CompareDirection>(g.random.below(6));
  DType dtype = x->type.dtype;
  if (is_complex(dtype) || is_float(dtype)) {
    attributes.type = CompareType::floating;
  } else {
    attributes.type = is_signed_int(dtype) ? CompareType::signed_ : CompareType::unsigned_;
  }
  g.append(OpKind::compare, {x, g.like(x->type)}, attributes);
}

void select(Generator& g) {
  Value* x = g.pick(any);
  if (!x) return;
  std::vector<int64_t> shape = g.random.chance(15) ? std::vector<int64_t>{} : x->type.shape;
  Value* y = g.like(x->type);
  g.append(OpKind::select, {g.like(Type::tensor(DType::i1, shape)), x, y});
}

void clamp(Generator& g) {
  Value* x = g.pick_number(any);
  if (!x) return;
  Type bound = g.random.chance(50) ? x->type : Type::tensor(x->type.dtype, {});
  Value* low = g.like(bound);
  g.append(OpKind::clamp, {low, x, g.like(bound)});
}

void convert(Generator& g) {
  Value* x = g.pick(any);
  if (!x) return;
  DType to = g.dtype();
  if (is_complex(x->type.dtype) && !is_complex(to)) return;
  g.append(OpKind::convert, {x}, {}, {Type::tensor(to, x->type.shape)});
}

void bitcast(Generator& g) {
  Value* x = g.pick_number([](const Type& t) { return !is_complex(t.dtype); });
  if (!x) return;
  const std::vector<DType> targets = {DType::i32, DType::ui32, DType::f32, DType::i16, DType::bf16,
                                      DType::f16, DType::i8,   DType::ui8, DType::i64, DType::f64};
  DType to = g.random.pick(targets);
  std::vector<int64_t> shape = x->type.shape;
  int from_bits = bit_width(x->type.dtype), to_bits = bit_width(to);
  if (to_bits < from_bits) {
    shape.push_back(from_bits / to_bits);
  } else if (to_bits > from_bits) {
    if (shape.empty() || shape.back() != to_bits / from_bits) return;
    shape.pop_back();
  }
  g.append(OpKind::bitcast_convert, {x}, {}, {Type::tensor(to, shape)});
}

void complex_parts(Generator& g) {
  if (Value* z = g.pick([](const Type& t) { return is_complex(t.dtype); });
      z && g.random.chance(60)) {
    const std::vector<OpKind> kinds = {OpKind::real, OpKind::imag, OpKind::abs};
    g.append(g.random.pick(kinds), {z});
    return;
  }
  Value* x = g.pick([](const Type& t) { return t.dtype == DType::f32 || t.dtype == DType::f64; });
  if (x) g.append(OpKind::complex, {x, g.like(x->type)});
}

void reduce_precision(Generator& g) {
  Value* x = g.pick([](const Type& t) { return is_float(t.dtype); });
  if (!x) return;
  ReducePrecisionAttributes attributes;
  attributes.exponent_bits = g.random.between(3, 8);
  attributes.mantissa_bits = g.random.between(2, 12);
  g.append(OpKind::reduce_precision, {x}, attributes);
}

const Maker kMakers[] = {
    {"unary", 14, unary},
    {"binary", 20, binary},
    {"multiply_add", 6, multiply_add},
    {"compare", 5, compare},
    {"select", 6, select},
    {"clamp", 2, clamp},
    {"convert", 6, convert},
    {"bitcast", 3, bitcast},
    {"complex_parts", 3, complex_parts},
    {"reduce_precision", 1, reduce_precision},
};

}  // namespace

std::span<const Maker> elementwise_makers() {
  return kMakers;
}

}  // namespace ullage::random_programs
