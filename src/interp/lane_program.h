// The body of a reduction, sort, scatter or map, compiled to a straight list of lane operations on
// scalars: run on one lane or on many at once. Bodies may hold elementwise operations, constants,
// copies of scalars and calls of functions of the same kind; others are refused. Private to
// interp/.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "interp/eval.h"
#include "interp/lanes.h"
#include "interp/scalar_ops.h"

namespace ullage::interp {

class LaneProgram {
 public:
  static Result<LaneProgram> compile(Evaluation& e, const Region& region);

  size_t num_arguments() const { return arguments_.size(); }
  DType argument_type(size_t i) const { return arguments_[i].dtype; }
  DType result_type(size_t i) const { return results_[i].dtype; }
  // Registers to fill before run() and to read after it. An argument that is never used has a
  // register too.
  Lanes& argument(size_t i) { return registers_[arguments_[i].index]; }
  const Lanes& result(size_t i) const { return registers_[results_[i].index]; }
  void run(size_t n);  // n <= kLanes

 private:
  struct Register {
    size_t index;
    DType dtype;
  };
  struct Instruction {
    LaneOp op;
    size_t in[3];
    size_t out;
  };
  using Map = std::unordered_map<const Value*, Register>;

  Register add_register(DType dtype);
  Register add_constant(const Tensor& scalar);
  Result<std::vector<Register>> compile_region(Evaluation& e, const Region& region, Map& map,
                                               int depth);

  std::deque<Lanes> registers_;
  std::vector<Instruction> code_;
  std::vector<Register> arguments_, results_;
};

}  // namespace ullage::interp
