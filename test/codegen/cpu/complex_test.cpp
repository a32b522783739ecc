// Complex numbers: elementwise functions, movement, reductions, products, scatter.
#include <fmt/format.h>

#include "program_testing.h"

namespace ullage {
namespace {

using namespace testing_cpu;

struct Precision {
  const char* type;
  const char* real;
  DType dtype;
  double tolerance;
};
const Precision kTypes[] = {{"complex<f32>", "f32", DType::c64, 2e-6},
                            {"complex<f64>", "f64", DType::c128, 1e-13}};

TEST(Complex, UnaryFunctions) {
  for (const Precision& p : kTypes) {
    for (std::string op :
         {"stablehlo.negate", "stablehlo.exponential", "stablehlo.exponential_minus_one",
          "stablehlo.log", "stablehlo.log_plus_one", "stablehlo.sqrt", "stablehlo.rsqrt",
          "stablehlo.cbrt", "stablehlo.tanh", "stablehlo.sine", "stablehlo.cosine",
          "stablehlo.logistic", "stablehlo.sign"})
      compare(fmt::format(R"(
        func.func public @main(%x: tensor<7x9x{0}>) -> tensor<7x9x{0}> {{
          %r = {1} %x : tensor<7x9x{0}>
          return %r : tensor<7x9x{0}>
        }})",
                          p.type, op),
              {random_tensor(p.dtype, {7, 9}, 1)}, 20 * p.tolerance);
    for (std::string op : {"abs", "real", "imag"})
      compare(fmt::format(R"(
        func.func public @main(%x: tensor<7x9x{0}>) -> tensor<7x9x{1}> {{
          %r = stablehlo.{2} %x : (tensor<7x9x{0}>) -> tensor<7x9x{1}>
          return %r : tensor<7x9x{1}>
        }})",
                          p.type, p.real, op),
              {random_tensor(p.dtype, {7, 9}, 1)}, p.tolerance);
  }
}

TEST(Complex, BinaryOperations) {
  for (const Precision& p : kTypes) {
    for (std::string op : {"add", "subtract", "multiply", "divide", "power"})
      compare(fmt::format(R"(
        func.func public @main(%x: tensor<35x{0}>, %y: tensor<35x{0}>) -> tensor<35x{0}> {{
          %r = stablehlo.{1} %x, %y : tensor<35x{0}>
          return %r : tensor<35x{0}>
        }})",
                          p.type, op),
              {random_tensor(p.dtype, {35}, 1), random_tensor(p.dtype, {35}, 2)},
              op == "power" ? 100 * p.tolerance : p.tolerance);
    for (std::string direction : {"EQ", "NE"})
      compare(fmt::format(R"(
        func.func public @main(%x: tensor<40x{0}>, %y: tensor<20x{0}>) -> (tensor<40xi1>, tensor<40x{0}>) {{
          %z = stablehlo.concatenate %y, %y, dim = 0 : (tensor<20x{0}>, tensor<20x{0}>) -> tensor<40x{0}>
          %r = stablehlo.compare {1}, %x, %z : (tensor<40x{0}>, tensor<40x{0}>) -> tensor<40xi1>
          %s = stablehlo.select %r, %x, %z : tensor<40xi1>, tensor<40x{0}>
          return %r, %s : tensor<40xi1>, tensor<40x{0}>
        }})",
                          p.type, direction),
              {random_tensor(p.dtype, {40}, 1), random_tensor(p.dtype, {20}, 1)});
  }
}

