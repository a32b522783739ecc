// Scatter: bodies, index layouts, windows, what falls outside, order of equal targets.
#include <fmt/format.h>

#include "program_testing.h"

namespace ullage {
namespace {

using namespace testing_cpu;

std::string body(const std::string& op, const std::string& type) {
  if (op == "set")
    return fmt::format("^bb0(%a: tensor<{0}>, %b: tensor<{0}>): stablehlo.return %b : tensor<{0}>",
                       type);
  return fmt::format(
      "^bb0(%a: tensor<{0}>, %b: tensor<{0}>): %c = stablehlo.{1} %a, %b : tensor<{0}>\n"
      "stablehlo.return %c : tensor<{0}>",
      type, op);
}

struct Scatter {
  std::string operand, indices, updates;  // shapes: "8x3x"
  std::string numbers;
  std::string index_type = "i32";
};

std::string program(const Scatter& s, const std::string& op, const std::string& type) {
  return fmt::format(R"(
    func.func public @main(%x: tensor<{0}{4}>, %i: tensor<{1}{6}>, %u: tensor<{2}{4}>) -> tensor<{0}{4}> {{
      %r = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<{3}>}}> ({{
        {5}
      }}) : (tensor<{0}{4}>, tensor<{1}{6}>, tensor<{2}{4}>) -> tensor<{0}{4}>
      return %r : tensor<{0}{4}>
    }})",
                     s.operand, s.indices, s.updates, s.numbers, type, body(op, type),
                     s.index_type);
}

const Scatter kRows = {
    "40x24x", "90x1x", "90x24x",
    "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
    "index_vector_dim = 1"};
const Scatter kElements = {
    "50x", "300x1x", "300x",
    "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"};

TEST(Scatter, BodiesAndTypes) {
  for (const Scatter& shape : {kRows, kElements})
    for (auto [type, dtype] : {std::pair("f32", DType::f32),
                               {"f64", DType::f64},
                               {"bf16", DType::bf16},
                               {"i8", DType::i8},
                               {"ui32", DType::ui32},
                               {"i64", DType::i64},
                               {"i1", DType::i1}})
      for (std::string op : {"add", "multiply", "minimum", "maximum", "set"}) {
        bool rows = shape.operand == kRows.operand;
        std::vector<int64_t> x = {40, 24}, i = {90, 1}, u = {90, 24};
        if (!rows) x = {50}, i = {300, 1}, u = {300};
        // Many indices are the same, some lie outside on either side.
        compare(program(shape, op, type),
                {random_tensor(dtype, x, 1), random_indices(DType::i32, i, -3, x[0] + 3, 2),
                 random_tensor(dtype, u, 3)});
      }
}

TEST(Scatter, SpecialValues) {
  for (std::string op : {"add", "minimum", "maximum", "set"})
    compare(program(kElements, op, "f32"), {random_tensor(DType::f32, {50}, 1, true),
                                            random_indices(DType::i32, {300, 1}, 0, 50, 2),
                                            random_tensor(DType::f32, {300}, 3, true)});
}

TEST(Scatter, Layouts) {
  struct Case {
    Scatter scatter;
    std::vector<int64_t> x, i, u;
  };
  const Case cases[] = {
      // Two indices, in a vector that is not the last dimension; windows that overlap.
      {{"12x20x", "2x30x", "30x3x9x",
        "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 0"},
       {12, 20},
       {2, 30},
       {30, 3, 9}},
      // The window before the positions: equal targets in row-major order of the updates.
      {{"30x", "40x1x", "5x40x",
        "update_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"},
       {30},
       {40, 1},
       {5, 40}},
      // Batching dimensions.
      {{"4x6x30x", "4x6x9x1x", "4x6x9x",
        "inserted_window_dims = [2], input_batching_dims = [0, 1], "
        "scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], "
        "index_vector_dim = 3"},
       {4, 6, 30},
       {4, 6, 9, 1},
       {4, 6, 9}},
      // One position: a window that is put somewhere.
      {{"33x40x", "2x", "5x34x",
        "update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]"},
       {33, 40},
       {2},
       {5, 34}},
      // Scalar indices.
      {{"17x", "50x", "50x",
        "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"},
       {17},
       {50},
       {50}},
      // Columns: the window is strided.
      {{"24x19x", "60x1x", "24x60x",
        "update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], "
        "index_vector_dim = 1"},
       {24, 19},
       {60, 1},
       {24, 60}},
      // Nothing to do, and nowhere to do it.
      {{"5x", "0x1x", "0x",
        "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"},
       {5},
       {0, 1},
       {0}},
      {{"0x", "3x1x", "3x",
        "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"},
       {0},
       {3, 1},
       {3}},
  };
  for (const Case& c : cases)
    for (std::string op : {"add", "set", "subtract"})
      compare(program(c.scatter, op, "f32"),
              {random_tensor(DType::f32, c.x, 4), random_indices(DType::i32, c.i, -2, 34, 5),
               random_tensor(DType::f32, c.u, 6)});
}

