// From a schedule to a plan: buffers for its slots and scratch, steps with their pieces, a time
// line through loops and branches, and addresses from the packer.
#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "plan/axis.h"
#include "plan/pack.h"
#include "plan/planner.h"
#include "support/check.h"

namespace ullage {

namespace {

using VariantNumbers = std::map<std::vector<int64_t>, int32_t>;  // by kernel, axis and slices

constexpr int64_t kAlignment = 64;
constexpr size_t kFewBuffers = 64;       // where it matters how small ones lie
constexpr int64_t kSmallestHost = 4096;  // bytes; smaller memory of others is left alone
constexpr int64_t kHostSteps = 20'000'000;

int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Large buffers begin with a line of the cache; small ones at a multiple of their elements' size.
int64_t least_alignment(const PlanBuffer& buffer) {
  if (buffer.bytes >= kAlignment || buffer.kind == PlanBuffer::Kind::scratch) return kAlignment;
  return static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(buffer.bytes, 1, 8))));
}

class Layout {
 public:
  Plan run(const ScheduledGraph& program, std::optional<int64_t> capacity, bool separate) {
    plan_.main = block(program, {});
    for (int32_t b : plan_.main.outputs) plan_.buffers[static_cast<size_t>(b)].output = true;
    for (int32_t b : resident_) plan_.buffers[static_cast<size_t>(b)].last = time_;
    plan_.predicted_seconds = program.profile.seconds;
    plan_.decisions = program.decisions;
    totals(program.schedule);
    if (separate) set_apart();
    pack_buffers(capacity);
    return std::move(plan_);
  }

 private:
  int32_t add_buffer(PlanBuffer::Kind kind, int64_t bytes, int32_t first) {
    PlanBuffer buffer;
    buffer.kind = kind;
    buffer.bytes = bytes;
    buffer.first = buffer.last = first;
    plan_.buffers.push_back(buffer);
    return static_cast<int32_t>(plan_.buffers.size()) - 1;
  }

  void touch(int32_t buffer, int32_t time) {
    PlanBuffer& b = plan_.buffers[static_cast<size_t>(buffer)];
    b.first = std::min(b.first, time);
    b.last = std::max(b.last, time);
  }

  // `arguments`: buffers of the arguments of a nested block; empty for the program itself.
  PlanBlock block(const ScheduledGraph& scheduled, std::vector<int32_t> arguments) {
    const Schedule& schedule = scheduled.schedule;
    const Profile& profile = scheduled.profile;
    PlanBlock out;
    out.graph = schedule.graph;
    bool program = arguments.empty() && out.graph == schedule.graph && depth_ == 0;
    std::vector<int32_t> buffer_of(profile.slots.size(), -1);
    for (size_t a = 0; a < schedule.arguments.size(); ++a) {
      int32_t x = schedule.arguments[a];
      int32_t slot = profile.slot_of[static_cast<size_t>(x)];
      if (program) {
        int32_t b = new_slot_buffer(schedule, profile, slot, PlanBuffer::Kind::argument, 0);
        if (profile.slots[static_cast<size_t>(slot)].pinned) resident_.push_back(b);
        arguments.push_back(b);
      }
      buffer_of[static_cast<size_t>(slot)] = arguments[a];
    }
    out.arguments = arguments;
    for (size_t s = 0; s < profile.slots.size(); ++s) {
      const Slot& slot = profile.slots[s];
      if (slot.first >= 0 || buffer_of[s] >= 0) continue;
      int32_t b = new_slot_buffer(schedule, profile, static_cast<int32_t>(s),
                                  PlanBuffer::Kind::constant, 0);
      resident_.push_back(b);
      plan_.constants.push_back(b);
      buffer_of[s] = b;
    }
    auto buffer = [&](int32_t x) -> int32_t {
      int32_t slot = profile.slot_of[static_cast<size_t>(x)];
      int32_t& b = buffer_of[static_cast<size_t>(slot)];
      if (b < 0) b = new_slot_buffer(schedule, profile, slot, PlanBuffer::Kind::temporary, time_);
      return b;
    };
    VariantNumbers variants;
    size_t next_copy = 0;
    for (size_t e = 0; e < schedule.entries.size(); ++e) {
      const Entry& entry = schedule.entries[e];
      for (; next_copy < profile.copies.size() &&
             profile.copies[next_copy].entry == static_cast<int32_t>(e);
           ++next_copy) {
        const RequiredCopy& copy = profile.copies[next_copy];
        out.steps.push_back(copy_step(buffer(copy.from), buffer(copy.to),
                                      schedule.instances[static_cast<size_t>(copy.to)].bytes));
      }
      if (schedule.kernel(entry).get<BarrierKernel>()) continue;
      out.steps.push_back(step(scheduled, entry, buffer));
      out.steps.back().variant = variant(schedule, entry, variants, out.variants);
    }
    for (int32_t x : schedule.outputs) out.outputs.push_back(buffer(x));
    for (int32_t b : out.outputs) touch(b, time_);
    return out;
  }

