#include "pjrt/protobuf.h"

#include <bit>

namespace ullage::pjrt {

namespace {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

}  // namespace

double ProtoField::fraction() const {
  return std::bit_cast<double>(value);
}

bool ProtoReader::varint(uint64_t& out) {
  out = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) return ok_ = false;
    uint8_t byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    out |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return ok_ = false;
}

std::optional<ProtoField> ProtoReader::next() {
  if (rest_.empty() || !ok_) return {};
  uint64_t tag = 0;
  if (!varint(tag)) return {};
  ProtoField out;
  out.number = static_cast<uint32_t>(tag >> 3);
  size_t fixed = 0;
  switch (tag & 7) {
    case kVarint:
      if (!varint(out.value)) return {};
      return out;
    case kBytes: {
      uint64_t length = 0;
      if (!varint(length) || length > rest_.size()) {
        ok_ = false;
        return {};
      }
      out.is_bytes = true;
      out.bytes = rest_.substr(0, length);
      rest_.remove_prefix(length);
      return out;
    }
    case kFixed64:
      fixed = 8;
      out.is_double = true;
      break;
    case kFixed32:
      fixed = 4;
      break;
    default:
      ok_ = false;
      return {};
  }
  if (rest_.size() < fixed) {
    ok_ = false;
    return {};
  }
  for (size_t i = 0; i < fixed; ++i)
    out.value |= static_cast<uint64_t>(static_cast<uint8_t>(rest_[i])) << (8 * i);
  rest_.remove_prefix(fixed);
  return out;
}

std::vector<uint64_t> packed_varints(std::string_view bytes) {
  std::vector<uint64_t> out;
  uint64_t value = 0;
  int shift = 0;
  for (char c : bytes) {
    uint8_t byte = static_cast<uint8_t>(c);
    if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    shift += 7;
    if (byte >= 0x80) continue;
    out.push_back(value);
    value = 0;
    shift = 0;
  }
  return out;
}

void ProtoWriter::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
  out_.push_back(static_cast<char>(value));
}

void ProtoWriter::number(uint32_t field, uint64_t value) {
  varint(static_cast<uint64_t>(field) << 3 | kVarint);
  varint(value);
}

void ProtoWriter::bytes(uint32_t field, std::string_view text) {
  varint(static_cast<uint64_t>(field) << 3 | kBytes);
  varint(text.size());
  out_.append(text);
}

void ProtoWriter::packed(uint32_t field, const std::vector<int64_t>& values) {
  ProtoWriter inner;
  for (int64_t value : values) inner.varint(static_cast<uint64_t>(value));
  bytes(field, inner.take());
}

}  // namespace ullage::pjrt
