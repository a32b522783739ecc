// Placement heuristics: buffers are taken in some order and each goes into the lowest gap, or the
// tightest gap, that its placed contemporaries leave. No single order wins on all programs, so the
// packer tries a table of them. Only the packer includes this.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "plan/pack_problem.h"

namespace ullage {

enum class PackFit : uint8_t { lowest, tightest };

// Places the buffers of one problem again and again, keeping its storage.
//
// The placed buffers are kept so that those that share a section with a new one can be walked by
// rising offset. The sections are covered by overlapping windows of several widths; a placed buffer
// is entered in every window it touches, sorted by offset. A buffer shorter than half a width lies
// inside one window of that width, and looks at that window only.
class GreedyPlacer {
 public:
  explicit GreedyPlacer(const PackProblem& problem);

  // Places the fixed buffers, taken to be compatible with each other, then the others in `order`.
  // Stops early and returns false when some buffer would end above `ceiling`. On success `offsets`
  // holds every offset and `height` the highest end.
  bool place(std::span<const int32_t> order, PackFit fit, int64_t ceiling,
             std::vector<int64_t>& offsets, int64_t& height);

  int64_t steps() const { return steps_; }  // all work so far

 private:
  struct Placed {
    int64_t offset, top;
    int32_t first, last;
  };
  struct Level {
    int32_t width, stride;
    std::vector<std::vector<Placed>> windows;
  };

  std::span<const Placed> near(int32_t buffer) const;
  void insert(int32_t buffer, int64_t offset);
  int64_t find_gap(int32_t buffer, PackFit fit);

  const PackProblem& problem_;
  std::vector<Level> levels_;
  int64_t steps_ = 0;
};

// A list of buffers sorted for placement, by the letters of `recipe`, most important first: Z size,
// W lifetime, A area, N number of contemporaries, T bound of the busiest section (all falling), S
// start (rising), R a fixed shuffle.
std::vector<int32_t> make_pack_order(const PackProblem& problem, std::string_view recipe);

// The recipes worth trying, best first.
std::span<const std::string_view> pack_recipes();

}  // namespace ullage
