// The planner's working form of one kernel graph: entries (a kernel, or a piece of one) in order,
// over instances (a value, a recomputed copy of one, or a slice of one). Moves edit it;
// simulate() says what memory and time it needs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plan/plan.h"

namespace ullage {

struct Instance {
  ValueId value = -1;
  int64_t bytes = 0;
  Slice slice;
  bool clone = false;  // made by a recomputation
};

struct Entry {
  KernelId kernel = -1;
  int32_t first_operand =
      0;  // into Schedule::operands: instances of the kernel's inputs, then of its outputs
  PieceAxis axis;
  bool accumulate = false, unfinished = false;
  bool clone = false;
  // Of a piece: the region it was cut with, and the inputs (a bit each) that exist whole but of
  // which every piece in the region touches its own slice only.
  int32_t region = -1;
  uint32_t sliced = 0;
  int64_t lower = 0, upper = -1;
  double fraction = 1;  // of the kernel's work
  double overhead = 0;  // seconds that running it in pieces adds
};

struct Schedule {
  const KernelGraph* graph = nullptr;
  std::vector<Instance> instances;
  std::vector<Entry> entries;
  std::vector<int32_t> operands;
  std::vector<int32_t> arguments, outputs;  // instances
  int32_t regions = 0;                      // that were cut so far

  const Kernel& kernel(const Entry& entry) const {
    return graph->kernels[static_cast<size_t>(entry.kernel)];
  }
  std::span<const int32_t> inputs(const Entry& entry) const {
    return {operands.data() + entry.first_operand, kernel(entry).inputs.size()};
  }
  std::span<const int32_t> outputs_of(const Entry& entry) const {
    const Kernel& k = kernel(entry);
    return {operands.data() + entry.first_operand + k.inputs.size(), k.outputs.size()};
  }
  std::span<int32_t> inputs(const Entry& entry) {
    return {operands.data() + entry.first_operand, kernel(entry).inputs.size()};
  }
  std::span<int32_t> outputs_of(const Entry& entry) {
    const Kernel& k = kernel(entry);
    return {operands.data() + entry.first_operand + k.inputs.size(), k.outputs.size()};
  }
  int32_t add_instance(Instance instance);
  // Appends operands for a new entry of `kernel`; the caller places the entry.
  Entry make_entry(KernelId kernel, std::span<const int32_t> inputs,
                   std::span<const int32_t> outputs);
};

// What the planner knows about the kernels of a graph, computed once.
struct KernelCosts {
  std::vector<double> seconds;
  std::vector<int64_t> extra_bytes;  // scratch, or the temporaries of a nested graph
};

// Where a schedule runs: the program, whose donated arguments are free space once dead, or the body
// of a loop, whose arguments keep their buffers for the whole loop.
enum class Scope : uint8_t { program, body };

// A buffer shared by instances that follow each other in place.
struct Slot {
  int64_t bytes = 0;
  int32_t first = 0, last = 0;  // entries; -1 before the first, entries.size() for after the last
  int32_t owner = -1;           // the first instance in it
  bool pinned = false;          // undonated argument or constant: never overwritten, never free
};

// A copy that must be made because an operation needs to overwrite an operand that is still needed.
struct RequiredCopy {
  int32_t entry = 0;  // before this entry
  int32_t from = 0;   // instances
  int32_t to = 0;
};

struct Profile {
  int64_t peak = 0;
  int32_t peak_entry = 0;
  double seconds = 0;
  std::vector<int64_t> memory;   // while each entry runs
  std::vector<int32_t> slot_of;  // per instance; -1 if it never exists
  std::vector<Slot> slots;
  std::vector<int32_t> first_use;  // entry that makes the instance; -1 for arguments and constants
  std::vector<int32_t> last_use;   // last entry that reads it; entries.size() for outputs
  std::vector<RequiredCopy> copies;
};

// Instances for the arguments, constants and kernels of the graph in the given order of kernels.
Schedule make_schedule(const KernelGraph& graph, std::span<const KernelId> order);

Profile simulate(const Schedule& schedule, const KernelCosts& costs, const Target& target,
                 Scope scope);

// Per instance the one that a barrier handed on as it, through any number of barriers; else itself.
std::vector<int32_t> behind_barriers(const Schedule& schedule);

// Drops entries whose results nobody reads any more.
void remove_dead_entries(Schedule& schedule);

// A move makes an edited copy of a schedule, or nothing where it does not apply.

// Computes instance `x` again just before entry `before`, the first reader to see the copy
// (plan/recompute.cpp).
std::optional<Schedule> recompute(const Schedule& schedule, const Profile& profile, int32_t x,
                                  int32_t before);

// Runs the producer of `x` and everything that reads it in `pieces` pieces, or as many as can be,
// along one of the producer's axes, one piece after another, so that it never exists whole
// (plan/split.cpp).
std::optional<Schedule> split(const Schedule& schedule, const Profile& profile,
                              const Target& target, int32_t x, PieceAxis axis, int64_t pieces);

// A good order of the kernels (plan/order.cpp): program order, in which whatever frees memory runs
// as soon as it can. With `readers_first` a kernel that may overwrite an argument waits for the
// others that read it and are ready.
enum class OrderRule : uint8_t { as_written, readers_first };
std::vector<KernelId> memory_order(const KernelGraph& graph, const KernelCosts& costs,
                                   OrderRule rule);

}  // namespace ullage
