// Pairs of loops, forward and backward, with stacks of residuals in between: JAX's gradient of a
// scan. Found for checkpoint_loops.cpp, which makes the residuals again instead of keeping them.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "ir/ir.h"

namespace ullage {

// A stack of residuals: carried value of the forward loop, and who reads it.
struct Residual {
  size_t number = 0;
  Op* write = nullptr;
  std::vector<Op*> reads;  // in the body of the backward loop
  // Carried value of the backward loop that begins as this stack and overwrites what it has read.
  std::optional<size_t> becomes;
};

// The two loops: the backward one reads, one slice in each trip, what the forward one stacked.
struct LoopPair {
  Op* forward = nullptr;
  Op* backward = nullptr;
  std::vector<Residual> residuals;
  bool reversed = false;  // the first trip backward reads what the last one forward wrote
  int64_t trips = 0;
  // What a chunk of forward trips is made again from and by.
  std::vector<size_t> state;       // carried values
  std::unordered_set<Op*> recipe;  // operations of the body
};

// The pair that begins with this loop, if there is one.
std::optional<LoopPair> find_loop_pair(Op& forward);

}  // namespace ullage
