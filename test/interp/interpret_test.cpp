// The interpreter's own interface, its errors, and the self-checking programs beside this file.
#include "interp/interpret.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "ops/verify.h"
#include "syntax/reader.h"

namespace ullage {
namespace {

namespace fs = std::filesystem;

TEST(SelfChecking, ProgramsInThisFolderPass) {
  int count = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(ULLAGE_SOURCE_DIR) / "test" / "interp")) {
    if (entry.path().extension() != ".mlir") continue;
    SCOPED_TRACE(entry.path().filename().string());
    auto text = read_program_text(entry.path().string());
    ASSERT_TRUE(text.ok()) << to_string(text.diagnostics());
    auto modules = read_modules(*text, entry.path().string());
    ASSERT_TRUE(modules.ok()) << to_string(modules.diagnostics());
    for (const auto& module : *modules) {
      Status status = verify(*module);
      ASSERT_TRUE(status.ok()) << to_string(status.diagnostics());
      CheckReport report;
      auto results = interpret(*module, "main", {}, {.checks = &report});
      EXPECT_TRUE(results.ok()) << to_string(results.diagnostics());
      EXPECT_TRUE(report.failures.empty()) << to_string(report.failures);
      EXPECT_GT(report.passed, 0);
    }
    ++count;
  }
  EXPECT_GE(count, 6);
}

std::unique_ptr<Module> read(const std::string& text) {
  auto module = read_text(text, "program.mlir");
  EXPECT_TRUE(module.ok()) << to_string(module.diagnostics());
  return std::move(*module);
}

TEST(Interpret, RunsAFunctionOnInputs) {
  auto module =
      read(R"(func.func @main(%x: tensor<?x2xf32>, %y: tensor<?x2xf32>) -> tensor<?x2xf32> {
    %0 = stablehlo.multiply %x, %y : tensor<?x2xf32>
    return %0 : tensor<?x2xf32>
  })");
  Tensor x = Tensor::of<float>(DType::f32, {1, 2}, {3, 4});
  auto results = interpret(*module, "main", {x, x});
  ASSERT_TRUE(results.ok()) << to_string(results.diagnostics());
  EXPECT_EQ((*results)[0].to_vector<float>(), (std::vector<float>{9, 16}));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{3, 4}));
}

std::string failure(const Module& module, std::vector<Tensor> inputs,
                    InterpretOptions options = {}) {
  auto results = interpret(module, "main", std::move(inputs), options);
  return results ? "" : to_string(results.diagnostics());
}

TEST(Interpret, RefusesInputsThatDoNotFit) {
  auto module =
      read("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }");
  EXPECT_NE(failure(*module, {}).find("takes 1 arguments, 0 were given"), std::string::npos);
  EXPECT_NE(failure(*module, {Tensor::of<float>(DType::f32, {1}, {3})})
                .find("argument 0 of @main has type tensor<2xf32>"),
            std::string::npos);
}

TEST(Interpret, AFailingCheckSaysWhereAndWhat) {
  auto module = read(
      "func.func @main(%x: tensor<2x2xi32>) {\n  check.expect_eq_const %x, dense<[[1, 2], [3, 5]]> "
      ": tensor<2x2xi32>\n  return\n}");
  Tensor x = Tensor::of<int32_t>(DType::i32, {2, 2}, {1, 2, 3, 4});
  std::string found = failure(*module, {x});
  EXPECT_NE(found.find("program.mlir:2:3: error: check.expect_eq_const failed at 1 of 4 elements, "
                       "first at [1, 1]: found 4, expected 5"),
            std::string::npos)
      << found;
  CheckReport report;
  EXPECT_EQ(failure(*module, {x}, {.checks = &report}), "");
  EXPECT_EQ(report.failures.size(), 1u);
  EXPECT_EQ(report.passed, 0);
}

