// Which values of a region have memory. A value is stored if something needs its buffer, or if
// computing it where it is read would keep more alive or cost more than storing it; everything else
// is virtual and vanishes into the kernels that read it. The rules are memory-neutral: they never
// keep a large value alive for longer than the program does.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/ir.h"

namespace ullage {

struct RegionAnalysis {
  // Values with a buffer of their own: results of operations that are kernels, and the fusible ones
  // chosen here.
  std::unordered_set<Value*> stored;
  // For a stored value that ends a product's epilogue: the product's result, which itself has no
  // memory, and its dimensions (of extent above 1) in the order in which the value has them.
  struct Epilogue {
    Value* product = nullptr;
    Dims order;
  };
  std::unordered_map<Value*, Epilogue> epilogue_of;
  // Stored values that are another stored value under a different shape.
  std::unordered_map<Value*, Value*> alias;

  // The value whose buffer holds `value`.
  Value* base(Value* value) const {
    for (auto it = alias.find(value); it != alias.end(); it = alias.find(value)) value = it->second;
    return value;
  }
};

// Whether a dot_general is a kernel of the matmul family, which takes what follows it as an
// epilogue. Products of other types are plain reductions.
bool is_matmul(const Op& dot);

RegionAnalysis analyze_region(const Module& module, const Region& region);

}  // namespace ullage
