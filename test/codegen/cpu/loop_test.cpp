// The shapes of loop kernels: remainders, strides, guards, gathers, in place, pieces and threads.
#include <cmath>
#include <numeric>

#include "kernel_testing.h"

namespace ullage {
namespace {

using namespace testing_cpu;

std::vector<float> ramp(size_t count) {
  std::vector<float> v(count);
  for (size_t i = 0; i < count; ++i) v[i] = static_cast<float>(i % 977) * 0.25f - 20;
  return v;
}

class Loops : public ::testing::TestWithParam<IsaLevel> {};

TEST_P(Loops, EveryRemainder) {
  Graph g;
  for (int64_t n = 0; n <= 70; ++n)
    for (DType dtype : {DType::f32, DType::i8, DType::i64}) {
      ExprBuilder b;
      int32_t x = b.load(dtype, 0, identity({n}));
      int32_t node = b.op(OpKind::add, dtype, x, x);
      g.add(loop({n}, b.expr, {{node, identity({n})}}), {dtype}, {dtype});
    }
  g.compile(GetParam());
  for (size_t k = 0; k < g.compiled.size(); ++k) {
    size_t n = k / 3;
    auto check = [&](auto zero) {
      using T = decltype(zero);
      std::vector<T> in(n), out(n + 40, T(99));
      std::iota(in.begin(), in.end(), T(1));
      Bytes a = bytes_of(in), r = bytes_of(out);
      g.run(k, {a.data(), r.data()});
      std::vector<T> got = values_of<T>(r);
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], static_cast<T>(2 * in[i])) << n;
      for (size_t i = n; i < n + 40; ++i)
        ASSERT_EQ(got[i], T(99)) << "written past the end, n = " << n;
    };
    if (k % 3 == 0) check(0.0f);
    if (k % 3 == 1) check(int8_t{0});
    if (k % 3 == 2) check(int64_t{0});
  }
}

// out[i, j] = a[j, i] + b[j] + c[i] + index, over sizes with and without remainders; whole, in
// pieces, on two threads.
TEST_P(Loops, TransposedAndBroadcast) {
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {16, 16}, {37, 70}, {130, 300}}) {
    std::vector<int64_t> extents = {rows, columns};
    ExprBuilder b;
    int32_t a = b.load(DType::f32, 0, row_major(extents, {1, 0}));
    int32_t row = b.load(DType::f32, 1, row_major(extents, {1}));
    int32_t column = b.load(DType::f32, 2, row_major(extents, {0}));
    int32_t index = b.index(DType::f32, {5, {100, 1}});
    int32_t sum = b.op(OpKind::add, DType::f32, b.op(OpKind::add, DType::f32, a, row),
                       b.op(OpKind::multiply, DType::f32, column, index));
    Graph g;
    size_t k = g.add(loop(extents, b.expr, {{sum, identity(extents)}}),
                     {DType::f32, DType::f32, DType::f32}, {DType::f32});
    g.compile(GetParam());
    size_t count = static_cast<size_t>(rows * columns);
    std::vector<float> av = ramp(count), rv = ramp(static_cast<size_t>(columns)),
                       cv = ramp(static_cast<size_t>(rows));
    Bytes ab = bytes_of(av), rb = bytes_of(rv), cb = bytes_of(cv), out(count * 4),
          pieces(count * 4), two(count * 4);
    g.run(k, {ab.data(), rb.data(), cb.data(), out.data()});
    std::vector<float> got = values_of<float>(out);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        size_t at = static_cast<size_t>(i * columns + j);
        float want = (av[static_cast<size_t>(j * rows + i)] + rv[static_cast<size_t>(j)]) +
                     cv[static_cast<size_t>(i)] * static_cast<float>(5 + 100 * i + j);
        ASSERT_EQ(got[at], want) << i << ", " << j;
      }
    for (int64_t from = 0; from < rows; from += 7) {
      KernelCall call;
      call.axis = KernelCall::Axis::parallel;
      call.lower = from;
      call.upper = std::min(rows, from + 7);
      g.run(k, {ab.data(), rb.data(), cb.data(), pieces.data()}, call);
    }
    EXPECT_EQ(pieces, out);
    g.run(k, {ab.data(), rb.data(), cb.data(), two.data()}, {}, 2);
    EXPECT_EQ(two, out);
  }
}

