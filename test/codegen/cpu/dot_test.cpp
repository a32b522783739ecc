// Products: every layout and dtype against a reference that sums in the documented order;
// prologues, epilogues, pieces.
#include <cmath>
#include <cstdio>
#include <optional>

#include "codegen/cpu/dot_plan.h"
#include "kernel_testing.h"

namespace ullage {
namespace {

using namespace testing_cpu;

struct Problem {
  std::vector<int64_t> batch, m, n, k;
  std::vector<int> lhs_order, rhs_order;  // dimensions of the operands' buffers, outermost first,
                                          // as numbers in their loop space
  DType lhs = DType::f32, rhs = DType::f32;
  bool scale = false;     // rhs times a scale per column, in the expression
  bool epilogue = false;  // tanh(sum + bias) + residual, rounded to bf16
};

std::vector<int64_t> joined(std::initializer_list<std::vector<int64_t>> parts) {
  std::vector<int64_t> out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

std::vector<int> in_order(size_t rank) {
  std::vector<int> order;
  for (size_t i = 0; i < rank; ++i) order.push_back(static_cast<int>(i));
  return order;
}

int32_t as_f32(ExprBuilder& b, int32_t node) {
  DType dtype = b.expr.nodes[static_cast<size_t>(node)].dtype;
  return dtype == DType::f32 ? node : b.op(OpKind::convert, DType::f32, node);
}

// Inputs: 0 lhs, 1 rhs, 2 scale [n], 3 bias [n], 4 residual like the output.
DotKernel make(const Problem& p) {
  DotKernel dot;
  dot.batch = p.batch;
  dot.m = p.m;
  dot.n = p.n;
  dot.k = p.k;
  std::vector<int64_t> lhs = joined({p.batch, p.m, p.k}), rhs = joined({p.batch, p.k, p.n}),
                       out = joined({p.batch, p.m, p.n});
  ExprBuilder a, b, c;
  dot.lhs_root =
      a.load(p.lhs, 0, row_major(lhs, p.lhs_order.empty() ? in_order(lhs.size()) : p.lhs_order));
  dot.rhs_root =
      b.load(p.rhs, 1, row_major(rhs, p.rhs_order.empty() ? in_order(rhs.size()) : p.rhs_order));
  std::vector<int> columns;
  for (size_t i = 0; i < p.n.size(); ++i)
    columns.push_back(static_cast<int>(rhs.size() - p.n.size() + i));
  if (p.scale)
    dot.rhs_root = b.op(OpKind::multiply, DType::f32, as_f32(b, dot.rhs_root),
                        b.load(DType::f32, 2, row_major(rhs, columns)));
  int32_t sum = c.accumulator();
  if (p.epilogue) {
    for (int& d : columns) d += static_cast<int>(out.size()) - static_cast<int>(rhs.size());
    int32_t biased =
        c.op(OpKind::add, DType::f32, sum, c.load(DType::f32, 3, row_major(out, columns)));
    int32_t residual = c.load(DType::f32, 4, identity(out));
    sum = c.op(OpKind::convert, DType::bf16,
               c.op(OpKind::add, DType::f32, c.op(OpKind::negate, DType::f32, biased), residual));
  }
  dot.lhs = a.expr;
  dot.rhs = b.expr;
  dot.epilogue = c.expr;
  dot.outputs = {{sum, identity(out)}};
  return dot;
}

struct Data {
  Bytes lhs, rhs, scale, bias, residual, out;
  std::vector<float> want;
};

float element(const Bytes& bytes, DType dtype, int64_t i) {
  size_t at = static_cast<size_t>(i);
  if (dtype == DType::f32) return reinterpret_cast<const float*>(bytes.data())[at];
  if (dtype == DType::bf16) return from_bf16(reinterpret_cast<const uint16_t*>(bytes.data())[at]);
  if (dtype == DType::f16)
    return static_cast<float>(reinterpret_cast<const _Float16*>(bytes.data())[at]);
  return static_cast<float>(reinterpret_cast<const int8_t*>(bytes.data())[at]);
}

Bytes random_bytes(DType dtype, int64_t count, uint64_t seed) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::normal_distribution<float> normal;
  Bytes bytes(static_cast<size_t>(count * storage_bytes(dtype)));
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    float v = normal(random);
    if (dtype == DType::f32) reinterpret_cast<float*>(bytes.data())[i] = v;
    if (dtype == DType::bf16) reinterpret_cast<uint16_t*>(bytes.data())[i] = to_bf16(v);
    if (dtype == DType::f16)
      reinterpret_cast<_Float16*>(bytes.data())[i] = static_cast<_Float16>(v);
    if (dtype == DType::i8)
      reinterpret_cast<int8_t*>(bytes.data())[i] = static_cast<int8_t>(random() % 200 - 100);
  }
  return bytes;
}

int64_t product(const std::vector<int64_t>& v) {
  int64_t total = 1;
  for (int64_t e : v) total *= e;
  return total;
}

// Offset in a row-major buffer of dimensions `order` of the flat loop index.
int64_t offset(const std::vector<int64_t>& extents, const std::vector<int>& order, int64_t flat) {
  std::vector<int64_t> index(extents.size());
  for (size_t d = extents.size(); d-- > 0;) index[d] = flat % extents[d], flat /= extents[d];
  int64_t at = 0;
  for (int d : order) at = at * extents[static_cast<size_t>(d)] + index[static_cast<size_t>(d)];
  return at;
}

Data prepare(const Problem& p, bool reference = true, bool fused = true) {
  std::vector<int64_t> lhs = joined({p.batch, p.m, p.k}), rhs = joined({p.batch, p.k, p.n});
  std::vector<int> lhs_order = p.lhs_order.empty() ? in_order(lhs.size()) : p.lhs_order;
  std::vector<int> rhs_order = p.rhs_order.empty() ? in_order(rhs.size()) : p.rhs_order;
  int64_t B = product(p.batch), M = product(p.m), N = product(p.n), K = product(p.k);
  Data d;
  d.lhs = random_bytes(p.lhs, B * M * K, 1);
  d.rhs = random_bytes(p.rhs, B * K * N, 2);
  d.scale = random_bytes(DType::f32, N, 3);
  d.bias = random_bytes(DType::f32, N, 4);
  d.residual = random_bytes(DType::f32, B * M * N, 5);
  d.out.resize(static_cast<size_t>(B * M * N * (p.epilogue ? 2 : 4)));
  if (!reference) return d;
  std::vector<float> a(static_cast<size_t>(M * K)), w(static_cast<size_t>(K * N));
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t i = 0; i < M * K; ++i)
      a[static_cast<size_t>(i)] = element(d.lhs, p.lhs, offset(lhs, lhs_order, b * M * K + i));
    for (int64_t i = 0; i < K * N; ++i) {
      float v = element(d.rhs, p.rhs, offset(rhs, rhs_order, b * K * N + i));
      if (p.scale) v *= element(d.scale, DType::f32, i % N);
      w[static_cast<size_t>(i)] = v;
    }
    for (int64_t m = 0; m < M; ++m)
      for (int64_t n = 0; n < N; ++n) {
        float total = 0;
        for (int64_t from = 0; from < K; from += 256) {
          float block = 0;
          for (int64_t k = from; k < std::min(K, from + 256); ++k) {
            float x = a[static_cast<size_t>(m * K + k)], y = w[static_cast<size_t>(k * N + n)];
            block = fused ? std::fma(x, y, block) : x * y + block;
          }
          total = from == 0 ? block : total + block;
        }
        if (p.epilogue) {
          float v = -(total + element(d.bias, DType::f32, n));
          v = v + element(d.residual, DType::f32, (b * M + m) * N + n);
          total = from_bf16(to_bf16(v));
        }
        d.want.push_back(total);
      }
  }
  return d;
}

