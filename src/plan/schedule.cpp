#include "plan/schedule.h"

#include <algorithm>

#include "kernels/host_call.h"
#include "support/check.h"

namespace ullage {

int32_t Schedule::add_instance(Instance instance) {
  instances.push_back(instance);
  return static_cast<int32_t>(instances.size()) - 1;
}

Entry Schedule::make_entry(KernelId kernel, std::span<const int32_t> inputs,
                           std::span<const int32_t> outputs) {
  Entry entry;
  entry.kernel = kernel;
  entry.first_operand = static_cast<int32_t>(operands.size());
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  operands.insert(operands.end(), outputs.begin(), outputs.end());
  return entry;
}

Schedule make_schedule(const KernelGraph& graph, std::span<const KernelId> order) {
  Schedule schedule;
  schedule.graph = &graph;
  // Instance v is value v, to begin with.
  for (size_t v = 0; v < graph.values.size(); ++v)
    schedule.instances.push_back({static_cast<ValueId>(v), graph.values[v].bytes});
  for (KernelId k : order) {
    const Kernel& kernel = graph.kernels[static_cast<size_t>(k)];
    schedule.entries.push_back(schedule.make_entry(k, kernel.inputs, kernel.outputs));
  }
  schedule.arguments = graph.arguments;
  schedule.outputs = graph.outputs;
  return schedule;
}

std::vector<int32_t> behind_barriers(const Schedule& schedule) {
  std::vector<int32_t> out(schedule.instances.size());
  for (size_t x = 0; x < out.size(); ++x) out[x] = static_cast<int32_t>(x);
  for (const Entry& entry : schedule.entries) {
    if (!schedule.kernel(entry).get<BarrierKernel>()) continue;
    std::span<const int32_t> inputs = schedule.inputs(entry), outputs = schedule.outputs_of(entry);
    for (size_t i = 0; i < outputs.size(); ++i)
      out[static_cast<size_t>(outputs[i])] = out[static_cast<size_t>(inputs[i])];
  }
  return out;
}

void remove_dead_entries(Schedule& schedule) {
  std::vector<char> needed(schedule.instances.size(), 0);
  for (int32_t x : schedule.outputs) needed[static_cast<size_t>(x)] = 1;
  std::vector<Entry> kept;
  for (size_t e = schedule.entries.size(); e-- > 0;) {
    const Entry& entry = schedule.entries[e];
    std::span<const int32_t> outputs = schedule.outputs_of(entry);
    if (std::none_of(outputs.begin(), outputs.end(),
                     [&](int32_t x) { return needed[static_cast<size_t>(x)] != 0; }) &&
        !has_effect(schedule.kernel(entry)))
      continue;
    for (int32_t x : schedule.inputs(entry)) needed[static_cast<size_t>(x)] = 1;
    kept.push_back(entry);
  }
  schedule.entries.assign(kept.rbegin(), kept.rend());
}

namespace {

class Simulator {
 public:
  Simulator(const Schedule& schedule, const KernelCosts& costs, const Target& target, Scope scope)
      : schedule_(schedule), costs_(costs), target_(target), scope_(scope) {}

  Profile run() {
    find_uses();
    same_as_ = behind_barriers(schedule_);
    place_residents();
    out_.memory.reserve(schedule_.entries.size());
    for (size_t e = 0; e < schedule_.entries.size(); ++e) step(static_cast<int32_t>(e));
    note(static_cast<int32_t>(schedule_.entries.size()) - 1, live_);
    for (Slot& slot : out_.slots)
      if (slot.last == kOpen) slot.last = static_cast<int32_t>(schedule_.entries.size());
    return std::move(out_);
  }

 private:
  static constexpr int32_t kOpen = INT32_MAX;

  void find_uses() {
    size_t count = schedule_.instances.size();
    out_.first_use.assign(count, -2);
    out_.last_use.assign(count, -1);
    out_.slot_of.assign(count, -1);
    int32_t e = 0;
    for (const Entry& entry : schedule_.entries) {
      for (int32_t x : schedule_.inputs(entry)) out_.last_use[static_cast<size_t>(x)] = e;
      for (int32_t x : schedule_.outputs_of(entry)) {
        if (out_.first_use[static_cast<size_t>(x)] == -2)
          out_.first_use[static_cast<size_t>(x)] = e;
        // A value written in pieces must stay until its last piece is there.
        out_.last_use[static_cast<size_t>(x)] = std::max(out_.last_use[static_cast<size_t>(x)], e);
      }
      ++e;
    }
    for (int32_t x : schedule_.outputs) out_.last_use[static_cast<size_t>(x)] = e;
  }

