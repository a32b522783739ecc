// Updates that need no array, or none of their own. Indices of the test arguments are 1 to 3.
#include "normalize/normalized.h"

namespace ullage {
namespace {

TEST(Updates, OneElementOfEachRowIsAComparison) {
  auto module = normalized(R"(
    func.func public @main(%at: tensor<6x1x1xi32>, %u: tensor<6x1xf32>) -> tensor<6x3xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<6x3xf32>
      %0 = "stablehlo.scatter"(%zero, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<6x3xf32>, tensor<6x1x1xi32>, tensor<6x1xf32>) -> tensor<6x3xf32>
      return %0 : tensor<6x3xf32>
    })");
  EXPECT_EQ(count(*module, OpKind::scatter), 0);  // an index of 3 is out of bounds
}

TEST(Updates, WindowsAndSeveralIndicesToo) {
  auto module = normalized(R"(
    func.func public @main(%at: tensor<2xi32>, %u: tensor<5xf32>) -> tensor<4x5x3xf32> {
      %one = stablehlo.constant dense<1.0> : tensor<f32>
      %all = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<4x5x3xf32>
      %0 = "stablehlo.scatter"(%all, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0, 2], scatter_dims_to_operand_dims = [2, 0], index_vector_dim = 0>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        stablehlo.return %b : tensor<f32>
      }) : (tensor<4x5x3xf32>, tensor<2xi32>, tensor<5xf32>) -> tensor<4x5x3xf32>
      return %0 : tensor<4x5x3xf32>
    })");
  EXPECT_EQ(count(*module, OpKind::scatter), 0);
}

TEST(Updates, SeveralUpdatesOfARowStay) {
  auto module = normalized(R"(
    func.func public @main(%at: tensor<6x1xi32>, %u: tensor<6xf32>) -> tensor<4xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
      %0 = "stablehlo.scatter"(%zero, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<4xf32>, tensor<6x1xi32>, tensor<6xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    })");
  EXPECT_EQ(count(*module, OpKind::scatter), 1);
}

TEST(Updates, UpdatesWithoutIndicesStay) {
  auto module = normalized(R"(
    func.func public @main(%at: tensor<0xi32>, %u: tensor<4xf32>) -> tensor<4xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
      %0 = "stablehlo.scatter"(%zero, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0]>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        stablehlo.return %b : tensor<f32>
      }) : (tensor<4xf32>, tensor<0xi32>, tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    })");
  EXPECT_EQ(count(*module, OpKind::scatter), 1);
}

// The array before the choice is read by the update alone afterwards.
void expect_in_place(const char* choice, OpKind update) {
  std::string text = R"(
    func.func public @main(%x: tensor<8xf32>, %at: tensor<1xi32>, %u: tensor<1xf32>, %n: tensor<i32>)
        -> tensor<8xf32> {
      %two = stablehlo.constant dense<LIMIT> : tensor<i32>
      %p = stablehlo.compare LT, %n, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %s = stablehlo.reshape %at : (tensor<1xi32>) -> tensor<i32>
      UPDATE
      CHOICE
      return %r : tensor<8xf32>
    })";
  auto replace = [](std::string& in, const std::string& what, const std::string& by) {
    in.replace(in.find(what), what.size(), by);
  };
  replace(
      text, "UPDATE",
      update == OpKind::scatter
          ? R"(%y = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 0>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %t = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %t : tensor<f32>
      }) : (tensor<8xf32>, tensor<1xi32>, tensor<1xf32>) -> tensor<8xf32>)"
          : "%y = stablehlo.dynamic_update_slice %x, %u, %s : (tensor<8xf32>, tensor<1xf32>, "
            "tensor<i32>) -> tensor<8xf32>");
  replace(text, "CHOICE", choice);
  for (const char* limit : {"0", "100"}) {  // not chosen, chosen
    std::string one = text;
    replace(one, "LIMIT", limit);
    auto module = normalized(one);
    Op* result = module->entry()->body().terminator()->operand(0)->op();
    ASSERT_NE(result, nullptr);
    EXPECT_EQ(result->kind, update);
    EXPECT_EQ(result->operand(0), module->entry()->body().argument(0));
  }
}

constexpr const char* kUpdated = "%r = stablehlo.select %p, %y, %x : tensor<i1>, tensor<8xf32>";
constexpr const char* kKept =
    R"(%q = stablehlo.broadcast_in_dim %p, dims = [] : (tensor<i1>) -> tensor<8xi1>
      %r = stablehlo.select %q, %x, %y : tensor<8xi1>, tensor<8xf32>)";

TEST(Updates, ChoiceOfAScatterIsMadeInPlace) {
  expect_in_place(kUpdated, OpKind::scatter);
  expect_in_place(kKept, OpKind::scatter);
}

