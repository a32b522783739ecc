#include "random/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "driver/compile.h"
#include "driver/copy_module.h"
#include "support/check.h"

namespace ullage::random_programs {

namespace {

ThreadPool& pool(int threads) {
  static ThreadPool one(1), two(2);
  return threads == 1 ? one : two;
}

struct Run {
  std::string refusal;           // why the program is not compiled
  std::string broken;            // what is wrong with how it ran
  std::optional<int64_t> floor;  // when the budget was too small
  int64_t arena_bytes = 0;
  std::vector<Tensor> results;
};

Run run(const Module& module, const std::vector<Tensor>& inputs, std::optional<int64_t> budget,
        int threads) {
  Run out;
  CompileSettings settings;
  settings.budget_bytes = budget;
  settings.threads = threads;
  settings.verify_plan = true;
  auto refuse = [&](const std::vector<Diagnostic>& diagnostics) {
    out.refusal = diagnostics[0].message;
    return std::move(out);
  };
  Result<std::unique_ptr<PlannedProgram>> planned = plan_program(copy_module(module), settings);
  if (!planned) return refuse(planned.diagnostics());
  if (!(*planned)->outcome.plan) {
    out.floor = (*planned)->outcome.refusal.floor_bytes;
    return out;
  }
  std::vector<PhaseTime> times;
  Result<ExecProgram> code = generate_code(**planned, settings, times);
  if (!code) return refuse(code.diagnostics());
  out.arena_bytes = code->arena_bytes;
  Result<std::unique_ptr<Executor>> executor =
      Executor::load(std::move(*code), budget, pool(threads));
  if (!executor) return refuse(executor.diagnostics());
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::span<std::byte> to = (*executor)->argument(i);
      ULLAGE_CHECK(static_cast<int64_t>(to.size()) == inputs[i].size_bytes(), "argument size");
      if (!to.empty()) std::memcpy(to.data(), inputs[i].data(), to.size());
    }
    (*executor)->run();
    std::vector<Tensor> results;
    for (const Type& type : (*planned)->module->entry()->result_types) {
      Tensor tensor(type);
      std::span<const std::byte> bytes = (*executor)->output(results.size());
      if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
      results.push_back(std::move(tensor));
    }
    if (repeat == 0) {
      out.results = std::move(results);
      continue;
    }
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i].size_bytes() > 0 &&
          std::memcmp(results[i].data(), out.results[i].data(),
                      static_cast<size_t>(results[i].size_bytes())) != 0)
        out.broken = fmt::format("result {} is another in the second run", i);
  }
  if (budget && (*executor)->high_water_bytes() > *budget)
    out.broken =
        fmt::format("{} bytes used, the budget is {}", (*executor)->high_water_bytes(), *budget);
  return out;
}

Verdict wrong(std::string what) {
  return {Verdict::Kind::wrong, std::move(what)};
}

Verdict check_all(const Module& module, const std::vector<Tensor>& inputs,
                  const std::vector<Bounded>& want, const CheckOptions& options) {
  Run plain = run(module, inputs, {}, 1);
  if (!plain.refusal.empty()) return {Verdict::Kind::refused, plain.refusal};
  if (!plain.broken.empty()) return wrong(plain.broken);
  for (size_t i = 0; i < want.size(); ++i)
    if (std::optional<std::string> text = difference(want[i], plain.results[i]))
      return wrong(fmt::format("result {}: {}", i, *text));

  struct Variant {
    std::optional<int64_t> budget;
    int threads;
    std::string name;
  };
  std::vector<Variant> variants;
  auto wanted = [&](uint64_t n) { return !options.only || *options.only % 3 == n; };
  if (options.threads && wanted(0)) variants.push_back({{}, 2, "with two threads"});
  for (uint64_t n : {1, 2}) {
    if (!options.budgets || !wanted(n)) continue;
    // Scratch may depend on the number of threads, and so may the floor.
    const int threads = n == 2 && options.threads ? 2 : 1;
    Run refused = run(module, inputs, 1, threads);
    if (!refused.refusal.empty()) return wrong("with a budget: " + refused.refusal);
    if (!refused.floor) {
      if (plain.arena_bytes > 1) return wrong("a plan in one byte");
      continue;
    }
    if (threads == 1 && *refused.floor > plain.arena_bytes)
      return wrong("the floor is above what no budget uses");
    if (n == 1)
      variants.push_back({*refused.floor, threads, "at the floor"});
    else
      variants.push_back({std::max(*refused.floor, (*refused.floor + plain.arena_bytes) / 2),
                          threads, "above the floor"});
  }
  for (const Variant& variant : variants) {
    Run other = run(module, inputs, variant.budget, variant.threads);
    if (!other.refusal.empty()) return wrong(variant.name + ": " + other.refusal);
    if (other.floor) return wrong(variant.name + ": no plan");
    if (!other.broken.empty()) return wrong(variant.name + ": " + other.broken);
    for (size_t i = 0; i < want.size(); ++i)
      if (other.results[i].size_bytes() > 0 &&
          std::memcmp(other.results[i].data(), plain.results[i].data(),
                      static_cast<size_t>(plain.results[i].size_bytes())) != 0)
        return wrong(fmt::format("result {} has other bits {}", i, variant.name));
  }
  return {};
}

}  // namespace

Verdict check(const Module& module, const std::vector<Tensor>& inputs,
              const std::vector<Bounded>& want, const CheckOptions& options) {
  try {
    return check_all(module, inputs, want, options);
  } catch (const InternalError& problem) {
    return wrong(std::string("internal error: ") + problem.what());
  }
}

}  // namespace ullage::random_programs
