// A loop nest cut where the tests of its expression change along a dimension, as those of
// concatenations and padding do: each cell has an expression without these tests and without what
// it would compute in vain. No LLVM here.
#pragma once

#include <string>
#include <vector>

#include "codegen/cpu/loop_nest.h"

namespace ullage {

struct LoopCell {
  std::vector<int64_t> lower, upper;  // of the nest's dimensions
  std::vector<bool> cut;              // along a dimension: there is more of the nest than this
  LoopNest nest;
  int32_t root = -1;  // what became of the root
};

// Cells that cover the nest; itself as the only one if there is nothing to gain, or too much code
// would come of it. A cell is never narrower than a vector along the vector dimension. `root` is a
// node that is needed beside the outputs, or -1.
std::vector<LoopCell> cut_at_tests(const LoopNest& nest, int32_t root = -1);

// Text that is equal for cells that give the same code.
void append_cells_key(std::string& key, const std::vector<LoopCell>& cells);

}  // namespace ullage
