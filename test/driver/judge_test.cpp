#include "driver/judge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "shared_data.h"
#include "support/float16.h"

namespace ullage {
namespace {

template <typename T>
OutputView view(DType dtype, const std::vector<T>& values) {
  return {Type::tensor(dtype, {static_cast<int64_t>(values.size())}),
          std::as_bytes(std::span(values))};
}

CaseFile case_for(const std::string& output) {
  Result<CaseFile> parsed =
      parse_case(fmt::format(R"({{"inputs": [], "outputs": [{}]}})", output), "case.json");
  EXPECT_TRUE(parsed.ok()) << to_string(parsed.diagnostics());
  return std::move(*parsed);
}

// The output 1, 2, 3, 4 with every second element in the sample.
constexpr const char* kFloats =
    R"({"name":"y","shape":[4],"dtype":"f32","sum":10,"sumsq":30,"absmax":4,"tol_abs":0.01,
    "tol_sum":0.02,"tol_sumsq":0.1,"sample":{"stride":2,"values":[1,3]}})";

CheckResult judge_floats(std::vector<float> values) {
  const OutputView output = view(DType::f32, values);
  return judge(case_for(kFloats), std::span(&output, 1));
}

TEST(Judge, PassesWithinTheTolerances) {
  CheckResult result = judge_floats({1.005f, 2, 3, 4});
  EXPECT_TRUE(result.passed) << result.summary();
  EXPECT_EQ(result.judged_outputs, 1);
  EXPECT_NEAR(result.max_abs_error, 0.005, 1e-6);
  EXPECT_NEAR(result.max_rel_error, 0.005 / 4, 1e-6);
}

TEST(Judge, EachRuleCanFail) {
  EXPECT_EQ(
      judge_floats({1.015f, 2, 3, 3.99f}).failures,
      std::vector<std::string>{"output 0 y: element 0 is 1.01499999, expected 1 within 0.01"});
  // Not in the sample: seen by the sums only.
  EXPECT_EQ(judge_floats({1, 2.5f, 3, 4}).failures,
            (std::vector<std::string>{
                "output 0 y: the sum is 10.5, expected 10 within 0.02",
                "output 0 y: the sum of squares is 32.25, expected 30 within 0.1"}));
  EXPECT_EQ(judge_floats({1, 4, 3, 2}).failures,
            std::vector<std::string>{});                       // a permutation outside the sample
  EXPECT_EQ(judge_floats({1, -2, 3, 8}).failures.size(), 1u);  // the sum of squares only
  EXPECT_FALSE(judge_floats({1, 2, 3, NAN}).passed);
  EXPECT_FALSE(judge_floats({NAN, 2, 3, 4}).passed);
  EXPECT_EQ(judge_floats({NAN, 2, 3, 4}).max_abs_error, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(judge_floats({1, 2, 3}).passed);  // another shape
}

TEST(Judge, WrongTypeShapeOrNumberOfOutputs) {
  const std::vector<double> doubles = {1, 2, 3, 4};
  const OutputView output = view(DType::f64, doubles);
  EXPECT_EQ(judge(case_for(kFloats), std::span(&output, 1)).failures,
            std::vector<std::string>{"output 0 y: it is tensor<4xf64>, expected tensor<4xf32>"});
  EXPECT_EQ(judge(case_for(kFloats), {}).failures,
            std::vector<std::string>{"0 outputs, expected 1"});
}

TEST(Judge, ExactOutputsMustHaveTheChecksum) {
  // The checksum of 1, 2, 3 as little-endian i32.
  CaseFile expected = case_for(
      R"({"name":"n","shape":[3],"dtype":"i32","crc32":2967478931,"sum":6,"sample":{"stride":1,"values":[1,2,3]},"exact":true})");
  const std::vector<int32_t> right = {1, 2, 3}, wrong = {1, 2, 5};
  OutputView output = view(DType::i32, right);
  EXPECT_TRUE(judge(expected, std::span(&output, 1)).passed);
  output = view(DType::i32, wrong);
  CheckResult result = judge(expected, std::span(&output, 1));
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.max_abs_error, 2);
}

TEST(Judge, RmsToleranceBoundsTheSamples) {
  std::string values = "0", ones = "";
  for (int i = 1; i < 16; ++i) values += ",0";
  CaseFile expected = case_for(fmt::format(
      R"({{"name":"r","shape":[16],"dtype":"f32","sum":0,"sumsq":0,"absmax":1,"tol_abs":1,"tol_sum":9,"tol_sumsq":9,
          "tol_rms":0.001,"sample":{{"stride":1,"values":[{}]}}}})",
      values));
  std::vector<float> output(16, 0.0f);
  output[3] = output[7] = 0.01f;  // two of sixteen may be far off
  OutputView seen = view(DType::f32, output);
  EXPECT_TRUE(judge(expected, std::span(&seen, 1)).passed);
  output[9] = 0.01f;
  EXPECT_FALSE(judge(expected, std::span(&seen, 1)).passed);
}

