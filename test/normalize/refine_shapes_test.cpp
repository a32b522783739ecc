// Dynamic shapes become static ones: the result computes what the dynamic program does, and what
// cannot be resolved is refused where it stands.
#include "normalize/refine_shapes.h"

#include <gtest/gtest.h>

#include <cstring>

#include "interp/interpret.h"
#include "ops/verify.h"
#include "syntax/reader.h"

namespace ullage {
namespace {

std::unique_ptr<Module> read_program(const std::string& text) {
  Result<std::unique_ptr<Module>> module = read_text(text, "test.mlir");
  if (!module.ok()) {
    ADD_FAILURE() << to_string(module.diagnostics());
    return nullptr;
  }
  return std::move(*module);
}

Tensor numbers(DType dtype, std::vector<int64_t> shape) {
  Tensor out(Type::tensor(dtype, std::move(shape)));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    float value = 0.5f * static_cast<float>(i) - 1;
    std::memcpy(out.mutable_data() + 4 * i, &value, 4);
  }
  return out;
}

// As JAX exports a function of x: f32[b, 4]: the dimension is an argument of the function inside.
const char kExported[] = R"(
func.func public @main(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?xf32>, tensor<?x2xf32>) {
  %b = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %b64 = stablehlo.convert %b : (tensor<i32>) -> tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %enough = stablehlo.compare GE, %b64, %one, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%enough, %b64) {api_version = 2 : i32, error_message = "b must be at least 1, it is {0}", has_side_effect = true} : (tensor<i1>, tensor<i64>) -> ()
  %r:3 = call @wrapped(%b64, %x) : (tensor<i64>, tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?xf32>, tensor<?x2xf32>)
  return %r#0, %r#1, %r#2 : tensor<?x4xf32>, tensor<?xf32>, tensor<?x2xf32>
}
func.func private @wrapped(%b: tensor<i64>, %x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?xf32>, tensor<?x2xf32>) {
  %s = stablehlo.sine %x : tensor<?x4xf32>
  %n = stablehlo.convert %b : (tensor<i64>) -> tensor<i32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %four = stablehlo.constant dense<4> : tensor<1xi32>
  %shape = stablehlo.concatenate %n1, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %h = stablehlo.dynamic_broadcast_in_dim %half, %shape, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
  %p = stablehlo.multiply %s, %h : tensor<?x4xf32>
  %i = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi32>) -> tensor<?x4xf32>
  %q = stablehlo.add %p, %i : tensor<?x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sums = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<?x4xf32>, tensor<f32>) -> tensor<?xf32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n2 = stablehlo.multiply %n, %two : tensor<i32>
  %n2r = stablehlo.reshape %n2 : (tensor<i32>) -> tensor<1xi32>
  %two1 = stablehlo.constant dense<2> : tensor<1xi32>
  %pairs = stablehlo.concatenate %n2r, %two1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %r = stablehlo.dynamic_reshape %q, %pairs : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x2xf32>
  return %q, %sums, %r : tensor<?x4xf32>, tensor<?xf32>, tensor<?x2xf32>
})";

TEST(RefineShapes, ComputesWhatTheDynamicProgramDoes) {
  for (int64_t batch : {1, 5}) {
    Tensor x = numbers(DType::f32, {batch, 4});
    std::unique_ptr<Module> dynamic = read_program(kExported), refined = read_program(kExported);
    ASSERT_TRUE(dynamic && refined);
    EXPECT_TRUE(has_dynamic_shapes(*refined));
    KnownArgument argument{x.type(), {}};
    Status status = refine_shapes(*refined, {&argument, 1});
    ASSERT_TRUE(status.ok()) << to_string(status.diagnostics());
    EXPECT_FALSE(has_dynamic_shapes(*refined));
    Status verified = verify(*refined);
    EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : to_string(verified.diagnostics()));
    EXPECT_EQ(refined->entry()->result_types[2], Type::tensor(DType::f32, {2 * batch, 2}));
    // The interpreter takes dynamic programs, but not assertions.
    walk(dynamic->entry()->body(), [](Op* op) {
      if (op->kind == OpKind::custom_call) op->erase();
    });
    auto want = interpret(*dynamic, "main", {x}), got = interpret(*refined, "main", {x});
    ASSERT_TRUE(want.ok()) << to_string(want.diagnostics());
    ASSERT_TRUE(got.ok()) << to_string(got.diagnostics());
    for (size_t i = 0; i < want->size(); ++i) {
      ASSERT_EQ((*got)[i].type(), (*want)[i].type());
      EXPECT_EQ(std::memcmp((*got)[i].data(), (*want)[i].data(),
                            static_cast<size_t>((*want)[i].size_bytes())),
                0);
    }
  }
}

TEST(RefineShapes, ValuesOfScalarsMayBeDimensions) {
  std::unique_ptr<Module> module = read_program(R"(
func.func @main(%n: tensor<i64>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %m = stablehlo.reshape %n : (tensor<i64>) -> tensor<1xi64>
  %i = stablehlo.dynamic_iota %m, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>
  %r = stablehlo.add %x, %i : tensor<?xf32>
  return %r : tensor<?xf32>
})");
  ASSERT_TRUE(module);
  std::vector<KnownArgument> arguments = {
      {Type::tensor(DType::i64, {}), Literal::scalar(DType::i64, int64_t{3})},
      {Type::tensor(DType::f32, {3}), {}}};
  Status status = refine_shapes(*module, arguments);
  ASSERT_TRUE(status.ok()) << to_string(status.diagnostics());
  EXPECT_EQ(module->entry()->result_types[0], Type::tensor(DType::f32, {3}));
}

std::string refusal(const std::string& text, const Type& type) {
  std::unique_ptr<Module> module = read_program(text);
  if (!module) return {};
  KnownArgument argument{type, {}};
  Status status = refine_shapes(*module, {&argument, 1});
  return status.ok() ? "" : to_string(status.diagnostics());
}

TEST(RefineShapes, RefusesWhatItCannotResolve) {
  std::string data_dependent = refusal(R"(
func.func @main(%x: tensor<1xi32>) -> tensor<?xf32> {
  %i = stablehlo.dynamic_iota %x, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  return %i : tensor<?xf32>
})",
                                       Type::tensor(DType::i32, {1}));
  EXPECT_NE(data_dependent.find("test.mlir:3"), std::string::npos) << data_dependent;
  EXPECT_NE(data_dependent.find("dynamic_iota"), std::string::npos) << data_dependent;
  std::string broken = refusal(kExported, Type::tensor(DType::f32, {0, 4}));
  EXPECT_NE(broken.find("b must be at least 1"), std::string::npos) << broken;
  std::string other = refusal(kExported, Type::tensor(DType::f32, {3, 5}));
  EXPECT_NE(other.find("argument 0"), std::string::npos) << other;
}

}  // namespace
}  // namespace ullage
