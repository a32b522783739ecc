// Shared by npy.cpp and npz.cpp.
#pragma once

#include <string>

#include "ir/type.h"

namespace ullage {

// What precedes the elements in an .npy file: magic, version and header, padded to a multiple of 64
// bytes.
std::string npy_header(const Type& type);

}  // namespace ullage
