// Constant tensors. The bytes are held once and shared by reference; a splat keeps a single
// element, whatever the shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "ir/type.h"

namespace ullage {

struct Literal {
  Type type;
  bool splat = false;  // bytes hold one element that stands for all
  std::shared_ptr<const std::vector<std::byte>>
      bytes;  // row-major, storage_bytes(dtype) per element, little endian

  // Takes a buffer of type.bytes() bytes, or of one element if splat.
  static Literal make(Type type, std::vector<std::byte> bytes, bool splat = false);
  template <typename T>
  static Literal scalar(DType dtype, T value) {
    std::vector<std::byte> bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return make(Type::tensor(dtype, {}), std::move(bytes), true);
  }

  const std::byte* element(int64_t index) const {
    return bytes->data() + (splat ? 0 : index * storage_bytes(type.dtype));
  }
  // Value of an integer or i1 element, sign- or zero-extended by its type.
  int64_t int_at(int64_t index) const;

  friend bool operator==(const Literal& a, const Literal& b);  // same type and the same bytes
};

}  // namespace ullage
