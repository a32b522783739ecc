#include "runtime/thread_pool.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <system_error>

namespace ullage {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto spin_time = std::chrono::microseconds(80);
constexpr int pauses_per_clock_check = 32;
constexpr uint32_t closed = UINT32_MAX;  // a claim number that no job reaches

// The pool and number under which this thread runs chunks, if it does.
struct Place {
  const ThreadPool* pool = nullptr;
  int worker = 0;
};
thread_local Place place;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr,
          nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr,
          nullptr, 0);
}

}  // namespace

ThreadPool::ThreadPool(int threads) : threads_(std::max(threads, 1)) {
  workers_.reserve(threads_ - 1);
  for (int worker = 1; worker < threads_; ++worker) {
    try {
      workers_.emplace_back([this, worker] { worker_main(worker); });
    } catch (const std::system_error&) {
      break;
    }
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_seq_cst);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(epoch_, INT_MAX);
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_chunks(const Body& body, int64_t first, int64_t last, int worker) {
  for (int64_t chunk = first; chunk < last; ++chunk) {
    if (failed_.load(std::memory_order_relaxed)) return;
    try {
      body(chunk, worker);
    } catch (...) {
      if (!failed_.exchange(true, std::memory_order_acq_rel)) failure_ = std::current_exception();
    }
  }
}

// Claims the next piece of the current job and runs it; false when there is none left.
bool ThreadPool::run_one_claim(int worker) {
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (true) {
    // These may belong to a later job already; then the swap below fails, for this job's claims are
    // all taken.
    const Body* body = body_.load(std::memory_order_acquire);
    const int64_t chunks = chunks_.load(std::memory_order_acquire);
    const int64_t claim = claim_.load(std::memory_order_acquire);
    const uint32_t claims = claims_.load(std::memory_order_acquire);
    const uint32_t next = static_cast<uint32_t>(ticket);
    if (next >= claims) return false;
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      pause();
      continue;
    }
    const int64_t first = next * claim;
    run_chunks(*body, first, std::min(first + claim, chunks), worker);
    done_.fetch_add(1, std::memory_order_release);
    return true;
  }
}

void ThreadPool::worker_main(int worker) {
  place = {this, worker};
  while (!stop_.load(std::memory_order_relaxed)) {
    const uint32_t epoch = epoch_.load(std::memory_order_seq_cst);
    while (run_one_claim(worker)) {
    }
    const auto start = Clock::now();
    bool parked = true;
    while (Clock::now() - start < spin_time) {
      for (int i = 0; i < pauses_per_clock_check && epoch_.load(std::memory_order_acquire) == epoch;
           ++i) {
        pause();
      }
      if (epoch_.load(std::memory_order_acquire) != epoch) {
        parked = false;
        break;
      }
    }
    if (!parked) continue;
    // The caller bumps the epoch before it looks for sleepers, and this thread counts itself before
    // the kernel compares the epoch: one of the two always sees the other.
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    futex_wait(epoch_, epoch);
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  }
}

void ThreadPool::parallel_for(int64_t chunks, FunctionRef<void(int64_t, int)> body) {
  if (chunks <= 0) return;
  const bool nested = place.pool == this;
  if (chunks == 1 || workers_.empty() || nested || !caller_.try_lock()) {
    const int worker = nested ? place.worker : 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) body(chunk, worker);
    return;
  }
  std::unique_lock<std::mutex> lock(caller_, std::adopt_lock);
  const Place outside = place;
  place = {this, 0};

  const int64_t claim = chunks / INT32_MAX + 1;
  const uint32_t claims = static_cast<uint32_t>((chunks + claim - 1) / claim);
  const uint64_t job = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
  // Closed first, so that nobody takes a claim of the new job under the old job's ticket.
  ticket_.store(job << 32 | closed, std::memory_order_release);
  failed_.store(false, std::memory_order_release);
  done_.store(0, std::memory_order_release);
  body_.store(&body, std::memory_order_release);
  chunks_.store(chunks, std::memory_order_release);
  claim_.store(claim, std::memory_order_release);
  claims_.store(claims, std::memory_order_release);
  ticket_.store(job << 32, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0) {
    futex_wake(epoch_, static_cast<int>(std::min<uint32_t>(claims - 1, INT32_MAX)));
  }

  while (run_one_claim(0)) {
  }
  // Only chunks that a worker is inside of are left. If its processor has been taken away, let it
  // have this one.
  for (int spins = 0; done_.load(std::memory_order_acquire) != claims; ++spins) {
    if (spins < 2000) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
  place = outside;
  if (failed_.load(std::memory_order_acquire)) {
    std::exception_ptr failure;
    std::swap(failure, failure_);
    lock.unlock();
    std::rethrow_exception(failure);
  }
}

}  // namespace ullage
