// What is known of each kind of operation without looking at an instance: generated from ops.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ullage {

enum class OpKind : uint16_t {
#define ULLAGE_OP(kind, mnemonic, family, operands, results, traits) kind,
#include "ir/ops.def"
};

enum class OpFamily : uint8_t {
  elementwise,
  chlo,
  movement,
  dynamic,
  reduction,
  linalg,
  normalization,
  random,
  control,
  collective,
  sharding,
  check,
};

enum OpTrait : uint32_t {
  kPure = 1u << 0,         // no side effects: may be dropped when unused, and computed again
  kElementwise = 1u << 1,  // result element i depends on operand elements i only (scalars where the
                           // op allows them)
  kCommutative = 1u << 2,
  kIndexing = 1u << 3,  // moves elements by an index map that depends on shapes and attributes (and
                        // scalar offsets)
  kTerminator = 1u << 4,  // ends a region
};

struct OpInfo {
  std::string_view name;      // enum name
  std::string_view mnemonic;  // "stablehlo.add"
  OpFamily family;
  int operands;  // -1: any number
  int results;
  uint32_t traits;
};

extern const int kOpKindCount;
const OpInfo& info(OpKind kind);
std::optional<OpKind> op_from_mnemonic(std::string_view mnemonic);
inline bool has_trait(OpKind kind, OpTrait trait) {
  return (info(kind).traits & trait) != 0;
}

}  // namespace ullage
