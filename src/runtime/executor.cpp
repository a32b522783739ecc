#include "runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "support/check.h"

namespace ullage {

struct Executor::Bound {
  const ExecStep* step = nullptr;
  std::vector<std::byte*> buffers;
  KernelCall call;
  std::byte* control = nullptr;
  size_t spent = 0;  // index into Executor::spent_
  std::vector<std::vector<Bound>> nested;
};

Executor::Executor(ExecProgram program, Arena arena, ThreadPool& pool)
    : program_(std::move(program)), arena_(std::move(arena)), pool_(pool) {
  account(program_.steps);
  bound_ = bind(program_.steps);
}

Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::load(ExecProgram program,
                                                 std::optional<int64_t> budget_bytes,
                                                 ThreadPool& pool) {
  Result<Arena> arena = Arena::create(program.arena_bytes, budget_bytes, &pool);
  if (!arena) return arena.diagnostics();
  std::unique_ptr<Executor> out(new Executor(std::move(program), std::move(*arena), pool));
  for (const ExecProgram::Constant& constant : out->program_.constants) {
    std::byte* to = out->arena_.at(constant.buffer.offset, constant.buffer.bytes);
    int64_t width = static_cast<int64_t>(constant.bytes->size());
    for (int64_t at = 0; at + width <= constant.buffer.bytes && width > 0; at += width)
      std::memcpy(to + at, constant.bytes->data(), constant.bytes->size());
  }
  return out;
}

std::span<std::byte> Executor::argument(size_t i) {
  const ExecBuffer& b = program_.arguments[i];
  return {arena_.at(b.offset, b.bytes), static_cast<size_t>(b.bytes)};
}

std::span<const std::byte> Executor::output(size_t i) {
  const ExecBuffer& b = program_.outputs[i];
  return {arena_.at(b.offset, b.bytes), static_cast<size_t>(b.bytes)};
}

// Every range that a step may touch goes through the arena once, which checks it and keeps the
// high-water mark.
void Executor::account(const std::vector<ExecStep>& steps) {
  for (const ExecStep& step : steps) {
    for (size_t i = 0; i + 1 < step.extents.size(); i += 2)
      arena_.at(step.extents[i], step.extents[i + 1]);
    if (step.scratch >= 0) arena_.at(step.scratch, step.scratch_bytes);
    for (const auto& nested : step.nested) account(nested);
  }
}

std::vector<Executor::Bound> Executor::bind(const std::vector<ExecStep>& steps) {
  std::vector<Bound> out(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const ExecStep& step = steps[i];
    Bound& bound = out[i];
    bound.step = &step;
    for (int64_t offset : step.operands) bound.buffers.push_back(arena_.data() + offset);
    bound.call.scratch = step.scratch < 0 ? nullptr : arena_.data() + step.scratch;
    bound.call.axis = step.axis;
    bound.call.lower = step.lower;
    bound.call.upper = step.upper;
    bound.call.accumulate = step.accumulate;
    bound.call.unfinished = step.unfinished;
    auto known = std::find_if(spent_.begin(), spent_.end(),
                              [&](const Spent& s) { return s.name == step.name; });
    bound.spent = static_cast<size_t>(known - spent_.begin());
    if (known == spent_.end()) spent_.push_back({step.name});
    if (step.control >= 0) bound.control = arena_.data() + step.control;
    for (const auto& nested : step.nested) bound.nested.push_back(bind(nested));
  }
  return out;
}

std::vector<Executor::Spent> Executor::spent() const {
  std::vector<Spent> out;
  for (const Spent& spent : spent_)
    if (spent.calls > 0) out.push_back(spent);
  std::stable_sort(out.begin(), out.end(),
                   [](const Spent& a, const Spent& b) { return a.seconds > b.seconds; });
  return out;
}

void Executor::run() {
  run_steps(bound_);
}

void Executor::run_steps(const std::vector<Bound>& steps) {
  for (const Bound& bound : steps) {
    const ExecStep& step = *bound.step;
    switch (step.kind) {
      case ExecStep::Kind::kernel: {
        KernelCall call = bound.call;
        call.buffers = bound.buffers.data();
        if (!profiling_) {
          step.kernel->run(call, pool_);
          break;
        }
        auto begin = std::chrono::steady_clock::now();
        step.kernel->run(call, pool_);
        spent_[bound.spent].seconds +=
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        ++spent_[bound.spent].calls;
        break;
      }
      case ExecStep::Kind::copy:
        std::memcpy(bound.buffers[1], bound.buffers[0], static_cast<size_t>(step.bytes));
        break;
      case ExecStep::Kind::loop:
        if (step.trip_count >= 0) {
          for (int64_t trip = 0; trip < step.trip_count; ++trip) run_steps(bound.nested[0]);
        } else {
          for (run_steps(bound.nested[1]); *bound.control != std::byte{0};
               run_steps(bound.nested[1]))
            run_steps(bound.nested[0]);
        }
        break;
      case ExecStep::Kind::branch: {
        int64_t last = static_cast<int64_t>(bound.nested.size()) - 1;
        int64_t taken = 0;
        if (step.control_is_bool) {
          taken = *bound.control != std::byte{0} ? 0 : 1;
        } else {
          int32_t index = 0;
          std::memcpy(&index, bound.control, sizeof(index));
          taken = index < 0 || index > last ? last : index;
        }
        run_steps(bound.nested[static_cast<size_t>(taken)]);
        break;
      }
    }
  }
}

}  // namespace ullage
