// Attributes: any value to a tree (attribute_value.h), dictionaries, and the texts of those that
// are only kept.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "syntax/parser.h"

namespace ullage::syntax {

// Aliases may stand for texts that use aliases; what all uses together expand to must stay small.
static constexpr size_t kMaxAliasText = 16 << 20;

std::string_view kind_name(AttrValue::Kind kind) {
  using Kind = AttrValue::Kind;
  switch (kind) {
    case Kind::unit:
      return "a unit attribute";
    case Kind::boolean:
      return "a boolean";
    case Kind::integer:
      return "an integer";
    case Kind::floating:
      return "a floating-point number";
    case Kind::string:
      return "a string";
    case Kind::symbol:
      return "a symbol";
    case Kind::keyword:
      return "a keyword";
    case Kind::integers:
      return "a list of integers";
    case Kind::array:
      return "a list";
    case Kind::dictionary:
      return "a dictionary";
    case Kind::structure:
      return "a structure";
    case Kind::literal:
      return "a constant";
    case Kind::convolution:
      return "convolution dimension numbers";
    case Kind::type:
      return "a type";
    case Kind::opaque:
      return "another attribute";
  }
  return "an attribute";
}

int64_t Parser::integer() {
  Position where = token_.at;
  bool negative = accept(Tok::minus);
  if (!at(Tok::integer)) {
    unexpected("an integer");
    return 0;
  }
  std::string_view digits = token_.text;
  int base = 10;
  if (digits.starts_with("0x")) {
    base = 16;
    digits.remove_prefix(2);
  }
  uint64_t magnitude = 0;
  auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  uint64_t limit = negative ? uint64_t{1} << 63 : (base == 16 ? UINT64_MAX : INT64_MAX);
  if (code != std::errc() || magnitude > limit) {
    fail(where,
         fmt::format("the integer {}{} does not fit 64 bits", negative ? "-" : "", token_.text));
    return 0;
  }
  advance();
  return static_cast<int64_t>(negative ? uint64_t{0} - magnitude : magnitude);
}

Dims Parser::integer_list() {
  Dims out;
  expect(Tok::left_bracket, "'['");
  list_until(Tok::right_bracket, "']'", [&] { out.push_back(integer()); });
  return out;
}

AttrValue Parser::integers_value() {
  AttrValue value;
  value.kind = AttrValue::Kind::integers;
  value.at = token_.at;
  value.integers = integer_list();
  return value;
}

std::string Parser::symbol_name() {
  if (!at(Tok::symbol)) {
    unexpected("a name such as @main");
    return {};
  }
  std::string_view text = token_.text.substr(1);
  std::string out = text.starts_with('"') ? unescape(text) : std::string(text);
  advance();
  return out;
}

std::string Parser::string_value() {
  if (!at(Tok::string)) {
    unexpected("a string");
    return {};
  }
  std::string out = unescape(token_.text);
  advance();
  return out;
}

AttrValue Parser::attribute() {
  Nesting nesting(*this);
  if (failed_) return {};
  size_t begin = token_.offset;
  Position where = token_.at;
  AttrValue value = attribute_body();
  value.at = where;
  value.begin = begin;
  value.end = previous_end_;
  return value;
}

AttrValue Parser::attribute_body() {
  using Kind = AttrValue::Kind;
  AttrValue value;
  switch (token_.kind) {
    case Tok::integer:
    case Tok::floating:
    case Tok::minus:
      return number_attribute(true);
    case Tok::left_bracket:
      return array_attribute();
    case Tok::hash:
      return dialect_attribute();
    case Tok::string:
      value.kind = Kind::string;
      value.text = string_value();
      if (accept(Tok::colon)) type();
      return value;
    case Tok::symbol:
      value.kind = Kind::symbol;
      value.text = symbol_name();
      while (accept(Tok::double_colon)) value.text += "::" + symbol_name();
      return value;
    case Tok::left_brace:
      value.kind = Kind::dictionary;
      dictionary(value.entries);
      return value;
    case Tok::left_paren:
      value.kind = Kind::type;
      value.types = std::make_shared<const FunctionType>(function_type());
      return value;
    case Tok::bang:
      value.kind = Kind::type;
      type();
      return value;
    case Tok::word:
      break;
    default:
      unexpected("an attribute");
      return value;
  }
  std::string_view word = token_.text;
  if (word == "true" || word == "false") {
    value.kind = Kind::boolean;
    value.integer = word == "true";
    advance();
  } else if (word == "dense") {
    value.kind = Kind::literal;
    value.literal = std::make_shared<const Literal>(dense_literal(true));
  } else if (word == "array") {
    return dense_array_attribute();
  } else if (word == "unit") {
    advance();
  } else if (word == "tensor" || word == "tuple") {
    value.kind = Kind::type;
    type();
  } else if (word == "loc") {
    value.kind = Kind::opaque;
    location_reference();
  } else if (word == "dense_resource") {
    fail(token_.at, "constants kept in a resource section are not supported",
         "print the program with its constants in place (dense<\"0x...\">)");
  } else if (word == "sparse" || word == "opaque" || word == "affine_map" || word == "strided") {
    fail(token_.at, fmt::format("{} attributes are not supported", word));
  } else {  // an element type or a bare keyword
    value.kind =
        dtype_from_name(word) || word == "index" || word == "none" ? Kind::type : Kind::keyword;
    value.text = word;
    advance();
  }
  return value;
}

AttrValue Parser::number_attribute(bool typed) {
  AttrValue value;
  Position where = token_.at;
  value.at = where;
  bool negative = at(Tok::minus);
  if (negative) {
    Lexer ahead = lexer_;
    if (ahead.next().kind == Tok::floating) advance();
  }
  if (at(Tok::floating)) {
    value.kind = AttrValue::Kind::floating;
    std::string_view text = token_.text;
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value.floating);
    if (code != std::errc()) fail(where, fmt::format("the number {} is out of range", text));
    if (negative) value.floating = -value.floating;
    advance();
  } else {
    value.kind = AttrValue::Kind::integer;
    value.integer = integer();
  }
  if (!typed || !accept(Tok::colon)) return value;
  value.word = std::string(token_.text);  // the type's name
  Position type_at = token_.at;
  if (!at(Tok::word)) {
    unexpected("the type of this number");
    return value;
  }
  if (at_word("index")) {
    advance();
    return value;
  }
  DType dtype = dtype_word(false);
  if (failed_ || value.kind == AttrValue::Kind::floating) return value;
  if (is_float(dtype)) {  // a bit pattern
    value.kind = AttrValue::Kind::floating;
    if (dtype == DType::f64) {
      std::memcpy(&value.floating, &value.integer, 8);
    } else if (dtype == DType::f32) {
      auto bits = static_cast<uint32_t>(value.integer);
      float single;
      std::memcpy(&single, &bits, 4);
      value.floating = static_cast<double>(single);
    } else {
      fail(type_at,
           fmt::format("a number of type {} cannot be written as an integer", name(dtype)));
    }
    return value;
  }
  int bits = bit_width(dtype);
  bool fits = bits == 64
                  ? !(is_unsigned_int(dtype) && negative)
                  : value.integer < (int64_t{1} << bits) &&
                        value.integer >= (is_unsigned_int(dtype) ? 0 : -(int64_t{1} << (bits - 1)));
  if (!fits) fail(where, fmt::format("{} is out of the range of {}", value.integer, name(dtype)));
  return value;
}

