// Operations that the passes before planning put others in place of, and floats below 16 bits:
// compiled against interpreted.
#include "program_testing.h"

namespace ullage {
namespace {

using namespace testing_cpu;

constexpr DType kSmallFloats[] = {DType::f4E2M1FN,   DType::f6E2M3FN,      DType::f6E3M2FN,
                                  DType::f8E3M4,     DType::f8E4M3,        DType::f8E4M3FN,
                                  DType::f8E4M3FNUZ, DType::f8E4M3B11FNUZ, DType::f8E5M2,
                                  DType::f8E5M2FNUZ, DType::f8E8M0FNU};

Tensor floats(const std::vector<float>& values) {
  Tensor out(Type::tensor(DType::f32, {static_cast<int64_t>(values.size())}));
  std::memcpy(out.mutable_data(), values.data(), 4 * values.size());
  return out;
}

std::string with_type(std::string text, DType dtype) {
  for (size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, name(dtype));
  return text;
}

TEST(SmallFloats, ConversionsAndArithmetic) {
  const std::string program = R"(
func.func @main(%x: tensor<2048xf32>, %y: tensor<2048xf32>) -> (tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<2048xi1>) {
  %a = stablehlo.convert %x : (tensor<2048xf32>) -> tensor<2048xTYPE>
  %b = stablehlo.convert %y : (tensor<2048xf32>) -> tensor<2048xTYPE>
  %back = stablehlo.convert %a : (tensor<2048xTYPE>) -> tensor<2048xf32>
  %s = stablehlo.add %a, %b : tensor<2048xTYPE>
  %sum = stablehlo.convert %s : (tensor<2048xTYPE>) -> tensor<2048xf32>
  %p = stablehlo.multiply %a, %b : tensor<2048xTYPE>
  %product = stablehlo.convert %p : (tensor<2048xTYPE>) -> tensor<2048xf32>
  %n = stablehlo.negate %a : tensor<2048xTYPE>
  %negative = stablehlo.convert %n : (tensor<2048xTYPE>) -> tensor<2048xf32>
  %less = stablehlo.compare LT, %a, %b : (tensor<2048xTYPE>, tensor<2048xTYPE>) -> tensor<2048xi1>
  return %back, %sum, %product, %negative, %less : tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<2048xi1>
})";
  std::vector<float> x, y;
  std::mt19937 random(1);
  for (int i = 0; i < 2048; ++i) {
    float sign = i % 3 == 0 ? -1.0f : 1.0f;
    // Every step of the coarse grids, halfway between steps included, and the whole range of sizes.
    x.push_back(i < 1024 ? sign * static_cast<float>(i) / 64
                         : sign * std::ldexp(static_cast<float>(random() % 4096 + 1),
                                             static_cast<int>(random() % 60) - 40));
    y.push_back(
        std::ldexp(static_cast<float>(random() % 256), static_cast<int>(random() % 12) - 8));
  }
  const float specials[] = {NAN, INFINITY, -INFINITY, -0.0f,     448,         464,
                            465, 57344,    61440,     0x1p-127f, 0x1.8p-127f, 0x1.8p127f};
  std::copy(std::begin(specials), std::end(specials), x.begin() + 1500);
  for (DType dtype : kSmallFloats) compare(with_type(program, dtype), {floats(x), floats(y)});
}

TEST(SmallFloats, EveryCodeConverts) {
  const std::string program = R"(
func.func @main(%x: tensor<256xui8>) -> tensor<256xf32> {
  %a = stablehlo.bitcast_convert %x : (tensor<256xui8>) -> tensor<256xTYPE>
  %b = stablehlo.convert %a : (tensor<256xTYPE>) -> tensor<256xf32>
  return %b : tensor<256xf32>
})";
  Tensor codes(Type::tensor(DType::ui8, {256}));
  for (int i = 0; i < 256; ++i) codes.mutable_data()[i] = static_cast<std::byte>(i);
  for (DType dtype : kSmallFloats)
    if (bit_width(dtype) == 8) compare(with_type(program, dtype), {codes});
}

