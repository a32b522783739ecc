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
#include "runtime/executor_steps.h"
#include "runtime/step_list.h"
#include "runtime/thread_pool.h"
#include "support/diagnostics.h"

namespace ullage {

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
  using Spent = StepTime;
  void profile(bool on) { profiling_ = on; }
  std::vector<Spent> spent() const;  // most seconds first

  // Highest address used so far, arguments, outputs, constants, temporaries and scratch together.
  int64_t high_water_bytes() const { return arena_.high_water_bytes(); }

 private:
  Executor(ExecProgram program, Arena arena, ThreadPool& pool);
  void account(const std::vector<ExecStep>& steps);

  ExecProgram program_;
  Arena arena_;
  ThreadPool& pool_;
  StepList steps_;
  bool profiling_ = false;
  std::vector<Spent> spent_;  // one per distinct name
};

}  // namespace ullage
