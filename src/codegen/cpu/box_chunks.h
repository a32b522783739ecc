// A box of loop indices cut into chunks by its shape alone, for the pool to work on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ullage {

class BoxChunks {
 public:
  // `loops` lists the dimensions that may be cut, outermost first. A chunk has about `grain`
  // indices of these loops; cuts of the last loop are multiples of `last_multiple`.
  BoxChunks(const std::vector<int>& loops, const std::vector<int64_t>& lower,
            const std::vector<int64_t>& upper, int64_t grain, int64_t last_multiple)
      : loops_(loops), lower_(lower), upper_(upper) {
    size_t rank = loops.size();
    if (rank == 0) return;
    // The loop to cut is the outermost one whose iterations are smaller than a chunk; loops around
    // it are cut into single iterations.
    std::vector<int64_t> inner(rank + 1, 1);
    for (size_t i = rank; i-- > 0;) inner[i] = inner[i + 1] * extent(i);
    while (cut_ + 1 < rank && inner[cut_ + 1] > grain) ++cut_;
    step_ = std::max<int64_t>(1, grain / inner[cut_ + 1]);
    if (step_ > 16) step_ = step_ / 16 * 16;  // whole squares for kernels that transpose
    if (cut_ + 1 == rank) step_ = (step_ + last_multiple - 1) / last_multiple * last_multiple;
    pieces_ = (extent(cut_) + step_ - 1) / step_;
    count_ = pieces_ * (inner[0] / inner[cut_]);
  }

  int64_t count() const { return count_; }

  void box(int64_t number, std::vector<int64_t>& low, std::vector<int64_t>& high) const {
    low = lower_;
    high = upper_;
    if (loops_.empty()) return;
    size_t at = static_cast<size_t>(loops_[cut_]);
    low[at] = lower_[at] + number % pieces_ * step_;
    high[at] = std::min(upper_[at], low[at] + step_);
    number /= pieces_;
    for (size_t i = cut_; i-- > 0;) {
      size_t d = static_cast<size_t>(loops_[i]);
      low[d] = lower_[d] + number % extent(i);
      high[d] = low[d] + 1;
      number /= extent(i);
    }
  }

 private:
  int64_t extent(size_t loop) const {
    size_t d = static_cast<size_t>(loops_[loop]);
    return upper_[d] - lower_[d];
  }

  const std::vector<int>& loops_;
  const std::vector<int64_t>& lower_;
  const std::vector<int64_t>& upper_;
  size_t cut_ = 0;
  int64_t step_ = 1, pieces_ = 1, count_ = 1;
};

}  // namespace ullage
