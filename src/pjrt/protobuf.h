// Just enough of the protobuf wire format for the messages that cross the interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ullage::pjrt {

struct ProtoField {
  uint32_t number = 0;
  bool is_bytes = false;   // text, message or packed list; otherwise a number
  bool is_double = false;  // eight bytes that are a double
  uint64_t value = 0;      // as it stands: a varint, or the bits of a fixed-size number
  std::string_view bytes;

  double fraction() const;
};

// Reads the fields of one message, one after another. Damaged input ends it early, with ok() false.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view text) : rest_(text) {}
  std::optional<ProtoField> next();
  bool ok() const { return ok_; }

 private:
  bool varint(uint64_t& out);
  std::string_view rest_;
  bool ok_ = true;
};

std::vector<uint64_t> packed_varints(std::string_view bytes);

class ProtoWriter {
 public:
  void number(uint32_t field, uint64_t value);
  void bytes(uint32_t field, std::string_view text);
  void packed(uint32_t field, const std::vector<int64_t>& values);
  std::string take() { return std::move(out_); }

 private:
  void varint(uint64_t value);
  std::string out_;
};

}  // namespace ullage::pjrt
