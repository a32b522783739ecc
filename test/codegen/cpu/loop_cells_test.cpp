// Loops cut where their tests change: what is left in each cell, and the same elements as before.
#include "codegen/cpu/loop_cells.h"

#include "kernel_testing.h"

namespace ullage {
namespace {

using namespace testing_cpu;

float element(size_t i) {
  return static_cast<float>(i % 977) * 0.25f - 20;
}

// Columns 0 to 31 are those of input 0, 32 to 79 the product of inputs 1 and 2 from behind, the
// rest 1; rows 3 and up, the others are zero.
constexpr int64_t kRows = 21, kColumns = 100;
LoopKernel joined() {
  std::vector<int64_t> extents = {kRows, kColumns};
  ExprBuilder b;
  int32_t below = b.in_range({0, {1, 0}}, 3, kRows);
  int32_t first = b.in_range({0, {0, 1}}, 0, 32), second = b.in_range({79, {0, -1}}, 0, 48);
  int32_t x = b.load(DType::f32, 0, {{0, {32, 1}}, {}}, first);
  Access backward = {{79, {48, -1}}, {}};
  int32_t y = b.op(OpKind::multiply, DType::f32, b.load(DType::f32, 1, backward, second),
                   b.load(DType::f32, 2, backward, second));
  int32_t one = b.constant(DType::f32, 1.0f);
  int32_t joined = b.op(OpKind::select, DType::f32, second, y, one);
  joined = b.op(OpKind::select, DType::f32, first, x, joined);
  joined = b.op(OpKind::select, DType::f32, below, joined, b.constant(DType::f32, 0.0f));
  return loop(extents, b.expr, {{joined, identity(extents)}});
}

TEST(LoopCells, HaveOnlyWhatTheyNeed) {
  std::vector<LoopCell> cells = cut_at_tests(make_loop_nest(joined()));
  ASSERT_EQ(cells.size(), 6u);
  std::vector<size_t> nodes;
  for (const LoopCell& cell : cells) nodes.push_back(cell.nest.expr.size());
  EXPECT_EQ(nodes, (std::vector<size_t>{1, 1, 1, 1, 3, 1}));
  EXPECT_EQ(cells[4].lower, (std::vector<int64_t>{3, 32}));
  EXPECT_EQ(cells[4].upper, (std::vector<int64_t>{kRows, 80}));
  for (const LoopCell& cell : cells)
    for (const ExprNode& node : cell.nest.expr.nodes) EXPECT_EQ(node.guard, -1);
}

TEST(LoopCells, NoneNarrowerThanAVector) {
  std::vector<int64_t> extents = {kRows, kColumns};
  ExprBuilder b;
  int32_t inside = b.in_range({0, {0, 1}}, 1, kColumns - 1);
  int32_t x = b.load(DType::f32, 0, {{-1, {kColumns - 2, 1}}, {}}, inside);
  LoopNest nest = make_loop_nest(loop(extents, b.expr, {{x, identity(extents)}}));
  std::vector<LoopCell> cells = cut_at_tests(nest);
  ASSERT_EQ(cells.size(), 3u) << "the tests stay in a vector at either end";
  for (const LoopCell& cell : cells) EXPECT_GE(cell.upper[1] - cell.lower[1], kLanes);
  EXPECT_EQ(cells[1].nest.expr.size(), 1u);
  EXPECT_GT(cells[0].nest.expr.size(), 1u);
  EXPECT_GT(cells[2].nest.expr.size(), 1u);
  // Where the other dimension goes along the lanes, they may be.
  nest.vector_dim = 0;
  nest.order = {1};
  EXPECT_EQ(cut_at_tests(nest).size(), 3u);
}

// Cuts nearer to each other than a vector, at the ends and in between, over extents of all sizes.
TEST(LoopCells, CoverTheNest) {
  for (int64_t extent = 2; extent < 90; ++extent) {
    ExprBuilder b;
    int32_t sum = b.constant(DType::f32, 0.0f);
    for (auto [lower, upper] : {std::pair{1, 40}, {45, 47}, {60, 88}}) {
      int32_t inside = b.in_range({0, {1}}, lower, upper);
      int32_t x = b.load(DType::f32, 0, {{-lower, {1}}, {}}, inside);
      sum = b.op(OpKind::add, DType::f32, sum, x);
    }
    LoopNest nest = make_loop_nest(loop({extent}, b.expr, {{sum, identity({extent})}}));
    int64_t at = 0;
    for (const LoopCell& cell : cut_at_tests(nest)) {
      EXPECT_EQ(cell.lower[0], at);
      EXPECT_TRUE(cell.upper[0] - at >= kLanes || cell.upper[0] - at == extent);
      at = cell.upper[0];
    }
    EXPECT_EQ(at, extent);
  }
}

TEST(LoopCells, TestsCombine) {
  ExprBuilder b;
  int32_t low = b.in_range({0, {1}}, 0, 50), high = b.in_range({0, {1}}, 20, 100);
  int32_t both = b.op(OpKind::and_, DType::i1, low, high);
  int32_t neither = b.op(OpKind::not_, DType::i1, b.op(OpKind::or_, DType::i1, low, high));
  LoopNest nest =
      make_loop_nest(loop({100}, b.expr, {{both, identity({100})}, {neither, identity({100})}}));
  std::vector<LoopCell> cells = cut_at_tests(nest);
  ASSERT_EQ(cells.size(), 3u);
  for (const LoopCell& cell : cells) {
    bool inside = cell.lower[0] == 20;
    const std::vector<ExprNode>& nodes = cell.nest.expr.nodes;
    EXPECT_EQ(nodes[static_cast<size_t>(cell.nest.outputs[0].node)].bits[0], inside ? 1u : 0u);
    EXPECT_EQ(nodes[static_cast<size_t>(cell.nest.outputs[1].node)].bits[0], 0u);
  }
}

class Cells : public ::testing::TestWithParam<IsaLevel> {};

TEST_P(Cells, TheSameElements) {
  Graph g;
  size_t k = g.add(joined(), {DType::f32, DType::f32, DType::f32}, {DType::f32});
  g.compile(GetParam());
  std::vector<float> x(kRows * 32), y(kRows * 48), z(kRows * 48);
  for (size_t i = 0; i < x.size(); ++i) x[i] = element(i);
  for (size_t i = 0; i < y.size(); ++i) y[i] = element(3 * i), z[i] = element(5 * i);
  Bytes xb = bytes_of(x), yb = bytes_of(y), zb = bytes_of(z), whole(kRows * kColumns * 4),
        pieces(kRows * kColumns * 4);
  g.run(k, {xb.data(), yb.data(), zb.data(), whole.data()});
  std::vector<float> got = values_of<float>(whole);
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j) {
      float want = 1;
      size_t at = static_cast<size_t>(48 * i + 79 - j);
      if (j < 32) want = x[static_cast<size_t>(32 * i + j)];
      if (j >= 32 && j < 80) want = y[at] * z[at];
      ASSERT_EQ(got[static_cast<size_t>(i * kColumns + j)], i < 3 ? 0 : want) << i << ", " << j;
    }
  for (int64_t from = 0; from < kRows; from += 4) {
    KernelCall call;
    call.lower = from;
    call.upper = std::min(from + 4, kRows);
    g.run(k, {xb.data(), yb.data(), zb.data(), pieces.data()}, call);
  }
  EXPECT_EQ(whole, pieces);
}

INSTANTIATE_TEST_SUITE_P(Levels, Cells, ::testing::ValuesIn(levels()), level_name);

}  // namespace
}  // namespace ullage
