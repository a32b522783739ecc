// Texts of attributes that Ullage keeps but does not interpret, spelled as MLIR spells them, so
// that a program has the same ones whether it was read from bytecode or from text.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "syntax/bytecode_reader.h"
#include "syntax/float_formats.h"
#include "syntax/lexer.h"

namespace ullage::syntax {

namespace {

// Constants of more elements are written as hexadecimal bytes.
constexpr int64_t kMaxListedElements = 100;

struct Decimal {
  std::string digits;  // without trailing zeros, the first before the point
  int exponent = 0;
};

// The value to `precision` digits as LLVM takes them: the exact digits are first cut to about as
// many as the precision's bits, and only those that are left beyond it are rounded.
Decimal llvm_digits(double value, int precision) {
  constexpr int kMostDigits = 767;  // of a double
  const std::string exact = fmt::format("{:.{}e}", std::abs(value), kMostDigits);
  Decimal out;
  const size_t e = exact.find('e');
  out.exponent = std::atoi(exact.c_str() + e + 1);
  out.digits = exact.substr(0, 1) + exact.substr(2, e - 2);
  auto strip = [&] { out.digits.erase(out.digits.find_last_not_of('0') + 1); };
  strip();
  if (out.digits.empty()) return {"0", 0};
  // LLVM holds an integer: the value itself, or its product with a power of ten.
  int exponent = 0;
  int64_t mantissa = static_cast<int64_t>(std::ldexp(std::frexp(std::abs(value), &exponent), 53));
  exponent -= 53;
  for (; (mantissa & 1) == 0; mantissa >>= 1) ++exponent;
  const bool whole = exponent >= 0;
  const int bits = whole
                       ? std::ilogb(value) + 1
                       : static_cast<int>(std::floor(std::log2(static_cast<long double>(mantissa)) -
                                                     exponent * std::log2(5.0L))) +
                             1;
  const int held = whole ? out.exponent + 1 : static_cast<int>(out.digits.size());
  const int needed = (precision * 196 + 58) / 59;
  const int left = held - (bits > needed ? (bits - needed) * 59 / 196 : 0);
  if (left < static_cast<int>(out.digits.size())) out.digits.resize(static_cast<size_t>(left));
  const auto most = static_cast<size_t>(precision);
  if (out.digits.size() > most) {
    const bool up = out.digits[most] >= '5';
    out.digits.resize(most);
    size_t at = most;
    while (up && at > 0 && out.digits[at - 1] == '9') out.digits[--at] = '0';
    if (up && at > 0) {
      ++out.digits[at - 1];
    } else if (up) {
      out.digits = "1";
      ++out.exponent;
    }
  }
  strip();
  return out;
}

// Six digits where they are enough, else as many as the format can hold.
std::string real_text(DType dtype, uint64_t bits) {
  const std::string hexadecimal =
      fmt::format("0x{:0{}X}", bits, static_cast<size_t>(storage_bytes(dtype)) * 2);
  if (!is_finite(dtype, bits)) return hexadecimal;
  const double value = float_value(dtype, bits);
  const std::string_view sign = std::signbit(value) ? "-" : "";
  constexpr int kShort = 6;
  Decimal d = llvm_digits(value, kShort);
  std::string out = fmt::format("{}{}.{:0<{}}e{}{:02}", sign, d.digits[0], d.digits.substr(1),
                                kShort, d.exponent < 0 ? '-' : '+', std::abs(d.exponent));
  if (float_bits(dtype, std::strtod(out.c_str(), nullptr)) == bits) return out;
  const int significand = dtype == DType::f64    ? 53
                          : dtype == DType::f32  ? 24
                          : dtype == DType::f16  ? 11
                          : dtype == DType::bf16 ? 8
                                                 : 4;
  constexpr int kMostZeros = 3;
  d = llvm_digits(value, 2 + significand * 59 / 196);
  const auto count = static_cast<int>(d.digits.size());
  if (d.exponent < -kMostZeros || d.exponent >= count + kMostZeros)
    return fmt::format("{}{}.{}E{}{}", sign, d.digits[0], count > 1 ? d.digits.substr(1) : "0",
                       d.exponent < 0 ? '-' : '+', std::abs(d.exponent));
  if (d.exponent < 0)
    return fmt::format("{}0.{}{}", sign, std::string(static_cast<size_t>(-d.exponent - 1), '0'),
                       d.digits);
  if (d.exponent + 1 >= count) return hexadecimal;  // a whole number has no point
  const auto before = static_cast<size_t>(d.exponent + 1);
  return fmt::format("{}{}.{}", sign, d.digits.substr(0, before), d.digits.substr(before));
}

std::string element_text(const Literal& literal, int64_t index) {
  const DType dtype = literal.type.dtype;
  auto real = [](DType part, const std::byte* at) {
    uint64_t bits = 0;
    std::memcpy(&bits, at, static_cast<size_t>(storage_bytes(part)));
    return real_text(part, bits);
  };
  const std::byte* at = literal.element(index);
  if (is_complex(dtype)) {
    const DType part = real_part(dtype);
    return fmt::format("({},{})", real(part, at), real(part, at + storage_bytes(part)));
  }
  if (is_float(dtype)) return real(dtype, at);
  if (dtype == DType::i1) return literal.int_at(index) != 0 ? "true" : "false";
  if (is_unsigned_int(dtype))
    return fmt::format("{}", static_cast<uint64_t>(literal.int_at(index)));
  return fmt::format("{}", literal.int_at(index));
}

void append_list(std::string& out, const Literal& literal, size_t dim, int64_t& index) {
  out += '[';
  for (int64_t i = 0; i < literal.type.shape[dim]; ++i) {
    if (i) out += ", ";
    if (dim + 1 == literal.type.shape.size())
      out += element_text(literal, index++);
    else
      append_list(out, literal, dim + 1, index);
  }
  out += ']';
}

}  // namespace

const std::string& BytecodeReader::text(uint32_t attribute) {
  static const std::string none;
  if (failed()) return none;
  auto known = texts_.find(attribute);
  if (known != texts_.end()) return known->second;
  Nesting nesting(*this, container_.attributes[attribute].begin);
  if (failed()) return none;
  std::string read = read_text(attribute);
  if (failed() || !expand(read.size())) return none;
  return texts_.emplace(attribute, std::move(read)).first->second;
}

std::string BytecodeReader::type_text(uint32_t index) {
  using Kind = BytecodeType::Kind;
  if (failed()) return {};
  Nesting nesting(*this, container_.types[index].begin);  // function types may contain themselves
  const BytecodeType& found = type(index);
  if (failed()) return {};
  auto list = [&](const std::vector<uint32_t>& types) {
    std::string out;
    for (uint32_t part : types) {
      out += (out.empty() ? "" : ", ") + type_text(part);
      if (!expand(out.size())) break;
    }
    return out;
  };
  switch (found.kind) {
    case Kind::element: {
      Type scalar = found.type;
      std::string text = to_string(scalar);  // tensor<f32>
      return text.substr(7, text.size() - 8);
    }
    case Kind::index:
      return "index";
    case Kind::none:
      return "none";
    case Kind::tf32:
      return "tf32";
    case Kind::function: {
      const std::string results = list(found.results);
      const bool one = found.results.size() == 1;
      return fmt::format("({}) -> {}{}{}", list(found.inputs), one ? "" : "(", results,
                         one ? "" : ")");
    }
    case Kind::tensor: {
      std::string text = to_string(found.type);
      if (found.of_index) text.replace(text.rfind("i64"), 3, "index");
      return text;
    }
    default:
      return to_string(found.type);
  }
}

std::string BytecodeReader::literal_text(uint32_t attribute, uint32_t type) {
  const Literal& found = literal(attribute, {"constant", "an attribute"});
  if (failed()) return {};
  const int64_t count = found.type.num_elements();
  std::string out = "dense<";
  if (count != 0 && (found.splat || found.type.rank() == 0)) {
    out += element_text(found, 0);
  } else if (count > kMaxListedElements) {
    out += "\"0x";
    for (std::byte byte : *found.bytes) out += fmt::format("{:02X}", static_cast<uint8_t>(byte));
    out += '"';
  } else if (count != 0) {
    int64_t index = 0;
    append_list(out, found, 0, index);
  }
  return out + "> : " + type_text(type);
}

size_t BytecodeReader::dictionary_size(Cursor& c) {
  const size_t at = c.offset();
  const size_t count = c.count("the number of a dictionary's entries");
  constexpr size_t kMost = 1000;
  if (count > kMost) fail(at, fmt::format("this dictionary has more than {} attributes", kMost));
  return count;
}

// The next name of a dictionary, which none of those before it may be.
std::string_view BytecodeReader::dictionary_key(Cursor& c, std::vector<std::string_view>& keys) {
  const size_t at = c.offset();
  const uint32_t name = attribute_index(c, "the name of an entry");
  if (failed()) return {};
  std::string_view key = string(name, {"name", "a dictionary"});
  if (std::find(keys.begin(), keys.end(), key) != keys.end())
    fail(at, fmt::format("the attribute '{}' is given twice", key));
  keys.push_back(key);
  return key;
}

std::string BytecodeReader::dictionary_text(Cursor& c) {
  std::string out = "{";
  std::vector<std::string_view> keys;
  const size_t count = dictionary_size(c);
  for (size_t i = 0; i < count && !failed(); ++i) {
    const std::string_view key = dictionary_key(c, keys);
    const uint32_t value = attribute_index(c, "the value of an entry");
    if (failed()) break;
    const std::string& shown = text(value);
    out += (i ? ", " : "") + attribute_name_text(key);
    if (shown != "unit") out += " = " + shown;
    if (!expand(key.size() + shown.size())) break;
  }
  return out + "}";
}

std::string BytecodeReader::read_text(uint32_t attribute) {
  using K = AttrKind;
  OpenAttr opened = open(attribute);
  Cursor& c = opened.fields;
  if (failed()) return {};
  std::string out;
  switch (opened.kind) {
    case K::unit:
      out = "unit";
      break;
    case K::boolean:
      return boolean(attribute, {"boolean", "an attribute"}) ? "true" : "false";
    case K::integer: {
      const int64_t value = integer(attribute, {"integer", "an attribute"});
      const uint32_t of = type_index(c, "the type of an integer");
      if (failed()) return {};
      const DType dtype = type(of).type.dtype;
      if (dtype == DType::i1) return value != 0 ? "true" : "false";
      return is_unsigned_int(dtype)
                 ? fmt::format("{} : {}", static_cast<uint64_t>(value), type_text(of))
                 : fmt::format("{} : {}", value, type_text(of));
    }
    case K::floating: {
      const double value = floating(attribute, {"number", "an attribute"});
      const uint32_t of = type_index(c, "the type of a number");
      if (failed()) return {};
      const DType dtype = type(of).type.dtype;
      return fmt::format("{} : {}", real_text(dtype, float_bits(dtype, value)), type_text(of));
    }
    case K::string:
      out = quote(string_at(c));
      break;
    case K::typed_string:
      out = quote(string_at(c));
      out += " : " + type_text(type_index(c, "the type of a string"));
      break;
    case K::flat_symbol: {
      const uint32_t name = attribute_index(c, "the name of a symbol");
      if (!failed()) out = symbol_text(string(name, {"name", "a symbol"}));
      break;
    }
    case K::symbol: {
      const uint32_t name = attribute_index(c, "the name of a symbol");
      if (!failed()) out = symbol_text(string(name, {"name", "a symbol"}));
      const size_t count = c.count("the number of nested names");
      for (size_t i = 0; i < count && !failed(); ++i) {
        const uint32_t nested = attribute_index(c, "a nested name");
        if (!failed()) out += "::" + text(nested);
        if (!expand(out.size())) break;
      }
      break;
    }
    case K::type: {
      const uint32_t of = type_index(c, "a type");
      if (!failed()) out = type_text(of);
      break;
    }
    case K::array: {
      out = "[";
      const size_t count = c.count("the number of a list's elements");
      for (size_t i = 0; i < count && !failed(); ++i) {
        const uint32_t element = attribute_index(c, "an element of a list");
        if (failed()) break;
        const std::string& shown = text(element);
        out += (i ? ", " : "") + shown;
        if (!expand(shown.size())) break;
      }
      out += "]";
      break;
    }
    case K::dictionary:
      out = dictionary_text(c);
      break;
    case K::tensor: {
      const uint32_t of = type_index(c, "the type of a constant");
      return failed() ? std::string() : literal_text(attribute, of);
    }
    case K::dense_array: {
      const size_t at = c.offset();
      const DType dtype = element_type(type_index(c, "the element type of a list"), at);
      const size_t count = c.count("the number of a list's elements");
      std::string_view blob = c.blob("the elements of a list");
      const auto width = static_cast<size_t>(storage_bytes(dtype));
      if (!failed() && blob.size() != count * width)
        fail(at,
             fmt::format("{} bytes cannot be {} elements of {}", blob.size(), count, name(dtype)));
      if (failed() || !expand(blob.size())) return {};
      const auto* begin = reinterpret_cast<const std::byte*>(blob.data());
      const Literal list = Literal::make(Type::tensor(dtype, {static_cast<int64_t>(count)}),
                                         std::vector<std::byte>(begin, begin + blob.size()));
      out = fmt::format("array<{}", name(dtype));
      for (size_t i = 0; i < count; ++i)
        out += (i ? ", " : ": ") + element_text(list, static_cast<int64_t>(i));
      out += ">";
      break;
    }
    case K::result_accuracy:
      out = result_accuracy_text(c);
      break;
    case K::sdy_manual_axes:
    case K::sdy_mesh_axis:
    case K::sdy_mesh:
    case K::sdy_sub_axis:
    case K::sdy_axis:
    case K::sdy_dimension:
    case K::sdy_sharding:
    case K::sdy_sharding_unreduced:
    case K::sdy_sharding_reduction:
    case K::sdy_per_value:
    case K::sdy_dimension_mapping:
    case K::sdy_tensor_mapping:
    case K::sdy_rule:
    case K::sdy_axis_list:
    case K::sdy_axis_lists:
    case K::sdy_all_to_all:
    case K::sdy_all_to_alls:
      return shardy_text(opened);
    default:
      fail(opened.at, fmt::format("{} cannot stand here", kind_name(opened.kind)));
  }
  c.expect_end("this attribute");
  return out;
}

namespace {

struct Accuracy {
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
  uint32_t mode = 0;
};

}  // namespace

static Accuracy read_accuracy(BytecodeReader& reader, Cursor& c) {
  Accuracy out;
  out.atol = std::bit_cast<double>(c.integer("an absolute tolerance", 64));
  out.rtol = std::bit_cast<double>(c.integer("a relative tolerance", 64));
  out.ulps = c.svarint("a tolerance in units of the last place");
  out.mode = reader.attribute_index(c, "the mode of an accuracy");
  return out;
}

constexpr std::string_view kAccuracyWords[] = {"DEFAULT", "HIGHEST", "TOLERANCE"};

bool BytecodeReader::is_default_accuracy(uint32_t attribute, AttrOwner owner) {
  std::optional<OpenAttr> opened = open(attribute, AttrKind::result_accuracy, owner);
  if (!opened) return true;
  const Accuracy accuracy = read_accuracy(*this, opened->fields);
  if (failed()) return true;
  return accuracy.atol == 0 && accuracy.rtol == 0 && accuracy.ulps == 0 &&
         enumerated(accuracy.mode, AttrKind::accuracy_mode, owner) == 0;
}

// #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>
std::string BytecodeReader::result_accuracy_text(Cursor& c) {
  const Accuracy accuracy = read_accuracy(*this, c);
  if (failed()) return {};
  const uint64_t mode =
      enumerated(accuracy.mode, AttrKind::accuracy_mode, {"mode", "result_accuracy"});
  if (failed()) return {};
  if (mode >= std::size(kAccuracyWords)) {
    c.fail(container_.attributes[accuracy.mode].begin,
           fmt::format("expected a mode of accuracy, found {}", mode));
    return {};
  }
  auto real = [](double value) { return real_text(DType::f64, std::bit_cast<uint64_t>(value)); };
  std::string out;
  if (accuracy.atol != 0) out += fmt::format("atol = {}, ", real(accuracy.atol));
  if (accuracy.rtol != 0) out += fmt::format("rtol = {}, ", real(accuracy.rtol));
  if (accuracy.ulps != 0) out += fmt::format("ulps = {}, ", accuracy.ulps);
  return fmt::format("#stablehlo.result_accuracy<{}mode = #stablehlo.result_accuracy_mode<{}>>",
                     out, kAccuracyWords[mode]);
}

// The entries of a dictionary as they are kept; a unit attribute has no text.
NamedAttributes BytecodeReader::kept(uint32_t dictionary, AttrOwner owner) {
  NamedAttributes out;
  std::optional<OpenAttr> opened = open(dictionary, AttrKind::dictionary, owner);
  if (!opened) return out;
  std::vector<std::string_view> keys;
  const size_t count = dictionary_size(opened->fields);
  for (size_t i = 0; i < count && !failed(); ++i) {
    NamedAttribute entry;
    entry.name = dictionary_key(opened->fields, keys);
    const uint32_t value = attribute_index(opened->fields, "the value of an entry");
    if (failed()) break;
    const std::string& shown = text(value);
    if (shown != "unit") entry.text = shown;
    if (!expand(entry.text.size() + sizeof entry)) break;
    out.push_back(std::move(entry));
  }
  opened->fields.expect_end("this dictionary");
  return out;
}

}  // namespace ullage::syntax
