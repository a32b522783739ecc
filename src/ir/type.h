// Types of values: tensors over the element types of the StableHLO specification, tokens and
// tuples. A Type is a plain value, compared by content. Sizes are in elements unless a name says
// bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ullage {

enum class DType : uint8_t {
  i1,
  i2,
  i4,
  i8,
  i16,
  i32,
  i64,
  ui2,
  ui4,
  ui8,
  ui16,
  ui32,
  ui64,
  f4E2M1FN,
  f6E2M3FN,
  f6E3M2FN,
  f8E3M4,
  f8E4M3,
  f8E4M3FN,
  f8E4M3FNUZ,
  f8E4M3B11FNUZ,
  f8E5M2,
  f8E5M2FNUZ,
  f8E8M0FNU,
  bf16,
  f16,
  f32,
  f64,
  c64,
  c128,
};
inline constexpr int kDTypeCount = static_cast<int>(DType::c128) + 1;

// "f32", "ui8", "c64"; StableHLO text spells complex types complex<f32>, which is the writer's
// business.
std::string_view name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);
int bit_width(DType dtype);  // bits of one element: 1 for i1, 64 for c64
int storage_bytes(
    DType dtype);  // bytes one element takes in a buffer; types below 8 bits take one byte
bool is_float(DType dtype);
bool is_signed_int(DType dtype);    // i2 to i64, not i1
bool is_unsigned_int(DType dtype);  // ui2 to ui64
bool is_int(DType dtype);           // signed or unsigned, not i1
bool is_complex(DType dtype);
DType real_part(DType dtype);  // f32 for c64, f64 for c128, else itself

inline constexpr int64_t kDynamic =
    INT64_MIN;  // extent of a dimension that is not known statically

// !quant.uniform<storage:expressed[:dimension], {scale:zero_point, ...}>
struct Quantization {
  DType storage = DType::i8;
  DType expressed = DType::f32;
  int64_t storage_min = -128;
  int64_t storage_max = 127;
  std::optional<int64_t> dimension;  // per axis when present
  std::vector<double> scales;
  std::vector<int64_t> zero_points;
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

struct Type {
  enum class Kind : uint8_t { tensor, token, tuple };

  Kind kind = Kind::tensor;
  DType dtype = DType::f32;     // of the storage when quantized
  std::vector<int64_t> shape;   // kDynamic where unknown
  std::vector<int64_t> bounds;  // empty, or one per dimension with kDynamic for none
  std::shared_ptr<const Quantization> quantized;  // null for ordinary tensors
  std::vector<Type> elements;                     // of a tuple

  static Type tensor(DType dtype, std::vector<int64_t> shape);
  static Type token();
  static Type tuple(std::vector<Type> elements);

  bool is_tensor() const { return kind == Kind::tensor; }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  bool is_static() const;        // no dynamic dimension anywhere
  int64_t num_elements() const;  // of a static tensor; 1 for rank 0
  int64_t bytes() const;  // of a static tensor in row-major storage, or of all elements of a tuple

  friend bool operator==(const Type& a, const Type& b);
};

std::string to_string(const Type& type);  // StableHLO spelling: "tensor<8x?xf32>"

// Row-major strides in elements.
std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape);

// A reshape between these only adds or removes dimensions of extent 1.
bool is_unit_reshape(const Type& from, const Type& to);

}  // namespace ullage
