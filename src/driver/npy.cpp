#include "driver/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "driver/npy_header.h"

namespace ullage {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NumpyName {
  std::string_view code;  // kind and item size, after the byte order
  DType dtype;
};
constexpr NumpyName kNumpyNames[] = {{"b1", DType::i1},   {"i1", DType::i8},   {"i2", DType::i16},
                                     {"i4", DType::i32},  {"i8", DType::i64},  {"u1", DType::ui8},
                                     {"u2", DType::ui16}, {"u4", DType::ui32}, {"u8", DType::ui64},
                                     {"f2", DType::f16},  {"f4", DType::f32},  {"f8", DType::f64},
                                     {"c8", DType::c64},  {"c16", DType::c128}};

// Reads the header's Python dictionary: string keys; string, bool and tuple-of-integers values.
class HeaderScanner {
 public:
  explicit HeaderScanner(std::string_view text) : text_(text) {}

  bool eat(char c) {
    skip_blanks();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool eat(std::string_view word) {
    skip_blanks();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string_view> string() {
    skip_blanks();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return {};
    size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return {};
    std::string_view out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return out;
  }
  std::optional<int64_t> integer() {
    skip_blanks();
    int64_t value = 0;
    auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (code != std::errc()) return {};
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    eat('L');  // Python 2 wrote long integers so
    return value;
  }
  std::optional<std::vector<int64_t>> tuple() {
    if (!eat('(')) return {};
    std::vector<int64_t> out;
    while (!eat(')')) {
      std::optional<int64_t> value = integer();
      if (!value || *value < 0) return {};
      out.push_back(*value);
      if (!eat(',')) {
        if (!eat(')')) return {};
        break;
      }
    }
    return out;
  }
  bool at_end() {
    skip_blanks();
    return text_.empty();
  }

 private:
  void skip_blanks() {
    while (!text_.empty() &&
           (text_.front() == ' ' || text_.front() == '\n' || text_.front() == '\t'))
      text_.remove_prefix(1);
  }
  std::string_view text_;
};

Diagnostic bad(const std::string& name, std::string what) {
  return error(fmt::format("'{}': {}", name, what));
}

// Fills dtype and item_bytes from a descriptor such as "<f4".
Status set_element_type(std::string_view descr, NpyArray& out) {
  if (descr.size() < 3) return bad(out.name, fmt::format("'{}' is no element type", descr));
  char order = descr.front();
  std::string_view code = descr.substr(1);
  if (order == '>')
    return bad(out.name, fmt::format("big-endian element type '{}' is not supported", descr));
  int size = 0;
  auto [end, status] = std::from_chars(code.data() + 1, code.data() + code.size(), size);
  bool valid = (order == '<' || order == '|' || order == '=') && status == std::errc() &&
               end == code.data() + code.size() && size > 0;
  if (!valid) return bad(out.name, fmt::format("'{}' is no element type", descr));
  out.item_bytes = size;
  if (code.front() == 'V' && (size == 1 || size == 2)) return Ok{};
  for (const NumpyName& entry : kNumpyNames) {
    if (entry.code != code) continue;
    out.dtype = entry.dtype;
    return Ok{};
  }
  return bad(out.name, fmt::format("element type '{}' is not supported", descr));
}

Status parse_header(std::string_view header, NpyArray& out) {
  HeaderScanner scan(header);
  bool has_descr = false, has_order = false, has_shape = false;
  if (!scan.eat('{')) return bad(out.name, "its header is no dictionary");
  while (!scan.eat('}')) {
    std::optional<std::string_view> key = scan.string();
    if (!key || !scan.eat(':')) return bad(out.name, "its header is damaged");
    if (*key == "descr" && !has_descr) {
      std::optional<std::string_view> descr = scan.string();
      if (!descr) return bad(out.name, "structured element types are not supported");
      if (Status status = set_element_type(*descr, out); !status.ok()) return status;
      has_descr = true;
    } else if (*key == "fortran_order" && !has_order) {
      out.fortran_order = scan.eat(std::string_view("True"));
      if (!out.fortran_order && !scan.eat(std::string_view("False")))
        return bad(out.name, "its header is damaged");
      has_order = true;
    } else if (*key == "shape" && !has_shape) {
      std::optional<std::vector<int64_t>> shape = scan.tuple();
      if (!shape) return bad(out.name, "its shape is damaged");
      out.shape = std::move(*shape);
      has_shape = true;
    } else {
      return bad(out.name, fmt::format("its header has an unexpected key '{}'", *key));
    }
    if (!scan.eat(',')) {
      if (!scan.eat('}')) return bad(out.name, "its header is damaged");
      break;
    }
  }
  if (!scan.at_end() || !has_descr || !has_order || !has_shape)
    return bad(out.name, "its header is incomplete");
  return Ok{};
}

}  // namespace

std::string npy_header(const Type& type) {
  std::string descr = fmt::format("<V{}", storage_bytes(type.dtype));
  for (const NumpyName& entry : kNumpyNames)
    if (entry.dtype == type.dtype)
      descr = (storage_bytes(type.dtype) == 1 ? "|" : "<") + std::string(entry.code);
  std::string shape;
  for (int64_t extent : type.shape) shape += fmt::format("{}, ", extent);
  if (type.rank() > 1) shape.resize(shape.size() - 2);
  if (type.rank() == 1) shape.pop_back();
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  constexpr size_t kPreamble = 10;  // magic, version, length
  text.resize((kPreamble + text.size() + 1 + 63) / 64 * 64 - kPreamble - 1, ' ');
  text += '\n';
  std::string out(kMagic);
  out += {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return out + text;
}

int64_t NpyArray::num_elements() const {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

Result<NpyArray> read_npy(std::span<const std::byte> file, std::string name) {
  NpyArray out;
  out.name = std::move(name);
  std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic)) return bad(out.name, "not an .npy file");
  if (text.size() < 12) return bad(out.name, "the file is cut off");
  auto byte = [&](size_t i) { return static_cast<size_t>(file[i]); };
  size_t version = byte(6);
  if (version < 1 || version > 3)
    return bad(out.name, fmt::format("format version {} is not supported", version));
  size_t begin = version == 1 ? 10 : 12;
  size_t length = version == 1 ? byte(8) | byte(9) << 8
                               : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > text.size() - begin) return bad(out.name, "the file is cut off");
  if (Status status = parse_header(text.substr(begin, length), out); !status.ok())
    return status.diagnostics();
  out.bytes = file.subspan(begin + length);