  int32_t new_slot(int32_t x, int32_t first, bool pinned) {
    Slot slot;
    slot.bytes = schedule_.instances[static_cast<size_t>(x)].bytes;
    slot.first = first;
    slot.last = kOpen;
    slot.owner = x;
    slot.pinned = pinned;
    out_.slots.push_back(slot);
    users_.push_back(1);
    int32_t number = static_cast<int32_t>(out_.slots.size()) - 1;
    out_.slot_of[static_cast<size_t>(x)] = number;
    live_ += slot.bytes;
    return number;
  }

  void place_residents() {
    const KernelGraph& graph = *schedule_.graph;
    alias_.assign(graph.values.size(), -1);
    for (size_t a = 0; a < schedule_.arguments.size(); ++a) {
      int32_t x = schedule_.arguments[a];
      out_.first_use[static_cast<size_t>(x)] = -1;
      const ArgumentInfo& info = graph.argument_info[a];
      new_slot(x, -1, !info.donated);
      if (info.aliases_output && static_cast<size_t>(*info.aliases_output) < graph.outputs.size())
        alias_[static_cast<size_t>(graph.outputs[static_cast<size_t>(*info.aliases_output)])] = x;
    }
    for (size_t v = 0; v < graph.values.size(); ++v) {
      if (graph.values[v].kind != KernelValue::Kind::constant) continue;
      out_.first_use[v] = -1;
      new_slot(static_cast<int32_t>(v), -1, true);
    }
    returns_.assign(schedule_.instances.size(), static_cast<int32_t>(schedule_.entries.size()));
    for (size_t y = 0; y < schedule_.instances.size(); ++y)
      if (int32_t x = home(static_cast<int32_t>(y)); x >= 0 && out_.first_use[y] != -2)
        returns_[static_cast<size_t>(x)] =
            std::min(returns_[static_cast<size_t>(x)], out_.first_use[y]);
    // Arguments that nobody reads are dead from the start.
    for (int32_t x : schedule_.arguments)
      if (out_.last_use[static_cast<size_t>(x)] < 0) release(x, -1);
  }

  bool resident(const Slot& slot) const {
    return slot.pinned || (scope_ == Scope::body && slot.first < 0);
  }

  void release(int32_t x, int32_t at) {
    size_t s = static_cast<size_t>(slot_of(x));
    Slot& slot = out_.slots[s];
    if (--users_[s] > 0) return;
    if (resident(slot)) {
      if (!slot.pinned) vacant_.push_back(slot.owner);
      return;
    }
    slot.last = at;
    live_ -= slot.bytes;
  }

  // The input whose buffer the output takes, or -1.
  int32_t in_place_source(const Entry& entry, int32_t e, int32_t output, bool& required,
                          int32_t& required_input) {
    const Kernel& kernel = schedule_.kernel(entry);
    std::span<const int32_t> inputs = schedule_.inputs(entry);
    int32_t y = schedule_.outputs_of(entry)[static_cast<size_t>(output)];
    int32_t wanted = alias_[static_cast<size_t>(schedule_.instances[static_cast<size_t>(y)].value)];
    int32_t best = -1;
    for (const Kernel::InPlace& pair : kernel.in_place) {
      if (pair.output != output) continue;
      int32_t x = inputs[static_cast<size_t>(pair.input)];
      if (pair.required) required = true, required_input = x;
      if (!replaceable(x, pair.input, entry, e) || read_beside(kernel, inputs, x)) continue;
      if (schedule_.instances[static_cast<size_t>(x)].bytes !=
          schedule_.instances[static_cast<size_t>(y)].bytes)
        continue;
      if (reserved_by_other(x, y, entry)) continue;
      if (best < 0 || x == wanted) best = x;
    }
    return best;
  }

  // Whether the kernel reads the value as an operand that nothing replaces too: a loop that starts
  // with a value may also read it from outside, in every iteration.
  static bool read_beside(const Kernel& kernel, std::span<const int32_t> inputs, int32_t x) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      auto replaces = [i](const Kernel::InPlace& pair) {
        return pair.input == static_cast<int32_t>(i);
      };
      if (inputs[i] == x && std::none_of(kernel.in_place.begin(), kernel.in_place.end(), replaces))
        return true;
    }
    return false;
  }

