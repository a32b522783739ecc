#include "runtime/executor.h"

#include <algorithm>
#include <cstring>

#include "support/check.h"

namespace ullage {

Executor::Executor(ExecProgram program, Arena arena, ThreadPool& pool)
    : program_(std::move(program)),
      arena_(std::move(arena)),
      pool_(pool),
      steps_(program_.steps, std::vector<MemoryRegion>{{0, program_.arena_bytes}}) {
  account(program_.steps);
  for (const std::string& name : steps_.names()) spent_.push_back({name});
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

std::vector<Executor::Spent> Executor::spent() const {
  std::vector<Spent> out;
  for (const Spent& spent : spent_)
    if (spent.calls > 0) out.push_back(spent);
  std::stable_sort(out.begin(), out.end(),
                   [](const Spent& a, const Spent& b) { return a.seconds > b.seconds; });
  return out;
}

void Executor::run() {
  std::byte* base = arena_.data();
  steps_.run({&base, 1}, pool_, profiling_ ? &spent_ : nullptr);
}

}  // namespace ullage
