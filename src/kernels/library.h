// Operations that are no loop nest and that code generation has whole kernels for: what they are
// called, why a particular one is refused, the scratch it needs and what it costs. A table, so that
// building kernels and planning them need no code generator. Read by kernels/build.cpp and
// kernels/finish.cpp; the kernels themselves are codegen/cpu/library_*.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel_graph.h"

namespace ullage {

struct LibraryOperation {
  std::string_view name;  // of the kernel: "sort"
  // Why this operation is not computed; empty if it is. Types have been verified.
  std::string (*refusal)(const Op& op) = nullptr;
  // While the kernel runs on a pool of `threads`, shared out by shape. Null where it depends on the
  // machine: then the Target says it.
  int64_t (*scratch_bytes)(const LibraryKernel& kernel, int threads) = nullptr;
  // Elementary operations, in the currency of Kernel::flops.
  double (*operations)(const LibraryKernel& kernel) = nullptr;
  // Operands whose results may take their memory, result i that of operand i; null: none.
  std::vector<int32_t> (*in_place)(const LibraryKernel& kernel) = nullptr;
  // Whether a result that nobody reads is not written: it has no memory. Null: all are.
  bool (*leaves_out)(const Op& op, size_t result) = nullptr;
  bool is_product = false;  // they are multiply-adds at the rate of matrix products
};

// The row of an operation; null when it has no library kernel.
const LibraryOperation* library_operation(const Op& op);

}  // namespace ullage