// Large enough for several threads: by columns, by ranges of targets with vectors, one by one.
TEST(Scatter, Threads) {
  compare(R"(
    func.func public @main(%x: tensor<3x70000xf32>, %i: tensor<20x1xi64>, %u: tensor<20x70000xf32>) -> tensor<3x70000xf32> {
      %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) : (tensor<3x70000xf32>, tensor<20x1xi64>, tensor<20x70000xf32>) -> tensor<3x70000xf32>
      return %r : tensor<3x70000xf32>
    })",
          {random_tensor(DType::f32, {3, 70000}, 1), random_indices(DType::i64, {20, 1}, -1, 4, 2),
           random_tensor(DType::f32, {20, 70000}, 3)});
  const Scatter rows = {"700x48x", "9000x1x", "9000x48x", kRows.numbers};
  compare(program(rows, "add", "f32"), {random_tensor(DType::f32, {700, 48}, 1),
                                        random_indices(DType::i32, {9000, 1}, -1, 701, 2),
                                        random_tensor(DType::f32, {9000, 48}, 3)});
  const Scatter elements = {"5000x", "60000x1x", "60000x", kElements.numbers};
  compare(program(elements, "add", "f32"), {random_tensor(DType::f32, {5000}, 1),
                                            random_indices(DType::i32, {60000, 1}, -9, 5009, 2),
                                            random_tensor(DType::f32, {60000}, 3)});
}

// Unsigned indices beyond the signed range, and signed ones at its end.
TEST(Scatter, ExtremeIndices) {
  Scatter s = {
      "9x", "4x1x", "4x3x",
      "update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"};
  s.index_type = "i64";
  compare(program(s, "add", "f32"),
          {random_tensor(DType::f32, {9}, 1),
           Tensor::of<int64_t>(DType::i64, {4, 1}, {INT64_MAX, INT64_MIN, -2, 8}),
           random_tensor(DType::f32, {4, 3}, 2)});
  s.index_type = "ui64";
  compare(program(s, "add", "f32"),
          {random_tensor(DType::f32, {9}, 1),
           Tensor::of<uint64_t>(DType::ui64, {4, 1}, {UINT64_MAX, UINT64_MAX - 1, 1, 7}),
           random_tensor(DType::f32, {4, 3}, 2)});
}

