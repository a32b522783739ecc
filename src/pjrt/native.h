// The extension record of the function table that the Python half of the plugin reads. jaxlib skips
// records of types that it does not know.
#pragma once

#include "pjrt/abi.h"

namespace ullage::pjrt {

inline constexpr int32_t kNativeExtension = 0x554C4C41;  // "ULLA"

// The record, before `next` in the chain.
const Extension* native_extension(const Extension* next);

}  // namespace ullage::pjrt
