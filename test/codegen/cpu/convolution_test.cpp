// Convolutions against the interpreter: dimension orders, strides, padding, dilations, groups,
// reversal, element types; and the same bits from any number of threads.
#include "library_testing.h"

namespace ullage {
namespace {

using namespace testing_cpu;

struct Setting {
  std::string dims;  // "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
  std::vector<int64_t> lhs, rhs, out;
  std::vector<int64_t> stride, low, high, lhs_dilation, rhs_dilation;
  std::vector<int> reverse;
  int64_t feature_groups = 1, batch_groups = 1;
};

std::string list(const std::vector<int64_t>& values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) out += (i ? ", " : "") + std::to_string(values[i]);
  return out + "]";
}

// `infinite`: some elements of the kernel, f32 or f64, are.
void check_convolution(Setting s, DType dtype = DType::f32, double tolerance = 2e-6,
                       bool infinite = false) {
  size_t spatial = s.lhs.size() - 2;
  s.stride.resize(spatial, 1);
  s.low.resize(spatial, 0);
  s.high.resize(spatial, 0);
  s.lhs_dilation.resize(spatial, 1);
  s.rhs_dilation.resize(spatial, 1);
  s.reverse.resize(spatial, 0);
  std::string pad, reverse;
  for (size_t d = 0; d < spatial; ++d) {
    pad += (d ? ", " : "") + list({s.low[d], s.high[d]});
    reverse += (d ? ", " : "") + std::string(s.reverse[d] ? "true" : "false");
  }
  std::string lhs = shaped(s.lhs, spelled(dtype)), rhs = shaped(s.rhs, spelled(dtype)),
              out = shaped(s.out, spelled(dtype));
  std::string text =
      "func.func public @main(%a: " + lhs + ", %b: " + rhs + ") -> " + out +
      " {\n  %0 = stablehlo.convolution(%a, %b) dim_numbers = " + s.dims +
      ", window = {stride = " + list(s.stride) + ", pad = [" + pad +
      "], lhs_dilate = " + list(s.lhs_dilation) + ", rhs_dilate = " + list(s.rhs_dilation) +
      ", reverse = [" + reverse + "]} {batch_group_count = " + std::to_string(s.batch_groups) +
      " : i64, feature_group_count = " + std::to_string(s.feature_groups) + " : i64} : (" + lhs +
      ", " + rhs + ") -> " + out + "\n  return %0 : " + out + "\n}\n";
  std::vector<Tensor> inputs = {random_tensor(dtype, s.lhs, 1), random_tensor(dtype, s.rhs, 2)};
  for (int64_t i = 0; infinite && i < inputs[1].num_elements(); i += 7) {
    std::byte* at = inputs[1].mutable_data() + i * storage_bytes(dtype);
    if (dtype == DType::f32)
      *reinterpret_cast<float*>(at) = INFINITY;
    else
      *reinterpret_cast<double*>(at) = INFINITY;
  }
  std::vector<Tensor> want = interpreted(text, inputs);
  std::vector<Tensor> got = compiled(text, inputs);
  ASSERT_EQ(got.size(), 1u) << text;
  if (is_int(dtype))
    expect_same_bits(got, want, text);
  else
    expect_near(got[0], want[0], tolerance, text);
  expect_same_bits(compiled(text, inputs, 3), got, text);
}

const std::string kNhwc = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]";
const std::string kNchw = "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]";

TEST(Convolution, Plain) {
  for (int64_t features : {3, 16, 40}) {
    check_convolution(
        {kNhwc, {2, 9, 11, features}, {3, 3, features, 20}, {2, 9, 11, 20}, {}, {1, 1}, {1, 1}});
    check_convolution(
        {kNchw, {2, features, 9, 11}, {20, features, 3, 3}, {2, 20, 9, 11}, {}, {1, 1}, {1, 1}});
  }
  check_convolution({kNhwc, {1, 8, 8, 5}, {1, 1, 5, 7}, {1, 8, 8, 7}});
  check_convolution({kNhwc, {3, 4, 4, 2}, {4, 4, 2, 6}, {3, 1, 1, 6}});
}

TEST(Convolution, StridesAndDilations) {
  for (const std::string& dims : {kNhwc, kNchw}) {
    bool last = dims == kNhwc;
    auto image = [&](int64_t h, int64_t w, int64_t f) {
      return last ? std::vector<int64_t>{2, h, w, f} : std::vector<int64_t>{2, f, h, w};
    };
    auto window = [&](int64_t h, int64_t w) {
      return last ? std::vector<int64_t>{h, w, 6, 10} : std::vector<int64_t>{10, 6, h, w};
    };
    check_convolution(
        {dims, image(12, 15, 6), window(3, 4), image(6, 5, 10), {2, 3}, {1, 0}, {1, 2}});
    check_convolution(
        {dims, image(7, 8, 6), window(3, 3), image(13, 15, 10), {}, {1, 1}, {1, 1}, {2, 2}});
    check_convolution(
        {dims, image(12, 12, 6), window(3, 3), image(8, 6, 10), {}, {0, 0}, {0, 0}, {}, {2, 3}});
    check_convolution(
        {dims, image(9, 9, 6), window(2, 3), image(8, 7, 10), {}, {}, {}, {}, {}, {1, 0}});
    // Crops, and padding that is all there is.
    check_convolution(
        {dims, image(9, 9, 6), window(3, 3), image(5, 5, 10), {}, {-1, -1}, {-1, -1}});
    check_convolution({dims, image(3, 3, 6), window(2, 2), image(12, 12, 10), {}, {5, 5}, {5, 5}});
  }
}

