// Compiling and running through the driver: what the user may get wrong, what can be switched off,
// what a refusal says.
#include "driver/session.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "driver/disabled.h"
#include "support/file.h"
#include "syntax/reader.h"

namespace ullage {
namespace {

constexpr const char* kProgram = R"(module @m {
  func.func public @main(%x: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<i32>) {
    %0 = func.call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.add %n, %n : tensor<i32>
    return %0, %1 : tensor<4xf32>, tensor<i32>
  }
  func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})";

std::unique_ptr<Module> read(const char* text) {
  Result<std::unique_ptr<Module>> module = read_text(text, "m.mlir");
  EXPECT_TRUE(module.ok());
  return std::move(*module);
}

InputSpec constant(Type type, double value) {
  InputSpec spec;
  spec.type = type;
  spec.bytes.resize(static_cast<size_t>(storage_bytes(type.dtype)));
  store_number(value, type.dtype, spec.bytes.data());
  return spec;
}

class Session : public testing::Test {
 protected:
  // The first diagnostic of a run, or "" when all went well.
  std::string run(std::vector<InputSpec> inputs) {
    CaseFile expectations;
    expectations.inputs = std::move(inputs);
    return run(RunRequest{.expectations = std::move(expectations)});
  }
  std::string run(const RunRequest& request) {
    Result<std::unique_ptr<PlannedProgram>> planned = plan_program(read(kProgram), settings_);
    if (!planned) return planned.diagnostics().front().message;
    Result<RunResult> result = run_program("m.mlir", **planned, settings_, request, 0);
    if (!result) return result.diagnostics().front().message;
    result_ = std::move(*result);
    return "";
  }

  CompileSettings settings_{.verify_plan = true};
  RunResult result_;
  const Type vector_ = Type::tensor(DType::f32, {4});
  const Type scalar_ = Type::tensor(DType::i32, {});
};

TEST_F(Session, Runs) {
  RunRequest request{.repeat = 2, .compare_interpreter = true};
  request.expectations.emplace().inputs = {constant(vector_, 1.5), constant(scalar_, 3)};
  EXPECT_EQ(run(request), "");
  EXPECT_EQ(result_.report.step_seconds.size(), 2u);
  ASSERT_TRUE(result_.comparison);
  EXPECT_TRUE(result_.comparison->passed) << result_.comparison->summary();
  EXPECT_EQ(result_.comparison->judged_outputs, 2);
  EXPECT_FALSE(result_.report.check->passed) << "a case with another number of outputs";
  EXPECT_EQ(result_.report.check->failures.front(), "2 outputs, expected 0");
}

TEST_F(Session, WrongNumberOfInputs) {
  EXPECT_EQ(run({constant(vector_, 1)}), "the case has 1 inputs, the program 2 arguments");
  EXPECT_EQ(run(RunRequest{}), "0 arrays given, the program has 2 arguments");
}

TEST_F(Session, WrongType) {
  EXPECT_EQ(run({constant(vector_, 1), constant(Type::tensor(DType::f32, {}), 1)}),
            "argument 1 is tensor<f32>, the program wants tensor<i32>");
  EXPECT_EQ(run({constant(Type::tensor(DType::f32, {5}), 1), constant(scalar_, 1)}),
            "argument 0 is tensor<5xf32>, the program wants tensor<4xf32>");
}

TEST_F(Session, MissingFile) {
  EXPECT_NE(run(RunRequest{.input_files = {"missing.npy"}}).find("missing.npy"), std::string::npos);
}

TEST(Disabling, NamesArePassesAndMoves) {
  std::unique_ptr<Module> module = read(kProgram);
  auto refusal = [&](std::vector<std::string> words) {
    Result<Disabled> out = Disabled::make(words, *module);
    return out ? std::string() : out.diagnostics().front().str();
  };
  EXPECT_EQ(refusal({"split", "simplify", "inline-calls@twice", "recompute@model.py:3"}), "");
  EXPECT_NE(refusal({"hoist"}).find("no pass or move named \"hoist\""), std::string::npos);
  EXPECT_NE(refusal({"hoist"}).find("recompute"), std::string::npos) << "the names are listed";
  EXPECT_NE(refusal({"simplify@thrice"}).find("no function \"thrice\""), std::string::npos);
  EXPECT_NE(refusal({"split@"}).find("does not say where"), std::string::npos);
}

