#include "plan/pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "plan/pack_traces.h"
#include "plan/pack_validator.h"
#include "support/check.h"

namespace ullage {
namespace {

using testing::gpt_trace;
using testing::mlp_trace;
using testing::TraceShape;

void expect_valid(const std::vector<PackBuffer>& buffers, const PackResult& result,
                  int64_t capacity = -1) {
  std::vector<std::string> violations = validate_packing(buffers, result.offsets, capacity);
  EXPECT_TRUE(violations.empty()) << violations.front();
  int64_t top = 0;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].size > 0) top = std::max(top, result.offsets[i] + buffers[i].size);
  EXPECT_EQ(result.arena, top);
  EXPECT_LE(result.max_live, result.arena);
}

// The least arena, by placing the buffers lowest first in every order: in an optimal packing pushed
// down, taking the buffers by rising offset gives exactly that packing.
struct BruteForce {
  const std::vector<PackBuffer>& buffers;
  std::vector<int64_t> offset;
  int64_t bound;  // most bytes alive at once: nothing is better
  int64_t best = INT64_MAX;

  int64_t lowest(size_t i) const {
    const PackBuffer& b = buffers[i];
    int64_t at = 0;
    for (size_t j = 0; j < buffers.size(); ++j) {
      const PackBuffer& o = buffers[j];
      if (offset[j] < 0 || o.lower >= b.upper || b.lower >= o.upper) continue;
      if (at >= offset[j] + o.size || offset[j] >= at + b.size) continue;
      at = (offset[j] + o.size + b.alignment - 1) / b.alignment * b.alignment;
      j = static_cast<size_t>(-1);  // look again from the start
    }
    return at;
  }

  void place_rest(int64_t top) {
    if (top >= best || best <= bound) return;
    bool complete = true;
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (offset[i] >= 0) continue;
      complete = false;
      int64_t at = lowest(i);
      offset[i] = at;
      place_rest(std::max(top, at + buffers[i].size));
      offset[i] = -1;
    }
    if (complete) best = top;
  }
};

int64_t least_arena(const std::vector<PackBuffer>& buffers) {
  BruteForce search{buffers, {}, 0};
  for (const PackBuffer& at : buffers) {
    int64_t live = 0;
    for (const PackBuffer& b : buffers)
      if (b.lower <= at.lower && at.lower < b.upper) live += b.size;
    search.bound = std::max(search.bound, live);
  }
  int64_t top = 0;
  for (const PackBuffer& b : buffers) {
    search.offset.push_back(b.fixed_offset);
    if (b.fixed_offset >= 0) top = std::max(top, b.fixed_offset + b.size);
  }
  search.place_rest(top);
  return search.best;
}

std::vector<PackBuffer> random_buffers(std::mt19937_64& random, size_t count, int64_t clock,
                                       int64_t largest, int64_t alignment) {
  std::vector<PackBuffer> buffers;
  for (size_t i = 0; i < count; ++i) {
    int64_t lower = static_cast<int64_t>(random() % static_cast<uint64_t>(clock));
    int64_t life = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(clock / 2));
    int64_t size = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(largest));
    buffers.push_back({lower, lower + life, size, -1, alignment});
  }
  return buffers;
}

// A rectangle of time x bytes cut into pieces by random straight cuts: packs without a gap.
void cut_rectangle(std::mt19937_64& random, int64_t t0, int64_t t1, int64_t a0, int64_t a1,
                   int depth, std::vector<PackBuffer>& pieces) {
  bool by_time = random() % 2 == 0;
  int64_t length = by_time ? t1 - t0 : a1 - a0;
  if (depth == 0 || length < 2) {
    pieces.push_back({t0, t1, a1 - a0});
    return;
  }
  int64_t cut = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(length - 1));
  if (by_time) {
    cut_rectangle(random, t0, t0 + cut, a0, a1, depth - 1, pieces);
    cut_rectangle(random, t0 + cut, t1, a0, a1, depth - 1, pieces);
  } else {
    cut_rectangle(random, t0, t1, a0, a0 + cut, depth - 1, pieces);
    cut_rectangle(random, t0, t1, a0 + cut, a1, depth - 1, pieces);
  }
}

TEST(Pack, Nothing) {
  PackResult result = pack({});
  EXPECT_TRUE(result.fits);
  EXPECT_EQ(result.arena, 0);
  EXPECT_TRUE(pack({}, {.capacity = 0}).fits);
}

