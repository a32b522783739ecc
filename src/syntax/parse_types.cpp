// Types: tensors, quantized element types, tokens, tuples, function types.
#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "syntax/parser.h"

namespace ullage::syntax {

Type Parser::type(bool index_allowed) {
  Nesting nesting(*this);
  if (failed_) return {};
  if (at_word("tensor")) return tensor_type(index_allowed);
  if (at_word("tuple")) {
    advance();
    expect(Tok::less, "'<'");
    std::vector<Type> elements;
    list_until(Tok::greater, "'>'", [&] { elements.push_back(type()); });
    return Type::tuple(std::move(elements));
  }
  if (at(Tok::bang)) {
    if (token_.text == "!stablehlo.token" || token_.text == "!mhlo.token") {
      advance();
      return Type::token();
    }
    auto alias = type_aliases_.find(token_.text);
    if (alias != type_aliases_.end()) {
      use_alias(token_, source_text(alias->second.begin, alias->second.end));
      advance();
      return failed_ ? Type{} : alias->second.type;
    }
    fail(token_.at, fmt::format("unknown type '{}'", token_.text));
    return {};
  }
  if (at(Tok::word) && (dtype_from_name(token_.text) || token_.text == "index")) {
    fail(token_.at, fmt::format("a value cannot have the type {}", token_.text),
         fmt::format("a scalar is a tensor of rank 0: tensor<{}>", token_.text));
    return {};
  }
  if (at(Tok::word) && (token_.text == "memref" || token_.text == "vector")) {
    fail(token_.at, fmt::format("{} types are not supported", token_.text), "use a tensor type");
    return {};
  }
  unexpected("a type");
  return {};
}

Type Parser::tensor_type(bool index_allowed) {
  advance();
  if (!at(Tok::less)) {
    unexpected("'<'");
    return {};
  }
  Type out;
  shape(out);
  if (failed_) return {};
  element_type(out, index_allowed);
  if (accept(Tok::comma)) encoding(out);
  expect(Tok::greater, "'>'");
  return out;
}

// Reads "8x?x" from the characters after '<' (the current token) and then takes the next token.
void Parser::shape(Type& type) {
  std::string_view text = lexer_.text();
  size_t at = lexer_.offset();
  int64_t elements = 1;
  auto blank = [&] {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n')) ++at;
  };
  while (true) {
    blank();
    if (at >= text.size()) break;
    char c = text[at];
    size_t begin = at;
    int64_t extent = 0;
    if (c == '?') {
      extent = kDynamic;
      ++at;
    } else if (c == '*') {
      lexer_.skip_to(begin);
      fail(lexer_.position(), "tensors of unknown rank are not supported");
      return;
    } else if (c >= '0' && c <= '9') {
      auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), extent);
      at = static_cast<size_t>(end - text.data());
      if (code != std::errc()) extent = std::numeric_limits<int64_t>::max();
    } else {
      break;
    }
    if (at >= text.size() || text[at] != 'x') {
      lexer_.skip_to(at);
      advance();
      fail(token_.at, fmt::format("expected 'x' and an element type after the extent {}",
                                  text.substr(begin, at - begin)));
      return;
    }
    ++at;
    if (extent > 0) {
      if (extent > kMaxElements / elements) {
        lexer_.skip_to(begin);
        fail(lexer_.position(), "this tensor has too many elements to address",
             fmt::format("at most {} elements", kMaxElements));
        return;
      }
      elements *= extent;
    }
    type.shape.push_back(extent);
    if (type.shape.size() > kMaxRank) {
      lexer_.skip_to(begin);
      fail(lexer_.position(), fmt::format("this tensor has more than {} dimensions", kMaxRank));
      return;
    }
  }
  lexer_.skip_to(at);
  advance();
}

DType Parser::dtype_word(bool index_allowed) {
  if (!at(Tok::word)) {
    unexpected("an element type");
    return DType::f32;
  }
  std::string_view word = token_.text;
  if (index_allowed && word == "index") {
    advance();
    return DType::i64;
  }
  std::optional<DType> dtype = dtype_from_name(word);
  if (dtype && !is_complex(*dtype)) {
    advance();
    return *dtype;
  }
  if (word.starts_with("si")) dtype = dtype_from_name(word.substr(1));
  std::string help =
      dtype ? fmt::format("StableHLO spells signed integers {}", word.substr(1)) : "";
  if (word == "c64" || word == "c128")
    help = "complex types are spelled complex<f32> and complex<f64>";
  fail(token_.at, fmt::format("unknown element type '{}'", word), help);
  return DType::f32;
}

void Parser::element_type(Type& type, bool index_allowed) {
  if (at(Tok::bang)) {
    if (token_.text == "!quant.uniform") return quantized_type(type);
    fail(token_.at, fmt::format("unknown element type '{}'", token_.text));
    return;
  }
  if (!at_word("complex")) {
    type.dtype = dtype_word(index_allowed);
    return;
  }
  advance();
  expect(Tok::less, "'<'");
  Position where = token_.at;
  DType part = dtype_word(false);
  if (!failed_ && part != DType::f32 && part != DType::f64)
    fail(where, fmt::format("complex numbers of {} are not supported", name(part)),
         "use complex<f32> or complex<f64>");
  type.dtype = part == DType::f64 ? DType::c128 : DType::c64;
  expect(Tok::greater, "'>'");
}