TEST(Judge, ComplexAndSixteenBitOutputs) {
  CaseFile expected = case_for(
      R"({"name":"c","shape":[2],"dtype":"c64","sum":[4,6],"sumsq":30,"absmax":5,"tol_abs":0.01,"tol_sum":0.01,
          "tol_sumsq":0.01,"sample":{"stride":1,"values":[[1,2],[3,4]]}})");
  std::vector<float> parts = {1, 2, 3, 4};
  OutputView output{Type::tensor(DType::c64, {2}), std::as_bytes(std::span(parts))};
  EXPECT_TRUE(judge(expected, std::span(&output, 1)).passed);
  parts[3] = 4.1f;
  EXPECT_FALSE(judge(expected, std::span(&output, 1)).passed);

  CaseFile narrow = case_for(
      R"({"name":"b","shape":[2],"dtype":"bf16","sum":3,"sumsq":5,"absmax":2,"tol_abs":0.001,"tol_sum":0.01,
          "tol_sumsq":0.01,"sample":{"stride":1,"values":[1,2]}})");
  std::vector<uint16_t> halves = {float_to_bf16(1), float_to_bf16(2)};
  output = {Type::tensor(DType::bf16, {2}), std::as_bytes(std::span(halves))};
  EXPECT_TRUE(judge(narrow, std::span(&output, 1)).passed);
  output.type = Type::tensor(DType::f16, {2});
  EXPECT_FALSE(judge(narrow, std::span(&output, 1)).passed);
}

TEST(Judge, OutputsWithoutValuesAreNotCounted) {
  const std::vector<float> values = {1, 2};
  const OutputView output = view(DType::f32, values);
  CheckResult result =
      judge(case_for(R"({"name":"y","shape":[2],"dtype":"f32"})"), std::span(&output, 1));
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.judged_outputs, 0);
}

CheckResult compare(DType dtype, std::vector<float> got, std::vector<float> want) {
  const OutputView a = view(dtype, got), b = view(dtype, want);
  return compare_outputs(std::span(&a, 1), std::span(&b, 1));
}

TEST(Judge, EnginesMayDifferByRoundingOnly) {
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(compare(DType::f32, {1, 1000.001f, NAN, infinity}, {1, 1000, NAN, infinity}).passed);
  CheckResult far = compare(DType::f32, {1, 1001}, {1, 1000});
  EXPECT_FALSE(far.passed);
  EXPECT_EQ(far.failures,
            std::vector<std::string>{"output 0: element 1 is 1001, expected 1000 within 0.122"});
  EXPECT_FALSE(compare(DType::f32, {NAN}, {1}).passed);
  EXPECT_FALSE(compare(DType::f32, {infinity}, {-infinity}).passed);
  EXPECT_FALSE(compare(DType::f32, {0.5f}, {0}).passed);
  EXPECT_TRUE(compare(DType::i32, {1}, {1}).passed);  // as bits
  EXPECT_FALSE(compare(DType::i32, {1}, {1.0000001f}).passed);
}

// Every case file that was handed to us is read, and XLA's own result passes where all of it is
// there.
TEST(Judge, SharedCases) {
  const std::filesystem::path folder = shared_folder() / "programs";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  int cases = 0, judged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::filesystem::path path = entry.path() / "case.json";
    if (!std::filesystem::exists(path)) continue;
    Result<CaseFile> parsed = read_case_file(path);
    ASSERT_TRUE(parsed.ok()) << to_string(parsed.diagnostics());
    ++cases;
    for (size_t i = 0; i < parsed->outputs.size(); ++i) {
      const OutputSpec& spec = parsed->outputs[i];
      if (!spec.has_values || spec.type.dtype == DType::bf16) continue;  // kept as f32 there
      for (const NpyArray& array : parsed->expected) {
        if (array.name != fmt::format("out{}{}", i, spec.exact ? "" : "_xla") ||
            array.dtype != spec.type.dtype)
          continue;
        CaseFile one;
        one.outputs.push_back(spec);
        OutputView output{spec.type, array.bytes};
        CheckResult result = judge(one, std::span(&output, 1));
        EXPECT_TRUE(result.passed) << path << ": " << result.summary();
        ++judged;
      }
    }
  }
  EXPECT_GT(cases, 0);
  EXPECT_GT(judged, 0);
}

}  // namespace
}  // namespace ullage
