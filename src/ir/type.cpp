#include "ir/type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "support/check.h"

namespace ullage {

namespace {

enum class Class : uint8_t { boolean, signed_int, unsigned_int, floating, complex };

struct DTypeInfo {
  std::string_view name;
  int bits;
  Class cls;
};

constexpr std::array<DTypeInfo, kDTypeCount> kInfo = {{
    {"i1", 1, Class::boolean},
    {"i2", 2, Class::signed_int},
    {"i4", 4, Class::signed_int},
    {"i8", 8, Class::signed_int},
    {"i16", 16, Class::signed_int},
    {"i32", 32, Class::signed_int},
    {"i64", 64, Class::signed_int},
    {"ui2", 2, Class::unsigned_int},
    {"ui4", 4, Class::unsigned_int},
    {"ui8", 8, Class::unsigned_int},
    {"ui16", 16, Class::unsigned_int},
    {"ui32", 32, Class::unsigned_int},
    {"ui64", 64, Class::unsigned_int},
    {"f4E2M1FN", 4, Class::floating},
    {"f6E2M3FN", 6, Class::floating},
    {"f6E3M2FN", 6, Class::floating},
    {"f8E3M4", 8, Class::floating},
    {"f8E4M3", 8, Class::floating},
    {"f8E4M3FN", 8, Class::floating},
    {"f8E4M3FNUZ", 8, Class::floating},
    {"f8E4M3B11FNUZ", 8, Class::floating},
    {"f8E5M2", 8, Class::floating},
    {"f8E5M2FNUZ", 8, Class::floating},
    {"f8E8M0FNU", 8, Class::floating},
    {"bf16", 16, Class::floating},
    {"f16", 16, Class::floating},
    {"f32", 32, Class::floating},
    {"f64", 64, Class::floating},
    {"c64", 64, Class::complex},
    {"c128", 128, Class::complex},
}};

const DTypeInfo& info(DType dtype) {
  return kInfo[static_cast<size_t>(dtype)];
}

}  // namespace

std::string_view name(DType dtype) {
  return info(dtype).name;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kInfo[static_cast<size_t>(i)].name == name) return static_cast<DType>(i);
  return {};
}

int bit_width(DType dtype) {
  return info(dtype).bits;
}
int storage_bytes(DType dtype) {
  return (info(dtype).bits + 7) / 8;
}
bool is_float(DType dtype) {
  return info(dtype).cls == Class::floating;
}
bool is_signed_int(DType dtype) {
  return info(dtype).cls == Class::signed_int;
}
bool is_unsigned_int(DType dtype) {
  return info(dtype).cls == Class::unsigned_int;
}
bool is_int(DType dtype) {
  return is_signed_int(dtype) || is_unsigned_int(dtype);
}
bool is_complex(DType dtype) {
  return info(dtype).cls == Class::complex;
}

DType real_part(DType dtype) {
  if (dtype == DType::c64) return DType::f32;
  if (dtype == DType::c128) return DType::f64;
  return dtype;
}

Type Type::tensor(DType dtype, std::vector<int64_t> shape) {
  Type type;
  type.dtype = dtype;
  type.shape = std::move(shape);
  return type;
}

Type Type::token() {
  Type type;
  type.kind = Kind::token;
  return type;
}

Type Type::tuple(std::vector<Type> elements) {
  Type type;
  type.kind = Kind::tuple;
  type.elements = std::move(elements);
  return type;
}

bool Type::is_static() const {
  for (int64_t extent : shape)
    if (extent == kDynamic) return false;
  for (const Type& element : elements)
    if (!element.is_static()) return false;
  return true;
}

int64_t Type::num_elements() const {
  int64_t count = 1;
  for (int64_t extent : shape) {
    ULLAGE_CHECK(extent != kDynamic, "element count of a dynamic shape");
    count *= extent;
  }
  return count;
}

int64_t Type::bytes() const {
  if (kind == Kind::token) return 0;
  if (kind == Kind::tuple) {
    int64_t total = 0;
    for (const Type& element : elements) total += element.bytes();
    return total;
  }
  return num_elements() * storage_bytes(dtype);
}

bool operator==(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.dtype != b.dtype || a.shape != b.shape || a.bounds != b.bounds)
    return false;
  if (a.elements != b.elements) return false;
  if (static_cast<bool>(a.quantized) != static_cast<bool>(b.quantized)) return false;
  return !a.quantized || *a.quantized == *b.quantized;
}

// The shortest decimal that reads back as the same number, with the point that MLIR wants.
static std::string scale_string(double value) {
  char buffer[32];
  auto [end, code] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string text(buffer, end);
  if (text.find('.') == std::string::npos) text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

static std::string element_string(const Type& type) {
  if (type.quantized) {
    const Quantization& q = *type.quantized;
    std::string out = fmt::format("!quant.uniform<{}", name(q.storage));
    bool is_signed = is_signed_int(q.storage);
    int bits = bit_width(q.storage);
    int64_t lowest = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
    int64_t highest = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
    if (q.storage_min != lowest || q.storage_max != highest)
      out += fmt::format("<{}:{}>", q.storage_min, q.storage_max);
    out += fmt::format(":{}", name(q.expressed));
    if (q.dimension) out += fmt::format(":{}", *q.dimension);
    out += ", ";
    if (q.dimension) out += "{";
    for (size_t i = 0; i < q.scales.size(); ++i) {
      if (i) out += ", ";
      out += scale_string(q.scales[i]);
      if (q.zero_points[i] != 0) out += fmt::format(":{}", q.zero_points[i]);
    }
    if (q.dimension) out += "}";
    return out + ">";
  }
  if (type.dtype == DType::c64) return "complex<f32>";
  if (type.dtype == DType::c128) return "complex<f64>";
  return std::string(name(type.dtype));
}

std::string to_string(const Type& type) {
  if (type.kind == Type::Kind::token) return "!stablehlo.token";
  if (type.kind == Type::Kind::tuple) {
    std::string out = "tuple<";
    for (size_t i = 0; i < type.elements.size(); ++i)
      out += (i ? ", " : "") + to_string(type.elements[i]);
    return out + ">";
  }
  std::string out = "tensor<";
  for (int64_t extent : type.shape)
    out += (extent == kDynamic ? "?" : std::to_string(extent)) + "x";
  out += element_string(type);
  if (!type.bounds.empty()) {
    out += ", #stablehlo.bounds<";
    for (size_t i = 0; i < type.bounds.size(); ++i)
      out += (i ? ", " : "") + (type.bounds[i] == kDynamic ? "?" : std::to_string(type.bounds[i]));
    out += ">";
  }
  return out + ">";
}

bool is_unit_reshape(const Type& from, const Type& to) {
  std::vector<int64_t> a, b;
  for (int64_t extent : from.shape)
    if (extent != 1) a.push_back(extent);
  for (int64_t extent : to.shape)
    if (extent != 1) b.push_back(extent);
  return a == b;
}

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

}  // namespace ullage