TEST(Convolution, GradientForms) {
  // Of the input: the kernel's features exchanged, the input dilated.
  check_convolution({"[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]",
                     {2, 6, 6, 12},
                     {3, 3, 8, 12},
                     {2, 12, 12, 8},
                     {},
                     {2, 2},
                     {1, 1},
                     {2, 2},
                     {},
                     {1, 1}});
  // Of the kernel: batch and features exchanged, the cotangent is the window.
  check_convolution({"[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]",
                     {4, 10, 10, 6},
                     {4, 10, 10, 9},
                     {3, 3, 6, 9},
                     {},
                     {1, 1},
                     {1, 1}});
  check_convolution({"[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]",
                     {4, 10, 10, 6},
                     {4, 5, 5, 9},
                     {3, 3, 6, 9},
                     {},
                     {0, 0},
                     {1, 1},
                     {},
                     {2, 2}});
}

TEST(Convolution, Groups) {
  check_convolution(
      {kNhwc, {2, 7, 7, 12}, {3, 3, 4, 18}, {2, 5, 5, 18}, {}, {}, {}, {}, {}, {}, 3});
  check_convolution(
      {kNchw, {2, 12, 7, 7}, {18, 4, 3, 3}, {2, 18, 5, 5}, {}, {}, {}, {}, {}, {}, 3});
  check_convolution(
      {kNhwc, {6, 7, 7, 4}, {3, 3, 4, 9}, {2, 5, 5, 9}, {}, {}, {}, {}, {}, {}, 1, 3});
  check_convolution(
      {kNchw, {6, 4, 7, 7}, {9, 4, 3, 3}, {2, 9, 5, 5}, {}, {}, {}, {}, {}, {}, 1, 3});
}

TEST(Convolution, Depthwise) {
  for (DType dtype : {DType::f32, DType::bf16})
    for (int64_t channels : {5, 300}) {
      double tolerance = dtype == DType::f32 ? 2e-6 : 1e-2;
      check_convolution({"[b, 0, f]x[0, i, o]->[b, 0, f]",
                         {2, 20, channels},
                         {4, 1, channels},
                         {2, 20, channels},
                         {},
                         {3},
                         {0},
                         {},
                         {},
                         {},
                         channels},
                        dtype, tolerance);
      check_convolution({"[b, 0, f]x[0, i, o]->[b, 0, f]",
                         {2, 20, channels},
                         {3, 1, 2 * channels},
                         {2, 9, 2 * channels},
                         {2},
                         {},
                         {},
                         {},
                         {},
                         {},
                         channels},
                        dtype, tolerance);
      // The gradient of the kernel.
      check_convolution({"[f, 0, b]x[i, 0, o]->[0, b, f]",
                         {2, 300, channels},
                         {2, 300, channels},
                         {4, 1, channels},
                         {},
                         {3},
                         {0},
                         {},
                         {},
                         {},
                         1,
                         channels},
                        dtype, tolerance);
    }
}

// Infinity times the zeros beside the input, or between its elements, is no number.
TEST(Convolution, InfiniteKernels) {
  for (DType dtype : {DType::f32, DType::f64}) {
    check_convolution({kNhwc, {2, 3, 4, 2}, {3, 3, 2, 5}, {2, 5, 7, 5}, {}, {1, 1}, {1, 1}, {2, 2}},
                      dtype, 2e-6, true);
    check_convolution({"[b, 0, f]x[0, i, o]->[b, 0, f]",
                       {2, 20, 40},
                       {4, 1, 40},
                       {2, 20, 40},
                       {},
                       {3},
                       {0},
                       {},
                       {},
                       {},
                       40},
                      dtype, 2e-6, true);
  }
}

TEST(Convolution, Types) {
  Setting plain{kNhwc, {2, 6, 7, 5}, {3, 2, 5, 8}, {2, 4, 6, 8}};
  check_convolution(plain, DType::bf16, 1e-2);
  check_convolution(plain, DType::f16, 1e-3);
  check_convolution(plain, DType::f64, 1e-14);
  check_convolution(plain, DType::c64, 1e-5);
  check_convolution(plain, DType::c128, 1e-14);
  for (DType dtype : {DType::i8, DType::i32, DType::i64, DType::ui16})
    check_convolution(plain, dtype);
}

TEST(Convolution, OtherRanksAndEmpty) {
  check_convolution({"[b, f]x[i, o]->[b, f]", {4, 6}, {6, 5}, {4, 5}});
  check_convolution({"[b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f]",
                     {2, 5, 6, 4, 3},
                     {2, 3, 2, 3, 7},
                     {2, 4, 4, 3, 7}});
  check_convolution({"[f, b, 0]x[o, 0, i]->[0, f, b]", {3, 2, 9}, {5, 4, 3}, {6, 5, 2}});
  check_convolution({kNhwc, {0, 6, 7, 5}, {3, 2, 5, 8}, {0, 4, 6, 8}});
}

}  // namespace
}  // namespace ullage