// A pair of arrays, whose body orders them by the first; twice the same array; updates that are
// made from the array that they change.
TEST(Scatter, SeveralArraysAndSelfReference) {
  const char* pair = R"(
    func.func public @main(%x: tensor<30xf32>, %y: tensor<30xi32>, %i: tensor<80x1xi32>, %u: tensor<80xf32>, %v: tensor<80xi32>) -> (tensor<30xf32>, tensor<30xi32>) {
      %r:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
        %less = stablehlo.compare LT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %p = stablehlo.select %less, %a, %c : tensor<i1>, tensor<f32>
        %q = stablehlo.select %less, %b, %d : tensor<i1>, tensor<i32>
        stablehlo.return %p, %q : tensor<f32>, tensor<i32>
      }) : (tensor<30xf32>, tensor<30xi32>, tensor<80x1xi32>, tensor<80xf32>, tensor<80xi32>) -> (tensor<30xf32>, tensor<30xi32>)
      return %r#0, %r#1 : tensor<30xf32>, tensor<30xi32>
    })";
  compare(pair, {random_tensor(DType::f32, {30}, 1), random_tensor(DType::i32, {30}, 2),
                 random_indices(DType::i32, {80, 1}, 0, 30, 3), random_tensor(DType::f32, {80}, 4),
                 random_tensor(DType::i32, {80}, 5)});
  const char* twice = R"(
    func.func public @main(%x: tensor<30xf32>, %i: tensor<80x1xi32>, %u: tensor<80xf32>) -> (tensor<30xf32>, tensor<30xf32>) {
      %v = stablehlo.negate %u : tensor<80xf32>
      %r:2 = "stablehlo.scatter"(%x, %x, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
        %p = stablehlo.add %a, %c : tensor<f32>
        %q = stablehlo.maximum %b, %d : tensor<f32>
        stablehlo.return %p, %q : tensor<f32>, tensor<f32>
      }) : (tensor<30xf32>, tensor<30xf32>, tensor<80x1xi32>, tensor<80xf32>, tensor<80xf32>) -> (tensor<30xf32>, tensor<30xf32>)
      return %r#0, %r#1 : tensor<30xf32>, tensor<30xf32>
    })";
  compare(twice, {random_tensor(DType::f32, {30}, 1), random_indices(DType::i32, {80, 1}, 0, 30, 3),
                  random_tensor(DType::f32, {80}, 4)});
  const char* own = R"(
    func.func public @main(%x: tensor<40x8xf32>, %i: tensor<40x1xi32>) -> tensor<40x8xf32> {
      %n = stablehlo.reverse %x, dims = [0] : tensor<40x8xf32>
      %r = "stablehlo.scatter"(%x, %i, %n) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) : (tensor<40x8xf32>, tensor<40x1xi32>, tensor<40x8xf32>) -> tensor<40x8xf32>
      %s = "stablehlo.scatter"(%r, %i, %r) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>): stablehlo.return %b : tensor<f32>
      }) : (tensor<40x8xf32>, tensor<40x1xi32>, tensor<40x8xf32>) -> tensor<40x8xf32>
      return %s : tensor<40x8xf32>
    })";
  compare(own,
          {random_tensor(DType::f32, {40, 8}, 1), random_indices(DType::i32, {40, 1}, 0, 40, 2)});
  const char* shift = R"(
    func.func public @main(%x: tensor<50x3xf32>) -> tensor<50x3xf32> {
      %c = stablehlo.constant dense<1> : tensor<i32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %s = stablehlo.slice %x [0:49, 0:3] : (tensor<50x3xf32>) -> tensor<49x3xf32>
      %t = stablehlo.negate %s : tensor<49x3xf32>
      %r = stablehlo.dynamic_update_slice %x, %t, %c, %z : (tensor<50x3xf32>, tensor<49x3xf32>, tensor<i32>, tensor<i32>) -> tensor<50x3xf32>
      return %r : tensor<50x3xf32>
    })";
  compare(shift, {random_tensor(DType::f32, {50, 3}, 1)});
}

// Positions whose index is an iota: one element of every row, as gradients of take_along_axis have.
TEST(Scatter, RowNumbersAreIndices) {
  const char* text = R"(
    func.func public @main(%x: tensor<6000x11xf32>, %j: tensor<6000x1xi32>, %u: tensor<6000xf32>) -> tensor<6000x11xf32> {
      %n = stablehlo.iota dim = 0 : tensor<6000x1xi32>
      %zero = stablehlo.constant dense<0> : tensor<6000x1xi32>
      %rows = stablehlo.constant dense<6000> : tensor<6000x1xi32>
      %negative = stablehlo.compare LT, %n, %zero : (tensor<6000x1xi32>, tensor<6000x1xi32>) -> tensor<6000x1xi1>
      %wrapped = stablehlo.add %n, %rows : tensor<6000x1xi32>
      %row = stablehlo.select %negative, %wrapped, %n : tensor<6000x1xi1>, tensor<6000x1xi32>
      %i = stablehlo.concatenate %row, %j, dim = 1 : (tensor<6000x1xi32>, tensor<6000x1xi32>) -> tensor<6000x2xi32>
      %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) : (tensor<6000x11xf32>, tensor<6000x2xi32>, tensor<6000xf32>) -> tensor<6000x11xf32>
      return %r : tensor<6000x11xf32>
    })";
  compare(text,
          {random_tensor(DType::f32, {6000, 11}, 1),
           random_indices(DType::i32, {6000, 1}, -1, 12, 2), random_tensor(DType::f32, {6000}, 3)});
  std::unique_ptr<Module> module = read_program(text);
  ASSERT_TRUE(normalize(*module).ok());
  auto graph = build_kernels(*module, *module->entry(), cpu_target(1));
  ASSERT_TRUE(graph.ok());
  ASSERT_EQ(graph->kernels.size(), 1u) << to_string(*graph);
  const auto* scatter = graph->kernels[0].get<ScatterKernel>();
  ASSERT_TRUE(scatter);
  EXPECT_EQ(scatter->dims[0], ScatterKernel::Dim::parallel);
}

}  // namespace
}  // namespace ullage
