#include "driver/json_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/size.h"

namespace ullage {
namespace {

using Json = nlohmann::ordered_json;

Json optional_number(const std::optional<int64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Names come from the user's files and need not be UTF-8.
std::string print(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json plan_object(const PlanReport& report) {
  return {{"program", report.program},
          {"budget_bytes", optional_number(report.budget_bytes)},
          {"argument_bytes", report.argument_bytes},
          {"output_bytes", report.output_bytes},
          {"alias_bytes", report.alias_bytes},
          {"constant_bytes", report.constant_bytes},
          {"temp_bytes", report.temp_bytes},
          {"planned_peak_bytes", report.planned_peak_bytes},
          {"lower_bound_bytes", report.lower_bound_bytes},
          {"recompute_flops_ratio", report.recompute_flops_ratio},
          {"predicted_seconds", report.predicted_seconds},
          {"compile_seconds", report.compile_seconds}};
}

Json check_object(const std::optional<CheckResult>& check) {
  if (!check) return nullptr;
  return {{"passed", check->passed},
          {"max_abs_error", check->max_abs_error},
          {"max_rel_error", check->max_rel_error},
          {"failures", check->failures}};
}

std::string line(std::string_view what, int64_t bytes) {
  return fmt::format("{:<18} {:>12}  ({} bytes)\n", what, format_size(bytes), bytes);
}

}  // namespace

std::string to_json(const PlanReport& report) {
  return print(plan_object(report));
}

std::string to_json(const RunReport& report) {
  Json json = plan_object(report.plan);
  json["measured_peak_bytes"] = report.measured_peak_bytes;
  json["process_peak_bytes"] = report.process_peak_bytes;
  json["step_seconds"] = report.step_seconds;
  json["outputs_sha256"] = report.outputs_sha256;
  json["check"] = check_object(report.check);
  return print(json);
}

std::string to_json(const RefusalReport& report) {
  Json obstacles = Json::array();
  for (const Obstacle& obstacle : report.obstacles)
    obstacles.push_back({{"value", obstacle.value},
                         {"bytes", obstacle.bytes},
                         {"shape", obstacle.shape},
                         {"source", obstacle.source},
                         {"reason", obstacle.reason}});
  Json more = Json::array();
  for (const MoreObstacles& rest : report.more)
    more.push_back({{"reason", rest.reason}, {"count", rest.count}, {"bytes", rest.bytes}});
  return print({{"program", report.program},
                {"budget_bytes", report.budget_bytes},
                {"floor_bytes", report.floor_bytes},
                {"lower_bound_bytes", report.lower_bound_bytes},
                {"obstacles", std::move(obstacles)},
                {"more_obstacles", std::move(more)}});
}

std::string to_json(const PlanReport& report, const std::vector<ParetoPoint>& points) {
  Json json = plan_object(report);
  Json list = Json::array();
  for (const ParetoPoint& point : points)
    list.push_back({{"budget_bytes", point.budget_bytes},
                    {"planned_peak_bytes", point.planned_peak_bytes},
                    {"predicted_seconds", point.predicted_seconds},
                    {"recompute_flops_ratio", point.recompute_flops_ratio}});
  json["pareto"] = std::move(list);
  return print(json);
}

std::string to_text(const PlanReport& report) {
  std::string out = report.program + "\n";
  if (report.budget_bytes) out += line("budget", *report.budget_bytes);
  out += line("planned peak", report.planned_peak_bytes);
  out += line("  arguments", report.argument_bytes);
  out += line("  outputs", report.output_bytes);
  if (report.alias_bytes > 0) out += line("  of them aliased", report.alias_bytes);
  out += line("  constants", report.constant_bytes);
  out += line("  temporaries", report.temp_bytes);
  out += line("lower bound", report.lower_bound_bytes);
  out +=
      fmt::format("{:<18} {:>11.1f} %\n", "recomputed flops", 100 * report.recompute_flops_ratio);
  out += fmt::format("{:<18} {:>10.3f} s\n", "compile time", report.compile_seconds);
  return out;
}

std::string to_text(const RunReport& report) {
  std::string out = to_text(report.plan);
  out += line("measured peak", report.measured_peak_bytes);
  out += line("process peak", report.process_peak_bytes);
  for (size_t i = 0; i < report.step_seconds.size(); ++i)
    out +=
        fmt::format("{:<18} {:>10.3f} s\n", fmt::format("step {}", i + 1), report.step_seconds[i]);
  if (report.check) out += report.check->summary();
  return out;
}

std::string to_text(const RefusalReport& report) {
  std::string option = report.budget_option;
  if (size_t at = option.find("{}"); at != option.npos)
    option.replace(at, 2, std::to_string(report.floor_bytes));
  std::string out = fmt::format(
      "error: {} does not fit into {}\n"
      "  the smallest budget that works is {} ({})\n"
      "  no plan at all needs less than {}\n",
      report.program, format_size(report.budget_bytes), format_size(report.floor_bytes), option,
      format_size(report.lower_bound_bytes));
  if (!report.obstacles.empty()) out += "what stands in the way:\n";
  for (const Obstacle& obstacle : report.obstacles)
    out += fmt::format("  {:>10}  {}{}{}{}{}: {}\n", format_size(obstacle.bytes), obstacle.value,
                       obstacle.value.empty() ? "" : " ", obstacle.shape,
                       obstacle.source.empty() ? "" : " at ", obstacle.source, obstacle.reason);
  for (const MoreObstacles& rest : report.more)
    out +=
        fmt::format("  {:>10}  in {} more: {}\n", format_size(rest.bytes), rest.count, rest.reason);
  return out;
}

std::string to_text(const std::vector<ParetoPoint>& points) {
  std::string out = fmt::format("{:>12} {:>12} {:>14} {:>16}\n", "budget", "peak", "predicted time",
                                "recomputed flops");
  for (const ParetoPoint& point : points)
    out += fmt::format("{:>12} {:>12} {:>12.4f} s {:>14.1f} %\n", format_size(point.budget_bytes),
                       format_size(point.planned_peak_bytes), point.predicted_seconds,
                       100 * point.recompute_flops_ratio);
  return out;
}

int64_t process_peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string row; std::getline(status, row);)
    if (row.starts_with("VmHWM:")) return std::strtoll(row.c_str() + 6, nullptr, 10) * 1024;
  return 0;
}

}  // namespace ullage
