// Reductions: values, the documented order, equal bits for threads and pieces.
#include "kernels/reduction.h"

#include <cmath>
#include <numeric>

#include "kernel_testing.h"

namespace ullage {
namespace {

using namespace testing_cpu;

// Reduces dimensions of a row-major operand of `shape`, with an optional square as prologue.
LoopKernel reduction(const std::vector<int64_t>& shape, const std::vector<bool>& reduced,
                     OpKind combiner, DType dtype, uint64_t initial_bits, bool square = false) {
  std::vector<int> order;  // loop dimension d is operand dimension order[d]
  for (int pass = 0; pass < 2; ++pass)
    for (size_t d = 0; d < shape.size(); ++d)
      if (reduced[d] == (pass == 1)) order.push_back(static_cast<int>(d));
  LoopKernel kernel;
  std::vector<int64_t> strides = row_major_strides(shape);
  Access load, store;
  std::vector<int64_t> results;
  for (int d : order) {
    size_t at = static_cast<size_t>(d);
    kernel.extents.push_back(shape[at]);
    kernel.roles.push_back(reduced[at] ? LoopRole::reduced : LoopRole::parallel);
    load.affine.coefficients.push_back(strides[at]);
    if (!reduced[at]) results.push_back(shape[at]);
  }
  store.affine.coefficients = row_major_strides(results);
  store.affine.coefficients.resize(shape.size(), 0);
  ExprBuilder b;
  int32_t x = b.load(dtype, 0, load);
  if (square) x = b.op(OpKind::multiply, dtype, x, x);
  int32_t initial = b.constant(dtype, initial_bits);
  kernel.expr = b.expr;
  kernel.outputs = {{x, store}};
  kernel.reduction = LoopKernel::Reduction{{initial}, combiner, {}, {}};
  return kernel;
}

// The order that kernels/reduction.h documents, by hand, for operands whose reduced dimensions are
// leading or trailing.
float documented_sum(const std::vector<float>& row, const ReductionPlan& plan, int64_t rows,
                     float initial) {
  int64_t width = static_cast<int64_t>(row.size()) / rows;
  float total = initial;
  for (int64_t from = 0; from < rows; from += plan.block_rows) {
    int64_t to = std::min(rows, from + plan.block_rows);
    float block = -0.0f;
    if (plan.form == ReductionForm::columns) {
      for (int64_t i = from * width; i < to * width; ++i) block += row[static_cast<size_t>(i)];
    } else {
      float lanes[64];
      std::fill(lanes, lanes + 64, -0.0f);
      for (int64_t i = from * width; i < to * width; ++i)
        lanes[(i - from * width) % 64] += row[static_cast<size_t>(i)];
      float vector[16];
      for (int i = 0; i < 16; ++i)
        vector[i] = (lanes[i] + lanes[16 + i]) + (lanes[32 + i] + lanes[48 + i]);
      for (int half = 8; half >= 1; half /= 2)
        for (int i = 0; i < half; ++i) vector[i] = vector[i] + vector[i + half];
      block = vector[0];
    }
    total += block;
  }
  return total;
}

std::vector<float> noise(size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> v(count);
  for (float& x : v) x = normal(random);
  return v;
}

uint64_t bits(float v) {
  return std::bit_cast<uint32_t>(v);
}

class Reductions : public ::testing::TestWithParam<IsaLevel> {};

TEST_P(Reductions, SumsInTheDocumentedOrder) {
  struct Shape {
    std::vector<int64_t> shape;
    std::vector<bool> reduced;
  };
  const std::vector<Shape> shapes = {{{5, 1000}, {false, true}},
                                     {{1000, 5}, {true, false}},
                                     {{700, 333}, {true, false}},
                                     {{333, 700}, {false, true}},
                                     {{3, 300, 50}, {false, true, false}},
                                     {{4097}, {true}},
                                     {{200000}, {true}},
                                     {{100000, 3}, {true, false}},
                                     {{3, 100000}, {false, true}},
                                     {{40, 7}, {false, true}},
                                     {{2, 30000, 40}, {false, true, false}},
                                     {{17, 1}, {false, true}},
                                     {{1, 1}, {true, true}},
                                     {{4, 0}, {false, true}},
                                     {{3000, 2100}, {true, false}}};
  Graph g;
  std::vector<size_t> kernels;
  std::vector<LoopKernel> loops;
  for (const Shape& s : shapes) {
    loops.push_back(reduction(s.shape, s.reduced, OpKind::add, DType::f32, bits(0.5f)));
    kernels.push_back(g.add(loops.back(), {DType::f32}, {DType::f32}));
  }
  g.compile(GetParam());
  for (size_t c = 0; c < shapes.size(); ++c) {
    const Shape& s = shapes[c];
    ReductionPlan plan = plan_reduction(loops[c]);
    int64_t total = 1, results = 1, rows = -1;
    for (size_t d = 0; d < s.shape.size(); ++d) {
      total *= s.shape[d];
      if (!s.reduced[d])
        results *= s.shape[d];
      else if (rows < 0)
        rows = s.shape[d];
    }
    std::vector<float> x = noise(static_cast<size_t>(total));
    Bytes in = bytes_of(x), out(static_cast<size_t>(results) * 4), out2 = out,
          scratch(static_cast<size_t>(plan.scratch_bytes));
    KernelCall call;
    call.scratch = scratch.data();
    g.run(kernels[c], {in.data(), out.data()}, call, 1);
    g.run(kernels[c], {in.data(), out2.data()}, call, 2);
    EXPECT_EQ(out, out2) << "threads change bits, shape " << c;
    std::vector<float> got = values_of<float>(out);
    // Element r of result p, in row-major order of the reduced dimensions.
    int64_t inner = 1;  // results after the reduced dimensions
    for (size_t d = s.shape.size(); d-- > 0 && !s.reduced[d];) inner *= s.shape[d];
    int64_t length = results == 0 ? 0 : total / results;
    for (int64_t p = 0; p < results; ++p) {
      std::vector<float> row;
      for (int64_t r = 0; r < length; ++r)
        row.push_back(x[static_cast<size_t>((p / inner * length + r) * inner + p % inner)]);
      float want = documented_sum(row, plan, std::max<int64_t>(rows, 1), 0.5f);
      if (rows == 0) want = 0.5f;
      ASSERT_EQ(got[static_cast<size_t>(p)], want)
          << "shape " << c << " result " << p << " form " << static_cast<int>(plan.form);
    }
    // Pieces of the reduced dimension, continued.
    if (rows > 512) {
      Bytes pieces(out.size());
      for (int64_t from = 0; from < rows; from += 512) {
        KernelCall part = call;
        part.axis = KernelCall::Axis::contracted;
        part.lower = from;
        part.upper = std::min(rows, from + 512);
        part.accumulate = from > 0;
        g.run(kernels[c], {in.data(), pieces.data()}, part, 2);
      }
      EXPECT_EQ(pieces, out) << "pieces of the reduced dimension change bits, shape " << c;
    }
    // Pieces of the first parallel dimension.
    if (loops[c].roles[0] == LoopRole::parallel && loops[c].extents[0] > 1) {
      Bytes pieces(out.size());
      int64_t extent = loops[c].extents[0], step = std::max<int64_t>(1, extent / 3);
      for (int64_t from = 0; from < extent; from += step) {
        KernelCall part = call;
        part.axis = KernelCall::Axis::parallel;
        part.lower = from;
        part.upper = std::min(extent, from + step);
        g.run(kernels[c], {in.data(), pieces.data()}, part, 2);
      }
      EXPECT_EQ(pieces, out) << "pieces of rows change bits, shape " << c;
    }
  }
}

template <typename T>
void check_combiner(IsaLevel isa, OpKind op, DType dtype, T initial, T (*reference)(T, T)) {
  for (const auto& shape : {std::vector<int64_t>{90, 70}, std::vector<int64_t>{70, 90}}) {
    for (bool leading : {true, false}) {
      uint64_t initial_bits = 0;
      std::memcpy(&initial_bits, &initial, sizeof initial);
      LoopKernel kernel = reduction(shape, {leading, !leading}, op, dtype, initial_bits);
      Graph g;
      size_t k = g.add(kernel, {dtype}, {dtype});
      g.compile(isa);
      size_t count = static_cast<size_t>(shape[0] * shape[1]);
      std::vector<T> x(count);
      std::mt19937 random(11);
      for (T& v : x) {
        if constexpr (std::is_same_v<T, uint8_t>)
          v = dtype == DType::i1 ? random() % 50 == 0 : static_cast<T>(random());
        else
          v = static_cast<T>(static_cast<int>(random() % 2001) - 1000);
      }
      if constexpr (std::is_floating_point_v<T>) x[123] = std::numeric_limits<T>::quiet_NaN();
      int64_t results = leading ? shape[1] : shape[0];
      Bytes in = bytes_of(x), out(static_cast<size_t>(results) * sizeof(T));
      g.run(k, {in.data(), out.data()});
      std::vector<T> got = values_of<T>(out);
      for (int64_t p = 0; p < results; ++p) {
        T want = initial;
        for (int64_t r = 0; r < (leading ? shape[0] : shape[1]); ++r)
          want = reference(want,
                           x[static_cast<size_t>(leading ? r * shape[1] + p : p * shape[1] + r)]);
        if (want != want) {
          ASSERT_TRUE(got[static_cast<size_t>(p)] != got[static_cast<size_t>(p)]) << info(op).name;
          continue;
        }
        ASSERT_EQ(got[static_cast<size_t>(p)], want)
            << info(op).name << " on " << name(dtype) << " result " << p;
      }
    }
  }
}

TEST_P(Reductions, Combiners) {
  IsaLevel isa = GetParam();
  check_combiner<float>(isa, OpKind::maximum, DType::f32, -INFINITY,
                        [](float a, float b) { return a != a || b != b ? NAN : std::max(a, b); });
  check_combiner<float>(isa, OpKind::minimum, DType::f32, INFINITY,
                        [](float a, float b) { return a != a || b != b ? NAN : std::min(a, b); });
  check_combiner<int32_t>(isa, OpKind::add, DType::i32, 5,
                          [](int32_t a, int32_t b) { return a + b; });
  check_combiner<int32_t>(isa, OpKind::maximum, DType::i32, INT32_MIN,
                          [](int32_t a, int32_t b) { return std::max(a, b); });
  check_combiner<int64_t>(isa, OpKind::minimum, DType::i64, INT64_MAX,
                          [](int64_t a, int64_t b) { return std::min(a, b); });
  check_combiner<int8_t>(isa, OpKind::maximum, DType::i8, -128,
                         [](int8_t a, int8_t b) { return std::max(a, b); });
  check_combiner<uint32_t>(isa, OpKind::multiply, DType::ui32, 1,
                           [](uint32_t a, uint32_t b) { return a * b; });
  check_combiner<uint8_t>(isa, OpKind::xor_, DType::ui8, 3,
                          [](uint8_t a, uint8_t b) { return static_cast<uint8_t>(a ^ b); });
  check_combiner<uint8_t>(isa, OpKind::or_, DType::i1, 0,
                          [](uint8_t a, uint8_t b) { return static_cast<uint8_t>(a | b); });
  check_combiner<uint8_t>(isa, OpKind::and_, DType::i1, 1,
                          [](uint8_t a, uint8_t b) { return static_cast<uint8_t>(a & b); });
  check_combiner<double>(isa, OpKind::maximum, DType::f64, -INFINITY, [](double a, double b) {
    return a != a || b != b ? NAN : std::max(a, b);
  });
}

// bf16 is summed in f32 and rounded once; in one phase and split into blocks.
TEST_P(Reductions, BrainFloatsAreRoundedOnce) {
  for (int64_t n : {700, 200000})
    for (int64_t columns : {1, 3}) {
      std::vector<int64_t> shape = {n, columns};
      LoopKernel kernel = reduction(shape, {true, false}, OpKind::add, DType::bf16, 0);
      ReductionPlan plan = plan_reduction(kernel);
      Graph g;
      size_t k = g.add(kernel, {DType::bf16}, {DType::bf16});
      g.compile(GetParam());
      std::vector<float> x = noise(static_cast<size_t>(n * columns));
      std::vector<uint16_t> narrow;
      for (float& v : x) narrow.push_back(to_bf16(v)), v = from_bf16(narrow.back());
      Bytes in = bytes_of(narrow), out(static_cast<size_t>(columns) * 2),
            scratch(static_cast<size_t>(plan.scratch_bytes));
      KernelCall call;
      call.scratch = scratch.data();
      g.run(k, {in.data(), out.data()}, call, 2);
      std::vector<uint16_t> got = values_of<uint16_t>(out);
      for (int64_t c = 0; c < columns; ++c) {
        std::vector<float> column;
        for (int64_t r = 0; r < n; ++r) column.push_back(x[static_cast<size_t>(r * columns + c)]);
        EXPECT_EQ(got[static_cast<size_t>(c)], to_bf16(documented_sum(column, plan, n, 0)));
      }
    }
}

// argmax: two outputs and a body with comparisons.
TEST_P(Reductions, GeneralBody) {
  for (bool leading : {true, false}) {
    std::vector<int64_t> shape = {45, 77};
    int64_t results = shape[leading ? 1 : 0], length = shape[leading ? 0 : 1];
    std::vector<int64_t> extents = {results, length};
    Access load{{0, {leading ? 1 : shape[1], leading ? shape[1] : 1}}, {}};
    ExprBuilder b;
    int32_t x = b.load(DType::f32, 0, load);
    int32_t index = b.index(DType::i32, {0, {0, 1}});
    LoopKernel kernel;
    kernel.reduction.emplace();
    kernel.reduction->initial = {b.constant(DType::f32, -INFINITY),
                                 b.constant(DType::i32, int32_t{0})};
    kernel.extents = extents;
    kernel.roles = {LoopRole::parallel, LoopRole::reduced};
    kernel.expr = b.expr;
    kernel.outputs = {{x, {{0, {1, 0}}, {}}}, {index, {{0, {1, 0}}, {}}}};
    ExprBuilder body;
    int32_t a0 = body.parameter(DType::f32, 0), a1 = body.parameter(DType::i32, 1);
    int32_t e0 = body.parameter(DType::f32, 2), e1 = body.parameter(DType::i32, 3);
    int32_t keep = body.compare(CompareDirection::ge, a0, e0);
    kernel.reduction->body_results = {body.op(OpKind::select, DType::f32, keep, a0, e0),
                                      body.op(OpKind::select, DType::i32, keep, a1, e1)};
    kernel.reduction->body = body.expr;
    Graph g;
    size_t k = g.add(kernel, {DType::f32}, {DType::f32, DType::i32});
    g.compile(GetParam());
    std::vector<float> v = noise(static_cast<size_t>(shape[0] * shape[1]));
    Bytes in = bytes_of(v), out0(static_cast<size_t>(results) * 4), out1 = out0;
    g.run(k, {in.data(), out0.data(), out1.data()}, {}, 2);
    std::vector<float> most = values_of<float>(out0);
    std::vector<int32_t> where = values_of<int32_t>(out1);
    for (int64_t p = 0; p < results; ++p) {
      int64_t best = 0;
      auto at = [&](int64_t r) {
        return v[static_cast<size_t>(leading ? r * shape[1] + p : p * shape[1] + r)];
      };
      for (int64_t r = 1; r < length; ++r)
        if (at(r) > at(best)) best = r;
      EXPECT_EQ(where[static_cast<size_t>(p)], best);
      EXPECT_EQ(most[static_cast<size_t>(p)], at(best));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Reductions, ::testing::ValuesIn(levels()), level_name);

}  // namespace
}  // namespace ullage
