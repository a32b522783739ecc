// How sort and top_k are computed. A comparator that orders by keys, "key(lhs) < key(rhs)" or such
// comparisons one after another, is turned into an expression for one unsigned integer per element,
// and integers are sorted by radix. Any other comparator is called, by a merge sort. Both are
// stable, and the stable order is unique, so its bits depend on nothing else: not on the method,
// the pieces or the threads. Where a comparator compares as IEEE 754 does and meets a NaN it is no
// order; keys then put NaN last.
//
// Slices of at most kSliceAlone elements are sorted by one thread each, longer ones by all threads
// one after another, in chunks that the extent alone decides.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/kernel_graph.h"

namespace ullage {

inline constexpr int64_t kMaxSortExtent = int64_t{1} << 31;
inline constexpr size_t kMaxSortOperands = 64;
inline constexpr size_t kMaxSortKeys = 8;  // beyond which comparing is faster
inline constexpr int64_t kSliceAlone = 1 << 16;
inline constexpr int64_t kSortChunk = 1 << 15;  // elements of long slices that one thread takes
inline constexpr int64_t kMaxSortChunks = 64;

// Bits of an element whose order as unsigned integers, after the transformation, is the one wanted.
enum class KeyForm : uint8_t {
  unsigned_,    // as they are
  signed_,      // two's complement
  total_order,  // IEEE 754 totalOrder: sign and magnitude
  canonical,    // the same with one zero and one NaN, which is what JAX sorts by
};

enum class SortMethod : uint8_t {
  values,     // one operand that is its own key: its bits are moved
  narrow,     // pairs of a key of 32 bits and a position, once for each key
  wide,       // pairs of a key of 64 bits and a position
  comparing,  // positions, merged by calling the comparator
};

struct SortPlan {
  int64_t outer = 1, extent = 1, inner = 1;  // the operands' shape around the sorted dimension
  SortMethod method = SortMethod::comparing;
  // Of method `values`.
  KeyForm form = KeyForm::unsigned_;
  bool descending = false;
  // Of methods narrow and wide: nodes `keys` of `expr` are the keys, ui32 or one of ui64, of the
  // element at index [outer, inner, position] of a loop space, the most significant first; each is
  // stored at `store`, which moves with the position only.
  Expr expr;
  std::vector<int32_t> keys;
  Access store;

  bool alone = true;         // slices are sorted by one thread each
  int64_t chunk = 1;         // elements a thread takes of a longer slice
  int64_t worker_bytes = 0;  // scratch per thread, or of the slice at work: two arrays
  int64_t scratch_bytes = 0;
  std::vector<int32_t> in_place;  // operands whose results may take their memory
};
SortPlan plan_sort(const LibraryKernel& kernel, int threads);

// Bytes of the arrays in scratch are rounded up to this.
constexpr int64_t scratch_aligned(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

struct TopKPlan {
  int64_t lines = 1, extent = 1, k = 0;
  int64_t pieces = 1;           // of each line, searched in parallel
  int64_t capacity = 0;         // candidates that a search holds
  int64_t candidate_bytes = 8;  // 16 when keys have 64 bits
  int64_t worker_bytes = 0;
  int64_t scratch_bytes = 0;  // of the workers, then `pieces` times k candidates
};
TopKPlan plan_top_k(const Op& op, int threads);
// How the elements of a type are ordered; nothing if they are not.
std::optional<KeyForm> top_k_key(DType dtype);

}  // namespace ullage
