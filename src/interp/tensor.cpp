#include "interp/tensor.h"

#include <fmt/format.h>

#include "interp/lanes.h"

namespace ullage {

Tensor::Tensor(Type type) : type_(std::move(type)) {
  if (type_.is_tensor())
    bytes_ = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(type_.bytes()));
  for (const Type& element : type_.elements) elements_.emplace_back(element);
}

Tensor Tensor::from(const Literal& literal) {
  Tensor out(literal.type);
  if (!literal.splat) {
    *out.bytes_ = *literal.bytes;
    return out;
  }
  size_t width = static_cast<size_t>(storage_bytes(literal.type.dtype)), size = out.bytes_->size();
  std::byte* data = out.bytes_->data();
  if (size == 0) return out;
  std::memcpy(data, literal.bytes->data(), width);
  // Doubling copies.
  for (size_t filled = width; filled < size; filled *= 2)
    std::memcpy(data + filled, data, std::min(filled, size - filled));
  return out;
}

Tensor Tensor::tuple(std::vector<Tensor> elements) {
  Tensor out;
  std::vector<Type> types;
  for (const Tensor& element : elements) types.push_back(element.type());
  out.type_ = Type::tuple(std::move(types));
  out.elements_ = std::move(elements);
  return out;
}

std::byte* Tensor::mutable_data() {
  ULLAGE_CHECK(bytes_, "a token or tuple has no bytes");
  if (bytes_.use_count() > 1) bytes_ = std::make_shared<std::vector<std::byte>>(*bytes_);
  return bytes_->data();
}

Literal Tensor::literal() const {
  return Literal::make(type_, *bytes_);
}

Tensor Tensor::with_type(Type type) const {
  ULLAGE_CHECK(type.is_tensor() && type.bytes() == size_bytes(), "retyped as " + to_string(type));
  Tensor out = *this;
  out.type_ = std::move(type);
  return out;
}

static interp::Lanes load_one(const Tensor& tensor, int64_t index) {
  interp::Lanes lanes;
  interp::load(tensor.dtype(), tensor.data() + index * storage_bytes(tensor.dtype()), 1, lanes);
  return lanes;
}

int64_t Tensor::int_at(int64_t index) const {
  return load_one(*this, index).i[0];
}

double Tensor::real_at(int64_t index) const {
  interp::Lanes lanes = load_one(*this, index);
  switch (interp::lane_class(dtype())) {
    case interp::LaneClass::signed_:
      return static_cast<double>(lanes.i[0]);
    case interp::LaneClass::unsigned_:
      return static_cast<double>(lanes.u[0]);
    default:
      return lanes.f[0];  // the real part comes first
  }
}

std::string Tensor::element_string(int64_t index) const {
  interp::Lanes lanes = load_one(*this, index);
  switch (interp::lane_class(dtype())) {
    case interp::LaneClass::signed_:
      return std::to_string(lanes.i[0]);
    case interp::LaneClass::unsigned_:
      if (dtype() == DType::i1) return lanes.u[0] ? "true" : "false";
      return std::to_string(lanes.u[0]);
    case interp::LaneClass::real:
      return fmt::format("{:.17g}", lanes.f[0]);
    default:
      return fmt::format("({:.17g}, {:.17g})", lanes.c[0].real(), lanes.c[0].imag());
  }
}

}  // namespace ullage