TEST(Pack, ReusesRoomOfTheDead) {
  std::vector<PackBuffer> buffers = {{0, 2, 100}, {2, 4, 100}, {1, 3, 50}};
  PackResult result = pack(buffers);
  expect_valid(buffers, result);
  EXPECT_EQ(result.arena, 150);
  EXPECT_EQ(result.max_live, 150);
}

TEST(Pack, EmptyBuffersTakeNoRoom) {
  std::vector<PackBuffer> buffers = {{0, 2, 0}, {0, 2, 64}, {0, 2, 0, 32}};
  PackResult result = pack(buffers, {.capacity = 64});
  expect_valid(buffers, result, 64);
  EXPECT_TRUE(result.fits);
  EXPECT_EQ(result.offsets[2], 32);
}

TEST(Pack, AlignmentCountsInTheBound) {
  std::vector<PackBuffer> buffers = {{0, 2, 100, -1, 64}, {0, 2, 100, -1, 64}};
  PackResult result = pack(buffers);
  expect_valid(buffers, result);
  EXPECT_EQ(result.max_live, 228);  // 128 for the lower one
  EXPECT_EQ(result.arena, 228);
  EXPECT_TRUE(pack(buffers, {.capacity = 227}).proved_infeasible);
}

TEST(Pack, MixedAlignments) {
  std::vector<PackBuffer> buffers = {{0, 9, 10, -1, 1}, {0, 9, 64, -1, 64}, {0, 9, 32, -1, 32}};
  PackResult result = pack(buffers);
  expect_valid(buffers, result);
  EXPECT_EQ(result.arena, 106);
}

TEST(Pack, FixedOffsetsAreKept) {
  std::vector<PackBuffer> buffers = {{0, 10, 64, 64}, {0, 10, 64}, {2, 6, 128}, {5, 8, 32, 160}};
  PackResult result = pack(buffers, {.capacity = 320});
  expect_valid(buffers, result, 320);
  EXPECT_TRUE(result.fits);
}

TEST(Pack, FixedBuffersThatCollideAreProved) {
  std::vector<PackBuffer> buffers = {{0, 3, 8}, {0, 10, 64, 64}, {5, 8, 32, 96}};
  PackResult result = pack(buffers);
  EXPECT_FALSE(result.fits);
  EXPECT_TRUE(result.proved_infeasible);
  EXPECT_EQ(result.obstacle, (std::vector<int32_t>{1, 2}));
  result = pack(std::vector<PackBuffer>{{0, 1, 4}, {0, 1, 4, 8}}, {.capacity = 11});
  EXPECT_TRUE(result.proved_infeasible);
  EXPECT_EQ(result.obstacle, (std::vector<int32_t>{1}));
}

TEST(Pack, TooManyLiveBytesAreProvedWithTheObstacle) {
  std::vector<PackBuffer> buffers = {{0, 3, 60}, {2, 5, 60}, {4, 8, 30}, {6, 9, 10}};
  PackResult result = pack(buffers, {.capacity = 119});
  EXPECT_FALSE(result.fits);
  EXPECT_TRUE(result.proved_infeasible);
  EXPECT_EQ(result.obstacle, (std::vector<int32_t>{0, 1}));
  expect_valid(buffers, result);  // still a packing, for reports
}

TEST(Pack, SearchProvesWhatTheBoundCannot) {
  // Seven bytes are alive at most, and yet seven are not enough.
  std::vector<PackBuffer> seed = {{5, 7, 1}, {3, 7, 2}, {4, 6, 2}, {3, 7, 1},
                                  {6, 8, 3}, {0, 3, 4}, {0, 5, 2}, {7, 8, 4}};
  PackResult result = pack(seed, {.capacity = 7});
  EXPECT_EQ(result.max_live, 7);
  EXPECT_FALSE(result.fits);
  EXPECT_TRUE(result.proved_infeasible);
  EXPECT_EQ(least_arena(seed), 8);
  EXPECT_EQ(pack(seed).arena, 8);

  // Its neighbours: many of them have a gap too.
  std::mt19937_64 random(3);
  int gaps = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<PackBuffer> buffers = seed;
    for (PackBuffer& b : buffers) b.size = 10 * b.size + static_cast<int64_t>(random() % 3);
    int64_t least = least_arena(buffers);
    result = pack(buffers, {.capacity = least});
    EXPECT_TRUE(result.fits) << "round " << round;
    gaps += result.max_live < least;
    EXPECT_TRUE(pack(buffers, {.capacity = least - 1}).proved_infeasible) << "round " << round;
    EXPECT_EQ(pack(buffers).arena, least) << "round " << round;
  }
  EXPECT_GE(gaps, 10);
}