AttrValue Parser::array_attribute() {
  AttrValue value;
  advance();
  bool integers = true;
  list_until(Tok::right_bracket, "']'", [&] {
    AttrValue element = attribute();
    integers &= element.kind == AttrValue::Kind::integer;
    value.elements.push_back(std::move(element));
  });
  value.kind = integers ? AttrValue::Kind::integers : AttrValue::Kind::array;
  if (!integers) return value;
  for (const AttrValue& element : value.elements) value.integers.push_back(element.integer);
  value.elements.clear();
  return value;
}

// array<i64: 1, 2>, array<i1: true, false>, array<i64>
AttrValue Parser::dense_array_attribute() {
  AttrValue value;
  advance();
  expect(Tok::less, "'<'");
  Position where = token_.at;
  DType dtype = dtype_word(false);
  value.kind = AttrValue::Kind::integers;
  if (accept(Tok::colon)) {
    list_until(Tok::greater, "'>'", [&] {
      AttrValue element;
      if (at_word("true") || at_word("false")) {
        element.integer = at_word("true");
        advance();
      } else if (is_float(dtype)) {
        element = number_attribute(false);
        value.kind = AttrValue::Kind::opaque;
      } else {
        element.integer = integer();
      }
      value.integers.push_back(element.integer);
    });
    return value;
  }
  if (!failed_ && !at(Tok::greater)) fail(where, "expected ':' and the elements of the array");
  expect(Tok::greater, "'>'");
  return value;
}

