#include "plan/pack_validator.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace ullage {

namespace {

struct Event {
  int64_t time;
  bool begins;  // ends sort before begins: half-open intervals that touch do not overlap
  size_t buffer;
};

}  // namespace

std::vector<std::string> validate_packing(std::span<const PackBuffer> buffers,
                                          std::span<const int64_t> offsets, int64_t capacity,
                                          size_t limit) {
  std::vector<std::string> violations;
  auto report = [&](std::string text) {
    if (violations.size() < limit) violations.push_back(std::move(text));
  };
  if (offsets.size() != buffers.size()) {
    report(fmt::format("{} buffers but {} offsets", buffers.size(), offsets.size()));
    return violations;
  }

  std::vector<Event> events;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const PackBuffer& b = buffers[i];
    if (offsets[i] < 0)
      report(fmt::format("buffer {} is at the negative offset {}", i, offsets[i]));
    if (b.alignment > 0 && offsets[i] % b.alignment != 0)
      report(fmt::format("buffer {} at {} is not aligned to {}", i, offsets[i], b.alignment));
    if (b.fixed_offset >= 0 && offsets[i] != b.fixed_offset)
      report(fmt::format("buffer {} must be at {} but is at {}", i, b.fixed_offset, offsets[i]));
    if (capacity >= 0 && (b.size > capacity || offsets[i] > capacity - b.size))
      report(fmt::format("buffer {} at {} with {} bytes ends above the capacity of {}", i,
                         offsets[i], b.size, capacity));
    if (b.size > 0 && b.lower < b.upper) {
      events.push_back({b.lower, true, i});
      events.push_back({b.upper, false, i});
    }
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    if (a.time != b.time) return a.time < b.time;
    if (a.begins != b.begins) return !a.begins;
    return a.buffer < b.buffer;
  });

  // Buffers alive now, by offset. As long as no overlap was found they are disjoint, so a newcomer
  // can only collide with the one below it or the one above it. A newcomer that collides is
  // reported and left out.
  std::map<int64_t, size_t> alive;
  for (const Event& event : events) {
    size_t i = event.buffer;
    if (!event.begins) {
      auto it = alive.find(offsets[i]);
      if (it != alive.end() && it->second == i) alive.erase(it);
      continue;
    }
    auto collides = [&](size_t other) {
      report(fmt::format(
          "buffers {} and {} are both alive at {} and overlap: [{}, {}) and [{}, {})",
          std::min(i, other), std::max(i, other), event.time, offsets[std::min(i, other)],
          offsets[std::min(i, other)] + buffers[std::min(i, other)].size,
          offsets[std::max(i, other)],
          offsets[std::max(i, other)] + buffers[std::max(i, other)].size));
    };
    auto above = alive.lower_bound(offsets[i]);
    if (above != alive.end() && above->first - offsets[i] < buffers[i].size) {
      collides(above->second);
      continue;
    }
    if (above != alive.begin()) {
      auto below = std::prev(above);
      if (offsets[i] - below->first < buffers[below->second].size) {
        collides(below->second);
        continue;
      }
    }
    alive.emplace(offsets[i], i);
  }
  return violations;
}

}  // namespace ullage
