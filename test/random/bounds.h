// What a program computes, and how far an honest compiler may be from it. The analysis evaluates a
// program with the interpreter, one operation at a time, and carries for every floating element a
// bound of the difference that rounding may make: none at all where every engine must get the same
// bits, whatever it fuses and in whatever order it adds. A product that is not exact may be rounded
// or not (contraction into fma); sums may be added in any order; transcendental functions are off
// by a few units in the last place; all of it propagates.
//
// Where the result cannot be judged (a comparison of inexact numbers decides something, a NaN's
// bits are looked at), the analysis refuses, and the generator takes that operation back.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "interp/tensor.h"
#include "ir/ir.h"

namespace ullage::random_programs {

struct Bounded {
  Tensor value;
  std::shared_ptr<const std::vector<double>> error;  // per element; null where exact

  bool exact() const { return !error; }
  std::span<const double> errors() const {
    return error ? std::span<const double>(*error) : std::span<const double>();
  }
};

class Analysis {
 public:
  // `any_error`: results that are known badly are results too.
  explicit Analysis(const Module& module, bool any_error = false)
      : module_(module), any_error_(any_error) {}

  void set(const Value* value, Bounded known) { known_[value] = std::move(known); }
  const Bounded* find(const Value* value) const;

  // The results of an operation whose operands and captured values are known; they become known.
  // False: it cannot be judged, see why().
  bool add(const Op& op);
  const std::string& why() const { return why_; }

 private:
  using Row = std::vector<Bounded>;
  std::optional<Row> evaluate_op(const Op& op, std::span<const Bounded> operands);
  std::optional<Row> run(const Region& region, std::span<const Bounded> arguments);
  std::optional<Row> control(const Op& op, std::span<const Bounded> operands);
  std::optional<Row> leaf(const Op& op, std::span<const Bounded> operands);
  std::nullopt_t refuse(std::string why);

  // Each sets the error of `out` or refuses.
  bool elementwise(const Op& op, std::span<const Bounded> operands, Bounded& out);
  bool movement(const Op& op, std::span<const Bounded> operands, Bounded& out);
  bool sums(const Op& op, std::span<const Bounded> operands, Row& out);
  bool product(const Op& op, std::span<const Bounded> operands, Bounded& out);

  const Module& module_;
  bool any_error_ = false;
  std::unordered_map<const Value*, Bounded> known_;
  std::string why_;
  int64_t steps_ = 0;
};

// The same operation on other types: for evaluating error formulas. Regions hold one addition.
std::optional<Tensor> evaluate_twin(const Op& op, std::span<const Tensor> operands, DType result);

// Analyses the entry function. The results' values and bounds, or why there are none.
struct Analysed {
  std::vector<Bounded> results;
  std::string why;
  bool ok() const { return why.empty(); }
};
Analysed analyse(const Module& module, std::span<const Tensor> inputs, bool any_error = false);

// Whether `got` is what it may be; else a text that says where it is not.
std::optional<std::string> difference(const Bounded& want, const Tensor& got);

}  // namespace ullage::random_programs
