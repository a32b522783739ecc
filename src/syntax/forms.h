// The pretty forms that operations share, as data read by both the parser and the writer. A form is
// a short pattern for what stands between the mnemonic and the attribute dictionary, and the way
// types are written after the colon.
//
//   %          one operand              %*         all remaining operands, separated by commas
//   [name]     a list of integers       <name>     an integer, boolean or string attribute
//   {name}     a bare keyword           anything else stands for itself
#pragma once

#include <string_view>

#include "ir/op_info.h"

namespace ullage::syntax {

enum class TypesForm : uint8_t {
  none,      // no types at all
  same,      // : T for operands and result alike, or the function form
  function,  // : (T, T) -> T
  result,    // : T of the result, or of each result, separated by commas
  operands,  // : T, T of the operands; no results
  pairwise,  // : T, T of operands and results alike
  arrow,     // : T, T -> T, as in CHLO
  select,    // : T of the predicate, T of everything else, or the function form
  complex,   // : T of the complex result, or the function form
  tuple,     // : tuple<T, T> of the result, whose elements are the operands' types
};

struct Form {
  OpKind kind;
  std::string_view pattern;
  TypesForm types;
};

// The shared form of this operation; null when its form is written in code or it has only the
// generic form.
const Form* find_form(OpKind kind);

// One piece of a pattern; `text` is the attribute's name, or the literal text.
struct FormPiece {
  enum class Kind : uint8_t { operand, operands, integers, scalar, keyword, literal } kind;
  std::string_view text;
};
// Takes the next piece off the front of a pattern.
FormPiece next_piece(std::string_view& pattern);

}  // namespace ullage::syntax
