// Kernels that are part of the binary: used for arrays of any shape, with the bits of those
// compiled on the spot.
#include <fmt/format.h>

#include <cmath>
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

TEST(Precompiled, SumsOfEverything) {
  expect_same(R"(func.func public @main(%a: tensor<3000xf32>, %z: tensor<f32>) -> tensor<f32> {
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3000xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
})",
              {bytes_of(std::vector<float>(3000, 0.1f)), bytes_of(std::vector<float>{0.5f})});
}

}  // namespace
}  // namespace ullage::testing_cpu
