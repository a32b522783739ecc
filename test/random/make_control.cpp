// Loops, branches, calls, barriers, random bits.
#include "random/makers.h"

namespace ullage::random_programs {

namespace {

bool any(const Type&) {
  return true;
}

// A value of this type in sight, made by the last operations if possible.
Value* result_of_type(Generator& g, const Type& type) {
  if (Value* value = g.pick([&](const Type& t) { return t == type; })) return value;
  return g.fresh(type);
}

void while_loop(Generator& g) {
  const DType counter = g.random.chance(80) ? DType::i32 : DType::i64;
  Type scalar = g.scalar(counter);
  Tensor zero(scalar), limit_tensor(scalar);
  limit_tensor.mutable_data()[0] = static_cast<std::byte>(g.random.between(0, 5));
  std::vector<Value*> carried = {g.random.chance(80) ? g.constant(zero) : g.fresh(zero)};
  Value* limit = g.random.chance(60) ? g.constant(limit_tensor) : g.fresh(limit_tensor);
  for (int64_t i = g.random.between(1, 3); i > 0; --i)
    if (Value* value = g.pick(any)) carried.push_back(value);
  std::vector<Type> types;
  std::vector<Bounded> initial;
  for (Value* value : carried) {
    types.push_back(value->type);
    initial.push_back(g.known(value));
  }
  Tensor one(scalar);
  one.mutable_data()[0] = std::byte{1};
  const bool limit_inside = g.random.chance(50);
  g.append_with_regions(OpKind::while_, carried, {}, types, 2, [&](Op* op) {
    Region& condition = op->nested(0);
    for (const Type& type : types) condition.add_argument(type);
    Value* bound = limit;
    if (limit_inside)
      bound = g.create(condition, OpKind::constant, {}, {scalar},
                       ConstantAttributes{limit_tensor.literal()})
                  ->result();
    Value* again =
        g.create(condition, OpKind::compare, {condition.argument(0), bound}, {g.scalar(DType::i1)},
                 CompareAttributes{CompareDirection::lt, CompareType::signed_})
            ->result();
    g.create(condition, OpKind::return_, {again}, {});
    Region& body = op->nested(1);
    for (const Type& type : types) body.add_argument(type);
    g.enter(body, initial);
    g.fill(g.random.between(1, 5));
    std::vector<Value*> results;
    for (size_t i = 1; i < types.size(); ++i) results.push_back(result_of_type(g, types[i]));
    g.leave();
    Value* step =
        g.create(body, OpKind::constant, {}, {scalar}, ConstantAttributes{one.literal()})->result();
    Value* next = g.create(body, OpKind::add, {body.argument(0), step}, {scalar})->result();
    results.insert(results.begin(), next);
    g.create(body, OpKind::return_, results, {});
    return true;
  });
}

void branch(Generator& g) {
  const bool is_if = g.random.chance(50);
  Value* chooser = nullptr;
  if (is_if) {
    chooser = g.like(Type::tensor(DType::i1, {}));
  } else {
    chooser = g.pick([](const Type& t) { return t == Type::tensor(DType::i32, {}); });
    if (!chooser || g.random.chance(70)) {
      auto index = static_cast<int32_t>(g.random.between(-1, 3));
      chooser = g.fresh(Tensor::scalar<int32_t>(DType::i32, index));
    }
  }
  std::vector<Type> types;
  for (int64_t i = g.random.between(1, 2); i > 0; --i)
    if (Value* value = g.pick(any)) types.push_back(value->type);
  if (types.empty()) return;
  const auto branches = static_cast<size_t>(is_if ? 2 : g.random.between(1, 3));
  g.append_with_regions(is_if ? OpKind::if_ : OpKind::case_, {chooser}, {}, types, branches,
                        [&](Op* op) {
                          for (size_t b = 0; b < branches; ++b) {
                            Region& region = op->nested(b);
                            g.enter(region, {});
                            g.fill(g.random.between(0, 3));
                            std::vector<Value*> results;
                            for (const Type& type : types)
                              results.push_back(result_of_type(g, type));
                            g.leave();
                            g.create(region, OpKind::return_, results, {});
                          }
                          return true;
                        });
}

void call(Generator& g) {
  g.call();
}

void barrier(Generator& g) {
  std::vector<Value*> values;
  std::vector<Type> types;
  for (int64_t i = g.random.between(1, 3); i > 0; --i)
    if (Value* value = g.pick(any)) {
      values.push_back(value);
      types.push_back(value->type);
    }
  if (!values.empty())
    g.append_with_regions(OpKind::optimization_barrier, values, {}, types, 0,
                          [](Op*) { return true; });
}

void random_bits(Generator& g) {
  RngAttributes a;
  a.algorithm = static_cast<RngAlgorithm>(g.random.below(3));
  int64_t words = a.algorithm == RngAlgorithm::three_fry ? 2 : g.random.between(2, 3);
  if (a.algorithm == RngAlgorithm::default_) words = 2;
  const std::vector<DType> types = {DType::ui32, DType::ui32, DType::ui64,
                                    DType::ui8,  DType::ui16, DType::i32};
  Value* state = g.like(Type::tensor(DType::ui64, {words}));
  Type bits = Type::tensor(g.random.pick(types), g.shape());
  g.append(OpKind::rng_bit_generator, {state}, a, {state->type, bits});
}

const Maker kMakers[] = {
    {"while", 3, while_loop}, {"branch", 3, branch},           {"call", 2, call},
    {"barrier", 2, barrier},  {"random_bits", 2, random_bits},
};

}  // namespace

std::span<const Maker> control_makers() {
  return kMakers;
}

}  // namespace ullage::random_programs
