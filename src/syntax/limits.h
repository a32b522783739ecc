// What a program may ask of the readers: bounds far above any real program, which keep a damaged or
// hostile one from exhausting the stack, the memory or the arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ullage::syntax {

inline constexpr int kMaxNesting = 200;           // of regions, types and attributes
inline constexpr int kMaxLocationNesting = 2000;  // call stacks can be deep
// A location may share parts with others; written out in full it must stay small enough to walk.
inline constexpr uint64_t kMaxExpandedLocation = 100'000;
// Sizes in bytes stay below 2^62, so that sums and strides do not overflow anywhere later.
inline constexpr int64_t kMaxElements = (int64_t{1} << 62) / 16;
inline constexpr size_t kMaxRank = 64;
inline constexpr int64_t kMaxListElements = 1 << 20;  // of dimensions, groups and the like

}  // namespace ullage::syntax
