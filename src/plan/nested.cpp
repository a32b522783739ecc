// Schedules of loop bodies, conditions and branches. To its parent each is one entry that needs
// some extra bytes.
#include <algorithm>

#include "plan/planner.h"

namespace ullage {

namespace {

// Bytes that a nested schedule needs beyond its arguments, which the parent holds.
int64_t extra_bytes(const NestedSchedule& nested) {
  int64_t arguments = 0;
  for (int32_t x : nested.schedule.arguments)
    arguments += nested.schedule.instances[static_cast<size_t>(x)].bytes;
  return std::max<int64_t>(0, nested.profile.peak - arguments);
}

}  // namespace

KernelCosts kernel_costs(
    const KernelGraph& graph, const Target& target,
    std::unordered_map<KernelId, std::vector<std::unique_ptr<NestedSchedule>>>& nested) {
  KernelCosts costs;
  for (size_t k = 0; k < graph.kernels.size(); ++k) {
    const Kernel& kernel = graph.kernels[k];
    int64_t extra = kernel.scratch_bytes;
    double time = seconds(kernel, target);
    std::vector<std::unique_ptr<NestedSchedule>> inner;
    if (const WhileKernel* loop = kernel.get<WhileKernel>()) {
      inner.push_back(schedule_nested(*loop->body, target));
      time = inner[0]->profile.seconds * static_cast<double>(loop->trip_count.value_or(16));
      if (loop->condition) inner.push_back(schedule_nested(*loop->condition, target));
    } else if (const CaseKernel* branches = kernel.get<CaseKernel>()) {
      time = 0;
      for (const auto& branch : branches->branches) {
        inner.push_back(schedule_nested(*branch, target));
        time = std::max(time, inner.back()->profile.seconds);
      }
    }
    for (const auto& one : inner) extra = std::max(extra, extra_bytes(*one));
    if (!inner.empty()) nested[static_cast<KernelId>(k)] = std::move(inner);
    costs.extra_bytes.push_back(extra);
    costs.seconds.push_back(time);
  }
  return costs;
}

std::unique_ptr<NestedSchedule> schedule_nested(const KernelGraph& graph, const Target& target) {
  auto out = std::make_unique<NestedSchedule>();
  out->costs = kernel_costs(graph, target, out->nested);
  out->schedule = make_schedule(graph, memory_order(graph, out->costs));
  out->profile = simulate(out->schedule, out->costs, target, Scope::body);
  return out;
}

int64_t lower_bound_bytes(const KernelGraph& graph) {
  int64_t arguments = 0, undonated = 0, constants = 0, outputs = 0;
  std::vector<bool> counted(graph.values.size(), false);
  for (size_t a = 0; a < graph.arguments.size(); ++a) {
    int64_t bytes = graph.values[static_cast<size_t>(graph.arguments[a])].bytes;
    arguments += bytes;
    if (!graph.argument_info[a].donated) {
      undonated += bytes;
      counted[static_cast<size_t>(graph.arguments[a])] = true;
    }
  }
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].kind != KernelValue::Kind::constant) continue;
    constants += graph.values[v].bytes;
    counted[v] = true;
  }
  for (ValueId v : graph.outputs) {
    if (counted[static_cast<size_t>(v)]) continue;
    counted[static_cast<size_t>(v)] = true;
    outputs += graph.values[static_cast<size_t>(v)].bytes;
  }
  return std::max(arguments, undonated + outputs) + constants;
}

}  // namespace ullage
