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

TEST(ProgramApi, MistakesAreThrown) {
  EXPECT_THROW(Program::compile("func.func"), ProgramError);
  Program program = Program::compile(kText);
  EXPECT_THROW(program.run({}), ProgramError);
  std::vector<Array> wrong = {filled({2, 2}, 1), filled({64, 64}, 1)};
  EXPECT_THROW(program.run(wrong), ProgramError);
}

}  // namespace
}  // namespace ullage
