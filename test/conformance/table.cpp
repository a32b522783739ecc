#include "conformance/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace ullage::conformance {

std::vector<Row> written_rows();

namespace {

std::string replaced(std::string text, std::string_view what, const std::string& with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

// One shape each for what scalars, empty tensors and many dimensions do, and a long one for values.
const std::pair<const char*, const char*> kShapes[] = {
    {"values", "900x"}, {"rank 0", ""}, {"rank 8", "2x1x3x1x1x2x1x3x"}, {"empty", "2x0x3x"}};

std::vector<Row> elementwise_rows(OpKind kind) {
  const OpInfo& op = info(kind);
  std::vector<Row> out;
  std::string results[] = {"{E}", "{R}", "i1", "complex<{E}>"};
  size_t first = 0, last = 1;
  switch (kind) {
    case OpKind::abs:
    case OpKind::real:
    case OpKind::imag:
      first = 1, last = 2;
      break;
    case OpKind::compare:
    case OpKind::is_finite:
    case OpKind::chlo_is_inf:
    case OpKind::chlo_is_pos_inf:
    case OpKind::chlo_is_neg_inf:
      first = 2, last = 3;
      break;
    case OpKind::complex:
      first = 3, last = 4;
      break;
    default:
      break;
  }
  std::string attributes;
  if (kind == OpKind::reduce_precision)
    attributes = " <{exponent_bits = 5 : i32, mantissa_bits = 7 : i32}>";
  for (size_t r = first; r < last; ++r)
    for (auto [name, shape] : kShapes) {
      std::string in = fmt::format("tensor<{}{{E}}>", shape);
      std::string result = fmt::format("tensor<{}{}>", shape, results[r]);
      std::string arguments, operands, types;
      for (int i = 0; i < op.operands; ++i) {
        arguments += fmt::format("{}%x{}: {}", i > 0 ? ", " : "", i, in);
        operands += fmt::format("{}%x{}", i > 0 ? ", " : "", i);
        types += (i > 0 ? ", " : "") + in;
      }
      if (kind != OpKind::compare) {
        out.push_back({kind, name, fmt::format("({}) -> {}", arguments, result),
                       fmt::format("%r = \"{}\"({}){} : ({}) -> {}", op.mnemonic, operands,
                                   attributes, types, result),
                       "%r", ""});
        continue;
      }
      for (const char* direction : {"EQ", "NE", "LT", "LE", "GT", "GE"})
        out.push_back({kind, fmt::format("{}, {}", direction, name),
                       fmt::format("({}) -> {}", arguments, result),
                       fmt::format("%r = stablehlo.compare {}, {} : ({}) -> {}", direction,
                                   operands, types, result),
                       "%r", ""});
    }
  return out;
}

bool generated(OpKind kind) {
  const OpInfo& op = info(kind);
  if (kind == OpKind::convert || kind == OpKind::uniform_quantize ||
      kind == OpKind::uniform_dequantize || kind == OpKind::clamp || kind == OpKind::select)
    return false;
  return (op.traits & kElementwise) != 0 && op.operands >= 1;
}

}  // namespace

std::string spelled(DType dtype) {
  if (dtype == DType::c64) return "complex<f32>";
  if (dtype == DType::c128) return "complex<f64>";
  return std::string(name(dtype));
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> out;
    for (int i = 0; i < kOpKindCount; ++i)
      if (generated(static_cast<OpKind>(i)))
        for (Row& row : elementwise_rows(static_cast<OpKind>(i))) out.push_back(std::move(row));
    for (Row& row : written_rows()) out.push_back(std::move(row));
    std::stable_sort(out.begin(), out.end(),
                     [](const Row& a, const Row& b) { return a.kind < b.kind; });
    return out;
  }();
  return all;
}

std::string program_text(const Row& row, DType dtype) {
  std::string zero = "0", one = "1";
  if (is_float(dtype)) zero = "0.0", one = "1.0";
  if (is_complex(dtype)) zero = "(0.0, 0.0)", one = "(1.0, 0.0)";
  if (dtype == DType::i1) zero = "false", one = "true";
  std::string types = row.signature.substr(row.signature.find("->") + 3);
  if (types.front() == '(') types = types.substr(1, types.size() - 2);
  std::string text =
      fmt::format("func.func public @main{} {{\n  {}\n  return {}{}\n}}\n{}", row.signature,
                  row.body, row.returned, types.empty() ? "" : " : " + types, row.beside);
  text = replaced(text, "{E}", spelled(dtype));
  text = replaced(text, "{R}", spelled(real_part(dtype)));
  text = replaced(text, "{Z}", zero);
  return replaced(text, "{O}", one);
}

std::span<const Exempt> exempt() {
  static const Exempt list[] = {
      {OpKind::uniform_dequantize, "quantized types have their own programs"},
      {OpKind::uniform_quantize, "quantized types have their own programs"},
      {OpKind::func_return, "ends a function"},
      {OpKind::return_, "ends a region"},
      {OpKind::sdy_return, "ends a region"},
      {OpKind::sdy_manual_computation, "describes several devices"},
      {OpKind::check_expect_almost_eq, "a check"},
      {OpKind::check_expect_almost_eq_const, "a check"},
      {OpKind::check_expect_close, "a check"},
      {OpKind::check_expect_eq, "a check"},
      {OpKind::check_expect_eq_const, "a check"},
      {OpKind::check_expect_serialized_eq, "a check"},
  };
  return list;
}

}  // namespace ullage::conformance
