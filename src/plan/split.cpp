// Splitting: a producer and everything that reads its result run piece by piece along the rows, so
// that the large value in between never exists whole. Results that keep the rows are written slice
// by slice; sums over the rows accumulate, at borders that are multiples of the block in which the
// unsplit kernel sums, so that bits do not change.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "plan/axis.h"
#include "plan/schedule.h"

namespace ullage {

namespace {

constexpr size_t kMaxRegion = 48;

class Splitter {
 public:
  Splitter(const Schedule& schedule, const Profile& profile, const Target& target)
      : old_(schedule), profile_(profile), target_(target) {
    readers_.resize(old_.instances.size());
    for (size_t e = 0; e < old_.entries.size(); ++e)
      for (int32_t x : old_.inputs(old_.entries[e]))
        if (readers_[index(x)].empty() || readers_[index(x)].back() != static_cast<int32_t>(e))
          readers_[index(x)].push_back(static_cast<int32_t>(e));
  }

  std::optional<Schedule> run(int32_t x, int64_t pieces) {
    int32_t producer = profile_.first_use[index(x)];
    if (producer < 0 || !is_whole(x) || is_output(x)) return {};
    const Entry& first = entry(producer);
    std::optional<int64_t> rows = axis_extent(old_.kernel(first), *old_.graph, PieceAxis::rows);
    if (!rows) return {};
    rows_ = *rows;
    if (!add_value(x)) return {};
    grow();
    int64_t granularity = has_sums_ ? kReduceBlock : 1;
    int64_t units = (rows_ + granularity - 1) / granularity;
    if (units < pieces) return {};
    int64_t step = (units + pieces - 1) / pieces * granularity;
    return rebuild(step);
  }

 private:
  static size_t index(int32_t x) { return static_cast<size_t>(x); }
  const Entry& entry(int32_t e) const { return old_.entries[static_cast<size_t>(e)]; }
  bool is_whole(int32_t x) const { return old_.instances[index(x)].upper < 0; }
  bool is_output(int32_t x) const {
    return std::find(old_.outputs.begin(), old_.outputs.end(), x) != old_.outputs.end();
  }
  bool has_rows(int32_t x) const {
    return old_.graph->values[index(old_.instances[index(x)].value)].type.num_elements() % rows_ ==
           0;
  }

  // Takes the value's producer and all its readers into the region and lets it exist in pieces
  // only.
  bool add_value(int32_t x) {
    auto saved_axes = axes_;
    auto saved_split = split_;
    bool saved_sums = has_sums_;
    split_.insert(x);
    bool ok = has_rows(x) && add_entry(profile_.first_use[index(x)], x, true);
    for (int32_t reader : readers_[index(x)]) ok = ok && add_entry(reader, x, false);
    if (ok && axes_.size() <= kMaxRegion) return true;
    axes_ = std::move(saved_axes);
    split_ = std::move(saved_split);
    has_sums_ = saved_sums;
    return false;
  }

  bool add_entry(int32_t e, int32_t x, bool produces) {
    const Entry& at = entry(e);
    if (at.axis != PieceAxis::all) return false;
    const Kernel& kernel = old_.kernel(at);
    if (auto it = axes_.find(e); it != axes_.end()) return fits(at, it->second, x, produces);
    for (PieceAxis axis : {PieceAxis::rows, PieceAxis::contracted}) {
      std::optional<int64_t> extent = axis_extent(kernel, *old_.graph, axis);
      if (!extent || *extent != rows_ || !fits(at, axis, x, produces)) continue;
      // Everything a kernel writes along the rows must keep them.
      bool keeps = true;
      if (axis == PieceAxis::rows && !kernel.get<RngKernel>())
        for (size_t o = 0; o < kernel.outputs.size(); ++o)
          keeps = keeps && output_use(kernel, *old_.graph, axis, o) == AxisUse::rows;
      if (!keeps) continue;
      axes_[e] = axis;
      has_sums_ |= axis == PieceAxis::contracted;
      return true;
    }
    return false;
  }

  bool fits(const Entry& at, PieceAxis axis, int32_t x, bool produces) const {
    const Kernel& kernel = old_.kernel(at);
    std::span<const int32_t> inputs = old_.inputs(at), outputs = old_.outputs_of(at);
    if (produces) {
      if (axis != PieceAxis::rows) return false;
      for (size_t o = 0; o < outputs.size(); ++o)
        if (outputs[o] == x && output_use(kernel, *old_.graph, axis, o) != AxisUse::rows)
          return false;
      return true;
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] == x && input_use(kernel, *old_.graph, axis, i) != AxisUse::rows) return false;
    return true;
  }