TEST(SmallFloats, ConstantsProductsAndSums) {
  const std::string program = R"(
func.func @main(%x: tensor<24x40xf32>, %y: tensor<40x8xf32>) -> (tensor<24x8xf32>, tensor<24xf32>, tensor<24x40xf32>) {
  %a = stablehlo.convert %x : (tensor<24x40xf32>) -> tensor<24x40xTYPE>
  %b = stablehlo.convert %y : (tensor<40x8xf32>) -> tensor<40x8xTYPE>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<24x40xTYPE>, tensor<40x8xTYPE>) -> tensor<24x8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %wide = stablehlo.convert %a : (tensor<24x40xTYPE>) -> tensor<24x40xf32>
  %sum = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<24x40xf32>, tensor<f32>) -> tensor<24xf32>
  %half = stablehlo.constant dense<0.5> : tensor<24x40xTYPE>
  %c = stablehlo.multiply %a, %half : tensor<24x40xTYPE>
  %halves = stablehlo.convert %c : (tensor<24x40xTYPE>) -> tensor<24x40xf32>
  return %p, %sum, %halves : tensor<24x8xf32>, tensor<24xf32>, tensor<24x40xf32>
})";
  for (DType dtype : {DType::f8E4M3FN, DType::f8E5M2, DType::f8E4M3FNUZ, DType::f4E2M1FN})
    compare(with_type(program, dtype),
            {random_tensor(DType::f32, {24, 40}, 3), random_tensor(DType::f32, {40, 8}, 4)}, 1e-4);
}

TEST(Quantized, ArithmeticPerTensorAndPerAxis) {
  compare(R"(
func.func @main(%x: tensor<16x5xf32>, %y: tensor<16x5xf32>) -> (tensor<16x5xf32>, tensor<16x5xi8>) {
  %a = stablehlo.uniform_quantize %x : (tensor<16x5xf32>) -> tensor<16x5x!quant.uniform<i8:f32, 0.031:-7>>
  %b = stablehlo.uniform_quantize %y : (tensor<16x5xf32>) -> tensor<16x5x!quant.uniform<i8:f32, 0.05:3>>
  %s = stablehlo.add %a, %b : (tensor<16x5x!quant.uniform<i8:f32, 0.031:-7>>, tensor<16x5x!quant.uniform<i8:f32, 0.05:3>>) -> tensor<16x5x!quant.uniform<i8:f32, 0.06:0>>
  %r = stablehlo.uniform_dequantize %s : (tensor<16x5x!quant.uniform<i8:f32, 0.06:0>>) -> tensor<16x5xf32>
  %bits = stablehlo.bitcast_convert %a : (tensor<16x5x!quant.uniform<i8:f32, 0.031:-7>>) -> tensor<16x5xi8>
  return %r, %bits : tensor<16x5xf32>, tensor<16x5xi8>
})",
          {random_tensor(DType::f32, {16, 5}, 5, true), random_tensor(DType::f32, {16, 5}, 6)});
  compare(R"(
func.func @main(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %a = stablehlo.uniform_quantize %x : (tensor<4x3xf32>) -> tensor<4x3x!quant.uniform<i8:f32:1, {0.03:1, 0.01:-128, 0.5:20}>>
  %n = stablehlo.negate %a : tensor<4x3x!quant.uniform<i8:f32:1, {0.03:1, 0.01:-128, 0.5:20}>>
  %r = stablehlo.uniform_dequantize %n : (tensor<4x3x!quant.uniform<i8:f32:1, {0.03:1, 0.01:-128, 0.5:20}>>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
})",
          {random_tensor(DType::f32, {4, 3}, 7)});
}

TEST(Expanded, Map) {
  compare(R"(
func.func private @twice(%x: tensor<f32>) -> tensor<f32> {
  %y = stablehlo.add %x, %x : tensor<f32>
  return %y : tensor<f32>
}
func.func @main(%x: tensor<7x9xf32>, %y: tensor<7x9xf32>) -> tensor<7x9xi1> {
  %r = "stablehlo.map"(%x, %y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %one = stablehlo.constant dense<1.5> : tensor<f32>
    %c = stablehlo.multiply %a, %one : tensor<f32>
    %d = func.call @twice(%c) : (tensor<f32>) -> tensor<f32>
    %e = stablehlo.compare LT, %d, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %e : tensor<i1>
  }) {dimensions = array<i64: 0, 1>} : (tensor<7x9xf32>, tensor<7x9xf32>) -> tensor<7x9xi1>
  return %r : tensor<7x9xi1>
})",
          {random_tensor(DType::f32, {7, 9}, 8, true), random_tensor(DType::f32, {7, 9}, 9)});
}

