// Elementwise operations. Their constraints come down to a table: which element types are taken,
// what the result's element type is, and under which number the specification says that all types
// agree.
#include <fmt/format.h>

#include <array>

#include "ops/rules.h"

namespace ullage::ops {

namespace {

enum class ResultElement : uint8_t { same, boolean, real };

struct Row {
  OpKind kind;
  unsigned classes;  // element classes taken
  ResultElement result = ResultElement::same;
  int constraint = 1;
};

constexpr unsigned kFloating = kFloat | kComplex;
constexpr unsigned kBits = kBool | kInteger;
constexpr unsigned kNumbers = kInteger | kFloating;

constexpr Row kRows[] = {
    {OpKind::abs, kSigned | kFloating, ResultElement::real, 2},
    {OpKind::cbrt, kFloating},
    {OpKind::ceil, kFloat},
    {OpKind::cosine, kFloating},
    {OpKind::count_leading_zeros, kInteger},
    {OpKind::exponential, kFloating},
    {OpKind::exponential_minus_one, kFloating},
    {OpKind::floor, kFloat},
    {OpKind::imag, kFloating, ResultElement::real, 2},
    {OpKind::is_finite, kFloat, ResultElement::boolean},
    {OpKind::log, kFloating},
    {OpKind::log_plus_one, kFloating},
    {OpKind::logistic, kFloating},
    {OpKind::negate, kNumbers},
    {OpKind::not_, kBits},
    {OpKind::popcnt, kInteger},
    {OpKind::real, kFloating, ResultElement::real, 2},
    {OpKind::reduce_precision, kFloat},
    {OpKind::round_nearest_afz, kFloat},
    {OpKind::round_nearest_even, kFloat},
    {OpKind::rsqrt, kFloating},
    {OpKind::sign, kSigned | kFloating},
    {OpKind::sine, kFloating},
    {OpKind::sqrt, kFloating},
    {OpKind::tan, kFloating},
    {OpKind::tanh, kFloating},
    {OpKind::add, kAnyElement},
    {OpKind::and_, kBits},
    {OpKind::atan2, kFloating},
    {OpKind::divide, kNumbers},
    {OpKind::maximum, kAnyElement},
    {OpKind::minimum, kAnyElement},
    {OpKind::multiply, kAnyElement},
    {OpKind::or_, kBits},
    {OpKind::power, kNumbers},
    {OpKind::remainder, kNumbers},
    {OpKind::shift_left, kInteger},
    {OpKind::shift_right_arithmetic, kInteger},
    {OpKind::shift_right_logical, kInteger},
    {OpKind::subtract, kNumbers},
    {OpKind::xor_, kBits},
};

constexpr Row kChloRows[] = {
    {OpKind::chlo_acos, kFloating},
    {OpKind::chlo_acosh, kFloating},
    {OpKind::chlo_asin, kFloating},
    {OpKind::chlo_asinh, kFloating},
    {OpKind::chlo_atan, kFloating},
    {OpKind::chlo_atanh, kFloating},
    {OpKind::chlo_bessel_i1e, kFloat},
    {OpKind::chlo_conj, kAnyElement},
    {OpKind::chlo_cosh, kFloating},
    {OpKind::chlo_digamma, kFloat},
    {OpKind::chlo_erf, kFloat},
    {OpKind::chlo_erf_inv, kFloat},
    {OpKind::chlo_erfc, kFloat},
    {OpKind::chlo_is_inf, kFloat, ResultElement::boolean},
    {OpKind::chlo_is_neg_inf, kFloat, ResultElement::boolean},
    {OpKind::chlo_is_pos_inf, kFloat, ResultElement::boolean},
    {OpKind::chlo_lgamma, kFloat},
    {OpKind::chlo_next_after, kFloat},
    {OpKind::chlo_polygamma, kFloat},
    {OpKind::chlo_sinh, kFloating},
    {OpKind::chlo_square, kNumbers},
    {OpKind::chlo_tan, kFloating},
    {OpKind::chlo_zeta, kFloat},
};

using RowIndex = std::array<const Row*, kRowCount>;

RowIndex index_rows() {
  RowIndex index{};
  for (const Row& row : kRows) index[static_cast<size_t>(row.kind)] = &row;
  for (const Row& row : kChloRows) index[static_cast<size_t>(row.kind)] = &row;
  return index;
}

Type with_dtype(Type type, DType dtype) {
  type.dtype = dtype;
  type.quantized = nullptr;
  return type;
}

// Where one operand knows an extent and another does not, the result knows it.
Types merged(const OpView& view, Type result) {
  for (const Type& operand : view.operands)
    for (size_t d = 0; d < result.shape.size() && d < operand.shape.size(); ++d)
      if (result.shape[d] == kDynamic) result.shape[d] = operand.shape[d];
  // The scale of a quantized result is the program's choice, not a consequence of the operands'.
  if (view.declared.size() == 1 && (result.quantized || view.declared[0].quantized) &&
      same_element(result, view.declared[0]))
    result = with_shape(view.declared[0], result.shape);
  return {result};
}

std::string mismatch(std::string_view what, const Type& a, const Type& b) {
  return fmt::format("{}: found {} and {}", what, to_string(a), to_string(b));
}

Result<Types> infer_row(const OpView& view) {
  static const RowIndex index = index_rows();
  const Row& row = *index[static_cast<size_t>(view.kind)];
  for (const Type& operand : view.operands) {
    if (!operand.is_tensor() || !(element_class(operand) & row.classes))
      return violation(view, 0,
                       fmt::format("does not take operands of type {}", to_string(operand)));
    if (!compatible(operand, view.operands[0]))
      return violation(view, 1,
                       mismatch("operands must have the same type", view.operands[0], operand));
  }
  Type result = view.operands[0];
  if (row.result == ResultElement::boolean) result = with_dtype(result, DType::i1);
  if (row.result == ResultElement::real && is_complex(result.dtype))
    result = with_dtype(result, real_part(result.dtype));
  return merged(view, result);
}

Result<Types> infer_reduce_precision(const OpView& view) {
  const auto& attributes = std::get<ReducePrecisionAttributes>(view.attributes);
  if (attributes.exponent_bits < 1)
    return violation(view, 2, fmt::format("exponent_bits is {}", attributes.exponent_bits));
  if (attributes.mantissa_bits < 0)
    return violation(view, 3, fmt::format("mantissa_bits is {}", attributes.mantissa_bits));
  return infer_row(view);
}

// Operations whose element type is declared, not implied: convert, uniform_quantize,
// uniform_dequantize.
Result<Types> infer_converted(const OpView& view) {
  const Type& operand = view.operands[0];
  if (!operand.is_tensor()) return violation(view, 1, "the operand must be a tensor");
  if (view.kind == OpKind::uniform_dequantize) {
    if (!operand.quantized)
      return violation(view, 2, "the operand must be quantized, found " + to_string(operand));
    return Types{with_dtype(operand, operand.quantized->expressed)};
  }
  if (view.declared.size() != 1 || !view.declared[0].is_tensor())
    return violation(view, 1, "the result type must be given");
  const Type& declared = view.declared[0];
  if (view.kind == OpKind::uniform_quantize) {
    DType expressed = operand.quantized ? operand.quantized->expressed : operand.dtype;
    if (!declared.quantized || declared.quantized->expressed != expressed)
      return violation(view, 2,
                       mismatch("the result must express the operand's type", operand, declared));
  }
  if (!compatible_shapes(operand.shape, declared.shape))
    return violation(view, 1,
                     mismatch("operand and result must have the same shape", operand, declared));
  Type result = with_shape(declared, operand.shape);
  for (size_t d = 0; d < result.shape.size(); ++d)
    if (result.shape[d] == kDynamic) result.shape[d] = declared.shape[d];
  return Types{result};
}

Result<Types> infer_compare(const OpView& view) {
  const auto& attributes = std::get<CompareAttributes>(view.attributes);
  const Type& lhs = view.operands[0];
  const Type& rhs = view.operands[1];
  if (!lhs.is_tensor() || !rhs.is_tensor()) return violation(view, 1, "operands must be tensors");
  if (!same_element(lhs, rhs))
    return violation(view, 1, mismatch("operands must have the same element type", lhs, rhs));
  if (!compatible_shapes(lhs.shape, rhs.shape))
    return violation(view, 2, mismatch("operands must have the same shape", lhs, rhs));
  unsigned cls = element_class(lhs);
  bool fits = true;
  switch (attributes.type) {
    case CompareType::unspecified:
      break;
    case CompareType::signed_:
      fits = cls & kSigned;
      break;
    case CompareType::unsigned_:
      fits = cls & (kUnsigned | kBool);
      break;
    case CompareType::floating:
      fits = cls & (kFloat | kComplex);
      break;
    case CompareType::totalorder:
      fits = cls & kFloat;
      break;
  }
  if (!fits)
    return violation(view, 3, "compare_type does not fit operands of type " + to_string(lhs));
  Types out = merged(view, with_dtype(lhs, DType::i1));
  return out;
}

Result<Types> infer_complex(const OpView& view) {
  const Type& lhs = view.operands[0];
  const Type& rhs = view.operands[1];
  if (!compatible(lhs, rhs))
    return violation(view, 1, mismatch("operands must have the same type", lhs, rhs));
  if (!lhs.is_tensor() || (lhs.dtype != DType::f32 && lhs.dtype != DType::f64))
    return violation(view, 3, "operands must be f32 or f64, found " + to_string(lhs));
  return merged(view, with_dtype(lhs, lhs.dtype == DType::f32 ? DType::c64 : DType::c128));
}

Result<Types> infer_clamp(const OpView& view) {
  const Type& operand = view.operands[1];
  for (int i : {0, 2}) {
    const Type& bound = view.operands[static_cast<size_t>(i)];
    if (!bound.is_tensor() || !operand.is_tensor() || !same_element(bound, operand))
      return violation(
          view, 3, mismatch("bounds and operand must have the same element type", bound, operand));
    if (bound.rank() != 0 && !compatible_shapes(bound.shape, operand.shape))
      return violation(
          view, i == 0 ? 1 : 2,
          mismatch("a bound must be a scalar or have the operand's shape", bound, operand));
  }
  return merged(OpView{view.kind, view.operands.subspan(1, 1), view.attributes, view.declared},
                operand);
}

Result<Types> infer_select(const OpView& view) {
  const Type& predicate = view.operands[0];
  const Type& on_true = view.operands[1];
  const Type& on_false = view.operands[2];
  if (!predicate.is_tensor() || predicate.dtype != DType::i1)
    return violation(view, 0, "pred must be of element type i1, found " + to_string(predicate));
  if (predicate.rank() != 0 && !compatible_shapes(predicate.shape, on_true.shape))
    return violation(
        view, 1,
        mismatch("pred must be a scalar or have the shape of on_true", predicate, on_true));
  if (!compatible(on_true, on_false))
    return violation(view, 2,
                     mismatch("on_true and on_false must have the same type", on_true, on_false));
  return merged(OpView{view.kind, view.operands.subspan(1), view.attributes, view.declared},
                on_true);
}

Result<Types> infer_fused_multiply_add(const OpView& view) {
  const Type& x = view.operands[0];
  for (const Type& operand : view.operands)
    if (!compatible(operand, x))
      return violation(view, 1, mismatch("operands must have the same type", x, operand));
  if (!x.is_tensor() || (x.dtype != DType::f32 && x.dtype != DType::f64))
    return violation(view, 2, "operands must be f32 or f64, found " + to_string(x));
  return merged(view, x);
}

Result<Types> infer_map(const OpView& view) {
  if (view.operands.empty()) return violation(view, 2, "needs at least one operand");
  for (const Type& operand : view.operands)
    if (!operand.is_tensor() || !compatible_shapes(operand.shape, view.operands[0].shape))
      return violation(view, 1,
                       mismatch("operands must have the same shape", view.operands[0], operand));
  const Dims& dims = std::get<DimsAttributes>(view.attributes).dims;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != static_cast<int64_t>(i) || dims.size() != view.operands[0].shape.size())
      return violation(view, 3,
                       "dimensions must list all dimensions in order, found " + shape_string(dims));
  Type result = view.declared.empty() ? view.operands[0] : view.declared[0];
  if (!view.regions.empty()) {
    Signature body = signature(*view.regions[0]);
    bool fits = body.arguments.size() == view.operands.size() && body.results.size() == 1;
    for (size_t i = 0; fits && i < body.arguments.size(); ++i)
      fits = compatible(body.arguments[i], scalar_of(view.operands[i]));
    if (!fits) return violation(view, 4, "the computation's signature does not match the operands");
    result = with_shape(body.results[0], view.operands[0].shape);
  }
  return Types{with_shape(result, view.operands[0].shape)};
}

void add(RuleTable& table, OpKind kind, InferFunction infer, std::string_view rule,
         size_t attributes) {
  row(table, kind) = {.infer = infer, .attributes = attributes, .result_rule = rule};
}

constexpr std::string_view kRuleNames[] = {"", "(C1)", "(C2)", "(C3)"};

}  // namespace

void add_elementwise_rules(RuleTable& table) {
  for (const Row& r : kRows) add(table, r.kind, infer_row, kRuleNames[r.constraint], 0);
  add(table, OpKind::reduce_precision, infer_reduce_precision, "(C1)",
      attribute_index<ReducePrecisionAttributes>());
  for (OpKind kind : {OpKind::convert, OpKind::uniform_quantize, OpKind::uniform_dequantize})
    add(table, kind, infer_converted, "(C1)", 0);
  add(table, OpKind::compare, infer_compare, "(C2)", attribute_index<CompareAttributes>());
  add(table, OpKind::complex, infer_complex, "(C3)", 0);
  add(table, OpKind::clamp, infer_clamp, "(C4)", 0);
  add(table, OpKind::select, infer_select, "(C2)", 0);
  add(table, OpKind::fused_multiply_add, infer_fused_multiply_add, "(C1)", 0);
  add(table, OpKind::map, infer_map, "(C4)", attribute_index<DimsAttributes>());
  row(table, OpKind::map).regions = 1;
}

void add_chlo_rules(RuleTable& table) {
  for (const Row& r : kChloRows) add(table, r.kind, infer_row, "", 0);
}

}  // namespace ullage::ops
