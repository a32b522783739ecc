// The registry covers ops.def, and the verifier finds what is wrong with wrong programs.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "ops/infer.h"
#include "ops/rules.h"
#include "ops/verify.h"
#include "shared_data.h"
#include "syntax/reader.h"

namespace ullage {
namespace {

TEST(Registry, HasARowForEveryOperation) {
  for (int i = 0; i < kOpKindCount; ++i) {
    auto kind = static_cast<OpKind>(i);
    // dynamic_gather and the like count: "nothing known" is a null inference function.
    EXPECT_NE(ops::rules(kind).infer, nullptr) << info(kind).mnemonic;
  }
}

std::string verify_text(const std::string& text) {
  auto module = read_text(text, "program.mlir");
  if (!module) return "unreadable: " + to_string(module.diagnostics());
  Status status = verify(**module);
  return status ? "" : to_string(status.diagnostics());
}

// One function around one line of text.
std::string in_main(const std::string& arguments, const std::string& body) {
  return "func.func @main(" + arguments + ") {\n" + body + "\n  return\n}\n";
}

struct Wrong {
  std::string arguments, body, expected;
};

TEST(Verify, NamesTheBrokenConstraint) {
  const Wrong cases[] = {
      {"%a: tensor<2xf32>, %b: tensor<3xf32>",
       R"(%0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>)",
       "stablehlo.add (C1)"},
      {"%a: tensor<2xf32>",
       R"(%0 = "stablehlo.and"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>)",
       "does not take operands"},
      {"%a: tensor<2xf32>",
       R"(%0 = "stablehlo.exponential"(%a) : (tensor<2xf32>) -> tensor<3xf32>)",
       "stablehlo.exponential (C1): the result type must be tensor<2xf32>, found tensor<3xf32>"},
      {"%a: tensor<2x3xf32>",
       "%0 = stablehlo.transpose %a, dims = [0, 0] : (tensor<2x3xf32>) -> tensor<2x2xf32>",
       "stablehlo.transpose (C2)"},
      {"%a: tensor<2x3xf32>", "%0 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<7xf32>",
       "stablehlo.reshape (C2)"},
      {"%a: tensor<3xf32>",
       "%0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<3xf32>) -> tensor<2x4xf32>",
       "stablehlo.broadcast_in_dim (C5)"},
      {"%a: tensor<3xf32>", "%0 = stablehlo.slice %a [2:5] : (tensor<3xf32>) -> tensor<3xf32>",
       "stablehlo.slice (C3)"},
      {"%a: tensor<2x3xf32>, %b: tensor<4x5xf32>",
       "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, "
       "tensor<4x5xf32>) -> tensor<2x5xf32>",
       "stablehlo.dot_general (C10)"},
      {"%a: tensor<2x3xf32>, %b: tensor<3x5xf32>",
       "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, "
       "tensor<3x5xf32>) -> tensor<5x2xf32>",
       "stablehlo.dot_general (C12)"},
      {"%a: tensor<2x3xf32>, %b: tensor<2x4xf32>",
       "%0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x3xf32>, tensor<2x4xf32>) -> "
       "tensor<4x3xf32>",
       "stablehlo.concatenate (C2)"},
      {"%a: tensor<4xf32>, %b: tensor<2xf32>",
       "%0 = stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<4xf64>",
       "stablehlo.bitcast_convert (C1)"},
      {"", "%0 = stablehlo.iota dim = 1 : tensor<3xi32>", "stablehlo.iota (C1)"},
      {"%a: tensor<i1>, %b: tensor<2xf32>, %c: tensor<3xf32>",
       R"(%0 = "stablehlo.select"(%a, %b, %c) : (tensor<i1>, tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>)",
       "stablehlo.select (C2)"},
      {"%a: tensor<4xf32>, %i: tensor<i32>",
       "%0 = stablehlo.dynamic_slice %a, %i, sizes = [5] : (tensor<4xf32>, tensor<i32>) -> "
       "tensor<5xf32>",
       "stablehlo.dynamic_slice (C4)"},
      {"%a: tensor<4xf32>, %z: tensor<f64>", R"(%0 = "stablehlo.reduce"(%a, %z) ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %s = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f64>) -> tensor<f32>)",
       "stablehlo.reduce (C2)"},
      {"%a: tensor<4xf32>, %z: tensor<f32>", R"(%0 = "stablehlo.reduce"(%a, %z) ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          stablehlo.return %x : tensor<f32>
        }) {dimensions = array<i64: 1>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>)",
       "stablehlo.reduce (C4)"},
      {"%a: tensor<4xf32>", R"(%0 = "stablehlo.while"(%a) ({
        ^bb0(%x: tensor<4xf32>):
          stablehlo.return %x : tensor<4xf32>
        }, {
        ^bb0(%x: tensor<4xf32>):
          stablehlo.return %x : tensor<4xf32>
        }) : (tensor<4xf32>) -> tensor<4xf32>)",
       "stablehlo.while (C1)"},
      {"%a: tensor<4xf32>", "%0 = func.call @nobody(%a) : (tensor<4xf32>) -> tensor<4xf32>",
       "there is no function @nobody"},
      {"%a: tensor<2xui32>",
       "%0, %1 = stablehlo.rng_bit_generator %a, algorithm = THREE_FRY : (tensor<2xui32>) -> "
       "(tensor<2xui32>, tensor<4xui32>)",
       "stablehlo.rng_bit_generator (C2)"},
  };
  for (const Wrong& wrong : cases) {
    std::string found = verify_text(in_main(wrong.arguments, "  " + wrong.body));
    EXPECT_NE(found.find(wrong.expected), std::string::npos) << wrong.body << "\nfound: " << found;
    EXPECT_NE(found.find("program.mlir"), std::string::npos) << "no place: " << found;
  }
}