// Pieces along an inner dimension, of which one operand and the result hold only the piece.
TEST_P(Loops, PiecesOfColumns) {
  const int64_t rows = 40, columns = 300, step = 128;
  ExprBuilder b;
  int32_t whole = b.load(DType::f32, 0, identity({rows, columns}));
  int32_t piece = b.load(DType::f32, 1, {{0, {step, 1}}, {}});
  int32_t sum = b.op(OpKind::add, DType::f32, whole,
                     b.op(OpKind::multiply, DType::f32, piece, b.index(DType::f32, {0, {0, 1}})));
  LoopKernel kernel = loop({rows, columns}, b.expr, {{sum, {{0, {step, 1}}, {}}}});
  kernel.cut_dim = 1;
  Graph g;
  size_t k = g.add(kernel, {DType::f32, DType::f32}, {DType::f32});
  g.compile(GetParam());
  std::vector<float> a = ramp(static_cast<size_t>(rows * columns));
  Bytes ab = bytes_of(a);
  for (int64_t from = 0; from < columns; from += step) {
    std::vector<float> p = ramp(static_cast<size_t>(rows * step));
    Bytes pb = bytes_of(p), out(p.size() * 4);
    KernelCall call;
    call.axis = KernelCall::Axis::parallel;
    call.lower = from;
    call.upper = std::min(columns, from + step);
    g.run(k, {ab.data(), pb.data() - from * 4, out.data() - from * 4}, call, 2);
    std::vector<float> got = values_of<float>(out);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = from; j < call.upper; ++j) {
        size_t at = static_cast<size_t>(i * step + j - from);
        ASSERT_EQ(got[at], a[static_cast<size_t>(i * columns + j)] + p[at] * static_cast<float>(j));
      }
  }
}

// pad, reverse and strided slice in one expression.
TEST_P(Loops, GuardedReversedAndStrided) {
  const int64_t n = 100, inside = 61;
  ExprBuilder b;
  int32_t guard = b.in_range({-10, {1}}, 0, inside);
  int32_t padded = b.load(DType::f32, 0, {{-10, {1}}, {}}, guard);
  int32_t reversed = b.load(DType::f32, 1, {{n - 1, {-1}}, {}});
  int32_t strided = b.load(DType::f32, 2, {{1, {3}}, {}});
  int32_t sum =
      b.op(OpKind::add, DType::f32, b.op(OpKind::add, DType::f32, padded, reversed), strided);
  Graph g;
  size_t k = g.add(loop({n}, b.expr, {{sum, identity({n})}, {sum, {{2 * n - 2, {-2}}, {}}}}),
                   {DType::f32, DType::f32, DType::f32}, {DType::f32, DType::f32});
  g.compile(GetParam());
  std::vector<float> x = ramp(inside), y = ramp(n), z = ramp(3 * n - 1);
  Bytes xb = bytes_of(x), yb = bytes_of(y), zb = bytes_of(z), out(n * 4), scattered(2 * n * 4);
  g.run(k, {xb.data(), yb.data(), zb.data(), out.data(), scattered.data()});
  std::vector<float> got = values_of<float>(out), spread = values_of<float>(scattered);
  for (int64_t i = 0; i < n; ++i) {
    float p = i >= 10 && i < 10 + inside ? x[static_cast<size_t>(i - 10)] : 0;
    float want = p + y[static_cast<size_t>(n - 1 - i)] + z[static_cast<size_t>(1 + 3 * i)];
    ASSERT_EQ(got[static_cast<size_t>(i)], want) << i;
    ASSERT_EQ(spread[static_cast<size_t>(2 * n - 2 - 2 * i)], want) << i;
  }
}

