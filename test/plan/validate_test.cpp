// The validator must notice a plan that is wrong: valid plans are damaged in one way each.
#include "plan/validate.h"

#include "plan/planner.h"
#include "plan/small_programs.h"

namespace ullage {
namespace {

class Validate : public testing::Test {
 protected:
  void SetUp() override {
    program_ = small_program(kTrainingStep);
    planner_ = std::make_unique<Planner>(program_->graph, nullptr, program_->target);
    PlanOptions options;
    PlanOutcome free = planner_->plan(options);
    ASSERT_TRUE(free.plan.has_value());
    whole_ = *free.plan;
    options.budget_bytes = 0;
    options.budget_bytes = planner_->plan(options).refusal.floor_bytes;
    PlanOutcome tight = planner_->plan(options);
    ASSERT_TRUE(tight.plan.has_value());
    cut_ = *tight.plan;
  }

  static PlanStep& first(Plan& plan, bool (*matches)(const PlanStep&)) {
    for (PlanStep& step : plan.main.steps)
      if (matches(step)) return step;
    throw std::runtime_error("no such step");
  }

  std::unique_ptr<SmallProgram> program_;
  std::unique_ptr<Planner> planner_;
  Plan whole_, cut_;
};

TEST_F(Validate, AcceptsBothPlans) {
  EXPECT_EQ(validate(whole_), std::vector<std::string>{});
  EXPECT_EQ(validate(cut_), std::vector<std::string>{});
  EXPECT_LT(cut_.arena_bytes, whole_.arena_bytes);
}

TEST_F(Validate, NoticesBudget) {
  EXPECT_FALSE(validate(whole_, whole_.arena_bytes - 1).empty());
}

TEST_F(Validate, NoticesOverlap) {
  // Two buffers that are alive together get one address.
  for (size_t a = 0; a < whole_.buffers.size(); ++a)
    for (size_t b = a + 1; b < whole_.buffers.size(); ++b) {
      PlanBuffer& x = whole_.buffers[a];
      PlanBuffer& y = whole_.buffers[b];
      if (x.first > y.last || y.first > x.last) continue;
      y.offset = x.offset;
      EXPECT_FALSE(validate(whole_).empty());
      return;
    }
  FAIL() << "no two buffers alive at once";
}

TEST_F(Validate, NoticesMissingStep) {
  for (size_t i = 0; i < whole_.main.steps.size(); ++i) {
    Plan damaged = whole_;
    damaged.main.steps.erase(damaged.main.steps.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_FALSE(validate(damaged).empty()) << "step " << i;
  }
}

TEST_F(Validate, NoticesWrongOperand) {
  for (PlanStep& step : whole_.main.steps) {
    if (step.inputs.size() < 2 || step.inputs[0] == step.inputs[1]) continue;
    std::swap(step.inputs[0], step.inputs[1]);
    EXPECT_FALSE(validate(whole_).empty());
    std::swap(step.inputs[0], step.inputs[1]);
  }
}

TEST_F(Validate, NoticesLostPiece) {
  auto is_piece = [](const PlanStep& step) { return step.axis != PieceAxis::all; };
  int pieces = 0;
  for (size_t i = 0; i < cut_.main.steps.size(); ++i) {
    if (!is_piece(cut_.main.steps[i])) continue;
    ++pieces;
    Plan damaged = cut_;
    damaged.main.steps.erase(damaged.main.steps.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_FALSE(validate(damaged).empty()) << "step " << i;
  }
  EXPECT_GT(pieces, 0);
}

TEST_F(Validate, NoticesSumCutInsideABlock) {
  PlanStep& step = first(
      cut_, [](const PlanStep& s) { return s.axis == PieceAxis::contracted && s.accumulate; });
  step.lower -= 1;
  EXPECT_FALSE(validate(cut_).empty());
}

TEST_F(Validate, NoticesRestartedSum) {
  PlanStep& step = first(
      cut_, [](const PlanStep& s) { return s.axis == PieceAxis::contracted && s.accumulate; });
  step.accumulate = false;
  EXPECT_FALSE(validate(cut_).empty());
}

TEST_F(Validate, NoticesShortLife) {
  for (size_t b = 0; b < whole_.buffers.size(); ++b) {
    if (whole_.buffers[b].last == whole_.buffers[b].first || whole_.buffers[b].output) continue;
    Plan damaged = whole_;
    damaged.buffers[b].last = damaged.buffers[b].first;
    EXPECT_FALSE(validate(damaged).empty()) << "buffer " << b;
  }
}

}  // namespace
}  // namespace ullage
