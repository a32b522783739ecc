// The packer: gives every buffer an offset in one arena so that buffers that are alive at the same
// time never overlap, and so that the arena is as small as possible or within a capacity.
//
// A buffer lives in the half-open interval [lower, upper) of any integer clock, usually plan steps.
// All work is counted in steps, never in milliseconds, and no random source is read, so the same
// input always gets the same offsets. One thread. `proved_infeasible` is set only with a proof in
// hand: more live bytes than capacity at one moment, two fixed buffers that collide, or a search
// that was exhausted. The planner and `ullage pack` call this; pack_validator.h checks the outcome
// from the definition alone. The search follows "MiniMalloc" (ASPLOS 2023) with inferences of our
// own, see pack_exact.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ullage {

struct PackBuffer {
  int64_t lower = 0;          // first instant of life
  int64_t upper = 0;          // first instant after life; lower < upper
  int64_t size = 0;           // bytes, 0 allowed (such a buffer overlaps nothing)
  int64_t fixed_offset = -1;  // >= 0: the buffer must be there; a multiple of the alignment
  int64_t alignment = 1;      // bytes, positive; the offset is a multiple of it
};

struct PackOptions {
  int64_t capacity = -1;             // bytes; -1: as small as the limits allow
  int64_t node_limit = 4'000'000;    // placements tried by the exact search, all parts together
  int64_t step_limit = 400'000'000;  // elementary steps of all stages, some nanoseconds each
  double tolerance = 0;              // without a capacity: stop within this fraction above max_live
  bool exact = true;                 // false: only the placement heuristics
};

enum class PackMethod : uint8_t { trivial, greedy, exact, iterated };
std::string_view name(PackMethod method);

struct PackStats {
  int64_t parts = 0;       // independent sub-problems after cutting the time line
  int64_t placements = 0;  // greedy runs over an order
  int64_t nodes = 0;       // of the exact search
  int64_t steps = 0;       // of all stages
  PackMethod method =
      PackMethod::trivial;  // the strongest stage that was needed for the offsets returned
};

struct PackResult {
  std::vector<int64_t> offsets;  // one per buffer, always filled in, also when they do not fit
  int64_t arena = 0;             // highest end of a buffer, bytes
  int64_t max_live =
      0;              // lower bound on any arena: most bytes alive at one moment, alignment counted
  bool fits = false;  // arena <= capacity; true when no capacity was given
  bool proved_infeasible = false;
  std::vector<int32_t> obstacle;  // when !fits, ascending: buffers that together cannot fit
                                  // (proved), or those alive at the busiest moment (not proved)
  PackStats stats;
};

// Requires lower < upper, size >= 0, alignment > 0, fixed offsets aligned, and sizes with padding
// that add up to less than 2^62 bytes; anything else is a broken invariant of the caller.
PackResult pack(std::span<const PackBuffer> buffers, const PackOptions& options = {});

}  // namespace ullage
