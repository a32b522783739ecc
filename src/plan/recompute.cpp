// Store or recompute: a value is made again from what is alive where it is read, by running the
// same kernels on the same operands, so that it has the same bits. The recomputation stands
// directly before its reader.
#include <algorithm>
#include <unordered_map>

#include "kernels/host_call.h"
#include "plan/schedule.h"

namespace ullage {

namespace {

constexpr int kMaxDepth = 24;
constexpr size_t kMaxKernels = 32;

class Closure {
 public:
  Closure(const Schedule& schedule, const Profile& profile, int32_t before)
      : old_(schedule), profile_(profile), before_(before), out_(schedule) {}

  std::optional<Schedule> run(int32_t x) {
    if (!clone_producer(x, 0)) return {};
    int32_t copy = made_.at(x);
    // This reader and all later ones use the copy.
    for (size_t e = static_cast<size_t>(before_); e < out_.entries.size(); ++e)
      redirect(out_.entries[e], x, copy);
    for (int32_t& output : out_.outputs)
      if (output == x) output = copy;
    out_.entries.insert(out_.entries.begin() + before_, clones_.begin(), clones_.end());
    remove_dead_entries(out_);  // the first copy, if the new one has taken all its readers
    return std::move(out_);
  }

 private:
  void redirect(const Entry& entry, int32_t from, int32_t to) {
    for (int32_t& input : out_.inputs(entry))
      if (input == from) input = to;
  }

  bool alive(int32_t x) const {
    size_t i = static_cast<size_t>(x);
    if (profile_.first_use[i] >= before_ || profile_.first_use[i] == -2) return false;
    if (profile_.last_use[i] >= before_) return true;
    int32_t slot = profile_.slot_of[i];
    return slot >= 0 && profile_.slots[static_cast<size_t>(slot)].pinned;
  }

  const Entry* producer(int32_t x) const {
    int32_t e = profile_.first_use[static_cast<size_t>(x)];
    return e < 0 ? nullptr : &old_.entries[static_cast<size_t>(e)];
  }

  static bool repeatable(const Schedule& schedule, const Entry& entry) {
    const Kernel& kernel = schedule.kernel(entry);
    if (kernel.get<BarrierKernel>() || kernel.get<WhileKernel>() || kernel.get<CaseKernel>() ||
        has_effect(kernel))
      return false;
    if (entry.axis.contracted()) return false;  // one piece is not the value
    return std::none_of(kernel.in_place.begin(), kernel.in_place.end(),
                        [](const auto& pair) { return pair.required; });
  }

  // Makes the instance that stands for u at `before_`: u itself if alive, or a copy.
  bool obtain(int32_t u, int64_t reader_bytes, int depth) {
    if (made_.contains(u) || alive(u)) return true;
    const Entry* entry = producer(u);
    bool exists = profile_.first_use[static_cast<size_t>(u)] < before_ &&
                  profile_.first_use[static_cast<size_t>(u)] != -2;
    // Keeping a small value longer is cheaper than making it again.
    bool small = old_.instances[static_cast<size_t>(u)].bytes * 64 <= reader_bytes;
    if (small && exists) return true;
    if (entry && old_.kernel(*entry).get<BarrierKernel>()) {
      std::span<const int32_t> outputs = old_.outputs_of(*entry);
      size_t i =
          static_cast<size_t>(std::find(outputs.begin(), outputs.end(), u) - outputs.begin());
      int32_t through = old_.inputs(*entry)[i];
      if (!obtain(through, reader_bytes, depth + 1)) return false;
      made_[u] = made_.contains(through) ? made_[through] : through;
      return true;
    }
    if (entry && depth < kMaxDepth && written_once(u) && clone_producer(u, depth + 1)) return true;
    return exists;  // its life is extended
  }

  // A value put together from pieces cannot be made again by one of its writers.
  bool written_once(int32_t x) const {
    const Entry* entry = producer(x);
    return !old_.instances[static_cast<size_t>(x)].slice.whole() || entry->axis.whole();
  }

  bool clone_producer(int32_t x, int depth) {
    const Entry* entry = producer(x);
    if (!entry || !repeatable(old_, *entry) || !written_once(x) || clones_.size() >= kMaxKernels)
      return false;
    std::vector<int32_t> inputs(old_.inputs(*entry).begin(), old_.inputs(*entry).end());
    size_t mark = clones_.size();
    for (int32_t& input : inputs) {
      if (!obtain(input, old_.instances[static_cast<size_t>(x)].bytes, depth)) {
        clones_.resize(mark);
        return false;
      }
      if (auto it = made_.find(input); it != made_.end()) input = it->second;
    }
    std::vector<int32_t> outputs;
    for (int32_t y : old_.outputs_of(*entry)) {
      Instance copy = old_.instances[static_cast<size_t>(y)];
      copy.clone = true;
      outputs.push_back(out_.add_instance(copy));
      made_[y] = outputs.back();
    }
    Entry clone = out_.make_entry(entry->kernel, inputs, outputs);
    clone.axis = entry->axis;
    clone.lower = entry->lower;
    clone.upper = entry->upper;
    clone.fraction = entry->fraction;
    clone.overhead = entry->overhead;
    clone.clone = true;
    clones_.push_back(clone);
    return true;
  }

  const Schedule& old_;
  const Profile& profile_;
  int32_t before_;
  Schedule out_;
  std::vector<Entry> clones_;
  std::unordered_map<int32_t, int32_t> made_;  // old instance -> the one that stands for it
};

}  // namespace

std::optional<Schedule> recompute(const Schedule& schedule, const Profile& profile, int32_t x,
                                  int32_t before) {
  return Closure(schedule, profile, before).run(x);
}

}  // namespace ullage
