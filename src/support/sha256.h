// SHA-256 (FIPS 180-4), by which `ullage run` names the bits of its outputs. Uses the processor's
// SHA instructions where there are any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ullage {

class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  std::string hex();  // of all bytes so far, 64 lower-case digits; nothing may follow

 private:
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};
  uint64_t length_ = 0;  // bytes
};

std::string sha256_hex(std::span<const std::byte> bytes);

// The portable way, whatever the processor has: what the tests compare with.
void sha256_blocks_portable(std::array<uint32_t, 8>& state, const std::byte* blocks, size_t count);

}  // namespace ullage
