#include "runtime/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "runtime/thread_pool.h"
#include "support/check.h"

namespace ullage {
namespace {

TEST(Arena, HoldsExactlyWhatWasPlanned) {
  ThreadPool pool(2);
  for (int64_t bytes : {1, 4096, 5000, (2 << 20) - 1, (2 << 20) + 4097, 40 << 20}) {
    auto arena = Arena::create(bytes, bytes, &pool);
    ASSERT_TRUE(arena.ok());
    EXPECT_EQ(arena->size(), bytes);
    EXPECT_GE(arena->mapped_bytes(), bytes);
    EXPECT_LT(arena->mapped_bytes(), bytes + 65536);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->data()) % Arena::alignment, 0u);
    EXPECT_EQ(arena->data()[0], std::byte{0});
    std::memset(arena->data(), 0x5a, static_cast<size_t>(bytes));
    EXPECT_EQ(arena->data()[bytes - 1], std::byte{0x5a});
  }
}

TEST(Arena, MayBeEmpty) {
  auto arena = Arena::create(0, 0);
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(arena->size(), 0);
  EXPECT_EQ(arena->high_water_bytes(), 0);
  EXPECT_EQ(arena->at(0, 0), arena->data());
}

TEST(Arena, RefusesMoreThanTheBudget) {
  auto arena = Arena::create(4097, 4096);
  ASSERT_FALSE(arena.ok());
  EXPECT_NE(arena.diagnostics()[0].message.find("larger than the budget"), std::string::npos);
  EXPECT_NE(arena.diagnostics()[0].help.find("4097"), std::string::npos);
}

TEST(Arena, SaysWhenTheSystemRefuses) {
  for (int64_t bytes : {int64_t{1} << 60, INT64_MAX}) {
    auto arena = Arena::create(bytes);
    ASSERT_FALSE(arena.ok());
    EXPECT_NE(arena.diagnostics()[0].message.find("refused to map"), std::string::npos);
    EXPECT_FALSE(arena.diagnostics()[0].help.empty());
  }
}

TEST(Arena, CountsTheHighestUse) {
  auto arena = Arena::create(10000);
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(arena->high_water_bytes(), 0);
  EXPECT_EQ(arena->at(64, 100), arena->data() + 64);
  EXPECT_EQ(arena->high_water_bytes(), 164);
  arena->at(0, 10);
  EXPECT_EQ(arena->high_water_bytes(), 164);
  arena->at(0, 10000);
  EXPECT_EQ(arena->high_water_bytes(), 10000);
  arena->reset_high_water();
  EXPECT_EQ(arena->high_water_bytes(), 0);
  EXPECT_THROW(arena->at(1, 10000), InternalError);
  EXPECT_THROW(arena->at(-1, 1), InternalError);
  EXPECT_THROW(arena->at(10001, 0), InternalError);
}

TEST(Arena, Moves) {
  auto made = Arena::create(8192);
  ASSERT_TRUE(made.ok());
  std::byte* data = made->data();
  Arena first = std::move(*made);
  EXPECT_EQ(first.data(), data);
  Arena second;
  second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(second.size(), 8192);
  second.data()[8191] = std::byte{1};
}

}  // namespace
}  // namespace ullage