  // Whether nobody needs an input's old content once this entry has written over it: it is the last
  // reader; or it is the first of several pieces, each of which touches its own slice, and so does
  // every other reader from here on, which comes before the writer in each piece.
  bool replaceable(int32_t x, int32_t input, const Entry& entry, int32_t e) const {
    const Slot& slot = out_.slots[static_cast<size_t>(slot_of(x))];
    int32_t users = users_[static_cast<size_t>(slot_of(x))];
    if (slot.pinned || taken(x)) return false;
    if (out_.last_use[static_cast<size_t>(x)] == e && users == 1) return true;
    if (entry.region < 0 || !entry.axis.parallel() || entry.lower != 0 || !sliced(entry, input))
      return false;
    // All that lives in the slot must be this value under the names that barriers gave it.
    int32_t last = e, names = 0;
    for (size_t other = 0; other < same_as_.size(); ++other) {
      if (out_.slot_of[other] != slot_of(x) || out_.last_use[other] < e) continue;
      if (same_as_[other] != same_as_[static_cast<size_t>(x)]) return false;
      last = std::max(last, out_.last_use[other]);
      ++names;
    }
    if (names != users || static_cast<size_t>(last) == schedule_.entries.size()) return false;
    for (int32_t f = e + 1; f <= last; ++f) {
      const Entry& other = schedule_.entries[static_cast<size_t>(f)];
      std::span<const int32_t> inputs = schedule_.inputs(other);
      for (size_t i = 0; i < inputs.size(); ++i)
        if (same_as_[static_cast<size_t>(inputs[i])] == same_as_[static_cast<size_t>(x)] &&
            (other.region != entry.region || other.lower == entry.lower ||
             !sliced(other, static_cast<int32_t>(i))))
          return false;
    }
    return true;
  }
  static bool sliced(const Entry& entry, int32_t input) {
    return input < 32 && (entry.sliced >> input & 1) != 0;
  }

  // Leave an argument's buffer to the output that is meant to be there, if that output is made by
  // this entry too.
  bool reserved_by_other(int32_t x, int32_t y, const Entry& entry) const {
    for (int32_t other : schedule_.outputs_of(entry))
      if (other != y &&
          alias_[static_cast<size_t>(schedule_.instances[static_cast<size_t>(other)].value)] == x)
        return true;
    return false;
  }

  bool taken(int32_t x) const { return std::find(taken_.begin(), taken_.end(), x) != taken_.end(); }

  int32_t slot_of(int32_t x) const { return out_.slot_of[static_cast<size_t>(x)]; }

  // The argument whose buffer an instance should end in, or -1.
  int32_t home(int32_t y) const {
    return alias_[static_cast<size_t>(schedule_.instances[static_cast<size_t>(y)].value)];
  }

  // In the body of a loop, a carried value's buffer that can hold `y`: its own, or one that stays
  // vacant for as long as y needs it, the smallest.
  int32_t carried_slot(int32_t y) const {
    auto bytes = [&](int32_t x) { return schedule_.instances[static_cast<size_t>(x)].bytes; };
    int32_t best = -1;
    for (int32_t x : vacant_) {
      if (x == home(y)) return slot_of(x);
      if (bytes(x) < bytes(y) || (best >= 0 && bytes(x) >= bytes(best))) continue;
      int steps = 16;
      if (leaves_in_time(y, x, steps)) best = x;
    }
    return best < 0 ? -1 : slot_of(best);
  }

