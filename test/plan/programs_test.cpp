// The planner on real programs: every plan is valid by the independent validator, within its
// budget, and reaches the memory that the program needs. Programs come from the shared data;
// without it these tests are skipped.
#include <gtest/gtest.h>

#include <filesystem>

#include "kernels/build.h"
#include "normalize/normalize.h"
#include "ops/verify.h"
#include "plan/planner.h"
#include "plan/validate.h"
#include "shared_data.h"
#include "syntax/reader.h"

namespace ullage {
namespace {

struct Planned {
  std::unique_ptr<Module> module;
  KernelGraph graph;
  Target target;
  std::unique_ptr<Planner> planner;
};

// Kernel graph and planner of a stored program, or null if the data is not there.
std::unique_ptr<Planned> load(const std::string& name) {
  std::filesystem::path file = shared_folder() / "programs" / name / "program.mlir";
  if (!std::filesystem::exists(file)) return nullptr;
  auto out = std::make_unique<Planned>();
  Result<std::unique_ptr<Module>> module = read_file(file.string());
  EXPECT_TRUE(module.ok());
  out->module = std::move(*module);
  EXPECT_TRUE(verify(*out->module).ok());
  EXPECT_TRUE(normalize(*out->module).ok());
  Result<KernelGraph> graph = build_kernels(*out->module, *out->module->entry(), out->target);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : to_string(graph.diagnostics()));
  out->graph = std::move(*graph);
  out->planner = std::make_unique<Planner>(out->graph, std::vector<ProgramVariant>{}, out->target);
  return out;
}

void expect_valid(const Plan& plan, int64_t budget) {
  std::vector<std::string> problems = validate(plan, budget);
  EXPECT_TRUE(problems.empty()) << problems.size() << " problems, first: " << problems.front();
}

class Programs : public testing::TestWithParam<const char*> {};

TEST_P(Programs, PlansAreValidAtEveryBudget) {
  std::unique_ptr<Planned> planned = load(GetParam());
  if (!planned) GTEST_SKIP() << "no shared programs";
  PlanOutcome free = planned->planner->plan({});
  ASSERT_TRUE(free.plan.has_value());
  expect_valid(*free.plan, -1);
  PlanOptions options;
  options.budget_bytes = 0;
  PlanOutcome refused = planned->planner->plan(options);
  ASSERT_FALSE(refused.plan.has_value());
  int64_t floor = refused.refusal.floor_bytes, most = free.plan->arena_bytes;
  EXPECT_GE(floor, refused.refusal.lower_bound_bytes);
  EXPECT_LE(floor, most);
  EXPECT_FALSE(refused.refusal.obstacles.empty());
  for (int i = 0; i <= 4; ++i) {
    int64_t budget = floor + (most - floor) * i / 4;
    options.budget_bytes = budget;
    PlanOutcome outcome = planned->planner->plan(options);
    ASSERT_TRUE(outcome.plan.has_value())
        << "budget " << budget << " of " << floor << " to " << most;
    EXPECT_LE(outcome.plan->arena_bytes, budget);
    expect_valid(*outcome.plan, budget);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Programs,
                         testing::Values("seed_a_CI_plain", "seed_a_CI_dropout", "seed_a_CI_remat",
                                         "seed_a_CI_remat_dropout", "seed_a_CI_remat_dropout_rbg",
                                         "seed_a_S8_remat_dropout", "seed_b_int8_b1_f32",
                                         "seed_b_stacked_xW_b8_bf16", "seed_b_tied_b8_bf16",
                                         "seed_b_heads_hdk_hdk_b8_f32"),
                         [](const auto& info) { return std::string(info.param); });

// Temporaries that the program needs, by the case's own estimate, which assumes no cutting.
TEST(Programs, CheckpointedDropoutKeepsNoRandomBits) {
  std::unique_ptr<Planned> planned = load("seed_a_CI_remat_dropout");
  if (!planned) GTEST_SKIP() << "no shared programs";
  PlanOutcome outcome = planned->planner->plan({});
  // 8 block inputs of 512 KiB, one hidden activation of 16 MiB, one weight gradient of 2 MiB.
  EXPECT_LE(outcome.plan->temp_bytes, int64_t{41959936});
}

}  // namespace
}  // namespace ullage
