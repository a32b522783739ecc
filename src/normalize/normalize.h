// The passes before planning. They bring a program into the form that kernels are built from, and
// are memory-neutral: none extends a live range, stores a copy, merges computations that are apart,
// or hoists anything out of a loop. Afterwards the entry function contains no calls except to
// pointwise functions, and no composites. (Where a rewrite spends nothing and certainly saves
// memory, it is here too: normalize/stacks.cpp.)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostics.h"

namespace ullage {

struct NormalizeOptions {
  int64_t fold_limit_bytes = 4096;  // constants larger than this are not made by folding
  int64_t unroll_limit_trips =
      8;  // counted loops of pointwise operations up to this many trips are unrolled
  int64_t unroll_limit_ops = 1024;  // ... unless that makes more operations than this
  // Functions that the running pass leaves as they are; empty: none.
  std::function<bool(const Function&)> leave;

  bool leaves(const Function& function) const { return leave && leave(function); }
};

struct NormalizePass {
  std::string_view name;
  Status (*run)(Module& module, const NormalizeOptions& options);
};

// In the order in which they run.
const std::vector<NormalizePass>& normalize_passes();

// Whether a pass runs at all (no function given), and whether it changes a function.
using PassEnabled = std::function<bool(std::string_view pass, const Function* function)>;

// Runs one pass on the functions that it is enabled for.
Status run_pass(const NormalizePass& pass, Module& module, const NormalizeOptions& options = {},
                const PassEnabled& enabled = {});

// Runs all passes. `after` is called with each pass's name when it is done (dumps, timing).
Status normalize(Module& module, const NormalizeOptions& options = {},
                 const PassEnabled& enabled = {},
                 const std::function<void(std::string_view)>& after = {});

// The passes, one by one.
Status expand_composites(Module& module, const NormalizeOptions& options);
Status expand_quantized(Module& module, const NormalizeOptions& options);
Status expand_operations(Module& module, const NormalizeOptions& options);
Status expand_random(Module& module, const NormalizeOptions& options);
Status simplify(Module& module, const NormalizeOptions& options);
Status unroll_loops(Module& module, const NormalizeOptions& options);
Status inline_calls(Module& module, const NormalizeOptions& options);
Status expand_manual(Module& module, const NormalizeOptions& options);
Status mark_counted_loops(Module& module, const NormalizeOptions& options);
Status keep_accumulator_precision(Module& module, const NormalizeOptions& options);
Status capture_invariants(Module& module, const NormalizeOptions& options);
Status update_stacks_in_place(Module& module, const NormalizeOptions& options);
Status thin_stacks(Module& module, const NormalizeOptions& options);
Status unroll_short_reductions(Module& module, const NormalizeOptions& options);
Status choose_by_results(Module& module, const NormalizeOptions& options);
Status contract_multiply_add(Module& module, const NormalizeOptions& options);
Status move_updates_into_loops(Module& module, const NormalizeOptions& options);
Status add_slices_in_place(Module& module, const NormalizeOptions& options);
Status simplify_updates(Module& module, const NormalizeOptions& options);
Status remove_dead(Module& module, const NormalizeOptions& options);

// A function is pointwise if each result element is computed from a few argument elements by
// elementwise and indexing operations only: a call to it is expanded in the expression of the
// kernel that reads it, and never stored for its own sake.
bool is_pointwise(const Module& module, const Function& function);

// A while loop that runs a fixed number of times: carried value `counter` starts at `start`, gains
// `step` each trip, and the loop goes on while `counter < limit` (or <=, >, >=, != as the condition
// says).
struct CountedLoop {
  size_t counter = 0;
  int64_t start = 0, step = 0, trip_count = 0;
};
std::optional<CountedLoop> counted_loop(const Op& loop);

// The constant a value holds, if it is the result of stablehlo.constant.
const Literal* constant_value(const Value* value);

}  // namespace ullage