  int32_t new_slot_buffer(const Schedule& schedule, const Profile& profile, int32_t slot,
                          PlanBuffer::Kind kind, int32_t first) {
    const Slot& s = profile.slots[static_cast<size_t>(slot)];
    int32_t b = add_buffer(kind, s.bytes, first);
    const Instance& owner = schedule.instances[static_cast<size_t>(s.owner)];
    PlanBuffer& out = plan_.buffers[static_cast<size_t>(b)];
    out.graph = schedule.graph;
    out.value = owner.value;
    out.slice = owner.slice;
    return b;
  }

  PlanStep copy_step(int32_t from, int32_t to, int64_t bytes) {
    PlanStep step;
    step.kind = PlanStep::Kind::copy;
    step.time = step.end_time = time_++;
    step.inputs = {from};
    step.outputs = {to};
    step.bytes = bytes;
    touch(from, step.time);
    touch(to, step.time);
    return step;
  }

  template <typename BufferOf>
  PlanStep step(const ScheduledGraph& scheduled, const Entry& entry, BufferOf& buffer) {
    const Schedule& schedule = scheduled.schedule;
    const KernelCosts& costs = scheduled.costs;
    const Kernel& kernel = schedule.kernel(entry);
    PlanStep out;
    out.kernel = entry.kernel;
    out.axis = entry.axis;
    out.lower = entry.lower;
    out.upper = entry.upper;
    out.accumulate = entry.accumulate;
    out.unfinished = entry.unfinished;
    out.recomputed = entry.clone;
    for (int32_t x : schedule.inputs(entry)) add_operand(out, out.inputs, schedule, x, buffer(x));
    for (int32_t x : schedule.outputs_of(entry))
      add_operand(out, out.outputs, schedule, x, buffer(x));
    out.time = time_++;
    auto nested = scheduled.nested.find(entry.kernel);
    if (nested != scheduled.nested.end()) {
      if (const WhileKernel* loop = kernel.get<WhileKernel>())
        loop_blocks(out, *loop, nested->second);
      else
        branch_blocks(out, nested->second);
    } else if (costs.extra_bytes[static_cast<size_t>(entry.kernel)] > 0) {
      out.scratch = add_buffer(PlanBuffer::Kind::scratch,
                               costs.extra_bytes[static_cast<size_t>(entry.kernel)], out.time);
      PlanBuffer& scratch = plan_.buffers[static_cast<size_t>(out.scratch)];
      scratch.graph = schedule.graph;
      scratch.value = kernel.outputs.empty() ? -1 : kernel.outputs[0];
    }
    out.end_time = time_ - 1;
    for (int32_t b : out.inputs) touch(b, out.time), touch(b, out.end_time);
    for (int32_t b : out.outputs) touch(b, out.time), touch(b, out.end_time);
    return out;
  }

