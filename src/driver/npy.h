// NumPy's .npy (format versions 1 to 3) and .npz files. Reading borrows the file's bytes where it
// can and checks every offset and size against them, so that a damaged file gives a diagnostic. An
// array whose element type NumPy cannot name (bf16 and the float8 types are saved as raw items,
// "V2" or "V1") is `opaque`: it fits any type of that size. Not read: zip64 archives, encrypted
// members, big-endian and structured element types; each is refused by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/type.h"
#include "support/diagnostics.h"

namespace ullage {

struct NpyArray {
  std::string name;            // of the member without ".npy", or of the file; for messages
  std::optional<DType> dtype;  // none when opaque
  int item_bytes = 0;
  std::vector<int64_t> shape;
  bool fortran_order = false;
  std::span<const std::byte> bytes;  // the elements; points into `inflated` or into the file
  std::vector<std::byte> inflated;   // of a compressed member

  NpyArray() = default;
  NpyArray(NpyArray&&) = default;
  NpyArray& operator=(NpyArray&&) = default;
  NpyArray(const NpyArray&) = delete;
  NpyArray& operator=(const NpyArray&) = delete;

  int64_t num_elements() const;
};

// The array of an .npy file. It points into `file`.
Result<NpyArray> read_npy(std::span<const std::byte> file, std::string name);

// The arrays of an .npz file in the order of its directory. Members are stored or deflated; their
// CRC-32 is checked.
Result<std::vector<NpyArray>> read_npz(std::span<const std::byte> file, std::string_view name);

// Copies the elements, row-major, into `out`, which has type.bytes() bytes. The array's shape and
// element type must be the type's; `what` says in the message what they were meant for.
Status copy_elements(const NpyArray& array, const Type& type, std::span<std::byte> out,
                     std::string_view what);

struct NamedArray {
  std::string name;
  Type type;
  std::span<const std::byte> bytes;
};

// Writes arrays without compression. Types that NumPy cannot name are written as raw items.
Status write_npy(const std::string& path, const NamedArray& array);
Status write_npz(const std::string& path, std::span<const NamedArray> arrays);

}  // namespace ullage