TEST(Pack, ObstacleOfASearchCannotLoseABuffer) {
  std::vector<PackBuffer> buffers = {{5, 7, 1}, {3, 7, 2},   {4, 6, 2},  {3, 7, 1},  {6, 8, 3},
                                     {0, 3, 4}, {0, 5, 2},   {7, 8, 4},  {8, 12, 1}, {9, 13, 2},
                                     {8, 9, 2}, {11, 15, 3}, {-4, 1, 1}, {-3, 0, 2}};
  PackResult result = pack(buffers, {.capacity = 7});
  ASSERT_EQ(result.max_live, 7);
  ASSERT_TRUE(result.proved_infeasible);
  EXPECT_LT(result.obstacle.size(), buffers.size());
  EXPECT_TRUE(std::is_sorted(result.obstacle.begin(), result.obstacle.end()));
  std::vector<PackBuffer> obstacle;
  for (int32_t i : result.obstacle) obstacle.push_back(buffers[i]);
  EXPECT_GT(least_arena(obstacle), 7);
  for (size_t i = 0; i < obstacle.size(); ++i) {
    std::vector<PackBuffer> rest = obstacle;
    rest.erase(rest.begin() + static_cast<int64_t>(i));
    EXPECT_LE(least_arena(rest), 7) << "without buffer " << result.obstacle[i];
  }
}

TEST(Pack, AgreesWithBruteForce) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 400; ++round) {
    size_t count = 2 + random() % 5;
    int64_t alignment = round % 4 == 3 ? 4 : 1;
    std::vector<PackBuffer> buffers = random_buffers(random, count, 9, 12, alignment);
    if (round % 5 == 4)
      for (PackBuffer& b : buffers) b.alignment = int64_t{1} << (random() % 4);
    int64_t least = least_arena(buffers);
    PackResult result = pack(buffers);
    expect_valid(buffers, result);
    EXPECT_EQ(result.arena, least) << "round " << round;
    result = pack(buffers, {.capacity = least});
    EXPECT_TRUE(result.fits) << "round " << round;
    expect_valid(buffers, result, least);
    result = pack(buffers, {.capacity = least - 1});
    EXPECT_FALSE(result.fits) << "round " << round;
    EXPECT_TRUE(result.proved_infeasible) << "round " << round;
  }
}

TEST(Pack, AgreesWithBruteForceAroundFixedBuffers) {
  std::mt19937_64 random(2);
  int rounds = 0;
  while (rounds < 300) {
    std::vector<PackBuffer> buffers = random_buffers(random, 6, 9, 12, 1);
    std::vector<int64_t> offsets(6, 0);
    for (size_t i = 4; i < 6; ++i)
      buffers[i].fixed_offset = offsets[i] = static_cast<int64_t>(random() % 20);
    if (buffers[4].lower < buffers[5].upper && buffers[5].lower < buffers[4].upper &&
        offsets[4] < offsets[5] + buffers[5].size && offsets[5] < offsets[4] + buffers[4].size)
      continue;
    ++rounds;
    int64_t least = least_arena(buffers);
    PackResult result = pack(buffers);
    expect_valid(buffers, result);
    EXPECT_EQ(result.arena, least) << "round " << rounds;
    result = pack(buffers, {.capacity = least - 1});
    EXPECT_TRUE(result.proved_infeasible) << "round " << rounds;
  }
}

TEST(Pack, RectanglesWithoutAGap) {
  std::mt19937_64 random(4);
  int found = 0, rounds = 150;
  for (int round = 0; round < rounds; ++round) {
    std::vector<PackBuffer> buffers;
    int64_t capacity = 4096;
    cut_rectangle(random, 0, 1000, 0, capacity, 4 + round % 4, buffers);
    std::shuffle(buffers.begin(), buffers.end(), random);
    PackResult result = pack(buffers, {.capacity = capacity, .step_limit = 20'000'000});
    expect_valid(buffers, result);
    EXPECT_FALSE(result.proved_infeasible) << "round " << round;
    if (result.fits) expect_valid(buffers, result, capacity);
    found += result.fits;
  }
  EXPECT_GE(found, rounds * 9 / 10);
}

