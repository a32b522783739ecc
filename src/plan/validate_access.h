// What the pieces of a kernel read and write, found by following addresses: the validator's own
// view, which shares nothing with how plans are made (plan/axis.h). Addresses are affine, so they
// are followed at the corners of a piece and next to them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace ullage {

// Where elements of a value lie in a buffer: all of them in their order (upper < 0), or those with
// coordinate [lower, upper) along a cut, rounds of the cut `spacing` elements apart, the first one
// starting with coordinate `origin`.
struct Placement {
  Cut cut;
  int64_t lower = 0, upper = -1;
  int64_t spacing = 0, origin = 0;
  bool whole() const { return upper < 0; }
};

// Extent of the dimension that an axis cuts, or nothing if the kernel has no such axis.
std::optional<int64_t> cut_extent(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis);

// Whether `variant` computes the same as `kernel`, but for addresses and the dimension it cuts.
bool same_but_addresses(const Kernel& kernel, const Kernel& variant);

// Whether every load of input `i` finds its element in a buffer with this placement. `running` is
// the kernel or a variant of it; `shift` is in elements.
bool loads_agree(const Kernel& kernel, const Kernel& running, const PlanStep& step, size_t i,
                 const Placement& placement, int64_t shift, int64_t elements);

// What a piece that writes output `o` leaves in the output's buffer, which has room for `room`
// elements; nothing if its stores do not make one slice. `extent` is cut_extent's.
std::optional<Placement> stored(const Kernel& kernel, const Kernel& running, const PlanStep& step,
                                size_t o, int64_t extent, int64_t shift, int64_t elements,
                                int64_t room);

}  // namespace ullage
