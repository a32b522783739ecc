// The arena: one private mapping of exactly the planned size (rounded up to pages), with huge pages
// where the system allows them, touched once when it is made, because a fresh page costs ten times
// the work done on it. Everything a compiled program stores lies in it at the addresses of the
// plan; it never grows and is never larger than the budget. It also keeps the account of how far it
// was really used. Made by the executor, one per loaded program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "support/diagnostics.h"

namespace ullage {

class ThreadPool;

class Arena {
 public:
  // Where the plan may place anything: a multiple of this.
  static constexpr int64_t alignment = 64;

  // Maps `bytes` (0 is fine) and touches every page, on the pool's threads when there is one.
  // Refuses sizes above `budget_bytes` and says so when the system has no memory to give.
  static Result<Arena> create(int64_t bytes, std::optional<int64_t> budget_bytes = {},
                              ThreadPool* pool = nullptr);

  Arena() = default;
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  std::byte* data() const { return data_; }
  int64_t size() const { return size_; }                  // as asked for
  int64_t mapped_bytes() const { return mapped_bytes_; }  // size() rounded up to pages

  // The address of [offset, offset + bytes), which must lie inside. Counts towards the high-water
  // mark.
  std::byte* at(int64_t offset, int64_t bytes);

  // The end of the highest range handed out by at().
  int64_t high_water_bytes() const { return high_water_.load(std::memory_order_relaxed); }
  void reset_high_water() { high_water_.store(0, std::memory_order_relaxed); }

 private:
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
  int64_t mapped_bytes_ = 0;
  std::atomic<int64_t> high_water_{0};
};

}  // namespace ullage
