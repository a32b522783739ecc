// Internal attributes of loops: written when loops are counted, read when kernels are built.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/ir.h"

namespace ullage {

// How often a loop runs, if that is known.
std::optional<int64_t> trip_count(const Op& loop);
// Nothing: the attribute is removed.
void set_trip_count(Op& loop, std::optional<int64_t> count);

// The carried values that the loop overwrites whole before anyone reads them: what they are at
// first makes no difference.
std::vector<size_t> overwritten(const Op& loop);
void set_overwritten(Op& loop, const std::vector<size_t>& carried);

}  // namespace ullage
