// stablehlo.rng draws from a generator whose state the program does not see. Here it draws from
// Threefry with the operation's number in the program as key, so that every run gives the same
// numbers, and no two operations give the same ones. Inside a loop that would repeat them in every
// trip; there the operation stays, and is refused later.
#include <array>
#include <cmath>
#include <cstring>

#include "normalize/op_maker.h"
#include "normalize/rewrite.h"

namespace ullage {

namespace {

bool in_loop(const Op* op) {
  for (op = op->region()->parent(); op; op = op->region()->parent())
    if (op->kind == OpKind::while_) return true;
  return false;
}

Value* random_bits(OpMaker& maker, const Type& type, uint64_t number) {
  std::vector<std::byte> state(16);
  // The key's words differ from those that users' own small seeds make.
  uint64_t key = (number + 1) * 0x9E3779B97F4A7C15ull;
  std::memcpy(state.data(), &key, 8);
  Literal literal = Literal::make(Type::tensor(DType::ui64, {2}), std::move(state));
  Value* start = maker.make(OpKind::constant, {}, literal.type, ConstantAttributes{literal});
  RngAttributes attributes;
  attributes.algorithm = RngAlgorithm::three_fry;
  std::array<Type, 2> types = {literal.type, type};
  return maker.op(OpKind::rng_bit_generator, {&start, 1}, types, attributes)->result(1);
}

// Uniform in [0, 1), multiples of 2^-23 (f32) or 2^-52 (f64).
Value* unit_interval(OpMaker& maker, const Type& type, uint64_t number) {
  bool wide = type.dtype == DType::f64;
  Type words = Type::tensor(wide ? DType::ui64 : DType::ui32, type.shape);
  Value* bits = random_bits(maker, words, number);
  bits = maker.same(OpKind::shift_right_logical,
                    {bits, maker.integer(words, wide ? 64 - 52 : 32 - 23)});
  bits =
      maker.same(OpKind::or_, {bits, maker.integer(words, wide ? 0x3ff0000000000000 : 0x3f800000)});
  Value* number_from_one = maker.make(OpKind::bitcast_convert, {bits}, type);
  return maker.same(OpKind::subtract, {number_from_one, maker.splat(type, 1)});
}

Value* uniform_integers(OpMaker& maker, Value* a, Value* b, const Type& type, uint64_t number) {
  DType words = type.dtype == DType::i64 || type.dtype == DType::ui64 ? DType::ui64 : DType::ui32;
  DType signed_words = words == DType::ui64 ? DType::i64 : DType::i32;
  auto widened = [&](Value* value) {
    Value* wide = is_signed_int(type.dtype) ? maker.convert(value, signed_words) : value;
    return maker.broadcast(maker.convert(wide, words), type.shape, {});
  };
  Value *low = widened(a), *span = maker.same(OpKind::subtract, {widened(b), low});
  Value* bits = random_bits(maker, Type::tensor(words, type.shape), number);
  Value* drawn = maker.same(OpKind::add, {low, maker.same(OpKind::remainder, {bits, span})});
  return maker.convert(drawn, type.dtype);
}

bool expand(OpMaker& maker, Op* op, uint64_t number) {
  const Type type = op->result()->type;
  Value *a = op->operand(0), *b = op->operand(1);
  bool uniform = op->as<RngAttributes>().distribution == RngDistribution::uniform;
  if (uniform && is_int(type.dtype)) {
    maker.replace_with({uniform_integers(maker, a, b, type, number)});
    return true;
  }
  if (!is_float(type.dtype)) return false;
  Type real = Type::tensor(type.dtype == DType::f64 ? DType::f64 : DType::f32, type.shape);
  auto spread = [&](Value* value) {
    return maker.broadcast(maker.convert(value, real.dtype), type.shape, {});
  };
  Value* x = unit_interval(maker, real, number);
  Value *first = spread(a), *second = spread(b);
  if (uniform) {
    Value* span = maker.same(OpKind::subtract, {second, first});
    x = maker.same(OpKind::add, {maker.same(OpKind::multiply, {x, span}), first});
  } else {
    // Mean and deviation. The open interval (-1, 1), through the inverse of the error function.
    double grid = real.dtype == DType::f64 ? 0x1p-52 : 0x1p-23;
    x = maker.same(OpKind::add, {maker.same(OpKind::multiply, {x, maker.splat(real, 2)}),
                                 maker.splat(real, grid - 1)});
    x = maker.same(OpKind::multiply,
                   {maker.same(OpKind::chlo_erf_inv, {x}), maker.splat(real, std::sqrt(2.0))});
    x = maker.same(OpKind::add, {maker.same(OpKind::multiply, {x, second}), first});
  }
  maker.replace_with({maker.convert(x, type.dtype)});
  return true;
}

}  // namespace

Status expand_random(Module& module, const NormalizeOptions& options) {
  uint64_t number = 0;
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    std::vector<Op*> found;
    walk(function->body(), [&](Op* op) {
      if (op->kind == OpKind::rng && op->result()->type.is_static() && !in_loop(op))
        found.push_back(op);
    });
    for (Op* op : found) {
      OpMaker maker(*function, op);
      expand(maker, op, number++);
    }
  }
  return Ok{};
}

}  // namespace ullage
