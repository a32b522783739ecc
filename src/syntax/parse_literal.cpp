// Constants: dense<...> : type. The type comes last, so the body is first skipped, then read
// straight into one buffer of bytes: a constant of many megabytes passes through no tokens and no
// intermediate values.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>

#include "syntax/float_formats.h"
#include "syntax/parser.h"

namespace ullage::syntax {

namespace {

struct Wrong {
  size_t offset = 0;
  std::string message, help;
};

// Reads the characters between dense< and >.
class DenseBody {
 public:
  DenseBody(std::string_view text, size_t begin, size_t end, const Type& type)
      : text_(text),
        at_(begin),
        end_(end),
        type_(type),
        width_(static_cast<size_t>(storage_bytes(type.dtype))) {}

  // Fills `bytes` and says whether it is a splat; on failure `wrong` has a message.
  bool read(std::vector<std::byte>& bytes, bool& splat, Wrong& wrong);

 private:
  void blank() {
    while (at_ < end_) {
      char c = text_[at_];
      if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '/' && at_ + 1 < end_ && text_[at_ + 1] == '/') {
        at_ = std::min(text_.find('\n', at_), end_);
      } else {
        return;
      }
    }
  }
  bool take(char c) {
    blank();
    if (at_ >= end_ || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool fail(size_t offset, std::string message, std::string help = {}) {
    if (wrong_.message.empty()) wrong_ = {offset, std::move(message), std::move(help)};
    return false;
  }
  bool list(size_t dim);
  bool element();
  bool real(DType dtype);
  bool whole();
  bool hex(bool& splat);
  void put(uint64_t bits, size_t width) {
    size_t old = bytes_.size();
    bytes_.resize(old + width);
    std::memcpy(bytes_.data() + old, &bits, width);
  }

  std::string_view text_;
  size_t at_, end_;
  const Type& type_;
  size_t width_;
  std::vector<std::byte> bytes_;
  Wrong wrong_;
};

bool DenseBody::read(std::vector<std::byte>& bytes, bool& splat, Wrong& wrong) {
  size_t begin = at_;
  splat = false;
  blank();
  bool good;
  int64_t count = type_.num_elements();
  if (at_ == end_) {
    good = count == 0 || fail(begin, fmt::format("this constant is empty, but {} has {} elements",
                                                 to_string(type_), count));
  } else if (text_[at_] == '"') {
    good = hex(splat);
  } else if (text_[at_] == '[') {
    if (type_.rank() == 0) {
      good = fail(at_, fmt::format("a list cannot fill the scalar type {}", to_string(type_)),
                  "write dense<value>");
    } else {
      // An element takes two characters or more, so the text bounds what is worth reserving.
      bytes_.reserve(std::min(static_cast<size_t>(count), end_ - at_) * width_);
      good = list(0);
    }
  } else {
    good = element();
    splat = true;
    if (good && count == 0) {
      splat = false;
      bytes_.clear();
    }
  }
  blank();
  if (good && at_ != end_) good = fail(at_, "expected the end of this constant");
  bytes = std::move(bytes_);
  wrong = std::move(wrong_);
  return good;
}

bool DenseBody::list(size_t dim) {
  size_t begin = at_;
  if (!take('['))
    return fail(at_, fmt::format("expected a list for dimension {} of {}", dim, to_string(type_)));
  const int64_t extent = type_.shape[dim];
  const bool innermost = dim + 1 == type_.shape.size();
  int64_t count = 0;
  if (!take(']')) {
    do {
      blank();
      size_t where = at_;
      if (++count > extent)
        return fail(where,
                    fmt::format("this list has more than the {} elements of dimension {} of {}",
                                extent, dim, to_string(type_)));
      if (!(innermost ? element() : list(dim + 1))) return false;
    } while (take(','));
    if (!take(']'))
      return fail(at_, at_ < end_ ? "expected ',' or ']' in this list" : "this list is not closed");
  }
  if (count != extent)
    return fail(begin, fmt::format("this list has {}, but dimension {} of {} has {}",
                                   counted(static_cast<size_t>(count), "element"), dim,
                                   to_string(type_), extent));
  return true;
}

bool DenseBody::element() {
  blank();
  size_t begin = at_;
  if (is_complex(type_.dtype)) {
    DType part = real_part(type_.dtype);
    if (!take('(')) return fail(begin, "expected a complex number such as (1.0,2.0)");
    if (!real(part)) return false;
    if (!take(',')) return fail(at_, "expected ',' in this complex number");
    if (!real(part)) return false;
    return take(')') || fail(at_, "expected ')' after this complex number");
  }
  return is_float(type_.dtype) ? real(type_.dtype) : whole();
}

bool DenseBody::real(DType dtype) {
  blank();
  size_t begin = at_;
  bool negative = take('-');
  const char* first = text_.data() + at_;
  const char* last = text_.data() + end_;
  size_t width = static_cast<size_t>(storage_bytes(dtype));
  if (last - first > 2 && first[0] == '0' && first[1] == 'x') {
    uint64_t bits = 0;
    auto [end, code] = std::from_chars(first + 2, last, bits, 16);
    at_ = static_cast<size_t>(end - text_.data());
    if (negative || code != std::errc() || (bit_width(dtype) < 64 && bits >> bit_width(dtype) != 0))
      return fail(begin, fmt::format("this bit pattern does not fit {}", name(dtype)));
    put(bits, width);
    return true;
  }
  double value = 0;
  auto [end, code] = std::from_chars(first, last, value);
  std::string_view digits(first, static_cast<size_t>(end - first));
  if (end == first || !(digits[0] >= '0' && digits[0] <= '9'))
    return fail(begin, fmt::format("expected a number of type {}", name(dtype)),
                "infinities and NaNs are written as bit patterns, e.g. 0x7F800000");
  if (digits.find('.') == std::string_view::npos)
    return fail(begin, fmt::format("the integer {} is no value of type {}", digits, name(dtype)),
                fmt::format("write {}.0", digits.substr(0, digits.find_first_of("eE"))));
  at_ = static_cast<size_t>(end - text_.data());
  if (negative) value = -value;
  // from_chars reports too small numbers like too large ones; those are zero.
  bool underflow =
      code == std::errc::result_out_of_range && digits.find('-') != std::string_view::npos;
  if (underflow) value = negative ? -0.0 : 0.0;
  bool overflow = code == std::errc::result_out_of_range && !underflow;
  bool signless = dtype == DType::f8E8M0FNU;
  if (overflow || (overflows(dtype, value) && !signless) || (signless && value <= 0))
    return fail(
        begin,
        fmt::format("{}{} is out of the range of {}", negative ? "-" : "", digits, name(dtype)),
        is_float(dtype) && dtype == DType::f32 ? "infinity is written as the bit pattern 0x7F800000"
                                               : "");
  put(float_bits(dtype, value), width);
  return true;
}

bool DenseBody::whole() {
  size_t begin = at_;
  DType dtype = type_.dtype;
  for (std::string_view word : {std::string_view("true"), std::string_view("false")}) {
    if (text_.substr(at_, word.size()) != word) continue;
    if (dtype != DType::i1)
      return fail(begin, fmt::format("'{}' is no value of type {}", word, name(dtype)),
                  "write a number");
    at_ += word.size();
    put(word == "true", 1);
    return true;
  }
  bool negative = take('-');
  const char* first = text_.data() + at_;
  const char* last = text_.data() + end_;
  int base = 10;
  if (last - first > 2 && first[0] == '0' && first[1] == 'x') {
    base = 16;
    first += 2;
  }
  uint64_t magnitude = 0;
  auto [end, code] = std::from_chars(first, last, magnitude, base);
  if (end == first)
    return fail(begin,
                fmt::format("expected {} of type {}",
                            dtype == DType::i1 ? "true or false" : "an integer", name(dtype)));
  at_ = static_cast<size_t>(end - text_.data());
  if (at_ < end_ && text_[at_] == '.')
    return fail(begin, fmt::format("a number with a fraction is no value of type {}", name(dtype)));
  int bits = bit_width(dtype);
  uint64_t most = bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
  uint64_t least =
      is_unsigned_int(dtype) ? 0 : uint64_t{1} << (bits - 1);  // magnitude of the smallest number
  if (code != std::errc() || magnitude > (negative ? least : most))
    return fail(begin, fmt::format("{} is out of the range of {}", text_.substr(begin, at_ - begin),
                                   name(dtype)));
  uint64_t value = negative ? uint64_t{0} - magnitude : magnitude;
  if (dtype == DType::i1) value &= 1;
  if (is_signed_int(dtype) && bits < 8 && (value >> (bits - 1) & 1))
    value |= ~most;  // kept sign-extended in its byte
  put(value, width_);
  return true;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// "0x...": the raw bytes of all elements, or of one that stands for all. Booleans are one byte
// each; older exporters pack eight into one.
bool DenseBody::hex(bool& splat) {
  size_t begin = at_;
  size_t close = text_.find('"', at_ + 1);
  if (close == std::string_view::npos || close >= end_)
    return fail(begin, "this string is not closed");
  std::string_view digits = text_.substr(at_ + 1, close - at_ - 1);
  at_ = close + 1;
  if (!digits.starts_with("0x"))
    return fail(begin, "expected hexadecimal digits that begin with 0x");
  digits.remove_prefix(2);
  if (digits.size() % 2 != 0) return fail(begin, "an odd number of hexadecimal digits");
  bytes_.resize(digits.size() / 2);
  for (size_t i = 0; i < bytes_.size(); ++i) {
    int high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);
    if (high < 0 || low < 0) return fail(begin + 3 + 2 * i, "this is no hexadecimal digit");
    bytes_[i] = static_cast<std::byte>(high * 16 + low);
  }
  auto count = static_cast<size_t>(type_.num_elements());
  bool packed = type_.dtype == DType::i1 && bytes_.size() != count &&
                bytes_.size() == count / 8 + (count % 8 != 0);
  if (packed && bytes_.size() > 1) {
    std::vector<std::byte> unpacked(count);
    for (size_t i = 0; i < count; ++i) unpacked[i] = bytes_[i / 8] >> (i % 8) & std::byte{1};
    bytes_ = std::move(unpacked);
  } else if (bytes_.size() == width_ && count != 1) {
    splat = true;
  } else if (bytes_.size() / width_ != count || bytes_.size() % width_ != 0) {
    return fail(begin, fmt::format("{} bytes of data for {}, which takes {}", bytes_.size(),
                                   to_string(type_), count * width_));
  }
  int bits = bit_width(type_.dtype);
  if (bits >= 8) return true;
  for (std::byte& byte : bytes_) {
    auto value = static_cast<uint8_t>(byte);
    if (type_.dtype == DType::i1) {
      value = value != 0;
    } else {
      value = static_cast<uint8_t>(value & ((1 << bits) - 1));
      if (is_signed_int(type_.dtype) && (value >> (bits - 1)))
        value = static_cast<uint8_t>(value | (0xFF << bits));
    }
    byte = static_cast<std::byte>(value);
  }
  return true;
}

}  // namespace

Literal Parser::dense_literal(bool index_allowed) {
  expect_word("dense");
  if (!at(Tok::less)) {
    unexpected("'<'");
    return {};
  }
  Position open = token_.at;
  std::string_view text = lexer_.text();
  size_t begin = lexer_.offset(), end = begin;
  Position begin_at = lexer_.position();
  while (true) {
    end = text.find_first_of("\">/:", end);
    if (end == std::string_view::npos || text[end] == ':') {
      fail(open, "this constant is not closed", "write dense<...> : type");
      return {};
    }
    if (text[end] == '>') break;
    if (text[end] == '"') {
      end = text.find('"', end + 1);
      if (end == std::string_view::npos) {
        fail(open, "this constant is not closed");
        return {};
      }
      ++end;
    } else if (text.substr(end, 2) == "//") {
      end = std::min(text.find('\n', end), text.size());
    } else {
      ++end;
    }
  }
  lexer_.skip_to(end);
  advance();
  expect(Tok::greater, "'>'");
  expect(Tok::colon, "':' and the type of this constant");
  if (failed_) return {};
  Position type_at = token_.at;
  Type type = this->type(index_allowed);
  if (failed_) return {};
  if (!type.is_tensor() || !type.is_static()) {
    fail(type_at, fmt::format("a constant cannot have the type {}", to_string(type)),
         "its shape must be static");
    return {};
  }
  Wrong wrong;
  std::vector<std::byte> bytes;
  bool splat = false;
  if (!DenseBody(text, begin, end, type).read(bytes, splat, wrong)) {
    Position where = begin_at;
    size_t line_start = 0;
    for (size_t i = begin; i < wrong.offset; ++i) {
      if (text[i] != '\n') continue;
      ++where.line;
      line_start = i + 1;
    }
    where.column = line_start ? static_cast<uint32_t>(wrong.offset - line_start + 1)
                              : begin_at.column + static_cast<uint32_t>(wrong.offset - begin);
    fail(where, wrong.message, wrong.help);
    return {};
  }
  return Literal::make(std::move(type), std::move(bytes), splat);
}

}  // namespace ullage::syntax
