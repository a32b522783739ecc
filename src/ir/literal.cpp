#include "ir/literal.h"

#include "support/check.h"

namespace ullage {

Literal Literal::make(Type type, std::vector<std::byte> bytes, bool splat) {
  int64_t expected = splat ? storage_bytes(type.dtype) : type.bytes();
  ULLAGE_CHECK(static_cast<int64_t>(bytes.size()) == expected,
               "literal of type " + to_string(type));
  Literal literal;
  literal.type = std::move(type);
  literal.splat = splat;
  literal.bytes = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return literal;
}

template <typename T>
static int64_t read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return static_cast<int64_t>(value);
}

int64_t Literal::int_at(int64_t index) const {
  const std::byte* at = element(index);
  bool is_signed = is_signed_int(type.dtype);
  switch (storage_bytes(type.dtype)) {
    case 1:
      return is_signed ? read<int8_t>(at) : read<uint8_t>(at);
    case 2:
      return is_signed ? read<int16_t>(at) : read<uint16_t>(at);
    case 4:
      return is_signed ? read<int32_t>(at) : read<uint32_t>(at);
    default:
      return read<int64_t>(at);
  }
}

bool operator==(const Literal& a, const Literal& b) {
  if (!(a.type == b.type)) return false;
  if (a.splat == b.splat) return a.bytes == b.bytes || *a.bytes == *b.bytes;
  int64_t count = a.type.num_elements();
  size_t width = static_cast<size_t>(storage_bytes(a.type.dtype));
  for (int64_t i = 0; i < count; ++i)
    if (std::memcmp(a.element(i), b.element(i), width) != 0) return false;
  return true;
}

}  // namespace ullage
