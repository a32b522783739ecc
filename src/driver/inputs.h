// The arguments of a run, described rather than held: by a recipe that gives the same bits in any
// language, or by an array of a NumPy file. Values are made straight into the buffer that the
// program reads, in pieces if need be, so filling a program's arguments takes no memory beyond
// them.
//
// The recipe: element i of a generated argument comes from h(seed, i), the finaliser of splitmix64
// on i + 1 + seed * 0x9E3779B97F4A7C15, modulo 2^64, followed by single float32 roundings. A
// complex element takes its real part from index 2i and its imaginary part from 2i + 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "driver/npy.h"
#include "ir/type.h"
#include "support/diagnostics.h"
#include "support/file.h"

namespace ullage {

enum class Fill : uint8_t {
  uniform,   // u * span + lo, u = (h >> 40) * 2^-24
  normal,    // (sum of the four 16-bit fields of h - 131070) * mul, then + mean unless that is zero
  integer,   // lower + h mod range
  boolean,   // (h >> 40) < below
  iota,      // start + i * delta
  constant,  // the one element in `bytes`
  values,    // `bytes`
};

struct InputSpec {
  std::string name;
  Type type;
  Fill fill = Fill::constant;
  uint64_t seed = 0;
  float lo = 0, span = 0;        // uniform
  float mul = 0, mean = 0;       // normal
  int64_t lower = 0;             // integer
  uint64_t range = 1;            // integer, not 0
  uint64_t below = 0;            // boolean
  int64_t start = 0, delta = 1;  // iota
  std::vector<std::byte> bytes;  // constant: one element; values: all of them
  std::optional<int64_t> aliases_output;
  bool donated = false;
};

// True for the element types a recipe can make: i1, whole bytes of integers, bf16, f16, f32, f64,
// c64, c128.
bool can_fill(DType dtype);

// Writes elements first_element, first_element + 1, ... as many as `out` holds. Pieces may be
// filled in parallel.
void fill_range(const InputSpec& spec, int64_t first_element, std::span<std::byte> out);
// Writes all elements; `out` has spec.type.bytes() bytes.
void fill(const InputSpec& spec, std::span<std::byte> out);

// One number as an element of this type, as NumPy's astype would convert it; both parts of a
// complex one.
void store_number(double value, DType dtype, std::byte* out);
void store_number(int64_t value, DType dtype, std::byte* out);

// Arrays of .npy and .npz files, in the order the files were named. They point into the files,
// which are kept mapped.
struct InputFiles {
  std::vector<FileBytes> files;
  std::vector<NpyArray> arrays;
};
Result<InputFiles> read_input_files(std::span<const std::string> paths);

}  // namespace ullage
