// Memory for the arguments and results of programs that run in this process, and scratch for their
// runs. Blocks are aligned as plans need it, large ones to huge pages. What is given back is kept
// for the next caller up to a limit, because fresh pages cost ten times the work done on them.
// Keeps the account that jaxlib asks devices for. All functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace ullage {

struct MemoryCounts {
  int64_t bytes_in_use = 0;
  int64_t peak_bytes_in_use = 0;
  int64_t allocations = 0;
  int64_t largest_allocation = 0;
  int64_t bytes_kept = 0;  // free, but not given back to the system
};

class HostMemory {
 public:
  explicit HostMemory(int64_t keep_bytes = int64_t{256} << 20) : keep_bytes_(keep_bytes) {}
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  // Null if the system has no more. `bytes` may be 0; the address then is a valid one all the same.
  std::byte* allocate(int64_t bytes);
  void release(std::byte* data, int64_t bytes);
  // Memory that others own but that is in use here, e.g. a NumPy array that a buffer refers to.
  void count_foreign(int64_t bytes);  // negative when it is no longer used

  MemoryCounts counts() const;
  // The peak and the number of allocations count from now on.
  void reset_counts();
  // Gives all that is kept back to the system.
  void trim();

 private:
  static int64_t rounded(int64_t bytes);

  mutable std::mutex mutex_;
  int64_t keep_bytes_;
  MemoryCounts counts_;
  std::multimap<int64_t, std::byte*> free_;  // by size
};

}  // namespace ullage