// Parts near the ends of the range, whose squares, sums or quotients are outside it.
TEST(Complex, DivisionAtTheEdgesOfTheRange) {
  const double cases[][4] = {
      {1.7e308, 1.7e308, 1.7e308, 1.7e308}, {1e308, -1.5e308, 2, 2},  {1, 2, 1.7e308, -1.6e308},
      {3e-310, 1e-310, 2e-310, 5e-310},     {1, 1e308, 1e300, 1e-10}, {0, 1e307, 1e-305, 0},
      {1e-300, 2e-300, 1e-305, 3e-306},     {1e10, 1e308, 1e-5, 0}};
  for (const auto& numbers : cases) {
    Tensor x(Type::tensor(DType::c128, {1})), y = x;
    std::memcpy(x.mutable_data(), numbers, 16);
    std::memcpy(y.mutable_data(), numbers + 2, 16);
    compare(R"(
      func.func public @main(%x: tensor<1xcomplex<f64>>, %y: tensor<1xcomplex<f64>>) -> tensor<1xcomplex<f64>> {
        %r = stablehlo.divide %x, %y : tensor<1xcomplex<f64>>
        return %r : tensor<1xcomplex<f64>>
      })",
            {x, y}, 1e-14);
  }
}

TEST(Complex, SpecialValues) {
  for (std::string op : {"add", "subtract"})
    compare(fmt::format(R"(
      func.func public @main(%x: tensor<70xcomplex<f32>>, %y: tensor<70xcomplex<f32>>) -> tensor<70xcomplex<f32>> {{
        %r = stablehlo.{0} %x, %y : tensor<70xcomplex<f32>>
        return %r : tensor<70xcomplex<f32>>
      }})",
                        op),
            {random_tensor(DType::c64, {70}, 1, true), random_tensor(DType::c64, {70}, 2, true)});
  compare(R"(
    func.func public @main(%x: tensor<500xcomplex<f64>>, %y: tensor<500xcomplex<f64>>, %z: tensor<500xcomplex<f64>>) -> tensor<500xcomplex<f64>> {
      %r = stablehlo.clamp %x, %y, %z : tensor<500xcomplex<f64>>
      return %r : tensor<500xcomplex<f64>>
    })",
          {random_tensor(DType::c128, {500}, 1, true), random_tensor(DType::c128, {500}, 2, true),
           random_tensor(DType::c128, {500}, 3, true)});
}

// Parts, conversions, constants, padding, transposing, slices at computed places, in one expression
// and stored in between.
TEST(Complex, Movement) {
  for (const Precision& p : kTypes)
    compare(fmt::format(R"(
        func.func public @main(%x: tensor<6x19x{0}>, %re: tensor<6x19x{1}>, %i: tensor<i32>) -> (tensor<19x9x{0}>, tensor<2x19x{0}>, tensor<6x19x{0}>) {{
          %c = stablehlo.constant dense<(1.5, -2.0)> : tensor<{0}>
          %z = stablehlo.constant dense<0> : tensor<i32>
          %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<{0}>) -> tensor<6x19x{0}>
          %im = stablehlo.imag %x : (tensor<6x19x{0}>) -> tensor<6x19x{1}>
          %n = stablehlo.complex %re, %im : tensor<6x19x{0}>
          %k = stablehlo.convert %re : (tensor<6x19x{1}>) -> tensor<6x19x{0}>
          %s = stablehlo.add %n, %k : tensor<6x19x{0}>
          %t = stablehlo.subtract %s, %b : tensor<6x19x{0}>
          %u = stablehlo.pad %t, %c, low = [1, 0], high = [2, 0], interior = [0, 0] : (tensor<6x19x{0}>, tensor<{0}>) -> tensor<9x19x{0}>
          %v = stablehlo.transpose %u, dims = [1, 0] : (tensor<9x19x{0}>) -> tensor<19x9x{0}>
          %w = stablehlo.dynamic_slice %x, %i, %z, sizes = [2, 19] : (tensor<6x19x{0}>, tensor<i32>, tensor<i32>) -> tensor<2x19x{0}>
          %y = stablehlo.dynamic_update_slice %x, %w, %z, %z : (tensor<6x19x{0}>, tensor<2x19x{0}>, tensor<i32>, tensor<i32>) -> tensor<6x19x{0}>
          return %v, %w, %y : tensor<19x9x{0}>, tensor<2x19x{0}>, tensor<6x19x{0}>
        }})",
                        p.type, p.real),
            {random_tensor(p.dtype, {6, 19}, 1), random_tensor(real_part(p.dtype), {6, 19}, 2),
             Tensor::scalar<int32_t>(DType::i32, 3)});
}

