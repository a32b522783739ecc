// The reference interpreter: runs a program one operation at a time, written from the StableHLO
// specification and sharing nothing with the compiled path, so that it can judge it. Clear first,
// quick second. What the specification leaves open is fixed here:
//   - Every operation is rounded once to its element type. Elementwise operations on f32 and
//   narrower are computed in
//     double, transcendental functions of f64 in long double.
//   - dot_general and convolution accumulate in index order and round once to the result type: in
//   f32 (c64) up to 64
//     products, in f64 (c128) beyond that or when an operand or the result is that wide. Integers
//     wrap.
//   - reduce and reduce_window fold in row-major index order, starting with the init value,
//   rounding to the element type
//     after every application of the body.
//   - Integer division by zero gives -1 (all ones), remainder by zero the dividend; shifts by the
//   width or more shift
//     everything out; conversions from float to integer saturate and turn NaN into 0.
//   - rng_bit_generator: DEFAULT is PHILOX as XLA:CPU lays it out; THREE_FRY is XLA's
//   threefry2x32-20.
//   - interpreter.run_parallel, of StableHLO's own tests, runs several processes, which meet at
//     collective operations; other programs are the only process of theirs. all_reduce and
//     reduce_scatter combine in the order of the group.
//   - expect_close given as a custom call allows 3 ULP, expect_almost_eq 1e-3.
// Programs must be verified (ops/verify.h) before they are interpreted.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "interp/tensor.h"
#include "ir/ir.h"
#include "support/diagnostics.h"

namespace ullage {

// What the check.* operations of a run found.
struct CheckReport {
  int64_t passed = 0;
  std::vector<Diagnostic> failures;
};

struct InterpretOptions {
  CheckReport* checks =
      nullptr;  // given: failed checks are noted here and the run goes on; else they are errors
  int max_call_depth = 256;
  int64_t max_operations = 0;  // executed operations after which to give up; 0: no limit
};

// Calls a function of the module. Inputs must match its argument types; results have concrete
// shapes.
Result<std::vector<Tensor>> interpret(const Module& module, std::string_view function,
                                      std::vector<Tensor> inputs, InterpretOptions options = {});

// Computes the results of one operation from its operands: constant folding. Operations that call
// functions, have side effects or contain loops and branches are refused.
Result<std::vector<Tensor>> evaluate(const Op& op, std::span<const Tensor> operands);
bool can_evaluate(OpKind kind);  // whether evaluate() supports the operation for some element type

}  // namespace ullage
