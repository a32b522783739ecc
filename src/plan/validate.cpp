#include "plan/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "plan/validate_access.h"

namespace ullage {

namespace {

// What a buffer holds: a value of a graph, or a slice of one. A sum over a contracted dimension
// that is not finished says how far it has come.
struct Content {
  const KernelGraph* graph = nullptr;
  ValueId value = -1;
  Placement placement;
  bool partial_sum = false;
  int64_t summed = 0;
};

class Validator {
 public:
  Validator(const Plan& plan, int64_t budget) : plan_(plan), budget_(budget) {}

  std::vector<std::string> run() {
    check_addresses();
    contents_.resize(plan_.buffers.size());
    const KernelGraph& graph = *plan_.main.graph;
    for (size_t a = 0; a < graph.arguments.size(); ++a)
      set(plan_.main.arguments[a], {&graph, graph.arguments[a], {}});
    for (int32_t b : plan_.constants) {
      const PlanBuffer& buffer = plan_.buffers[index(b)];
      set(b, {buffer.graph, buffer.value, {}});
      kept_.insert(b);
    }
    for (size_t a = 0; a < graph.arguments.size(); ++a)
      if (!graph.argument_info[a].donated) kept_.insert(plan_.main.arguments[a]);
    block(plan_.main);
    for (size_t o = 0; o < graph.outputs.size(); ++o)
      expect(plan_.main.outputs[o], graph, graph.outputs[o], "at the end");
    return std::move(errors_);
  }

 private:
  static size_t index(int32_t b) { return static_cast<size_t>(b); }

