// A value of a run: a tensor with concrete shape and bytes, a token, or a tuple. Copies share the
// bytes until one of them writes, so that passing values around costs nothing and an operation that
// owns its operand may update it in place. Bytes are row-major, storage_bytes(dtype) per element,
// little endian, as in Literal. Used by the interpreter, its tests, and whoever feeds it or reads
// its results.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ir/literal.h"
#include "ir/type.h"
#include "support/check.h"

namespace ullage {

class Tensor {
 public:
  Tensor() : Tensor(Type::token()) {}
  explicit Tensor(Type type);  // of a static type; tensors are all zero bits
  static Tensor from(const Literal& literal);
  static Tensor tuple(std::vector<Tensor> elements);
  // Row-major elements in their storage form: uint8_t for i1, uint16_t for bf16 and f16.
  template <typename T>
  static Tensor of(DType dtype, std::vector<int64_t> shape, const std::vector<T>& elements) {
    Tensor out(Type::tensor(dtype, std::move(shape)));
    ULLAGE_CHECK(out.size_bytes() == static_cast<int64_t>(elements.size() * sizeof(T)),
                 "elements of " + to_string(out.type()));
    if (!elements.empty())
      std::memcpy(out.mutable_data(), elements.data(), elements.size() * sizeof(T));
    return out;
  }
  template <typename T>
  static Tensor scalar(DType dtype, T value) {
    return of<T>(dtype, {}, {value});
  }

  const Type& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const std::vector<int64_t>& shape() const { return type_.shape; }
  int64_t rank() const { return type_.rank(); }
  int64_t num_elements() const { return type_.num_elements(); }
  int64_t size_bytes() const { return bytes_ ? static_cast<int64_t>(bytes_->size()) : 0; }

  const std::byte* data() const { return bytes_ ? bytes_->data() : nullptr; }
  std::byte* mutable_data();  // copies the bytes first when they are shared
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data());
  }
  template <typename T>
  std::vector<T> to_vector() const {
    return std::vector<T>(as<T>(), as<T>() + size_bytes() / static_cast<int64_t>(sizeof(T)));
  }
  int64_t int_at(int64_t index) const;  // of integers and i1, extended by the type
  double real_at(int64_t index) const;  // of any number; the real part of complex ones
  std::string element_string(int64_t index) const;

  const std::vector<Tensor>& elements() const { return elements_; }  // of a tuple
  Literal literal() const;

  // The same bytes under another type of the same size.
  Tensor with_type(Type type) const;

 private:
  Type type_;
  std::shared_ptr<std::vector<std::byte>> bytes_;
  std::vector<Tensor> elements_;
};

}  // namespace ullage
