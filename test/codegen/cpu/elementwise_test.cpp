// Every elementwise operation on every dtype, against scalar references written from the
// specification.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "kernel_testing.h"

namespace ullage {
namespace {

using namespace testing_cpu;

// Edge values first, then random ones: `count` in all.
template <typename T>
std::vector<T> samples(size_t count, uint64_t seed) {
  std::vector<T> values;
  std::mt19937_64 random(seed);
  using L = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    for (T v : {T(0),
                T(-0.0),
                T(1),
                T(-1),
                L::infinity(),
                -L::infinity(),
                L::quiet_NaN(),
                L::max(),
                L::lowest(),
                L::min(),
                L::denorm_min(),
                T(0.5),
                T(-0.5),
                T(1.5),
                T(2.5),
                T(-2.5),
                T(3),
                T(1e10),
                T(-1e10),
                T(0.49999997f)})
      values.push_back(v);
  } else {
    for (T v : {T(0), T(1), T(-1), L::max(), L::min(), T(2), T(3), T(7), T(31), T(32), T(33), T(5)})
      values.push_back(v);
  }
  std::shuffle(values.begin(), values.end(), random);
  while (values.size() < count) {
    if constexpr (std::is_floating_point_v<T>) {
      values.push_back(static_cast<T>(std::normal_distribution<double>(0, 4)(random)));
    } else {
      values.push_back(static_cast<T>(random() >> (random() % 3 == 0 ? 60 : 0)));
    }
  }
  return values;
}

template <typename T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return a != a && b != b;
    return a == b && std::signbit(a) == std::signbit(b);
  }
  return a == b;
}

// One operation on one dtype: `reference` on all pairs of samples.
struct Case {
  std::string name;
  size_t kernel = 0;
  std::function<void(const Graph&, const Case&)> check;
};

class Cases {
 public:
  Graph graph;
  std::vector<Case> cases;

  template <typename T, typename R, typename F>
  void add(const char* label, DType dtype, DType result, const F& make_node,
           std::function<R(T, T)> reference, double tolerance_ulp = 0) {
    const size_t count = 1031;
    std::vector<T> xs = samples<T>(count, 1), ys = samples<T>(count, 2);
    for (size_t i = 40; i < 300; ++i) xs[i] = xs[i % 20], ys[i] = ys[i / 13];
    std::vector<int64_t> extents = {static_cast<int64_t>(count)};
    ExprBuilder b;
    int32_t x = b.load(dtype, 0, identity(extents)), y = b.load(dtype, 1, identity(extents));
    int32_t node = make_node(b, x, y);
    Case c;
    c.name =
        std::string(label) + " " + std::string(name(dtype)) + " to " + std::string(name(result));
    c.kernel =
        graph.add(loop(extents, b.expr, {{node, identity(extents)}}), {dtype, dtype}, {result});
    c.check = [=](const Graph& g, const Case& self) {
      Bytes in0 = bytes_of(xs), in1 = bytes_of(ys), out(count * sizeof(R));
      g.run(self.kernel, {in0.data(), in1.data(), out.data()});
      std::vector<R> got = values_of<R>(out);
      for (size_t i = 0; i < count; ++i) {
        R want = reference(xs[i], ys[i]);
        bool fine = same(got[i], want);
        if constexpr (std::is_floating_point_v<R>)
          if (!fine && tolerance_ulp > 0)
            fine = std::fabs(got[i] - want) <=
                   tolerance_ulp * std::fabs(want) * std::numeric_limits<R>::epsilon();
        ASSERT_TRUE(fine) << self.name << " at " << +xs[i] << ", " << +ys[i] << " gives " << +got[i]
                          << ", not " << +want;
      }
    };
    cases.push_back(std::move(c));
  }

