// The internal attribute that says how often a loop runs: written when loops are counted, read when
// kernels are built.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/ir.h"

namespace ullage {

std::optional<int64_t> trip_count(const Op& loop);
// Nothing: the attribute is removed.
void set_trip_count(Op& loop, std::optional<int64_t> count);

}  // namespace ullage
