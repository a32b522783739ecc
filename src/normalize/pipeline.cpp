#include "normalize/flatten_tuples.h"
#include "normalize/normalize.h"

namespace ullage {

const std::vector<NormalizePass>& normalize_passes() {
  static const std::vector<NormalizePass> passes = {
      {"flatten-tuples", flatten_tuples},
      {"expand-composites", expand_composites},
      {"expand-manual", expand_manual},
      {"expand-quantized", expand_quantized},
      {"expand-operations", expand_operations},
      {"simplify", simplify},
      {"unroll-loops", unroll_loops},
      {"inline-calls", inline_calls},
      {"expand-random", expand_random},
      {"capture-invariants", capture_invariants},
      {"simplify-updates", simplify_updates},
      {"add-slices-in-place", add_slices_in_place},
      {"move-updates-into-loops", move_updates_into_loops},
      {"update-stacks-in-place", update_stacks_in_place},
      {"thin-stacks", thin_stacks},
      {"unroll-short-reductions", unroll_short_reductions},
      {"keep-accumulator-precision", keep_accumulator_precision},
      {"simplify-again", simplify},
      {"choose-by-results", choose_by_results},
      {"contract-multiply-add", contract_multiply_add},
      {"remove-dead", remove_dead},
      {"mark-counted-loops", mark_counted_loops},
  };
  return passes;
}

Status run_pass(const NormalizePass& pass, Module& module, const NormalizeOptions& options,
                const PassEnabled& enabled) {
  if (!enabled) return pass.run(module, options);
  if (!enabled(pass.name, nullptr)) return Ok{};
  NormalizeOptions own = options;
  own.leave = [&](const Function& function) {
    return options.leaves(function) || !enabled(pass.name, &function);
  };
  return pass.run(module, own);
}

Status normalize(Module& module, const NormalizeOptions& options, const PassEnabled& enabled,
                 const std::function<void(std::string_view)>& after) {
  for (const NormalizePass& pass : normalize_passes()) {
    Status status = run_pass(pass, module, options, enabled);
    if (!status) return status;
    if (after) after(pass.name);
  }
  return Ok{};
}

}  // namespace ullage