  template <typename T>
  void binary(DType dtype, OpKind op, std::function<T(T, T)> reference) {
    add<T, T>(
        info(op).name.data(), dtype, dtype,
        [=](ExprBuilder& b, int32_t x, int32_t y) { return b.op(op, dtype, x, y); }, reference);
  }
  template <typename T>
  void unary(DType dtype, OpKind op, std::function<T(T)> reference) {
    add<T, T>(
        info(op).name.data(), dtype, dtype,
        [=](ExprBuilder& b, int32_t x, int32_t) { return b.op(op, dtype, x); },
        [=](T x, T) { return reference(x); });
  }
  template <typename T>
  void compares(DType dtype) {
    using D = CompareDirection;
    auto one = [&](D direction, auto f) {
      add<T, uint8_t>(
          "compare", dtype, DType::i1,
          [=](ExprBuilder& b, int32_t x, int32_t y) { return b.compare(direction, x, y); },
          [=](T x, T y) { return static_cast<uint8_t>(f(x, y)); });
    };
    one(D::eq, [](T x, T y) { return x == y; });
    one(D::ne, [](T x, T y) { return x != y; });
    one(D::lt, [](T x, T y) { return x < y; });
    one(D::le, [](T x, T y) { return x <= y; });
    one(D::gt, [](T x, T y) { return x > y; });
    one(D::ge, [](T x, T y) { return x >= y; });
  }
  void run_all(IsaLevel isa) {
    double ms = graph.compile(isa);
    ASSERT_EQ(graph.compiled.size(), graph.graph.kernels.size());
    std::printf("%zu kernels, %.2f ms each\n", cases.size(),
                ms / static_cast<double>(cases.size()));
    for (const Case& c : cases) {
      c.check(graph, c);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
};

template <typename T>
void integers(Cases& c, DType dtype) {
  using U = std::make_unsigned_t<T>;
  constexpr bool is_signed = std::is_signed_v<T>;
  constexpr int width = sizeof(T) * 8;
  using Wide = uint64_t;
  c.binary<T>(dtype, OpKind::add,
              [](T x, T y) { return static_cast<T>(static_cast<U>(x) + static_cast<U>(y)); });
  c.binary<T>(dtype, OpKind::subtract,
              [](T x, T y) { return static_cast<T>(static_cast<U>(x) - static_cast<U>(y)); });
  c.binary<T>(dtype, OpKind::multiply,
              [](T x, T y) { return static_cast<T>(static_cast<Wide>(x) * static_cast<Wide>(y)); });
  c.binary<T>(dtype, OpKind::divide, [](T x, T y) -> T {
    if (y == 0) return static_cast<T>(-1);
    if (is_signed && y == static_cast<T>(-1)) return static_cast<T>(0 - static_cast<U>(x));
    return static_cast<T>(x / y);
  });
  c.binary<T>(dtype, OpKind::remainder, [](T x, T y) -> T {
    if (y == 0) return x;
    if (is_signed && y == static_cast<T>(-1)) return 0;
    return static_cast<T>(x % y);
  });
  c.binary<T>(dtype, OpKind::power, [](T x, T y) -> T {
    if (is_signed && y < 0)
      return x == 1 ? 1 : x == static_cast<T>(-1) ? static_cast<T>(y & 1 ? -1 : 1) : 0;
    Wide result = 1, square = static_cast<Wide>(static_cast<U>(x));
    for (U e = static_cast<U>(y); e; e >>= 1, square = static_cast<U>(square * square))
      if (e & 1) result = static_cast<U>(result * square);
    return static_cast<T>(result);
  });
  c.binary<T>(dtype, OpKind::maximum, [](T x, T y) { return std::max(x, y); });
  c.binary<T>(dtype, OpKind::minimum, [](T x, T y) { return std::min(x, y); });
  c.binary<T>(dtype, OpKind::and_, [](T x, T y) { return static_cast<T>(x & y); });
  c.binary<T>(dtype, OpKind::or_, [](T x, T y) { return static_cast<T>(x | y); });
  c.binary<T>(dtype, OpKind::xor_, [](T x, T y) { return static_cast<T>(x ^ y); });
  c.binary<T>(dtype, OpKind::shift_left, [](T x, T y) {
    return static_cast<U>(y) < width ? static_cast<T>(static_cast<U>(x) << static_cast<U>(y))
                                     : T(0);
  });
  c.binary<T>(dtype, OpKind::shift_right_logical, [](T x, T y) {
    return static_cast<U>(y) < width ? static_cast<T>(static_cast<U>(x) >> static_cast<U>(y))
                                     : T(0);
  });
  c.binary<T>(dtype, OpKind::shift_right_arithmetic, [](T x, T y) {
    auto s = static_cast<std::make_signed_t<T>>(x);
    return static_cast<T>(s >> std::min<U>(static_cast<U>(y), width - 1));
  });
  c.unary<T>(dtype, OpKind::negate, [](T x) { return static_cast<T>(0 - static_cast<U>(x)); });
  c.unary<T>(dtype, OpKind::not_, [](T x) { return static_cast<T>(~x); });
  c.unary<T>(dtype, OpKind::abs,
             [](T x) { return is_signed && x < 0 ? static_cast<T>(0 - static_cast<U>(x)) : x; });
  c.unary<T>(dtype, OpKind::sign,
             [](T x) -> T { return is_signed && x < 0 ? static_cast<T>(-1) : T(x != 0); });
  c.unary<T>(dtype, OpKind::popcnt,
             [](T x) { return static_cast<T>(std::popcount(static_cast<U>(x))); });
  c.unary<T>(dtype, OpKind::count_leading_zeros,
             [](T x) { return static_cast<T>(std::countl_zero(static_cast<U>(x))); });
  c.compares<T>(dtype);
}

template <typename T>
void floats(Cases& c, DType dtype) {
  auto maximum = [](T x, T y) -> T {
    if (x != x || y != y) return std::numeric_limits<T>::quiet_NaN();
    if (x == 0 && y == 0) return std::signbit(x) ? y : x;
    return std::max(x, y);
  };
  auto minimum = [](T x, T y) -> T {
    if (x != x || y != y) return std::numeric_limits<T>::quiet_NaN();
    if (x == 0 && y == 0) return std::signbit(x) ? x : y;
    return std::min(x, y);
  };
  c.binary<T>(dtype, OpKind::add, [](T x, T y) { return x + y; });
  c.binary<T>(dtype, OpKind::subtract, [](T x, T y) { return x - y; });
  c.binary<T>(dtype, OpKind::multiply, [](T x, T y) { return x * y; });
  c.binary<T>(dtype, OpKind::divide, [](T x, T y) { return x / y; });
  c.binary<T>(dtype, OpKind::remainder, [](T x, T y) { return std::fmod(x, y); });
  c.binary<T>(dtype, OpKind::maximum, maximum);
  c.binary<T>(dtype, OpKind::minimum, minimum);
  c.binary<T>(dtype, OpKind::chlo_next_after, [](T x, T y) { return std::nextafter(x, y); });
  c.unary<T>(dtype, OpKind::abs, [](T x) { return std::fabs(x); });
  c.unary<T>(dtype, OpKind::negate, [](T x) { return -x; });
  c.unary<T>(dtype, OpKind::ceil, [](T x) { return std::ceil(x); });
  c.unary<T>(dtype, OpKind::floor, [](T x) { return std::floor(x); });
  c.unary<T>(dtype, OpKind::round_nearest_afz, [](T x) { return std::round(x); });
  c.unary<T>(dtype, OpKind::round_nearest_even, [](T x) { return std::nearbyint(x); });
  c.unary<T>(dtype, OpKind::sqrt, [](T x) { return std::sqrt(x); });
  c.unary<T>(dtype, OpKind::rsqrt, [](T x) { return T(1) / std::sqrt(x); });
  c.unary<T>(dtype, OpKind::sign,
             [](T x) { return x != x || x == 0 ? x : std::copysign(T(1), x); });
  c.unary<T>(dtype, OpKind::chlo_square, [](T x) { return x * x; });
  c.compares<T>(dtype);
  auto test = [&](OpKind op, auto f) {
    c.add<T, uint8_t>(
        info(op).name.data(), dtype, DType::i1,
        [=](ExprBuilder& b, int32_t x, int32_t) { return b.op(op, DType::i1, x); },
        [=](T x, T) { return static_cast<uint8_t>(f(x)); });
  };
  test(OpKind::is_finite, [](T x) { return std::isfinite(x); });
  test(OpKind::chlo_is_inf, [](T x) { return std::isinf(x); });
  test(OpKind::chlo_is_pos_inf, [](T x) { return std::isinf(x) && x > 0; });
  test(OpKind::chlo_is_neg_inf, [](T x) { return std::isinf(x) && x < 0; });
  using I = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  c.add<T, uint8_t>(
      "total order", dtype, DType::i1,
      [](ExprBuilder& b, int32_t x, int32_t y) {
        return b.compare(CompareDirection::lt, x, y, CompareType::totalorder);
      },
      [](T x, T y) {
        auto key = [](T v) {
          I bits = std::bit_cast<I>(v);
          return bits < 0 ? static_cast<I>(std::numeric_limits<I>::min() - bits - 1) : bits;
        };
        return static_cast<uint8_t>(key(x) < key(y));
      });
  c.add<T, T>(
      "clamp", dtype, dtype,
      [=](ExprBuilder& b, int32_t x, int32_t y) {
        return b.op(OpKind::clamp, dtype, b.constant(dtype, T(-1.5)), x, y);
      },
      [=](T x, T y) { return minimum(maximum(T(-1.5), x), y); });
  c.add<T, T>(
      "select", dtype, dtype,
      [=](ExprBuilder& b, int32_t x, int32_t y) {
        return b.op(OpKind::select, dtype, b.compare(CompareDirection::lt, x, y), x, y);
      },
      [](T x, T y) { return x < y ? x : y; });
}

template <typename From, typename To>
To convert_reference(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (x != x) return 0;
    using L = std::numeric_limits<To>;
    if (x <= static_cast<From>(L::min())) return L::min();
    if (x >= static_cast<From>(L::max())) return L::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <typename From, typename To>
void conversion(Cases& c, DType from, DType to) {
  c.add<From, To>(
      "convert", from, to,
      [=](ExprBuilder& b, int32_t x, int32_t) { return b.op(OpKind::convert, to, x); },
      [](From x, From) { return convert_reference<From, To>(x); });
}

template <typename From>
void conversions(Cases& c, DType from) {
  conversion<From, int8_t>(c, from, DType::i8);
  conversion<From, int16_t>(c, from, DType::i16);
  conversion<From, int32_t>(c, from, DType::i32);
  conversion<From, int64_t>(c, from, DType::i64);
  conversion<From, uint8_t>(c, from, DType::ui8);
  conversion<From, uint16_t>(c, from, DType::ui16);
  conversion<From, uint32_t>(c, from, DType::ui32);
  conversion<From, uint64_t>(c, from, DType::ui64);
  conversion<From, float>(c, from, DType::f32);
  conversion<From, double>(c, from, DType::f64);
  c.add<From, uint8_t>(
      "convert", from, DType::i1,
      [=](ExprBuilder& b, int32_t x, int32_t) { return b.op(OpKind::convert, DType::i1, x); },
      [](From x, From) { return static_cast<uint8_t>(x != 0); });
  c.add<From, uint16_t>(
      "convert", from, DType::bf16,
      [=](ExprBuilder& b, int32_t x, int32_t) { return b.op(OpKind::convert, DType::bf16, x); },
      [](From x, From) -> uint16_t {
        // Rounded once: truncate to odd on the way.
        long double exact = static_cast<long double>(x);
        float f = static_cast<float>(exact);
        if (f != f) return to_bf16(f);
        uint32_t bits = std::bit_cast<uint32_t>(f);
        if (static_cast<long double>(f) != exact && std::isfinite(f)) {
          if (std::fabs(static_cast<long double>(f)) > std::fabs(exact)) --bits;
          bits |= 1;
        }
        return std::isinf(f) && std::isfinite(exact) ? to_bf16(f)
                                                     : to_bf16(std::bit_cast<float>(bits));
      });
}

class Elementwise : public ::testing::TestWithParam<IsaLevel> {};

TEST_P(Elementwise, SignedIntegers) {
  Cases c;
  integers<int8_t>(c, DType::i8);
  integers<int16_t>(c, DType::i16);
  integers<int32_t>(c, DType::i32);
  integers<int64_t>(c, DType::i64);
  c.run_all(GetParam());
}

TEST_P(Elementwise, UnsignedIntegers) {
  Cases c;
  integers<uint8_t>(c, DType::ui8);
  integers<uint16_t>(c, DType::ui16);
  integers<uint32_t>(c, DType::ui32);
  integers<uint64_t>(c, DType::ui64);
  c.run_all(GetParam());
}

TEST_P(Elementwise, Floats) {
  Cases c;
  floats<float>(c, DType::f32);
  floats<double>(c, DType::f64);
  c.run_all(GetParam());
}

TEST_P(Elementwise, Conversions) {
  Cases c;
  conversions<int8_t>(c, DType::i8);
  conversions<int32_t>(c, DType::i32);
  conversions<int64_t>(c, DType::i64);
  conversions<uint16_t>(c, DType::ui16);
  conversions<uint32_t>(c, DType::ui32);
  conversions<uint64_t>(c, DType::ui64);
  conversions<float>(c, DType::f32);
  conversions<double>(c, DType::f64);
  c.run_all(GetParam());
}

// Arithmetic on bf16 and f16 is that of f32, rounded after every operation.
TEST_P(Elementwise, SmallFloats) {
  const size_t count = 65536;
  std::vector<uint16_t> x(count), y(count);
  std::mt19937 random(3);
  for (size_t i = 0; i < count; ++i)
    x[i] = static_cast<uint16_t>(i), y[i] = static_cast<uint16_t>(random());
  std::vector<int64_t> extents = {static_cast<int64_t>(count)};
  Graph g;
  struct Row {
    OpKind op;
    float (*reference)(float, float);
  };
  const Row rows[] = {
      {OpKind::add, [](float a, float b) { return a + b; }},
      {OpKind::multiply, [](float a, float b) { return a * b; }},
      {OpKind::divide, [](float a, float b) { return a / b; }},
      {OpKind::sqrt, [](float a, float) { return std::sqrt(a); }},
      {OpKind::negate, [](float a, float) { return -a; }},
  };
  auto from_f16 = [](uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); };
  auto to_f16 = [](float v) { return std::bit_cast<uint16_t>(static_cast<_Float16>(v)); };
  for (DType dtype : {DType::bf16, DType::f16})
    for (const Row& row : rows) {
      ExprBuilder b;
      int32_t a = b.load(dtype, 0, identity(extents)), second = b.load(dtype, 1, identity(extents));
      bool unary = info(row.op).operands == 1;
      int32_t node = b.op(row.op, dtype, a, unary ? -1 : second);
      // A second rounding operation, so that a missing rounding in between would show.
      node = b.op(OpKind::add, dtype, node, second);
      g.add(loop(extents, b.expr, {{node, identity(extents)}}), {dtype, dtype}, {dtype});
    }
  g.compile(GetParam());
  Bytes in0 = bytes_of(x), in1 = bytes_of(y);
  for (size_t k = 0; k < g.compiled.size(); ++k) {
    Bytes out(count * 2);
    g.run(k, {in0.data(), in1.data(), out.data()});
    std::vector<uint16_t> got = values_of<uint16_t>(out);
    const Row& row = rows[k % std::size(rows)];
    bool brain = k < std::size(rows);
    auto widen = [&](uint16_t bits) { return brain ? from_bf16(bits) : from_f16(bits); };
    auto narrow = [&](float v) { return brain ? to_bf16(v) : to_f16(v); };
    for (size_t i = 0; i < count; ++i) {
      float first = widen(narrow(row.reference(widen(x[i]), widen(y[i]))));
      float want = widen(narrow(first + widen(y[i])));
      float have = widen(got[i]);
      ASSERT_TRUE(same(have, want))
          << info(row.op).name << (brain ? " bf16 " : " f16 ") << widen(x[i]) << ", " << widen(y[i])
          << " gives " << have << ", not " << want;
    }
  }
}

TEST_P(Elementwise, Booleans) {
  std::vector<uint8_t> x = {0, 0, 1, 1}, y = {0, 1, 0, 1};
  std::vector<int64_t> extents = {4};
  Graph g;
  struct Row {
    OpKind op;
    std::vector<uint8_t> want;
  };
  const std::vector<Row> rows = {{OpKind::add, {0, 1, 1, 1}},     {OpKind::multiply, {0, 0, 0, 1}},
                                 {OpKind::and_, {0, 0, 0, 1}},    {OpKind::or_, {0, 1, 1, 1}},
                                 {OpKind::xor_, {0, 1, 1, 0}},    {OpKind::maximum, {0, 1, 1, 1}},
                                 {OpKind::minimum, {0, 0, 0, 1}}, {OpKind::not_, {1, 1, 0, 0}}};
  for (const Row& row : rows) {
    ExprBuilder b;
    int32_t a = b.load(DType::i1, 0, identity(extents)),
            c = b.load(DType::i1, 1, identity(extents));
    int32_t node = b.op(row.op, DType::i1, a, row.op == OpKind::not_ ? -1 : c);
    g.add(loop(extents, b.expr, {{node, identity(extents)}}), {DType::i1, DType::i1}, {DType::i1});
  }
  g.compile(GetParam());
  Bytes in0 = bytes_of(x), in1 = bytes_of(y);
  for (size_t k = 0; k < rows.size(); ++k) {
    Bytes out(4);
    g.run(k, {in0.data(), in1.data(), out.data()});
    EXPECT_EQ(values_of<uint8_t>(out), rows[k].want) << info(rows[k].op).name;
  }
}

// i4 and ui4 wrap at four bits and are kept one to a byte.
TEST_P(Elementwise, FourBits) {
  std::vector<int8_t> x, y;
  for (int a = -8; a < 8; ++a)
    for (int b = -8; b < 8; ++b)
      x.push_back(static_cast<int8_t>(a)), y.push_back(static_cast<int8_t>(b));
  std::vector<int64_t> extents = {256};
  Graph g;
  auto wrap = [](int v) { return static_cast<int8_t>(((v & 15) ^ 8) - 8); };
  for (OpKind op : {OpKind::add, OpKind::multiply, OpKind::shift_right_logical}) {
    ExprBuilder b;
    int32_t node = b.op(op, DType::i4, b.load(DType::i4, 0, identity(extents)),
                        b.load(DType::i4, 1, identity(extents)));
    g.add(loop(extents, b.expr, {{node, identity(extents)}}), {DType::i4, DType::i4}, {DType::i4});
  }
  g.compile(GetParam());
  Bytes in0 = bytes_of(x), in1 = bytes_of(y);
  for (size_t k = 0; k < 3; ++k) {
    Bytes out(256);
    g.run(k, {in0.data(), in1.data(), out.data()});
    std::vector<int8_t> got = values_of<int8_t>(out);
    for (size_t i = 0; i < 256; ++i) {
      int shift = y[i] & 15;
      int want = k == 0 ? x[i] + y[i] : k == 1 ? x[i] * y[i] : shift < 4 ? (x[i] & 15) >> shift : 0;
      EXPECT_EQ(got[i], wrap(want)) << k << ": " << +x[i] << ", " << +y[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Elementwise, ::testing::ValuesIn(levels()), level_name);

}  // namespace
}  // namespace ullage