TEST(Pack, PartsAreSolvedApart) {
  std::vector<PackBuffer> buffers;
  for (int64_t t = 0; t < 100; t += 10) {
    buffers.push_back({t, t + 3, 7});
    buffers.push_back({t + 2, t + 6, 8});
    buffers.push_back({t + 5, t + 8, 3});
    buffers.push_back({t + 7, t + 9, 9});
  }
  buffers.push_back({0, 100, 5});
  PackResult result = pack(buffers);
  expect_valid(buffers, result);
  EXPECT_EQ(result.arena, 20);
  EXPECT_EQ(result.stats.parts, 10);
}

TEST(Pack, SameInputSameOffsets) {
  std::mt19937_64 random(5);
  std::vector<PackBuffer> buffers = random_buffers(random, 300, 400, 1000, 8);
  PackOptions options{.step_limit = 5'000'000};
  PackResult a = pack(buffers, options), b = pack(buffers, options);
  EXPECT_EQ(a.offsets, b.offsets);
  EXPECT_EQ(a.stats.steps, b.stats.steps);
  expect_valid(buffers, a);
}

TEST(Pack, LimitsAreKept) {
  std::mt19937_64 random(6);
  std::vector<PackBuffer> buffers = random_buffers(random, 500, 600, 1000, 1);
  PackResult limited = pack(buffers, {.node_limit = 2000, .step_limit = 10'000'000});
  expect_valid(buffers, limited);
  EXPECT_LE(limited.stats.nodes, 2000);
  EXPECT_LE(limited.stats.steps, 20'000'000);  // a stage may finish the piece it is at
  PackResult quick = pack(buffers, {.exact = false});
  expect_valid(buffers, quick);
  EXPECT_EQ(quick.stats.nodes, 0);
  EXPECT_LE(limited.arena, quick.arena);
}

TEST(Pack, TrainingTracesReachTheBound) {
  for (int64_t layers : {16, 48}) {
    for (bool checkpoint : {false, true}) {
      for (bool fused : {false, true}) {
        TraceShape shape{.layers = layers, .checkpoint = checkpoint, .fused_update = fused};
        for (const std::vector<PackBuffer>& buffers : {mlp_trace(shape), gpt_trace(shape)}) {
          PackResult result = pack(buffers, {.step_limit = 50'000'000, .tolerance = 0.005});
          expect_valid(buffers, result);
          EXPECT_LE(static_cast<double>(result.arena), 1.005 * static_cast<double>(result.max_live))
              << layers << " layers, checkpoint " << checkpoint << ", fused " << fused;
        }
      }
    }
  }
}

TEST(Pack, TenThousandBuffers) {
  std::mt19937_64 random(7);
  std::vector<PackBuffer> buffers;
  for (int64_t i = 0; i < 10'000; ++i) {
    int64_t lower = static_cast<int64_t>(random() % 10'000);
    int64_t life = 1 + static_cast<int64_t>(random() % 200);
    buffers.push_back({lower, lower + life, 64 + 64 * static_cast<int64_t>(random() % 1000)});
  }
  PackResult result = pack(buffers, {.step_limit = 100'000'000, .exact = false});
  expect_valid(buffers, result);
  EXPECT_LE(result.arena, result.max_live + result.max_live / 8);
}

TEST(Pack, NestedLivesManyDeep) {
  std::vector<PackBuffer> buffers;
  for (int64_t i = 0; i < 4000; ++i) buffers.push_back({i, 10'000 - i, 64 * (1 + i % 7)});
  PackResult result = pack(buffers);
  expect_valid(buffers, result);
  EXPECT_EQ(result.arena, result.max_live);
}

TEST(Pack, BrokenInputIsAnInternalError) {
  EXPECT_THROW(pack(std::vector<PackBuffer>{{3, 3, 8}}), InternalError);
  EXPECT_THROW(pack(std::vector<PackBuffer>{{0, 1, -8}}), InternalError);
  EXPECT_THROW(pack(std::vector<PackBuffer>{{0, 1, 8, 4, 8}}), InternalError);
  EXPECT_THROW(pack(std::vector<PackBuffer>{{0, 1, int64_t{1} << 61}, {0, 1, int64_t{1} << 61}}),
               InternalError);
}

}  // namespace
}  // namespace ullage
