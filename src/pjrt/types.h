// Element types of the interface and ours.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/type.h"

namespace ullage::pjrt {

inline constexpr int32_t kTokenType = 23;

// Nothing for what we have no type for.
std::optional<DType> dtype_of(int32_t element_type);
// Of a token, or of an array's elements; 0 (invalid) for what the interface has no number for.
int32_t element_type_of(const Type& type);

}  // namespace ullage::pjrt