const std::vector<Problem>& problems() {
  using D = DType;
  static const std::vector<Problem> all = {
      {{}, {40}, {70}, {300}, {}, {}, D::f32, D::f32, false, false},
      {{}, {40}, {70}, {300}, {1, 0}, {1, 0}, D::f32, D::f32, false, true},
      {{}, {33}, {64}, {100}, {}, {}, D::bf16, D::bf16, false, true},
      {{}, {33}, {64}, {100}, {}, {}, D::f32, D::i8, true, false},
      {{3}, {20}, {30}, {50}, {}, {}, D::f32, D::f16, false, true},
      // heads: [B, S, H, D] operands
      {{2, 3}, {17}, {19}, {8}, {0, 2, 1, 3}, {0, 3, 1, 2}, D::f32, D::f32, false, false},
      {{2, 3}, {17}, {19}, {8}, {0, 2, 1, 3}, {0, 3, 1, 2}, D::bf16, D::bf16, true, true},
      {{}, {4, 10}, {5, 8}, {3, 20}, {2, 0, 3, 1}, {2, 0, 3, 1}, D::f32, D::f32, false, true},
      // narrow
      {{}, {1}, {300}, {700}, {}, {}, D::f32, D::f32, false, false},
      {{}, {1}, {300}, {700}, {}, {1, 0}, D::f32, D::f32, false, false},
      {{}, {1}, {300}, {700}, {}, {}, D::bf16, D::bf16, false, false},
      {{}, {300}, {1}, {700}, {1, 0}, {}, D::f16, D::i8, true, true},
      {{3}, {70}, {4}, {300}, {}, {2, 1, 0}, D::f32, D::f32, false, true},
      {{}, {8}, {300}, {513}, {}, {}, D::f32, D::bf16, false, true},
      {{}, {8}, {300}, {513}, {}, {1, 0}, D::f32, D::bf16, false, true},
      {{}, {5}, {40}, {260}, {}, {}, D::f32, D::i8, true, true},
      {{}, {5}, {40}, {260}, {}, {1, 0}, D::bf16, D::i8, true, true},
      {{}, {16}, {100}, {64}, {}, {}, D::f32, D::f32, false, true},
      // of other types: the narrow side is converted block by block
      {{}, {8}, {600}, {700}, {}, {}, D::bf16, D::bf16, false, true},
      {{}, {7}, {300}, {513}, {}, {}, D::f16, D::f32, true, false},
      {{3}, {5}, {300}, {300}, {}, {}, D::i8, D::bf16, false, false},
      {{2}, {300}, {3}, {260}, {0, 2, 1}, {0, 2, 1}, D::bf16, D::bf16, false, true},
      {{}, {4}, {50}, {10, 32}, {}, {1, 0, 2}, D::bf16, D::f32, false, false},
      {{}, {300}, {1}, {700}, {}, {}, D::f32, D::f32, false, false},
      {{}, {300}, {7}, {100}, {1, 0}, {}, D::bf16, D::f32, false, true},
      {{4}, {1}, {37}, {16}, {}, {0, 2, 1}, D::f32, D::f32, false, true},
      {{2, 3}, {1}, {50}, {64}, {}, {0, 3, 1, 2}, D::f32, D::f32, false, false},
      {{}, {2}, {4, 64}, {32}, {}, {1, 0, 2}, D::f32, D::f32, false, true},    // [H, K, D]
      {{}, {2}, {4, 64}, {32}, {}, {1, 2, 0}, D::f32, D::bf16, true, true},    // [H, D, K]
      {{}, {3}, {50}, {10, 32}, {}, {1, 0, 2}, D::f32, D::f32, false, false},  // k in two
                                                                               // dimensions
      {{}, {3}, {50}, {10, 30}, {}, {1, 0, 2}, D::f32, D::f32, false, false},  // k that does not
                                                                               // fit blocks
      {{}, {3}, {50}, {9, 32}, {}, {2, 1, 0}, D::f32, D::f32, false, false},
      {{}, {1}, {1}, {1000}, {}, {}, D::f32, D::f32, false, true},
      {{}, {}, {}, {}, {}, {}, D::f32, D::f32, false, false},
      {{}, {3}, {40}, {}, {}, {}, D::f32, D::f32, false, false},
      // empty
      {{}, {4}, {0}, {3}, {}, {}, D::f32, D::f32, false, false},
      {{}, {0}, {3, 5}, {20}, {}, {}, D::f32, D::f32, false, true},
      {{0}, {20}, {30}, {50}, {}, {}, D::f32, D::f32, false, true},
  };
  return all;
}

