// Runs a loaded program: a list of steps over addresses in one arena. The executor takes no
// decision; what it runs was fixed by the plan. It knows kernels only as functions
// (runtime/kernel.h) and buffers only as offsets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/arena.h"
#include "runtime/kernel.h"
#include "runtime/thread_pool.h"
#include "support/diagnostics.h"

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
};

class Executor {
 public:
  // Maps the arena and writes the constants. Fails if the arena is above the budget or memory is
  // not to be had.
  ~Executor();
  static Result<std::unique_ptr<Executor>> load(ExecProgram program,
                                                std::optional<int64_t> budget_bytes,
                                                ThreadPool& pool);

  size_t num_arguments() const { return program_.arguments.size(); }
  size_t num_outputs() const { return program_.outputs.size(); }
  // Where the caller writes arguments before a run. A run may overwrite donated ones.
  std::span<std::byte> argument(size_t i);
  // Where the outputs are after a run.
  std::span<const std::byte> output(size_t i);

  void run();

  // Time spent in each kind of step, by name, in the runs since profiling was switched on.
  struct Spent {
    std::string name;
    int64_t calls = 0;
    double seconds = 0;
  };
  void profile(bool on) { profiling_ = on; }
  std::vector<Spent> spent() const;  // most seconds first

  // Highest address used so far, arguments, outputs, constants, temporaries and scratch together.
  int64_t high_water_bytes() const { return arena_.high_water_bytes(); }

 private:
  Executor(ExecProgram program, Arena arena, ThreadPool& pool);
  struct Bound;  // a step with addresses
  void account(const std::vector<ExecStep>& steps);
  std::vector<Bound> bind(const std::vector<ExecStep>& steps);
  void run_steps(const std::vector<Bound>& steps);

  ExecProgram program_;
  Arena arena_;
  ThreadPool& pool_;
  std::vector<Bound> bound_;
  bool profiling_ = false;
  std::vector<Spent> spent_;  // one per distinct name
};

}  // namespace ullage
