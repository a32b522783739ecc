#include "random/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "ops/infer.h"
#include "ops/verify.h"
#include "random/makers.h"
#include "random/numbers.h"

namespace ullage::random_programs {

uint64_t Random::bits() {
  state_ += 0x9E3779B97F4A7C15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

namespace {

const Maker& pick_maker(Random& random) {
  static const std::vector<const Maker*> table = [] {
    std::vector<const Maker*> out;
    for (auto makers : {elementwise_makers(), movement_makers(), indexing_makers(),
                        reduction_makers(), product_makers(), control_makers()})
      for (const Maker& maker : makers)
        out.insert(out.end(), static_cast<size_t>(maker.weight), &maker);
    return out;
  }();
  return *random.pick(table);
}

int64_t elements_of(const std::vector<int64_t>& shape) {
  int64_t out = 1;
  for (int64_t extent : shape) out *= extent;
  return out;
}

}  // namespace

Generator::Generator(uint64_t seed, GeneratorCounts& counts)
    : random(seed), counts_(counts), module_(std::make_unique<Module>()), analysis_(*module_) {
  module_->file = fmt::format("random_{}.mlir", seed);
  module_->functions.push_back(std::make_unique<Function>("main"));
  function_ = module_->functions.back().get();
  scopes_.push_back({&function_->body(), {}});

  const std::vector<DType> all = {DType::f32,  DType::f32,  DType::f32, DType::f32, DType::f32,
                                  DType::bf16, DType::bf16, DType::f16, DType::f64, DType::f64,
                                  DType::i32,  DType::i32,  DType::i32, DType::i64, DType::ui32,
                                  DType::ui32, DType::ui64, DType::i8,  DType::ui8, DType::i16,
                                  DType::ui16, DType::i1,   DType::c64, DType::c128};
  for (int64_t i = random.between(2, 4); i > 0; --i) dtypes_.push_back(random.pick(all));
  const std::vector<int64_t> sizes = {1, 1, 2,  2,  3,  3,  4,  5,  6,  7,
                                      8, 9, 12, 15, 16, 17, 24, 31, 32, 33};
  const std::vector<int64_t> large = {40, 63, 64, 65, 100, 127, 128, 129, 250, 256, 300, 512, 1000};
  for (int64_t i = random.between(2, 4); i > 0; --i) extents_.push_back(random.pick(sizes));
  if (random.chance(40)) extents_.push_back(random.pick(large));
  if (random.chance(8)) extents_.push_back(0);
  most_elements_ = random.pick(std::vector<int64_t>{200, 1000, 1000, 4000, 4000, 20'000});
  if (random.chance(4)) most_elements_ = 150'000;
}

DType Generator::dtype() {
  return random.pick(dtypes_);
}

std::vector<int64_t> Generator::shape(int64_t least_rank) {
  while (true) {
    const std::vector<int64_t> ranks = {0, 1, 1, 2, 2, 2, 3, 3, 4, 5};
    int64_t rank = std::max(least_rank, random.pick(ranks));
    std::vector<int64_t> out;
    for (int64_t d = 0; d < rank; ++d) out.push_back(random.pick(extents_));
    while (elements_of(out) > most_elements_)
      out[static_cast<size_t>(random.below(rank))] = random.between(1, 3);
    return out;
  }
}

Value* Generator::pick(const Wanted& wanted) {
  std::vector<Value*> found;
  for (const Scope& scope : scopes_)
    for (Value* value : scope.values)
      if (value->type.is_tensor() && wanted(value->type)) found.push_back(value);
  if (found.empty()) return nullptr;
  // Later values more often, so that operations form chains.
  auto n = static_cast<int64_t>(found.size());
  int64_t back = std::min(random.below(n), random.below(n));
  return found[static_cast<size_t>(n - 1 - back)];
}

Value* Generator::pick_number(const Wanted& wanted) {
  auto is_number = [&](const Type& type) { return type.dtype != DType::i1 && wanted(type); };
  if (Value* value = pick(is_number)) return value;
  for (int tries = 0; tries < 20; ++tries) {
    Type type = Type::tensor(dtype(), shape());
    if (is_number(type)) return fresh(type);
  }
  return nullptr;
}

Value* Generator::like(const Type& type) {
  if (random.chance(85))
    if (Value* value = pick([&](const Type& other) { return other == type; })) return value;
  return fresh(type);
}

Tensor random_tensor(Random& random, const Type& type) {
  Tensor out(type);
  if (type.num_elements() == 0) return out;
  const DType part = real_part(type.dtype);
  const int64_t style = random.below(10);
  const int64_t count = type.num_elements();
  auto real = [&]() -> double {
    const double special[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 1, -1, 2};
    if (style < 4) return static_cast<double>(random.between(-3, 3));
    if (style < 7) return static_cast<double>(random.between(-16, 16)) / 4;
    if (style == 7)
      return std::ldexp(random.chance(50) ? 1 : -1, static_cast<int>(random.between(-3, 3)));
    if (style == 8 && random.chance(25)) return special[random.below(8)];
    return (static_cast<double>(random.bits() >> 11) * 0x1p-53 - 0.5) * 8;
  };
  for (int64_t i = 0; i < count; ++i) {
    if (is_inexact_type(type.dtype)) {
      double x = real();
      store_number_at(out, i, {x, is_complex(type.dtype) ? real() : 0.0});
      continue;
    }
    uint64_t bits = random.bits();
    if (part == DType::i1)
      bits &= 1;
    else if (style < 6)
      bits = static_cast<uint64_t>(random.between(is_unsigned_int(part) ? 0 : -5, 7));
    std::memcpy(out.mutable_data() + i * storage_bytes(part), &bits,
                static_cast<size_t>(storage_bytes(part)));
  }
  return out;
}

Value* Generator::constant(Tensor tensor) {
  Op* op = function_->create(*scopes_.back().region, OpKind::constant, {}, {&tensor.type(), 1},
                             ConstantAttributes{tensor.literal()});
  ULLAGE_CHECK(analysis_.add(*op), "a constant");
  ++counts_.made[std::string(op->mnemonic())];
  remember(op->result());
  return op->result();
}

Value* Generator::fresh(Tensor tensor) {
  bool can_add = function_ == module_->functions[0].get();
  bool small = tensor.num_elements() <= 64;
  if (!can_add || random.chance(small ? 25 : 3)) return constant(std::move(tensor));
  ArgumentInfo info;
  info.donated = random.chance(25);
  Value* value = function_->add_argument(tensor.type(), info);
  inputs_.push_back(tensor);
  analysis_.set(value, {std::move(tensor), nullptr});
  scopes_.front().values.push_back(value);
  return value;
}

Value* Generator::fresh(const Type& type) {
  if (type.num_elements() > 1 && random.chance(12)) {  // one element for all
    Tensor one = random_tensor(random, Type::tensor(type.dtype, {}));
    Op* op = function_->create(
        *scopes_.back().region, OpKind::constant, {}, {&type, 1},
        ConstantAttributes{Literal::make(
            type, std::vector<std::byte>(one.data(), one.data() + one.size_bytes()), true)});
    ULLAGE_CHECK(analysis_.add(*op), "a constant");
    remember(op->result());
    return op->result();
  }
  return fresh(random_tensor(random, type));
}

Value* Generator::indices(std::vector<int64_t> shape, int64_t low, int64_t high,
                          std::optional<DType> wanted) {
  const std::vector<DType> types = {DType::i32, DType::i32,  DType::i32,
                                    DType::i64, DType::ui32, DType::i8};
  const DType dtype = wanted ? *wanted : random.pick(types);
  if (is_unsigned_int(dtype)) low = std::max<int64_t>(low, 0);
  if (dtype == DType::i8) high = std::min<int64_t>(high, 127), low = std::max<int64_t>(low, -128);
  high = std::max(high, low);
  Tensor out(Type::tensor(dtype, std::move(shape)));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    int64_t x = random.between(low, high);
    std::memcpy(out.mutable_data() + i * storage_bytes(dtype), &x,
                static_cast<size_t>(storage_bytes(dtype)));
  }
  return fresh(std::move(out));
}

Op* Generator::create(Region& region, OpKind kind, std::vector<Value*> operands,
                      std::vector<Type> types, Attributes attributes) {
  return function_->create(region, kind, operands, types, std::move(attributes));
}

Op* Generator::append(OpKind kind, std::vector<Value*> operands, Attributes attributes,
                      std::vector<Type> declared) {
  std::vector<Type> types;
  for (Value* operand : operands) types.push_back(operand->type);
  Result<std::vector<Type>> results = infer_types(kind, types, attributes, declared);
  if (!results) {
    ++counts_.refused["ill-typed " + std::string(info(kind).mnemonic)];
    return nullptr;
  }
  return append_with_regions(kind, std::move(operands), std::move(attributes), *results, 0,
                             [](Op*) { return true; });
}

Op* Generator::append_with_regions(OpKind kind, std::vector<Value*> operands, Attributes attributes,
                                   std::vector<Type> types, size_t regions,
                                   const std::function<bool(Op*)>& fill) {
  int64_t elements = 0;
  for (const Type& type : types) elements = std::max(elements, type.num_elements());
  if (elements > most_elements_) return nullptr;
  // Known before anything is added, so that what the operation needs is evaluated first.
  Op* op = function_->create(*scopes_.back().region, kind, operands, types, std::move(attributes),
                             {}, regions);
  std::string name(op->mnemonic());
  if (!fill(op)) {
    op->erase();
    return nullptr;
  }
  // A region may have asked for constants: those stand in the region itself.
  if (Status status = verify(*op); !status) {
    ++counts_.refused["invalid " + name + ": " + status.diagnostics()[0].message];
    op->erase();
    return nullptr;
  }
  if (!analysis_.add(*op)) {
    ++counts_.refused[analysis_.why()];
    op->erase();
    return nullptr;
  }
  ++counts_.made[name];
  for (Value* value : op->results()) remember(value);
  return op;
}

void Generator::enter(Region& region, std::span<const Bounded> arguments) {
  scopes_.push_back({&region, {}});
  for (size_t i = 0; i < arguments.size(); ++i) {
    analysis_.set(region.argument(i), arguments[i]);
    remember(region.argument(i));
  }
}

void Generator::leave() {
  scopes_.pop_back();
}

void Generator::fill(int64_t operations) {
  for (int64_t i = 0; i < operations; ++i) pick_maker(random).make(*this);
}

bool Generator::call() {
  std::vector<Value*> operands;
  std::vector<Bounded> arguments;
  for (int64_t i = random.between(1, 3); i > 0; --i)
    if (Value* value = pick([](const Type&) { return true; })) {
      operands.push_back(value);
      arguments.push_back(known(value));
    }
  if (operands.empty()) return false;
  auto callee = std::make_unique<Function>(fmt::format("callee_{}", functions_++));
  callee->is_public = false;
  for (Value* operand : operands) callee->add_argument(operand->type);
  Function* outside = std::exchange(function_, callee.get());
  std::vector<Scope> scopes = std::exchange(scopes_, {});
  enter(callee->body(), arguments);
  fill(random.between(1, 4));
  std::vector<Value*> results;
  for (int64_t i = random.between(1, 2); i > 0; --i)
    results.push_back(pick([](const Type&) { return true; }));
  for (Value* value : results) callee->result_types.push_back(value->type);
  callee->create(callee->body(), OpKind::func_return, results, {});
  scopes_ = std::move(scopes);
  function_ = outside;
  std::string name = callee->name;
  std::vector<Type> types = callee->result_types;
  module_->functions.push_back(std::move(callee));
  if (append_with_regions(OpKind::call, operands, CallAttributes{name}, types, 0,
                          [](Op*) { return true; }))
    return true;
  std::erase_if(module_->functions, [&](const auto& f) { return f->name == name; });
  return false;
}

// Returns what nothing reads, and some of what is read.
void Generator::finish() {
  std::vector<Value*> unread, read;
  for (Value* value : scopes_.front().values) (value->has_uses() ? read : unread).push_back(value);
  random.shuffle(unread);
  random.shuffle(read);
  std::vector<Value*> results;
  int64_t wanted = random.between(1, 6);
  for (Value* value : unread)
    if (static_cast<int64_t>(results.size()) < wanted && (value->op() || random.chance(10)))
      results.push_back(value);
  for (Value* value : read)
    if (results.empty() || random.chance(8)) results.push_back(value);
  if (results.empty()) results.push_back(fresh(Type::tensor(DType::f32, {3})));
  if (random.chance(5)) results.push_back(results.front());
  function_->create(function_->body(), OpKind::func_return, results, {});
  for (Value* value : results) function_->result_types.push_back(value->type);
  // Some arguments lend their buffer to a result of their type.
  std::vector<bool> taken(results.size());
  for (size_t a = 0; a < function_->argument_info.size(); ++a) {
    if (!random.chance(30)) continue;
    for (size_t r = 0; r < results.size(); ++r) {
      if (taken[r] || !(results[r]->type == function_->body().argument(a)->type)) continue;
      taken[r] = true;
      function_->argument_info[a].aliases_output = static_cast<int64_t>(r);
      function_->argument_info[a].donated = true;
      break;
    }
  }
}

RandomProgram Generator::generate() {
  for (int64_t i = random.between(1, 3); i > 0; --i) fresh(Type::tensor(dtype(), shape()));
  fill(random.chance(30) ? random.between(1, 5) : random.between(4, 25));
  finish();
  RandomProgram out;
  for (Value* value : function_->body().terminator()->operands())
    out.results.push_back(known(value));
  out.inputs = std::move(inputs_);
  out.module = std::move(module_);
  return out;
}

}  // namespace ullage::random_programs
