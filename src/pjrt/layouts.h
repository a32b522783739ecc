// Orders in which arrays lie in memory. A program sees row-major arrays only: an argument or result
// that lies otherwise gets the shape in which it is row-major, and the program a transposition at
// its edge. Buffers keep the shape that JAX knows, and the layout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "partition/sharding.h"
#include "pjrt/abi.h"
#include "support/diagnostics.h"

namespace ullage::pjrt {

struct Layout {
  std::vector<int64_t> order;  // dimensions, the one that varies slowest first
  std::string text;            // minor to major, as jaxlib writes it
  bool row_major = true;
};

// The one object for an order, or for row-major arrays. Lives as long as the process.
Layout* layout_of(const std::vector<int64_t>& order);
Layout* row_major(size_t rank);

// The shape in which an array lies row-major, and back.
std::vector<int64_t> in_memory(const Layout& layout, const std::vector<int64_t>& shape);
std::vector<int64_t> as_seen(const Layout& layout, const std::vector<int64_t>& shape);
Sharding in_memory(const Layout& layout, Sharding sharding);

// Gives the arguments and results of the entry function the layouts that their mhlo.layout_mode
// asks for. One that may be chosen ("auto") is row-major, or for a result that is a transposition,
// as its operand lies.
Status apply_layouts(Module& module, std::vector<Layout*>& arguments,
                     std::vector<Layout*>& results);

}  // namespace ullage::pjrt
