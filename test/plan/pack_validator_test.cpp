#include "plan/pack_validator.h"

#include <gtest/gtest.h>

#include <random>

namespace ullage {
namespace {

using Buffers = std::vector<PackBuffer>;
using Offsets = std::vector<int64_t>;

TEST(PackValidator, AcceptsNeighboursInTimeAndSpace) {
  Buffers buffers = {{0, 2, 10}, {2, 4, 10}, {0, 4, 5}};
  EXPECT_TRUE(validate_packing(buffers, Offsets{0, 0, 10}, 15).empty());
}

TEST(PackValidator, NamesEveryKindOfViolation) {
  Buffers buffers = {{0, 2, 10, -1, 4}, {1, 3, 10, 20}};
  auto only = [&](const Offsets& offsets, int64_t capacity) {
    std::vector<std::string> violations = validate_packing(buffers, offsets, capacity);
    return violations.size() == 1 ? violations[0] : "not one violation";
  };
  EXPECT_EQ(only({0, 20}, 30), "not one violation");
  EXPECT_EQ(only({-4, 20}, 30), "buffer 0 is at the negative offset -4");
  EXPECT_EQ(only({2, 20}, 30), "buffer 0 at 2 is not aligned to 4");
  EXPECT_EQ(only({0, 10}, 30), "buffer 1 must be at 20 but is at 10");
  EXPECT_EQ(only({0, 20}, 29), "buffer 1 at 20 with 10 bytes ends above the capacity of 29");
  EXPECT_EQ(only({12, 20}, 30),
            "buffers 0 and 1 are both alive at 1 and overlap: [12, 22) and [20, 30)");
  EXPECT_EQ(only({0}, 30), "2 buffers but 1 offsets");
}

TEST(PackValidator, SizesNearTheLimitDoNotWrap) {
  Buffers buffers = {{0, 2, INT64_MAX}, {0, 2, 1}};
  EXPECT_EQ(validate_packing(buffers, Offsets{1, 0}, 100).size(), 1u);
  EXPECT_FALSE(validate_packing(buffers, Offsets{0, INT64_MAX - 1}).empty());
}

TEST(PackValidator, AgreesWithAllPairs) {
  std::mt19937_64 random(1);
  auto up_to = [&](uint64_t bound) { return static_cast<int64_t>(random() % bound); };
  int valid = 0;
  for (int round = 0; round < 3000; ++round) {
    Buffers buffers;
    Offsets offsets;
    for (int i = 0; i < 5; ++i) {
      int64_t lower = up_to(8);
      buffers.push_back({lower, lower + 1 + up_to(4), up_to(4)});
      offsets.push_back(up_to(12));
    }
    bool overlap = false;
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < i; ++j)
        overlap =
            overlap ||
            (buffers[i].size > 0 && buffers[j].size > 0 && buffers[i].lower < buffers[j].upper &&
             buffers[j].lower < buffers[i].upper && offsets[i] < offsets[j] + buffers[j].size &&
             offsets[j] < offsets[i] + buffers[i].size);
    EXPECT_EQ(validate_packing(buffers, offsets).empty(), !overlap) << "round " << round;
    valid += !overlap;
  }
  EXPECT_GT(valid, 100);
  EXPECT_LT(valid, 2900);
}

}  // namespace
}  // namespace ullage
