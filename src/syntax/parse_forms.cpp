// The pretty forms: those of the shared table (forms.h), and the ones with a grammar of their own.
#include <fmt/format.h>

#include "syntax/parser.h"

namespace ullage::syntax {

void Parser::set(OperationState& state, std::string_view name, AttrValue value) {
  state.attributes.push_back({std::string(name), value.at, std::move(value)});
}

AttrValue Parser::integer_value() {
  AttrValue value;
  value.kind = AttrValue::Kind::integer;
  value.at = token_.at;
  value.integer = integer();
  return value;
}

// A number, boolean or string without a type, which in an attribute could follow a colon.
AttrValue Parser::scalar_value() {
  AttrValue value;
  value.at = token_.at;
  if (at_word("true") || at_word("false")) {
    value.kind = AttrValue::Kind::boolean;
    value.integer = at_word("true");
    advance();
  } else if (at(Tok::string)) {
    value.kind = AttrValue::Kind::string;
    value.text = string_value();
  } else {
    return number_attribute(false);
  }
  return value;
}

// A bare word in place of #stablehlo<word keyword>.
AttrValue Parser::keyword_value(std::string_view word) {
  AttrValue value;
  value.kind = AttrValue::Kind::keyword;
  value.at = token_.at;
  value.word = word;
  if (at(Tok::word)) {
    value.text = token_.text;
    advance();
  } else {
    unexpected("a keyword");
  }
  return value;
}

Type Parser::scalar_of(const Type& tensor) const {
  Type out;
  out.dtype = tensor.dtype;
  if (tensor.quantized && !tensor.quantized->dimension) out.quantized = tensor.quantized;
  return out;
}

void Parser::parse_operands(OperationState& state) {
  if (!at(Tok::value)) return;
  while (true) {
    state.operands.push_back(operand());
    if (failed_ || !at(Tok::comma)) return;
    Lexer ahead = lexer_;
    if (ahead.next().kind != Tok::value) return;
    advance();
  }
}

void Parser::attributes_and_types(OperationState& state, TypesForm form) {
  optional_dictionary(state.attributes);
  if (form == TypesForm::none) return;
  expect(Tok::colon, "':' and the types");
  if (!failed_) form_types(state, form);
}

void Parser::form_types(OperationState& state, TypesForm form) {
  state.types_at = token_.at;
  FunctionType& types = state.types;
  // Several forms may also be written as a function type, which says everything.
  bool function = at(Tok::left_paren) && form != TypesForm::result && form != TypesForm::operands;
  if (function || form == TypesForm::function) {
    types = function_type();
    return;
  }
  switch (form) {
    case TypesForm::same: {
      Type all = type();
      types.inputs.assign(state.operands.size(), all);
      types.results = {all};
      break;
    }
    case TypesForm::result:
      types.results = type_list();
      break;
    case TypesForm::operands:
      types.inputs = type_list();
      break;
    case TypesForm::pairwise:
      types.inputs = type_list();
      types.results = types.inputs;
      break;
    case TypesForm::arrow:
      types.inputs = type_list();
      expect(Tok::arrow, "'->'");
      if (at(Tok::left_paren))
        types.results = parenthesized_types();
      else
        types.results = {type()};
      break;
    case TypesForm::select: {
      Type predicate = type();
      expect(Tok::comma, "','");
      Type all = type();
      types.inputs = {predicate, all, all};
      types.results = {all};
      break;
    }
    case TypesForm::complex: {
      Position where = token_.at;
      Type whole = type();
      if (!failed_ && !is_complex(whole.dtype))
        fail(where, fmt::format("{} is no complex type", to_string(whole)));
      Type part = whole;
      part.dtype = real_part(whole.dtype);
      types.inputs = {part, part};
      types.results = {whole};
      break;
    }
    case TypesForm::tuple: {
      Position where = token_.at;
      Type whole = type();
      if (!failed_ && whole.kind != Type::Kind::tuple)
        fail(where, fmt::format("{} is no tuple", to_string(whole)));
      types.inputs = whole.elements;
      types.results = {whole};
      break;
    }
    case TypesForm::none:
    case TypesForm::function:
      break;
  }
}

Op* Parser::form_operation(Region& region, OperationState& state, const Form& form) {
  std::string_view pattern = form.pattern;
  while (!pattern.empty() && !failed_) {
    FormPiece piece = next_piece(pattern);
    switch (piece.kind) {
      case FormPiece::Kind::operand:
        state.operands.push_back(operand());
        break;
      case FormPiece::Kind::operands:
        parse_operands(state);
        break;
      case FormPiece::Kind::integers:
        set(state, piece.text, integers_value());
        break;
      case FormPiece::Kind::scalar:
        set(state, piece.text, scalar_value());
        break;
      case FormPiece::Kind::keyword:
        set(state, piece.text, keyword_value(piece.text));
        break;
      case FormPiece::Kind::literal: {
        std::string_view text = piece.text;
        while (!text.empty()) {
          size_t size = std::min(text.find_first_of(" ,="), text.size());
          if (size > 0) {
            expect_word(text.substr(0, size));
          } else {
            if (text[0] == ',') expect(Tok::comma, "','");
            if (text[0] == '=') expect(Tok::equal, "'='");
            size = 1;
          }
          text.remove_prefix(size);
        }
        break;
      }
    }
  }
  attributes_and_types(state, form.types);
  return create(region, state);
}

Op* Parser::special_operation(Region& region, OperationState& state) {
  switch (state.kind) {
    case OpKind::constant:
      return constant_form(region, state);
    case OpKind::compare:
      return compare_form(region, state);
    case OpKind::dot:
    case OpKind::dot_general:
      return dot_form(region, state);
    case OpKind::convolution:
      return convolution_form(region, state);
    case OpKind::slice:
      return slice_form(region, state);
    case OpKind::reduce:
      return reduce_form(region, state);
    case OpKind::while_:
      return while_form(region, state);
    case OpKind::call:
      return call_form(region, state);
    case OpKind::custom_call:
      return custom_call_form(region, state);
    case OpKind::composite:
      return composite_form(region, state);
    case OpKind::func_return:
    case OpKind::return_:
    case OpKind::sdy_return:
      return return_form(region, state);
    case OpKind::reduce_precision:
      return reduce_precision_form(region, state);
    case OpKind::chlo_top_k:
      return top_k_form(region, state);
    case OpKind::get_tuple_element:
      return tuple_element_form(region, state);
    case OpKind::optimization_barrier:
      return barrier_form(region, state);
    case OpKind::sdy_sharding_constraint:
      return sharding_constraint_form(region, state);
    case OpKind::sdy_manual_computation:
      return manual_computation_form(region, state);
    default:
      break;
  }
  if (info(state.kind).family == OpFamily::check) return check_form(region, state);
  std::string_view mnemonic = info(state.kind).mnemonic;
  fail(state.at, fmt::format("{} has only the generic form", mnemonic),
       fmt::format("write \"{}\"(...) : (...) -> ...", mnemonic));
  return nullptr;
}

// stablehlo.constant {attributes} dense<...> : T
Op* Parser::constant_form(Region& region, OperationState& state) {
  optional_dictionary(state.attributes);
  AttrValue value = attribute();
  if (failed_) return nullptr;
  if (value.kind != AttrValue::Kind::literal) {
    fail(value.at, "expected a constant such as dense<0.0> : tensor<f32>");
    return nullptr;
  }
  state.types.results = {value.literal->type};
  set(state, "value", std::move(value));
  return create(region, state);
}

// stablehlo.compare LT, %0, %1, FLOAT : (T, T) -> T
Op* Parser::compare_form(Region& region, OperationState& state) {
  set(state, "comparison_direction", keyword_value("comparison_direction"));
  expect(Tok::comma, "','");
  state.operands.push_back(operand());
  expect(Tok::comma, "','");
  state.operands.push_back(operand());
  if (accept(Tok::comma)) set(state, "compare_type", keyword_value("comparison_type"));
  attributes_and_types(state, TypesForm::function);
  return create(region, state);
}

void Parser::precision_list(OperationState& state) {
  AttrValue list;
  list.kind = AttrValue::Kind::array;
  list.at = token_.at;
  expect(Tok::left_bracket, "'['");
  list_until(Tok::right_bracket, "']'",
             [&] { list.elements.push_back(keyword_value("precision")); });
  set(state, "precision_config", std::move(list));
}

// stablehlo.dot_general %0, %1, batching_dims = [0] x [0], contracting_dims = [1] x [0], precision
// = [HIGH, HIGH],
//   algorithm = <...> : (T, T) -> T
Op* Parser::dot_form(Region& region, OperationState& state) {
  state.operands.push_back(operand());
  expect(Tok::comma, "','");
  state.operands.push_back(operand());
  AttrValue numbers;
  numbers.kind = AttrValue::Kind::structure;
  numbers.at = token_.at;
  auto pair = [&](std::string_view name) {
    expect(Tok::equal, "'='");
    for (std::string_view side : {"lhs_", "rhs_"}) {
      if (side == "rhs_") expect_word("x");
      AttrValue dims = integers_value();
      numbers.entries.push_back({fmt::format("{}{}_dimensions", side, name), dims.at, dims});
    }
  };
  bool general = state.kind == OpKind::dot_general;
  while (!failed_ && accept(Tok::comma)) {
    if (general && accept_word("batching_dims")) {
      pair("batching");
    } else if (general && accept_word("contracting_dims")) {
      pair("contracting");
    } else if (accept_word("precision")) {
      expect(Tok::equal, "'='");
      precision_list(state);
    } else if (general && accept_word("algorithm")) {
      expect(Tok::equal, "'='");
      AttrValue algorithm;
      algorithm.at = token_.at;
      expect(Tok::less, "'<'");
      structure_fields(algorithm, Tok::greater, "'>'");
      set(state, "algorithm", std::move(algorithm));
    } else {
      unexpected(general ? "batching_dims, contracting_dims, precision or algorithm" : "precision");
    }
  }
  if (general) set(state, "dot_dimension_numbers", std::move(numbers));
  attributes_and_types(state, TypesForm::function);
  return create(region, state);
}

// stablehlo.convolution(%0, %1) dim_numbers = [..]x[..]->[..], window = {stride = [1, 1], pad =
// [[0, 0]], ...} {...} : ...
Op* Parser::convolution_form(Region& region, OperationState& state) {
  expect(Tok::left_paren, "'('");
  operand_list(state, Tok::right_paren, "')'");
  expect_word("dim_numbers");
  expect(Tok::equal, "'='");
  AttrValue numbers;
  numbers.kind = AttrValue::Kind::convolution;
  numbers.at = token_.at;
  numbers.convolution = std::make_shared<const ConvolutionDimensionNumbers>(convolution_dims());
  set(state, "dimension_numbers", std::move(numbers));
  expect(Tok::comma, "','");
  expect_word("window");
  expect(Tok::equal, "'='");
  AttrValue window;
  window.at = token_.at;
  expect(Tok::left_brace, "'{'");
  structure_fields(window, Tok::right_brace, "'}'");
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"stride", "window_strides"},
      {"pad", "padding"},
      {"lhs_dilate", "lhs_dilation"},
      {"rhs_dilate", "rhs_dilation"},
      {"reverse", "window_reversal"}};
  for (AttrEntry& entry : window.entries) {
    std::string_view name;
    for (auto [written, full] : kNames)
      if (entry.name == written) name = full;
    if (name.empty() && !failed_)
      fail(entry.at, fmt::format("unknown window field '{}'", entry.name),
           "use stride, pad, lhs_dilate, rhs_dilate or reverse");
    set(state, name, std::move(entry.value));
  }
  attributes_and_types(state, TypesForm::function);
  return create(region, state);
}

