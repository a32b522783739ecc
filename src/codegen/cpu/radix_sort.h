// Stable sorting by unsigned integer keys, least significant digit first. Elements are moved
// between two arrays; digits in which all keys agree are skipped. Called by library_sort.cpp and
// library_top_k.cpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/sort_plan.h"
#include "runtime/thread_pool.h"

namespace ullage {

// The unsigned integer in whose order an element's bits are to be. U is the unsigned type of the
// element's width.
template <KeyForm form, typename U>
inline U key_of(U bits) {
  constexpr int width = 8 * static_cast<int>(sizeof(U));
  constexpr U sign = static_cast<U>(U{1} << (width - 1));
  if constexpr (form == KeyForm::unsigned_) return bits;
  if constexpr (form == KeyForm::signed_) return static_cast<U>(bits ^ sign);
  if constexpr (form == KeyForm::total_order)
    return static_cast<U>((bits & sign) ? ~bits : bits ^ sign);
  return bits;
}

// The same with one zero and one NaN, which is the greatest. `infinity` in the element's encoding.
template <typename U>
inline U canonical_key(U bits, U infinity) {
  constexpr int width = 8 * static_cast<int>(sizeof(U));
  constexpr U sign = static_cast<U>(U{1} << (width - 1));
  U magnitude = static_cast<U>(bits & static_cast<U>(~sign));
  if (magnitude > infinity) return static_cast<U>(~U{0});
  if (magnitude == 0) return sign;
  return key_of<KeyForm::total_order, U>(bits);
}

// A key of 32 bits over a position: as one integer it is the key of a stable order.
struct NarrowPair {
  uint64_t bits;
  uint64_t key() const { return bits >> 32; }
  uint32_t position() const { return static_cast<uint32_t>(bits); }
  friend bool operator<(NarrowPair a, NarrowPair b) { return a.bits < b.bits; }
};
struct WidePair {
  uint64_t bits;
  uint64_t number;
  uint64_t key() const { return bits; }
  uint32_t position() const { return static_cast<uint32_t>(number); }
  friend bool operator<(const WidePair& a, const WidePair& b) {
    return a.bits != b.bits ? a.bits < b.bits : a.number < b.number;
  }
};

inline constexpr int64_t kInsertionSort = 32;

template <typename E, typename Key>
void insertion_sort(E* data, int64_t n, const Key& key) {
  for (int64_t i = 1; i < n; ++i) {
    E element = data[i];
    auto own = key(element);
    int64_t at = i;
    for (; at > 0 && own < key(data[at - 1]); --at) data[at] = data[at - 1];
    data[at] = element;
  }
}

// Sorts data[0, n) with `other` as the second array; returns the one that holds the result.
template <typename E, typename Key>
E* radix_sort(E* data, E* other, int64_t n, const Key& key) {
  using K = decltype(key(*data));
  if (n <= kInsertionSort) {
    insertion_sort(data, n, key);
    return data;
  }
  constexpr int digits = static_cast<int>(sizeof(K));
  K ones = 0, all = static_cast<K>(~K{0});
  for (int64_t i = 0; i < n; ++i) {
    K k = key(data[i]);
    ones = static_cast<K>(ones | k), all = static_cast<K>(all & k);
  }
  K varying = static_cast<K>(ones & static_cast<K>(~all));
  for (int digit = 0; digit < digits; ++digit) {
    int shift = 8 * digit;
    if (((varying >> shift) & 0xff) == 0) continue;
    uint32_t at[256] = {};
    for (int64_t i = 0; i < n; ++i) ++at[(key(data[i]) >> shift) & 0xff];
    uint32_t total = 0;
    for (uint32_t& count : at) {
      uint32_t here = count;
      count = total;
      total += here;
    }
    for (int64_t i = 0; i < n; ++i) {
      E element = data[i];
      other[at[(key(element) >> shift) & 0xff]++] = element;
    }
    std::swap(data, other);
  }
  return data;
}

// The same by all threads, `chunk` elements at a time; counts: room for 256 numbers of each of
// kMaxSortChunks chunks and for those of their sums.
template <typename E, typename Key>
E* radix_sort(E* data, E* other, int64_t n, int64_t chunk, uint32_t* counts, ThreadPool& pool,
              const Key& key) {
  using K = decltype(key(*data));
  int64_t chunks = (n + chunk - 1) / chunk;
  K partial[kMaxSortChunks][2];
  pool.parallel_for(chunks, [&](int64_t c, int) {
    K ones = 0, all = static_cast<K>(~K{0});
    for (int64_t i = c * chunk, end = std::min(n, i + chunk); i < end; ++i) {
      K k = key(data[i]);
      ones = static_cast<K>(ones | k), all = static_cast<K>(all & k);
    }
    partial[c][0] = ones, partial[c][1] = all;
  });
  K ones = 0, all = static_cast<K>(~K{0});
  for (int64_t c = 0; c < chunks; ++c)
    ones = static_cast<K>(ones | partial[c][0]), all = static_cast<K>(all & partial[c][1]);
  K varying = static_cast<K>(ones & static_cast<K>(~all));
  for (int digit = 0; digit < static_cast<int>(sizeof(K)); ++digit) {
    int shift = 8 * digit;
    if (((varying >> shift) & 0xff) == 0) continue;
    pool.parallel_for(chunks, [&](int64_t c, int) {
      uint32_t at[256] = {};
      for (int64_t i = c * chunk, end = std::min(n, i + chunk); i < end; ++i)
        ++at[(key(data[i]) >> shift) & 0xff];
      std::copy(at, at + 256, counts + c * 256);
    });
    uint32_t total = 0;
    for (int64_t value = 0; value < 256; ++value)
      for (int64_t c = 0; c < chunks; ++c) {
        uint32_t here = counts[c * 256 + value];
        counts[c * 256 + value] = total;
        total += here;
      }
    pool.parallel_for(chunks, [&](int64_t c, int) {
      uint32_t at[256];
      std::copy(counts + c * 256, counts + c * 256 + 256, at);
      for (int64_t i = c * chunk, end = std::min(n, i + chunk); i < end; ++i) {
        E element = data[i];
        other[at[(key(element) >> shift) & 0xff]++] = element;
      }
    });
    std::swap(data, other);
  }
  return data;
}

}  // namespace ullage
