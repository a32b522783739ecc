// A Plan: ordered steps over addresses. It is complete (nothing is decided later), checkable
// (plan/validate.h needs only the kernel graph and the plan) and mechanical to run. All memory of a
// run is one arena: arguments, outputs, constants, temporaries and scratch are buffers at fixed
// offsets, each valid for an interval of the plan's time line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel_graph.h"

namespace ullage {

// Along what a piece of a kernel is cut: a parallel dimension (of a loop its number, of a product
// the outermost one of m, 0, of n, 1, or of the batch, 2), or the first reduced or contracted one.
struct PieceAxis {
  enum class Kind : uint8_t { all, parallel, contracted };

  Kind kind = Kind::all;
  int32_t dim = 0;  // of parallel
  bool whole() const { return kind == Kind::all; }
  bool parallel() const { return kind == Kind::parallel; }
  bool contracted() const { return kind == Kind::contracted; }
  friend bool operator==(const PieceAxis&, const PieceAxis&) = default;
};

// A dimension of a value as cuts see it: the element at flat index a has coordinate a / stride %
// extent. Rows are the cut whose stride times extent is all of the value.
struct Cut {
  int64_t stride = 1, extent = 1;
  friend bool operator==(const Cut&, const Cut&) = default;
};

// The part [lower, upper) of a value along a cut; all of it when upper < 0. In its own buffer it
// lies dense but for the place of `step` indices that the cut dimension takes (all pieces of a
// value but the last have as many).
struct Slice {
  Cut cut;
  int64_t lower = 0, upper = -1;
  int64_t step = 0;
  bool whole() const { return upper < 0; }
};

struct PlanBuffer {
  enum class Kind : uint8_t { argument, constant, temporary, scratch };

  Kind kind = Kind::temporary;
  bool output = false;  // it holds a result of the program at the end
  int64_t bytes = 0;
  int64_t offset = -1;  // within the arena
  int32_t first = 0;    // time of the step that first writes it (0 for arguments and constants)
  int32_t last = 0;     // time of the last step that uses it
  // What it holds first, for reports: a value of `graph`, or a part of one.
  const KernelGraph* graph = nullptr;
  ValueId value = -1;
  Slice slice;
};

struct PlanBlock;

struct PlanStep {
  enum class Kind : uint8_t { kernel, copy, loop, branch };

  Kind kind = Kind::kernel;
  int32_t time = 0;  // its place on the time line; nested steps lie between begin and end of a loop
  int32_t end_time = 0;  // of loops and branches; else equal to time
  KernelId kernel = -1;
  int32_t variant = -1;         // into PlanBlock::variants: what runs instead of the kernel
  std::vector<int32_t> inputs;  // buffers of the kernel's inputs, then outputs; of a copy: from, to
  std::vector<int32_t> outputs;
  std::vector<int64_t> shift;  // per input, then output: bytes by which the buffer starts after the
                               // full value's start
  PieceAxis axis;
  int64_t lower = 0, upper = -1;  // the piece of the axis
  bool accumulate = false;        // a contracted piece after the first
  bool unfinished = false;        // a contracted piece before the last
  bool recomputed = false;        // the kernel has run before, for the same rows
  int32_t scratch = -1;           // buffer, or none
  int64_t bytes = 0;              // of a copy
  std::vector<PlanBlock>
      nested;  // loop: body, then condition unless counted; branch: one per branch
};

// The steps of one kernel graph.
struct PlanBlock {
  const KernelGraph* graph = nullptr;
  std::vector<PlanStep> steps;
  // Kernels of the graph made to be cut along another dimension than the outermost, and to address
  // operands of which only a part exists.
  std::vector<std::shared_ptr<const Kernel>> variants;
  std::vector<int32_t> arguments;  // buffers, one per graph argument
  std::vector<int32_t> outputs;    // buffers, one per graph output
};

// One thing that the planner chose to do, in words a user can read.
struct PlanDecision {
  std::string move;  // "recompute", "split", "in-place", ...
  std::string what;  // value and place
  Location location;
  int64_t bytes = 0;   // by which it lowered the peak, or the size of what it avoided
  double seconds = 0;  // what it costs per run
};

struct Plan {
  std::vector<PlanBuffer> buffers;
  PlanBlock main;
  std::vector<int32_t>
      constants;  // buffers of main graph's and nested graphs' constants, with values in PlanBuffer
  // Buffers with memory of their own (arguments, constants, results), if the plan was asked for
  // that: they come first, one after another up to `separate_bytes`. Others may lie inside one
  // while it is not yet, or no longer, needed.
  std::vector<int32_t> separate;
  int64_t separate_bytes = 0;
  int64_t arena_bytes = 0;
  int64_t peak_bytes = 0;  // most bytes alive at once; arena_bytes minus this is fragmentation
  int32_t peak_time = 0;
  int64_t argument_bytes = 0, output_bytes = 0, alias_bytes = 0, constant_bytes = 0, temp_bytes = 0;
  double predicted_seconds = 0;
  double flops = 0, recomputed_flops = 0;
  std::vector<PlanDecision> decisions;
};

}  // namespace ullage
