// A place in the bytes of a bytecode file, and the primitive encodings that are read there.
//
// Errors stick, as in the text's parser: the first one is kept, a cursor that fails jumps to its
// end, and every reading method may then be called and gives zero. Counts are checked against the
// bytes that are left before anything is reserved for them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace ullage::syntax {

// The first thing that was wrong, and where: a byte offset in the file.
struct BytecodeFailure {
  bool failed = false;
  size_t offset = 0;
  std::string message, help;

  void set(size_t at, std::string what, std::string advice = {}) {
    if (failed) return;
    failed = true;
    offset = at;
    message = std::move(what);
    help = std::move(advice);
  }
};

class Cursor {
 public:
  // Reads `file` from `begin` to `end`.
  Cursor(std::string_view file, size_t begin, size_t end, BytecodeFailure& failure)
      : file_(file), at_(begin), end_(end), failure_(&failure) {}

  size_t offset() const { return at_; }
  size_t remaining() const { return end_ - at_; }
  bool done() const { return at_ == end_; }
  void fail(size_t at, std::string message, std::string help = {});

  // `what` names the thing read, for messages: "the number of operands".
  uint8_t byte(std::string_view what);
  uint64_t varint(std::string_view what);
  int64_t svarint(std::string_view what) {
    const uint64_t v = varint(what);
    return static_cast<int64_t>((v >> 1) ^ (~(v & 1) + 1));
  }
  uint64_t flagged(std::string_view what, bool& flag) {
    const uint64_t v = varint(what);
    flag = (v & 1) != 0;
    return v >> 1;
  }
  // The number of things that follow, each of which takes a byte or more.
  size_t count(std::string_view what) { return checked_count(varint(what), what); }
  size_t flagged_count(std::string_view what, bool& flag) {
    return checked_count(flagged(what, flag), what);
  }
  // An index below `size`.
  uint32_t index(std::string_view what, size_t size) {
    const size_t at = at_;
    return checked_index(varint(what), what, size, at);
  }
  uint32_t flagged_index(std::string_view what, size_t size, bool& flag) {
    const size_t at = at_;
    return checked_index(flagged(what, flag), what, size, at);
  }
  // An integer of `width` bits, cut to them and sign-extended; wider than 64 is refused.
  int64_t integer(std::string_view what, int width);
  std::string_view bytes(std::string_view what, size_t count);
  // A byte count, then as many bytes.
  std::string_view blob(std::string_view what) { return bytes(what, count(what)); }
  // Up to a zero byte, which is taken.
  std::string_view zero_ended(std::string_view what);
  // A cursor over the next bytes, which are skipped here.
  Cursor inner(std::string_view what, size_t count) {
    const size_t begin = at_;
    bytes(what, count);
    return Cursor(file_, failure_->failed ? end_ : begin, at_, *failure_);
  }
  void expect_end(std::string_view what);

 private:
  void ended(std::string_view what);
  size_t checked_count(uint64_t count, std::string_view what);
  uint32_t checked_index(uint64_t index, std::string_view what, size_t size, size_t at);

  std::string_view file_;
  size_t at_, end_;
  BytecodeFailure* failure_;
};

inline uint64_t Cursor::varint(std::string_view what) {
  // The zero bits below the lowest set one count the bytes that follow the first.
  uint64_t word = 0;
  if (remaining() >= sizeof word) {
    std::memcpy(&word, file_.data() + at_, sizeof word);
  } else {
    if (done()) {
      ended(what);
      return 0;
    }
    std::memcpy(&word, file_.data() + at_, remaining());
  }
  const auto first = static_cast<uint8_t>(word);
  if (first & 1) {
    ++at_;
    return first >> 1;
  }
  const auto follow = first == 0 ? 8u : static_cast<unsigned>(__builtin_ctz(first));
  if (remaining() < follow + 1) {
    at_ = end_;
    ended(what);
    return 0;
  }
  if (first == 0) {
    std::memcpy(&word, file_.data() + at_ + 1, sizeof word);
  } else {
    if (follow < 7) word &= (uint64_t{1} << (8 * (follow + 1))) - 1;
    word >>= follow + 1;
  }
  at_ += follow + 1;
  return word;
}

}  // namespace ullage::syntax
