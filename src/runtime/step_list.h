// The steps of a loaded program, ready to run over memory that is given for each run. What the plan
// calls one arena may be several pieces of memory here: regions, each a range of the plan's offsets
// (an argument, a result, the temporaries). A StepList never changes once made, so several threads
// may run it at the same time, each over memory of its own. Used by the Executor, whose memory is
// one arena, and by driver/executable.h, whose arguments and results are the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/executor_steps.h"
#include "runtime/thread_pool.h"

namespace ullage {

// Offsets [begin, begin + bytes) of the plan.
struct MemoryRegion {
  int64_t begin = 0;
  int64_t bytes = 0;
};

// Time spent in each kind of step, by name.
struct StepTime {
  std::string name;
  int64_t calls = 0;
  double seconds = 0;
};

class StepList {
 public:
  // Regions are sorted by offset and do not overlap; every buffer lies in one of them. The steps
  // must outlive the list.
  StepList(const std::vector<ExecStep>& steps, std::span<const MemoryRegion> regions);

  // Over one address per region. `times`, if given, has one entry per name() and is added to.
  // `interrupted`, if given, is asked from time to time between steps; when it says so the run ends
  // early and returns false, and results are not to be used.
  bool run(std::span<std::byte* const> regions, ThreadPool& pool,
           std::vector<StepTime>* times = nullptr,
           const std::function<bool()>* interrupted = nullptr) const;

  // The distinct names of steps.
  const std::vector<std::string>& names() const { return names_; }

 private:
  // A place in memory: in a region, so many bytes from its begin (before it, for pieces).
  struct Place {
    uint32_t region = 0;
    int64_t offset = 0;
  };
  struct Bound {
    const ExecStep* step = nullptr;
    KernelCall call;
    uint32_t first = 0;    // into places_: its operands
    int32_t scratch = -1;  // into places_
    int32_t control = -1;  // into places_
    uint32_t name = 0;     // into names_
    std::vector<std::vector<Bound>> nested;
  };
  struct Run;

  std::vector<Bound> bind(const std::vector<ExecStep>& steps);
  int32_t add_place(int64_t offset, int64_t buffer);
  void run_steps(const std::vector<Bound>& steps, Run& run) const;

  std::vector<MemoryRegion> regions_;
  std::vector<Place> places_;
  std::vector<std::string> names_;
  std::vector<Bound> bound_;
};

}  // namespace ullage
