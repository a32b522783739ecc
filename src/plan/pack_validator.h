// Checks a packing against the definition of a packing and nothing else: it shares no code with the
// packer, so that a wrong idea there cannot hide here. Called by tests, by `ullage pack` before it
// prints, and by the plan validator.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/pack.h"

namespace ullage {

// One sentence per violation, at most `limit`: a buffer below zero, off its alignment, away from
// its fixed offset, above the capacity (when capacity >= 0), or overlapping another buffer while
// both are alive. Empty means the packing is valid.
std::vector<std::string> validate_packing(std::span<const PackBuffer> buffers,
                                          std::span<const int64_t> offsets, int64_t capacity = -1,
                                          size_t limit = 16);

}  // namespace ullage