TEST(Expanded, ProductsByOlderNames) {
  compare(R"(
func.func @main(%x: tensor<5x6xf32>, %y: tensor<6x7xf32>, %v: tensor<6xf32>) -> (tensor<5x7xf32>, tensor<f32>) {
  %p = stablehlo.dot %x, %y : (tensor<5x6xf32>, tensor<6x7xf32>) -> tensor<5x7xf32>
  %q = stablehlo.dot %v, %v : (tensor<6xf32>, tensor<6xf32>) -> tensor<f32>
  return %p, %q : tensor<5x7xf32>, tensor<f32>
})",
          {random_tensor(DType::f32, {5, 6}, 1), random_tensor(DType::f32, {6, 7}, 2),
           random_tensor(DType::f32, {6}, 3)},
          1e-4);
  compare(R"(
func.func @main(%x: tensor<5x6x3xf32>, %y: tensor<6x7x5x2xf32>) -> (tensor<7x5x3xf32>, tensor<3x5xf32>) {
  %p = "stablehlo.einsum"(%x, %y) {einsum_config = "abc,bdae->dac"} : (tensor<5x6x3xf32>, tensor<6x7x5x2xf32>) -> tensor<7x5x3xf32>
  %q = "stablehlo.unary_einsum"(%x) {einsum_config = "abc->ca"} : (tensor<5x6x3xf32>) -> tensor<3x5xf32>
  return %p, %q : tensor<7x5x3xf32>, tensor<3x5xf32>
})",
          {random_tensor(DType::f32, {5, 6, 3}, 1), random_tensor(DType::f32, {6, 7, 5, 2}, 2)},
          1e-4);
}

// A call that does nothing with a value keeps it from being dropped.
TEST(Expanded, SinksAreFed) {
  const char* text = R"(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = stablehlo.multiply %x, %x : tensor<4xf32>
  stablehlo.custom_call @dce_sink(%y) {has_side_effect = true} : (tensor<4xf32>) -> ()
  %z = stablehlo.add %x, %x : tensor<4xf32>
  return %z : tensor<4xf32>
})";
  compare(text, {random_tensor(DType::f32, {4}, 1)});
  std::unique_ptr<Module> module = read_program(text);
  ASSERT_TRUE(module && normalize(*module).ok());
  auto graph = build_kernels(*module, *module->entry(), cpu_target(1));
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->kernels.size(), 3u);
}

TEST(Expanded, EinsumsWithRepeatedLetters) {
  compare(R"(
func.func @main(%x: tensor<5x6x5xf32>, %y: tensor<3x6x3x3xf32>, %e: tensor<0x0xf32>) -> (tensor<f32>, tensor<6x5xf32>, tensor<5x6x5x6xf32>, tensor<3x5xf32>, tensor<0xf32>) {
  %a = "stablehlo.unary_einsum"(%x) {einsum_config = "iji->"} : (tensor<5x6x5xf32>) -> tensor<f32>
  %b = "stablehlo.unary_einsum"(%x) {einsum_config = "iji->ji"} : (tensor<5x6x5xf32>) -> tensor<6x5xf32>
  %c = "stablehlo.unary_einsum"(%x) {einsum_config = "aba->abab"} : (tensor<5x6x5xf32>) -> tensor<5x6x5x6xf32>
  %d = "stablehlo.einsum"(%x, %y) {einsum_config = "aba,cbcc->ca"} : (tensor<5x6x5xf32>, tensor<3x6x3x3xf32>) -> tensor<3x5xf32>
  %f = "stablehlo.unary_einsum"(%e) {einsum_config = "ii->i"} : (tensor<0x0xf32>) -> tensor<0xf32>
  %g = stablehlo.add %f, %f : tensor<0xf32>
  return %a, %b, %c, %d, %g : tensor<f32>, tensor<6x5xf32>, tensor<5x6x5x6xf32>, tensor<3x5xf32>, tensor<0xf32>
})",
          {random_tensor(DType::f32, {5, 6, 5}, 1), random_tensor(DType::f32, {3, 6, 3, 3}, 2),
           random_tensor(DType::f32, {0, 0}, 3)},
          1e-4);
}

