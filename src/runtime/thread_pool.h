// The one thread pool. A parallel_for hands out its chunks through an atomic counter; the calling
// thread takes part and can finish all of them alone, so a worker that is late or descheduled
// delays nothing except the chunk it is in. Workers spin for a short while after their last chunk
// and then park, because waking a parked thread costs a hundred times more than a spinning one.
// What a chunk is must not depend on the number of threads: results then do not either. Called by
// the executor and by kernels with work worth splitting.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "support/function_ref.h"

namespace ullage {

class ThreadPool {
 public:
  // `threads` counts the caller: 1 never starts a thread. Should the system refuse to start some,
  // the pool works with fewer.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls body(chunk, worker) once for every chunk in [0, chunks) and returns when all are done.
  // `worker` is in [0, threads()) and no two chunks run at the same time under one worker number,
  // so it may index scratch memory. A call from within a chunk, or while another thread uses the
  // pool, runs inline. When chunks throw, the first exception is rethrown here; chunks not yet
  // begun are then skipped.
  void parallel_for(int64_t chunks, FunctionRef<void(int64_t chunk, int worker)> body);

 private:
  using Body = FunctionRef<void(int64_t, int)>;

  void worker_main(int worker);
  bool run_one_claim(int worker);
  void run_chunks(const Body& body, int64_t first, int64_t last, int worker);

  int threads_;
  std::vector<std::thread> workers_;
  std::mutex caller_;  // held by the thread whose job is in the pool

  // The job. Written by the caller before it publishes `ticket_`; a worker may use what it read
  // only after its compare-and-swap on the ticket has shown that the job was still the same.
  std::atomic<const Body*> body_{nullptr};
  std::atomic<int64_t> chunks_{0};
  std::atomic<int64_t> claim_{1};    // chunks per claim
  std::atomic<uint32_t> claims_{0};  // claims in this job
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // written by whoever sets failed_ first

  alignas(64) std::atomic<uint64_t> ticket_{
      0};                                      // job number in the high half, next claim in the low
  alignas(64) std::atomic<uint32_t> done_{0};  // claims finished
  alignas(64) std::atomic<uint32_t> epoch_{0};  // what parked workers sleep on
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace ullage