class Dots : public ::testing::TestWithParam<IsaLevel> {};

TEST_P(Dots, ValuesPiecesAndThreads) {
  Graph g;
  std::vector<DotKernel> dots;
  for (const Problem& p : problems()) {
    dots.push_back(make(p));
    g.add(dots.back(), {p.lhs, p.rhs, DType::f32, DType::f32, DType::f32},
          {p.epilogue ? DType::bf16 : DType::f32});
  }
  std::vector<size_t> batches;  // the same, to be cut along the batch
  for (const Problem& p : problems()) {
    batches.push_back(0);
    if (p.batch.empty()) continue;
    DotKernel dot = make(p);
    dot.cut_dim = 2;
    batches.back() = g.add(dot, {p.lhs, p.rhs, DType::f32, DType::f32, DType::f32},
                           {p.epilogue ? DType::bf16 : DType::f32});
  }
  double ms = g.compile(GetParam());
  std::printf("%zu products compiled in %.0f ms\n", dots.size(), ms);
  EXPECT_GE(
      std::count_if(dots.begin(), dots.end(),
                    [](const DotKernel& dot) { return plan_dot(dot, 1).converted_by_blocks; }),
      5);
  for (size_t c = 0; c < dots.size(); ++c) {
    const Problem& p = problems()[c];
    Data d = prepare(p, true, host(GetParam()).fma);
    DotPlan plan = plan_dot(dots[c], 2);
    Bytes scratch(static_cast<size_t>(plan.scratch_bytes) + 64);
    KernelCall call;
    call.scratch = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) &
                                                ~uintptr_t{63});
    auto run = [&](Bytes& out, KernelCall how, int threads, std::optional<size_t> kernel = {}) {
      g.run(kernel.value_or(c),
            {d.lhs.data(), d.rhs.data(), d.scale.data(), d.bias.data(), d.residual.data(),
             out.data()},
            how, threads);
    };
    run(d.out, call, 1);
    for (size_t i = 0; i < d.want.size(); ++i) {
      float got = element(d.out, p.epilogue ? DType::bf16 : DType::f32, static_cast<int64_t>(i));
      // Bits are those of fused chains; without such instructions the two kinds of kernels agree
      // within rounding.
      if (host(GetParam()).fma) {
        ASSERT_EQ(got, d.want[i]) << "product " << c << " element " << i << " narrow "
                                  << plan.narrow;
        continue;
      }
      ASSERT_NEAR(got, d.want[i], 1e-2 * (1 + std::fabs(d.want[i])))
          << "product " << c << " element " << i;
    }
    Bytes two(d.out.size());
    run(two, call, 2);
    EXPECT_EQ(two, d.out) << "threads change bits, product " << c;
    if (!p.batch.empty()) {
      Bytes parts(d.out.size());
      for (int64_t from = 0; from < p.batch[0]; ++from) {
        KernelCall part = call;
        part.axis = KernelCall::Axis::parallel;
        part.lower = from;
        part.upper = from + 1;
        run(parts, part, 2, batches[c]);
      }
      EXPECT_EQ(parts, d.out) << "pieces of the batch change bits, product " << c;
    }
    if (p.m.empty()) continue;
    int64_t rows = p.m[0];
    Bytes pieces(d.out.size());
    for (int64_t from = 0; from < rows; from += 3) {
      KernelCall part = call;
      part.axis = KernelCall::Axis::parallel;
      part.lower = from;
      part.upper = std::min(rows, from + 3);
      run(pieces, part, 2);
    }
    EXPECT_EQ(pieces, d.out) << "pieces of rows change bits, product " << c;
    if (p.epilogue || p.k.size() != 1 || p.k[0] <= 256) continue;
    Bytes continued(d.out.size());
    for (int64_t from = 0; from < p.k[0]; from += 256) {
      KernelCall part = call;
      part.axis = KernelCall::Axis::contracted;
      part.lower = from;
      part.upper = std::min(p.k[0], from + 256);
      part.accumulate = from > 0;
      run(continued, part, 1);
    }
    EXPECT_EQ(continued, d.out) << "pieces of k change bits, product " << c;
  }
}

