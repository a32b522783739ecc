#include "support/size.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace ullage {

std::optional<int64_t> parse_size(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0 || text.front() == '-')
    return {};
  std::string_view unit(rest, static_cast<size_t>(end - rest));
  static constexpr std::array<std::pair<std::string_view, double>, 10> kUnits = {{
      {"", 1.0},
      {"B", 1.0},
      {"KiB", 1024.0},
      {"MiB", 1048576.0},
      {"GiB", 1073741824.0},
      {"TiB", 1099511627776.0},
      {"kB", 1e3},
      {"MB", 1e6},
      {"GB", 1e9},
      {"TB", 1e12},
  }};
  for (auto [name, scale] : kUnits) {
    if (unit != name) continue;
    double bytes = std::floor(number * scale);
    if (bytes > 0x1p62) return {};
    return static_cast<int64_t>(bytes);
  }
  return {};
}

std::string format_size(int64_t bytes) {
  static constexpr std::array<const char*, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024 && bytes > -1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (std::fabs(value) >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value,
                     std::fabs(value) < 10    ? 2
                     : std::fabs(value) < 100 ? 1
                                              : 0,
                     kUnits[unit]);
}

}  // namespace ullage