TEST(Complex, ReductionsAndProducts) {
  for (const Precision& p : kTypes) {
    compare(fmt::format(R"(
      func.func public @main(%x: tensor<8x50x20x{0}>) -> (tensor<8x20x{0}>, tensor<{0}>, tensor<8x50x{0}>) {{
        %c = stablehlo.constant dense<(0.5, 1.0)> : tensor<{0}>
        %one = stablehlo.constant dense<(1.0, 0.0)> : tensor<{0}>
        %a = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<8x50x20x{0}>, tensor<{0}>) -> tensor<8x20x{0}>
        %b = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<8x50x20x{0}>, tensor<{0}>) -> tensor<{0}>
        %s = stablehlo.slice %x [0:8, 0:50, 0:4] : (tensor<8x50x20x{0}>) -> tensor<8x50x4x{0}>
        %d = stablehlo.reduce(%s init: %one) applies stablehlo.multiply across dimensions = [2] : (tensor<8x50x4x{0}>, tensor<{0}>) -> tensor<8x50x{0}>
        return %a, %b, %d : tensor<8x20x{0}>, tensor<{0}>, tensor<8x50x{0}>
      }})",
                        p.type),
            {random_tensor(p.dtype, {8, 50, 20}, 1)}, 100 * p.tolerance);
    compare(fmt::format(R"(
      func.func public @main(%x: tensor<3x7x30x{0}>, %y: tensor<3x30x18x{0}>) -> tensor<3x7x18x{0}> {{
        %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x7x30x{0}>, tensor<3x30x18x{0}>) -> tensor<3x7x18x{0}>
        return %r : tensor<3x7x18x{0}>
      }})",
                        p.type),
            {random_tensor(p.dtype, {3, 7, 30}, 1), random_tensor(p.dtype, {3, 30, 18}, 2)},
            50 * p.tolerance);
  }
}

TEST(Complex, ScatterAndScan) {
  for (const Precision& p : kTypes) {
    for (std::string window : {"24x", ""}) {
      std::vector<int64_t> x = {20, 24}, u = {60, 24};
      if (window.empty()) x.pop_back(), u.pop_back();
      compare(fmt::format(R"(
        func.func public @main(%x: tensor<20x{1}{0}>, %i: tensor<60x1xi32>, %u: tensor<60x{1}{0}>) -> tensor<20x{1}{0}> {{
          %r = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<{2}inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
            ^bb0(%a: tensor<{0}>, %b: tensor<{0}>): %c = stablehlo.add %a, %b : tensor<{0}>
            stablehlo.return %c : tensor<{0}>
          }}) : (tensor<20x{1}{0}>, tensor<60x1xi32>, tensor<60x{1}{0}>) -> tensor<20x{1}{0}>
          return %r : tensor<20x{1}{0}>
        }})",
                          p.type, window, window.empty() ? "" : "update_window_dims = [1], "),
              {random_tensor(p.dtype, x, 1), random_indices(DType::i32, {60, 1}, -2, 22, 2),
               random_tensor(p.dtype, u, 3)});
    }
    compare(fmt::format(R"(
      func.func public @main(%x: tensor<3x70x{0}>) -> tensor<3x70x{0}> {{
        %i = stablehlo.constant dense<(0.0, 0.0)> : tensor<{0}>
        %r = "stablehlo.reduce_window"(%x, %i) <{{window_dimensions = array<i64: 1, 70>, padding = dense<[[0, 0], [69, 0]]> : tensor<2x2xi64>}}> ({{
          ^bb0(%a: tensor<{0}>, %b: tensor<{0}>): %c = stablehlo.add %a, %b : tensor<{0}>
          stablehlo.return %c : tensor<{0}>
        }}) : (tensor<3x70x{0}>, tensor<{0}>) -> tensor<3x70x{0}>
        return %r : tensor<3x70x{0}>
      }})",
                        p.type),
            {random_tensor(p.dtype, {3, 70}, 1)}, 100 * p.tolerance);
  }
}

}  // namespace
}  // namespace ullage
