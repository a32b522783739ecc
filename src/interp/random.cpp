// Counter-based random bits (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011), laid out over the result as XLA does, so that bits agree with other users of StableHLO.
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "interp/eval.h"

namespace ullage::interp {

namespace {

using Block2 = std::array<uint32_t, 2>;
using Block4 = std::array<uint32_t, 4>;

uint32_t rotate_left(uint32_t x, int by) {
  return (x << by) | (x >> (32 - by));
}

Block2 threefry2x32(Block2 key, Block2 counter) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA};
  uint32_t x = counter[0] + keys[0], y = counter[1] + keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x += y;
      y = rotate_left(y, rotation) ^ x;
    }
    x += keys[(group + 1) % 3];
    y += keys[(group + 2) % 3] + group + 1;
  }
  return {x, y};
}

Block4 philox4x32(Block2 key, Block4 counter) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t{0xD2511F53} * counter[0], b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

uint32_t low(uint64_t x) {
  return static_cast<uint32_t>(x);
}
uint32_t high(uint64_t x) {
  return static_cast<uint32_t>(x >> 32);
}

// Writes the words to elements of the result's width: two words (low first) make one of 64 bits;
// narrower elements take the low bits of one word each.
void write_words(Tensor& out, const std::vector<uint32_t>& words) {
  auto width = static_cast<size_t>(storage_bytes(out.dtype()));
  auto count = static_cast<size_t>(out.num_elements());
  std::byte* to = out.mutable_data();
  int bits = bit_width(out.dtype());
  for (size_t k = 0; k < count; ++k) {
    if (width == 8) {
      uint64_t value = words[2 * k] | uint64_t{words[2 * k + 1]} << 32;
      std::memcpy(to + 8 * k, &value, 8);
    } else {
      uint32_t value = bits >= 32 ? words[k] : words[k] & ((1u << bits) - 1);
      std::memcpy(to + width * k, &value, width);
    }
  }
}

// Counters of threefry run over 64-bit numbers from state[1]; the two words of block b go to
// positions b and b + half of the flat result when its elements have 32 bits, and form one element
// when they have 64.
void fill_threefry(Tensor& out, uint64_t& key, uint64_t& counter) {
  auto count = static_cast<uint64_t>(out.num_elements());
  bool wide = storage_bytes(out.dtype()) == 8;
  uint64_t blocks = wide ? count : (count + 1) / 2;
  std::vector<uint32_t> words(blocks * 2);
  for (uint64_t b = 0; b < blocks; ++b) {
    uint64_t at = counter + b;
    Block2 block = threefry2x32({low(key), high(key)}, {low(at), high(at)});
    words[2 * b] = block[0];
    words[2 * b + 1] = block[1];
  }
  counter += blocks;
  write_words(out, words);
}

void fill_philox(Tensor& out, uint64_t key, uint64_t& low_counter, uint64_t& high_counter) {
  auto count = static_cast<uint64_t>(out.num_elements());
  uint64_t words_needed = storage_bytes(out.dtype()) == 8 ? count * 2 : count,
           blocks = (words_needed + 3) / 4;
  std::vector<uint32_t> words(blocks * 4);
  for (uint64_t b = 0; b < blocks; ++b) {
    uint64_t first = low_counter + b, second = high_counter + (first < low_counter);
    Block4 block =
        philox4x32({low(key), high(key)}, {low(first), high(first), low(second), high(second)});
    std::memcpy(&words[4 * b], block.data(), 16);
  }
  low_counter += blocks;
  if (low_counter < blocks) ++high_counter;
  write_words(out, words);
}

Result<Tensors> evaluate_rng_bit_generator(Evaluation& e) {
  Tensor state = e.operands[0], out(e.types[1]);
  std::vector<uint64_t> words(static_cast<size_t>(state.size_bytes()) / 8);
  std::memcpy(words.data(), state.data(), words.size() * 8);
  if (e.op.as<RngAttributes>().algorithm == RngAlgorithm::three_fry) {
    fill_threefry(out, words[0], words[1]);
  } else if (words.size() == 2) {
    // The key is also the upper half of the counter.
    uint64_t upper = words[0];
    fill_philox(out, words[0], words[1], upper);
  } else {
    fill_philox(out, words[0], words[1], words[2]);
  }
  std::memcpy(state.mutable_data(), words.data(), words.size() * 8);
  return Tensors{std::move(state), std::move(out)};
}

// Which numbers these are, the specification leaves to implementations.
Result<Tensors> refuse_rng(Evaluation& e) {
  return e.problem("its bits are not laid down, so the interpreter draws none");
}

constexpr HandlerRow kRows[] = {
    {OpKind::rng, refuse_rng},
    {OpKind::rng_bit_generator, evaluate_rng_bit_generator},
};

}  // namespace

std::span<const HandlerRow> random_handlers() {
  return kRows;
}

}  // namespace ullage::interp
