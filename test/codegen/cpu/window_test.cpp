// Windowed reductions, scans, selection in windows, and padding of every kind.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "program_testing.h"

namespace ullage {
namespace {

using namespace testing_cpu;

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out;
  for (int64_t extent : shape) out += std::to_string(extent) + "x";
  return out;
}

struct WindowCase {
  std::vector<int64_t> shape, window, strides, base, dilation;
  std::vector<std::pair<int64_t, int64_t>> padding;

  std::vector<int64_t> result() const {
    std::vector<int64_t> out;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t whole = shape[d] == 0 ? 0 : (shape[d] - 1) * base[d] + 1;
      whole += padding[d].first + padding[d].second;
      int64_t reach = (window[d] - 1) * dilation[d] + 1;
      out.push_back(whole < reach ? 0 : (whole - reach) / strides[d] + 1);
    }
    return out;
  }
  std::string attributes() const {
    std::string pads;
    for (auto [low, high] : padding)
      pads += fmt::format("{}[{}, {}]", pads.empty() ? "" : ", ", low, high);
    return fmt::format(
        "window_dimensions = array<i64: {}>, window_strides = array<i64: {}>, "
        "base_dilations = array<i64: {}>, window_dilations = array<i64: {}>, "
        "padding = dense<[{}]> : tensor<{}x2xi64>",
        fmt::join(window, ", "), fmt::join(strides, ", "), fmt::join(base, ", "),
        fmt::join(dilation, ", "), pads, shape.size());
  }
};

std::string window_program(const WindowCase& c, const std::string& op, const std::string& type,
                           const std::string& initial) {
  return fmt::format(R"(
    func.func public @main(%x: tensor<{0}{2}>) -> tensor<{1}{2}> {{
      %i = stablehlo.constant dense<{3}> : tensor<{2}>
      %r = "stablehlo.reduce_window"(%x, %i) <{{{4}}}> ({{
        ^bb0(%a: tensor<{2}>, %b: tensor<{2}>): %c = stablehlo.{5} %a, %b : tensor<{2}>
        stablehlo.return %c : tensor<{2}>
      }}) : (tensor<{0}{2}>, tensor<{2}>) -> tensor<{1}{2}>
      return %r : tensor<{1}{2}>
    }})",
                     shape_text(c.shape), shape_text(c.result()), type, initial, c.attributes(),
                     op);
}

const WindowCase kWindows[] = {
    {{2, 9, 11, 20},
     {1, 3, 3, 1},
     {1, 2, 2, 1},
     {1, 1, 1, 1},
     {1, 1, 1, 1},
     {{0, 0}, {1, 1}, {0, 1}, {0, 0}}},
    {{2, 3, 12, 14},
     {1, 1, 2, 2},
     {1, 1, 2, 2},
     {1, 1, 1, 1},
     {1, 1, 1, 1},
     {{0, 0}, {0, 0}, {0, 0}, {0, 0}}},
    {{7, 9}, {3, 2}, {1, 2}, {2, 3}, {2, 1}, {{2, -1}, {-2, 3}}},
    {{40}, {5}, {1}, {1}, {3}, {{4, 4}}},
    {{40}, {40}, {1}, {1}, {1}, {{20, 20}}},
    {{3, 0}, {1, 2}, {1, 1}, {1, 1}, {1, 1}, {{0, 0}, {2, 2}}},
    {{4, 4}, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {{0, 0}, {0, 0}}},
};

TEST(Windows, Reductions) {
  for (const WindowCase& c : kWindows) {
    compare(window_program(c, "maximum", "f32", "0xFF800000"),
            {random_tensor(DType::f32, c.shape, 1, true)});
    compare(window_program(c, "minimum", "i16", "-7"), {random_tensor(DType::i16, c.shape, 2)});
    compare(window_program(c, "add", "i32", "3"), {random_tensor(DType::i32, c.shape, 3)});
    compare(window_program(c, "add", "f32", "1.5"), {random_tensor(DType::f32, c.shape, 4)}, 1e-6);
    compare(window_program(c, "or", "i1", "false"), {random_tensor(DType::i1, c.shape, 5)});
  }
}

WindowCase cumulative_case(std::vector<int64_t> shape, size_t dim, bool reverse) {
  WindowCase c;
  c.shape = shape;
  c.window = c.strides = c.base = c.dilation = std::vector<int64_t>(shape.size(), 1);
  c.padding.assign(shape.size(), {0, 0});
  c.window[dim] = shape[dim];
  (reverse ? c.padding[dim].second : c.padding[dim].first) = shape[dim] - 1;
  return c;
}