// Pieces of columns, and sums over k in parts of which only the last one applies the epilogue:
// wide, narrow, and narrow along the columns.
TEST_P(Dots, ColumnsAndContinuedEpilogues) {
  struct Shape {
    int64_t m, n, k;
  };
  for (Shape s : {Shape{40, 200, 700}, Shape{3, 200, 700}, Shape{200, 5, 700}}) {
    Problem p{{}, {s.m}, {s.n}, {s.k}, {}, {}, DType::f32, DType::f32, false, false};
    DotKernel dot = make(p);
    ExprBuilder c;
    int32_t bias = c.load(DType::f32, 3, row_major({s.m, s.n}, {1}));
    int32_t sum = c.op(OpKind::add, DType::f32, c.accumulator(), bias);
    dot.outputs = {
        {c.op(OpKind::maximum, DType::f32, sum, c.load(DType::f32, 4, identity({s.m, s.n}))),
         identity({s.m, s.n})}};
    dot.epilogue = c.expr;
    DotKernel columns = dot;
    columns.cut_dim = 1;
    Graph g;
    std::vector<DType> inputs(5, DType::f32);
    size_t whole = g.add(dot, inputs, {DType::f32});
    size_t cut = g.add(columns, inputs, {DType::f32});
    g.compile(GetParam());
    Data d = prepare(p, false);
    Bytes scratch(static_cast<size_t>(plan_dot(dot, 2).scratch_bytes) + 64);
    KernelCall call;
    call.scratch = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) &
                                                ~uintptr_t{63});
    auto run = [&](size_t kernel, Bytes& out, const KernelCall& how) {
      g.run(kernel,
            {d.lhs.data(), d.rhs.data(), d.scale.data(), d.bias.data(), d.residual.data(),
             out.data()},
            how, 2);
    };
    run(whole, d.out, call);
    Bytes pieces(d.out.size()), continued(d.out.size());
    for (int64_t from = 0; from < s.n; from += 37) {
      KernelCall part = call;
      part.axis = KernelCall::Axis::parallel;
      part.lower = from;
      part.upper = std::min(s.n, from + 37);
      run(cut, pieces, part);
    }
    EXPECT_EQ(pieces, d.out) << s.m << " x " << s.n;
    for (int64_t from = 0; from < s.k; from += 256) {
      KernelCall part = call;
      part.axis = KernelCall::Axis::contracted;
      part.lower = from;
      part.upper = std::min(s.k, from + 256);
      part.accumulate = from > 0;
      part.unfinished = part.upper < s.k;
      run(whole, continued, part);
    }
    EXPECT_EQ(continued, d.out) << s.m << " x " << s.n;
  }
}

