#include "runtime/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/thread_pool.h"
#include "support/check.h"
#include "support/size.h"

namespace ullage {
namespace {

constexpr int64_t huge_page_bytes = int64_t{2} << 20;
constexpr int64_t touch_chunk_bytes = int64_t{8} << 20;

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Maps `bytes` at an address that huge pages can use. Reserves address space beyond it and gives
// that back, so nothing more than `bytes` ever exists.
std::byte* map_aligned(int64_t bytes) {
  const int64_t slack = bytes >= huge_page_bytes ? huge_page_bytes : 0;
  void* mapping = mmap(nullptr, static_cast<size_t>(bytes + slack), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(mapping);
  if (slack == 0) return begin;
  const auto address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(begin));
  const int64_t head = round_up(address, huge_page_bytes) - address;
  if (head > 0) munmap(begin, static_cast<size_t>(head));
  if (slack > head) munmap(begin + head + bytes, static_cast<size_t>(slack - head));
  return begin + head;
}

void touch(std::byte* data, int64_t bytes, int64_t page, ThreadPool* pool) {
  const auto touch_chunk = [&](int64_t chunk, int) {
    const int64_t end = std::min(bytes, (chunk + 1) * touch_chunk_bytes);
    for (int64_t at = chunk * touch_chunk_bytes; at < end; at += page) {
      *static_cast<volatile std::byte*>(data + at) = std::byte{0};
    }
  };
  const int64_t chunks = (bytes + touch_chunk_bytes - 1) / touch_chunk_bytes;
  if (pool != nullptr) {
    pool->parallel_for(chunks, touch_chunk);
  } else {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) touch_chunk(chunk, 0);
  }
}

}  // namespace

Result<Arena> Arena::create(int64_t bytes, std::optional<int64_t> budget_bytes, ThreadPool* pool) {
  ULLAGE_CHECK(bytes >= 0, "the size of an arena is not negative");
  if (budget_bytes && bytes > *budget_bytes) {
    return error("an arena of " + format_size(bytes) + " is larger than the budget of " +
                     format_size(*budget_bytes),
                 {}, "raise the budget to at least " + std::to_string(bytes) + " bytes");
  }
  Arena arena;
  if (bytes == 0) return arena;
  const int64_t page = sysconf(_SC_PAGESIZE);
  const bool representable = bytes <= INT64_MAX - huge_page_bytes - page;
  errno = ENOMEM;
  std::byte* data = representable ? map_aligned(round_up(bytes, page)) : nullptr;
  if (data == nullptr) {
    return error(
        "the system refused to map an arena of " + format_size(bytes) + ": " + std::strerror(errno),
        {}, "give a memory budget that this machine can hold, or free memory on it");
  }
  arena.data_ = data;
  arena.size_ = bytes;
  arena.mapped_bytes_ = round_up(bytes, page);
  // Only advice: without huge pages everything works, more slowly.
  madvise(data, static_cast<size_t>(arena.mapped_bytes_), MADV_HUGEPAGE);
  touch(data, arena.mapped_bytes_, page, pool);
  return arena;
}

Arena::~Arena() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(mapped_bytes_));
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)),
      high_water_(other.high_water_.exchange(0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  high_water_.store(other.high_water_.exchange(high_water_.load()));
  return *this;
}

std::byte* Arena::at(int64_t offset, int64_t bytes) {
  ULLAGE_CHECK(offset >= 0 && bytes >= 0 && bytes <= size_ && offset <= size_ - bytes,
               "bytes " + std::to_string(offset) + " to " + std::to_string(offset + bytes) +
                   " of an arena of " + std::to_string(size_));
  const int64_t end = offset + bytes;
  int64_t seen = high_water_.load(std::memory_order_relaxed);
  while (seen < end && !high_water_.compare_exchange_weak(seen, end, std::memory_order_relaxed)) {
  }
  return data_ + offset;
}

}  // namespace ullage
