// An attribute as it was read, before it is known whose it is: a small tree with positions.
// describe.h turns the dictionary of an operation into its typed struct; whatever no struct wants
// is kept as text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/attributes.h"
#include "syntax/lexer.h"

namespace ullage::syntax {

struct AttrEntry;

struct FunctionType {
  std::vector<Type> inputs, results;
};

struct AttrValue {
  enum class Kind : uint8_t {
    unit,     // a name alone
    boolean,  // integer is 0 or 1
    integer,  // 3, 3 : i64
    floating,
    string,   // text, without quotes
    symbol,   // text, without '@'
    keyword,  // #stablehlo<precision DEFAULT>: word "precision", text "DEFAULT"; a bare DEFAULT has
              // no word
    integers,     // [0, 1] and array<i64: 0, 1>
    array,        // [a, b] of anything else
    dictionary,   // {a = b}
    structure,    // #stablehlo.gather<a = b>: word "stablehlo.gather"
    literal,      // dense<...> : type
    convolution,  // #stablehlo.conv<...>
    type,
    opaque,  // any other dialect attribute, known only by its text in the source
  };

  Kind kind = Kind::unit;
  Position at;
  size_t begin = 0, end = 0;  // in the source
  int64_t integer = 0;
  double floating = 0;
  std::string word, text;
  Dims integers;
  std::vector<AttrValue> elements;
  std::vector<AttrEntry> entries;
  std::shared_ptr<const Literal> literal;
  std::shared_ptr<const ConvolutionDimensionNumbers> convolution;
  std::shared_ptr<const FunctionType> types;  // of a function type
};

struct AttrEntry {
  std::string name;
  Position at;
  AttrValue value;
  bool used = false;
};

using AttrDict = std::vector<AttrEntry>;

std::string_view kind_name(AttrValue::Kind kind);  // "an integer", for messages

}  // namespace ullage::syntax