// The parts of complex numbers take turns in memory, and guarded ones are read two apart.
TEST_P(Loops, PartsTakeTurns) {
  for (DType dtype : {DType::f32, DType::f64})
    for (int64_t n : {1, 16, 37, 200}) {
      ExprBuilder b;
      int32_t inside = b.in_range({0, {1}}, 1, n);
      int32_t real = b.load(dtype, 0, {{-2, {2}}, {}}, inside);
      int32_t imaginary = b.load(dtype, 0, {{-1, {2}}, {}}, inside);
      KernelOutput first{b.op(OpKind::add, dtype, real, real), {{2, {2}}, {}}, 0};
      KernelOutput second{imaginary, {{3, {2}}, {}}, 0};
      Graph g;
      size_t k = g.add(loop({n}, b.expr, {first, second}), {dtype}, {dtype});
      g.compile(GetParam());
      auto check = [&](auto zero) {
        using T = decltype(zero);
        std::vector<T> in(static_cast<size_t>(2 * n - 2)),
            out(static_cast<size_t>(2 * n + 6), T(99));
        std::iota(in.begin(), in.end(), T(1));
        Bytes a = bytes_of(in), r = bytes_of(out);
        g.run(k, {a.data(), r.data()});
        std::vector<T> got = values_of<T>(r);
        for (int64_t i = 0; i < 2 * n + 6; ++i) {
          int64_t at = i - 4;  // of the elements shifted by one number
          T want = i < 2 || i >= 2 * n + 2 ? T(99)
                   : i < 4                 ? T(0)
                   : i % 2 == 0            ? 2 * in[static_cast<size_t>(at)]
                                           : in[static_cast<size_t>(at)];
          ASSERT_EQ(got[static_cast<size_t>(i)], want) << n << ", " << i;
        }
      };
      dtype == DType::f32 ? check(0.0f) : check(0.0);
    }
}

// Guards that are the same for a whole row: rows outside must not be read at all (they would be far
// outside the buffer).
TEST_P(Loops, RowsOutsideAreNotRead) {
  const int64_t rows = 40, columns = 50;
  std::vector<int64_t> extents = {rows, columns};
  const int64_t far = int64_t{1} << 40;
  ExprBuilder b;
  int32_t guard = b.in_range({0, {1, 0}}, 5, 6);
  int32_t x = b.load(DType::f32, 0, {{-5 * far, {far, 1}}, {}}, guard);
  int32_t one = b.load(DType::f32, 0, {{-5 * far, {far, 0}}, {}}, guard);
  int32_t sum = b.op(OpKind::add, DType::f32, x, one);
  Graph g;
  size_t k = g.add(loop(extents, b.expr, {{sum, identity(extents)}}), {DType::f32}, {DType::f32});
  g.compile(GetParam());
  std::vector<float> v = ramp(static_cast<size_t>(columns));
  Bytes in = bytes_of(v), out(static_cast<size_t>(rows * columns) * 4);
  g.run(k, {in.data(), out.data()});
  std::vector<float> got = values_of<float>(out);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      ASSERT_EQ(got[static_cast<size_t>(i * columns + j)],
                i == 5 ? v[static_cast<size_t>(j)] + v[0] : 0);
}

// A gather of rows and of single elements, and a dynamic slice stored at a dynamic place, in place.
TEST_P(Loops, DynamicIndices) {
  const int64_t rows = 9, columns = 33, table = 20;
  std::vector<int64_t> extents = {rows, columns};
  for (DType dtype : {DType::f32, DType::i8, DType::f64}) {
    ExprBuilder b;
    int32_t row = b.op(OpKind::convert, DType::i64, b.load(DType::i32, 1, row_major(extents, {0})));
    int32_t column =
        b.op(OpKind::convert, DType::i64, b.load(DType::i32, 2, row_major(extents, {1})));
    Access by_row = row_major(extents, {1});
    by_row.dynamic = {{row, columns}};
    Access by_both;
    by_both.affine.coefficients = {0, 0};
    by_both.dynamic = {{row, columns}, {column, 1}};
    int32_t sum = b.op(OpKind::add, dtype, b.load(dtype, 0, by_row), b.load(dtype, 0, by_both));
    int32_t start = b.op(OpKind::convert, DType::i64, b.load(DType::i32, 3, {{0, {0, 0}}, {}}));
    Access store = identity(extents);
    store.dynamic = {{start, columns}};
    Graph g;
    size_t k = g.add(loop(extents, b.expr, {{sum, store}}),
                     {dtype, DType::i32, DType::i32, DType::i32}, {dtype});
    g.compile(GetParam());
    auto check = [&](auto zero) {
      using T = decltype(zero);
      std::vector<T> t(static_cast<size_t>(table * columns));
      for (size_t i = 0; i < t.size(); ++i) t[i] = static_cast<T>(i % 50);
      std::vector<int32_t> r(static_cast<size_t>(rows)), c(static_cast<size_t>(columns)), s = {3};
      for (size_t i = 0; i < r.size(); ++i)
        r[i] = static_cast<int32_t>((i * 7) % static_cast<size_t>(table));
      for (size_t i = 0; i < c.size(); ++i)
        c[i] = static_cast<int32_t>((i * 5) % static_cast<size_t>(columns));
      Bytes tb = bytes_of(t), rb = bytes_of(r), cb = bytes_of(c), sb = bytes_of(s);
      Bytes out(static_cast<size_t>((rows + 5) * columns) * sizeof(T));
      g.run(k, {tb.data(), rb.data(), cb.data(), sb.data(), out.data()});
      std::vector<T> got = values_of<T>(out);
      for (size_t i = 0; i < r.size(); ++i)
        for (size_t j = 0; j < c.size(); ++j) {
          size_t base = static_cast<size_t>(r[i]) * c.size();
          T want = static_cast<T>(t[base + j] + t[base + static_cast<size_t>(c[j])]);
          ASSERT_EQ(got[(i + 3) * c.size() + j], want) << i << ", " << j;
        }
      for (size_t j = 0; j < 3 * c.size(); ++j) ASSERT_EQ(got[j], T(0));
    };
    if (dtype == DType::f32) check(0.0f);
    if (dtype == DType::i8) check(int8_t{0});
    if (dtype == DType::f64) check(0.0);
  }
}

