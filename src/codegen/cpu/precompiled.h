// Kernels whose machine code is part of the binary: elementwise operations on dense arrays of any
// shape, and the like, which people who try things out ask for one at a time. They are compiled by
// the same emitters when Ullage is built (tools/precompile), for every host of a level, so their
// results have the same bits. A binary without the table compiles them as any other kernel.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codegen/cpu/host.h"
#include "kernels/kernel_graph.h"
#include "support/diagnostics.h"

namespace ullage {

struct PrecompiledFunction {
  std::string_view key;  // of KernelRecipe::Code
  void (*code)();
};

// The function with the code of this key for hosts of a level, or null.
void* precompiled_function(IsaLevel level, std::string_view key);

// Makes the table, when Ullage is built: compiles the kernels of the graphs, which have no loops
// and conditionals, for each level, and writes an object file per level and table.cpp into a
// folder. Fails for what cannot be compiled or written, and for code that calls functions other
// than the C library's.
Status write_precompiled(std::span<const KernelGraph* const> graphs, const std::string& folder);

}  // namespace ullage
