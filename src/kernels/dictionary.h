// Dictionaries of attributes as programs write them, `{index = 5 : ui64, name = "x"}`: what a call
// of a handler outside the program hands over beside its operands.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/type.h"

namespace ullage {

struct DictionaryValue {
  enum class Kind : uint8_t { scalar, array, text, dictionary };

  std::string name;
  Kind kind = Kind::scalar;
  DType dtype = DType::i64;      // of a scalar or of an array's elements
  int64_t elements = 1;          // of an array
  std::vector<std::byte> bytes;  // of a scalar or an array, or a text's characters
  std::vector<DictionaryValue> dictionary;
};

// In order of names. Nothing if the text is no dictionary of numbers, texts, arrays of one
// dimension and dictionaries.
std::optional<std::vector<DictionaryValue>> parse_dictionary(std::string_view text);

// The named number; nothing if there is none.
std::optional<int64_t> integer_in(const std::vector<DictionaryValue>& dictionary,
                                  std::string_view name);

}  // namespace ullage
