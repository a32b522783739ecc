// Constants: lists of numbers while they are short, hexadecimal bytes beyond that.
#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "syntax/float_formats.h"
#include "syntax/printer.h"

namespace ullage {

namespace syntax {

static uint64_t bits_at(const std::byte* at, size_t width) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, width);
  return bits;
}

// The shortest decimal that reads back as the same bits; a bit pattern when there is none
// (infinities and NaNs).
static std::string real_text(DType dtype, const std::byte* at) {
  const auto width = static_cast<size_t>(storage_bytes(dtype));
  uint64_t bits = bits_at(at, width);
  if (is_finite(dtype, bits)) {
    double value = float_value(dtype, bits);
    // Numbers of 32 bits and fewer are shorter as float; they are read as double and rounded, so
    // look whether that holds.
    const bool as_float = !overflows(DType::f32, value);
    for (const std::string& text :
         {as_float ? decimal(static_cast<float>(value)) : decimal(value), decimal(value)}) {
      double back = 0;
      std::from_chars(text.data(), text.data() + text.size(), back);
      if (float_bits(dtype, back) == bits) return text;
    }
  }
  return fmt::format("0x{:0{}X}", bits, width * 2);
}

static void append_element(std::string& out, const Literal& literal, int64_t index) {
  const DType dtype = literal.type.dtype;
  const std::byte* at = literal.element(index);
  if (is_complex(dtype)) {
    DType part = real_part(dtype);
    out += fmt::format("({},{})", real_text(part, at), real_text(part, at + storage_bytes(part)));
  } else if (is_float(dtype)) {
    out += real_text(dtype, at);
  } else if (dtype == DType::i1) {
    out += *at != std::byte{0} ? "true" : "false";
  } else if (is_unsigned_int(dtype)) {
    out += fmt::format("{}", static_cast<uint64_t>(literal.int_at(index)));
  } else {
    out += fmt::format("{}", literal.int_at(index));
  }
}

static void append_list(std::string& out, const Literal& literal, size_t dim, int64_t& index) {
  out += '[';
  for (int64_t i = 0; i < literal.type.shape[dim]; ++i) {
    if (i) out += ", ";
    if (dim + 1 == literal.type.shape.size())
      append_element(out, literal, index++);
    else
      append_list(out, literal, dim + 1, index);
  }
  out += ']';
}

std::string literal_text(const Literal& literal, const WriteOptions& options) {
  const Type& type = literal.type;
  const int64_t count = type.num_elements();
  std::string suffix = "> : " + to_string(type);
  if (count == 0) return "dense<" + suffix;
  std::string out = "dense<";
  if (literal.splat || type.rank() == 0) {
    append_element(out, literal, 0);
    return out + suffix;
  }
  if (options.elide_elements >= 0 && count > options.elide_elements)
    return "dense_resource<__elided__" + suffix;
  if (count <= options.list_elements) {
    int64_t index = 0;
    append_list(out, literal, 0, index);
    return out + suffix;
  }
  constexpr char kDigits[] = "0123456789ABCDEF";
  const int bits = bit_width(type.dtype);
  const auto mask = static_cast<uint8_t>(bits < 8 ? (1 << bits) - 1 : 0xFF);
  out += "\"0x";
  size_t at = out.size();
  out.resize(at + 2 * literal.bytes->size());
  for (std::byte byte : *literal.bytes) {
    auto value = static_cast<uint8_t>(static_cast<uint8_t>(byte) & mask);
    out[at++] = kDigits[value >> 4];
    out[at++] = kDigits[value & 15];
  }
  return out + "\"" + suffix;
}

}  // namespace syntax

std::string write_text(const Literal& literal, const WriteOptions& options) {
  return syntax::literal_text(literal, options);
}

}  // namespace ullage