TEST(Expanded, BatchNorm) {
  const std::vector<Tensor> vectors = {random_tensor(DType::f32, {3}, 1),
                                       random_tensor(DType::f32, {3}, 2)};
  Tensor x = random_tensor(DType::f32, {4, 3, 5}, 3),
         gradient = random_tensor(DType::f32, {4, 3, 5}, 4);
  Tensor variance(Type::tensor(DType::f32, {3}));
  const float spread[] = {0.5f, 2.0f, 1.25f};
  std::memcpy(variance.mutable_data(), spread, sizeof spread);
  compare(R"(
func.func @main(%x: tensor<4x3x5xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>, %variance: tensor<3xf32>, %g: tensor<4x3x5xf32>) -> (tensor<4x3x5xf32>, tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>) {
  %a = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %offset, %variance) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3x5xf32>
  %b:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
  %c:3 = "stablehlo.batch_norm_grad"(%x, %scale, %offset, %variance, %g) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3x5xf32>) -> (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
  return %a, %b#0, %b#1, %b#2, %c#0, %c#1, %c#2 : tensor<4x3x5xf32>, tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>
})",
          {x, vectors[0], vectors[1], variance, gradient}, 1e-4);
}

TEST(Expanded, SpecialFunctions) {
  const std::string program = R"(
func.func @main(%x: tensor<300xTYPE>, %n: tensor<300xTYPE>) -> (tensor<300xTYPE>, tensor<300xTYPE>, tensor<300xTYPE>) {
  %a = chlo.bessel_i1e %x : tensor<300xTYPE> -> tensor<300xTYPE>
  %b = chlo.polygamma %n, %x : tensor<300xTYPE>, tensor<300xTYPE> -> tensor<300xTYPE>
  %c = chlo.zeta %n, %x : tensor<300xTYPE>, tensor<300xTYPE> -> tensor<300xTYPE>
  return %a, %b, %c : tensor<300xTYPE>, tensor<300xTYPE>, tensor<300xTYPE>
})";
  for (DType dtype : {DType::f32, DType::f64}) {
    Tensor x(Type::tensor(dtype, {300})), n = x;
    auto put = [&](Tensor& t, int i, double value) {
      float narrow = static_cast<float>(value);
      if (dtype == DType::f32)
        std::memcpy(t.mutable_data() + 4 * i, &narrow, 4);
      else
        std::memcpy(t.mutable_data() + 8 * i, &value, 8);
    };
    for (int i = 0; i < 300; ++i) {
      put(x, i, 0.13 + i * 0.3);
      put(n, i, 2 + i % 5);
    }
    SCOPED_TRACE(name(dtype));
    compare(with_type(program, dtype), {x, n}, dtype == DType::f32 ? 2e-7 : 1e-14);
  }
}

// Every code of formats that have denormals, NaNs and infinities of their own.
TEST(Expanded, ReducePrecisionOfNarrowFloats) {
  for (auto [format, word, count] : {std::tuple{"f16", "ui16", "65536"},
                                     {"bf16", "ui16", "65536"},
                                     {"f8E5M2", "ui8", "256"},
                                     {"f8E4M3", "ui8", "256"},
                                     {"f8E3M4", "ui8", "256"}})
    for (auto [exponent, mantissa] : {std::pair{"5", "7"}, {"5", "1"}, {"3", "2"}, {"2", "10"}}) {
      std::string text = R"(
func.func @main() -> tensor<COUNTxui16> {
  %codes = stablehlo.iota dim = 0 : tensor<COUNTxWORD>
  %x = stablehlo.bitcast_convert %codes : (tensor<COUNTxWORD>) -> tensor<COUNTxFORMAT>
  %r = stablehlo.reduce_precision %x, format = eEXPONENTmMANTISSA : tensor<COUNTxFORMAT>
  %nan = stablehlo.compare NE, %r, %r : (tensor<COUNTxFORMAT>, tensor<COUNTxFORMAT>) -> tensor<COUNTxi1>
  %bits = stablehlo.bitcast_convert %r : (tensor<COUNTxFORMAT>) -> tensor<COUNTxWORD>
  %zero = stablehlo.constant dense<0> : tensor<COUNTxWORD>
  %numbers = stablehlo.select %nan, %zero, %bits : tensor<COUNTxi1>, tensor<COUNTxWORD>
  %wide = stablehlo.convert %numbers : (tensor<COUNTxWORD>) -> tensor<COUNTxui16>
  return %wide : tensor<COUNTxui16>
})";
      for (auto [name, value] : {std::pair{"COUNT", count},
                                 {"WORD", word},
                                 {"FORMAT", format},
                                 {"EXPONENT", exponent},
                                 {"MANTISSA", mantissa}})
        for (size_t at; (at = text.find(name)) != std::string::npos;)
          text.replace(at, std::strlen(name), value);
      compare(text, {});
    }
}

