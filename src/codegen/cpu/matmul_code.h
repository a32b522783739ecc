// The part of the matrix product that exists once per instruction set: register kernels and packing
// routines, as a table of function pointers. matmul_code_impl.h holds their one source;
// matmul_avx512.cpp, matmul_avx2.cpp and matmul_baseline.cpp compile it. Only matmul.cpp and
// matmul_run.cpp call it.
#pragma once

#include <cstdint>

#include "codegen/cpu/matmul.h"

namespace ullage {

// Packed A rows of a whole block of K lie this far apart: the block and some floats that keep rows
// off each other's cache sets.
inline constexpr int64_t matmul_row_padding = 16;
inline constexpr int64_t matmul_row_stride = matmul_k_block + matmul_row_padding;

enum class MatmulRowsLayout : uint8_t {
  packed_rows,  // row r, k at a[r * matmul_row_stride + k]
  interleaved,  // at a[k * kernel_rows + r]
  strided,      // at a[r * a_stride + k]
};

struct MatmulKernelArgs {
  int64_t k = 0;  // at most matmul_k_block
  const float* a = nullptr;
  int64_t a_stride = 0;      // for `strided`
  const float* b = nullptr;  // b[k * b_stride + column]; readable up to the kernel's whole width
  int64_t b_stride = 0;
  float* c = nullptr;
  int64_t c_stride = 0;
  int64_t columns = 0;  // stored, at most kernel_columns
  bool add = false;     // to what is in c, or overwrite it
  const float* fetch =
      nullptr;  // what is written next, by this kernel (c) or after it: asked for at the start
  int64_t fetch_stride = 0;
};

inline constexpr int matmul_max_kernel_rows = 12;

struct MatmulCode {
  MatmulIsa isa;
  int lanes;           // floats of a vector
  int kernel_rows;     // of the largest register tile
  int kernel_columns;  // two vectors

  // By layout, rows - 1, and vectors needed for the columns - 1.
  void (*kernel[3][matmul_max_kernel_rows][2])(const MatmulKernelArgs&);

  // All by MatmulType. Sources are addressed in elements of their type.
  // Rows of k: dst[row * dst_stride + k] = src[row * stride + k].
  void (*copy_rows[4])(float* dst, int64_t dst_stride, const void* src, int64_t stride,
                       int64_t rows, int64_t k);
  // dst[(row / kernel_rows) * panel + k * kernel_rows + row % kernel_rows] = src[k * stride + row];
  // writes up to `lanes` floats past the last value of a panel.
  void (*interleave_rows[4])(float* dst, int64_t panel, const void* src, int64_t stride,
                             int64_t rows, int64_t k);
  // dst[(column / kernel_columns) * panel + k * kernel_columns + column % kernel_columns] = src[k *
  // stride + column], the columns that are missing in the last panel zero.
  void (*copy_columns[4])(float* dst, int64_t panel, const void* src, int64_t stride,
                          int64_t columns, int64_t k);
  // The same from src[column * stride + k].
  void (*transpose_columns[4])(float* dst, int64_t panel, const void* src, int64_t stride,
                               int64_t columns, int64_t k);
};

// The table for an instruction set that the host has.
const MatmulCode& matmul_code(MatmulIsa isa);

const MatmulCode& matmul_code_baseline();
#if defined(__x86_64__)
const MatmulCode& matmul_code_avx2();
const MatmulCode& matmul_code_avx512();
#endif

// f32 from the other types, one at a time.
float bf16_to_f32(uint16_t bits);
float f16_to_f32(uint16_t bits);

}  // namespace ullage
