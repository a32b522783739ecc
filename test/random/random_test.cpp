// A small share of the random programs, always the same: `random_programs` runs more.
#include <gtest/gtest.h>

#include <filesystem>

#include "interp/interpret.h"
#include "random/check.h"
#include "syntax/reader.h"
#include "syntax/writer.h"

namespace ullage::random_programs {
namespace {

TEST(RandomPrograms, CompiledAsInterpreted) {
  GeneratorCounts counts;
  int64_t fine = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    RandomProgram program = Generator(seed, counts).generate();
    CheckOptions options;
    options.only = seed;
    if (seed % 3 == 0) options.budgets = options.threads = false;
    Verdict verdict = check(*program.module, program.inputs, program.results, options);
    EXPECT_NE(verdict.kind, Verdict::Kind::wrong) << "seed " << seed << ": " << verdict.what << "\n"
                                                  << write_text(*program.module);
    fine += verdict.kind == Verdict::Kind::fine;
  }
  EXPECT_GE(fine, 190);
  EXPECT_GE(counts.made.size(), 75u);
}

// Programs that were wrong once, made small. Constants stand in the text where values matter.
TEST(RandomPrograms, FoundEarlier) {
  const std::string folder = std::string(ULLAGE_SOURCE_DIR) + "/test/random/found";
  int64_t programs = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(file.path().string());
    Result<std::unique_ptr<Module>> module = read_file(file.path().string());
    ASSERT_TRUE(module.ok()) << to_string(module.diagnostics());
    for (uint64_t seed : {1, 2}) {
      Random random(seed);
      std::vector<Tensor> inputs;
      for (const Value* argument : (*module)->entry()->body().arguments())
        inputs.push_back(random_tensor(random, argument->type));
      Analysed known = analyse(**module, inputs);
      ASSERT_TRUE(known.ok()) << known.why;
      CheckOptions options;
      if (seed > 1) options.budgets = options.threads = false;
      Verdict verdict = check(**module, inputs, known.results, options);
      EXPECT_EQ(verdict.kind, Verdict::Kind::fine) << verdict.what;
    }
    ++programs;
  }
  EXPECT_GE(programs, 1);
}

TEST(RandomPrograms, SameSeedSameProgram) {
  GeneratorCounts counts;
  for (uint64_t seed : {7, 8, 9})
    EXPECT_EQ(write_text(*Generator(seed, counts).generate().module),
              write_text(*Generator(seed, counts).generate().module));
}

// Beside inexact elements, a product of exact ones may still be rounded or not.
TEST(RandomPrograms, ProductsOfExactElementsRound) {
  auto module = read_text(R"(
    func.func @main(%x: tensor<1xf32>) -> tensor<2xf32> {
      %sine = stablehlo.sine %x : tensor<1xf32>
      %both = stablehlo.concatenate %x, %sine, dim = 0
        : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
      %product = stablehlo.multiply %both, %both : tensor<2xf32>
      return %product : tensor<2xf32>
    })",
                          "product.mlir");
  ASSERT_TRUE(module.ok());
  Tensor short_number = Tensor::of(DType::f32, {1}, std::vector<float>{1.5f});
  Tensor long_number = Tensor::of(DType::f32, {1}, std::vector<float>{1.1f});
  Analysed exact = analyse(**module, std::vector{short_number});
  Analysed rounded = analyse(**module, std::vector{long_number});
  ASSERT_TRUE(exact.ok() && rounded.ok());
  EXPECT_EQ(exact.results[0].errors()[0], 0);
  EXPECT_EQ(rounded.results[0].errors()[0], 0x1p-23);
}

// A product in f64 may be a short number and yet not exact.
TEST(RandomPrograms, ShortProductsOfLongFactorsRound) {
  auto module = read_text(R"(
    func.func @main(%x: tensor<2xf64>, %y: tensor<2xf64>) -> tensor<2xf64> {
      %product = stablehlo.multiply %x, %y : tensor<2xf64>
      return %product : tensor<2xf64>
    })",
                          "product.mlir");
  ASSERT_TRUE(module.ok());
  Tensor x = Tensor::of(DType::f64, {2}, std::vector<double>{1 + 0x1p-52, 1.5});
  Tensor y = Tensor::of(DType::f64, {2}, std::vector<double>{1 - 0x1p-53, 1.25});
  Analysed both = analyse(**module, std::vector{x, y});
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both.results[0].errors()[0], 0x1p-52);
  EXPECT_EQ(both.results[0].errors()[1], 0);
}

// The interpreter alone, run on the whole program, agrees with the analysis that runs it one
// operation at a time.
TEST(RandomPrograms, AnalysisIsTheInterpreter) {
  GeneratorCounts counts;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    RandomProgram program = Generator(seed, counts).generate();
    auto results = interpret(*program.module, "main", program.inputs);
    ASSERT_TRUE(results.ok()) << to_string(results.diagnostics());
    for (size_t i = 0; i < results->size(); ++i) {
      Bounded exact = {program.results[i].value, nullptr};
      EXPECT_FALSE(difference(exact, (*results)[i])) << "seed " << seed << " result " << i;
    }
  }
}

}  // namespace
}  // namespace ullage::random_programs
