#include "ops/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ullage {

namespace ops {

static RuleTable build_table() {
  RuleTable table;
  add_elementwise_rules(table);
  add_chlo_rules(table);
  add_movement_rules(table);
  add_gather_scatter_rules(table);
  add_dynamic_rules(table);
  add_reduction_rules(table);
  add_linalg_rules(table);
  add_convolution_rules(table);
  add_normalization_rules(table);
  add_random_rules(table);
  add_control_rules(table);
  add_collective_rules(table);
  add_check_rules(table);
  return table;
}

const OpRules& rules(OpKind kind) {
  static const RuleTable table = build_table();
  return table[static_cast<size_t>(kind)];
}

Diagnostic violation(const OpView& view, int constraint, const std::string& what) {
  std::string_view mnemonic = info(view.kind).mnemonic;
  if (constraint == 0) return error(fmt::format("{}: {}", mnemonic, what));
  return error(fmt::format("{} (C{}): {}", mnemonic, constraint, what));
}

unsigned element_class(const Type& type) {
  if (type.quantized) return kFloat;
  if (type.dtype == DType::i1) return kBool;
  if (is_signed_int(type.dtype)) return kSigned;
  if (is_unsigned_int(type.dtype)) return kUnsigned;
  return is_float(type.dtype) ? kFloat : kComplex;
}

static DType expressed(const Type& type) {
  return type.quantized ? type.quantized->expressed : type.dtype;
}

bool same_element(const Type& a, const Type& b) {
  return expressed(a) == expressed(b) && (!a.quantized || !b.quantized || a.dtype == b.dtype);
}

std::string shape_string(const std::vector<int64_t>& shape) {
  std::vector<std::string> parts;
  for (int64_t extent : shape) parts.push_back(extent == kDynamic ? "?" : std::to_string(extent));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

bool all_unique(const Dims& dims) {
  Dims copy = dims;
  std::sort(copy.begin(), copy.end());
  return std::adjacent_find(copy.begin(), copy.end()) == copy.end();
}

bool all_sorted(const Dims& dims) {
  return std::is_sorted(dims.begin(), dims.end());
}

bool all_in_range(const Dims& dims, int64_t low, int64_t high) {
  return std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return low <= d && d < high; });
}

bool contains(const Dims& dims, int64_t value) {
  return std::find(dims.begin(), dims.end(), value) != dims.end();
}

Dims without(const std::vector<int64_t>& shape, const Dims& removed) {
  Dims out;
  for (size_t i = 0; i < shape.size(); ++i)
    if (!contains(removed, static_cast<int64_t>(i))) out.push_back(shape[i]);
  return out;
}

Dims concat(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

bool dims_agree(int64_t a, int64_t b) {
  return a == b || a == kDynamic || b == kDynamic;
}

Type with_shape(const Type& like, std::vector<int64_t> shape) {
  Type type = like;
  type.shape = std::move(shape);
  type.bounds.clear();
  return type;
}

Type scalar_of(const Type& like) {
  return with_shape(like, {});
}

Signature signature(const Region& region) {
  Signature out;
  for (const Value* argument : region.arguments()) out.arguments.push_back(argument->type);
  if (const Op* terminator = region.terminator())
    for (const Value* operand : terminator->operands()) out.results.push_back(operand->type);
  return out;
}

}  // namespace ops

bool compatible_shapes(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), ops::dims_agree);
}

bool compatible(const Type& a, const Type& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Type::Kind::token) return true;
  if (a.kind == Type::Kind::tuple)
    return a.elements.size() == b.elements.size() &&
           std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), compatible);
  return ops::same_element(a, b) && compatible_shapes(a.shape, b.shape);
}

int64_t num_windows(const WindowDimension& d) {
  if (d.size == kDynamic || d.window == kDynamic) return kDynamic;
  int64_t dilated = d.size == 0 ? 0 : (d.size - 1) * d.base_dilation + 1;
  int64_t padded = d.low + dilated + d.high;
  int64_t window = d.window == 0 ? 0 : (d.window - 1) * d.window_dilation + 1;
  if (padded <= 0 || window > padded) return 0;
  return (padded - window) / d.stride + 1;
}

Result<std::vector<Type>> infer_types(const OpView& view) {
  const ops::OpRules& rules = ops::rules(view.kind);
  const OpInfo& op = info(view.kind);
  if (!rules.infer) return ops::violation(view, 0, "no inference rule for this operation");
  if (op.operands >= 0 && view.operands.size() != static_cast<size_t>(op.operands))
    return ops::violation(
        view, 0, fmt::format("takes {} operands, found {}", op.operands, view.operands.size()));
  if (view.attributes.index() != rules.attributes)
    return ops::violation(view, 0, "has attributes of another operation");
  for (const Region* region : view.regions)
    if (!region->terminator())
      return ops::violation(view, 0, "has a region that does not end in a terminator");
  if (!view.regions.empty() && rules.regions >= 0 &&
      view.regions.size() != static_cast<size_t>(rules.regions))
    return ops::violation(
        view, 0, fmt::format("has {} regions, expected {}", view.regions.size(), rules.regions));
  return rules.infer(view);
}

Result<std::vector<Type>> infer_types(OpKind kind, std::span<const Type> operands,
                                      const Attributes& attributes, std::span<const Type> declared,
                                      std::span<const Region* const> regions) {
  return infer_types(OpView{kind, operands, attributes, declared, regions});
}

}  // namespace ullage