// From an opening bracket, which is the current token, to its partner.
void Parser::skip_balanced() {
  std::string open;
  do {
    char close = 0;
    switch (token_.kind) {
      case Tok::less:
        open += '>';
        break;
      case Tok::left_paren:
        open += ')';
        break;
      case Tok::left_bracket:
        open += ']';
        break;
      case Tok::left_brace:
        open += '}';
        break;
      case Tok::greater:
        close = '>';
        break;
      case Tok::right_paren:
        close = ')';
        break;
      case Tok::right_bracket:
        close = ']';
        break;
      case Tok::right_brace:
        close = '}';
        break;
      case Tok::end:
        unexpected("the end of this attribute");
        return;
      case Tok::hash: {
        auto alias = attribute_aliases_.find(token_.text);
        if (alias != attribute_aliases_.end()) use_alias(token_, source_text(alias->second));
        break;
      }
      default:
        break;
    }
    if (close) {
      if (open.back() != close) {
        unexpected(fmt::format("'{}'", open.back()));
        return;
      }
      open.pop_back();
    }
    advance();
  } while (!failed_ && !open.empty());
}

// name = value, name = value: the fields of #stablehlo.gather<...> and its like.
void Parser::structure_fields(AttrValue& value, Tok close, std::string_view close_text) {
  value.kind = AttrValue::Kind::structure;
  list_until(close, close_text, [&] {
    AttrEntry field;
    field.at = token_.at;
    if (!at(Tok::word)) {
      unexpected("a field name");
      return;
    }
    field.name = token_.text;
    advance();
    if (accept(Tok::equal)) field.value = attribute();
    value.entries.push_back(std::move(field));
  });
}

static bool has_fields(std::string_view name) {
  constexpr std::string_view kNames[] = {"gather",
                                         "scatter",
                                         "dot",
                                         "dot_algorithm",
                                         "channel_handle",
                                         "ragged_dot",
                                         "output_operand_alias"};
  size_t dot = name.find('.');
  std::string_view dialect = name.substr(0, dot);
  if (dialect != "stablehlo" && dialect != "chlo" && dialect != "mhlo") return false;
  return std::find(std::begin(kNames), std::end(kNames), name.substr(dot + 1)) != std::end(kNames);
}

AttrValue Parser::dialect_attribute() {
  using Kind = AttrValue::Kind;
  AttrValue value;
  Token name = token_;
  std::string_view bare = name.text.substr(1);
  auto alias = attribute_aliases_.find(name.text);
  if (alias != attribute_aliases_.end()) {
    use_alias(name, source_text(alias->second));
    advance();
    return failed_ ? AttrValue{} : alias->second;
  }
  advance();
  if (!at(Tok::less)) {
    if (bare.find('.') == std::string_view::npos)
      fail(name.at, fmt::format("unknown attribute alias '{}'", name.text),
           "define it before the module");
    value.kind = Kind::opaque;
    return value;
  }
  value.word = bare;
  if (bare == "stablehlo" || bare == "chlo" || bare == "mhlo") {
    Lexer ahead = lexer_;
    Token word = ahead.next(), keyword = ahead.next(), close = ahead.next();
    if (word.kind == Tok::word && keyword.kind == Tok::word && close.kind == Tok::greater) {
      value.kind = Kind::keyword;
      value.word = word.text;
      value.text = keyword.text;
      for (int i = 0; i < 4; ++i) advance();
      return value;
    }
  } else if (bare == "stablehlo.conv" || bare == "mhlo.conv") {
    advance();
    if (accept_word("raw")) {
      structure_fields(value, Tok::greater, "'>'");
      return value;
    }
    value.kind = Kind::convolution;
    value.convolution = std::make_shared<const ConvolutionDimensionNumbers>(convolution_dims());
    expect(Tok::greater, "'>'");
    return value;
  } else if (has_fields(bare)) {
    advance();
    structure_fields(value, Tok::greater, "'>'");
    return value;
  }
  value.kind = Kind::opaque;
  skip_balanced();
  return value;
}

