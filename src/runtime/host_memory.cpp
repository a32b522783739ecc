#include "runtime/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace ullage {

namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kLarge = int64_t{4} << 20;  // from here on huge pages pay
constexpr int64_t kWorthKeeping = 64 << 10;   // what is smaller, the C library keeps well itself

}  // namespace

HostMemory::~HostMemory() {
  trim();
}

// Blocks of nearly the same size can stand in for one another.
int64_t HostMemory::rounded(int64_t bytes) {
  int64_t unit = bytes >= kLarge ? kHugePage / 8 : bytes >= kWorthKeeping ? 4096 : kAlignment;
  return std::max<int64_t>(1, (bytes + unit - 1) / unit) * unit;
}

std::byte* HostMemory::allocate(int64_t bytes) {
  int64_t size = rounded(bytes);
  std::byte* out = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (auto kept = free_.find(size); kept != free_.end()) {
      out = kept->second;
      free_.erase(kept);
      counts_.bytes_kept -= size;
    }
  }
  if (!out) {
    int64_t alignment = size >= kLarge ? kHugePage : kAlignment;
    void* data = nullptr;
    if (posix_memalign(&data, static_cast<size_t>(alignment), static_cast<size_t>(size)) != 0) {
      trim();
      if (posix_memalign(&data, static_cast<size_t>(alignment), static_cast<size_t>(size)) != 0)
        return nullptr;
    }
    // Only advice.
    if (size >= kLarge) madvise(data, static_cast<size_t>(size), MADV_HUGEPAGE);
    out = static_cast<std::byte*>(data);
  }
  std::lock_guard lock(mutex_);
  ++counts_.allocations;
  counts_.largest_allocation = std::max(counts_.largest_allocation, bytes);
  counts_.bytes_in_use += bytes;
  counts_.peak_bytes_in_use = std::max(counts_.peak_bytes_in_use, counts_.bytes_in_use);
  return out;
}

void HostMemory::release(std::byte* data, int64_t bytes) {
  int64_t size = rounded(bytes);
  {
    std::lock_guard lock(mutex_);
    counts_.bytes_in_use -= bytes;
    if (size >= kWorthKeeping && counts_.bytes_kept + size <= keep_bytes_) {
      free_.emplace(size, data);
      counts_.bytes_kept += size;
      return;
    }
  }
  std::free(data);
}

void HostMemory::count_foreign(int64_t bytes) {
  std::lock_guard lock(mutex_);
  counts_.bytes_in_use += bytes;
  counts_.peak_bytes_in_use = std::max(counts_.peak_bytes_in_use, counts_.bytes_in_use);
}

MemoryCounts HostMemory::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

void HostMemory::reset_counts() {
  std::lock_guard lock(mutex_);
  counts_.peak_bytes_in_use = counts_.bytes_in_use;
  counts_.allocations = counts_.largest_allocation = 0;
}

void HostMemory::trim() {
  std::multimap<int64_t, std::byte*> all;
  {
    std::lock_guard lock(mutex_);
    all.swap(free_);
    counts_.bytes_kept = 0;
  }
  for (const auto& [size, data] : all) std::free(data);
}

}  // namespace ullage
