#include "normalize/normalize.h"

namespace ullage {

const std::vector<NormalizePass>& normalize_passes() {
  static const std::vector<NormalizePass> passes = {
      {"expand-composites", expand_composites},
      {"simplify", simplify},
      {"unroll-loops", unroll_loops},
      {"inline-calls", inline_calls},
      {"capture-invariants", capture_invariants},
      {"keep-accumulator-precision", keep_accumulator_precision},
      {"simplify-again", simplify},
      {"remove-dead", remove_dead},
      {"mark-counted-loops", mark_counted_loops},
  };
  return passes;
}

Status normalize(Module& module, const NormalizeOptions& options,
                 const std::function<bool(std::string_view)>& enabled,
                 const std::function<void(std::string_view)>& after) {
  for (const NormalizePass& pass : normalize_passes()) {
    if (enabled && !enabled(pass.name)) continue;
    Status status = pass.run(module, options);
    if (!status) return status;
    if (after) after(pass.name);
  }
  return Ok{};
}

}  // namespace ullage