// A window that began just outside would reach into the array.
TEST(Updates, ChoiceOfAScatterOfWindowsHitsNothing) {
  for (const char* limit : {"0", "100"}) {
    auto module = normalized(std::string(R"(
      func.func public @main(%x: tensor<8xf32>, %at: tensor<1xi32>, %u: tensor<3xf32>, %n: tensor<i32>) -> tensor<8xf32> {
        %l = stablehlo.constant dense<)") +
                             limit + R"(> : tensor<i32>
        %p = stablehlo.compare LT, %n, %l, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %y = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 0>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          stablehlo.return %b : tensor<f32>
        }) : (tensor<8xf32>, tensor<1xi32>, tensor<3xf32>) -> tensor<8xf32>
        %r = stablehlo.select %p, %y, %x : tensor<i1>, tensor<8xf32>
        return %r : tensor<8xf32>
      })");
    EXPECT_EQ(count(*module, OpKind::scatter), 1);
  }
}

TEST(Updates, ChoiceOfASliceIsMadeInPlace) {
  expect_in_place(kUpdated, OpKind::dynamic_update_slice);
  expect_in_place(kKept, OpKind::dynamic_update_slice);
}

// Slices at 1, 2 and 3. Products with 0 are zeros of both signs, which all three have in common at
// 3 and 4 only.
std::string sum_of_slices(const std::string& scale, const std::string& type) {
  std::string text = R"(
    func.func public @main(%at: tensor<3xi32>, %a: tensor<4xT>, %b: tensor<3xT>, %c: tensor<4xT>) -> tensor<64xT> {
      %zero = stablehlo.constant dense<Z> : tensor<64xT>
      %s4 = stablehlo.constant dense<S> : tensor<4xT>
      %s3 = stablehlo.constant dense<S> : tensor<3xT>
      %0 = stablehlo.slice %at [0:1] : (tensor<3xi32>) -> tensor<1xi32>
      %1 = stablehlo.slice %at [1:2] : (tensor<3xi32>) -> tensor<1xi32>
      %2 = stablehlo.slice %at [2:3] : (tensor<3xi32>) -> tensor<1xi32>
      %i = stablehlo.reshape %0 : (tensor<1xi32>) -> tensor<i32>
      %j = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
      %k = stablehlo.reshape %2 : (tensor<1xi32>) -> tensor<i32>
      %as = stablehlo.multiply %a, %s4 : tensor<4xT>
      %bs = stablehlo.multiply %b, %s3 : tensor<3xT>
      %cs = stablehlo.multiply %c, %s4 : tensor<4xT>
      %x = stablehlo.dynamic_update_slice %zero, %as, %i : (tensor<64xT>, tensor<4xT>, tensor<i32>) -> tensor<64xT>
      %y = stablehlo.dynamic_update_slice %zero, %bs, %j : (tensor<64xT>, tensor<3xT>, tensor<i32>) -> tensor<64xT>
      %z = stablehlo.dynamic_update_slice %zero, %cs, %k : (tensor<64xT>, tensor<4xT>, tensor<i32>) -> tensor<64xT>
      %xy = stablehlo.add %x, %y : tensor<64xT>
      %xyz = stablehlo.add %z, %xy : tensor<64xT>
      return %xyz : tensor<64xT>
    })";
  auto replace = [&](const std::string& word, const std::string& by) {
    for (size_t at; (at = text.find(word)) != std::string::npos;) text.replace(at, word.size(), by);
  };
  replace("xT", "x" + type);
  replace("<Z>", type == "f32" ? "<0.0>" : "<0>");
  replace("<S>", "<" + scale + ">");
  return text;
}

TEST(Updates, SlicesAreAddedInPlace) {
  for (const char* scale : {"1.0", "0.0", "-0.0"}) {
    auto module = normalized(sum_of_slices(scale, "f32"));
    EXPECT_EQ(count(*module, OpKind::dynamic_update_slice), 5) << scale;
    for (Op* op : module->entry()->body()) {
      if (op->kind == OpKind::add || op->kind == OpKind::fused_multiply_add) {
        EXPECT_LT(op->result()->type.num_elements(), 64) << scale;
      }
    }
  }
  EXPECT_EQ(count(*normalized(sum_of_slices("1", "i32")), OpKind::dynamic_update_slice), 3);
}

TEST(Updates, SlicesThatAreMostOfAnArrayAreAddedAsTheyStand) {
  std::string text = sum_of_slices("1.0", "f32");
  for (size_t at; (at = text.find("64x")) != std::string::npos;) text.replace(at, 3, "16x");
  EXPECT_EQ(count(*normalized(text), OpKind::dynamic_slice), 0);
}

}  // namespace
}  // namespace ullage