  // Whether y, and whatever may be computed in its place, is dead before the next content of the
  // carried value x is written, or becomes it. At most `steps` values are looked at.
  bool leaves_in_time(int32_t y, int32_t x, int& steps) const {
    if (home(y) == x) return true;
    int32_t end = out_.last_use[static_cast<size_t>(y)];
    if (--steps < 0 || end >= returns_[static_cast<size_t>(x)]) return false;
    const Entry& entry = schedule_.entries[static_cast<size_t>(end)];
    std::span<const int32_t> inputs = schedule_.inputs(entry);
    std::span<const int32_t> outputs = schedule_.outputs_of(entry);
    auto goes_on_as = [&](int32_t output) {
      return leaves_in_time(outputs[static_cast<size_t>(output)], x, steps);
    };
    if (schedule_.kernel(entry).get<BarrierKernel>()) {
      for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i] == y && !goes_on_as(static_cast<int32_t>(i))) return false;
      return true;
    }
    // What is cut along with its readers may be overwritten by the first of them.
    if (entry.region >= 0 && schedule_.instances[static_cast<size_t>(y)].slice.whole())
      return false;
    const std::vector<Kernel::InPlace>& in_place = schedule_.kernel(entry).in_place;
    return std::all_of(in_place.begin(), in_place.end(), [&](const Kernel::InPlace& pair) {
      return inputs[static_cast<size_t>(pair.input)] != y || goes_on_as(pair.output);
    });
  }

  void share(int32_t y, int32_t slot) {
    if (users_[static_cast<size_t>(slot)] == 0)
      std::erase(vacant_, out_.slots[static_cast<size_t>(slot)].owner);
    out_.slot_of[static_cast<size_t>(y)] = slot;
    ++users_[static_cast<size_t>(slot)];
  }

  void step(int32_t e) {
    const Entry& entry = schedule_.entries[static_cast<size_t>(e)];
    const Kernel& kernel = schedule_.kernel(entry);
    std::span<const int32_t> inputs = schedule_.inputs(entry);
    std::span<const int32_t> outputs = schedule_.outputs_of(entry);
    bool barrier = kernel.get<BarrierKernel>() != nullptr;
    taken_.clear();
    for (size_t o = 0; o < outputs.size(); ++o) {
      int32_t y = outputs[o];
      if (slot_of(y) >= 0) continue;  // a later piece of it
      if (barrier) {
        share(y, out_.slot_of[static_cast<size_t>(inputs[o])]);
        continue;
      }
      bool required = false;
      int32_t required_input = -1;
      int32_t source = in_place_source(entry, e, static_cast<int32_t>(o), required, required_input);
      int32_t carried = carried_slot(y);
      // A carried value's next content that is made elsewhere would have to be copied in the end.
      bool at_home = carried >= 0 && home(y) >= 0 && carried == slot_of(home(y));
      if (source >= 0 && (required || !at_home)) {
        taken_.push_back(source);
        share(y, slot_of(source));
        continue;
      }
      if (carried >= 0)
        share(y, carried);
      else
        new_slot(y, e, false);
      if (required) {
        out_.copies.push_back({e, required_input, y});
        out_.seconds += static_cast<double>(schedule_.instances[static_cast<size_t>(y)].bytes) * 2 /
                        target_.bytes_per_second;
      }
    }
    note(e, live_ + costs_.extra_bytes[static_cast<size_t>(entry.kernel)]);
    out_.memory.push_back(live_ + costs_.extra_bytes[static_cast<size_t>(entry.kernel)]);
    double fixed = barrier ? 0 : target_.kernel_seconds;
    out_.seconds += fixed +
                    (costs_.seconds[static_cast<size_t>(entry.kernel)] - fixed) * entry.fraction +
                    entry.overhead;
    release_dead(e, inputs);
    release_dead(e, outputs);
  }

  void release_dead(int32_t e, std::span<const int32_t> operands) {
    for (size_t i = 0; i < operands.size(); ++i) {
      int32_t x = operands[i];
      if (out_.last_use[static_cast<size_t>(x)] != e) continue;
      if (std::find(operands.begin(), operands.begin() + static_cast<ptrdiff_t>(i), x) !=
          operands.begin() + static_cast<ptrdiff_t>(i))
        continue;
      release(x, e);
    }
  }

  void note(int32_t e, int64_t bytes) {
    if (bytes <= out_.peak) return;
    out_.peak = bytes;
    out_.peak_entry = e;
  }

  const Schedule& schedule_;
  const KernelCosts& costs_;
  const Target& target_;
  Scope scope_;
  Profile out_;
  std::vector<int32_t> users_;    // live instances per slot
  std::vector<int32_t> alias_;    // per value: the argument instance whose buffer it should end in
  std::vector<int32_t> returns_;  // per argument: the entry that first writes what should end there
  // In the body of a loop: carried values that were read for the last time, whose buffers are free.
  std::vector<int32_t> vacant_;
  std::vector<int32_t> taken_;
  std::vector<int32_t> same_as_;  // per instance, behind barriers
  int64_t live_ = 0;
};

}  // namespace

Profile simulate(const Schedule& schedule, const KernelCosts& costs, const Target& target,
                 Scope scope) {
  return Simulator(schedule, costs, target, scope).run();
}

}  // namespace ullage