TEST_P(Loops, InPlaceAndScalars) {
  Graph g;
  ExprBuilder b;
  int32_t x = b.load(DType::f32, 0, identity({1000}));
  int32_t scale = b.load(DType::f32, 1, {{0, {0}}, {}});
  int32_t node =
      b.op(OpKind::multiply, DType::f32, x, b.op(OpKind::exponential, DType::f32, scale));
  size_t k = g.add(loop({1000}, b.expr, {{node, identity({1000})}}), {DType::f32, DType::f32},
                   {DType::f32});
  ExprBuilder s;
  int32_t y = s.load(DType::f32, 0, {});
  size_t scalar = g.add(loop({}, s.expr, {{s.op(OpKind::add, DType::f32, y, y), {}}}), {DType::f32},
                        {DType::f32});
  g.compile(GetParam());
  std::vector<float> v = ramp(1000), two = {0.0f};
  Bytes data = bytes_of(v), factor = bytes_of(two), apart(4000);
  g.run(k, {data.data(), factor.data(), apart.data()});
  g.run(k, {data.data(), factor.data(), data.data()});
  EXPECT_EQ(data, apart);
  EXPECT_EQ(values_of<float>(data), v);
  std::vector<float> three = {3};
  Bytes t = bytes_of(three), out(4);
  g.run(scalar, {t.data(), out.data()});
  EXPECT_EQ(values_of<float>(out)[0], 6);
}

// Kernels that differ in extents only share their code.
TEST(LoopCode, IdenticalKernelsCompileOnce) {
  Graph g;
  for (int64_t n : {100, 200, 300}) {
    ExprBuilder b;
    int32_t x = b.load(DType::f32, 0, identity({n}));
    int32_t node = b.op(OpKind::add, DType::f32, x, x);
    g.add(loop({n}, b.expr, {{node, identity({n})}}), {DType::f32}, {DType::f32});
  }
  CpuCompiler compiler;
  ASSERT_TRUE(compiler.add(g.graph).ok());
  ASSERT_TRUE(compiler.compile().ok());
  EXPECT_EQ(compiler.distinct(), 1u);
  EXPECT_EQ(compiler.kernels(g.graph).size(), 3u);
}

TEST(LoopCode, ComplexIsRefused) {
  Graph g;
  ExprBuilder b;
  int32_t x = b.load(DType::c64, 0, identity({4}));
  g.add(loop({4}, b.expr, {{b.op(OpKind::add, DType::c64, x, x), identity({4})}}), {DType::c64},
        {DType::c64});
  auto result = compile_kernels(g.graph, {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(to_string(result.diagnostics()).find("c64"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Levels, Loops, ::testing::ValuesIn(levels()), level_name);

}  // namespace
}  // namespace ullage
