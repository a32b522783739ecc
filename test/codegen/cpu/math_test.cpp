// Transcendental functions: measured error against double precision, asserted against the bounds
// that emit_math.cpp states.
#include <cmath>
#include <limits>

#include "kernel_testing.h"

namespace ullage {
namespace {

using namespace testing_cpu;

struct Function {
  OpKind op;
  double (*reference)(double);
  double bound_ulp;
  float low, high;  // dense sampling; all kinds of bit patterns are sampled besides
};

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

const Function kFunctions[] = {
    {OpKind::exponential, std::exp, 1.1, -104, 89},
    {OpKind::exponential_minus_one, std::expm1, 2, -20, 89},
    {OpKind::log, std::log, 1.1, 0, 100},
    {OpKind::log_plus_one, std::log1p, 2, -1, 10},
    {OpKind::tanh, std::tanh, 2, -10, 10},
    {OpKind::logistic, logistic, 2.1, -104, 20},
    {OpKind::sine, std::sin, 1.6, -100, 100},
    {OpKind::cosine, std::cos, 1.6, -100, 100},
    {OpKind::chlo_erf, std::erf, 2, -4, 4},
    {OpKind::tan, std::tan, 1, -10, 10},
    {OpKind::cbrt, std::cbrt, 1, -10, 10},
    {OpKind::chlo_erfc, std::erfc, 1, -4, 9},
    {OpKind::chlo_lgamma, std::lgamma, 1, 0.1f, 20},
};

// Distance in units in the last place of the exact value as f32.
double ulp_error(float got, double exact) {
  float rounded = static_cast<float>(exact);
  if (exact != exact) return got != got ? 0 : 1e9;
  if (std::isinf(rounded))
    return got == rounded ? 0 : std::isinf(got) || std::fabs(got) < 3.4e38f ? 1e9 : 1;
  if (got != got || std::isinf(got)) return 1e9;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::fabs(static_cast<double>(got) - exact) / ulp;
}

// The functions on `count` dense elements.
class Functions {
 public:
  Functions(size_t count, IsaLevel isa) {
    std::vector<int64_t> extents = {static_cast<int64_t>(count)};
    for (const Function& f : kFunctions) {
      ExprBuilder b;
      int32_t node = b.op(f.op, DType::f32, b.load(DType::f32, 0, identity(extents)));
      graph_.add(loop(extents, b.expr, {{node, identity(extents)}}), {DType::f32}, {DType::f32});
    }
    graph_.compile(isa);
  }

  // Of kFunctions[k].
  std::vector<float> results(size_t k, const std::vector<float>& in) {
    Bytes input = bytes_of(in), output(in.size() * sizeof(float));
    graph_.run(k, {input.data(), output.data()});
    return values_of<float>(output);
  }

 private:
  Graph graph_;
};

class Math : public ::testing::TestWithParam<IsaLevel> {};

TEST_P(Math, ErrorsWithinBounds) {
  const size_t dense = 200000, patterns = 262144;
  Functions functions(dense + patterns, GetParam());
  for (size_t k = 0; k < std::size(kFunctions); ++k) {
    const Function& f = kFunctions[k];
    std::vector<float> in;
    for (size_t i = 0; i < dense; ++i)
      in.push_back(f.low + (f.high - f.low) * static_cast<float>(i) / static_cast<float>(dense));
    for (uint64_t i = 0; i < patterns; ++i)
      in.push_back(std::bit_cast<float>(static_cast<uint32_t>(i * 16411)));
    std::vector<float> out = functions.results(k, in);
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      double error = ulp_error(out[i], f.reference(static_cast<double>(in[i])));
      if (error > worst) worst = error, at = in[i];
    }
    std::printf("%-24s %.2f ulp at %g\n", info(f.op).name.data(), worst, at);
    // Hosts without fused multiply-add lose a little.
    EXPECT_LE(worst, GetParam() == IsaLevel::baseline ? 4 * f.bound_ulp : f.bound_ulp)
        << info(f.op).name << " at " << at;
  }
}

TEST_P(Math, SignsAndSpecialValues) {
  std::vector<float> in = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f, -1.0f, 1e-40f, -1e-40f};
  Functions functions(in.size(), GetParam());
  for (size_t k = 0; k < std::size(kFunctions); ++k) {
    std::vector<float> out = functions.results(k, in);
    for (size_t i = 0; i < in.size(); ++i) {
      float want = static_cast<float>(kFunctions[k].reference(in[i]));
      std::string what = std::string(info(kFunctions[k].op).name) + " of " + std::to_string(in[i]);
      if (want != want) {
        EXPECT_TRUE(out[i] != out[i]) << what;
        continue;
      }
      EXPECT_EQ(std::signbit(out[i]), std::signbit(want)) << what;
      if (std::isinf(want) || want == 0) {
        EXPECT_EQ(out[i], want) << what;
      }
    }
  }
}

