#include "kernels/dense_loops.h"

namespace ullage {

DenseLoops::DenseLoops(const std::vector<int64_t>& shape) {
  for (int64_t extent : shape) {
    factors_.emplace_back();
    if (extent != 1) factors_.back().push_back(extent);
  }
}

std::vector<int64_t> DenseLoops::extents() const {
  std::vector<int64_t> out;
  for (const std::vector<int64_t>& dim : factors_) out.insert(out.end(), dim.begin(), dim.end());
  return out;
}

IndexVector DenseLoops::index(const ExprBuilder& builder) const {
  IndexVector out;
  size_t loop = 0;
  for (const std::vector<int64_t>& dim : factors_) {
    Index index = builder.constant_index(0);
    for (int64_t factor : dim)
      index = builder.add(builder.scaled(index, factor), builder.loop_index(loop++));
    out.push_back(std::move(index));
  }
  return out;
}

bool DenseLoops::split(const std::vector<ExprBuilder::Division>& divisions) {
  const size_t count = extents().size();
  bool any = false;
  size_t loop = 0;
  for (std::vector<int64_t>& factors : factors_) {
    std::vector<int64_t> next;
    for (int64_t factor : factors) {
      int64_t step = 1;
      for (const ExprBuilder::Division& division : divisions)
        if (division.dimension == loop && factor % division.step == 0) step = division.step;
      const bool innermost = ++loop == count;
      if (step > 1 && !innermost) {
        next.push_back(factor / step);
        factor = step;
        any = true;
      }
      next.push_back(factor);
    }
    factors = std::move(next);
  }
  return any;
}

}  // namespace ullage