TEST(Disabling, MovesAtAPlaceAndPassesInAFunction) {
  std::unique_ptr<Module> module = read(kProgram);
  Location line =
      module->locations.add({.kind = LocationData::Kind::file, .text = "net.py", .line = 12});
  Location named = module->locations.add(
      {.kind = LocationData::Kind::name, .text = "block_3/add", .children = {line}});
  std::vector<std::string> words = {"split@net.py:12", "recompute@block_3", "simplify@twice"};
  Result<Disabled> disabled = Disabled::make(words, *module);
  ASSERT_TRUE(disabled.ok());
  EXPECT_TRUE(disabled->at("split", module->locations, line));
  EXPECT_FALSE(disabled->at("recompute", module->locations, line));
  EXPECT_TRUE(disabled->at("recompute", module->locations, named));
  EXPECT_FALSE(disabled->at("split", module->locations, Location{}));
  EXPECT_TRUE(disabled->in_function("simplify", "twice"));
  EXPECT_FALSE(disabled->in_function("simplify", "main"));
  EXPECT_FALSE(disabled->everywhere("simplify"));
}

// A pass that is off in one function leaves that one alone and does its work elsewhere.
TEST(Disabling, PassInOneFunction) {
  auto additions = [](std::vector<std::string> off) {
    constexpr const char* text = R"(func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %unused = stablehlo.add %x, %x : tensor<4xf32>
      return %x : tensor<4xf32>
    }
    func.func private @other(%x: tensor<4xf32>) -> tensor<4xf32> {
      %unused = stablehlo.add %x, %x : tensor<4xf32>
      return %x : tensor<4xf32>
    })";
    Result<std::unique_ptr<Module>> out =
        transform_program(read(text), CompileSettings{.disabled = std::move(off)}, {"remove-dead"});
    EXPECT_TRUE(out.ok());
    std::vector<int> counts;
    for (const auto& function : (*out)->functions) {
      int count = 0;
      walk(function->body(), [&](Op* op) { count += op->kind == OpKind::add; });
      counts.push_back(count);
    }
    return counts;
  };
  EXPECT_EQ(additions({}), (std::vector<int>{0, 0}));
  EXPECT_EQ(additions({"remove-dead@other"}), (std::vector<int>{0, 1}));
  EXPECT_EQ(additions({"remove-dead"}), (std::vector<int>{1, 1}));
}

TEST(Refusals, ManyOfAKindAreSummed) {
  std::string arguments, sum;
  for (int i = 0; i < 20; ++i) {
    arguments += (i ? ", " : "") + std::string("%a") + std::to_string(i) + ": tensor<256xf32>";
    std::string last = i == 0 ? "%a0" : "%s" + std::to_string(i - 1);
    if (i > 0)
      sum += "  %s" + std::to_string(i) + " = stablehlo.add " + (i == 1 ? "%a0" : last) + ", %a" +
             std::to_string(i) + " : tensor<256xf32>\n";
  }
  std::string text = "func.func public @main(" + arguments + ") -> tensor<256xf32> {\n" + sum +
                     "  return %s19 : tensor<256xf32>\n}";
  Result<std::unique_ptr<PlannedProgram>> planned =
      plan_program(read(text.c_str()), CompileSettings{.budget_bytes = 1});
  ASSERT_TRUE(planned.ok());
  ASSERT_FALSE((*planned)->outcome.plan);
  RefusalReport report = refusal_report("m.mlir", **planned);
  ASSERT_EQ(report.more.size(), 1u);
  EXPECT_EQ(report.more[0].count, 15);
  EXPECT_EQ(report.more[0].bytes, 15 * 1024);
  EXPECT_TRUE(report.obstacles[0].value.starts_with("%a")) << report.obstacles[0].value;
  EXPECT_EQ(report.obstacles[0].shape, "tensor<256xf32>");
  std::string shown = to_text(report);
  EXPECT_EQ(shown.find("tensor<256xf32> tensor<256xf32>"), std::string::npos);
  EXPECT_NE(shown.find("15.0 KiB  in 15 more: argument"), std::string::npos) << shown;
}

TEST(Dumps, PhasesAreTimed) {
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "ullage_session_dumps";
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(plan_program(read(kProgram), CompileSettings{.dump_dir = folder.string()}).ok());
  Result<FileBytes> file = FileBytes::open((folder / "phases.txt").string());
  ASSERT_TRUE(file.ok());
  std::string text(file->text());
  for (const char* phase : {"verify", "simplify", "inline-calls", "kernels", "plan", "all"})
    EXPECT_NE(text.find(phase), std::string::npos) << text;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ullage
