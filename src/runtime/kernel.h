// A compiled kernel as the executor sees it: a function over buffer addresses. Code generation
// makes them; the runtime calls them and knows nothing else about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ullage {

class ThreadPool;

struct KernelCall {
  // The kernel's inputs, then its outputs. When only a piece [lower, upper) is run, the address of
  // a buffer that holds just the piece is moved back so that indexing with the full indices lands
  // in it.
  std::byte* const* buffers = nullptr;
  std::byte* scratch = nullptr;
  // The piece to run: of the kernel's parallel dimension that may be cut, or of the first reduced
  // or contracted one. upper < 0 means everything.
  enum class Axis : uint8_t { all, parallel, contracted };
  Axis axis = Axis::all;
  int64_t lower = 0, upper = -1;
  // Contracted pieces: all but the first continue from what the output holds, all but the last
  // leave a sum there to be continued.
  bool accumulate = false;
  bool unfinished = false;
};

class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
  virtual void run(const KernelCall& call, ThreadPool& pool) const = 0;
};

}  // namespace ullage
