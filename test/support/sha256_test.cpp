#include "support/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ullage {
namespace {

std::string hash(std::string_view text) {
  return sha256_hex(std::as_bytes(std::span(text)));
}

TEST(Sha256, KnownDigests) {  // the examples of FIPS 180-4, and the empty text
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheSameDigestAsTheWhole) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (size_t step : {1u, 3u, 55u, 63u, 64u, 65u, 128u}) {
    Sha256 pieces;
    for (size_t at = 0; at < text.size(); at += step)
      pieces.update(std::as_bytes(std::span(std::string_view(text).substr(at, step))));
    EXPECT_EQ(pieces.hex(), hash(text)) << step;
  }
}

TEST(Sha256, TheProcessorsInstructionsAgreeWithThePortableWay) {
  std::vector<std::byte> blocks(64 * 9);
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<std::byte>(i * i + 3 * i);
  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  sha256_blocks_portable(state, blocks.data(), 9);
  // The padding of nine whole blocks: a one bit, zeros, and the length in bits.
  std::vector<std::byte> padding(64);
  padding[0] = std::byte{0x80};
  padding[62] = std::byte{64 * 9 * 8 >> 8};
  padding[63] = std::byte{64 * 9 * 8 & 0xff};
  sha256_blocks_portable(state, padding.data(), 1);
  char digits[9];
  std::string expected;
  for (uint32_t word : state) {
    std::snprintf(digits, sizeof digits, "%08x", word);
    expected += digits;
  }
  EXPECT_EQ(sha256_hex(blocks), expected);
}

}  // namespace
}  // namespace ullage
