#include "ullage/program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace ullage {
namespace {

constexpr const char* kText = R"(
func.func public @main(%x: tensor<256x64xf32>, %w: tensor<64x64xf32>) -> (tensor<256x64xf32>, tensor<64x64xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %1 = stablehlo.tanh %0 : tensor<256x64xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  return %2, %w : tensor<256x64xf32>, tensor<64x64xf32>
})";

Array filled(std::vector<int64_t> shape, float value) {
  Array out{{"f32", shape}, {}};
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  std::vector<float> values(static_cast<size_t>(count), value);
  out.bytes.resize(values.size() * sizeof(float));
  std::memcpy(out.bytes.data(), values.data(), out.bytes.size());
  return out;
}

float first(const Array& array) {
  float out = 0;
  std::memcpy(&out, array.bytes.data(), sizeof out);
  return out;
}

TEST(ProgramApi, RunsAndHandsArgumentsBack) {
  Program program = Program::compile(kText);
  ASSERT_EQ(program.arguments().size(), 2u);
  EXPECT_EQ(program.arguments()[0], (ArrayType{"f32", {256, 64}}));
  std::vector<Array> arguments = {filled({256, 64}, 0.5f), filled({64, 64}, 0.25f)};
  std::vector<Array> results = program.run(arguments);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_NEAR(first(results[0]), 16.0f * std::tanh(8.0f), 1e-4f);
  EXPECT_EQ(results[1].bytes, arguments[1].bytes);
}

TEST(ProgramApi, SameBitsInsideABudget) {
  std::vector<Array> arguments = {filled({256, 64}, 0.01f), filled({64, 64}, 0.25f)};
  Program program = Program::compile(kText, {.threads = 2});
  int64_t least = 0;
  try {
    Program::compile(kText, {.memory_budget = 1000});
  } catch (const OverBudget& refusal) {
    least = refusal.floor_bytes;
    EXPECT_NE(std::string(refusal.what()).find("memory_budget = "), std::string::npos);
  }
  ASSERT_GT(least, 1000);
  Program tight = Program::compile(kText, {.memory_budget = least});
  EXPECT_LE(tight.memory().planned_peak_bytes, least);
  EXPECT_EQ(tight.run(arguments)[0].bytes, program.run(arguments)[0].bytes);
}

// The weights are donated, and both results are they.
TEST(ProgramApi, ArgumentsGivenAwayHoldTheResults) {
  Program program = Program::compile(R"(
func.func public @main(%w: tensor<64x64xf32> {tf.aliasing_output = 0 : i32}, %g: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = stablehlo.subtract %w, %g : tensor<64x64xf32>
  return %0, %0, %g : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
})");
  std::vector<Array> arguments = {filled({64, 64}, 3.0f), filled({64, 64}, 0.5f)};
  std::vector<Array> kept = program.run(arguments);
  EXPECT_EQ(first(arguments[0]), 3.0f) << "a copy was written";
  const std::byte* weights = arguments[0].bytes.data();
  std::vector<Array> results = program.run_donating(std::move(arguments));
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(results[0].bytes.data() == weights || results[1].bytes.data() == weights);
  for (size_t r = 0; r < results.size(); ++r) EXPECT_EQ(results[r].bytes, kept[r].bytes) << r;
  EXPECT_EQ(first(results[0]), 2.5f);
  EXPECT_EQ(first(results[1]), 2.5f);
  EXPECT_EQ(first(results[2]), 0.5f);
}

// An element of the result needs two elements of the product.
TEST(ProgramApi, AProductLessItsTranspose) {
  Program program = Program::compile(R"(
func.func public @main(%x: tensor<2x5x5xf32>, %y: tensor<2x5x5xf32>) -> tensor<2x5x5xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x5x5xf32>, tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %1 = stablehlo.transpose %0, dims = [0, 2, 1] : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %2 = stablehlo.negate %1 : tensor<2x5x5xf32>
  %3 = stablehlo.add %0, %2 : tensor<2x5x5xf32>
  return %3 : tensor<2x5x5xf32>
})");
  std::vector<Array> arguments = {filled({2, 5, 5}, 0), filled({2, 5, 5}, 0)};
  float x[50], y[50], got[50];
  for (int i = 0; i < 50; ++i) x[i] = static_cast<float>(i % 7), y[i] = static_cast<float>(i % 11);
  std::memcpy(arguments[0].bytes.data(), x, sizeof x);
  std::memcpy(arguments[1].bytes.data(), y, sizeof y);
  std::memcpy(got, program.run(arguments)[0].bytes.data(), sizeof got);
  auto product = [&](int b, int i, int j) {
    float sum = 0;
    for (int k = 0; k < 5; ++k) sum += x[b * 25 + i * 5 + k] * y[b * 25 + k * 5 + j];
    return sum;
  };
  for (int b = 0; b < 2; ++b)
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 5; ++j)
        EXPECT_EQ(got[b * 25 + i * 5 + j], product(b, i, j) - product(b, j, i));
}

TEST(ProgramApi, MistakesAreThrown) {
  EXPECT_THROW(Program::compile("func.func"), ProgramError);
  Program program = Program::compile(kText);
  EXPECT_THROW(program.run({}), ProgramError);
  std::vector<Array> wrong = {filled({2, 2}, 1), filled({64, 64}, 1)};
  EXPECT_THROW(program.run(wrong), ProgramError);
}

}  // namespace
}  // namespace ullage
