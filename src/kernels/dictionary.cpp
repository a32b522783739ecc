#include "kernels/dictionary.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "support/float16.h"

namespace ullage {

namespace {

constexpr int kMaxDepth = 16;

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  std::optional<std::vector<DictionaryValue>> run() {
    std::vector<DictionaryValue> out;
    if (!dictionary(out, 0)) return {};
    space();
    if (!rest_.empty()) return {};
    return out;
  }

 private:
  void space() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())))
      rest_.remove_prefix(1);
  }
  bool take(std::string_view word) {
    space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  bool dictionary(std::vector<DictionaryValue>& out, int depth) {
    if (depth > kMaxDepth || !take("{")) return false;
    if (take("}")) return true;
    do {
      DictionaryValue entry;
      if (!entry_name(entry.name)) return false;
      if (!take("=")) {  // a unit attribute: it is there
        scalar(entry, DType::i1, 1);
      } else if (!value(entry, depth)) {
        return false;
      }
      out.push_back(std::move(entry));
    } while (take(","));
    std::sort(out.begin(), out.end(),
              [](const DictionaryValue& a, const DictionaryValue& b) { return a.name < b.name; });
    return take("}");
  }

  bool entry_name(std::string& out) {
    space();
    if (rest_.starts_with('"')) return quoted(out);
    size_t end = 0;
    while (end < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[end])) ||
                                  std::strchr("_.$-", rest_[end]) != nullptr))
      ++end;
    out = std::string(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return end > 0;
  }

  // Escapes are those of MLIR: a backslash and the character, or two hexadecimal digits.
  bool quoted(std::string& out) {
    if (!take("\"")) return false;
    while (!rest_.empty() && rest_.front() != '"') {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\' && !rest_.empty()) {
        unsigned code = 0;
        const char* at = rest_.data();
        if (rest_.size() >= 2 && std::from_chars(at, at + 2, code, 16).ptr == at + 2) {
          c = static_cast<char>(code);
          rest_.remove_prefix(2);
        } else {
          c = rest_.front() == 'n' ? '\n' : rest_.front() == 't' ? '\t' : rest_.front();
          rest_.remove_prefix(1);
        }
      }
      out.push_back(c);
    }
    return take("\"");
  }

  std::string_view word() {
    space();
    size_t end = 0;
    while (end < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[end])) ||
                                  std::strchr("+-._", rest_[end]) != nullptr))
      ++end;
    std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return out;
  }

  template <typename T>
  static void scalar(DictionaryValue& out, DType dtype, T value) {
    out.dtype = dtype;
    size_t at = out.bytes.size();
    out.bytes.resize(at + static_cast<size_t>(storage_bytes(dtype)));
    std::memcpy(out.bytes.data() + at, &value,
                std::min(sizeof(T), static_cast<size_t>(storage_bytes(dtype))));
  }

  static bool append(DictionaryValue& out, DType dtype, std::string_view text) {
    if (text == "true" || text == "false") {
      scalar<uint64_t>(out, dtype, text == "true");
      return true;
    }
    std::string number(text);
    char* end = nullptr;
    bool hexadecimal = number.find("0x") != std::string::npos;
    if (is_float(dtype) && !hexadecimal) {
      double value = std::strtod(number.c_str(), &end);
      if (end == number.c_str() || *end != '\0') return false;
      switch (dtype) {
        case DType::f64:
          scalar(out, dtype, value);
          return true;
        case DType::f32:
          scalar(out, dtype, static_cast<float>(value));
          return true;
        case DType::f16:
          scalar(out, dtype, float_to_f16(static_cast<float>(value)));
          return true;
        case DType::bf16:
          scalar(out, dtype, float_to_bf16(static_cast<float>(value)));
          return true;
        default:
          return false;
      }
    }
    int base = hexadecimal ? 16 : 10;
    if (number.starts_with('-'))
      scalar(out, dtype, static_cast<int64_t>(std::strtoll(number.c_str(), &end, base)));
    else
      scalar(out, dtype, static_cast<uint64_t>(std::strtoull(number.c_str(), &end, base)));
    return end != number.c_str() && *end == '\0';
  }

  // Elements with their type already known, up to `close`.
  bool elements(DictionaryValue& out, DType dtype, std::string_view close) {
    out.dtype = dtype;
    out.elements = 0;
    if (take(close)) return true;
    do {
      if (!append(out, dtype, word())) return false;
      ++out.elements;
    } while (take(","));
    return take(close);
  }

  bool value(DictionaryValue& out, int depth) {
    space();
    if (rest_.starts_with('"')) {
      std::string text;
      if (!quoted(text)) return false;
      out.kind = DictionaryValue::Kind::text;
      const auto* begin = reinterpret_cast<const std::byte*>(text.data());
      out.bytes.assign(begin, begin + text.size());
      return true;
    }
    if (rest_.starts_with('{')) {
      out.kind = DictionaryValue::Kind::dictionary;
      return dictionary(out.dictionary, depth + 1);
    }
    if (take("array<")) {
      std::optional<DType> dtype = dtype_from_name(word());
      if (!dtype) return false;
      out.kind = DictionaryValue::Kind::array;
      if (take(">")) {
        out.dtype = *dtype;
        out.elements = 0;
        return true;
      }
      return take(":") && elements(out, *dtype, ">");
    }
    if (rest_.starts_with('[') || take("dense<")) return list(out);
    if (rest_.starts_with("unit")) {
      word();
      scalar(out, DType::i1, 1);
      return true;
    }
    std::string_view number = word();
    if (number == "true" || number == "false") return append(out, DType::i1, number);
    bool fraction = number.find('.') != std::string_view::npos;
    DType dtype = fraction ? DType::f64 : DType::i64;
    if (take(":")) {
      std::optional<DType> named = dtype_from_name(word());
      if (!named) return false;
      dtype = *named;
    }
    return append(out, dtype, number);
  }

  // [1 : i32, 2 : i32], or what follows dense<: [1, 2]> : tensor<2xi32>, 1> : tensor<i32>.
  bool list(DictionaryValue& out) {
    std::vector<std::string_view> numbers;
    std::optional<DType> dtype;
    bool bracket = take("[");
    if (!(bracket && take("]"))) {
      do {
        numbers.push_back(word());
        if (bracket && take(":")) dtype = dtype_from_name(word());
      } while (take(","));
      if (bracket && !take("]")) return false;
    }
    int64_t count = static_cast<int64_t>(numbers.size());
    bool scalar_type = !bracket;
    if (take(">")) {
      if (!take(":") || !take("tensor<")) return false;
      std::string_view type = word();  // "2xi32"
      size_t x = type.rfind('x');
      scalar_type = x == std::string_view::npos;
      if (!scalar_type) {
        int64_t extent = 0;
        std::from_chars(type.data(), type.data() + x, extent);
        if (count == 1) count = extent;  // a splat
      }
      dtype = dtype_from_name(scalar_type ? type : type.substr(x + 1));
      if (!take(">")) return false;
    }
    if (!dtype) dtype = DType::i64;
    for (int64_t i = 0; i < count; ++i)
      if (!append(out, *dtype, numbers[numbers.size() == 1 ? 0 : static_cast<size_t>(i)]))
        return false;
    out.dtype = *dtype;
    if (!scalar_type) {
      out.kind = DictionaryValue::Kind::array;
      out.elements = count;
    }
    return true;
  }

  std::string_view rest_;
};

}  // namespace

std::optional<std::vector<DictionaryValue>> parse_dictionary(std::string_view text) {
  if (text.empty()) return std::vector<DictionaryValue>{};
  return Parser(text).run();
}

std::optional<int64_t> integer_in(const std::vector<DictionaryValue>& dictionary,
                                  std::string_view name) {
  for (const DictionaryValue& value : dictionary) {
    if (value.name != name || value.kind != DictionaryValue::Kind::scalar ||
        value.bytes.size() > sizeof(int64_t) || is_float(value.dtype))
      continue;
    int64_t out = 0;
    std::memcpy(&out, value.bytes.data(), value.bytes.size());
    return out;
  }
  return {};
}

}  // namespace ullage