// A layer's weights picked by a loop counter: the offset is only known when the kernel runs.
TEST_P(Dots, StackedWeights) {
  for (int64_t m : {2, 40}) {
    const int64_t n = 48, k = 33, layers = 4;
    DotKernel dot;
    dot.m = {m};
    dot.n = {n};
    dot.k = {k};
    ExprBuilder a, b, c;
    dot.lhs_root = a.load(DType::f32, 0, identity({m, k}));
    int32_t layer = b.op(OpKind::convert, DType::i64, b.load(DType::i32, 2, {{0, {0, 0}}, {}}));
    Access stacked = identity({k, n});
    stacked.dynamic = {{layer, k * n}};
    dot.rhs_root = b.load(DType::f32, 1, stacked);
    dot.outputs = {{c.accumulator(), identity({m, n})}};
    dot.lhs = a.expr;
    dot.rhs = b.expr;
    dot.epilogue = c.expr;
    Graph g;
    size_t at = g.add(dot, {DType::f32, DType::f32, DType::i32}, {DType::f32});
    g.compile(GetParam());
    Bytes x = random_bytes(DType::f32, m * k, 1), w = random_bytes(DType::f32, layers * k * n, 2);
    Bytes number = bytes_of(std::vector<int32_t>{2}), out(static_cast<size_t>(m * n) * 4),
          scratch(1 << 22);
    KernelCall call;
    call.scratch = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) &
                                                ~uintptr_t{63});
    g.run(at, {x.data(), w.data(), number.data(), out.data()}, call, 1);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double want = 0;
        for (int64_t l = 0; l < k; ++l)
          want += static_cast<double>(element(x, DType::f32, i * k + l)) *
                  element(w, DType::f32, 2 * k * n + l * n + j);
        ASSERT_NEAR(element(out, DType::f32, i * n + j), want, 1e-4);
      }
  }
}

TEST(Speed, NarrowProducts) {
  const int64_t size = 2048;
  for (int64_t m : {1, 8})
    for (DType dtype : {DType::f32, DType::bf16, DType::i8})
      for (bool transposed : {false, true}) {
        Problem p{{},         {m},   {size},
                  {size},     {},    transposed ? std::vector<int>{1, 0} : std::vector<int>{0, 1},
                  DType::f32, dtype, dtype == DType::i8,
                  false};
        DotKernel dot = make(p);
        Graph g;
        size_t at = g.add(dot, {p.lhs, p.rhs, DType::f32}, {DType::f32});
        double ms = g.compile();
        Data d = prepare(p, false);
        Bytes scratch(static_cast<size_t>(plan_dot(dot, 2).scratch_bytes) + 64);
        // Many copies of the weights, so that each use comes from memory.
        const size_t copies = 12;
        std::vector<Bytes> weights(copies, d.rhs);
        double rates[2];
        for (int threads : {1, 2}) {
          ThreadPool pool(threads);
          KernelCall call;
          call.scratch = scratch.data();
          double seconds = best_seconds(4, threads, [&] {
            for (Bytes& w : weights)
              g.run(at, {d.lhs.data(), w.data(), d.scale.data(), d.out.data()}, call, pool);
          });
          rates[threads - 1] = static_cast<double>(d.rhs.size() * copies) / seconds * 1e-9;
        }
        std::printf(
            "[%ld x %ld] x %s [%s]: %.1f GB/s with one thread, %.1f with two; compiled in %.1f "
            "ms\n",
            m, size, name(dtype).data(), transposed ? "N, K" : "K, N", rates[0], rates[1], ms);
        EXPECT_GT(rates[0], 0);
      }
}

INSTANTIATE_TEST_SUITE_P(Levels, Dots, ::testing::ValuesIn(levels()), level_name);

}  // namespace
}  // namespace ullage
