// Walking index spaces in row-major order, and copying strided boxes. Private to interp/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ullage::interp {

using Index = std::vector<int64_t>;

inline int64_t element_count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

// Steps to the next index; false after the last one (the index is then all zeros again).
inline bool next_index(Index& index, const std::vector<int64_t>& shape) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++index[d] < shape[d]) return true;
    index[d] = 0;
  }
  return false;
}

// Calls f(index) for every index of the shape.
template <typename F>
void for_each_index(const std::vector<int64_t>& shape, F f) {
  if (element_count(shape) == 0) return;
  Index index(shape.size(), 0);
  do f(index);
  while (next_index(index, shape));
}

inline int64_t dot(const Index& a, const Index& b) {
  int64_t sum = 0;
  for (size_t d = 0; d < a.size(); ++d) sum += a[d] * b[d];
  return sum;
}

// Copies a box of elements of `width` bytes; strides are in elements and may be zero or negative.
void copy_box(size_t width, const std::vector<int64_t>& shape, const std::byte* from,
              const Index& from_strides, std::byte* to, const Index& to_strides);

}  // namespace ullage::interp
