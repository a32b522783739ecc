// Splitting: a producer and everything that reads its result run piece by piece along one of its
// dimensions (rows of a batch, columns of a hidden layer), so that the large value in between never
// exists whole. Results that keep the dimension are written slice by slice; sums over it
// accumulate, at borders that are multiples of the block in which the unsplit kernel sums, so that
// bits do not change.
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
constexpr int kMaxDetour = 3;  // entries between a region's result and its reader in the region
constexpr int64_t kLineElements = 64;  // pieces of inner dimensions keep vectors and lines whole

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

  std::optional<Schedule> run(int32_t x, PieceAxis axis, int64_t pieces) {
    int32_t producer = profile_.first_use[index(x)];
    if (producer < 0 || !is_whole(x) || is_output(x)) return {};
    const Entry& first = entry(producer);
    extent_ = axis_extent(old_.kernel(first), *old_.graph, axis);
    std::span<const int32_t> outputs = old_.outputs_of(first);
    size_t o = static_cast<size_t>(std::find(outputs.begin(), outputs.end(), x) - outputs.begin());
    OperandUse use = output_use(old_.kernel(first), *old_.graph, axis, o);
    if (use.kind != OperandUse::Kind::slice || !add_value(x, use.cut)) return {};
    grow();
    int64_t granularity = has_sums_ ? kReduceBlock : gap_units_;
    int64_t units = (extent_ + granularity - 1) / granularity;
    if (units < 2) return {};
    pieces = std::min(pieces, units);
    step_ = (units + pieces - 1) / pieces * granularity;
    return rebuild();
  }

 private:
  static size_t index(int32_t x) { return static_cast<size_t>(x); }
  const Entry& entry(int32_t e) const { return old_.entries[static_cast<size_t>(e)]; }
  bool is_whole(int32_t x) const { return old_.instances[index(x)].slice.whole(); }
  bool is_output(int32_t x) const {
    return std::find(old_.outputs.begin(), old_.outputs.end(), x) != old_.outputs.end();
  }
  int64_t elements(int32_t x) const {
    return old_.graph->values[index(old_.instances[index(x)].value)].type.num_elements();
  }

  // Takes the value's producer and all its readers into the region and lets it exist in pieces
  // only.
  bool add_value(int32_t x, const Cut& cut) {
    auto saved_axes = axes_;
    auto saved_cuts = cuts_;
    bool saved_sums = has_sums_;
    int64_t saved_units = gap_units_;
    cuts_[x] = cut;
    if (cut.stride * cut.extent != elements(x))
      gap_units_ = std::max(gap_units_, (kLineElements + cut.stride - 1) / cut.stride);
    bool ok = add_entry(profile_.first_use[index(x)], x, true);
    for (int32_t reader : readers_[index(x)]) ok = ok && add_entry(reader, x, false);
    if (ok && axes_.size() <= kMaxRegion) return true;
    axes_ = std::move(saved_axes);
    cuts_ = std::move(saved_cuts);
    has_sums_ = saved_sums;
    gap_units_ = saved_units;
    return false;
  }

  bool add_entry(int32_t e, int32_t x, bool produces) {
    const Entry& at = entry(e);
    if (!at.axis.whole()) return false;
    const Kernel& kernel = old_.kernel(at);
    if (auto it = axes_.find(e); it != axes_.end()) return fits(at, it->second, x, produces);
    for (PieceAxis axis : piece_axes(kernel, *old_.graph)) {
      if (axis_extent(kernel, *old_.graph, axis) != extent_ || !fits(at, axis, x, produces))
        continue;
      // Everything a kernel writes along a parallel axis must be in slices.
      bool keeps = true;
      if (axis.parallel() && !kernel.get<RngKernel>())
        for (size_t o = 0; o < kernel.outputs.size(); ++o)
          keeps = keeps && output_use(kernel, *old_.graph, axis, o).kind == OperandUse::Kind::slice;
      if (!keeps) continue;
      axes_[e] = axis;
      has_sums_ |= axis.contracted();
      return true;
    }
    return false;
  }

  bool fits(const Entry& at, PieceAxis axis, int32_t x, bool produces) const {
    const Kernel& kernel = old_.kernel(at);
    std::span<const int32_t> inputs = old_.inputs(at), outputs = old_.outputs_of(at);
    const Cut& cut = cuts_.at(x);
    if (produces) {
      if (!axis.parallel()) return false;
      for (size_t o = 0; o < outputs.size(); ++o)
        if (outputs[o] == x && !output_use(kernel, *old_.graph, axis, o).slices(cut)) return false;
      return true;
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] == x && !input_use(kernel, *old_.graph, axis, i).slices(cut)) return false;
    return true;
  }

  // Other large values that the region makes, or reads, join it where they can.
  void grow() {
    bool again = true;
    std::set<int32_t> tried;
    int64_t largest = 0;
    for (const auto& [x, cut] : cuts_) {
      tried.insert(x);
      largest = std::max(largest, old_.instances[index(x)].bytes);
    }
    while (again && axes_.size() < kMaxRegion) {
      again = false;
      std::vector<std::pair<int32_t, Cut>> candidates;
      for (auto [e, axis] : axes_) {
        const Kernel& kernel = old_.kernel(entry(e));
        auto add = [&](int32_t y, const OperandUse& use) {
          if (use.kind == OperandUse::Kind::slice) candidates.push_back({y, use.cut});
        };
        std::span<const int32_t> inputs = old_.inputs(entry(e)),
                                 outputs = old_.outputs_of(entry(e));
        for (size_t o = 0; o < outputs.size(); ++o)
          add(outputs[o], output_use(kernel, *old_.graph, axis, o));
        for (size_t i = 0; i < inputs.size(); ++i)
          add(inputs[i], input_use(kernel, *old_.graph, axis, i));
      }
      for (const auto& [y, cut] : candidates) {
        if (tried.contains(y)) continue;
        if (profile_.first_use[index(y)] < 0 || !is_whole(y) || is_output(y) ||
            readers_[index(y)].empty())
          continue;
        // What the region reads and itself makes, or what is made of that, cannot wait for the last
        // piece, whatever its size.
        if (old_.instances[index(y)].bytes * 32 < largest && !made_and_read(y)) continue;
        tried.insert(y);
        if (add_value(y, cut)) again = true;
      }
    }
  }

  bool made_and_read(int32_t x) const {
    return std::any_of(readers_[index(x)].begin(), readers_[index(x)].end(),
                       [this](int32_t e) { return axes_.contains(e); }) &&
           made_of_region(x, kMaxDetour);
  }

  // Whether the region makes the value, or something that it is made of in a few steps.
  bool made_of_region(int32_t x, int steps) const {
    int32_t e = profile_.first_use[index(x)];
    if (e < 0 || !is_whole(x)) return false;
    if (axes_.contains(e)) return true;
    if (steps == 0 || e < axes_.begin()->first) return false;
    std::span<const int32_t> inputs = old_.inputs(entry(e));
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](int32_t y) { return made_of_region(y, steps - 1); });
  }

  std::optional<Schedule> rebuild() {
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
          if (late_values.contains(x) && !cuts_.contains(x)) return {};
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
    std::map<int32_t, uint32_t> sliced = sliced_inputs();
    for (int64_t lower = 0; lower < extent_; lower += step_)
      add_piece(out, lower, std::min(lower + step_, extent_), sliced);
    ++out.regions;
    for (int32_t e : late) out.entries.push_back(entry(e));
    out.entries.insert(out.entries.end(), old_.entries.begin() + end, old_.entries.end());
    return out;
  }

  // Of each entry, the inputs that stay whole while the whole region touches them slice by slice
  // along one cut: their slices are free for an output once the piece is done.
  std::map<int32_t, uint32_t> sliced_inputs() const {
    std::vector<int32_t> same_as = behind_barriers(old_);
    std::map<int32_t, std::optional<Cut>> cut_of;  // nothing: by several cuts, or whole
    auto each = [&](auto&& f) {
      for (auto [e, axis] : axes_) {
        std::span<const int32_t> inputs = old_.inputs(entry(e));
        for (size_t i = 0; i < std::min<size_t>(inputs.size(), 32); ++i)
          if (!cuts_.contains(inputs[i]))
            f(e, i, inputs[i], input_use(old_.kernel(entry(e)), *old_.graph, axis, i));
      }
    };
    each([&](int32_t, size_t, int32_t x, const OperandUse& use) {
      std::optional<Cut> cut;
      if (use.kind == OperandUse::Kind::slice) cut = use.cut;
      auto [it, fresh] = cut_of.try_emplace(same_as[index(x)], cut);
      if (!fresh && it->second != cut) it->second.reset();
    });
    std::map<int32_t, uint32_t> out;
    each([&](int32_t e, size_t i, int32_t x, const OperandUse&) {
      if (cut_of[same_as[index(x)]]) out[e] |= uint32_t{1} << i;
    });
    return out;
  }

  void add_piece(Schedule& out, int64_t lower, int64_t upper,
                 const std::map<int32_t, uint32_t>& sliced) {
    std::unordered_map<int32_t, int32_t> piece;
    for (const auto& [x, cut] : cuts_) {
      Instance instance = old_.instances[index(x)];
      // Between rounds of the cut there is room for a full piece.
      bool dense = cut.stride * cut.extent == elements(x);
      instance.bytes = instance.bytes / extent_ * (dense ? upper - lower : step_);
      instance.slice = {cut, lower, upper, step_};
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
      one.accumulate = axis.contracted() && lower > 0;
      one.unfinished = axis.contracted() && upper < extent_;
      one.region = out.regions;
      if (auto it = sliced.find(e); it != sliced.end()) one.sliced = it->second;
      one.fraction =
          at.fraction * static_cast<double>(upper - lower) / static_cast<double>(extent_);
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
    if (axis.parallel() && axis.dim == 2) return 0;
    int64_t elements = axis.contracted() ? dot->m_size() * dot->n_size()
                       : axis.dim == 0   ? dot->k_size() * dot->n_size()
                                         : dot->m_size() * dot->k_size();
    return static_cast<double>(elements) * 8 / target_.bytes_per_second;
  }

  const Schedule& old_;
  const Profile& profile_;
  const Target& target_;
  std::vector<std::vector<int32_t>> readers_;  // entries that read each instance
  int64_t extent_ = 0, step_ = 0;              // of the cut dimension, and of a piece of it
  std::map<int32_t, PieceAxis> axes_;          // the region: entries and how each is cut
  std::map<int32_t, Cut> cuts_;                // instances that exist in pieces only
  bool has_sums_ = false;
  int64_t gap_units_ = 1;  // indices that fill a line, where pieces are not contiguous in a value
};

}  // namespace

std::optional<Schedule> split(const Schedule& schedule, const Profile& profile,
                              const Target& target, int32_t x, PieceAxis axis, int64_t pieces) {
  return Splitter(schedule, profile, target).run(x, axis, pieces);
}

}  // namespace ullage
