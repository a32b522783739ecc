// What both readers, of text and of bytecode, check of a program's structure before they hand it
// out: numbers of operands, results and regions, terminators, calls, the results of functions. Each
// check gives its message and leaves the place to the reader. The constraints of single operations
// (shapes, element types) are the verifier's business (ops/verify.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/ir.h"

namespace ullage::syntax {

// "1 operand", "2 operands".
std::string counted(size_t count, std::string_view noun);

// Messages; empty when the number is right.
std::string wrong_operand_count(OpKind kind, size_t count);
std::string wrong_result_count(OpKind kind, size_t count);
std::string wrong_region_count(OpKind kind, size_t count);

// The operation that ends the regions of an operation of this kind.
OpKind terminator_of(OpKind parent);

// Whether operations of this kind name functions.
inline bool refers_to_functions(OpKind kind) {
  return kind == OpKind::call || kind == OpKind::composite || kind == OpKind::custom_call;
}

// The first of `calls` that names a function that does not exist, or disagrees with its signature.
struct WrongCall {
  size_t call = 0;  // its index
  std::string message;
  const Function* callee = nullptr;  // null when there is no such function
};
std::optional<WrongCall> find_wrong_call(const Module& module, std::span<Op* const> calls);

// Whether what the terminator returns agrees with the signature; empty when it does.
std::string wrong_returned_values(const Function& function);

}  // namespace ullage::syntax
