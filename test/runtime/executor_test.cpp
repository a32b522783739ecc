// The executor on steps made by hand: what runs, how often, and over which bytes.
#include "runtime/executor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

namespace ullage {
namespace {

// A kernel over int32 scalars.
class Scalar : public CompiledKernel {
 public:
  using Body = std::function<void(const KernelCall&)>;
  explicit Scalar(Body body) : body_(std::move(body)) {}
  void run(const KernelCall& call, ThreadPool&) const override { body_(call); }

 private:
  Body body_;
};

int32_t& at(const KernelCall& call, size_t operand) {
  return *reinterpret_cast<int32_t*>(call.buffers[operand]);
}

ExecStep kernel(std::vector<int64_t> operands, Scalar::Body body) {
  ExecStep step;
  step.name = "scalar";
  step.kernel = std::make_shared<Scalar>(std::move(body));
  for (int64_t offset : operands) step.extents.insert(step.extents.end(), {offset, 4});
  step.operands = std::move(operands);
  return step;
}

ExecStep copy(int64_t from, int64_t to, int64_t bytes) {
  ExecStep step;
  step.kind = ExecStep::Kind::copy;
  step.operands = {from, to};
  step.extents = {from, bytes, to, bytes};
  step.bytes = bytes;
  return step;
}

class ExecutorTest : public testing::Test {
 protected:
  // One int32 argument at 0 and one output at 64, unless the test says otherwise.
  std::unique_ptr<Executor> load(std::vector<ExecStep> steps, int64_t arena_bytes = 256) {
    ExecProgram program;
    program.arena_bytes = arena_bytes;
    program.steps = std::move(steps);
    program.arguments = {{0, 4}};
    program.outputs = {{64, 4}};
    Result<std::unique_ptr<Executor>> loaded = Executor::load(std::move(program), {}, pool_);
    EXPECT_TRUE(loaded.ok());
    return std::move(*loaded);
  }

  int32_t run(Executor& executor, int32_t argument) {
    std::memcpy(executor.argument(0).data(), &argument, 4);
    executor.run();
    int32_t out = 0;
    std::memcpy(&out, executor.output(0).data(), 4);
    return out;
  }

