// Matrix products, decompositions and Fourier transforms. Convolution has its own file.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ops/products.h"
#include "ops/ragged_dot.h"
#include "ops/rules.h"

namespace ullage::ops {

namespace {

std::string two(const Type& a, const Type& b) {
  return fmt::format("{} and {}", to_string(a), to_string(b));
}

// The result's element type is the program's choice (preferred_element_type); without one it is the
// operands'.
Result<Types> product_type(const OpView& view, std::vector<int64_t> shape) {
  const Type& like = view.declared.size() == 1 && view.declared[0].is_tensor() ? view.declared[0]
                                                                               : view.operands[0];
  const Type& rhs = view.operands[view.kind == OpKind::unary_einsum ? 0 : 1];
  if (!holds_products(view.operands[0], rhs, like))
    return violation(view, 0,
                     fmt::format("products of {} are not rounded to {}; convert what they give",
                                 two(view.operands[0], rhs), to_string(like)));
  return Types{with_shape(like, std::move(shape))};
}

Result<Types> infer_dot_general(const OpView& view) {
  const auto& a = std::get<DotAttributes>(view.attributes);
  const Type& lhs = view.operands[0];
  const Type& rhs = view.operands[1];
  if (!lhs.is_tensor() || !rhs.is_tensor()) return violation(view, 0, "operands must be tensors");
  if (a.lhs_batching.size() != a.rhs_batching.size())
    return violation(view, 1,
                     fmt::format("batching dimensions {} and {}", shape_string(a.lhs_batching),
                                 shape_string(a.rhs_batching)));
  if (a.lhs_contracting.size() != a.rhs_contracting.size())
    return violation(view, 2,
                     fmt::format("contracting dimensions {} and {}",
                                 shape_string(a.lhs_contracting), shape_string(a.rhs_contracting)));
  if (!all_unique(concat(a.lhs_batching, a.lhs_contracting)))
    return violation(view, 3, "dimensions of lhs repeat");
  if (!all_unique(concat(a.rhs_batching, a.rhs_contracting)))
    return violation(view, 4, "dimensions of rhs repeat");
  struct Range {
    const Dims& dims;
    const Type& type;
    int rule;
  } ranges[] = {{a.lhs_batching, lhs, 5},
                {a.lhs_contracting, lhs, 6},
                {a.rhs_batching, rhs, 7},
                {a.rhs_contracting, rhs, 8}};
  for (const Range& r : ranges)
    if (!all_in_range(r.dims, 0, r.type.rank()))
      return violation(view, r.rule,
                       fmt::format("dimensions {} of {}", shape_string(r.dims), to_string(r.type)));
  auto extents_agree = [&](const Dims& l, const Dims& r) {
    for (size_t i = 0; i < l.size(); ++i)
      if (!dims_agree(lhs.shape[static_cast<size_t>(l[i])], rhs.shape[static_cast<size_t>(r[i])]))
        return false;
    return true;
  };
  if (!extents_agree(a.lhs_batching, a.rhs_batching))
    return violation(view, 9, "batching dimensions differ in size: " + two(lhs, rhs));
  if (!extents_agree(a.lhs_contracting, a.rhs_contracting))
    return violation(view, 10, "contracting dimensions differ in size: " + two(lhs, rhs));
  if (!a.precision.empty() && a.precision.size() != 2)
    return violation(view, 11, fmt::format("precision_config has {} entries", a.precision.size()));
  if (a.algorithm) {
    for (Precision p : a.precision)
      if (p != Precision::default_)
        return violation(view, 21, "an algorithm needs default precision");
    if (a.algorithm->lhs_component_count <= 0)
      return violation(view, 22, "lhs_component_count must be positive");
    if (a.algorithm->rhs_component_count <= 0)
      return violation(view, 23, "rhs_component_count must be positive");
    if (a.algorithm->num_primitive_operations <= 0)
      return violation(view, 24, "num_primitive_operations must be positive");
  }
  // (C13) asks for equal element types; exporters do mix them (preferred types, fp8 pairs), and
  // every implementation takes that. Only classes that cannot be multiplied are refused.
  if ((element_class(lhs) & kComplex) != (element_class(rhs) & kComplex))
    return violation(view, 13, "element types cannot be multiplied: " + two(lhs, rhs));
  std::vector<int64_t> shape;
  for (int64_t d : a.lhs_batching) shape.push_back(lhs.shape[static_cast<size_t>(d)]);
  for (int64_t extent : without(lhs.shape, concat(a.lhs_batching, a.lhs_contracting)))
    shape.push_back(extent);
  for (int64_t extent : without(rhs.shape, concat(a.rhs_batching, a.rhs_contracting)))
    shape.push_back(extent);
  return product_type(view, shape);
}

Result<Types> infer_dot(const OpView& view) {
  const Type& lhs = view.operands[0];
  const Type& rhs = view.operands[1];
  bool ranks = lhs.is_tensor() && rhs.is_tensor() && lhs.rank() >= 1 && lhs.rank() <= 2 &&
               rhs.rank() >= 1 && rhs.rank() <= 2;
  if (!ranks) return violation(view, 0, "takes vectors and matrices, found " + two(lhs, rhs));
  if (!dims_agree(lhs.shape.back(), rhs.shape[0]))
    return violation(view, 0, "contracting dimensions differ in size: " + two(lhs, rhs));
  std::vector<int64_t> shape(lhs.shape.begin(), lhs.shape.end() - 1);
  shape.insert(shape.end(), rhs.shape.begin() + 1, rhs.shape.end());
  return product_type(view, shape);
}

// "ab,bc->ac": the extents of the result's letters.
Result<Types> infer_einsum(const OpView& view) {
  std::string config = std::get<EinsumAttributes>(view.attributes).config;
  std::erase(config, ' ');
  size_t arrow = config.find("->");
  if (arrow == std::string::npos) return violation(view, 0, "einsum_config has no '->': " + config);
  if (config.find('.') != std::string::npos)
    return violation(view, 0, "an ellipsis in einsum_config is not supported: " + config);
  std::vector<std::string> inputs;
  std::string rest = config.substr(0, arrow);
  for (size_t comma; (comma = rest.find(',')) != std::string::npos; rest = rest.substr(comma + 1))
    inputs.push_back(rest.substr(0, comma));
  inputs.push_back(rest);
  if (inputs.size() != view.operands.size())
    return violation(view, 0,
                     fmt::format("einsum_config {} for {} operands", config, view.operands.size()));
  std::array<int64_t, 256> extents;
  extents.fill(-1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].size() != view.operands[i].shape.size())
      return violation(view, 0, fmt::format("'{}' for {}", inputs[i], to_string(view.operands[i])));
    for (size_t d = 0; d < inputs[i].size(); ++d) {
      int64_t& extent = extents[static_cast<unsigned char>(inputs[i][d])];
      if (extent >= 0 && !dims_agree(extent, view.operands[i].shape[d]))
        return violation(view, 0, fmt::format("'{}' has two sizes in {}", inputs[i][d], config));
      extent = view.operands[i].shape[d];
    }
  }
  std::vector<int64_t> shape;
  for (char letter : config.substr(arrow + 2)) {
    int64_t extent = extents[static_cast<unsigned char>(letter)];
    if (extent < 0 && extent != kDynamic)
      return violation(view, 0, fmt::format("'{}' has no size in {}", letter, config));
    shape.push_back(extent);
  }
  return product_type(view, shape);
}

