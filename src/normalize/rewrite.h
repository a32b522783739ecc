// Helpers shared by the passes of this room.
#pragma once

#include <vector>

#include "normalize/normalize.h"

namespace ullage {

// All functions, each after the functions it calls. (Call cycles are refused by the verifier.)
std::vector<Function*> callees_first(const Module& module);

// Replaces every call in `function` that `should_inline` accepts by the callee's body.
using ShouldInline = std::function<bool(const Op& call, const Function& callee)>;
void inline_into(const Module& module, Function& function, const ShouldInline& should_inline);

// Inlines calls between pointwise functions, so that constants reach the bodies of unrolled loops.
void inline_pointwise_chains(const Module& module, Function& function);

// Functions that pick a slice hide what loops do with their stacks: inlines calls of them.
void inline_slices(const Module& module, Function& function);

void simplify_function(const Module& module, Function& function, const NormalizeOptions& options);

// The real number that all elements of a value are, if it is a constant like that or spreads one.
std::optional<double> splat_number(const Value* value);
bool is_positive_zero(const Value* value);

// Floats with signed zeros, subnormal numbers and infinities; narrower ones may lack them.
bool is_ieee_float(DType dtype);

// Erases pure operations without users, and loops, conditionals and calls whose bodies have no
// effect.
void remove_dead_ops(const Module& module, Function& function);

}  // namespace ullage
