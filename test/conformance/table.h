// The conformance table: one row for each form of each operation. A row is a program with a
// placeholder for the element type; with the type filled in it is a case, if it is legal then.
// Elementwise operations have generated rows. What runs the cases is in run.h; the page
// docs/reference/operations.md is printed from them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op_info.h"
#include "ir/type.h"

namespace ullage::conformance {

struct Row {
  OpKind kind;
  std::string form;  // "rank 8", "empty"
  // Placeholders: {E} the element type, {R} its real part, {Z} zero, {O} one.
  std::string signature;  // "(%x: tensor<3x{E}>) -> tensor<3x{E}>"
  std::string body;
  std::string returned;  // "%r"
  std::string beside;    // further functions; may be empty
};

// All rows, by operation in the order of ops.def.
const std::vector<Row>& rows();

std::string program_text(const Row& row, DType dtype);
std::string spelled(DType dtype);

// Operations without a row of their own, and why.
struct Exempt {
  OpKind kind;
  std::string_view why;
};
std::span<const Exempt> exempt();

}  // namespace ullage::conformance
