#include "ops/loop_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <string>
#include <string_view>

namespace ullage {

static constexpr std::string_view kTripCount = "ullage.trip_count";
static constexpr std::string_view kOverwritten = "ullage.overwritten";

static const NamedAttribute* find(const Op& loop, std::string_view name) {
  for (const NamedAttribute& attribute : loop.extra)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

static void remove(Op& loop, std::string_view name) {
  std::erase_if(loop.extra, [&](const NamedAttribute& a) { return a.name == name; });
}

std::optional<int64_t> trip_count(const Op& loop) {
  const NamedAttribute* attribute = find(loop, kTripCount);
  if (!attribute) return {};
  return std::stoll(attribute->text);
}

void set_trip_count(Op& loop, std::optional<int64_t> count) {
  remove(loop, kTripCount);
  if (count) loop.extra.push_back({std::string(kTripCount), std::to_string(*count) + " : i64"});
}

std::vector<size_t> overwritten(const Op& loop) {
  std::vector<size_t> out;
  const NamedAttribute* attribute = find(loop, kOverwritten);
  if (!attribute) return out;
  std::string_view text = attribute->text;
  for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
    size_t number = 0;
    auto [next, failure] = std::from_chars(at, end, number);
    if (failure != std::errc()) continue;
    out.push_back(number);
    at = next - 1;
  }
  return out;
}

void set_overwritten(Op& loop, const std::vector<size_t>& carried) {
  remove(loop, kOverwritten);
  if (!carried.empty())
    loop.extra.push_back(
        {std::string(kOverwritten), fmt::format("[{}]", fmt::join(carried, ", "))});
}

}  // namespace ullage
