// Kernels that are part of the binary: used for arrays of any shape, with the bits of those
// compiled on the spot.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "codegen/cpu/kernel_testing.h"
#include "codegen/cpu/read_program.h"
#include "kernels/build.h"
#include "normalize/normalize.h"

namespace ullage::testing_cpu {
namespace {

struct Compiled {
  size_t functions = 0, precompiled = 0;
  Bytes result;
};

// Runs a program of one kernel on its arguments.
Compiled run(const KernelGraph& graph, std::vector<Bytes> arguments, bool precompiled) {
  CompileOptions options;
  options.precompiled = precompiled;
  CpuCompiler compiler(options);
  EXPECT_TRUE(compiler.add(graph).ok());
  EXPECT_TRUE(compiler.compile().ok());
  Compiled out{compiler.distinct(), compiler.precompiled(), {}};
  out.result.resize(static_cast<size_t>(graph.values[static_cast<size_t>(graph.outputs[0])].bytes));
  Bytes scratch(1 << 16);
  std::vector<std::byte*> buffers;
  for (ValueId input : graph.kernels[0].inputs)
    for (size_t a = 0; a < graph.arguments.size(); ++a)
      if (graph.arguments[a] == input) buffers.push_back(arguments[a].data());
  buffers.push_back(out.result.data());
  KernelCall call;
  call.buffers = buffers.data();
  call.scratch = scratch.data();
  ThreadPool pool(2);
  compiler.kernels(graph)[0]->run(call, pool);
  return out;
}

Bytes floats(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> values(count);
  for (float& v : values) v = normal(random);
  const float special[] = {0.0f,      -0.0f, INFINITY,
                           -INFINITY, NAN,   std::numeric_limits<float>::denorm_min()};
  for (size_t i = 0; i < std::size(special) && i < count; ++i) values[i] = special[i];
  return bytes_of(values);
}

void expect_same(const std::string& text, std::vector<Bytes> arguments) {
  auto module = read_program(text);
  ASSERT_TRUE(module);
  ASSERT_TRUE(normalize(*module).ok());
  auto graph = build_kernels(*module, *module->entry(), cpu_target(2));
  ASSERT_TRUE(graph.ok());
  ASSERT_EQ(graph->kernels.size(), 1u) << text;
  Compiled fresh = run(*graph, arguments, false), ready = run(*graph, arguments, true);
  EXPECT_EQ(fresh.precompiled, 0u);
  if (host().level != IsaLevel::baseline) {
    EXPECT_EQ(ready.precompiled, ready.functions) << text;
  }
  EXPECT_EQ(ready.result, fresh.result) << text;
}

TEST(Precompiled, UnaryOperationsOfAnyShape) {
  for (const char* op : {"negate", "exponential", "tanh", "log", "rsqrt", "sine", "floor"})
    for (auto [shape, count] : {std::pair{"1000x", 1000u}, {"7x3x11x", 231u}, {"", 1u}}) {
      std::string type = fmt::format("tensor<{}f32>", shape);
      expect_same(fmt::format("func.func public @main(%a: {0}) -> {0} {{\n  %r = stablehlo.{1} %a "
                              ": {0}\n  return %r : {0}\n}}",
                              type, op),
                  {floats(count, 1)});
    }
}

TEST(Precompiled, ArraysAndScalars) {
  for (const char* op : {"add", "divide", "maximum", "power"})
    for (bool scalar : {false, true}) {
      std::string spread =
          scalar ? "  %c = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> "
                   "tensor<50x9xf32>\n"
                 : "";
      expect_same(fmt::format("func.func public @main(%a: tensor<50x9xf32>, %b: {}) -> "
                              "tensor<50x9xf32> {{\n{}  %r = stablehlo.{} %a, {} : "
                              "tensor<50x9xf32>\n  return %r : tensor<50x9xf32>\n}}",
                              scalar ? "tensor<f32>" : "tensor<50x9xf32>", spread, op,
                              scalar ? "%c" : "%b"),
                  {floats(450, 1), floats(scalar ? 1 : 450, 2)});
    }
}

// A program of one argument; the last line of the body makes %r.
void expect_same(const std::string& argument, const std::string& result, const std::string& body,
                 size_t count) {
  expect_same(fmt::format("func.func public @main(%a: tensor<{}>) -> tensor<{}> {{\n{}\n  return "
                          "%r : tensor<{}>\n}}",
                          argument, result, body, result),
              {floats(count, 1)});
}

TEST(Precompiled, MovesOfOtherSizes) {
  for (const char* shape : {"70x130", "4x7", "19x3", "2x300"}) {
    int rows = 0, columns = 0;
    ASSERT_EQ(std::sscanf(shape, "%dx%d", &rows, &columns), 2);
    size_t count = static_cast<size_t>(rows) * static_cast<size_t>(columns);
    auto one = [&](const std::string& op, int r, int c, const std::string& form) {
      std::string from = fmt::format("{}xf32", shape), to = fmt::format("{}x{}xf32", r, c);
      expect_same(
          from, to,
          fmt::format("  %r = stablehlo.{} %a{} : (tensor<{}>) -> tensor<{}>", op, form, from, to),
          count);
    };
    one("transpose", columns, rows, ", dims = [1, 0]");
    one("reverse", rows, columns, ", dims = [0]");
    if (rows > 4) {
      one("slice", rows - 2, columns - 1, fmt::format(" [1:{}, 0:{}]", rows - 1, columns - 1));
    }
  }
  for (int edge : {1, 40})
    expect_same("70x130xf32", fmt::format("{}x{}xf32", 70 + 2 * edge, 130 + 2 * edge),
                fmt::format("  %z = stablehlo.constant dense<7.5> : tensor<f32>\n"
                            "  %r = stablehlo.pad %a, %z, low = [{0}, {0}], high = [{0}, {0}], "
                            "interior = [0, 0] : (tensor<70x130xf32>, tensor<f32>) -> "
                            "tensor<{1}x{2}xf32>",
                            edge, 70 + 2 * edge, 130 + 2 * edge),
                9100);
}

TEST(Precompiled, ReductionsOfOtherSizes) {
  for (const char* op : {"add", "maximum"})
    for (auto [rows, columns] : {std::pair{70, 130}, {40, 2}, {1000, 33}, {3, 5000}})
      for (int dim : {0, 1}) {
        std::string from = fmt::format("{}x{}xf32", rows, columns);
        std::string to = fmt::format("{}xf32", dim == 0 ? columns : rows);
        expect_same(from, to,
                    fmt::format("  %z = stablehlo.constant dense<-2.5> : tensor<f32>\n"
                                "  %r = stablehlo.reduce(%a init: %z) applies stablehlo.{} across "
                                "dimensions = [{}] : (tensor<{}>, tensor<f32>) -> tensor<{}>",
                                op, dim, from, to),
                    static_cast<size_t>(rows) * static_cast<size_t>(columns));
      }
}

TEST(Precompiled, RowsSpreadOverAMatrixAndConstants) {
  expect_same(
      R"(func.func public @main(%a: tensor<33x70xf32>, %b: tensor<70xf32>) -> tensor<33x70xf32> {
  %s = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<70xf32>) -> tensor<33x70xf32>
  %r = stablehlo.multiply %a, %s : tensor<33x70xf32>
  return %r : tensor<33x70xf32>
})",
      {floats(2310, 1), floats(70, 2)});
  for (const char* value : {"3.25", "0.0", "-1.0", "0x7FC00000"})
    for (const char* op : {"add", "multiply", "divide", "maximum"})
      expect_same("33x70xf32", "33x70xf32",
                  fmt::format("  %c = stablehlo.constant dense<{}> : tensor<33x70xf32>\n"
                              "  %r = stablehlo.{} %a, %c : tensor<33x70xf32>",
                              value, op),
                  2310);
}

TEST(Precompiled, ProductsOfAMatrixAndAVector) {
  for (auto [rows, columns] : {std::pair{37, 300}, {300, 37}}) {
    std::string text = fmt::format(
        "func.func public @main(%a: tensor<{0}x{1}xf32>, %b: tensor<{1}xf32>) -> tensor<{0}xf32> "
        "{{\n  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
        "(tensor<{0}x{1}xf32>, tensor<{1}xf32>) -> tensor<{0}xf32>\n  return %r : "
        "tensor<{0}xf32>\n}}",
        rows, columns);
    expect_same(text, {floats(static_cast<size_t>(rows * columns), 1),
                       floats(static_cast<size_t>(columns), 2)});
  }
}

TEST(Precompiled, SumsOfEverything) {
  expect_same(R"(func.func public @main(%a: tensor<3000xf32>, %z: tensor<f32>) -> tensor<f32> {
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3000xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
})",
              {bytes_of(std::vector<float>(3000, 0.1f)), bytes_of(std::vector<float>{0.5f})});
}

}  // namespace
}  // namespace ullage::testing_cpu
