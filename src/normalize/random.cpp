// stablehlo.rng draws from a generator whose state the program does not see. Here it draws from
// Threefry with the operation's number in the program as key, so that every run gives the same
// numbers, and no two operations give the same ones. Loops around it carry the number of their
// trip, which the key depends on.
#include <array>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "normalize/op_maker.h"
#include "normalize/rewrite.h"

namespace ullage {

namespace {

constexpr uint64_t kSpread = 0x9E3779B97F4A7C15ull;  // odd: multiples of it are all different

// Makes the numbers of trips, each loop's once.
class TripNumbers {
 public:
  explicit TripNumbers(Function& function) : function_(function) {}

  // What the key of an operation gains in the trips of the loops around it; null outside of loops.
  Value* of(OpMaker& maker, const Op* op) {
    Value* sum = nullptr;
    uint64_t factor = kSpread;
    for (const Region* region = op->region(); region->parent();
         region = region->parent()->region()) {
      Op* loop = region->parent();
      if (loop->kind != OpKind::while_) continue;
      factor *= kSpread;
      Value* trip = region->argument(counter(loop));
      trip = maker.same(OpKind::multiply,
                        {trip, maker.integer(trip->type, static_cast<int64_t>(factor))});
      sum = sum ? maker.same(OpKind::add, {sum, trip}) : trip;
    }
    return sum;
  }

 private:
  // The carried value that counts the trips.
  size_t counter(Op* loop) {
    if (auto known = counters_.find(loop); known != counters_.end()) return known->second;
    const Type type = Type::tensor(DType::ui64, {});
    auto add_operand = [](Op* op, Value* value) {
      std::vector<Value*> operands = op->operands();
      operands.push_back(value);
      op->set_operands(operands);
    };
    OpMaker outside(function_, loop);
    Op* end = loop->nested(1).terminator();
    OpMaker inside(function_, end);
    const size_t at = loop->num_results();
    add_operand(loop, outside.integer(type, 0));
    function_.add_results(loop, {&type, 1});
    loop->nested(0).add_argument(type);
    Value* trip = loop->nested(1).add_argument(type);
    add_operand(end, inside.same(OpKind::add, {trip, inside.integer(type, 1)}));
    counters_.emplace(loop, at);
    return at;
  }

  Function& function_;
  std::unordered_map<Op*, size_t> counters_;
};

// Where an operation draws from: its number in the program, and the trips of the loops around it.
struct Key {
  uint64_t number = 0;
  Value* trips = nullptr;
};

Value* random_bits(OpMaker& maker, const Type& type, const Key& key) {
  std::vector<std::byte> state(16);
  // The key's words differ from those that users' own small seeds make.
  uint64_t first = (key.number + 1) * kSpread;
  std::memcpy(state.data(), &first, 8);
  Literal literal = Literal::make(Type::tensor(DType::ui64, {2}), std::move(state));
  Value* start = maker.make(OpKind::constant, {}, literal.type, ConstantAttributes{literal});
  if (key.trips) {
    // The counter, which is the second word, starts at zero.
    Value* place = maker.make(OpKind::iota, {}, literal.type, DimAttributes{0});
    Value* is_key = maker.compare(CompareDirection::eq, place, maker.integer(literal.type, 0));
    Value* moved = maker.same(OpKind::add, {start, maker.broadcast(key.trips, {2}, {})});
    start = maker.make(OpKind::select, {is_key, moved, start}, literal.type);
  }
  RngAttributes attributes;
  attributes.algorithm = RngAlgorithm::three_fry;
  std::array<Type, 2> types = {literal.type, type};
  return maker.op(OpKind::rng_bit_generator, {&start, 1}, types, attributes)->result(1);
}

// Uniform in [0, 1), multiples of 2^-23 (f32) or 2^-52 (f64).
Value* unit_interval(OpMaker& maker, const Type& type, const Key& key) {
  bool wide = type.dtype == DType::f64;
  Type words = Type::tensor(wide ? DType::ui64 : DType::ui32, type.shape);
  Value* bits = random_bits(maker, words, key);
  bits = maker.same(OpKind::shift_right_logical,
                    {bits, maker.integer(words, wide ? 64 - 52 : 32 - 23)});
  bits =
      maker.same(OpKind::or_, {bits, maker.integer(words, wide ? 0x3ff0000000000000 : 0x3f800000)});
  Value* number_from_one = maker.make(OpKind::bitcast_convert, {bits}, type);
  return maker.same(OpKind::subtract, {number_from_one, maker.splat(type, 1)});
}

Value* uniform_integers(OpMaker& maker, Value* a, Value* b, const Type& type, const Key& key) {
  DType words = type.dtype == DType::i64 || type.dtype == DType::ui64 ? DType::ui64 : DType::ui32;
  DType signed_words = words == DType::ui64 ? DType::i64 : DType::i32;
  auto widened = [&](Value* value) {
    Value* wide = is_signed_int(type.dtype) ? maker.convert(value, signed_words) : value;
    return maker.broadcast(maker.convert(wide, words), type.shape, {});
  };
  Value *low = widened(a), *span = maker.same(OpKind::subtract, {widened(b), low});
  Value* bits = random_bits(maker, Type::tensor(words, type.shape), key);
  Value* drawn = maker.same(OpKind::add, {low, maker.same(OpKind::remainder, {bits, span})});
  return maker.convert(drawn, type.dtype);
}

void expand(OpMaker& maker, Op* op, const Key& key) {
  const Type type = op->result()->type;
  Value *a = op->operand(0), *b = op->operand(1);
  bool uniform = op->as<RngAttributes>().distribution == RngDistribution::uniform;
  if (type.dtype == DType::i1)  // from `a` to what is less than `b`: that is `a`
    return maker.replace_with({maker.broadcast(a, type.shape, {})});
  if (is_int(type.dtype)) return maker.replace_with({uniform_integers(maker, a, b, type, key)});
  Type real = Type::tensor(type.dtype == DType::f64 ? DType::f64 : DType::f32, type.shape);
  auto spread = [&](Value* value) {
    return maker.broadcast(maker.convert(value, real.dtype), type.shape, {});
  };
  Value* x = unit_interval(maker, real, key);
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
}

}  // namespace

Status expand_random(Module& module, const NormalizeOptions& options) {
  uint64_t number = 0;
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    std::vector<Op*> found;
    walk(function->body(), [&](Op* op) {
      if (op->kind == OpKind::rng && op->result()->type.is_static()) found.push_back(op);
    });
    TripNumbers trips(*function);
    for (Op* op : found) {
      OpMaker maker(*function, op);
      expand(maker, op, {number++, trips.of(maker, op)});
    }
  }
  return Ok{};
}

}  // namespace ullage
