// The container of MLIR bytecode, before anything inside is understood: sections, strings, names of
// dialects and operations, where every attribute, type and property lies. Views point into the
// file.
#pragma once

#include <string_view>
#include <vector>

#include "syntax/bytecode_cursor.h"

namespace ullage::syntax {

enum class Dialect : uint8_t { builtin, vhlo, sdy, stablehlo, other };

struct ByteRange {
  size_t begin = 0, end = 0;
};

struct BytecodeContainer {
  struct DialectName {
    Dialect dialect = Dialect::other;
    std::string_view name;
  };
  struct OpName {
    uint32_t dialect = 0;
    std::string_view name;  // without the dialect
    size_t at = 0;          // where it is declared
  };
  // One attribute or type. Those that are not custom are written as assembly text.
  struct Entry {
    size_t begin = 0;
    uint32_t size = 0;
    Dialect dialect = Dialect::other;
    bool custom = false;
  };

  std::string_view producer;
  std::vector<std::string_view> strings;
  std::vector<DialectName> dialects;
  std::vector<OpName> ops;
  std::vector<Entry> attributes, types;
  std::vector<ByteRange> properties;
  ByteRange ir;
};

// What is wrong goes into `failure`.
BytecodeContainer read_container(std::string_view file, BytecodeFailure& failure);

// A section's content: identifier, length and padding are taken from `cursor`.
struct Section {
  uint8_t id = 0;
  ByteRange content;
};
Section read_section(Cursor& cursor);
inline constexpr uint8_t kIrSection = 4;

}  // namespace ullage::syntax