TEST(Windows, Scans) {
  for (auto [shape, dim] : {std::pair<std::vector<int64_t>, size_t>{{1000}, 0},
                            {{17}, 0},
                            {{5, 300}, 1},
                            {{300, 5}, 0},
                            {{300, 40}, 0},
                            {{3, 70, 33}, 1},
                            {{6, 9}, 1},
                            {{9, 2, 64}, 0}})
    for (bool reverse : {false, true}) {
      WindowCase c = cumulative_case(shape, dim, reverse);
      compare(window_program(c, "add", "i32", "0"), {random_tensor(DType::i32, shape, 1)});
      compare(window_program(c, "add", "f32", "0.0"), {random_tensor(DType::f32, shape, 1)}, 2e-5);
      compare(window_program(c, "maximum", "f32", "0xFF800000"),
              {random_tensor(DType::f32, shape, 2, true)});
      compare(window_program(c, "minimum", "i8", "127"), {random_tensor(DType::i8, shape, 3)});
      compare(window_program(c, "multiply", "ui64", "1"), {random_tensor(DType::ui64, shape, 4)});
      // The initial value counts for every place of the padding: no scan.
      compare(window_program(c, "add", "i32", "5"), {random_tensor(DType::i32, shape, 1)});
    }
}

// More than one block of the scanned dimension, along it and across.
TEST(Windows, LongScans) {
  for (auto [shape, dim] : {std::pair<std::vector<int64_t>, size_t>{{9000}, 0}, {{4100, 9}, 0}}) {
    WindowCase c = cumulative_case(shape, dim, false);
    std::unique_ptr<Module> module = read_program(window_program(c, "add", "i32", "0"));
    ASSERT_TRUE(normalize(*module).ok());
    auto graph = build_kernels(*module, *module->entry(), cpu_target(1));
    ASSERT_TRUE(graph.ok());
    ASSERT_TRUE(graph->kernels[0].get<ScanKernel>());
    Tensor x = random_tensor(DType::i32, shape, 1);
    std::vector<int32_t> want = x.to_vector<int32_t>();
    size_t step = want.size() / static_cast<size_t>(shape[0]);
    for (size_t i = step; i < want.size(); ++i)
      want[i] = static_cast<int32_t>(static_cast<uint32_t>(want[i]) +
                                     static_cast<uint32_t>(want[i - step]));
    EXPECT_EQ(run_graph(*graph, {x}, 2)[0].to_vector<int32_t>(), want);
  }
}

// The running maximum and where it is; a body that is not one operation.
TEST(Windows, GeneralBodies) {
  for (int64_t n : {13, 90}) {
    std::string text = fmt::format(R"(
      func.func public @main(%x: tensor<4x{0}xf32>, %n: tensor<4x{0}xi32>) -> (tensor<4x{0}xf32>, tensor<4x{0}xi32>) {{
        %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %j = stablehlo.constant dense<0> : tensor<i32>
        %r:2 = "stablehlo.reduce_window"(%x, %n, %i, %j) <{{window_dimensions = array<i64: 1, {0}>, padding = dense<[[0, 0], [{1}, 0]]> : tensor<2x2xi64>}}> ({{
          ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
          %more = stablehlo.compare GE, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %p = stablehlo.select %more, %a, %c : tensor<i1>, tensor<f32>
          %q = stablehlo.select %more, %b, %d : tensor<i1>, tensor<i32>
          stablehlo.return %p, %q : tensor<f32>, tensor<i32>
        }}) : (tensor<4x{0}xf32>, tensor<4x{0}xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x{0}xf32>, tensor<4x{0}xi32>)
        return %r#0, %r#1 : tensor<4x{0}xf32>, tensor<4x{0}xi32>
      }})",
                                   n, n - 1);
    compare(text,
            {random_tensor(DType::f32, {4, n}, 1), random_indices(DType::i32, {4, n}, 0, 999, 2)});
  }
}

