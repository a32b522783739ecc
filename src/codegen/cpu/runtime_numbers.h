// Numbers that code takes when it runs instead of containing them: strides of outer loops, offsets,
// bounds of cells, lengths of blocks. So kernels that differ in nothing else share their code, and
// code can be part of the binary for arrays of any size. No LLVM here.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "codegen/cpu/loop_cells.h"
#include "codegen/cpu/loop_nest.h"

namespace ullage {

// In a nest, values from here on stand for numbers of the code: the first, the second, ... No
// stride or offset of an array in memory is that large.
inline constexpr int64_t kFirstNumber = int64_t{1} << 61;
constexpr bool is_number(int64_t value) {
  return value >= kFirstNumber;
}

class RuntimeNumbers {
 public:
  // Replaces what the code need not know in advance. What decides its form stays: strides of 0, 1
  // and -1, and those between lanes unless elements are fetched one by one there. Of small
  // expressions alone, for which there are registers: offsets, and constants where code for any
  // value is as good.
  void take(LoopNest& nest);
  void take(std::vector<LoopCell>& cells);
  void take(int64_t& value);
  void take_any(int64_t& value);  // also 0, 1 and -1

  const std::vector<int64_t>& values() const { return values_; }

 private:
  // A buffer (inputs from 0 on, outputs below 0), and a part of its accesses.
  using Owner = std::tuple<int, int>;
  void take(int64_t& value, Owner owner);
  void take(Access& access, int buffer, int vector_dim);
  void take_constants(Expr& expr);

  std::vector<int64_t> values_;
  bool small_ = true;  // the expression at hand
  // Accesses of one buffer share their numbers, so that code may take them together.
  std::map<std::tuple<Owner, int64_t>, int64_t> shared_;
};

}  // namespace ullage
