#include "syntax/bytecode_cursor.h"

#include <fmt/format.h>

namespace ullage::syntax {

void Cursor::fail(size_t at, std::string message, std::string help) {
  failure_->set(at, std::move(message), std::move(help));
  at_ = end_;
}

void Cursor::ended(std::string_view what) {
  fail(at_, fmt::format("expected {}, but the data ends here", what));
}

uint8_t Cursor::byte(std::string_view what) {
  if (done()) {
    ended(what);
    return 0;
  }
  return static_cast<uint8_t>(file_[at_++]);
}

size_t Cursor::checked_count(uint64_t count, std::string_view what) {
  if (count <= remaining()) return count;
  fail(at_, fmt::format("{} is {}, but only {} bytes are left", what, count, remaining()));
  return 0;
}

uint32_t Cursor::checked_index(uint64_t index, std::string_view what, size_t size, size_t at) {
  if (index < size) return static_cast<uint32_t>(index);
  fail(at, fmt::format("expected {} below {}, found {}", what, size, index));
  return 0;
}

int64_t Cursor::integer(std::string_view what, int width) {
  if (width > 64) {
    fail(at_, fmt::format("{} has {} bits, which is more than 64", what, width));
    return 0;
  }
  const int64_t value = width <= 8 ? byte(what) : svarint(what);
  const int unused = 64 - width;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

std::string_view Cursor::bytes(std::string_view what, size_t count) {
  if (count > remaining()) {
    fail(at_,
         fmt::format("expected {} of {} bytes, but only {} are left", what, count, remaining()));
    return {};
  }
  std::string_view out = file_.substr(at_, count);
  at_ += count;
  return out;
}

std::string_view Cursor::zero_ended(std::string_view what) {
  const size_t zero = file_.substr(0, end_).find('\0', at_);
  if (zero == std::string_view::npos) {
    fail(at_, fmt::format("expected {}, ended by a zero byte", what));
    return {};
  }
  std::string_view out = file_.substr(at_, zero - at_);
  at_ = zero + 1;
  return out;
}

void Cursor::expect_end(std::string_view what) {
  if (done() || failure_->failed) return;
  fail(at_, fmt::format("expected the end of {}, but {} bytes are left", what, remaining()));
}

}  // namespace ullage::syntax