  int64_t needed = out.item_bytes;
  bool empty = std::find(out.shape.begin(), out.shape.end(), 0) != out.shape.end();
  for (int64_t extent : out.shape)
    if (empty || __builtin_mul_overflow(needed, extent, &needed)) needed = empty ? 0 : -1;
  if (needed < 0 || static_cast<size_t>(needed) != out.bytes.size())
    return bad(out.name,
               fmt::format("shape ({}) of {}-byte elements does not match the {} bytes that follow",
                           fmt::join(out.shape, ", "), out.item_bytes, out.bytes.size()));
  return out;
}

Status copy_elements(const NpyArray& array, const Type& type, std::span<std::byte> out,
                     std::string_view what) {
  size_t size = static_cast<size_t>(storage_bytes(type.dtype));
  bool same_type = array.dtype
                       ? *array.dtype == type.dtype
                       : static_cast<size_t>(array.item_bytes) == size && is_float(type.dtype);
  // NumPy has no types below eight bits: they come as bytes, or as raw items of one byte.
  if (bit_width(type.dtype) < 8 && type.dtype != DType::i1)
    same_type = array.item_bytes == 1 && (!array.dtype || is_int(*array.dtype));
  if (!same_type || array.shape != type.shape) {
    std::string found = array.dtype ? std::string(name(*array.dtype))
                                    : fmt::format("{}-byte items", array.item_bytes);
    return error(fmt::format("{} needs {}, but '{}' holds {} of shape ({})", what, to_string(type),
                             array.name, found, fmt::join(array.shape, ", ")));
  }
  if (!array.fortran_order || type.rank() < 2) {
    std::copy(array.bytes.begin(), array.bytes.end(), out.begin());
  } else {
    // Walks the output in order and keeps the offset of the matching input element.
    std::vector<size_t> strides(type.shape.size()), index(type.shape.size());
    size_t stride = size;
    for (size_t d = 0; d < strides.size(); ++d) {
      strides[d] = stride;
      stride *= static_cast<size_t>(type.shape[d]);
    }
    size_t from = 0;
    for (size_t to = 0; to < array.bytes.size(); to += size) {
      std::memcpy(out.data() + to, array.bytes.data() + from, size);
      for (size_t d = index.size(); d-- > 0;) {
        from += strides[d];
        if (++index[d] < static_cast<size_t>(type.shape[d])) break;
        from -= strides[d] * index[d];
        index[d] = 0;
      }
    }
  }
  if (type.dtype == DType::i1)
    for (std::byte& value : out) value = std::byte{value != std::byte{0}};
  return Ok{};
}

}  // namespace ullage
