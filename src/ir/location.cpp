#include "ir/location.h"

#include <functional>

namespace ullage {

static size_t hash(const LocationData& data) {
  size_t h = std::hash<std::string>()(data.text);
  auto mix = [&h](size_t v) { h ^= v + 0x9E3779B97F4A7C15ull + (h << 6) + (h >> 2); };
  mix(static_cast<size_t>(data.kind));
  mix(data.line);
  mix(data.column);
  mix(data.end_line);
  mix(data.end_column);
  for (Location child : data.children) mix(child.index);
  return h;
}

LocationTable::LocationTable() {
  data_.emplace_back();
}

Location LocationTable::add(LocationData data) {
  if (data.kind == LocationData::Kind::unknown) return {};
  size_t h = hash(data);
  auto [begin, end] = by_hash_.equal_range(h);
  for (auto it = begin; it != end; ++it)
    if (data_[it->second] == data) return {it->second};
  uint32_t index = static_cast<uint32_t>(data_.size());
  data_.push_back(std::move(data));
  by_hash_.emplace(h, index);
  return {index};
}

static void collect(const LocationTable& table, Location location, std::vector<SourceRange>& out) {
  const LocationData& data = table[location];
  if (data.kind == LocationData::Kind::file)
    out.push_back({data.text, data.line, data.column, data.end_line, data.end_column});
  for (Location child : data.children) collect(table, child, out);
}

std::string LocationTable::source_line(Location location) const {
  SourceRange range = source(location);
  return range.known() ? range.file + ":" + std::to_string(range.line) : "";
}

SourceRange LocationTable::source(Location location) const {
  std::vector<SourceRange> found;
  collect(*this, location, found);
  auto is_package = [](const SourceRange& range) {
    return range.file.find("site-packages") != std::string::npos ||
           range.file.find("dist-packages") != std::string::npos;
  };
  for (const SourceRange& range : found)
    if (!is_package(range)) return range;
  return found.empty() ? SourceRange{} : found.front();
}

std::string LocationTable::label(Location location) const {
  const LocationData& data = data_[location.index];
  if (data.kind == LocationData::Kind::name) return data.text;
  if (data.kind == LocationData::Kind::callsite || data.kind == LocationData::Kind::fused) {
    for (Location child : data.children) {
      std::string text = label(child);
      if (!text.empty()) return text;
    }
  }
  return {};
}

}  // namespace ullage
