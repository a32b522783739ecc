// A program ready for the executor: a list of steps over offsets. Made by the driver from a plan
// and compiled kernels (driver/load.h); nothing is decided any more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/kernel.h"

namespace ullage {

struct ExecStep {
  enum class Kind : uint8_t { kernel, copy, loop, branch };

  Kind kind = Kind::kernel;
  std::string name;  // for profiles
  std::shared_ptr<const CompiledKernel> kernel;
  std::vector<int64_t>
      operands;  // arena offsets of inputs, then outputs, moved back for pieces; copy: from, to
  std::vector<int64_t> extents;  // bytes that each operand's buffer has from its offset before
                                 // moving, for accounting
  int64_t scratch = -1;          // arena offset, or none
  int64_t scratch_bytes = 0;
  KernelCall::Axis axis = KernelCall::Axis::all;
  int64_t lower = 0, upper = -1;
  bool accumulate = false, unfinished = false;
  int64_t bytes = 0;        // of a copy
  int64_t trip_count = -1;  // of a loop; below 0: while the condition holds
  int64_t control =
      -1;  // offset of the condition (i1) of a loop, or of the index (i32 or i1) of a branch
  bool control_is_bool = false;               // branch on an i1: true takes branch 0
  std::vector<std::vector<ExecStep>> nested;  // loop: body, condition; branch: branches
};

struct ExecBuffer {
  int64_t offset = 0;
  int64_t bytes = 0;
};

struct ExecProgram {
  int64_t arena_bytes = 0;
  std::vector<ExecStep> steps;
  std::vector<ExecBuffer> arguments, outputs;
  struct Constant {
    ExecBuffer buffer;
    std::shared_ptr<const std::vector<std::byte>>
        bytes;  // one element repeated if it is shorter than the buffer
  };
  std::vector<Constant> constants;
  // Offsets below this are arguments, constants and results with memory of their own each (see
  // Plan::separate).
  int64_t separate_bytes = 0;
  std::vector<ExecBuffer> separate;
};

}  // namespace ullage
