// The registry of operations: for each kind what attributes and regions it has, how its result
// types are inferred and what is left to verify. Private to ops/. Each family's file fills the rows
// of its operations; rows left empty are operations that Ullage does not know how to check, and
// those are refused.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "ops/infer.h"

namespace ullage::ops {

using Types = std::vector<Type>;
using InferFunction = Result<Types> (*)(const OpView&);
// What needs the module or the operation itself, e.g. the signature of a callee.
using VerifyFunction = Status (*)(const Op&, const Module&);

struct OpRules {
  InferFunction infer = nullptr;
  size_t attributes = 0;              // index of the struct in the Attributes variant
  int regions = 0;                    // -1: any number
  std::string_view result_rule = "";  // constraint broken when the declared types differ: "(C12)"
  VerifyFunction verify = nullptr;    // may be null
};

#define ULLAGE_OP(kind, mnemonic, family, operands, results, traits) +1
inline constexpr size_t kRowCount = 0
#include "ir/ops.def"
    ;

using RuleTable = std::array<OpRules, kRowCount>;
const OpRules& rules(OpKind kind);

void add_elementwise_rules(RuleTable& table);
void add_chlo_rules(RuleTable& table);
void add_movement_rules(RuleTable& table);
void add_gather_scatter_rules(RuleTable& table);
void add_dynamic_rules(RuleTable& table);
void add_reduction_rules(RuleTable& table);
void add_linalg_rules(RuleTable& table);
void add_convolution_rules(RuleTable& table);
void add_normalization_rules(RuleTable& table);
void add_random_rules(RuleTable& table);
void add_control_rules(RuleTable& table);
void add_collective_rules(RuleTable& table);
void add_check_rules(RuleTable& table);

template <typename T, size_t I = 0>
constexpr size_t attribute_index() {
  if constexpr (std::is_same_v<std::variant_alternative_t<I, Attributes>, T>)
    return I;
  else
    return attribute_index<T, I + 1>();
}

inline OpRules& row(RuleTable& table, OpKind kind) {
  return table[static_cast<size_t>(kind)];
}

// "stablehlo.add (C1): <what>". Constraint 0 is a rule outside the specification's numbering.
Diagnostic violation(const OpView& view, int constraint, const std::string& what);

// Element classes, for the tables of which types an operation takes.
enum : unsigned { kBool = 1, kSigned = 2, kUnsigned = 4, kFloat = 8, kComplex = 16 };
inline constexpr unsigned kInteger = kSigned | kUnsigned;
inline constexpr unsigned kAnyElement = kBool | kInteger | kFloat | kComplex;
unsigned element_class(const Type& type);  // quantized counts as floating

bool same_element(const Type& a,
                  const Type& b);  // equal dtype, or quantized with equal expressed types
std::string shape_string(const std::vector<int64_t>& shape);  // "[2, ?, 3]"
bool all_unique(const Dims& dims);
bool all_sorted(const Dims& dims);
bool all_in_range(const Dims& dims, int64_t low, int64_t high);  // low <= d < high
bool contains(const Dims& dims, int64_t value);
Dims without(const std::vector<int64_t>& shape,
             const Dims& removed);  // extents at positions not removed
Dims concat(Dims a, const Dims& b);
bool dims_agree(int64_t a, int64_t b);                          // equal, or one is dynamic
Type with_shape(const Type& like, std::vector<int64_t> shape);  // like's element type
Type scalar_of(const Type& like);

// Requires `region` to be (arguments...) -> (results...) up to promotion of element types; what the
// rule says is in the message. No region: fine.
struct Signature {
  Types arguments, results;
};
Signature signature(const Region& region);

}  // namespace ullage::ops