// Composition of affine maps, which does not commute, from either end.
TEST(Windows, OrderOfCumulativeBodies) {
  for (const char* padding : {"[[0, 0], [12, 0]]", "[[0, 0], [0, 12]]"}) {
    std::string text = fmt::format(R"(
      func.func public @main(%x: tensor<4x13xi32>, %n: tensor<4x13xi32>) -> (tensor<4x13xi32>, tensor<4x13xi32>) {{
        %i = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.constant dense<0> : tensor<i32>
        %r:2 = "stablehlo.reduce_window"(%x, %n, %i, %j) <{{window_dimensions = array<i64: 1, 13>, padding = dense<{0}> : tensor<2x2xi64>}}> ({{
          ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
          %p = stablehlo.multiply %a, %c : tensor<i32>
          %s = stablehlo.multiply %c, %b : tensor<i32>
          %q = stablehlo.add %s, %d : tensor<i32>
          stablehlo.return %p, %q : tensor<i32>, tensor<i32>
        }}) : (tensor<4x13xi32>, tensor<4x13xi32>, tensor<i32>, tensor<i32>) -> (tensor<4x13xi32>, tensor<4x13xi32>)
        return %r#0, %r#1 : tensor<4x13xi32>, tensor<4x13xi32>
      }})",
                                   padding);
    compare(text, {random_indices(DType::i32, {4, 13}, -5, 9, 1),
                   random_indices(DType::i32, {4, 13}, -9, 9, 2)});
  }
}

TEST(Windows, SelectAndScatter) {
  auto text = [](const WindowCase& c, const std::string& select, const std::string& type,
                 const std::string& initial) {
    return fmt::format(R"(
      func.func public @main(%x: tensor<{0}{2}>, %s: tensor<{1}{2}>) -> tensor<{0}{2}> {{
        %i = stablehlo.constant dense<{3}> : tensor<{2}>
        %r = "stablehlo.select_and_scatter"(%x, %s, %i) <{{{4}}}> ({{
          ^bb0(%a: tensor<{2}>, %b: tensor<{2}>): %c = stablehlo.compare {5}, %a, %b : (tensor<{2}>, tensor<{2}>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        }}, {{
          ^bb0(%a: tensor<{2}>, %b: tensor<{2}>): %c = stablehlo.add %a, %b : tensor<{2}>
          stablehlo.return %c : tensor<{2}>
        }}) : (tensor<{0}{2}>, tensor<{1}{2}>, tensor<{2}>) -> tensor<{0}{2}>
        return %r : tensor<{0}{2}>
      }})",
                       shape_text(c.shape), shape_text(c.result()), type, initial,
                       c.attributes().substr(0, c.attributes().find(", base")) + ", " +
                           c.attributes().substr(c.attributes().find("padding")),
                       select);
  };
  for (const WindowCase& c : {kWindows[0], kWindows[1]}) {
    compare(text(c, "GE", "f32", "0.0"),
            {random_tensor(DType::f32, c.shape, 1), random_tensor(DType::f32, c.result(), 2)});
    compare(text(c, "LT", "f32", "1.0"), {random_tensor(DType::f32, c.shape, 3, true),
                                          random_tensor(DType::f32, c.result(), 4)});
    compare(text(c, "GE", "i8", "1"),
            {random_tensor(DType::i8, c.shape, 5), random_tensor(DType::i8, c.result(), 6)});
  }
}

TEST(Pad, InteriorAndNegative) {
  for (auto [low, high, interior] : {std::tuple<int64_t, int64_t, int64_t>{0, 0, 1},
                                     {2, 3, 2},
                                     {-1, -2, 1},
                                     {-4, 5, 3},
                                     {3, -3, 0},
                                     {-3, -3, 0}}) {
    int64_t rows = 5 + low + high + 4 * interior, columns = 37 + low + high + 36 * interior;
    if (rows < 0) continue;
    std::string text = fmt::format(R"(
      func.func public @main(%x: tensor<5x37xf32>, %v: tensor<f32>) -> tensor<{3}x{4}xf32> {{
        %y = stablehlo.negate %x : tensor<5x37xf32>
        %r = stablehlo.pad %y, %v, low = [{0}, {0}], high = [{1}, {1}], interior = [{2}, {2}] : (tensor<5x37xf32>, tensor<f32>) -> tensor<{3}x{4}xf32>
        return %r : tensor<{3}x{4}xf32>
      }})",
                                   low, high, interior, rows, columns);
    compare(text, {random_tensor(DType::f32, {5, 37}, 1), random_tensor(DType::f32, {}, 2)});
  }
}

}  // namespace
}  // namespace ullage
