#include "plan/pack_exact.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string_view>

namespace ullage {

namespace {

constexpr int64_t never = std::numeric_limits<int64_t>::max();

// Orders among buffers with equal floors: T most unplaced bytes in a section, W lifetime, A area.
constexpr std::array<std::string_view, 3> tie_orders = {"TWA", "TAW", "WAT"};

uint64_t scramble(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32);
}

// A sum over the unplaced buffers, so that the order of the walk does not matter.
struct StateHash {
  uint64_t a = 0, b = 0;
  void add(uint64_t key, uint64_t value) {
    a += scramble(value * 0x9e3779b97f4a7c15ULL + key * 0xc2b2ae3d27d4eb4fULL);
    b += scramble(key * 0xff51afd7ed558ccdULL - value * 0xa0761d6478bd642fULL);
  }
  bool operator==(const StateHash&) const = default;
};

class Search {
 public:
  Search(const PackProblem& problem, int64_t capacity);

  bool too_large() const { return too_large_; }
  bool hopeless() const { return hopeless_; }
  ExactResult run(const ExactLimits& limits);

 private:
  enum class Answer : uint8_t { solved, failed, stopped };
  // What a placement or a refutation changed, to be put back in reverse.
  struct Change {
    int32_t buffer;   // -1: the witness of a section
    int32_t section;  // the section, or whether the buffer was barred
    int64_t base;     // the old base, or the old witness
    int64_t floor;
  };
  struct Side {
    int32_t begin, end;  // sections
    std::vector<int32_t> members;
  };

  void list_contemporaries();
  void list_fixed();
  int64_t lowest_offset(int32_t buffer, int64_t from) const;
  void rank(std::span<const int32_t> members);
  bool place(int32_t buffer);
  void unplace(int32_t buffer, size_t mark);
  bool refute(int32_t buffer);
  void undo(size_t mark);
  void touch(int32_t buffer);
  void set_witness(int32_t section, int32_t buffer);
  bool check_touched();
  void new_epoch();
  Answer solve(size_t begin, size_t end, int32_t first, int32_t last);
  Answer descend(int32_t placed, size_t begin, size_t end, int32_t first, int32_t last, size_t mark,
                 bool& blameless);
  bool twin_failed(size_t candidates, size_t c) const;
  Answer solve_sides(int32_t placed, size_t begin, size_t end, int32_t first, int32_t last,
                     size_t mark, bool& blameless);

  const PackProblem& problem_;
  int64_t capacity_;
  bool too_large_ = false;
  bool hopeless_ = false;
  std::string_view tie_order_;

  // Per buffer.
  std::vector<int64_t> size_, offset_;
  std::vector<int64_t> base_;  // lowest offset above the placed contemporaries
  std::vector<int64_t>
      floor_;  // a lower bound on the offset; at least base_, above it while barred
  std::vector<uint8_t> placed_, barred_;
  std::vector<int32_t> rank_;
  std::vector<int32_t> witnessed_;  // in how many sections it is the witness
  std::vector<int32_t> free_;       // buffers without a fixed offset
  std::vector<int32_t> contemporaries_, contemporaries_at_;  // free ones, by buffer
  std::vector<int32_t> fixed_, fixed_at_;  // fixed contemporaries by rising offset, by buffer

  // Per section.
  std::vector<int32_t> members_, members_at_;
  std::vector<int64_t> unplaced_bytes_;
  // An unplaced buffer whose floor, with all unplaced bytes on top, stays within the capacity. As
  // long as it does, no other floor of the section needs a look.
  std::vector<int32_t> witness_;
  std::vector<int32_t> crossing_;  // unplaced buffers alive here and in the next section
  std::vector<int64_t> touched_at_;