  // Other large values that the region makes, or reads, join it where they can.
  void grow() {
    bool again = true;
    std::set<int32_t> tried = split_;
    int64_t largest = 0;
    for (int32_t x : split_) largest = std::max(largest, old_.instances[index(x)].bytes);
    while (again && axes_.size() < kMaxRegion) {
      again = false;
      std::vector<int32_t> candidates;
      for (auto [e, axis] : axes_) {
        if (axis == PieceAxis::rows)
          for (int32_t y : old_.outputs_of(entry(e))) candidates.push_back(y);
        for (int32_t y : old_.inputs(entry(e))) candidates.push_back(y);
      }
      for (int32_t y : candidates) {
        if (tried.contains(y)) continue;
        if (profile_.first_use[index(y)] < 0 || !is_whole(y) || is_output(y) ||
            readers_[index(y)].empty())
          continue;
        // A value that the region both makes and reads cannot wait for the last piece, whatever its
        // size.
        if (old_.instances[index(y)].bytes * 4 < largest && !made_and_read(y)) continue;
        tried.insert(y);
        if (add_value(y)) again = true;
      }
    }
  }

  bool made_and_read(int32_t x) const {
    if (!axes_.contains(profile_.first_use[index(x)])) return false;
    return std::any_of(readers_[index(x)].begin(), readers_[index(x)].end(),
                       [this](int32_t e) { return axes_.contains(e); });
  }

  std::optional<Schedule> rebuild(int64_t step) {
    int32_t begin = axes_.begin()->first, end = axes_.rbegin()->first + 1;
    // What stands between and depends on the region's results waits until the last piece is done.
    std::unordered_set<int32_t> late_values;
    std::vector<int32_t> early, late;
    for (int32_t e = begin; e < end; ++e) {
      const Entry& at = entry(e);
      std::span<const int32_t> inputs = old_.inputs(at), outputs = old_.outputs_of(at);
      bool depends = std::any_of(inputs.begin(), inputs.end(),
                                 [&](int32_t x) { return late_values.contains(x); });
      if (axes_.contains(e)) {
        // Only through values that exist in pieces may the region read itself.
        for (int32_t x : inputs)
          if (late_values.contains(x) && !split_.contains(x)) return {};
        late_values.insert(outputs.begin(), outputs.end());
        continue;
      }
      if (depends) {
        late.push_back(e);
        late_values.insert(outputs.begin(), outputs.end());
      } else {
        early.push_back(e);
      }
    }
    Schedule out = old_;
    out.entries.assign(old_.entries.begin(), old_.entries.begin() + begin);
    for (int32_t e : early) out.entries.push_back(entry(e));
    for (int64_t lower = 0; lower < rows_; lower += step)
      add_piece(out, lower, std::min(lower + step, rows_));
    for (int32_t e : late) out.entries.push_back(entry(e));
    out.entries.insert(out.entries.end(), old_.entries.begin() + end, old_.entries.end());
    return out;
  }

  void add_piece(Schedule& out, int64_t lower, int64_t upper) {
    std::unordered_map<int32_t, int32_t> piece;
    for (int32_t x : split_) {
      Instance instance = old_.instances[index(x)];
      instance.bytes = instance.bytes / rows_ * (upper - lower);
      instance.lower = lower;
      instance.upper = upper;
      piece[x] = out.add_instance(instance);
    }
    for (auto [e, axis] : axes_) {
      const Entry& at = entry(e);
      std::vector<int32_t> inputs(old_.inputs(at).begin(), old_.inputs(at).end());
      std::vector<int32_t> outputs(old_.outputs_of(at).begin(), old_.outputs_of(at).end());
      for (int32_t& x : inputs)
        if (auto it = piece.find(x); it != piece.end()) x = it->second;
      for (int32_t& x : outputs)
        if (auto it = piece.find(x); it != piece.end()) x = it->second;
      Entry one = out.make_entry(at.kernel, inputs, outputs);
      one.axis = axis;
      one.lower = lower;
      one.upper = upper;
      one.clone = at.clone;
      one.accumulate = axis == PieceAxis::contracted && lower > 0;
      one.fraction = at.fraction * static_cast<double>(upper - lower) / static_cast<double>(rows_);
      if (lower > 0) one.overhead = overhead(at, axis);
      out.entries.push_back(one);
    }
  }

  // Each further piece reads what is needed whole once more, and packs it; sums are read and
  // written again.
  double overhead(const Entry& at, PieceAxis axis) const {
    const Kernel& kernel = old_.kernel(at);
    const DotKernel* dot = kernel.get<DotKernel>();
    if (!dot) return 0;
    double elements = axis == PieceAxis::rows ? static_cast<double>(dot->k_size() * dot->n_size())
                                              : static_cast<double>(dot->m_size() * dot->n_size());
    return elements * 8 / target_.bytes_per_second;
  }

  const Schedule& old_;
  const Profile& profile_;
  const Target& target_;
  std::vector<std::vector<int32_t>> readers_;  // entries that read each instance
  int64_t rows_ = 0;
  std::map<int32_t, PieceAxis> axes_;  // the region: entries and how each is cut
  std::set<int32_t> split_;            // instances that exist in pieces only
  bool has_sums_ = false;
};

}  // namespace

std::optional<Schedule> split(const Schedule& schedule, const Profile& profile,
                              const Target& target, int32_t x, int64_t pieces) {
  return Splitter(schedule, profile, target).run(x, pieces);
}

}  // namespace ullage
