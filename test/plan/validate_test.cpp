// The validator must notice a plan that is wrong: valid plans are damaged in one way each.
#include "plan/validate.h"

#include <algorithm>

#include "plan/planner.h"
#include "plan/small_programs.h"

namespace ullage {
namespace {

class Validate : public testing::Test {
 protected:
  void SetUp() override { plan(kTrainingStep); }

  void plan(const char* text) {
    program_ = small_program(text);
    planner_ =
        std::make_unique<Planner>(program_->graph, std::vector<ProgramVariant>{}, program_->target);
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
  auto is_piece = [](const PlanStep& step) { return !step.axis.whole(); };
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
  PlanStep& step =
      first(cut_, [](const PlanStep& s) { return s.axis.contracted() && s.accumulate; });
  step.lower -= 1;
  EXPECT_FALSE(validate(cut_).empty());
}

TEST_F(Validate, NoticesRestartedSum) {
  PlanStep& step =
      first(cut_, [](const PlanStep& s) { return s.axis.contracted() && s.accumulate; });
  step.accumulate = false;
  EXPECT_FALSE(validate(cut_).empty());
}

TEST_F(Validate, NoticesUnfinishedSum) {
  PlanStep& step = first(cut_, [](const PlanStep& s) { return s.axis.contracted(); });
  step.unfinished = !step.unfinished;
  EXPECT_FALSE(validate(cut_).empty());
}

// The floor's plan cuts the hidden layer, whose pieces are not contiguous in it, and updates the
// weights piece by piece in their own place.
TEST_F(Validate, NoticesWrongAddresses) {
  plan(kBackwardStep);
  EXPECT_EQ(validate(cut_), std::vector<std::string>{});
  ASSERT_FALSE(cut_.main.variants.empty());
  auto is_variant = [](const PlanStep& s) { return s.variant >= 0; };
  PlanStep& step = first(cut_, is_variant);
  int32_t variant = step.variant;
  step.variant = -1;
  EXPECT_FALSE(validate(cut_).empty()) << "the graph's kernel addresses whole values";
  step.variant = variant;
  for (PlanStep& piece : cut_.main.steps)
    for (int64_t& shift : piece.shift) {
      if (shift == 0) continue;
      shift -= 4;
      EXPECT_FALSE(validate(cut_).empty()) << "shift at time " << piece.time;
      shift += 4;
    }
  EXPECT_TRUE(validate(cut_).empty());
}

TEST_F(Validate, NoticesLookupsBeyondAPiece) {
  plan(kCrossEntropy);
  EXPECT_EQ(validate(cut_), std::vector<std::string>{});
  // The kernel that looks one class up, in pieces of rows.
  KernelGraph& graph = program_->graph;
  bool found = false;
  for (Kernel& kernel : graph.kernels) {
    LoopKernel* loop = kernel.get<LoopKernel>();
    if (!loop) continue;
    for (ExprNode& node : loop->expr.nodes) {
      if (node.kind != ExprNode::Kind::load || node.access.dynamic.empty()) continue;
      found = true;
      ExprNode& index = loop->expr.nodes[static_cast<size_t>(node.access.dynamic[0].node)];
      ExprNode& highest = loop->expr.nodes[static_cast<size_t>(index.operands[2])];
      highest.bits[0] += 1;  // the last class and the first of the next row
      EXPECT_FALSE(validate(cut_).empty());
      highest.bits[0] -= 1;
      EXPECT_TRUE(validate(cut_).empty());
    }
  }
  EXPECT_TRUE(found);
}

TEST_F(Validate, NoticesVariantOfAnotherKernel) {
  plan(kBackwardStep);
  ASSERT_FALSE(cut_.main.variants.empty());
  for (auto& variant : cut_.main.variants) {
    std::shared_ptr<const Kernel> original = variant;
    auto changed = std::make_shared<Kernel>(*variant);
    if (LoopKernel* loop = changed->get<LoopKernel>())
      loop->cut_dim += 1;
    else
      changed->get<DotKernel>()->cut_dim ^= 1;
    variant = changed;
    bool runs_parallel = false;
    for (const PlanStep& step : cut_.main.steps)
      runs_parallel |= step.variant >= 0 && step.axis.parallel() &&
                       cut_.main.variants[static_cast<size_t>(step.variant)] == variant;
    EXPECT_EQ(validate(cut_).empty(), !runs_parallel);
    variant = original;
  }
}

TEST_F(Validate, NoticesReaderAfterOverwriting) {
  plan(kBackwardStep);
  // The pieces of one kernel that overwrites an argument slice by slice, swapped with the piece's
  // reader of the same slice before it.
  std::vector<PlanStep>& steps = cut_.main.steps;
  int tried = 0;
  for (size_t w = 1; w < steps.size(); ++w) {
    if (!steps[w].axis.parallel()) continue;
    for (int32_t b : steps[w].outputs) {
      if (cut_.buffers[static_cast<size_t>(b)].kind != PlanBuffer::Kind::argument) continue;
      for (size_t r = 0; r < w; ++r) {
        if (steps[r].lower != steps[w].lower || steps[r].axis.whole() ||
            std::find(steps[r].inputs.begin(), steps[r].inputs.end(), b) == steps[r].inputs.end())
          continue;
        ++tried;
        std::swap(steps[r], steps[w]);
        EXPECT_FALSE(validate(cut_).empty());
        std::swap(steps[r], steps[w]);
      }
    }
  }
  EXPECT_GT(tried, 0);
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
