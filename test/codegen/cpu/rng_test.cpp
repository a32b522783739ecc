// Bit generators: known answers, layout over narrow and wide elements, pieces, threads.
#include <array>
#include <cstdio>

#include "kernel_testing.h"

namespace ullage {
namespace {

using namespace testing_cpu;

std::array<uint32_t, 4> philox(std::array<uint32_t, 2> key, std::array<uint32_t, 4> c) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

TEST(RngReference, HasTheKnownAnswer) {
  // From the test vectors that the authors publish with Random123.
  std::array<uint32_t, 4> want = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}), want);
}

size_t add_rng(Graph& g, RngAlgorithm algorithm, DType dtype, std::vector<int64_t> shape,
               int64_t words) {
  Kernel kernel;
  kernel.body = RngKernel{algorithm};
  kernel.inputs = {g.value(DType::ui64, {words})};
  kernel.outputs = {g.value(DType::ui64, {words}), g.value(dtype, std::move(shape))};
  kernel.name = "rng";
  g.graph.kernels.push_back(std::move(kernel));
  return g.graph.kernels.size() - 1;
}

class Rng : public ::testing::TestWithParam<IsaLevel> {};

TEST_P(Rng, PhiloxPiecesAndCarry) {
  for (int64_t words : {2, 3}) {
    Graph g;
    const int64_t rows = 37, columns = 101;
    size_t u32 = add_rng(g, RngAlgorithm::default_, DType::ui32, {rows, columns}, words);
    size_t u64 = add_rng(g, RngAlgorithm::philox, DType::ui64, {rows, columns}, words);
    size_t u8 = add_rng(g, RngAlgorithm::philox, DType::ui8, {rows, columns}, words);
    const int64_t step = 11;
    size_t cut = add_rng(g, RngAlgorithm::philox, DType::ui32, {rows, columns}, words);
    g.graph.kernels[cut].get<RngKernel>()->cut_dim = 1;
    g.graph.kernels[cut].get<RngKernel>()->spacing = step;
    g.compile(GetParam());
    // The counter's low half overflows on the way.
    std::vector<uint64_t> state = {0x0123456789abcdefu, ~uint64_t{0} - 100, 7};
    state.resize(static_cast<size_t>(words));
    auto word = [&](uint64_t i) {
      uint64_t low = state[1] + i / 4;
      uint64_t high = (words == 2 ? state[0] : state[2]) + (low < state[1]);
      auto block = philox({static_cast<uint32_t>(state[0]), static_cast<uint32_t>(state[0] >> 32)},
                          {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                           static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)});
      return block[i % 4];
    };
    const size_t count = static_cast<size_t>(rows * columns);
    Bytes in = bytes_of(state), next(in.size()), a(count * 4), b(count * 8), c(count),
          pieces(count * 4);
    g.run(u32, {in.data(), next.data(), a.data()}, {}, 2);
    std::vector<uint64_t> after = values_of<uint64_t>(next);
    EXPECT_EQ(after[0], state[0]);
    EXPECT_EQ(after[1], state[1] + (count + 3) / 4);
    if (words == 3) {
      EXPECT_EQ(after[2], state[2] + 1);
    }
    g.run(u64, {in.data(), next.data(), b.data()}, {}, 1);
    g.run(u8, {in.data(), next.data(), c.data()}, {}, 1);
    std::vector<uint32_t> got = values_of<uint32_t>(a);
    std::vector<uint64_t> wide = values_of<uint64_t>(b);
    std::vector<uint8_t> narrow = values_of<uint8_t>(c);
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_EQ(got[i], word(i)) << i;
      ASSERT_EQ(wide[i], word(2 * i) | uint64_t{word(2 * i + 1)} << 32) << i;
      ASSERT_EQ(narrow[i], static_cast<uint8_t>(word(i))) << i;
    }
    for (int64_t from = 0; from < rows; from += 5) {
      KernelCall call;
      call.axis = KernelCall::Axis::parallel;
      call.lower = from;
      call.upper = std::min(rows, from + 5);
      g.run(u32, {in.data(), next.data(), pieces.data()}, call, 2);
    }
    EXPECT_EQ(pieces, a);
    // Columns, each piece in a buffer of its own with room for `step` of them.
    for (int64_t from = 0; from < columns; from += step) {
      Bytes own(static_cast<size_t>(rows * step) * 4);
      KernelCall call;
      call.axis = KernelCall::Axis::parallel;
      call.lower = from;
      call.upper = std::min(columns, from + step);
      g.run(cut, {in.data(), next.data(), own.data() - from * 4}, call, 2);
      std::vector<uint32_t> part = values_of<uint32_t>(own);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = from; i < call.upper; ++i)
          ASSERT_EQ(part[static_cast<size_t>(r * step + i - from)],
                    got[static_cast<size_t>(r * columns + i)]);
    }
  }
}

TEST_P(Rng, ThreefryCountsPairs) {
  Graph g;
  const int64_t count = 77;
  size_t k = add_rng(g, RngAlgorithm::three_fry, DType::ui32, {count}, 2);
  size_t zero = add_rng(g, RngAlgorithm::three_fry, DType::ui32, {2}, 2);
  g.compile(GetParam());
  std::vector<uint64_t> state = {0, 0};
  Bytes in = bytes_of(state), next(16), two(8), out(count * 4);
  g.run(zero, {in.data(), next.data(), two.data()}, {}, 1);
  // Known answer of threefry2x32-20 for key and counter 0, from Random123.
  EXPECT_EQ(values_of<uint32_t>(two), (std::vector<uint32_t>{0x6b200159, 0x99ba4efe}));
  g.run(k, {in.data(), next.data(), out.data()}, {}, 1);
  EXPECT_EQ(values_of<uint64_t>(next)[1], 39u);
  std::vector<uint32_t> all = values_of<uint32_t>(out);
  EXPECT_EQ(all[0], 0x6b200159u);
  // Starting later gives the rest of the same stream.
  state[1] = 10;
  Bytes later = bytes_of(state), rest(count * 4);
  g.run(k, {later.data(), next.data(), rest.data()}, {}, 1);
  std::vector<uint32_t> shifted = values_of<uint32_t>(rest);
  for (size_t i = 20; i < all.size(); ++i) ASSERT_EQ(all[i], shifted[i - 20]);
}

TEST(Speed, Philox) {
  Graph g;
  const int64_t count = 1 << 18;
  size_t k = add_rng(g, RngAlgorithm::philox, DType::ui32, {count}, 2);
  g.compile();
  std::vector<uint64_t> state = {1, 2};
  Bytes in = bytes_of(state), next(16), out(count * 4);
  ThreadPool pool(1);
  double seconds =
      best_seconds(10, 1, [&] { g.run(k, {in.data(), next.data(), out.data()}, {}, pool); });
  std::printf("philox: %.3f ns per u32\n", seconds * 1e9 / static_cast<double>(count));
  EXPECT_EQ(values_of<uint64_t>(next)[1], 2 + count / 4);
}

INSTANTIATE_TEST_SUITE_P(Levels, Rng, ::testing::ValuesIn(levels()), level_name);

}  // namespace
}  // namespace ullage
