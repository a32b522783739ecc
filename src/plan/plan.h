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

struct PlanBuffer {
  enum class Kind : uint8_t { argument, constant, temporary, scratch };

  Kind kind = Kind::temporary;
  bool output = false;  // it holds a result of the program at the end
  int64_t bytes = 0;
  int64_t offset = -1;  // within the arena
  int32_t first = 0;    // time of the step that first writes it (0 for arguments and constants)
  int32_t last = 0;     // time of the last step that uses it
  // What it holds first, for reports: a value of `graph`, or rows [lower, upper) of one.
  const KernelGraph* graph = nullptr;
  ValueId value = -1;
  int64_t lower = 0, upper = -1;
};

enum class PieceAxis : uint8_t { all, rows, contracted };

struct PlanBlock;

struct PlanStep {
  enum class Kind : uint8_t { kernel, copy, loop, branch };

  Kind kind = Kind::kernel;
  int32_t time = 0;  // its place on the time line; nested steps lie between begin and end of a loop
  int32_t end_time = 0;  // of loops and branches; else equal to time
  KernelId kernel = -1;
  std::vector<int32_t> inputs;  // buffers of the kernel's inputs, then outputs; of a copy: from, to
  std::vector<int32_t> outputs;
  std::vector<int64_t> shift;  // per input, then output: bytes by which the buffer starts after the
                               // full value's start
  PieceAxis axis = PieceAxis::all;
  int64_t lower = 0, upper = -1;  // the piece of the axis
  bool accumulate = false;        // a contracted piece after the first
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
  int64_t arena_bytes = 0;
  int64_t peak_bytes = 0;  // most bytes alive at once; arena_bytes minus this is fragmentation
  int32_t peak_time = 0;
  int64_t argument_bytes = 0, output_bytes = 0, alias_bytes = 0, constant_bytes = 0, temp_bytes = 0;
  double predicted_seconds = 0;
  double flops = 0, recomputed_flops = 0;
  std::vector<PlanDecision> decisions;
};

}  // namespace ullage
