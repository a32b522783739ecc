// A loop nest cut where the tests of its expression change along a dimension, as those of
// concatenations and padding do: each cell has an expression without these tests and without what
// it would compute in vain. No LLVM here.
#pragma once

#include <vector>

#include "codegen/cpu/loop_nest.h"

namespace ullage {

struct LoopCell {
  std::vector<int64_t> lower, upper;  // of the nest's dimensions
  LoopNest nest;
};

// Cells that cover the nest; itself as the only one if there is nothing to gain. A cell is never
// narrower than a vector along the vector dimension.
std::vector<LoopCell> cut_at_tests(const LoopNest& nest);

}  // namespace ullage