// stablehlo.slice %0 [0:4, 1:9:2] : (T) -> T
Op* Parser::slice_form(Region& region, OperationState& state) {
  state.operands.push_back(operand());
  AttrValue start, limit, strides;
  for (AttrValue* value : {&start, &limit, &strides}) {
    value->kind = AttrValue::Kind::integers;
    value->at = token_.at;
  }
  expect(Tok::left_bracket, "'['");
  list_until(Tok::right_bracket, "']'", [&] {
    start.integers.push_back(integer());
    expect(Tok::colon, "':'");
    limit.integers.push_back(integer());
    strides.integers.push_back(accept(Tok::colon) ? integer() : 1);
  });
  set(state, "start_indices", std::move(start));
  set(state, "limit_indices", std::move(limit));
  set(state, "strides", std::move(strides));
  attributes_and_types(state, TypesForm::function);
  return create(region, state);
}

// func.call @f(%0) {attributes} : (T) -> T
Op* Parser::call_form(Region& region, OperationState& state) {
  AttrValue callee;
  callee.kind = AttrValue::Kind::symbol;
  callee.at = token_.at;
  callee.text = symbol_name();
  set(state, "callee", std::move(callee));
  expect(Tok::left_paren, "'('");
  operand_list(state, Tok::right_paren, "')'");
  attributes_and_types(state, TypesForm::function);
  return create(region, state);
}