  std::vector<Change> changes_;
  std::vector<int32_t> stack_;    // the unplaced buffers and candidates of all nodes on the path
  std::vector<int32_t> touched_;  // sections whose witness may have changed
  int64_t epoch_ = 0;
  std::vector<StateHash> failed_;  // direct-mapped
  int64_t nodes_ = 0, steps_ = 0, node_limit_ = 0, step_limit_ = 0;
};

Search::Search(const PackProblem& problem, int64_t capacity)
    : problem_(problem), capacity_(capacity) {
  size_t count = problem.buffers.size(), sections = static_cast<size_t>(problem.section_count);
  list_contemporaries();
  if (too_large_) return;
  list_fixed();
  size_.resize(count);
  offset_.assign(count, 0);
  base_.assign(count, 0);
  placed_.assign(count, 0);
  barred_.assign(count, 0);
  rank_.assign(count, 0);
  witnessed_.assign(count, 0);
  unplaced_bytes_.assign(sections, 0);
  witness_.assign(sections, -1);
  crossing_.assign(sections, 0);
  touched_at_.assign(sections, 0);
  for (int32_t i = 0; i < problem.size(); ++i) {
    size_[i] = problem.buffers[i].size;
    if (problem.buffers[i].fixed_offset >= 0) {
      offset_[i] = problem.buffers[i].fixed_offset;
      placed_[i] = 1;
      continue;
    }
    free_.push_back(i);
    base_[i] = lowest_offset(i, 0);
    if (base_[i] + size_[i] > capacity_) hopeless_ = true;
  }
  floor_ = base_;
  new_epoch();
  for (int32_t i : free_)
    for (int32_t s = problem.first[i]; s < problem.last[i]; ++s) {
      unplaced_bytes_[s] += size_[i];
      if (s + 1 < problem.last[i]) ++crossing_[s];
      if (touched_at_[s] != epoch_) {
        touched_at_[s] = epoch_;
        touched_.push_back(s);
      }
    }
  if (!check_touched()) hopeless_ = true;
  changes_.clear();
  // About 16 bytes for each of the states a search of this size is likely to meet.
  failed_.resize(count < 64 ? size_t{1} << 14 : size_t{1} << 18);
}

void Search::list_contemporaries() {
  // Beyond this the lists alone cost more than a search could gain.
  constexpr size_t most_entries = 12'000'000;
  // The search recurses once per buffer.
  constexpr int32_t most_buffers = 8'000;
  const PackProblem& p = problem_;
  if (p.size() > most_buffers) {
    too_large_ = true;
    return;
  }
  size_t sections = static_cast<size_t>(p.section_count);
  std::vector<std::vector<int32_t>> beginning(sections);
  std::vector<int32_t> alive;
  members_at_.assign(1, 0);
  std::vector<std::vector<int32_t>> lists(p.buffers.size());
  size_t entries = 0;
  for (int32_t i = 0; i < p.size(); ++i)
    if (p.buffers[i].fixed_offset < 0) beginning[p.first[i]].push_back(i);
  for (size_t s = 0; s < sections; ++s) {
    std::erase_if(alive, [&](int32_t i) { return p.last[i] <= static_cast<int32_t>(s); });
    for (int32_t i : beginning[s]) {
      for (int32_t other : alive) {
        lists[i].push_back(other);
        lists[other].push_back(i);
      }
      entries += 2 * alive.size();
      alive.push_back(i);
    }
    members_.insert(members_.end(), alive.begin(), alive.end());
    members_at_.push_back(static_cast<int32_t>(members_.size()));
    if (entries + members_.size() > most_entries) {
      too_large_ = true;
      return;
    }
  }
  contemporaries_at_.assign(1, 0);
  for (const std::vector<int32_t>& list : lists) {
    contemporaries_.insert(contemporaries_.end(), list.begin(), list.end());
    contemporaries_at_.push_back(static_cast<int32_t>(contemporaries_.size()));
  }
}

void Search::list_fixed() {
  const PackProblem& p = problem_;
  std::vector<int32_t> all;
  for (int32_t i = 0; i < p.size(); ++i)
    if (p.buffers[i].fixed_offset >= 0) all.push_back(i);
  std::sort(all.begin(), all.end(), [&](int32_t a, int32_t b) {
    int64_t x = p.buffers[a].fixed_offset, y = p.buffers[b].fixed_offset;
    return x != y ? x < y : a < b;
  });
  fixed_at_.assign(1, 0);
  for (int32_t i = 0; i < p.size(); ++i) {
    if (p.buffers[i].fixed_offset < 0)
      for (int32_t other : all)
        if (p.first[other] < p.last[i] && p.first[i] < p.last[other]) fixed_.push_back(other);
    fixed_at_.push_back(static_cast<int32_t>(fixed_.size()));
  }
}

// The lowest aligned offset, at least `from`, at which the buffer misses its fixed contemporaries.
int64_t Search::lowest_offset(int32_t buffer, int64_t from) const {
  if (problem_.plain) return from;  // every size and floor is a multiple of the alignment
  int64_t alignment = problem_.buffers[buffer].alignment;
  int64_t offset = align_up(from, alignment);
  for (int32_t k = fixed_at_[buffer]; k < fixed_at_[buffer + 1]; ++k) {
    const PackBuffer& other = problem_.buffers[fixed_[k]];
    int64_t end = other.fixed_offset + other.size;
    if (other.fixed_offset < offset + size_[buffer] && offset < end)
      offset = align_up(end, alignment);
  }
  return offset;
}

// Ranks the members by the tie order. T is taken now, from the bytes still unplaced: a part cut off
// in mid-search gets an order of its own, which decides whether the hard instances take
// milliseconds or hours.
void Search::rank(std::span<const int32_t> members) {
  struct Keyed {
    std::array<double, 3> key;
    int32_t buffer;
  };
  std::vector<Keyed> keyed;
  keyed.reserve(members.size());
  for (int32_t i : members) {
    const PackBuffer& b = problem_.buffers[i];
    double life = static_cast<double>(b.upper) - static_cast<double>(b.lower);
    int64_t busiest = 0;
    for (int32_t s = problem_.first[i]; s < problem_.last[i]; ++s)
      busiest = std::max(busiest, unplaced_bytes_[s]);
    steps_ += problem_.last[i] - problem_.first[i];
    Keyed entry{{}, i};
    for (size_t k = 0; k < 3; ++k)
      entry.key[k] = tie_order_[k] == 'T'   ? static_cast<double>(busiest)
                     : tie_order_[k] == 'W' ? life
                                            : life * static_cast<double>(b.size);
    keyed.push_back(entry);
  }
  std::sort(keyed.begin(), keyed.end(), [](const Keyed& x, const Keyed& y) {
    return x.key != y.key ? x.key > y.key : x.buffer < y.buffer;
  });
  for (size_t k = 0; k < keyed.size(); ++k) rank_[keyed[k].buffer] = static_cast<int32_t>(k);
}

void Search::new_epoch() {
  ++epoch_;
  touched_.clear();
}

// The buffer's floor rose or it was placed: sections of which it was the witness may need another.
void Search::touch(int32_t buffer) {
  int32_t left = witnessed_[buffer];
  for (int32_t s = problem_.first[buffer]; left > 0; ++s) {
    if (witness_[s] != buffer) continue;
    --left;
    if (touched_at_[s] == epoch_) continue;
    if (!placed_[buffer] && floor_[buffer] + unplaced_bytes_[s] <= capacity_) continue;
    touched_at_[s] = epoch_;
    touched_.push_back(s);
  }
  steps_ += witnessed_[buffer] + 1;
}

void Search::set_witness(int32_t section, int32_t buffer) {
  if (witness_[section] >= 0) --witnessed_[witness_[section]];
  witness_[section] = buffer;
  if (buffer >= 0) ++witnessed_[buffer];
}

bool Search::check_touched() {
  for (int32_t s : touched_) {
    int64_t lowest = never;
    int32_t witness = -1;
    steps_ += members_at_[s + 1] - members_at_[s];
    for (int32_t k = members_at_[s]; k < members_at_[s + 1]; ++k) {
      int32_t i = members_[k];
      if (!placed_[i] && floor_[i] < lowest) {
        lowest = floor_[i];
        witness = i;
      }
    }
    if (witness < 0) continue;  // nothing left to place here
    changes_.push_back({-1, s, witness_[s], 0});
    set_witness(s, witness);
    if (lowest + unplaced_bytes_[s] > capacity_) return false;
  }
  return true;
}

// Places the buffer at its base. False when some inference refutes that; the caller unplaces in
// either case.
bool Search::place(int32_t buffer) {
  int64_t top = base_[buffer] + size_[buffer];
  offset_[buffer] = base_[buffer];
  placed_[buffer] = 1;
  new_epoch();
  for (int32_t s = problem_.first[buffer]; s < problem_.last[buffer]; ++s) {
    unplaced_bytes_[s] -= size_[buffer];
    if (s + 1 < problem_.last[buffer]) --crossing_[s];
  }
  touch(buffer);
  steps_ += contemporaries_at_[buffer + 1] - contemporaries_at_[buffer];
  for (int32_t k = contemporaries_at_[buffer]; k < contemporaries_at_[buffer + 1]; ++k) {
    int32_t other = contemporaries_[k];
    if (placed_[other] || base_[other] >= top) continue;
    changes_.push_back({other, barred_[other], base_[other], floor_[other]});
    base_[other] = lowest_offset(other, top);
    barred_[other] = 0;
    if (floor_[other] < base_[other]) {
      floor_[other] = base_[other];
      if (floor_[other] + size_[other] > capacity_) return false;
      touch(other);
    }
  }
  return check_touched();
}

void Search::unplace(int32_t buffer, size_t mark) {
  undo(mark);
  placed_[buffer] = 0;
  for (int32_t s = problem_.first[buffer]; s < problem_.last[buffer]; ++s) {
    unplaced_bytes_[s] += size_[buffer];
    if (s + 1 < problem_.last[buffer]) ++crossing_[s];
  }
}

void Search::undo(size_t mark) {
  while (changes_.size() > mark) {
    const Change& change = changes_.back();
    if (change.buffer < 0) {
      set_witness(change.section, static_cast<int32_t>(change.base));
    } else {
      base_[change.buffer] = change.base;
      floor_[change.buffer] = change.floor;
      barred_[change.buffer] = static_cast<uint8_t>(change.section);
    }
    changes_.pop_back();
  }
}

// Bars the buffer from its base, after the search with it there has failed. False when this refutes
// the node.
bool Search::refute(int32_t buffer) {
  int64_t end = base_[buffer] + size_[buffer], support = never;
  steps_ += contemporaries_at_[buffer + 1] - contemporaries_at_[buffer];
  for (int32_t k = contemporaries_at_[buffer]; k < contemporaries_at_[buffer + 1]; ++k) {
    int32_t other = contemporaries_[k];
    if (!placed_[other] && floor_[other] < end)
      support = std::min(support, floor_[other] + size_[other]);
  }
  if (support == never) return false;  // nothing can keep it from its base: it is not to blame
  changes_.push_back({buffer, barred_[buffer], base_[buffer], floor_[buffer]});
  barred_[buffer] = 1;
  support = lowest_offset(buffer, support);
  if (support <= floor_[buffer]) return true;
  floor_[buffer] = support;
  if (support + size_[buffer] > capacity_) return false;
  new_epoch();
  touch(buffer);
  return check_touched();
}

// Places the unplaced buffers among stack_[begin, end), which live in the sections [first, last).
Search::Answer Search::solve(size_t begin, size_t end, int32_t first, int32_t last) {
  if (nodes_ >= node_limit_ || steps_ >= step_limit_) return Answer::stopped;
  ++nodes_;
  steps_ += static_cast<int64_t>(end - begin) * 2;

  size_t unplaced = stack_.size();
  int64_t lowest_end = never, lowest_floor = never;
  int32_t from = last, to = first;
  StateHash hash;
  for (size_t k = begin; k < end; ++k) {
    int32_t i = stack_[k];
    if (placed_[i]) continue;
    stack_.push_back(i);
    lowest_end = std::min(lowest_end, base_[i] + size_[i]);
    lowest_floor = std::min(lowest_floor, floor_[i]);
    from = std::min(from, problem_.first[i]);
    to = std::max(to, problem_.last[i]);
    hash.add(static_cast<uint64_t>(i) * 2 + barred_[i] + 1, static_cast<uint64_t>(base_[i]));
  }
  size_t candidates = stack_.size();
  if (unplaced == candidates) return Answer::solved;
  StateHash& memory = failed_[(hash.a >> 20) & (failed_.size() - 1)];
  if (memory == hash) {
    stack_.resize(unplaced);
    return Answer::failed;
  }

  for (size_t k = unplaced; k < candidates; ++k) {
    int32_t i = stack_[k];
    if (!barred_[i] && base_[i] < lowest_end) stack_.push_back(i);
  }
  size_t candidates_end = stack_.size();
  std::sort(stack_.begin() + static_cast<int64_t>(candidates), stack_.end(),
            [&](int32_t a, int32_t b) {
              return base_[a] != base_[b] ? base_[a] < base_[b] : rank_[a] < rank_[b];
            });

  if (problem_.plain) {
    // A buffer that can go to the very bottom under all the rest: no other choice can be better.
    for (size_t k = candidates; k < candidates_end; ++k) {
      int32_t i = stack_[k];
      if (base_[i] != lowest_floor || problem_.first[i] > from || problem_.last[i] < to) continue;
      stack_[candidates] = i;
      candidates_end = candidates + 1;
      break;
    }
  }

  Answer answer = Answer::failed;
  size_t node_mark = changes_.size();
  for (size_t c = candidates; c < candidates_end; ++c) {
    int32_t i = stack_[c];
    size_t mark = changes_.size();
    bool blameless = false;
    Answer below = Answer::failed;
    if (!twin_failed(candidates, c)) {
      if (place(i)) below = descend(i, unplaced, candidates, first, last, mark, blameless);
      unplace(i, mark);
    }
    if (below != Answer::failed) {
      answer = below;
      break;
    }
    if (blameless) break;
    if (!refute(i)) break;
  }
  undo(node_mark);
  stack_.resize(unplaced);
  if (answer == Answer::failed) memory = hash;
  return answer;
}

// Whether a candidate before this one, refuted at the same floor, has the same life and size: then
// they are exchangeable.
bool Search::twin_failed(size_t candidates, size_t c) const {
  int32_t i = stack_[c];
  for (size_t k = candidates; k < c; ++k) {
    int32_t j = stack_[k];
    if (size_[j] == size_[i] && base_[j] == base_[i] && problem_.first[j] == problem_.first[i] &&
        problem_.last[j] == problem_.last[i] &&
        problem_.buffers[j].alignment == problem_.buffers[i].alignment)
      return true;
  }
  return false;
}

// Continues below a placement; cuts the rest where nothing crosses any more.
Search::Answer Search::descend(int32_t placed, size_t begin, size_t end, int32_t first,
                               int32_t last, size_t mark, bool& blameless) {
  int32_t from = std::max(first, problem_.first[placed]);
  int32_t to = std::min(last, problem_.last[placed]) - 1;
  for (int32_t s = from; s < to; ++s)
    if (crossing_[s] == 0) return solve_sides(placed, begin, end, first, last, mark, blameless);
  return solve(begin, end, first, last);
}

Search::Answer Search::solve_sides(int32_t placed, size_t begin, size_t end, int32_t first,
                                   int32_t last, size_t mark, bool& blameless) {
  std::vector<Side> sides;
  int32_t from = first;
  int32_t stop = std::min(last, problem_.last[placed]) - 1;
  for (int32_t s = std::max(first, problem_.first[placed]); s < stop; ++s)
    if (crossing_[s] == 0) {
      sides.push_back({from, s + 1, {}});
      from = s + 1;
    }
  sides.push_back({from, last, {}});
  for (size_t k = begin; k < end; ++k) {
    int32_t i = stack_[k];
    if (placed_[i]) continue;
    auto side = std::upper_bound(sides.begin(), sides.end(), problem_.first[i],
                                 [](int32_t s, const Side& x) { return s < x.end; });
    side->members.push_back(i);
  }
  std::stable_sort(sides.begin(), sides.end(), [](const Side& a, const Side& b) {
    return a.members.size() < b.members.size();
  });

  for (const Side& side : sides) {
    if (side.members.empty()) continue;
    std::vector<int32_t> old_ranks;
    old_ranks.reserve(side.members.size());
    for (int32_t i : side.members) old_ranks.push_back(rank_[i]);
    rank(side.members);
    size_t at = stack_.size();
    stack_.insert(stack_.end(), side.members.begin(), side.members.end());
    Answer answer = solve(at, stack_.size(), side.begin, side.end);
    stack_.resize(at);
    for (size_t k = 0; k < side.members.size(); ++k) rank_[side.members[k]] = old_ranks[k];
    if (answer == Answer::stopped) return answer;
    if (answer == Answer::failed) {
      // The placement is to blame only if it raised a floor on this side.
      blameless = true;
      for (size_t k = mark; k < changes_.size() && blameless; ++k) {
        int32_t i = changes_[k].buffer;
        if (i >= 0 && problem_.first[i] >= side.begin && problem_.first[i] < side.end)
          blameless = false;
      }
      return answer;
    }
  }
  return Answer::solved;
}

ExactResult Search::run(const ExactLimits& limits) {
  ExactResult result;
  step_limit_ = limits.steps;
  for (int64_t share = 2 * static_cast<int64_t>(free_.size()) + 16;; share *= 2) {
    for (std::string_view order : tie_orders) {
      tie_order_ = order;
      node_limit_ = std::min(limits.nodes, nodes_ + share);
      stack_ = free_;
      rank(free_);
      Answer answer = solve(0, stack_.size(), 0, problem_.section_count);
      if (answer == Answer::stopped && nodes_ < limits.nodes && steps_ < limits.steps) continue;
      result.nodes = nodes_;
      result.steps = steps_;
      if (answer == Answer::solved) {
        result.outcome = ExactOutcome::found;
        result.offsets = offset_;
      } else if (answer == Answer::failed) {
        result.outcome = ExactOutcome::infeasible;
      }
      return result;
    }
  }
}

}  // namespace

ExactResult pack_exact(const PackProblem& problem, int64_t capacity, const ExactLimits& limits) {
  ExactResult result;
  for (const PackBuffer& b : problem.buffers) {
    if (b.fixed_offset >= 0 && b.fixed_offset + b.size > capacity) {
      result.outcome = ExactOutcome::infeasible;
      return result;
    }
  }
  Search search(problem, capacity);
  if (search.too_large()) return result;
  if (search.hopeless()) {
    result.outcome = ExactOutcome::infeasible;
    return result;
  }
  return search.run(limits);
}

}  // namespace ullage
