// The verifier: is this module legal StableHLO (and is the IR itself sound)? Checked: operand,
// result and region counts of ops.def, the kind of attributes, every numbered constraint of the
// specification that does not need a run, terminators, definitions before uses and only visible
// values used, signatures of calls and of functions, unique function names. Reports every broken
// operation of a module, up to a limit, each with its place in the user's file. Called after
// reading and, in tests and with --verify, after each pass.
#pragma once

#include "ir/ir.h"
#include "support/diagnostics.h"

namespace ullage {

Status verify(const Module& module);
// One operation alone, without its nested operations and without looking at the module's other
// functions.
Status verify(const Op& op);

}  // namespace ullage
