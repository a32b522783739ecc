// Writes modules and functions as StableHLO text, in the forms that StableHLO's own tools print and
// read. The text is a pure function of the program: equal programs with equal names give equal
// texts, and reading a text back gives an equal program. Names of values are kept where they are
// unique. Called by dumps, by `ullage opt` and by tests.
#pragma once

#include <cstdint>
#include <string>

#include "ir/ir.h"

namespace ullage {

struct WriteOptions {
  bool locations =
      false;  // print loc(...) after operations and arguments, and the table at the end
  int64_t list_elements = 16;  // constants of more elements are printed as hexadecimal bytes
  // Constants of more elements are left out, for texts that people read; such a text cannot be read
  // back. Negative: none.
  int64_t elide_elements = -1;
};

std::string write_text(const Module& module, const WriteOptions& options = {});
std::string write_text(const Function& function, const WriteOptions& options = {});

// One constant as it stands in the text: dense<...> : type.
std::string write_text(const Literal& literal, const WriteOptions& options = {});

}  // namespace ullage