TEST(Verify, ReportsEveryBrokenOperation) {
  std::string found = verify_text(R"(func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<7xf32>
    %1 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<8xf32>
    return %a : tensor<2x3xf32>
  })");
  EXPECT_NE(found.find("program.mlir:2:"), std::string::npos) << found;
  EXPECT_NE(found.find("program.mlir:3:"), std::string::npos) << found;
}

TEST(Verify, ChecksWhatFunctionsReturn) {
  Module module;
  module.file = "program.mlir";
  module.functions.push_back(std::make_unique<Function>("main"));
  Function& f = *module.functions[0];
  Value* returned[] = {f.add_argument(Type::tensor(DType::f32, {2}))};
  f.result_types = {Type::tensor(DType::f32, {3})};
  f.create(f.body(), OpKind::func_return, returned, {});
  Status status = verify(module);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(to_string(status.diagnostics()),
            "program.mlir: error: @main is declared to return (tensor<3xf32>), returns "
            "(tensor<2xf32>)\n");
}

TEST(Verify, FindsUsesOutsideTheRegionAndMissingTerminators) {
  Module module;
  module.functions.push_back(std::make_unique<Function>("main"));
  Function& f = *module.functions[0];
  Type type = Type::tensor(DType::f32, {2});
  Value* a = f.add_argument(type);
  Value* operands[] = {a};
  Type types[] = {type};
  Op* first = f.create(f.body(), OpKind::negate, operands, types);
  Value* result[] = {first->result()};
  // An operation placed before the one that defines its operand.
  f.create(f.body(), OpKind::abs, result, types, {}, {}, 0, first);
  Status status = verify(module);
  ASSERT_FALSE(status.ok());
  std::string found = to_string(status.diagnostics());
  EXPECT_NE(found.find("does not end in a terminator"), std::string::npos) << found;
  EXPECT_NE(found.find("used before its definition"), std::string::npos) << found;
}

TEST(Infer, MergesWhatOperandsKnow) {
  Type operands[] = {Type::tensor(DType::f32, {kDynamic, 3}),
                     Type::tensor(DType::f32, {2, kDynamic})};
  auto types = infer_types(OpKind::add, operands, {});
  ASSERT_TRUE(types.ok());
  EXPECT_EQ((*types)[0], Type::tensor(DType::f32, {2, 3}));
}

TEST(Infer, ConvolutionShape) {
  ConvolutionAttributes a;
  a.dims = {0, 3, {1, 2}, 2, 3, {0, 1}, 0, 3, {1, 2}};
  a.window_strides = {2, 2};
  a.padding = {{1, 1}, {1, 1}};
  Type operands[] = {Type::tensor(DType::f32, {8, 32, 32, 3}),
                     Type::tensor(DType::f32, {3, 3, 3, 16})};
  auto types = infer_types(OpKind::convolution, operands, a);
  ASSERT_TRUE(types.ok());
  EXPECT_EQ((*types)[0], Type::tensor(DType::f32, {8, 16, 16, 16}));
}

// Programs from real exporters are all legal.
TEST(Verify, AcceptsRealPrograms) {
  namespace fs = std::filesystem;
  const fs::path shared = shared_folder();
  if (!fs::exists(shared)) GTEST_SKIP() << "no shared data";
  // Two window strides for one spatial dimension, against constraint C2 of dynamic_conv.
  const std::set<std::string> wrong = {"conv_general_dilated_1d_stride_2_even_dynamic.mlir",
                                       "conv_general_dilated_1d_stride_2_odd_dynamic.mlir"};
  int files = 0;
  auto check = [&](const fs::path& path) {
    auto text = read_program_text(path.string());
    ASSERT_TRUE(text.ok()) << path;
    auto modules = read_modules(*text, path.string());
    ASSERT_TRUE(modules.ok()) << path << ": " << to_string(modules.diagnostics());
    for (const auto& module : *modules) {
      Status status = verify(*module);
      EXPECT_EQ(status.ok(), !wrong.contains(path.filename().string()))
          << path.filename() << " in " << path.parent_path().filename() << ": "
          << (status ? "it is legal" : to_string(status.diagnostics()));
    }
    ++files;
  };
  int count = 0;
  for (const char* folder : {"conformance/testdata/dynamic", "conformance/testdata/quantized"})
    for (const auto& entry : fs::directory_iterator(shared / folder))
      if (entry.path().extension() == ".mlir" && (long_tests() || count++ % 10 == 0))
        check(entry.path());
  for (const auto& entry : fs::directory_iterator(shared / "programs")) {
    fs::path program = entry.path() / "program.mlir";
    if (fs::exists(program) && (long_tests() || fs::file_size(program) < 100000)) check(program);
  }
  EXPECT_GT(files, 100);
}

}  // namespace
}  // namespace ullage