  static void add_operand(PlanStep& step, std::vector<int32_t>& list, const Schedule& schedule,
                          int32_t x, int32_t buffer) {
    const Instance& instance = schedule.instances[static_cast<size_t>(x)];
    const Slice& slice = instance.slice;
    const KernelValue& value = schedule.graph->values[static_cast<size_t>(instance.value)];
    list.push_back(buffer);
    step.shift.push_back(slice.whole() ? 0
                                       : value.bytes / value.type.num_elements() *
                                             slice.cut.stride * slice.lower);
  }

  // The kernel that runs an entry's piece, if that is not the graph's own: one for all pieces of a
  // region, and for all regions alike.
  static int32_t variant(const Schedule& schedule, const Entry& entry, VariantNumbers& numbers,
                         std::vector<std::shared_ptr<const Kernel>>& variants) {
    if (entry.axis.whole()) return -1;
    std::vector<Slice> slices;
    std::vector<int64_t> key = {entry.kernel, static_cast<int64_t>(entry.axis.kind),
                                entry.axis.dim};
    auto add = [&](int32_t x) {
      const Slice& slice = schedule.instances[static_cast<size_t>(x)].slice;
      slices.push_back(slice);
      key.insert(key.end(), {slice.whole(), slice.cut.stride, slice.cut.extent, slice.step});
    };
    for (int32_t x : schedule.inputs(entry)) add(x);
    for (int32_t x : schedule.outputs_of(entry)) add(x);
    const Kernel& kernel = schedule.kernel(entry);
    if (!needs_variant(kernel, *schedule.graph, entry.axis, slices)) return -1;
    auto [it, fresh] = numbers.try_emplace(key, static_cast<int32_t>(variants.size()));
    if (fresh)
      variants.push_back(std::make_shared<const Kernel>(piece_variant(kernel, entry.axis, slices)));
    return it->second;
  }

  void loop_blocks(PlanStep& out, const WhileKernel& loop,
                   const NestedSchedules::mapped_type& inner) {
    out.kind = PlanStep::Kind::loop;
    // The loop's results are its carried buffers; what it only reads stays where it is.
    std::vector<int32_t> arguments = out.outputs;
    for (size_t i = static_cast<size_t>(loop.carried); i < out.inputs.size(); ++i)
      arguments.push_back(out.inputs[i]);
    ++depth_;
    if (inner.size() > 1) {
      out.nested.resize(2);
      out.nested[1] = block(*inner[1], arguments);
    } else {
      out.nested.resize(1);
    }
    const ScheduledGraph& body = *inner[0];
    PlanBlock steps = block(body, arguments);
    std::vector<int64_t> bytes;
    for (size_t i = 0; i < static_cast<size_t>(loop.carried); ++i)
      bytes.push_back(body.schedule.instances[static_cast<size_t>(body.schedule.outputs[i])].bytes);
    move_results(steps, out.outputs, bytes);
    out.nested[0] = std::move(steps);
    --depth_;
  }

  void branch_blocks(PlanStep& out, const NestedSchedules::mapped_type& inner) {
    out.kind = PlanStep::Kind::branch;
    std::vector<int32_t> arguments(out.inputs.begin() + 1, out.inputs.end());
    ++depth_;
    for (const auto& branch : inner) {
      PlanBlock steps = block(*branch, arguments);
      std::vector<int64_t> bytes;
      for (int32_t x : branch->schedule.outputs)
        bytes.push_back(branch->schedule.instances[static_cast<size_t>(x)].bytes);
      move_results(steps, out.outputs, bytes);
      out.nested.push_back(std::move(steps));
    }
    --depth_;
  }

