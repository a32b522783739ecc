#include "support/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace ullage {
namespace {

constexpr size_t kBlock = 64;

alignas(16) constexpr uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using BlocksFunction = void (*)(std::array<uint32_t, 8>&, const std::byte*, size_t);

#if defined(__x86_64__)
// Registers hold the state as (a b e f) and (c d g h), high lane first, which is what sha256rnds2
// works on.
__attribute__((target("sha,sse4.1"))) void blocks_with_instructions(std::array<uint32_t, 8>& state,
                                                                    const std::byte* blocks,
                                                                    size_t count) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i abef = _mm_set_epi32(static_cast<int>(state[0]), static_cast<int>(state[1]),
                               static_cast<int>(state[4]), static_cast<int>(state[5]));
  __m128i cdgh = _mm_set_epi32(static_cast<int>(state[2]), static_cast<int>(state[3]),
                               static_cast<int>(state[6]), static_cast<int>(state[7]));
  for (; count > 0; --count, blocks += kBlock) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i words[4];
    for (int i = 0; i < 4; ++i)
      words[i] =
          _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks) + i), swap);
    for (int round = 0; round < 16; ++round) {  // of four steps each
      __m128i current = words[round % 4];
      if (round >= 4) {
        __m128i w3 = words[(round + 3) % 4];
        __m128i seven_back = _mm_alignr_epi8(w3, words[(round + 2) % 4], 4);
        current = _mm_add_epi32(_mm_sha256msg1_epu32(current, words[(round + 1) % 4]), seven_back);
        current = _mm_sha256msg2_epu32(current, w3);
        words[round % 4] = current;
      }
      __m128i sum = _mm_add_epi32(
          current, _mm_load_si128(reinterpret_cast<const __m128i*>(kRoundConstants) + round));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  alignas(16) uint32_t low[4], high[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(low), abef);
  _mm_store_si128(reinterpret_cast<__m128i*>(high), cdgh);
  state = {low[3], low[2], high[3], high[2], low[1], low[0], high[1], high[0]};
}

bool has_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 29 & 1) &&
         __builtin_cpu_supports("sse4.1");
}
#endif

BlocksFunction best_blocks_function() {
#if defined(__x86_64__)
  if (has_instructions()) return blocks_with_instructions;
#endif
  return sha256_blocks_portable;
}

}  // namespace

void sha256_blocks_portable(std::array<uint32_t, 8>& state, const std::byte* blocks, size_t count) {
  for (; count > 0; --count, blocks += kBlock) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i) {
      uint32_t word = 0;
      std::memcpy(&word, blocks + 4 * i, 4);
      w[i] = __builtin_bswap32(word);
    }
    for (int i = 16; i < 64; ++i) {
      uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (int i = 0; i < 64; ++i) {
      uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                    ((e & f) ^ (~e & g)) + kRoundConstants[i] + w[i];
      uint32_t t2 =
          (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + t1;
      d = c;
      c = b;
      b = a;
      a = t1 + t2;
    }
    const uint32_t after[8] = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; ++i) state[i] += after[i];
  }
}

static void process(std::array<uint32_t, 8>& state, const std::byte* blocks, size_t count) {
  static const BlocksFunction best = best_blocks_function();
  best(state, blocks, count);
}

void Sha256::update(std::span<const std::byte> bytes) {
  size_t filled = length_ % kBlock;
  length_ += bytes.size();
  if (filled > 0) {
    size_t taken = std::min(kBlock - filled, bytes.size());
    std::copy_n(bytes.begin(), taken, block_.begin() + static_cast<std::ptrdiff_t>(filled));
    bytes = bytes.subspan(taken);
    if (filled + taken < kBlock) return;
    process(state_, block_.data(), 1);
  }
  size_t whole = bytes.size() / kBlock;
  if (whole > 0) process(state_, bytes.data(), whole);
  bytes = bytes.subspan(whole * kBlock);
  std::copy(bytes.begin(), bytes.end(), block_.begin());
}

std::string Sha256::hex() {
  const uint64_t bits = length_ * 8;
  std::array<std::byte, 2 * kBlock> tail{};
  tail[0] = std::byte{0x80};
  size_t filled = length_ % kBlock;
  size_t size = (filled < kBlock - 8 ? kBlock : 2 * kBlock) - filled;
  for (size_t i = 0; i < 8; ++i) tail[size - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
  update(std::span(tail).first(size));
  std::string out;
  for (uint32_t word : state_) out += fmt::format("{:08x}", word);
  return out;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

}  // namespace ullage