// [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
ConvolutionDimensionNumbers Parser::convolution_dims() {
  ConvolutionDimensionNumbers out;
  auto side = [&](std::string_view first, std::string_view second, int64_t& first_dim,
                  int64_t& second_dim, Dims& spatial) {
    Position where = token_.at;
    first_dim = second_dim = -1;
    std::vector<std::pair<int64_t, int64_t>> order;  // spatial number, dimension
    int64_t dim = 0;
    expect(Tok::left_bracket, "'['");
    list_until(Tok::right_bracket, "']'", [&] {
      if (at_word(first) && first_dim < 0) {
        first_dim = dim;
        advance();
      } else if (at_word(second) && second_dim < 0) {
        second_dim = dim;
        advance();
      } else if (at(Tok::integer)) {
        order.emplace_back(integer(), dim);
      } else if (!accept(Tok::question)) {
        unexpected(fmt::format("'{}', '{}' or the number of a spatial dimension", first, second));
      }
      ++dim;
    });
    if (failed_) return;
    std::sort(order.begin(), order.end());
    bool complete = first_dim >= 0 && second_dim >= 0;
    for (size_t i = 0; i < order.size(); ++i) {
      complete &= order[i].first == static_cast<int64_t>(i);
      spatial.push_back(order[i].second);
    }
    if (!complete)
      fail(where, "these dimension numbers are incomplete",
           fmt::format("name '{}', '{}' and each spatial dimension from 0 once", first, second));
  };
  Position where = token_.at;
  side("b", "f", out.input_batch, out.input_feature, out.input_spatial);
  expect_word("x");
  side("i", "o", out.kernel_input_feature, out.kernel_output_feature, out.kernel_spatial);
  expect(Tok::arrow, "'->'");
  side("b", "f", out.output_batch, out.output_feature, out.output_spatial);
  if (!failed_ && (out.input_spatial.size() != out.kernel_spatial.size() ||
                   out.input_spatial.size() != out.output_spatial.size()))
    fail(where, fmt::format("the numbers of spatial dimensions differ: {} of the input, {} of the "
                            "kernel, {} of the output",
                            out.input_spatial.size(), out.kernel_spatial.size(),
                            out.output_spatial.size()));
  return out;
}

std::string Parser::attribute_name() {
  std::string out;
  if (at(Tok::string)) return string_value();
  if (!at(Tok::word)) {
    unexpected("an attribute name");
    return out;
  }
  out = token_.text;
  advance();
  return out;
}

void Parser::dictionary(AttrDict& out) {
  Nesting nesting(*this);
  expect(Tok::left_brace, "'{'");
  size_t first = out.size();
  list_until(Tok::right_brace, "'}'", [&] {
    AttrEntry entry;
    entry.at = token_.at;
    entry.value.at = token_.at;
    entry.name = attribute_name();
    for (const AttrEntry& other : out) {
      if (other.name != entry.name || failed_) continue;
      fail(entry.at, fmt::format("the attribute '{}' is given twice", entry.name));
      return;
    }
    if (accept(Tok::equal)) entry.value = attribute();
    if (out.size() - first > 1000) fail(entry.at, "this dictionary has more than 1000 attributes");
    out.push_back(std::move(entry));
  });
}

NamedAttributes Parser::kept(const AttrDict& dict) const {
  NamedAttributes out;
  for (const AttrEntry& entry : dict)
    if (!entry.used) out.push_back({entry.name, source_text(entry.value)});
  return out;
}

void Parser::use_alias(const Token& name, std::string text) {
  alias_text_size_ += text.size();
  if (alias_text_size_ > kMaxAliasText) {
    fail(name.at, fmt::format("the aliases expand to more than {} bytes", kMaxAliasText));
    return;
  }
  alias_uses_.push_back({name.offset, name.offset + name.text.size(), std::move(text)});
}

std::string Parser::source_text(size_t begin, size_t end) const {
  std::string out;
  auto use = std::lower_bound(alias_uses_.begin(), alias_uses_.end(), begin,
                              [](const AliasUse& a, size_t offset) { return a.begin < offset; });
  while (use != alias_uses_.end() && use->end <= end) {
    out += lexer_.text().substr(begin, use->begin - begin);
    out += use->text;
    begin = use->end;
    ++use;
  }
  out += lexer_.text().substr(begin, end - begin);
  return out;
}

}  // namespace ullage::syntax
