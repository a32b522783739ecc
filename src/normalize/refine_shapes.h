// Programs whose dimensions are known only when they run, as exporters of shape-polymorphic
// functions write them, become static ones for given arguments. Called before planning, by whoever
// has the arguments.
#pragma once

#include <optional>
#include <span>

#include "ir/ir.h"
#include "support/diagnostics.h"

namespace ullage {

// An argument as far as shapes may depend on it: its type, and the value of an integer scalar.
struct KnownArgument {
  Type type;
  std::optional<Literal> value;
};

bool has_dynamic_shapes(const Module& module);

// Gives the entry function's arguments these types and follows them through the program: calls are
// inlined, arithmetic on dimensions is folded, operations that take a shape as an operand become
// those that have it as an attribute, and assertions about shapes are checked. What stays unknown
// is refused with its operation and line. Other functions than the entry are left as they are.
Status refine_shapes(Module& module, std::span<const KnownArgument> arguments);

}  // namespace ullage
