// Prints how fast generated code runs. Values are checked; times are for people, who compare ratios
// within one run.
#include <cmath>
#include <cstdio>

#include "kernel_testing.h"
#include "kernels/reduction.h"

namespace ullage {
namespace {

using namespace testing_cpu;

uint32_t rotate_left(uint32_t x, int by) {
  return x << by | x >> (32 - by);
}

// threefry2x32-20 as JAX has it.
std::pair<uint32_t, uint32_t> threefry(uint32_t k0, uint32_t k1, uint32_t x0, uint32_t x1) {
  const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t keys[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDA};
  x0 += keys[0];
  x1 += keys[1];
  for (uint32_t i = 0; i < 5; ++i) {
    for (int r : rotations[i % 2]) {
      x0 += x1;
      x1 = rotate_left(x1, r) ^ x0;
    }
    x0 += keys[(i + 1) % 3];
    x1 += keys[(i + 2) % 3] + i + 1;
  }
  return {x0, x1};
}

// The partitionable form: a 64-bit counter split into two words, and the exclusive or of both
// results.
LoopKernel threefry_kernel(int64_t rows, int64_t columns) {
  std::vector<int64_t> extents = {rows, columns};
  ExprBuilder b;
  DType u = DType::ui32;
  auto constant = [&](uint32_t v) { return b.constant(u, v); };
  int32_t counter = b.op(OpKind::add, DType::ui64,
                         b.op(OpKind::multiply, DType::ui64, b.index(DType::ui64, {0, {1, 0}}),
                              b.constant(DType::ui64, static_cast<uint64_t>(columns))),
                         b.index(DType::ui64, {0, {0, 1}}));
  int32_t high = b.op(OpKind::convert, u,
                      b.op(OpKind::shift_right_logical, DType::ui64, counter,
                           b.constant(DType::ui64, uint64_t{32})));
  int32_t low = b.op(OpKind::convert, u, counter);
  int32_t k0 = b.load(u, 0, {{0, {0, 0}}, {}}), k1 = b.load(u, 0, {{1, {0, 0}}, {}});
  int32_t k2 = b.op(OpKind::xor_, u, b.op(OpKind::xor_, u, k0, k1), constant(0x1BD11BDA));
  int32_t keys[3] = {k0, k1, k2};
  const uint32_t rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  int32_t x0 = b.op(OpKind::add, u, high, k0), x1 = b.op(OpKind::add, u, low, k1);
  for (uint32_t i = 0; i < 5; ++i) {
    for (uint32_t r : rotations[i % 2]) {
      x0 = b.op(OpKind::add, u, x0, x1);
      int32_t rotated = b.op(OpKind::or_, u, b.op(OpKind::shift_left, u, x1, constant(r)),
                             b.op(OpKind::shift_right_logical, u, x1, constant(32 - r)));
      x1 = b.op(OpKind::xor_, u, rotated, x0);
    }
    x0 = b.op(OpKind::add, u, x0, keys[(i + 1) % 3]);
    x1 = b.op(OpKind::add, u, b.op(OpKind::add, u, x1, keys[(i + 2) % 3]), constant(i + 1));
  }
  int32_t bits = b.op(OpKind::xor_, u, x0, x1);
  return loop(extents, b.expr, {{bits, identity(extents)}});
}

TEST(Speed, Threefry) {
  const int64_t rows = 64, columns = 1024;
  Graph g;
  g.add(threefry_kernel(rows, columns), {DType::ui32}, {DType::ui32});
  double ms = g.compile();
  std::vector<uint32_t> key = {17, 42};
  Bytes in = bytes_of(key), out(static_cast<size_t>(rows * columns) * 4);
  ThreadPool pool(1);
  auto run = [&] { g.run(0, {in.data(), out.data()}, {}, pool); };
  double seconds = best_seconds(20, 1, run);
  std::printf("threefry: compiled in %.1f ms, %.3f ns per u32\n", ms,
              seconds * 1e9 / static_cast<double>(rows * columns));
  std::vector<uint32_t> got = values_of<uint32_t>(out);
  for (size_t i = 0; i < got.size(); i += 97) {
    auto [a, c] = threefry(17, 42, 0, static_cast<uint32_t>(i));
    ASSERT_EQ(got[i], a ^ c) << i;
  }
}

TEST(Speed, ElementwiseAndReductions) {
  const int64_t count = int64_t{1} << 24;
  Graph g;
  std::vector<int64_t> flat = {count};
  auto unary = [&](OpKind op) {
    ExprBuilder b;
    int32_t node = b.op(op, DType::f32, b.load(DType::f32, 0, identity(flat)));
    return g.add(loop(flat, b.expr, {{node, identity(flat)}}), {DType::f32}, {DType::f32});
  };
  ExprBuilder add;
  int32_t sum = add.op(OpKind::add, DType::f32, add.load(DType::f32, 0, identity(flat)),
                       add.load(DType::f32, 1, identity(flat)));
  size_t addition =
      g.add(loop(flat, add.expr, {{sum, identity(flat)}}), {DType::f32, DType::f32}, {DType::f32});
  const OpKind functions[] = {OpKind::exponential, OpKind::tanh, OpKind::logistic,
                              OpKind::log,         OpKind::sine, OpKind::chlo_erf};
  std::vector<size_t> unaries;
  for (OpKind op : functions) unaries.push_back(unary(op));
  std::vector<int64_t> square = {4096, 4096};
  ExprBuilder t;
  int32_t node = t.load(DType::f32, 0, row_major(square, {1, 0}));
  size_t transpose =
      g.add(loop(square, t.expr, {{node, identity(square)}}), {DType::f32}, {DType::f32});
  auto reduction = [&](std::vector<int64_t> extents, std::vector<LoopRole> roles, Affine from) {
    ExprBuilder b;
    LoopKernel kernel;
    kernel.reduction.emplace();
    kernel.reduction->combiner = OpKind::add;
    kernel.reduction->initial = {b.constant(DType::f32, 0.0f)};
    kernel.extents = std::move(extents);
    kernel.roles = std::move(roles);
    kernel.outputs = {{b.load(DType::f32, 0, {std::move(from), {}}), {{0, {1, 0}}, {}}}};
    kernel.expr = b.expr;
    return g.add(kernel, {DType::f32}, {DType::f32}, reduction_scratch_bytes(kernel));
  };
  std::vector<LoopRole> roles = {LoopRole::parallel, LoopRole::reduced};
  size_t by_column = reduction({4096, 4096}, roles, {0, {1, 4096}});
  size_t narrow_columns = reduction({64, count / 64}, roles, {0, {1, 64}});
  size_t by_row = reduction({4096, 4096}, roles, {0, {4096, 1}});
  size_t to_scalar = reduction({1, count}, roles, {0, {0, 1}});
  double ms = g.compile();
  std::printf("%zu kernels compiled in %.1f ms on two threads\n", g.compiled.size(), ms);

  std::vector<float> x(static_cast<size_t>(count));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1024) / 512 - 1;
  Bytes in = bytes_of(x), out(in.size()), scratch(1 << 22);
  for (int threads : {1, 2}) {
    ThreadPool pool(threads);
    KernelCall call;
    call.scratch = scratch.data();
    auto measure = [&](const char* what, size_t kernel, double bytes, bool two) {
      std::vector<std::byte*> buffers = {in.data()};
      if (two) buffers.push_back(in.data());
      buffers.push_back(out.data());
      double seconds = best_seconds(6, threads, [&] { g.run(kernel, buffers, call, pool); });
      std::printf("%d threads %-24s %6.1f GB/s  %.3f ns per element\n", threads, what,
                  bytes / seconds * 1e-9, seconds * 1e9 / static_cast<double>(count));
    };
    double n = static_cast<double>(count);
    measure("add", addition, 12 * n, true);
    EXPECT_EQ(values_of<float>(out)[1000], 2 * x[1000]);
    for (size_t i = 0; i < unaries.size(); ++i)
      measure(info(functions[i]).name.data(), unaries[i], 8 * n, false);
    measure("transpose", transpose, 8 * n, false);
    EXPECT_EQ(values_of<float>(out)[4096 * 5 + 9], x[4096 * 9 + 5]);
    measure("sum of columns, 4096", by_column, 4 * n, false);
    measure("sum of columns, 64", narrow_columns, 4 * n, false);
    measure("sum of rows", by_row, 4 * n, false);
    measure("sum to a scalar", to_scalar, 4 * n, false);
    EXPECT_EQ(values_of<float>(out)[0], -16384);
  }
}

}  // namespace
}  // namespace ullage
