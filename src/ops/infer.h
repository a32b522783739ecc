// Type inference: the result types of an operation from its operand types, attributes and regions,
// checked against the constraints of the StableHLO specification on the way. Diagnostics carry the
// specification's constraint number, e.g. "stablehlo.dot_general (C12): ...", and no place: whoever
// owns the operation adds it. Dimensions that are not known statically agree with any extent.
// Called by builders, by passes that create operations, by the verifier and by the interpreter
// (with the concrete shapes of a run).
#pragma once

#include <span>
#include <vector>

#include "ir/attributes.h"
#include "ir/ir.h"
#include "ir/op_info.h"
#include "support/diagnostics.h"

namespace ullage {

// An operation, or one that is about to be created.
struct OpView {
  OpKind kind;
  std::span<const Type> operands;
  const Attributes& attributes;
  // Result types as written. Operations whose results do not follow from the rest (constant apart:
  // iota, convert, broadcast_in_dim, reshape, custom_call, ...) need them; for all others they are
  // ignored here.
  std::span<const Type> declared = {};
  std::span<const Region* const> regions =
      {};  // may be empty: then constraints on regions are not checked
};

Result<std::vector<Type>> infer_types(const OpView& view);
Result<std::vector<Type>> infer_types(OpKind kind, std::span<const Type> operands,
                                      const Attributes& attributes,
                                      std::span<const Type> declared = {},
                                      std::span<const Region* const> regions = {});

// True when the two agree wherever both are known: dynamic dimensions agree with any extent and
// quantized elements with those of the same storage and expressed type.
bool compatible(const Type& a, const Type& b);
bool compatible_shapes(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

// Extents of a windowed dimension: convolution, reduce_window, select_and_scatter.
struct WindowDimension {
  int64_t size = 0, window = 0, stride = 1, low = 0, high = 0, base_dilation = 1,
          window_dilation = 1;
};
int64_t num_windows(const WindowDimension& dimension);  // kDynamic if size is

}  // namespace ullage
