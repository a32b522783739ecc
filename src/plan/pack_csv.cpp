#include "plan/pack_csv.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <unordered_map>

#include "support/check.h"

namespace ullage {

namespace {

enum Column : size_t { id, lower, upper, size, alignment, offset, column_count };
constexpr std::array<std::string_view, column_count> column_names = {"id",   "lower",     "upper",
                                                                     "size", "alignment", "offset"};
constexpr size_t required_columns = 4;

struct Field {
  std::string_view text;
  uint32_t column;  // in the line, from 1
};

std::vector<Field> split(std::string_view line) {
  std::vector<Field> fields;
  size_t begin = 0;
  while (true) {
    size_t end = line.find(',', begin);
    std::string_view text = line.substr(begin, end == std::string_view::npos ? end : end - begin);
    size_t from = text.find_first_not_of(" \t");
    if (from == std::string_view::npos) from = text.size();
    size_t to = text.find_last_not_of(" \t");
    to = to == std::string_view::npos ? from : to + 1;
    fields.push_back({text.substr(from, to - from), static_cast<uint32_t>(begin + from + 1)});
    if (end == std::string_view::npos) return fields;
    begin = end + 1;
  }
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<PackTable> read() {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
    bool have_header = false;
    while (!text_.empty() && diagnostics_.size() < most_diagnostics) {
      size_t end = text_.find('\n');
      std::string_view line = text_.substr(0, end);
      text_ = end == std::string_view::npos ? std::string_view{} : text_.substr(end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      ++line_;
      if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
      if (have_header) {
        read_row(split(line));
      } else {
        if (!read_header(split(line))) return diagnostics_;
        have_header = true;
      }
    }
    if (!have_header)
      return error("no header: the file is empty", {std::string(file_), std::max(line_, 1U)},
                   std::string(header_help));
    if (!diagnostics_.empty()) return diagnostics_;
    return std::move(table_);
  }

 private:
  static constexpr size_t most_diagnostics = 20;
  static constexpr int64_t most_bytes = int64_t{1} << 62;
  static constexpr std::string_view header_help =
      "the first line must name the columns: id,lower,upper,size";

  void complain(const Field& field, std::string message, std::string help = {}) {
    uint32_t end = field.column + static_cast<uint32_t>(field.text.size());
    diagnostics_.push_back(error(std::move(message),
                                 {std::string(file_), line_, field.column, line_, end},
                                 std::move(help)));
  }

  bool read_header(const std::vector<Field>& fields) {
    for (size_t k = 0; k < fields.size(); ++k) {
      size_t column = 0;
      while (column < column_count && column_names[column] != fields[k].text) ++column;
      if (column == column_count)
        complain(fields[k], fmt::format("unknown column '{}'", fields[k].text),
                 std::string(header_help));
      else if (at_[column])
        complain(fields[k], fmt::format("column '{}' is given twice", fields[k].text));
      else
        at_[column] = k;
    }
    for (size_t column = 0; column < required_columns; ++column)
      if (!at_[column])
        complain(fields.front(), fmt::format("column '{}' is missing", column_names[column]),
                 std::string(header_help));
    table_.has_alignment = at_[alignment].has_value();
    column_total_ = fields.size();
    return diagnostics_.empty();
  }

  std::optional<int64_t> number(const std::vector<Field>& fields, Column column) {
    const Field& field = fields[*at_[column]];
    int64_t value = 0;
    const char* end = field.text.data() + field.text.size();
    auto [stop, failure] = std::from_chars(field.text.data(), end, value);
    std::string_view what = column_names[column];
    if (field.text.empty()) {
      complain(field, fmt::format("{} is empty", what));
    } else if (failure == std::errc::result_out_of_range) {
      complain(field, fmt::format("{} '{}' does not fit in 64 bits", what, field.text));
    } else if (failure != std::errc{} || stop != end) {
      complain(field, fmt::format("{} '{}' is not a whole number", what, field.text));
    } else {
      return value;
    }
    return std::nullopt;
  }

  void read_row(const std::vector<Field>& fields) {
    if (fields.size() != column_total_) {
      complain(fields.back(),
               fmt::format("{} fields where the header has {}", fields.size(), column_total_));
      return;
    }
    const Field& name = fields[*at_[id]];
    size_t before = diagnostics_.size();
    PackBuffer buffer;
    std::optional<int64_t> low = number(fields, lower), high = number(fields, upper);
    std::optional<int64_t> bytes = number(fields, size);
    if (table_.has_alignment)
      if (std::optional<int64_t> value = number(fields, alignment)) buffer.alignment = *value;
    if (low && high && *low >= *high)
      complain(
          fields[*at_[upper]],
          fmt::format("lower {} is not below upper {}: the buffer is never alive", *low, *high),
          "a buffer lives in the half-open interval [lower, upper)");
    if (bytes && *bytes < 0)
      complain(fields[*at_[size]], fmt::format("size {} is negative", *bytes));
    if (buffer.alignment <= 0)
      complain(fields[*at_[alignment]],
               fmt::format("alignment {} is not positive", buffer.alignment));
    if (name.text.empty()) {
      complain(name, "id is empty");
    } else if (auto [known, is_new] = seen_.try_emplace(std::string(name.text), line_); !is_new) {
      complain(name, fmt::format("id '{}' is used twice", name.text));
      diagnostics_.back().notes.push_back({Severity::note,
                                           "it is first used here",
                                           SourceRange{std::string(file_), known->second},
                                           {}});
    }
    if (diagnostics_.size() != before) return;
    // Each buffer may need its padding too; both together must stay countable.
    if (*bytes >= most_bytes - total_ || buffer.alignment - 1 >= most_bytes - total_ - *bytes) {
      complain(fields[*at_[size]], "the sizes up to here add up to more than 2^62 bytes");
      return;
    }
    total_ += *bytes + buffer.alignment - 1;
    buffer.lower = *low;
    buffer.upper = *high;
    buffer.size = *bytes;
    table_.ids.emplace_back(name.text);
    table_.buffers.push_back(buffer);
    table_.lines.push_back(line_);
  }

  std::string_view text_, file_;
  uint32_t line_ = 0;
  std::array<std::optional<size_t>, column_count> at_;
  size_t column_total_ = 0;
  int64_t total_ = 0;
  std::unordered_map<std::string, uint32_t> seen_;  // id -> line
  PackTable table_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace

Result<PackTable> read_pack_csv(std::string_view text, std::string_view file) {
  return Reader(text, file).read();
}

std::string write_pack_csv(const PackTable& table, std::span<const int64_t> offsets) {
  ULLAGE_CHECK(offsets.size() == table.buffers.size(), "one offset for every row");
  std::string text = table.has_alignment ? "id,lower,upper,size,alignment,offset\n"
                                         : "id,lower,upper,size,offset\n";
  auto out = std::back_inserter(text);
  for (size_t i = 0; i < table.buffers.size(); ++i) {
    const PackBuffer& b = table.buffers[i];
    fmt::format_to(out, "{},{},{},{},", table.ids[i], b.lower, b.upper, b.size);
    if (table.has_alignment) fmt::format_to(out, "{},", b.alignment);
    fmt::format_to(out, "{}\n", offsets[i]);
  }
  return text;
}

}  // namespace ullage
