#include "ops/trip_count.h"

#include <string>

namespace ullage {

static constexpr std::string_view kTripCount = "ullage.trip_count";

std::optional<int64_t> trip_count(const Op& loop) {
  for (const NamedAttribute& attribute : loop.extra)
    if (attribute.name == kTripCount) return std::stoll(attribute.text);
  return {};
}

void set_trip_count(Op& loop, std::optional<int64_t> count) {
  std::erase_if(loop.extra, [](const NamedAttribute& a) { return a.name == kTripCount; });
  if (count) loop.extra.push_back({std::string(kTripCount), std::to_string(*count) + " : i64"});
}

}  // namespace ullage
