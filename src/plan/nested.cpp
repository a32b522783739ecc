// Schedules of graphs and of the loop bodies, conditions and branches in them. To its parent each
// of those is one entry that needs some extra bytes.
#include <algorithm>

#include "plan/planner.h"

namespace ullage {

int64_t extra_bytes(const ScheduledGraph& nested) {
  int64_t arguments = 0;
  for (int32_t x : nested.schedule.arguments)
    arguments += nested.schedule.instances[static_cast<size_t>(x)].bytes;
  return std::max<int64_t>(0, nested.profile.peak - arguments);
}

void set_nested_costs(KernelCosts& costs, KernelId id, const Kernel& kernel,
                      const NestedSchedules::mapped_type& regions) {
  size_t k = static_cast<size_t>(id);
  costs.extra_bytes[k] = kernel.scratch_bytes;
  costs.seconds[k] = 0;
  for (const auto& region : regions)
    costs.extra_bytes[k] = std::max(costs.extra_bytes[k], extra_bytes(*region));
  constexpr int64_t kUnknownTrips = 16;
  if (const WhileKernel* loop = kernel.get<WhileKernel>()) {
    double trips = static_cast<double>(loop->trip_count.value_or(kUnknownTrips));
    costs.seconds[k] = regions[0]->profile.seconds * trips;
  } else {
    for (const auto& branch : regions)
      costs.seconds[k] = std::max(costs.seconds[k], branch->profile.seconds);
  }
}

ScheduledGraph schedule_graph(const KernelGraph& graph, const Target& target, Scope scope) {
  ScheduledGraph out;
  out.scope = scope;
  for (size_t k = 0; k < graph.kernels.size(); ++k) {
    const Kernel& kernel = graph.kernels[k];
    out.costs.extra_bytes.push_back(kernel.scratch_bytes);
    out.costs.seconds.push_back(seconds(kernel, target));
    NestedSchedules::mapped_type regions;
    auto add = [&](const KernelGraph& region) {
      regions.push_back(
          std::make_shared<const ScheduledGraph>(schedule_graph(region, target, Scope::body)));
    };
    if (const WhileKernel* loop = kernel.get<WhileKernel>()) {
      add(*loop->body);
      if (loop->condition) add(*loop->condition);
    } else if (const CaseKernel* branches = kernel.get<CaseKernel>()) {
      for (const auto& branch : branches->branches) add(*branch);
    }
    if (regions.empty()) continue;
    set_nested_costs(out.costs, static_cast<KernelId>(k), kernel, regions);
    out.nested[static_cast<KernelId>(k)] = std::move(regions);
  }
  // Neither rule is better for every program.
  for (OrderRule rule : {OrderRule::as_written, OrderRule::readers_first}) {
    Schedule schedule = make_schedule(graph, memory_order(graph, out.costs, rule));
    Profile profile = simulate(schedule, out.costs, target, scope);
    if (rule != OrderRule::as_written && profile.peak >= out.profile.peak) continue;
    out.schedule = std::move(schedule);
    out.profile = std::move(profile);
  }
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
