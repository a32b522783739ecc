#include "plan/pack_greedy.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace ullage {

namespace {

uint64_t scramble(uint64_t x) {  // the finaliser of splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Contemporaries of every buffer: all, less those that ended before, less those that begin after.
std::vector<int64_t> count_contemporaries(const PackProblem& problem) {
  size_t sections = static_cast<size_t>(problem.section_count);
  std::vector<int64_t> begun(sections + 1, 0), ended(sections + 1, 0);
  for (int32_t i = 0; i < problem.size(); ++i) {
    ++begun[problem.first[i]];
    ++ended[problem.last[i]];
  }
  std::partial_sum(begun.begin(), begun.end(), begun.begin());
  std::partial_sum(ended.begin(), ended.end(), ended.begin());
  std::vector<int64_t> count(problem.buffers.size());
  for (int32_t i = 0; i < problem.size(); ++i)
    count[i] = begun[problem.last[i] - 1] - ended[problem.first[i]];
  return count;
}

std::vector<int64_t> busiest_sections(const PackProblem& problem) {
  // Sparse table of range maxima: two overlapping powers of two cover any range.
  std::vector<std::vector<int64_t>> table{problem.section_bound};
  for (size_t width = 1; 2 * width <= problem.section_bound.size(); width *= 2) {
    const std::vector<int64_t>& half = table.back();
    std::vector<int64_t> whole(half.size() - width);
    for (size_t s = 0; s < whole.size(); ++s) whole[s] = std::max(half[s], half[s + width]);
    table.push_back(std::move(whole));
  }
  std::vector<int64_t> bound(problem.buffers.size());
  for (int32_t i = 0; i < problem.size(); ++i) {
    size_t length = static_cast<size_t>(problem.last[i] - problem.first[i]);
    size_t level = 0;
    while (size_t{2} << level <= length) ++level;
    bound[i] = std::max(table[level][problem.first[i]],
                        table[level][problem.last[i] - (size_t{1} << level)]);
  }
  return bound;
}

constexpr std::array<std::string_view, 10> recipes = {"Z",  "WA", "TWA", "A",  "TAW",
                                                      "TZ", "NZ", "S",   "WZ", "TNA"};

}  // namespace

std::span<const std::string_view> pack_recipes() {
  return recipes;
}

std::vector<int32_t> make_pack_order(const PackProblem& problem, std::string_view recipe) {
  size_t count = problem.buffers.size();
  std::vector<int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::vector<double> key(count);
  // Stable sorts from the least important letter to the most important one.
  for (auto letter = recipe.rbegin(); letter != recipe.rend(); ++letter) {
    std::vector<int64_t> table;
    if (*letter == 'N') table = count_contemporaries(problem);
    if (*letter == 'T') table = busiest_sections(problem);
    for (size_t i = 0; i < count; ++i) {
      const PackBuffer& b = problem.buffers[i];
      double life = static_cast<double>(b.upper) - static_cast<double>(b.lower);
      switch (*letter) {
        case 'Z':
          key[i] = static_cast<double>(b.size);
          break;
        case 'W':
          key[i] = life;
          break;
        case 'A':
          key[i] = life * static_cast<double>(b.size);
          break;
        case 'S':
          key[i] = -static_cast<double>(b.lower);
          break;
        case 'R':
          key[i] = static_cast<double>(scramble(i + 1) >> 11);
          break;
        default:
          key[i] = static_cast<double>(table[i]);
          break;
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return key[a] > key[b]; });
  }
  return order;
}

GreedyPlacer::GreedyPlacer(const PackProblem& problem) : problem_(problem) {
  // A narrow level serves the buffers that fit in half its width and in no narrower level. It is
  // kept when it serves many and the average buffer touches few of its windows.
  constexpr int32_t narrowest = 16;
  constexpr int64_t most_windows = 6, least_share = 8;
  int64_t total_span = 0, count = problem.size();
  int32_t longest = 0;
  for (int32_t i = 0; i < problem.size(); ++i) {
    total_span += problem.last[i] - problem.first[i];
    longest = std::max(longest, problem.last[i] - problem.first[i]);
  }
  int32_t served_below = 0;
  for (int32_t width = narrowest; width < problem.section_count; width *= 4) {
    int32_t stride = width / 2;
    int64_t served = 0;
    for (int32_t i = 0; i < problem.size(); ++i) {
      int32_t span = problem.last[i] - problem.first[i];
      served += span > served_below && span <= stride;
    }
    if (served * least_share < count || total_span > most_windows * stride * count) continue;
    served_below = stride;
    levels_.push_back({width, stride, {}});
    levels_.back().windows.resize(static_cast<size_t>(problem.section_count / stride) + 1);
  }
  if (longest <= served_below) return;
  levels_.push_back({problem.section_count, std::max(problem.section_count, 1), {}});
  levels_.back().windows.resize(1);
}

std::span<const GreedyPlacer::Placed> GreedyPlacer::near(int32_t buffer) const {
  int32_t begin = problem_.first[buffer], end = problem_.last[buffer];
  for (const Level& level : levels_) {
    int32_t window = begin / level.stride;
    if (end <= window * level.stride + level.width) return level.windows[window];
  }
  return levels_.back().windows.front();
}

void GreedyPlacer::insert(int32_t buffer, int64_t offset) {
  Placed placed{offset, offset + problem_.buffers[buffer].size, problem_.first[buffer],
                problem_.last[buffer]};
  for (Level& level : levels_) {
    // Window w covers the sections [w * stride, w * stride + width).
    int32_t from = std::max(0, (placed.first - level.width) / level.stride);
    for (int32_t w = from; w < static_cast<int32_t>(level.windows.size()); ++w) {
      int32_t start = w * level.stride;
      if (start >= placed.last) break;
      if (start + level.width <= placed.first) continue;
      std::vector<Placed>& window = level.windows[w];
      auto at =
          std::upper_bound(window.begin(), window.end(), offset,
                           [](int64_t value, const Placed& other) { return value < other.offset; });
      steps_ += 16 + (window.end() - at) / 8;
      window.insert(at, placed);
    }
  }
}

int64_t GreedyPlacer::find_gap(int32_t buffer, PackFit fit) {
  const PackBuffer& b = problem_.buffers[buffer];
  int32_t first = problem_.first[buffer], last = problem_.last[buffer];
  // In plain problems every top is aligned already.
  int64_t alignment = problem_.plain ? 1 : b.alignment;
  int64_t candidate = 0;  // lowest aligned offset above everything walked so far
  int64_t best = -1, best_slack = std::numeric_limits<int64_t>::max();
  std::span<const Placed> others = near(buffer);
  size_t walked = 0;
  for (const Placed& other : others) {
    ++walked;
    // No branch on the overlap: it is as good as random.
    bool overlaps = (other.first < last) & (first < other.last);
    int64_t slack = other.offset - candidate - b.size;
    if (slack >= 0 && slack < best_slack && overlaps) {
      best = candidate;
      best_slack = slack;
      if (fit == PackFit::lowest || slack == 0) break;
    }
    int64_t top = overlaps ? other.top : 0;
    candidate = top > candidate ? top : candidate;
    if (alignment != 1) candidate = align_up(candidate, alignment);
  }
  steps_ += static_cast<int64_t>(walked);
  return best >= 0 ? best : candidate;
}

bool GreedyPlacer::place(std::span<const int32_t> order, PackFit fit, int64_t ceiling,
                         std::vector<int64_t>& offsets, int64_t& height) {
  offsets.assign(problem_.buffers.size(), 0);
  height = 0;
  for (Level& level : levels_)
    for (std::vector<Placed>& window : level.windows) window.clear();
  if (!problem_.plain) {
    for (int32_t i = 0; i < problem_.size(); ++i) {
      if (problem_.buffers[i].fixed_offset < 0) continue;
      offsets[i] = problem_.buffers[i].fixed_offset;
      height = std::max(height, offsets[i] + problem_.buffers[i].size);
      insert(i, offsets[i]);
    }
    if (height > ceiling) return false;
  }
  for (int32_t i : order) {
    if (problem_.buffers[i].fixed_offset >= 0) continue;
    offsets[i] = find_gap(i, fit);
    height = std::max(height, offsets[i] + problem_.buffers[i].size);
    if (height > ceiling) return false;
    insert(i, offsets[i]);
  }
  return true;
}

}  // namespace ullage
