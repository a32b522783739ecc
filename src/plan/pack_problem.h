// The packing problem in the form the stages work on: the time line reduced to the few moments that
// matter.
//
// A *section* is a moment at which the set of live buffers cannot grow further without one of them
// ending first. Every buffer is alive in a contiguous run of sections, two buffers are alive
// together exactly when they share a section, and a moment outside all sections has a subset of the
// live buffers of some section. Only the packer includes this.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/pack.h"

namespace ullage {

struct PackProblem {
  std::vector<PackBuffer> buffers;   // all of non-zero size
  std::vector<int32_t> first, last;  // sections [first, last) in which a buffer is alive
  int32_t section_count = 0;
  std::vector<int64_t> section_bound;  // per section: least height of a stack of its live buffers
  int64_t max_live = 0;                // highest section bound
  int32_t busiest = 0;                 // the first section that has it
  // One alignment for all, no fixed offset and every size a multiple of the alignment: then a stack
  // has no padding and its order is free.
  bool plain = true;

  int32_t size() const { return static_cast<int32_t>(buffers.size()); }
};

PackProblem make_pack_problem(std::vector<PackBuffer> buffers);

// A sub-problem whose buffers are `members` of the whole, all to be placed at or above `base`.
struct PackPart {
  std::vector<int32_t> members;
  int64_t base = 0;
  std::vector<int32_t> below;  // the buffers stacked under the part, for reports
};

// Cuts the time line where no buffer crosses. In plain problems a buffer that lives throughout a
// part goes to the bottom of it, which loses nothing, and the rest is cut again. Buffers placed
// this way get their entry in `offsets`.
std::vector<PackPart> cut_into_parts(const PackProblem& problem, std::span<int64_t> offsets);

// The least multiple of `alignment` that is at least `value`.
inline int64_t align_up(int64_t value, int64_t alignment) {
  int64_t rest = value % alignment;
  return rest == 0 ? value : value + (alignment - rest);
}

}  // namespace ullage
