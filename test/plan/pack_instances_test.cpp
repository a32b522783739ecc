// The public instances of the MiniMalloc benchmark, read from the data shared beside the
// repository.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "plan/pack.h"
#include "plan/pack_csv.h"
#include "plan/pack_validator.h"
#include "shared_data.h"

namespace ullage {
namespace {

std::filesystem::path instance_path(std::string_view letter) {
  return shared_folder() / "packing" / (std::string(letter) + ".1048576.csv");
}

class PackInstance : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::ifstream file(instance_path(GetParam()), std::ios::binary);
    if (!file) GTEST_SKIP() << "no shared packing instances";
    std::string text(std::istreambuf_iterator<char>(file), {});
    Result<PackTable> table = read_pack_csv(text, GetParam());
    ASSERT_TRUE(table.ok()) << to_string(table.diagnostics());
    buffers_ = table->buffers;
  }
  std::vector<PackBuffer> buffers_;
};

constexpr int64_t capacity = 1'048'576;

TEST_P(PackInstance, FitsTheCapacity) {
  PackResult result = pack(buffers_, {.capacity = capacity, .node_limit = 100'000});
  EXPECT_TRUE(result.fits) << result.arena << " after " << result.stats.nodes << " nodes";
  EXPECT_TRUE(result.obstacle.empty());
  std::vector<std::string> violations = validate_packing(buffers_, result.offsets, capacity);
  EXPECT_TRUE(violations.empty()) << violations.front();
}

TEST_P(PackInstance, OneByteBelowTheBoundIsRefused) {
  int64_t bound = pack(buffers_, {.exact = false}).max_live;
  PackResult result = pack(buffers_, {.capacity = bound - 1});
  EXPECT_FALSE(result.fits);
  EXPECT_TRUE(result.proved_infeasible);
  int64_t together = 0, begin = INT64_MIN, end = INT64_MAX;
  for (int32_t i : result.obstacle) {
    together += buffers_[i].size;
    begin = std::max(begin, buffers_[i].lower);
    end = std::min(end, buffers_[i].upper);
  }
  EXPECT_EQ(together, bound);
  EXPECT_LT(begin, end);  // all alive at once
}

TEST_P(PackInstance, AsSmallAsPossible) {
  if (!long_tests()) GTEST_SKIP() << "set ULLAGE_LONG_TESTS=1 to run";
  PackResult result = pack(buffers_);
  EXPECT_LE(result.arena, capacity);
  std::vector<std::string> violations = validate_packing(buffers_, result.offsets);
  EXPECT_TRUE(violations.empty()) << violations.front();
}

INSTANTIATE_TEST_SUITE_P(Public, PackInstance,
                         ::testing::Values("A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace ullage