TEST(Interpret, StopsEndlessProgramsWhenAsked) {
  auto module = read(R"(func.func @main(%x: tensor<i1>) -> tensor<i1> {
    %0 = "stablehlo.while"(%x) ({
    ^bb0(%a: tensor<i1>):
      stablehlo.return %a : tensor<i1>
    }, {
    ^bb0(%a: tensor<i1>):
      stablehlo.return %a : tensor<i1>
    }) : (tensor<i1>) -> tensor<i1>
    return %0 : tensor<i1>
  })");
  std::string found =
      failure(*module, {Tensor::scalar<uint8_t>(DType::i1, 1)}, {.max_operations = 1000});
  EXPECT_NE(found.find("stopped after 1000 operations"), std::string::npos) << found;
  auto recursive = read(
      "func.func @main(%x: tensor<i1>) -> tensor<i1> {\n %0 = func.call @main(%x) : (tensor<i1>) "
      "-> tensor<i1>\n return %0 : tensor<i1>\n}");
  found = failure(*recursive, {Tensor::scalar<uint8_t>(DType::i1, 1)});
  EXPECT_NE(found.find("nested more than 256 deep"), std::string::npos) << found;
}

TEST(Interpret, SaysWhatItDoesNotSupport) {
  auto module = read(R"(func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.custom_call @unheard_of(%x) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  })");
  std::string found = failure(*module, {Tensor::of<float>(DType::f32, {2}, {1, 2})});
  EXPECT_NE(found.find("program.mlir:2:"), std::string::npos) << found;
  EXPECT_NE(found.find("does not know the target @unheard_of"), std::string::npos) << found;
}

// Two processes of which the second does something else, or fails.
std::string failure_in_parallel(const std::string& second) {
  auto module = read(R"(func.func private @sum(%x: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @other(%x: tensor<f32>) -> tensor<f32> {
    )" + second + R"(
    return %x : tensor<f32>
  }
  func.func public @main(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %0:2 = "interpreter.run_parallel"(%x, %x) {programs = [[@sum], [@other]]} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    return %0#0, %0#1 : tensor<f32>, tensor<f32>
  })");
  return failure(*module, {Tensor::scalar<float>(DType::f32, 1)});
}

TEST(Interpret, ProcessesThatNobodyComesToStop) {
  std::string found = failure_in_parallel("");
  EXPECT_NE(found.find("program.mlir:2:"), std::string::npos) << found;
  EXPECT_NE(found.find("not every process of the group [0, 1] comes to it"), std::string::npos)
      << found;
}

TEST(Interpret, TheProcessThatFailsIsReported) {
  std::string found = failure_in_parallel(
      "%0 = stablehlo.custom_call @unheard_of(%x) : (tensor<f32>) -> tensor<f32>");
  EXPECT_NE(found.find("does not know the target @unheard_of"), std::string::npos) << found;
}

TEST(Interpret, GroupsNameProcessesOfTheRun) {
  auto module = read(R"(func.func @main(%x: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  })");
  std::string found = failure(*module, {Tensor::scalar<float>(DType::f32, 1)});
  EXPECT_NE(found.find("process 1 of the group [0, 1] is not in this run, which has 1"),
            std::string::npos)
      << found;
}

TEST(Evaluate, FoldsOneOperation) {
  Function f("f");
  Type type = Type::tensor(DType::i32, {3});
  Value* operands[] = {f.add_argument(type), f.add_argument(type)};
  Type types[] = {type};
  Op* add = f.create(f.body(), OpKind::add, operands, types);
  Tensor constants[] = {Tensor::of<int32_t>(DType::i32, {3}, {1, 2, INT32_MAX}),
                        Tensor::of<int32_t>(DType::i32, {3}, {10, 20, 1})};
  auto results = evaluate(*add, constants);
  ASSERT_TRUE(results.ok());
  EXPECT_EQ((*results)[0].to_vector<int32_t>(), (std::vector<int32_t>{11, 22, INT32_MIN}));
  EXPECT_EQ((*results)[0].literal().int_at(1), 22);
  EXPECT_FALSE(can_evaluate(OpKind::call));
  EXPECT_FALSE(can_evaluate(OpKind::rng));
  EXPECT_TRUE(can_evaluate(OpKind::gather));
}

TEST(Tensor, CopiesShareUntilWritten) {
  Tensor a = Tensor::of<int32_t>(DType::i32, {2}, {1, 2}), b = a;
  EXPECT_EQ(a.data(), b.data());
  reinterpret_cast<int32_t*>(b.mutable_data())[0] = 9;
  EXPECT_EQ(a.to_vector<int32_t>(), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(b.to_vector<int32_t>(), (std::vector<int32_t>{9, 2}));
}

}  // namespace
}  // namespace ullage