// !quant.uniform<i8<-127:127>:f32:1, {0.1:2, 0.2}>, the cursor on the first word.
void Parser::quantized_type(Type& type) {
  Quantization q;
  advance();
  expect(Tok::less, "'<'");
  Position storage_at = token_.at;
  if (at(Tok::word) && token_.text.starts_with("u") &&
      dtype_from_name(std::string("ui") + std::string(token_.text.substr(1)))) {
    q.storage = *dtype_from_name(std::string("ui") + std::string(token_.text.substr(1)));
    advance();
  } else {
    q.storage = dtype_word(false);
  }
  if (failed_) return;
  if (!is_int(q.storage) || bit_width(q.storage) > 32) {
    fail(storage_at, fmt::format("a quantized type cannot be stored as {}", name(q.storage)),
         "use i2 to i32 or ui2 to ui32");
    return;
  }
  int bits = bit_width(q.storage);
  bool is_signed = is_signed_int(q.storage);
  const int64_t lowest = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t highest = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  q.storage_min = lowest;
  q.storage_max = highest;
  if (accept(Tok::less)) {
    Position where = token_.at;
    q.storage_min = integer();
    expect(Tok::colon, "':'");
    q.storage_max = integer();
    if (!failed_ &&
        (q.storage_min < lowest || q.storage_max > highest || q.storage_min >= q.storage_max))
      fail(where, fmt::format("the range {}:{} does not fit the storage type {}", q.storage_min,
                              q.storage_max, name(q.storage)));
    expect(Tok::greater, "'>'");
  }
  expect(Tok::colon, "':'");
  Position expressed_at = token_.at;
  q.expressed = dtype_word(false);
  if (!failed_ && !is_float(q.expressed))
    fail(expressed_at, fmt::format("a quantized type cannot express {}", name(q.expressed)),
         "use a floating type");
  Position dimension_at = token_.at;
  if (accept(Tok::colon)) q.dimension = integer();
  expect(Tok::comma, "','");
  auto scale = [&] {
    Position where = token_.at;
    bool negative = accept(Tok::minus);
    double value = 0;
    if (at(Tok::floating)) {
      std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), value);
      advance();
    } else {
      unexpected("a scale such as 1.0");
    }
    if (!failed_ && (negative || !(value > 0)))
      fail(where, "the scale of a quantized type must be positive");
    q.scales.push_back(value);
    Position zero_at = token_.at;
    q.zero_points.push_back(accept(Tok::colon) ? integer() : 0);
    if (!failed_ && (q.zero_points.back() < q.storage_min || q.zero_points.back() > q.storage_max))
      fail(zero_at, fmt::format("the zero point {} lies outside the storage range {}:{}",
                                q.zero_points.back(), q.storage_min, q.storage_max));
  };
  if (q.dimension) {
    expect(Tok::left_brace, "'{'");
    list_until(Tok::right_brace, "'}'", scale);
  } else {
    scale();
  }
  expect(Tok::greater, "'>'");
  if (failed_) return;
  if (q.dimension) {
    if (*q.dimension < 0 || *q.dimension >= type.rank()) {
      fail(dimension_at,
           fmt::format("the quantized dimension {} does not exist in a tensor of rank {}",
                       *q.dimension, type.rank()));
      return;
    }
    int64_t extent = type.shape[static_cast<size_t>(*q.dimension)];
    if (extent != kDynamic && extent != static_cast<int64_t>(q.scales.size())) {
      fail(dimension_at, fmt::format("{} scales for dimension {} of extent {}", q.scales.size(),
                                     *q.dimension, extent));
      return;
    }
  }
  type.dtype = q.storage;
  type.quantized = std::make_shared<const Quantization>(std::move(q));
}

// #stablehlo.bounds<4, ?> or #stablehlo.type_extensions<bounds = [4, ?]>
void Parser::encoding(Type& type) {
  Position where = token_.at;
  auto bound = [&] {
    if (accept(Tok::question)) return kDynamic;
    return integer();
  };
  if (at(Tok::hash) &&
      (token_.text == "#stablehlo.bounds" || token_.text == "#mhlo.type_extensions" ||
       token_.text == "#stablehlo.type_extensions")) {
    bool short_form = token_.text == "#stablehlo.bounds";
    advance();
    expect(Tok::less, "'<'");
    if (!short_form) {
      expect_word("bounds");
      expect(Tok::equal, "'='");
      expect(Tok::left_bracket, "'['");
    }
    list_until(short_form ? Tok::greater : Tok::right_bracket, short_form ? "'>'" : "']'",
               [&] { type.bounds.push_back(bound()); });
    if (!short_form) expect(Tok::greater, "'>'");
    if (!failed_ && type.bounds.size() != type.shape.size())
      fail(where, fmt::format("{} for a tensor of rank {}", counted(type.bounds.size(), "bound"),
                              type.rank()));
    return;
  }
  if (at(Tok::hash))
    fail(token_.at, fmt::format("the tensor encoding '{}' is not supported", token_.text));
  else
    unexpected("a tensor encoding");
}

std::vector<Type> Parser::type_list() {
  std::vector<Type> out;
  do out.push_back(type());
  while (!failed_ && accept(Tok::comma));
  return out;
}

std::vector<Type> Parser::parenthesized_types() {
  std::vector<Type> out;
  expect(Tok::left_paren, "'('");
  list_until(Tok::right_paren, "')'", [&] { out.push_back(type()); });
  return out;
}

FunctionType Parser::function_type() {
  FunctionType out;
  out.inputs = parenthesized_types();
  expect(Tok::arrow, "'->'");
  if (at(Tok::left_paren))
    out.results = parenthesized_types();
  else
    out.results.push_back(type());
  return out;
}

}  // namespace ullage::syntax
