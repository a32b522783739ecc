// From typed attributes to the dictionary of an operation (the writing half of describe.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "syntax/describe.h"
#include "syntax/float_formats.h"
#include "syntax/printer.h"

namespace ullage::syntax {

std::string list_text(const Dims& dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

std::string convolution_dims_text(const ConvolutionDimensionNumbers& dims) {
  auto side = [](std::string_view first, std::string_view second, int64_t first_dim,
                 int64_t second_dim, const Dims& spatial) {
    std::vector<std::string> parts(spatial.size() + 2, "?");
    auto put = [&](int64_t dim, std::string text) {
      if (dim >= 0 && dim < static_cast<int64_t>(parts.size()))
        parts[static_cast<size_t>(dim)] = std::move(text);
    };
    put(first_dim, std::string(first));
    put(second_dim, std::string(second));
    for (size_t i = 0; i < spatial.size(); ++i) put(spatial[i], std::to_string(i));
    return fmt::format("[{}]", fmt::join(parts, ", "));
  };
  return side("b", "f", dims.input_batch, dims.input_feature, dims.input_spatial) + "x" +
         side("i", "o", dims.kernel_input_feature, dims.kernel_output_feature,
              dims.kernel_spatial) +
         "->" + side("b", "f", dims.output_batch, dims.output_feature, dims.output_spatial);
}

namespace {

// Collects name = text; inside #stablehlo.gather<...> and its like numbers and lists have no type.
class WriteArchive {
 public:
  explicit WriteArchive(const WriteOptions& options, bool inside = false)
      : options_(options), inside_(inside) {}

  std::vector<PrintedAttribute> take() { return std::move(entries_); }
  std::string fields() const {
    std::string out;
    for (const PrintedAttribute& entry : entries_) {
      if (!out.empty()) out += ", ";
      out += fmt::format("{} = {}", entry.name, entry.text);
    }
    return out;
  }

  void dims(std::string_view name, const Dims& dims, Need need) {
    if (need == Need::optional && dims.empty()) return;
    std::string list = list_text(dims);
    add(name, inside_ ? list : array_text("i64", dims), list);
  }

  void integer(std::string_view name, int64_t value, std::string_view width, Need need) {
    if (need == Need::optional && value == default_integer(name)) return;
    std::string digits = std::to_string(value);
    add(name, inside_ ? digits : fmt::format("{} : {}", digits, width), digits);
  }

  void boolean(std::string_view name, bool value, Need need) {
    if (need == Need::optional && value == (name == "largest")) return;
    add(name, value ? "true" : "false");
  }

  void flag(std::string_view name, bool value) {
    if (value) entries_.push_back({name, {}, {}});
  }

  void floating(std::string_view name, double value, DType dtype, Need need) {
    if (need == Need::optional && value == 0) return;
    add(name, fmt::format("{} : {}",
                          dtype == DType::f32 ? decimal(static_cast<float>(value)) : decimal(value),
                          ullage::name(dtype)));
  }

  void string(std::string_view name, const std::string& value, Need need) {
    if (need == Need::optional && value.empty()) return;
    add(name, quote(value));
  }

  void symbol(std::string_view name, const std::string& value, Need) {
    add(name, symbol_text(value));
  }
  void type(std::string_view name, const std::string& value) { add(name, value); }

  void symbols(std::string_view name, const std::vector<std::string>& values) {
    if (values.empty()) return;
    std::vector<std::string> parts;
    for (const std::string& value : values) parts.push_back(symbol_text(value));
    add(name, fmt::format("[{}]", fmt::join(parts, ", ")));
  }

  template <typename E, size_t N>
  void keyword(std::string_view name, E value, std::string_view enumeration,
               const std::string_view (&words)[N], Need need) {
    if (need == Need::optional && value == E{}) return;
    std::string_view word = words[static_cast<size_t>(value)];
    add(name, fmt::format("#stablehlo<{} {}>", enumeration, word), std::string(word));
  }

  template <typename E, size_t N>
  void keywords(std::string_view name, const std::vector<E>& values, std::string_view enumeration,
                const std::string_view (&words)[N], std::string_view dialect) {
    if (values.empty()) return;
    std::vector<std::string> parts, bare;
    for (E value : values) {
      bare.emplace_back(words[static_cast<size_t>(value)]);
      parts.push_back(fmt::format("#{}<{} {}>", dialect, enumeration, bare.back()));
    }
    add(name, fmt::format("[{}]", fmt::join(parts, ", ")),
        fmt::format("[{}]", fmt::join(bare, ", ")));
  }

  void bools(std::string_view name, const std::vector<bool>& values) {
    if (values.empty()) return;
    std::vector<std::string_view> words;
    for (bool value : values) words.push_back(value ? "true" : "false");
    add(name, array_text("i1", words), fmt::format("[{}]", fmt::join(words, ", ")));
  }

  void pairs(std::string_view name, const std::vector<std::pair<int64_t, int64_t>>& values) {
    if (values.empty()) return;
    std::vector<std::string> rows;
    for (auto [low, high] : values) rows.push_back(fmt::format("[{}, {}]", low, high));
    std::string list = fmt::format("[{}]", fmt::join(rows, ", "));
    add(name, fmt::format("dense<{}> : tensor<{}x2xi64>", list, rows.size()), list);
  }

  void matrix(std::string_view name, const Dims& values, int64_t rows, int64_t columns, Need need) {
    if (need == Need::optional && values.empty()) return;
    std::string list;
    for (int64_t row = 0; row < rows; ++row) {
      auto begin = values.begin() + row * columns;
      list += fmt::format("{}[{}]", row ? ", " : "", fmt::join(begin, begin + columns, ", "));
    }
    if (rows * columns != 0)
      list = "[" + list + "]";
    else
      list.clear();
    add(name, fmt::format("dense<{}> : tensor<{}x{}xi64>", list, rows, columns));
  }

  void literal(std::string_view name, const Literal& value) {
    add(name, literal_text(value, options_));
  }

  void layouts(std::string_view name, const std::vector<Dims>& values, bool shown) {
    if (values.empty() && !shown) return;
    std::vector<std::string> parts;
    for (const Dims& dims : values)
      parts.push_back(fmt::format("dense<{}> : tensor<{}xindex>",
                                  dims.empty() ? "" : list_text(dims), dims.size()));
    add(name, fmt::format("[{}]", fmt::join(parts, ", ")));
  }

  template <typename F>
  void structure(std::string_view name, std::string_view mnemonic, const bool* present, Need,
                 F&& fields) {
    if (present && !*present) return;
    WriteArchive inner(options_, true);
    fields(inner);
    std::string text = inner.fields();
    add(name, fmt::format("#{}<{}>", mnemonic, text), fmt::format("<{}>", text));
  }

  template <typename T, typename F>
  void structures(std::string_view name, std::string_view mnemonic, std::vector<T>& values,
                  F&& fields) {
    if (values.empty()) return;
    std::vector<std::string> parts;
    for (T& value : values) {
      WriteArchive inner(options_, true);
      fields(inner, value);
      parts.push_back(fmt::format("#{}<{}>", mnemonic, inner.fields()));
    }
    add(name, fmt::format("[{}]", fmt::join(parts, ", ")));
  }

  void convolution(std::string_view name, const ConvolutionDimensionNumbers& dims) {
    std::string text = convolution_dims_text(dims);
    add(name, fmt::format("#stablehlo.conv<{}>", text), text);
  }

  void verbatim(std::string_view name, const std::string& text) {
    if (!text.empty()) add(name, text);
  }

  void sharding(std::string_view name, const std::string& text, std::string_view frame) {
    const size_t open = frame.find_last_of("<[{");
    add(name, fmt::format("{}{}{}", frame.substr(0, open), text, frame.substr(open + 2)), text);
  }

  void config(std::string_view name, const std::string& text, bool typed) {
    if (text.empty()) return;
    add(name, typed ? text : quote(text));
  }

 private:
  void add(std::string_view name, std::string text) {
    std::string pretty = text;
    entries_.push_back({name, std::move(text), std::move(pretty)});
  }
  void add(std::string_view name, std::string text, std::string pretty) {
    entries_.push_back({name, std::move(text), std::move(pretty)});
  }

  template <typename Range>
  static std::string array_text(std::string_view dtype, const Range& values) {
    if (values.empty()) return fmt::format("array<{}>", dtype);
    return fmt::format("array<{}: {}>", dtype, fmt::join(values, ", "));
  }

  static int64_t default_integer(std::string_view name) {
    if (name == "dimension") return -1;  // of sort; everywhere else it is required
    if (name == "api_version") return 1;
    if (name == "max_ulp_difference") return 3;
    return 0;
  }

  const WriteOptions& options_;
  bool inside_;
  std::vector<PrintedAttribute> entries_;
};

}  // namespace

std::vector<PrintedAttribute> printed_attributes(const Op& op, const WriteOptions& options) {
  WriteArchive archive(options);
  Attributes copy = op.attributes;
  std::visit([&](auto& typed) { describe(archive, op.kind, typed); }, copy);
  return archive.take();
}

}  // namespace ullage::syntax