// The bits of an element do not depend on what others share its vector.
TEST_P(Math, NeighboursDoNotMatter) {
  constexpr size_t kCount = 4096;
  Functions functions(kCount, GetParam());
  for (size_t k = 0; k < std::size(kFunctions); ++k) {
    const Function& f = kFunctions[k];
    std::vector<float> in;
    for (size_t i = 0; i < kCount; ++i)
      in.push_back(f.low + (f.high - f.low) * static_cast<float>(i) / kCount);
    std::vector<float> alone = functions.results(k, in);
    const float others[] = {INFINITY, NAN, 1e30f, -1e-40f};
    for (size_t i = 0; i < kCount; i += 7) in[i] = others[i / 7 % 4];
    std::vector<float> beside = functions.results(k, in);
    for (size_t i = 0; i < kCount; ++i) {
      if (i % 7 == 0) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(beside[i]), std::bit_cast<uint32_t>(alone[i]))
          << info(f.op).name << " of " << in[i];
    }
  }
}

TEST_P(Math, Power) {
  std::vector<float> x, y;
  const float special[] = {0.0f,  -0.0f, 1.0f,  -1.0f,  INFINITY,    -INFINITY,   NAN,
                           2.0f,  -2.0f, 0.5f,  -0.5f,  3.0f,        -3.0f,       1e-40f,
                           1e38f, 1.5f,  -1.5f, 1e-10f, 16777216.0f, 16777217.0f, 0.99999f};
  for (float a : special)
    for (float b : special) x.push_back(a), y.push_back(b);
  std::mt19937_64 random(5);
  std::uniform_real_distribution<float> base(0, 20), exponent(-30, 30);
  for (int i = 0; i < 100000; ++i) x.push_back(base(random)), y.push_back(exponent(random));
  std::vector<int64_t> extents = {static_cast<int64_t>(x.size())};
  Graph g;
  ExprBuilder b;
  int32_t node = b.op(OpKind::power, DType::f32, b.load(DType::f32, 0, identity(extents)),
                      b.load(DType::f32, 1, identity(extents)));
  g.add(loop(extents, b.expr, {{node, identity(extents)}}), {DType::f32, DType::f32}, {DType::f32});
  g.compile(GetParam());
  Bytes in0 = bytes_of(x), in1 = bytes_of(y), out(x.size() * 4);
  g.run(0, {in0.data(), in1.data(), out.data()});
  std::vector<float> got = values_of<float>(out);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double exact = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
    double error = ulp_error(got[i], exact);
    worst = std::max(worst, error);
    ASSERT_LE(error, 1) << "pow(" << x[i] << ", " << y[i] << ") gives " << got[i] << ", not "
                        << exact;
    if (exact == exact) {
      ASSERT_EQ(std::signbit(got[i]), std::signbit(exact)) << "pow(" << x[i] << ", " << y[i] << ")";
    }
  }
  std::printf("power %.2f ulp\n", worst);
}

TEST_P(Math, InverseErrorFunction) {
  const int64_t count = 100001;
  std::vector<float> x;
  for (int64_t i = 0; i < count; ++i)
    x.push_back(static_cast<float>(2.0 * static_cast<double>(i) / (count - 1) - 1));
  std::vector<double> wide(x.begin(), x.end());
  Graph g;
  for (DType dtype : {DType::f32, DType::f64}) {
    ExprBuilder b;
    int32_t node = b.op(OpKind::chlo_erf_inv, dtype, b.load(dtype, 0, identity({count})));
    g.add(loop({count}, b.expr, {{node, identity({count})}}), {dtype}, {dtype});
  }
  g.compile(GetParam());
  Bytes in = bytes_of(x), out(x.size() * 4), in64 = bytes_of(wide), out64(x.size() * 8);
  g.run(0, {in.data(), out.data()});
  g.run(1, {in64.data(), out64.data()});
  std::vector<float> got = values_of<float>(out);
  std::vector<double> got64 = values_of<double>(out64);
  EXPECT_EQ(got.front(), -INFINITY);
  EXPECT_EQ(got.back(), INFINITY);
  for (size_t i = 1; i + 1 < x.size(); ++i) {
    ASSERT_NEAR(std::erf(got64[i]), wide[i], 4e-16) << x[i];
    ASSERT_NEAR(got[i], got64[i], 6e-7 * std::fabs(got64[i]) + 1e-30) << x[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Math, ::testing::ValuesIn(levels()), level_name);

}  // namespace
}  // namespace ullage
