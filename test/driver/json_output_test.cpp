#include "driver/json_output.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace ullage {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> out;
  for (const auto& [key, value] : object.items()) out.push_back(key);
  return out;
}

const std::vector<std::string> kPlanKeys = {
    "program",           "budget_bytes",          "argument_bytes",    "output_bytes",
    "alias_bytes",       "constant_bytes",        "temp_bytes",        "planned_peak_bytes",
    "lower_bound_bytes", "recompute_flops_ratio", "predicted_seconds", "compile_seconds"};

TEST(JsonOutput, PlanHasItsKeys) {
  PlanReport report;
  report.program = "p.mlir";
  report.temp_bytes = int64_t{1} << 40;
  Json json = Json::parse(to_json(report));
  EXPECT_EQ(keys(json), kPlanKeys);
  EXPECT_TRUE(json["budget_bytes"].is_null());
  EXPECT_EQ(json["temp_bytes"], int64_t{1} << 40);
}

TEST(JsonOutput, RunAddsItsKeys) {
  RunReport report;
  report.plan.budget_bytes = 5;
  report.step_seconds = {0.5, 0.25};
  report.outputs_sha256 = {"ab"};
  report.check = CheckResult{};
  report.check->max_abs_error = std::numeric_limits<double>::infinity();
  Json json = Json::parse(to_json(report));
  std::vector<std::string> expected = kPlanKeys;
  expected.insert(expected.end(), {"measured_peak_bytes", "process_peak_bytes", "step_seconds",
                                   "outputs_sha256", "check"});
  EXPECT_EQ(keys(json), expected);
  EXPECT_EQ(json["budget_bytes"], 5);
  EXPECT_EQ(json["step_seconds"], (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(json["check"]["passed"], true);
  EXPECT_TRUE(json["check"]["max_abs_error"].is_null());
  EXPECT_TRUE(json["check"].contains("max_rel_error"));
  report.check.reset();
  EXPECT_TRUE(Json::parse(to_json(report))["check"].is_null());
}

TEST(JsonOutput, RefusalHasItsKeysAndItsText) {
  RefusalReport report{"p.mlir",
                       1000,
                       2048,
                       512,
                       {{"%5", 1024, "tensor<256xf32>", "model.py:3", "needed by the loss"}}};
  Json json = Json::parse(to_json(report));
  EXPECT_EQ(keys(json),
            (std::vector<std::string>{"program", "budget_bytes", "floor_bytes", "lower_bound_bytes",
                                      "obstacles", "more_obstacles"}));
  EXPECT_EQ(keys(json["obstacles"][0]),
            (std::vector<std::string>{"value", "bytes", "shape", "source", "reason"}));
  EXPECT_EQ(to_text(report),
            "error: p.mlir does not fit into 1000 B\n"
            "  the smallest budget that works is 2.00 KiB (--memory-budget=2048)\n"
            "  no plan at all needs less than 512 B\n"
            "what stands in the way:\n"
            "    1.00 KiB  %5 tensor<256xf32> at model.py:3: needed by the loss\n");
}

TEST(JsonOutput, ParetoIsAList) {
  Json json = Json::parse(to_json(PlanReport{}, {{100, 90, 0.5, 0.1}, {200, 180, 0.4, 0.0}}));
  ASSERT_EQ(json["pareto"].size(), 2u);
  EXPECT_EQ(json["pareto"][1]["predicted_seconds"], 0.4);
}

TEST(JsonOutput, NamesNeedNotBeUtf8) {
  PlanReport report;
  report.program = "\xff.mlir";
  EXPECT_TRUE(Json::accept(to_json(report)));
}

TEST(JsonOutput, TheProcessHasAPeak) {
  EXPECT_GT(process_peak_bytes(), 0);
}

}  // namespace
}  // namespace ullage
