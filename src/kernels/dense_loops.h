// The loops that go over the elements of an array, for kernels that store one: a loop for each of
// its dimensions of more than one element, or several whose extents are its factors.
#pragma once

#include <vector>

#include "kernels/expr_builder.h"

namespace ullage {

class DenseLoops {
 public:
  explicit DenseLoops(const std::vector<int64_t>& shape);

  // Outermost first.
  std::vector<int64_t> extents() const;
  // Of the element that the loops have reached; one entry per dimension of the array.
  IndexVector index(const ExprBuilder& builder) const;

  // Makes two loops of those that an expression divides, but for the innermost, whose elements lie
  // side by side. False if there is none.
  bool split(const std::vector<ExprBuilder::Division>& divisions);

 private:
  std::vector<std::vector<int64_t>> factors_;  // per dimension, outermost first
};

}  // namespace ullage