  // Copies at the end of a block that bring its results to the buffers where they must be. A result
  // that lies in another result's destination is saved first, so that the order of copies does not
  // matter.
  void move_results(PlanBlock& block, const std::vector<int32_t>& to,
                    const std::vector<int64_t>& bytes) {
    std::vector<int32_t> from = block.outputs;
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] == to[i] || std::find(to.begin(), to.end(), from[i]) == to.end()) continue;
      int32_t saved = add_buffer(PlanBuffer::Kind::temporary, bytes[i], time_);
      plan_.buffers[static_cast<size_t>(saved)].graph = block.graph;
      plan_.buffers[static_cast<size_t>(saved)].value = block.graph->outputs[i];
      block.steps.push_back(copy_step(from[i], saved, bytes[i]));
      from[i] = saved;
    }
    for (size_t i = 0; i < from.size(); ++i)
      if (from[i] != to[i]) block.steps.push_back(copy_step(from[i], to[i], bytes[i]));
    block.outputs = to;
  }

  void totals(const Schedule& schedule) {
    const KernelGraph& graph = *schedule.graph;
    std::vector<bool> is_argument(plan_.buffers.size(), false);
    for (size_t a = 0; a < graph.arguments.size(); ++a) {
      plan_.argument_bytes += graph.values[static_cast<size_t>(graph.arguments[a])].bytes;
      is_argument[static_cast<size_t>(plan_.main.arguments[a])] = true;
    }
    for (size_t o = 0; o < graph.outputs.size(); ++o) {
      int64_t bytes = graph.values[static_cast<size_t>(graph.outputs[o])].bytes;
      plan_.output_bytes += bytes;
      if (is_argument[static_cast<size_t>(plan_.main.outputs[o])]) plan_.alias_bytes += bytes;
    }
    for (int32_t b : plan_.constants)
      plan_.constant_bytes += plan_.buffers[static_cast<size_t>(b)].bytes;
    for (const Entry& entry : schedule.entries) {
      double flops = schedule.kernel(entry).flops * entry.fraction;
      plan_.flops += flops;
      if (entry.clone) plan_.recomputed_flops += flops;
    }
  }

  // Gives arguments, constants and results addresses of their own, and places what fits into a
  // result's memory before it is written or into a donated argument's after it is dead.
  void set_apart() {
    std::vector<bool> apart(plan_.buffers.size(), false);
    auto add = [&](int32_t b) {
      if (apart[static_cast<size_t>(b)]) return;
      apart[static_cast<size_t>(b)] = true;
      plan_.buffers[static_cast<size_t>(b)].offset = plan_.separate_bytes;
      plan_.separate_bytes += aligned(plan_.buffers[static_cast<size_t>(b)].bytes);
      plan_.separate.push_back(b);
    };
    for (int32_t b : plan_.main.arguments) add(b);
    for (int32_t b : plan_.constants) add(b);
    for (int32_t b : plan_.main.outputs) add(b);
    fill_separate(apart);
  }

  // First fit, the largest buffers first. The number of comparisons is limited.
  void fill_separate(const std::vector<bool>& apart) {
    std::vector<int32_t> hosts;
    for (int32_t b : plan_.separate) {
      const PlanBuffer& host = plan_.buffers[static_cast<size_t>(b)];
      if (host.bytes >= kSmallestHost && (host.first > 0 || host.last < time_)) hosts.push_back(b);
    }
    if (hosts.empty()) return;
    std::vector<int32_t> guests;
    for (size_t b = 0; b < plan_.buffers.size(); ++b)
      if (!apart[b] && plan_.buffers[b].bytes > 0) guests.push_back(static_cast<int32_t>(b));
    auto bytes = [&](int32_t b) { return plan_.buffers[static_cast<size_t>(b)].bytes; };
    std::stable_sort(guests.begin(), guests.end(),
                     [&](int32_t a, int32_t b) { return bytes(a) > bytes(b); });
    // Hosts that are just large enough come first.
    std::stable_sort(hosts.begin(), hosts.end(),
                     [&](int32_t a, int32_t b) { return bytes(a) < bytes(b); });
    std::vector<std::vector<int32_t>> inside(hosts.size());
    int64_t steps = kHostSteps;
    for (int32_t g : guests)
      for (size_t h = 0; h < hosts.size() && steps > 0; ++h, --steps)
        if (bytes(hosts[h]) >= bytes(g) && place(g, hosts[h], inside[h], steps)) break;
  }

  bool place(int32_t g, int32_t h, std::vector<int32_t>& inside, int64_t& steps) {
    PlanBuffer& guest = plan_.buffers[static_cast<size_t>(g)];
    const PlanBuffer& host = plan_.buffers[static_cast<size_t>(h)];
    if (guest.first <= host.last && host.first <= guest.last) return false;
    int64_t at = host.offset, end = host.offset + aligned(host.bytes);
    for (int32_t i : inside) {  // sorted by offset
      const PlanBuffer& other = plan_.buffers[static_cast<size_t>(i)];
      --steps;
      if (guest.first > other.last || other.first > guest.last) continue;
      if (at + aligned(guest.bytes) <= other.offset) break;
      at = std::max(at, other.offset + aligned(other.bytes));
    }
    if (at + guest.bytes > end) return false;
    guest.offset = at;
    inside.insert(std::upper_bound(inside.begin(), inside.end(), at,
                                   [&](int64_t offset, int32_t i) {
                                     return offset < plan_.buffers[static_cast<size_t>(i)].offset;
                                   }),
                  g);
    return true;
  }

  void pack_buffers(std::optional<int64_t> capacity) {
    std::vector<PackBuffer> items;
    std::vector<size_t> packed_buffers;
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.offset >= 0) continue;
      PackBuffer item;
      item.lower = buffer.first;
      item.upper = buffer.last + 1;
      item.size = aligned(buffer.bytes);
      items.push_back(item);
      packed_buffers.push_back(b);
    }
    PackOptions options;
    options.capacity =
        capacity ? std::max<int64_t>(0, *capacity - plan_.separate_bytes) / kAlignment * kAlignment
                 : -1;
    options.node_limit = 200'000;
    options.step_limit = 300'000'000;
    PackResult packed = pack(items, options);
    if (items.size() <= kFewBuffers) {
      for (size_t i = 0; i < items.size(); ++i) {
        items[i].size = plan_.buffers[packed_buffers[i]].bytes;
        items[i].alignment = least_alignment(plan_.buffers[packed_buffers[i]]);
      }
      if (capacity) options.capacity = std::max<int64_t>(0, *capacity - plan_.separate_bytes);
      options.node_limit = 20'000;
      PackResult tight = pack(items, options);
      if (tight.arena < packed.arena) packed = std::move(tight);
    }
    for (size_t i = 0; i < items.size(); ++i)
      plan_.buffers[packed_buffers[i]].offset = plan_.separate_bytes + packed.offsets[i];
    plan_.arena_bytes = plan_.separate_bytes + packed.arena;
    find_peak();
    // What the program needs beyond its arguments and results. Those need less than their sum where
    // results lie in arguments given away.
    plan_.temp_bytes =
        std::max<int64_t>(0, plan_.arena_bytes - plan_.argument_bytes - plan_.constant_bytes -
                                 (plan_.output_bytes - plan_.alias_bytes));
  }

  void find_peak() {
    std::vector<int64_t> change(static_cast<size_t>(time_) + 2, 0);
    for (const PlanBuffer& b : plan_.buffers) {
      change[static_cast<size_t>(b.first)] += aligned(b.bytes);
      change[static_cast<size_t>(b.last) + 1] -= aligned(b.bytes);
    }
    int64_t live = 0, most = -1;
    for (size_t t = 0; t < change.size(); ++t) {
      live += change[t];
      if (live > most) most = live, plan_.peak_time = static_cast<int32_t>(t);
    }
    plan_.peak_bytes = std::min(most, plan_.arena_bytes);
  }

  Plan plan_;
  std::vector<int32_t> resident_;  // buffers that exist to the end
  int32_t time_ = 0;
  int depth_ = 0;
};

}  // namespace

Plan lay_out(const ScheduledGraph& program, std::optional<int64_t> capacity,
             bool separate_operands) {
  return Layout().run(program, capacity, separate_operands);
}

}  // namespace ullage
