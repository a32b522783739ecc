#include "pjrt/types.h"

#include <iterator>

namespace ullage::pjrt {

namespace {

struct Row {
  int32_t number;
  DType dtype;
};
constexpr Row kRows[] = {
    {1, DType::i1},          {2, DType::i8},          {3, DType::i16},
    {4, DType::i32},         {5, DType::i64},         {6, DType::ui8},
    {7, DType::ui16},        {8, DType::ui32},        {9, DType::ui64},
    {10, DType::f16},        {11, DType::f32},        {12, DType::f64},
    {13, DType::bf16},       {14, DType::c64},        {15, DType::c128},
    {16, DType::f8E5M2},     {17, DType::f8E4M3FN},   {18, DType::f8E4M3B11FNUZ},
    {19, DType::f8E5M2FNUZ}, {20, DType::f8E4M3FNUZ}, {21, DType::i4},
    {22, DType::ui4},        {24, DType::i2},         {25, DType::ui2},
    {26, DType::f8E4M3},     {27, DType::f8E3M4},     {28, DType::f8E8M0FNU},
    {29, DType::f4E2M1FN},
};

}  // namespace

std::optional<DType> dtype_of(int32_t element_type) {
  for (const Row& row : kRows)
    if (row.number == element_type) return row.dtype;
  return {};
}

int32_t element_type_of(const Type& type) {
  if (type.kind == Type::Kind::token) return kTokenType;
  for (const Row& row : kRows)
    if (type.is_tensor() && row.dtype == type.dtype) return row.number;
  return 0;
}

}  // namespace ullage::pjrt
