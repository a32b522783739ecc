#include "plan/pack_problem.h"

#include <algorithm>
#include <numeric>

namespace ullage {

namespace {

struct Event {
  int64_t time;
  bool begins;
  int32_t buffer;
};

void find_sections(PackProblem& problem) {
  std::vector<Event> events;
  events.reserve(problem.buffers.size() * 2);
  for (int32_t i = 0; i < problem.size(); ++i) {
    events.push_back({problem.buffers[i].lower, true, i});
    events.push_back({problem.buffers[i].upper, false, i});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    if (a.time != b.time) return a.time < b.time;
    if (a.begins != b.begins) return !a.begins;
    return a.buffer < b.buffer;
  });
  problem.first.assign(problem.buffers.size(), 0);
  problem.last.assign(problem.buffers.size(), 0);
  bool grown = false;  // a buffer began since the last section was closed
  for (const Event& event : events) {
    if (event.begins) {
      problem.first[event.buffer] = problem.section_count;
      grown = true;
    } else {
      if (grown) ++problem.section_count;
      grown = false;
      problem.last[event.buffer] = problem.section_count;
    }
  }
}

// With one alignment for all free buffers every buffer but the topmost is followed by its padding;
// with several only the sizes themselves are sure.
void find_bounds(PackProblem& problem, int64_t alignment) {
  size_t sections = static_cast<size_t>(problem.section_count);
  std::vector<int64_t> difference(sections + 1, 0), padding(sections, 0), fixed_end(sections, 0);
  for (int32_t i = 0; i < problem.size(); ++i) {
    int64_t size = problem.buffers[i].size;
    int64_t padded = align_up(size, alignment);
    difference[problem.first[i]] += padded;
    difference[problem.last[i]] -= padded;
    int64_t fixed = problem.buffers[i].fixed_offset;
    if (padded == size && fixed < 0) continue;
    for (int32_t s = problem.first[i]; s < problem.last[i]; ++s) {
      padding[s] = std::max(padding[s], padded - size);
      if (fixed >= 0) fixed_end[s] = std::max(fixed_end[s], fixed + size);
    }
  }
  problem.section_bound.assign(sections, 0);
  int64_t live = 0;
  for (size_t s = 0; s < sections; ++s) {
    live += difference[s];
    problem.section_bound[s] = std::max(live - padding[s], fixed_end[s]);
    if (problem.section_bound[s] > problem.max_live) {
      problem.max_live = problem.section_bound[s];
      problem.busiest = static_cast<int32_t>(s);
    }
  }
}

}  // namespace

PackProblem make_pack_problem(std::vector<PackBuffer> buffers) {
  PackProblem problem;
  problem.buffers = std::move(buffers);
  int64_t alignment = problem.buffers.empty() ? 1 : problem.buffers.front().alignment;
  bool one_alignment = true;
  for (const PackBuffer& b : problem.buffers) {
    one_alignment = one_alignment && b.alignment == alignment;
    problem.plain = problem.plain && b.fixed_offset < 0 && b.size % alignment == 0;
  }
  problem.plain = problem.plain && one_alignment;
  find_sections(problem);
  find_bounds(problem, one_alignment ? alignment : 1);
  return problem;
}

std::vector<PackPart> cut_into_parts(const PackProblem& problem, std::span<int64_t> offsets) {
  // Nested lifetimes peel off one buffer per round; the rounds are bounded so that the cuts stay
  // cheap.
  constexpr int max_depth = 64;
  struct Pending {
    PackPart part;
    int depth;
  };
  std::vector<PackPart> done;
  std::vector<Pending> pending(1);
  pending[0].depth = 0;
  pending[0].part.members.resize(problem.buffers.size());
  std::iota(pending[0].part.members.begin(), pending[0].part.members.end(), 0);
  std::stable_sort(pending[0].part.members.begin(), pending[0].part.members.end(),
                   [&](int32_t a, int32_t b) { return problem.first[a] < problem.first[b]; });

  while (!pending.empty()) {
    auto [whole, depth] = std::move(pending.back());
    pending.pop_back();
    // Members stay sorted by their first section, so a cut is where the next one begins after all
    // before it ended.
    std::vector<PackPart> pieces;
    int32_t reach = -1;
    for (int32_t i : whole.members) {
      if (pieces.empty() || problem.first[i] >= reach) {
        pieces.emplace_back();
        pieces.back().base = whole.base;
        pieces.back().below = whole.below;
      }
      pieces.back().members.push_back(i);
      reach = std::max(reach, problem.last[i]);
    }
    for (PackPart& piece : pieces) {
      int32_t begin = problem.first[piece.members.front()], end = begin;
      for (int32_t i : piece.members) end = std::max(end, problem.last[i]);
      std::vector<int32_t> rest;
      for (int32_t i : piece.members) {
        if (problem.plain && problem.first[i] == begin && problem.last[i] == end) {
          offsets[i] = piece.base;
          piece.base += problem.buffers[i].size;
          piece.below.push_back(i);
        } else {
          rest.push_back(i);
        }
      }
      bool again = rest.size() < piece.members.size() && depth < max_depth;
      piece.members = std::move(rest);
      if (piece.members.empty()) continue;
      if (again)
        pending.push_back({std::move(piece), depth + 1});
      else
        done.push_back(std::move(piece));
    }
  }
  return done;
}

}  // namespace ullage