Op* Parser::custom_call_form(Region& region, OperationState& state) {
  AttrValue target;
  target.kind = AttrValue::Kind::string;
  target.at = token_.at;
  target.text = symbol_name();
  set(state, "call_target_name", std::move(target));
  expect(Tok::left_paren, "'('");
  operand_list(state, Tok::right_paren, "')'");
  attributes_and_types(state, TypesForm::function);
  return create(region, state);
}

// stablehlo.composite "name" %0, %1 {decomposition = @f} : (T, T) -> T
Op* Parser::composite_form(Region& region, OperationState& state) {
  AttrValue name;
  name.kind = AttrValue::Kind::string;
  name.at = token_.at;
  name.text = string_value();
  set(state, "name", std::move(name));
  parse_operands(state);
  attributes_and_types(state, TypesForm::function);
  return create(region, state);
}

// return %0, %1 : T, T
Op* Parser::return_form(Region& region, OperationState& state) {
  parse_operands(state);
  optional_dictionary(state.attributes);
  if (!state.operands.empty()) {
    expect(Tok::colon, "':' and the types");
    state.types_at = token_.at;
    state.types.inputs = type_list();
  }
  return create(region, state);
}

// stablehlo.reduce_precision %0, format = e8m23 : T
Op* Parser::reduce_precision_form(Region& region, OperationState& state) {
  state.operands.push_back(operand());
  expect(Tok::comma, "','");
  expect_word("format");
  expect(Tok::equal, "'='");
  Position where = token_.at;
  std::string_view text = at(Tok::word) ? token_.text : std::string_view();
  size_t m = text.find('m');
  auto number = [&](std::string_view digits) -> int64_t {
    int64_t value = 0;
    for (char c : digits) {
      if (c < '0' || c > '9') return -1;
      value = value * 10 + (c - '0');
    }
    return digits.empty() || digits.size() > 6 ? -1 : value;
  };
  int64_t exponent = -1, mantissa = -1;
  if (text.starts_with('e') && m != std::string_view::npos) {
    exponent = number(text.substr(1, m - 1));
    mantissa = number(text.substr(m + 1));
  }
  if (!failed_ && (exponent < 0 || mantissa < 0)) fail(where, "expected a format such as e8m7");
  advance();
  AttrValue value;
  value.kind = AttrValue::Kind::integer;
  value.at = where;
  value.integer = exponent;
  set(state, "exponent_bits", value);
  value.integer = mantissa;
  set(state, "mantissa_bits", value);
  attributes_and_types(state, TypesForm::same);
  return create(region, state);
}