Result<Types> infer_cholesky(const OpView& view) {
  const Type& a = view.operands[0];
  if (!a.is_tensor() || !(element_class(a) & (kFloat | kComplex)))
    return violation(view, 0, "does not take operands of type " + to_string(a));
  if (a.rank() < 2) return violation(view, 2, "needs rank 2 or more, found " + to_string(a));
  if (!dims_agree(a.shape[a.shape.size() - 1], a.shape[a.shape.size() - 2]))
    return violation(view, 3, "matrices must be square, found " + to_string(a));
  return Types{a};
}

Result<Types> infer_triangular_solve(const OpView& view) {
  const auto& attributes = std::get<TriangularAttributes>(view.attributes);
  const Type& a = view.operands[0];
  const Type& b = view.operands[1];
  if (!a.is_tensor() || !b.is_tensor() || !same_element(a, b))
    return violation(view, 1, "element types differ: " + two(a, b));
  if (a.rank() < 2 || a.rank() != b.rank())
    return violation(view, 2, "needs equal ranks of 2 or more, found " + two(a, b));
  size_t rank = a.shape.size();
  bool fits = dims_agree(a.shape[rank - 1], a.shape[rank - 2]) &&
              dims_agree(a.shape[rank - 1], b.shape[attributes.left_side ? rank - 2 : rank - 1]);
  for (size_t d = 0; d + 2 < rank; ++d) fits = fits && dims_agree(a.shape[d], b.shape[d]);
  if (!fits) return violation(view, 3, "shapes do not match: " + two(a, b));
  return Types{b};
}

Result<Types> infer_fft(const OpView& view) {
  const auto& a = std::get<FftAttributes>(view.attributes);
  const Type& operand = view.operands[0];
  if (!operand.is_tensor() || a.length.size() > operand.shape.size())
    return violation(
        view, 1, fmt::format("fft_length {} for {}", shape_string(a.length), to_string(operand)));
  bool real = operand.dtype == DType::f32 || operand.dtype == DType::f64;
  if (a.type == FftType::rfft ? !real : !is_complex(operand.dtype))
    return violation(view, 2, "does not take operands of type " + to_string(operand));
  if (a.length.empty() || a.length.size() > 3)
    return violation(view, 3,
                     fmt::format("fft_length {} must have 1 to 3 entries", shape_string(a.length)));
  Type result = operand;
  size_t offset = operand.shape.size() - a.length.size();
  int64_t last = a.length.back();
  for (size_t i = 0; i < a.length.size(); ++i) {
    bool is_last = i + 1 == a.length.size();
    int64_t expected =
        a.type == FftType::irfft && is_last ? (last == 0 ? 0 : last / 2 + 1) : a.length[i];
    if (!dims_agree(operand.shape[offset + i], expected))
      return violation(
          view, a.type == FftType::irfft && is_last ? 5 : 4,
          fmt::format("fft_length {} does not fit {}", shape_string(a.length), to_string(operand)));
  }
  if (a.type == FftType::rfft) {
    result.dtype = operand.dtype == DType::f32 ? DType::c64 : DType::c128;
    result.shape.back() = last == 0 ? 0 : last / 2 + 1;
  } else if (a.type == FftType::irfft) {
    result.dtype = real_part(operand.dtype);
    result.shape.back() = last;
  }
  return Types{result};
}