TEST(Expanded, ZetaFarFromOne) {
  const double cases[][2] = {{2, 1e300},  {1.5, 1e200}, {2, -1000.25}, {3, -1000.25},
                             {2, -64.75}, {4, 1e-70},   {700, 0.5},    {1.001, 3}};
  for (auto [s, q] : cases)
    compare(R"(
func.func @main(%s: tensor<f64>, %q: tensor<f64>) -> tensor<f64> {
  %r = chlo.zeta %s, %q : tensor<f64>, tensor<f64> -> tensor<f64>
  return %r : tensor<f64>
})",
            {Tensor::scalar<double>(DType::f64, s), Tensor::scalar<double>(DType::f64, q)}, 1e-13);
}

// The values that approx_max_k may return for certain are the exact ones.
TEST(Expanded, ApproximateTopKIsExact) {
  std::unique_ptr<Module> module = read_program(R"(
func.func @gt(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %0 : tensor<i1>
}
func.func public @main(%x: tensor<4x64xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<4x64xi32>
  %m = stablehlo.constant dense<-1> : tensor<i32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %low, %m) {called_computations = [@gt], mhlo.backend_config = {aggregate_to_topk = true, reduction_dim = 1 : i64, top_k = 3 : i64}} : (tensor<4x64xf32>, tensor<4x64xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
  return %r#0, %r#1 : tensor<4x3xf32>, tensor<4x3xi32>
})");
  ASSERT_TRUE(module);
  Tensor x = random_tensor(DType::f32, {4, 64}, 11);
  ASSERT_TRUE(normalize(*module).ok());
  auto graph = build_kernels(*module, *module->entry(), cpu_target(1));
  ASSERT_TRUE(graph.ok()) << to_string(graph.diagnostics());
  std::vector<Tensor> found = run_graph(*graph, {x}, 1);
  for (int64_t line = 0; line < 4; ++line) {
    std::vector<double> values;
    for (int64_t i = 0; i < 64; ++i) values.push_back(x.real_at(line * 64 + i));
    std::vector<double> sorted = values;
    std::sort(sorted.rbegin(), sorted.rend());
    for (int64_t k = 0; k < 3; ++k) {
      EXPECT_EQ(found[0].real_at(line * 3 + k), sorted[static_cast<size_t>(k)]);
      EXPECT_EQ(values[static_cast<size_t>(found[1].int_at(line * 3 + k))],
                sorted[static_cast<size_t>(k)]);
    }
  }
}

std::vector<Tensor> run_alone(const std::string& text) {
  std::unique_ptr<Module> module = read_program(text);
  EXPECT_TRUE(normalize(*module).ok());
  auto graph = build_kernels(*module, *module->entry(), cpu_target(1));
  if (!graph.ok()) {
    ADD_FAILURE() << to_string(graph.diagnostics());
    return {};
  }
  return run_graph(*graph, {}, 1);
}

TEST(Expanded, RandomNumbersFollowTheirDistribution) {
  std::vector<Tensor> drawn = run_alone(R"(
func.func @main() -> (tensor<20000xf32>, tensor<20000xf64>, tensor<20000xi32>, tensor<20000xf32>) {
  %a = stablehlo.constant dense<-2.0> : tensor<f32>
  %b = stablehlo.constant dense<3.0> : tensor<f32>
  %c = stablehlo.constant dense<10.0> : tensor<f64>
  %d = stablehlo.constant dense<0.5> : tensor<f64>
  %e = stablehlo.constant dense<-3> : tensor<i32>
  %f = stablehlo.constant dense<4> : tensor<i32>
  %shape = stablehlo.constant dense<20000> : tensor<1xi64>
  %u = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<20000xf32>
  %n = stablehlo.rng %c, %d, %shape, distribution = NORMAL : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<20000xf64>
  %i = stablehlo.rng %e, %f, %shape, distribution = UNIFORM : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<20000xi32>
  %v = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<20000xf32>
  return %u, %n, %i, %v : tensor<20000xf32>, tensor<20000xf64>, tensor<20000xi32>, tensor<20000xf32>
})");
  ASSERT_EQ(drawn.size(), 4u);
  auto mean_and_deviation = [](const Tensor& t) {
    double sum = 0, squares = 0, count = static_cast<double>(t.num_elements());
    for (int64_t i = 0; i < t.num_elements(); ++i) {
      double x = is_int(t.dtype()) ? static_cast<double>(t.int_at(i)) : t.real_at(i);
      sum += x, squares += x * x;
    }
    return std::pair(sum / count, std::sqrt(squares / count - sum / count * (sum / count)));
  };
  auto [mean, deviation] = mean_and_deviation(drawn[0]);
  EXPECT_NEAR(mean, 0.5, 0.05);
  EXPECT_NEAR(deviation, 5 / std::sqrt(12), 0.03);
  std::tie(mean, deviation) = mean_and_deviation(drawn[1]);
  EXPECT_NEAR(mean, 10, 0.02);
  EXPECT_NEAR(deviation, 0.5, 0.01);
  std::tie(mean, deviation) = mean_and_deviation(drawn[2]);
  EXPECT_NEAR(mean, 0, 0.06);
  EXPECT_NEAR(deviation, 2, 0.04);
  for (int64_t i = 0; i < drawn[0].num_elements(); ++i) {
    ASSERT_TRUE(drawn[0].real_at(i) >= -2 && drawn[0].real_at(i) <= 3);
    ASSERT_TRUE(drawn[2].int_at(i) >= -3 && drawn[2].int_at(i) < 4);
  }
  EXPECT_NE(std::memcmp(drawn[0].data(), drawn[3].data(), 80000), 0) << "two draws are the same";
}