// chlo.top_k(%0, k = 10) : T -> (T, T)
Op* Parser::top_k_form(Region& region, OperationState& state) {
  expect(Tok::left_paren, "'('");
  state.operands.push_back(operand());
  while (!failed_ && accept(Tok::comma)) {
    std::string name = attribute_name();
    expect(Tok::equal, "'='");
    set(state, name, attribute());
  }
  expect(Tok::right_paren, "')'");
  attributes_and_types(state, TypesForm::arrow);
  return create(region, state);
}

// stablehlo.get_tuple_element %0[1] : (tuple<T, T>) -> T
Op* Parser::tuple_element_form(Region& region, OperationState& state) {
  state.operands.push_back(operand());
  expect(Tok::left_bracket, "'['");
  set(state, "index", integer_value());
  expect(Tok::right_bracket, "']'");
  attributes_and_types(state, TypesForm::function);
  return create(region, state);
}

// stablehlo.optimization_barrier %0, %1 : T, T, or () without operands
Op* Parser::barrier_form(Region& region, OperationState& state) {
  optional_dictionary(state.attributes);
  if (accept(Tok::left_paren)) {
    expect(Tok::right_paren, "')'");
    return create(region, state);
  }
  parse_operands(state);
  attributes_and_types(state, TypesForm::pairwise);
  return create(region, state);
}

// sdy.sharding_constraint %0 <@mesh, [{"x"}]> : T
Op* Parser::sharding_constraint_form(Region& region, OperationState& state) {
  state.operands.push_back(operand());
  AttrValue sharding;
  sharding.kind = AttrValue::Kind::opaque;
  sharding.at = token_.at;
  sharding.begin = token_.offset;
  if (at(Tok::less))
    skip_balanced();
  else
    unexpected("a sharding such as <@mesh, [{\"x\"}]>");
  sharding.end = previous_end_;
  set(state, "sharding", std::move(sharding));
  attributes_and_types(state, TypesForm::same);
  return create(region, state);
}

// check.expect_eq %0, %1 : T    check.expect_eq_const %0, dense<1> : T
// check.expect_almost_eq_const %0, dense<1.0> : T    check.expect_close %0, %1, max_ulp_difference
// = 3 : T, T
Op* Parser::check_form(Region& region, OperationState& state) {
  parse_operands(state);
  while (!failed_ && accept(Tok::comma)) {
    if (at_word("dense")) {
      AttrValue value = attribute();
      if (value.literal) state.types.inputs = {value.literal->type};
      set(state, "value", std::move(value));
      continue;
    }
    std::string name = attribute_name();
    expect(Tok::equal, "'='");
    set(state, name, scalar_value());
  }
  optional_dictionary(state.attributes);
  if (state.types.inputs.empty()) {
    expect(Tok::colon, "':' and the types");
    state.types_at = token_.at;
    state.types.inputs = type_list();
    if (!failed_ && state.types.inputs.size() == 1)
      state.types.inputs.resize(state.operands.size(), Type(state.types.inputs.front()));
  }
  return create(region, state);
}

}  // namespace ullage::syntax
