#include "runtime/step_list.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "support/check.h"

namespace ullage {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenQuestions{50};

}  // namespace

struct StepList::Run {
  std::vector<std::byte*> addresses;  // one per place
  ThreadPool& pool;
  std::vector<StepTime>* times = nullptr;
  const std::function<bool()>* interrupted = nullptr;
  Clock::time_point next_question;
  bool stopped = false;

  bool stop() {
    if (!interrupted || stopped) return stopped;
    Clock::time_point now = Clock::now();
    if (now < next_question) return false;
    next_question = now + kBetweenQuestions;
    return stopped = (*interrupted)();
  }
};

StepList::StepList(const std::vector<ExecStep>& steps, std::span<const MemoryRegion> regions)
    : regions_(regions.begin(), regions.end()) {
  bound_ = bind(steps);
}

// `offset` is an address in the buffer that begins at `buffer`, or before it for a piece.
int32_t StepList::add_place(int64_t offset, int64_t buffer) {
  auto after = std::upper_bound(regions_.begin(), regions_.end(), buffer,
                                [](int64_t at, const MemoryRegion& r) { return at < r.begin; });
  // A buffer without bytes may lie just after the last region.
  ULLAGE_CHECK(after != regions_.begin(), "a buffer before all regions");
  auto region = std::prev(after);
  places_.push_back({static_cast<uint32_t>(region - regions_.begin()), offset - region->begin});
  return static_cast<int32_t>(places_.size()) - 1;
}

std::vector<StepList::Bound> StepList::bind(const std::vector<ExecStep>& steps) {
  std::vector<Bound> out(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const ExecStep& step = steps[i];
    Bound& bound = out[i];
    bound.step = &step;
    bound.first = static_cast<uint32_t>(places_.size());
    for (size_t o = 0; o < step.operands.size(); ++o)
      add_place(step.operands[o],
                2 * o < step.extents.size() ? step.extents[2 * o] : step.operands[o]);
    if (step.scratch >= 0) bound.scratch = add_place(step.scratch, step.scratch);
    if (step.control >= 0) bound.control = add_place(step.control, step.control);
    bound.call.axis = step.axis;
    bound.call.lower = step.lower;
    bound.call.upper = step.upper;
    bound.call.accumulate = step.accumulate;
    bound.call.unfinished = step.unfinished;
    auto known = std::find(names_.begin(), names_.end(), step.name);
    bound.name = static_cast<uint32_t>(known - names_.begin());
    if (known == names_.end()) names_.push_back(step.name);
    for (const auto& nested : step.nested) bound.nested.push_back(bind(nested));
  }
  return out;
}

bool StepList::run(std::span<std::byte* const> regions, ThreadPool& pool,
                   std::vector<StepTime>* times, const std::function<bool()>* interrupted) const {
  ULLAGE_CHECK(regions.size() == regions_.size(), "one address per region");
  Run run{std::vector<std::byte*>(places_.size()), pool, times, interrupted,
          interrupted ? Clock::now() + kBetweenQuestions : Clock::time_point()};
  for (size_t i = 0; i < places_.size(); ++i)
    run.addresses[i] = regions[places_[i].region] + places_[i].offset;
  run_steps(bound_, run);
  return !run.stopped;
}

void StepList::run_steps(const std::vector<Bound>& steps, Run& run) const {
  for (const Bound& bound : steps) {
    if (run.stop()) return;
    const ExecStep& step = *bound.step;
    std::byte* const* operands = run.addresses.data() + bound.first;
    const std::byte* control =
        bound.control < 0 ? nullptr : run.addresses[static_cast<size_t>(bound.control)];
    switch (step.kind) {
      case ExecStep::Kind::kernel: {
        KernelCall call = bound.call;
        call.buffers = operands;
        if (bound.scratch >= 0) call.scratch = run.addresses[static_cast<size_t>(bound.scratch)];
        if (!run.times) {
          step.kernel->run(call, run.pool);
          break;
        }
        Clock::time_point begin = Clock::now();
        step.kernel->run(call, run.pool);
        StepTime& time = (*run.times)[bound.name];
        time.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
        ++time.calls;
        break;
      }
      case ExecStep::Kind::copy:
        std::memcpy(operands[1], operands[0], static_cast<size_t>(step.bytes));
        break;
      case ExecStep::Kind::loop:
        if (step.trip_count >= 0) {
          for (int64_t trip = 0; trip < step.trip_count && !run.stop(); ++trip)
            run_steps(bound.nested[0], run);
        } else {
          for (run_steps(bound.nested[1], run); !run.stop() && *control != std::byte{0};
               run_steps(bound.nested[1], run))
            run_steps(bound.nested[0], run);
        }
        break;
      case ExecStep::Kind::branch: {
        int64_t last = static_cast<int64_t>(bound.nested.size()) - 1;
        int64_t taken = 0;
        if (step.control_is_bool) {
          taken = *control != std::byte{0} ? 0 : 1;
        } else {
          int32_t index = 0;
          std::memcpy(&index, control, sizeof(index));
          taken = index < 0 || index > last ? last : index;
        }
        run_steps(bound.nested[static_cast<size_t>(taken)], run);
        break;
      }
    }
  }
}

}  // namespace ullage