TEST(Expanded, OneDeviceTalksToItself) {
  std::vector<Tensor> found = run_alone(R"(
func.func @main() -> (tensor<4xf32>, tensor<4xf32>, tensor<ui32>) {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %a = "stablehlo.all_reduce"(%x) ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  %m = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{replicated}"} : (tensor<4xf32>) -> tensor<4xf32>
  %g = "stablehlo.all_gather"(%m) {all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  %p = "stablehlo.collective_permute"(%g) {source_target_pairs = dense<> : tensor<0x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  %id = stablehlo.partition_id : tensor<ui32>
  return %g, %p, %id : tensor<4xf32>, tensor<4xf32>, tensor<ui32>
})");
  ASSERT_EQ(found.size(), 3u);
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(found[0].real_at(i), static_cast<double>(i + 1));
    EXPECT_EQ(found[1].real_at(i), 0);
  }
  EXPECT_EQ(found[2].int_at(0), 0);
}

// By the real part, then by the imaginary one, with a second operand that comes along.
TEST(Expanded, SortOfComplexNumbers) {
  for (const char* type : {"f32", "f64"}) {
    std::string text = R"(
func.func @main(%x: tensor<5x70xcomplex<TYPE>>, %y: tensor<5x70xi32>) -> (tensor<5x70xcomplex<TYPE>>, tensor<5x70xi32>) {
  %r:2 = "stablehlo.sort"(%x, %y) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<complex<TYPE>>, %b: tensor<complex<TYPE>>, %c: tensor<i32>, %d: tensor<i32>):
    %ar = stablehlo.real %a : (tensor<complex<TYPE>>) -> tensor<TYPE>
    %br = stablehlo.real %b : (tensor<complex<TYPE>>) -> tensor<TYPE>
    %ai = stablehlo.imag %a : (tensor<complex<TYPE>>) -> tensor<TYPE>
    %bi = stablehlo.imag %b : (tensor<complex<TYPE>>) -> tensor<TYPE>
    %ra = stablehlo.floor %ar : tensor<TYPE>
    %rb = stablehlo.floor %br : tensor<TYPE>
    %less = stablehlo.compare LT, %ra, %rb : (tensor<TYPE>, tensor<TYPE>) -> tensor<i1>
    %same = stablehlo.compare EQ, %ra, %rb : (tensor<TYPE>, tensor<TYPE>) -> tensor<i1>
    %then = stablehlo.compare LT, %ai, %bi : (tensor<TYPE>, tensor<TYPE>) -> tensor<i1>
    %both = stablehlo.and %same, %then : tensor<i1>
    %result = stablehlo.or %less, %both : tensor<i1>
    stablehlo.return %result : tensor<i1>
  }) : (tensor<5x70xcomplex<TYPE>>, tensor<5x70xi32>) -> (tensor<5x70xcomplex<TYPE>>, tensor<5x70xi32>)
  return %r#0, %r#1 : tensor<5x70xcomplex<TYPE>>, tensor<5x70xi32>
})";
    for (size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, type);
    DType dtype = std::string_view(type) == "f32" ? DType::c64 : DType::c128;
    compare(text, {random_tensor(dtype, {5, 70}, 1), random_tensor(DType::i32, {5, 70}, 2)});
  }
}

}  // namespace
}  // namespace ullage