Result<Types> infer_ragged_dot(const OpView& view) {
  const auto& a = std::get<DotAttributes>(view.attributes);
  const Type &lhs = view.operands[0], &rhs = view.operands[1], &sizes = view.operands[2];
  auto refuse = [&](const std::string& what) { return violation(view, 0, what); };
  if (!lhs.is_tensor() || !rhs.is_tensor() || !sizes.is_tensor())
    return refuse("operands must be tensors");
  if (!(element_class(sizes) & kInteger) || sizes.rank() < 1)
    return refuse("group sizes must be integers, found " + to_string(sizes));
  if ((element_class(lhs) & kComplex) != (element_class(rhs) & kComplex))
    return refuse("element types cannot be multiplied: " + two(lhs, rhs));
  if (a.lhs_batching.size() != a.rhs_batching.size() ||
      a.lhs_contracting.size() != a.rhs_contracting.size())
    return refuse("batching or contracting dimensions differ in number");
  Dims lhs_named = concat(a.lhs_batching, a.lhs_contracting);
  Dims rhs_named = concat(concat(a.rhs_batching, a.rhs_contracting), a.rhs_group);
  if (!all_unique(lhs_named) || !all_unique(rhs_named) || !all_in_range(lhs_named, 0, lhs.rank()) ||
      !all_in_range(rhs_named, 0, rhs.rank()))
    return refuse("dimensions repeat or are out of range: " + two(lhs, rhs));
  for (size_t i = 0; i < lhs_named.size(); ++i)
    if (!dims_agree(lhs.shape[static_cast<size_t>(lhs_named[i])],
                    rhs.shape[static_cast<size_t>(rhs_named[i])]))
      return refuse("batching or contracting dimensions differ in size: " + two(lhs, rhs));
  if (a.lhs_ragged.size() != 1 || !all_in_range(a.lhs_ragged, 0, lhs.rank()))
    return refuse(
        fmt::format("needs one ragged dimension of lhs, found {}", shape_string(a.lhs_ragged)));
  const RaggedDot ragged = ragged_dot(a, lhs.rank());
  const bool by_group = ragged.mode == RaggedDot::Mode::noncontracting;
  if (a.rhs_group.size() != (by_group ? 1 : 0))
    return refuse(
        fmt::format("the right operand has group dimensions {}", shape_string(a.rhs_group)));
  const int64_t groups = sizes.shape.back();
  if (by_group && !dims_agree(rhs.shape[static_cast<size_t>(a.rhs_group[0])], groups))
    return refuse(fmt::format("sizes of {} groups for {}", groups, to_string(rhs)));
  std::vector<int64_t> expected;
  for (int64_t d : ragged.prefix) expected.push_back(lhs.shape[static_cast<size_t>(d)]);
  expected.push_back(groups);
  if (sizes.rank() != 1 && !compatible_shapes(sizes.shape, expected))
    return refuse(fmt::format("group sizes must have shape {}, found {}", shape_string(expected),
                              to_string(sizes)));
  std::vector<int64_t> shape;
  if (ragged.mode == RaggedDot::Mode::contracting) shape.push_back(groups);
  for (int64_t d : a.lhs_batching) shape.push_back(lhs.shape[static_cast<size_t>(d)]);
  for (int64_t extent : without(lhs.shape, lhs_named)) shape.push_back(extent);
  for (int64_t extent : without(rhs.shape, rhs_named)) shape.push_back(extent);
  return product_type(view, shape);
}

}  // namespace

void add_linalg_rules(RuleTable& table) {
  constexpr size_t kDot = attribute_index<DotAttributes>();
  constexpr size_t kEinsum = attribute_index<EinsumAttributes>();
  constexpr size_t kTriangular = attribute_index<TriangularAttributes>();
  row(table, OpKind::dot_general) = {infer_dot_general, kDot, 0, "(C12)"};
  row(table, OpKind::dot) = {infer_dot, kDot, 0, ""};
  row(table, OpKind::einsum) = {infer_einsum, kEinsum, 0, ""};
  row(table, OpKind::unary_einsum) = {infer_einsum, kEinsum, 0, ""};
  row(table, OpKind::cholesky) = {infer_cholesky, kTriangular, 0, "(C1)"};
  row(table, OpKind::triangular_solve) = {infer_triangular_solve, kTriangular, 0, "(C4)"};
  row(table, OpKind::fft) = {infer_fft, attribute_index<FftAttributes>(), 0, "(C5)"};
  row(table, OpKind::chlo_ragged_dot) = {infer_ragged_dot, kDot, 0, ""};
}

}  // namespace ullage::ops
