// Makes random, well-typed programs together with arguments for them. Every operation is evaluated
// as it is added (random/bounds.h), so that the program's results are known, and one that could not
// be judged is taken back. The same seed makes the same program on every machine.
//
// A maker (random/makers.h) tries to add one operation, or a few that belong together, to the
// region at hand; a table lists them all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interp/tensor.h"
#include "ir/ir.h"
#include "random/bounds.h"

namespace ullage::random_programs {

// A small generator of random bits (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x1234567) {}
  uint64_t bits();
  int64_t below(int64_t n) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(below(static_cast<int64_t>(from.size())))];
  }
  template <typename T>
  void shuffle(std::vector<T>& v) {
    for (size_t i = v.size(); i > 1; --i)
      std::swap(v[i - 1], v[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
  }

 private:
  uint64_t state_;
};

// Elements of one of several kinds: small whole numbers, fractions, anything, special values.
Tensor random_tensor(Random& random, const Type& type);

struct RandomProgram {
  std::unique_ptr<Module> module;
  std::vector<Tensor> inputs;
  std::vector<Bounded> results;  // what the program must return
};

struct GeneratorCounts {
  std::map<std::string, int64_t> made, refused;  // operations by mnemonic; refusals by reason
};

class Generator {
 public:
  Generator(uint64_t seed, GeneratorCounts& counts);
  RandomProgram generate();

  // For makers.
  Random random;
  bool nested() const { return scopes_.size() > 1; }
  DType dtype();  // of the program's few element types
  std::vector<int64_t> shape(int64_t least_rank = 0);
  int64_t most_elements() const { return most_elements_; }

  using Wanted = std::function<bool(const Type&)>;
  Value* pick(const Wanted& wanted);         // null if there is none; later values more often
  Value* pick_number(const Wanted& wanted);  // a float, integer or complex value
  Value* like(const Type& type);             // a value of this type, new if need be
  Value* fresh(const Type& type);            // an argument or constant
  Value* fresh(Tensor tensor);               // the same with given elements
  Value* indices(std::vector<int64_t> shape, int64_t low, int64_t high,
                 std::optional<DType> dtype = {});
  const Bounded& known(const Value* value) const { return *analysis_.find(value); }

  // Adds an operation with inferred results, or takes it back and returns null.
  Op* append(OpKind kind, std::vector<Value*> operands, Attributes attributes = {},
             std::vector<Type> declared = {});
  // The same with regions, which `fill` writes; result types as given.
  Op* append_with_regions(OpKind kind, std::vector<Value*> operands, Attributes attributes,
                          std::vector<Type> types, size_t regions,
                          const std::function<bool(Op*)>& fill);
  Value* constant(Tensor tensor);
  // Operations inside a region, without evaluating them.
  Op* create(Region& region, OpKind kind, std::vector<Value*> operands, std::vector<Type> types,
             Attributes attributes = {});
  Type scalar(DType dtype) const { return Type::tensor(dtype, {}); }

  // Makes a region's operations; `arguments` are known values for its arguments.
  void enter(Region& region, std::span<const Bounded> arguments);
  void fill(int64_t operations);
  void leave();
  // A new private function and a call of it.
  bool call();

 private:
  struct Scope {
    Region* region;
    std::vector<Value*> values;
  };
  void remember(Value* value) { scopes_.back().values.push_back(value); }
  void finish();

  GeneratorCounts& counts_;
  std::unique_ptr<Module> module_;
  Function* function_ = nullptr;
  Analysis analysis_;
  std::vector<Tensor> inputs_;
  std::vector<Scope> scopes_;
  std::vector<DType> dtypes_;
  std::vector<int64_t> extents_;
  int64_t most_elements_ = 0;
  int64_t functions_ = 0;
};

}  // namespace ullage::random_programs