  ThreadPool pool_{2};
};

TEST_F(ExecutorTest, KernelsAndCopiesInOrder) {
  auto executor =
      load({kernel({0, 128}, [](const KernelCall& c) { at(c, 1) = at(c, 0) * 3; }),
            copy(128, 64, 4), kernel({64}, [](const KernelCall& c) { at(c, 0) += 1; })});
  EXPECT_EQ(run(*executor, 5), 16);
  EXPECT_EQ(run(*executor, -1), -2) << "a second run starts from its own argument";
  EXPECT_EQ(executor->high_water_bytes(), 132);
}

TEST_F(ExecutorTest, KernelsSeePieceAndScratch) {
  ExecStep step = kernel({0, 64}, [](const KernelCall& c) {
    *reinterpret_cast<int32_t*>(c.scratch) = static_cast<int32_t>(c.upper - c.lower);
    at(c, 1) = *reinterpret_cast<int32_t*>(c.scratch) + (c.accumulate ? 100 : 0) +
               (c.axis == KernelCall::Axis::contracted ? 1000 : 0);
  });
  step.axis = KernelCall::Axis::contracted;
  step.lower = 2;
  step.upper = 9;
  step.accumulate = true;
  step.scratch = 192;
  step.scratch_bytes = 64;
  auto executor = load({step});
  EXPECT_EQ(run(*executor, 0), 1107);
  EXPECT_EQ(executor->high_water_bytes(), 256);
}

TEST_F(ExecutorTest, CountedLoop) {
  for (int64_t trips : {0, 1, 7}) {
    ExecStep loop;
    loop.kind = ExecStep::Kind::loop;
    loop.trip_count = trips;
    loop.nested = {{kernel({64}, [](const KernelCall& c) { at(c, 0) += 2; })}};
    auto executor = load({copy(0, 64, 4), loop});
    EXPECT_EQ(run(*executor, 10), 10 + 2 * trips);
  }
}

TEST_F(ExecutorTest, LoopWhileItsConditionHolds) {
  ExecStep loop;
  loop.kind = ExecStep::Kind::loop;
  loop.control = 128;
  loop.nested = {{kernel({64}, [](const KernelCall& c) { at(c, 0) *= 2; })},
                 {kernel({64, 128}, [](const KernelCall& c) {
                   *c.buffers[1] = at(c, 0) < 100 ? std::byte{1} : std::byte{0};
                 })}};
  auto executor = load({copy(0, 64, 4), loop});
  EXPECT_EQ(run(*executor, 3), 192);
  EXPECT_EQ(run(*executor, 100), 100) << "no trip when the condition is false at once";
}

TEST_F(ExecutorTest, BranchByIndexAndByTruth) {
  auto set = [](int32_t value) {
    return std::vector<ExecStep>{kernel({64}, [value](const KernelCall& c) { at(c, 0) = value; })};
  };
  ExecStep branch;
  branch.kind = ExecStep::Kind::branch;
  branch.control = 0;
  branch.nested = {set(10), set(11), set(12)};
  auto executor = load({branch});
  EXPECT_EQ(run(*executor, 0), 10);
  EXPECT_EQ(run(*executor, 1), 11);
  EXPECT_EQ(run(*executor, 2), 12);
  EXPECT_EQ(run(*executor, 3), 12) << "out of range takes the last branch";
  EXPECT_EQ(run(*executor, -1), 12);

  branch.control_is_bool = true;
  branch.nested = {set(20), set(21)};
  executor = load({branch});
  EXPECT_EQ(run(*executor, 1), 20) << "true takes branch 0";
  EXPECT_EQ(run(*executor, 0), 21);
}

TEST_F(ExecutorTest, ConstantsAreThereAndSplatsRepeat) {
  ExecProgram program;
  program.arena_bytes = 128;
  program.outputs = {{0, 12}, {64, 4}};
  auto bytes = [](std::vector<int32_t> values) {
    std::vector<std::byte> out(values.size() * 4);
    std::memcpy(out.data(), values.data(), out.size());
    return std::make_shared<const std::vector<std::byte>>(std::move(out));
  };
  program.constants = {{{0, 12}, bytes({7})}, {{64, 4}, bytes({9})}};
  Result<std::unique_ptr<Executor>> loaded = Executor::load(std::move(program), {}, pool_);
  ASSERT_TRUE(loaded.ok());
  (*loaded)->run();
  int32_t values[3];
  std::memcpy(values, (*loaded)->output(0).data(), 12);
  EXPECT_EQ(std::vector<int32_t>(values, values + 3), std::vector<int32_t>(3, 7));
  std::memcpy(values, (*loaded)->output(1).data(), 4);
  EXPECT_EQ(values[0], 9);
}

TEST_F(ExecutorTest, AnArenaAboveTheBudgetIsRefused) {
  ExecProgram program;
  program.arena_bytes = 4096;
  EXPECT_FALSE(Executor::load(program, 4095, pool_).ok());
  EXPECT_TRUE(Executor::load(program, 4096, pool_).ok());
}

TEST_F(ExecutorTest, ProfilesCallsByName) {
  ExecStep loop;
  loop.kind = ExecStep::Kind::loop;
  loop.trip_count = 3;
  loop.nested = {{kernel({64}, [](const KernelCall& c) { at(c, 0) += 1; })}};
  auto executor = load({copy(0, 64, 4), loop});
  run(*executor, 0);
  EXPECT_TRUE(executor->spent().empty()) << "nothing is measured until asked for";
  executor->profile(true);
  run(*executor, 0);
  ASSERT_EQ(executor->spent().size(), 1u);
  EXPECT_EQ(executor->spent()[0].name, "scalar");
  EXPECT_EQ(executor->spent()[0].calls, 3);
}

}  // namespace
}  // namespace ullage