  template <typename... Args>
  void complain(fmt::format_string<Args...> format, Args&&... args) {
    if (errors_.size() < 20) errors_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void check_addresses() {
    if (budget_ >= 0 && plan_.arena_bytes > budget_)
      complain("arena of {} bytes above the budget of {}", plan_.arena_bytes, budget_);
    struct Event {
      int32_t time;
      bool begin;
      int32_t buffer;
    };
    std::vector<Event> events;
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.bytes == 0) continue;
      if (buffer.offset < 0 || buffer.offset + buffer.bytes > plan_.arena_bytes)
        complain("buffer {} lies outside the arena", b);
      // To a line of the cache; a smaller one to any element that it may hold.
      int64_t alignment = 64;
      if (buffer.bytes < 64 && buffer.kind != PlanBuffer::Kind::scratch)
        for (alignment = 8; alignment > buffer.bytes;) alignment /= 2;
      if (buffer.offset % alignment != 0) complain("buffer {} is not aligned", b);
      events.push_back({buffer.first, true, static_cast<int32_t>(b)});
      events.push_back({buffer.last + 1, false, static_cast<int32_t>(b)});
    }
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return a.time != b.time ? a.time < b.time : a.begin < b.begin;
    });
    std::map<int64_t, int32_t> live;  // by offset; they never overlap, so neighbours suffice
    for (const Event& event : events) {
      const PlanBuffer& buffer = plan_.buffers[index(event.buffer)];
      if (!event.begin) {
        auto it = live.find(buffer.offset);
        if (it != live.end() && it->second == event.buffer) live.erase(it);
        continue;
      }
      auto next = live.lower_bound(buffer.offset);
      if (next != live.end() && next->first < buffer.offset + buffer.bytes)
        complain("buffers {} and {} overlap at time {}", event.buffer, next->second, event.time);
      if (next != live.begin()) {
        auto prev = std::prev(next);
        if (prev->first + plan_.buffers[index(prev->second)].bytes > buffer.offset)
          complain("buffers {} and {} overlap at time {}", event.buffer, prev->second, event.time);
      }
      live.emplace(buffer.offset, event.buffer);
    }
  }

  void set(int32_t b, Content content) { contents_[index(b)] = {content}; }

  // A barrier's outputs are its inputs.
  static ValueId canonical(const KernelGraph& graph, ValueId value) {
    for (;;) {
      KernelId producer = graph.values[index(value)].producer;
      if (producer < 0 || !graph.kernels[index(producer)].get<BarrierKernel>()) return value;
      const Kernel& barrier = graph.kernels[index(producer)];
      size_t i =
          static_cast<size_t>(std::find(barrier.outputs.begin(), barrier.outputs.end(), value) -
                              barrier.outputs.begin());
      value = barrier.inputs[i];
    }
  }

  // A buffer may be known under several names: a loop's argument is also the value that entered it.
  template <typename Suits>
  bool holds(int32_t b, const KernelGraph& graph, ValueId value, const Suits& suits) const {
    ValueId wanted = canonical(graph, value);
    return std::any_of(
        contents_[index(b)].begin(), contents_[index(b)].end(), [&](const Content& content) {
          return content.graph == &graph && !content.partial_sum &&
                 canonical(graph, content.value) == wanted && suits(content.placement);
        });
  }

  bool holds(int32_t b, const KernelGraph& graph, ValueId value) const {
    return holds(b, graph, value, [](const Placement& placement) { return placement.whole(); });
  }

  void expect(int32_t b, const KernelGraph& graph, ValueId value, const std::string& where) {
    if (!holds(b, graph, value)) complain("{}: buffer {} does not hold value {}", where, b, value);
  }

  void in_life(int32_t b, int32_t from, int32_t to, const std::string& where) {
    const PlanBuffer& buffer = plan_.buffers[index(b)];
    if (buffer.first > from || buffer.last < to)
      complain("{}: buffer {} is used outside its life", where, b);
  }

  void write(int32_t b, Content content, const std::string& where) {
    if (kept_.contains(b)) complain("{}: buffer {} must not change", where, b);
    set(b, content);
  }

  // Slices written one after another into a whole buffer become the whole value, while what was
  // there loses them.
  void write_slice(int32_t b, const KernelGraph& graph, ValueId value, Placement next,
                   const std::string& where) {
    if (kept_.contains(b)) complain("{}: buffer {} must not change", where, b);
    std::vector<Content> left;
    for (Content& content : contents_[index(b)]) {
      Placement& had = content.placement;
      if (had.whole()) had = {next.cut, 0, next.cut.extent, next.cut.stride * next.cut.extent, 0};
      if (!(had.cut == next.cut) || had.origin != next.origin || had.spacing != next.spacing ||
          content.partial_sum)
        continue;
      if (content.graph == &graph && content.value == value) {
        if (had.upper == next.lower) next.lower = had.lower;
      } else if (had.lower == next.lower && had.upper > next.upper) {
        had.lower = next.upper;
        left.push_back(content);
      }
    }
    if (next.origin == 0 && next.lower == 0 && next.upper == next.cut.extent &&
        next.spacing == next.cut.stride * next.cut.extent)
      next = {};
    left.push_back({&graph, value, next});
    contents_[index(b)] = std::move(left);
  }

  void block(const PlanBlock& steps) {
    for (const PlanStep& step : steps.steps) {
      std::string where = fmt::format("step at time {}", step.time);
      for (int32_t b : step.inputs) in_life(b, step.time, step.end_time, where);
      for (int32_t b : step.outputs) in_life(b, step.time, step.end_time, where);
      switch (step.kind) {
        case PlanStep::Kind::copy:
          if (kept_.contains(step.outputs[0]))
            complain("{}: buffer {} must not change", where, step.outputs[0]);
          contents_[index(step.outputs[0])] = contents_[index(step.inputs[0])];
          break;
        case PlanStep::Kind::kernel:
          kernel(*steps.graph, step, steps.variants, where);
          break;
        case PlanStep::Kind::loop:
          loop(*steps.graph, step, where);
          break;
        case PlanStep::Kind::branch:
          branch(*steps.graph, step, where);
          break;
      }
    }
  }

  void kernel(const KernelGraph& graph, const PlanStep& step,
              const std::vector<std::shared_ptr<const Kernel>>& variants,
              const std::string& where) {
    const Kernel& kernel = graph.kernels[index(step.kernel)];
    if (step.scratch >= 0) {
      in_life(step.scratch, step.time, step.time, where);
      if (plan_.buffers[index(step.scratch)].bytes < kernel.scratch_bytes)
        complain("{}: too little scratch", where);
    } else if (kernel.scratch_bytes > 0) {
      complain("{}: scratch is missing", where);
    }
    std::optional<int64_t> extent = 0;
    if (!step.axis.whole()) extent = cut_extent(kernel, graph, step.axis);
    if (!extent || (!step.axis.whole() &&
                    (step.lower < 0 || step.lower >= step.upper || step.upper > *extent))) {
      complain("{}: the kernel has no such piece", where);
      return;
    }
    if (step.axis.contracted() && step.lower % kDotBlock != 0)
      complain("{}: a sum is cut at {}, inside a block", where, step.lower);
    const Kernel& running = step.variant < 0 ? kernel : *variants[index(step.variant)];
    if (&running != &kernel && !same_but_addresses(kernel, running))
      complain("{}: the variant is another kernel", where);
    if (step.axis.parallel() && cut_dim(running) != step.axis.dim)
      complain("{}: the kernel cuts another dimension", where);
    for (size_t i = 0; i < kernel.inputs.size(); ++i) {
      const KernelValue& value = graph.values[index(kernel.inputs[i])];
      bool found = holds(step.inputs[i], graph, kernel.inputs[i], [&](const Placement& placement) {
        return loads_agree(kernel, running, step, i, placement, shift(step, i, value),
                           value.type.num_elements());
      });
      if (!found)
        complain("{}: buffer {} does not hold what is read of value {}", where, step.inputs[i],
                 kernel.inputs[i]);
    }
    for (size_t o = 0; o < kernel.outputs.size(); ++o) {
      bool permitted = false, starts_from_input = false;
      for (size_t i = 0; i < kernel.inputs.size(); ++i) {
        for (const Kernel::InPlace& pair : kernel.in_place) {
          bool this_pair =
              pair.output == static_cast<int32_t>(o) && pair.input == static_cast<int32_t>(i);
          if (this_pair && step.inputs[i] == step.outputs[o]) permitted = true;
          if (this_pair && pair.required)
            starts_from_input = holds(step.outputs[o], graph, kernel.inputs[i]);
        }
      }
      bool clash =
          std::find(step.inputs.begin(), step.inputs.end(), step.outputs[o]) != step.inputs.end();
      if (clash && !permitted && !starts_from_input)
        complain("{}: output {} overwrites an operand that the kernel reads elsewhere", where, o);
      bool required = std::any_of(
          kernel.in_place.begin(), kernel.in_place.end(),
          [o](const auto& p) { return p.required && p.output == static_cast<int32_t>(o); });
      if (required && !starts_from_input)
        complain("{}: output {} does not start from its operand", where, o);
    }
    for (size_t o = 0; o < kernel.outputs.size(); ++o) {
      int32_t b = step.outputs[o];
      const KernelValue& value = graph.values[index(kernel.outputs[o])];
      int64_t elements = value.type.num_elements();
      if (step.axis.whole()) {
        write(b, {&graph, kernel.outputs[o], {}}, where);
      } else if (step.axis.contracted()) {
        accumulate(b, graph, kernel.outputs[o], step, *extent, where);
      } else if (kernel.get<RngKernel>() && o == 0) {
        write(b, {&graph, kernel.outputs[o], {}}, where);
      } else if (kernel.get<RngKernel>()) {
        write_slice(b, graph, kernel.outputs[o],
                    bits(value.type, *running.get<RngKernel>(), step,
                         shift(step, kernel.inputs.size() + o, value), room(b, value), where),
                    where);
      } else {
        std::optional<Placement> next =
            stored(kernel, running, step, o, *extent, shift(step, kernel.inputs.size() + o, value),
                   elements, room(b, value));
        if (!next) {
          complain("{}: output {} is not one slice in its buffer", where, o);
          next.emplace();
        }
        write_slice(b, graph, kernel.outputs[o], *next, where);
      }
    }
  }

  // The bits that a generator's piece leaves in a buffer with room for so many elements.
  Placement bits(const Type& type, const RngKernel& running, const PlanStep& step, int64_t shift,
                 int64_t room, const std::string& where) {
    int64_t elements = type.num_elements();
    int64_t rounds = step.axis.dim == 0 ? 1 : type.shape[0];
    Placement out;
    out.cut.extent = type.shape[index(step.axis.dim)];
    out.cut.stride = elements / std::max<int64_t>(1, rounds * out.cut.extent);
    out.lower = step.lower;
    out.upper = step.upper;
    out.spacing = running.spacing > 0 ? running.spacing : out.cut.stride * out.cut.extent;
    out.origin = room == elements ? 0 : step.lower;
    int64_t length = (step.upper - step.lower) * out.cut.stride;
    if (shift != out.origin * out.cut.stride || (rounds > 1 && out.spacing < length) ||
        (rounds - 1) * out.spacing + length > room)
      complain("{}: bits outside their buffer", where);
    return out;
  }

  static int32_t cut_dim(const Kernel& kernel) {
    if (const LoopKernel* loop = kernel.get<LoopKernel>()) return loop->cut_dim;
    if (const DotKernel* dot = kernel.get<DotKernel>()) return dot->cut_dim;
    if (const RngKernel* rng = kernel.get<RngKernel>()) return rng->cut_dim;
    return 0;
  }

  // In elements of the value.
  static int64_t shift(const PlanStep& step, size_t operand, const KernelValue& value) {
    return operand >= step.shift.size() ? 0 : step.shift[operand] / element_bytes(value);
  }
  int64_t room(int32_t b, const KernelValue& value) const {
    return plan_.buffers[index(b)].bytes / element_bytes(value);
  }
  static int64_t element_bytes(const KernelValue& value) {
    int64_t elements = value.bytes == 0 ? 0 : value.type.num_elements();
    return elements == 0 ? 1 : std::max<int64_t>(1, value.bytes / elements);
  }

  void accumulate(int32_t b, const KernelGraph& graph, ValueId value, const PlanStep& step,
                  int64_t extent, const std::string& where) {
    int64_t done = 0;
    for (const Content& content : contents_[index(b)])
      if (content.graph == &graph && content.value == value && content.partial_sum)
        done = content.summed;
    if (step.accumulate != (step.lower > 0) || step.lower != (step.accumulate ? done : 0))
      complain("{}: a sum goes on at {}, but stands at {}", where, step.lower, done);
    if (step.unfinished != (step.upper < extent))
      complain("{}: a sum is finished at {} of {}", where, step.upper, extent);
    if (step.unfinished &&
        std::find(step.inputs.begin(), step.inputs.end(), b) != step.inputs.end())
      complain("{}: an unfinished sum takes the place of an operand", where);
    write(b, {&graph, value, {}, step.upper < extent, step.upper}, where);
  }

  // Runs the body once on unknown carried values: what holds for one trip holds for all.
  void loop(const KernelGraph& graph, const PlanStep& step, const std::string& where) {
    const Kernel& kernel = graph.kernels[index(step.kernel)];
    const WhileKernel& loop = *kernel.get<WhileKernel>();
    size_t carried = static_cast<size_t>(loop.carried);
    for (size_t i = 0; i < kernel.inputs.size(); ++i)
      expect(i < carried ? step.outputs[i] : step.inputs[i], graph, kernel.inputs[i], where);
    std::set<int32_t> kept = kept_;
    for (size_t i = carried; i < step.inputs.size(); ++i) kept_.insert(step.inputs[i]);
    for (size_t n = step.nested.size(); n-- > 0;) {  // condition first
      const PlanBlock& inner = step.nested[n];
      for (size_t a = 0; a < inner.graph->arguments.size(); ++a)
        name(inner.arguments[a], *inner.graph, inner.graph->arguments[a], a < carried);
      block(inner);
      for (size_t o = 0; o < inner.graph->outputs.size(); ++o)
        expect(inner.outputs[o], *inner.graph, inner.graph->outputs[o], where + " (nested)");
      if (n == 0)
        for (size_t o = 0; o < carried; ++o)
          if (inner.outputs[o] != step.outputs[o])
            complain("{}: carried value {} does not return to its buffer", where, o);
    }
    kept_ = std::move(kept);
    for (size_t o = 0; o < carried; ++o)
      write(step.outputs[o], {&graph, kernel.outputs[o], {}}, where);
  }

  void branch(const KernelGraph& graph, const PlanStep& step, const std::string& where) {
    const Kernel& kernel = graph.kernels[index(step.kernel)];
    for (size_t i = 0; i < kernel.inputs.size(); ++i)
      expect(step.inputs[i], graph, kernel.inputs[i], where);
    for (const PlanBlock& inner : step.nested) {
      std::set<int32_t> kept = kept_;
      for (size_t a = 0; a < inner.graph->arguments.size(); ++a) {
        name(inner.arguments[a], *inner.graph, inner.graph->arguments[a], false);
        kept_.insert(inner.arguments[a]);
      }
      block(inner);
      for (size_t o = 0; o < inner.graph->outputs.size(); ++o) {
        expect(inner.outputs[o], *inner.graph, inner.graph->outputs[o], where + " (branch)");
        if (inner.outputs[o] != step.outputs[o])
          complain("{}: branch result {} is not in its buffer", where, o);
      }
      kept_ = std::move(kept);
    }
    for (size_t o = 0; o < kernel.outputs.size(); ++o)
      write(step.outputs[o], {&graph, kernel.outputs[o], {}}, where);
  }

  // The buffer's content gets another name (or, for a carried value, becomes something new).
  void name(int32_t b, const KernelGraph& graph, ValueId value, bool replace) {
    if (replace) contents_[index(b)].clear();
    contents_[index(b)].push_back({&graph, value, {}});
  }

  const Plan& plan_;
  int64_t budget_;
  std::vector<std::vector<Content>> contents_;
  std::set<int32_t> kept_;  // buffers that must not change now
  std::vector<std::string> errors_;
};

}  // namespace

std::vector<std::string> validate(const Plan& plan, int64_t budget_bytes) {
  return Validator(plan, budget_bytes).run();
}

}  // namespace ullage
