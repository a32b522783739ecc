// The one source of the kernels and packing routines of matmul_code.h. A file that includes it has
// set the compiler's target and defined, in an unnamed namespace, `struct Vec` with
//   T, lanes, max_rows, in_registers;  zero, load, load_part, store, store_part, broadcast, fma,
//   add; load_bf16, load_f16, load_i8;  transpose(T[lanes]).
// Everything here has internal linkage, so that no function compiled for one instruction set is
// ever called for another.

namespace ullage {
namespace {

constexpr int lanes = Vec::lanes;
constexpr int kernel_rows = Vec::max_rows;
constexpr int kernel_columns = 2 * lanes;
// Vectors in registers need their loops unrolled; where they are arrays anyway that would only be
// megabytes of code.
constexpr int unrolled = Vec::in_registers ? 16 : 1;
constexpr int unrolled_k = Vec::in_registers ? 4 : 1;

template <int rows, int vectors, MatmulRowsLayout layout>
void kernel(const MatmulKernelArgs& args) {
  using T = Vec::T;
  const float* a = args.a;
  const float* b = args.b;
  const int64_t a_stride = args.a_stride;
  const int64_t b_stride = args.b_stride;
  const int64_t count = args.k;
  float* const c = args.c;
  const int64_t c_stride = args.c_stride;
  // The result is touched a whole K block later: the most valuable prefetch there is.
  for (int r = 0; r < rows; ++r) {
    __builtin_prefetch(args.fetch + r * args.fetch_stride, 1);
    __builtin_prefetch(args.fetch + r * args.fetch_stride + args.columns - 1, 1);
  }
  // Strided rows share a pointer by threes: base, base + stride, base + 2 stride are one x86
  // address each.
  const float* base0 = a;
  const float* base1 = a + 3 * a_stride;
  const float* base2 = a + 6 * a_stride;
  const float* base3 = a + 9 * a_stride;
  T sum[rows][vectors];
#pragma GCC unroll unrolled
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll unrolled
    for (int v = 0; v < vectors; ++v) sum[r][v] = Vec::zero();
  }
#pragma GCC unroll unrolled_k
  for (int64_t k = 0; k < count; ++k) {
    T column[vectors];
#pragma GCC unroll unrolled
    for (int v = 0; v < vectors; ++v) column[v] = Vec::load(b + k * b_stride + v * lanes);
#pragma GCC unroll unrolled
    for (int r = 0; r < rows; ++r) {
      const float* at = layout == MatmulRowsLayout::packed_rows   ? a + r * matmul_row_stride + k
                        : layout == MatmulRowsLayout::interleaved ? a + k * kernel_rows + r
                        : r < 3                                   ? base0 + r * a_stride
                        : r < 6                                   ? base1 + (r - 3) * a_stride
                        : r < 9                                   ? base2 + (r - 6) * a_stride
                                                                  : base3 + (r - 9) * a_stride;
      const T value = Vec::broadcast(at);
#pragma GCC unroll unrolled
      for (int v = 0; v < vectors; ++v) sum[r][v] = Vec::fma(value, column[v], sum[r][v]);
    }
    if constexpr (layout == MatmulRowsLayout::strided) {
      ++base0, ++base1, ++base2, ++base3;
      // Keeps the compiler from making a register of every row again.
      asm("" : "+r"(base0), "+r"(base1), "+r"(base2), "+r"(base3));
    }
  }
  const int64_t last = args.columns - (vectors - 1) * lanes;  // columns of the last vector
  if (last == lanes) {
#pragma GCC unroll unrolled
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll unrolled
      for (int v = 0; v < vectors; ++v) {
        float* at = c + r * c_stride + v * lanes;
        Vec::store(at, args.add ? Vec::add(Vec::load(at), sum[r][v]) : sum[r][v]);
      }
    }
    return;
  }
#pragma GCC unroll unrolled
  for (int r = 0; r < rows; ++r) {
    float* at = c + r * c_stride;
    if constexpr (vectors == 2) {
      Vec::store(at, args.add ? Vec::add(Vec::load(at), sum[r][0]) : sum[r][0]);
      at += lanes;
    }
    const T value = sum[r][vectors - 1];
    Vec::store_part(at, args.add ? Vec::add(Vec::load_part(at, last), value) : value, last);
  }
}

// A vector of elements of a type as f32, and the first `count` of one with zeros behind them.
template <MatmulType type>
struct Source {
  using E = std::conditional_t<type == MatmulType::f32, float,
                               std::conditional_t<type == MatmulType::i8, int8_t, uint16_t>>;

  static Vec::T load(const E* p) {
    if constexpr (type == MatmulType::f32) {
      return Vec::load(p);
    } else if constexpr (type == MatmulType::bf16) {
      return Vec::load_bf16(p);
    } else if constexpr (type == MatmulType::f16) {
      return Vec::load_f16(p);
    } else {
      return Vec::load_i8(p);
    }
  }

  static Vec::T load_part(const E* p, int64_t count) {
    if constexpr (type == MatmulType::f32) {
      return Vec::load_part(p, count);
    } else {
      E part[lanes] = {};
      for (int64_t i = 0; i < count; ++i) part[i] = p[i];
      return load(part);
    }
  }
};

constexpr int64_t rows_ahead = 6;  // prefetched while packing across rows

template <MatmulType type>
void copy_rows(float* dst, int64_t dst_stride, const void* src, int64_t stride, int64_t rows,
               int64_t k) {
  using S = Source<type>;
  const auto* from = static_cast<const typename S::E*>(src);
  for (int64_t row = 0; row < rows; ++row, from += stride, dst += dst_stride) {
    int64_t i = 0;
    for (; i + lanes <= k; i += lanes) {
      __builtin_prefetch(from + stride + i);
      Vec::store(dst + i, S::load(from + i));
    }
    if (i < k) Vec::store_part(dst + i, S::load_part(from + i, k - i), k - i);
  }
}

template <MatmulType type>
void interleave_rows(float* dst, int64_t panel, const void* src, int64_t stride, int64_t rows,
                     int64_t k) {
  using S = Source<type>;
  const auto* from = static_cast<const typename S::E*>(src);
  for (int64_t i = 0; i < k; ++i, from += stride, dst += kernel_rows) {
    float* to = dst;
    int64_t row = 0;
    // What a store writes past its kernel_rows values is overwritten by the next k, or is padding.
    for (; row + lanes <= rows; row += kernel_rows, to += panel) {
      __builtin_prefetch(from + rows_ahead * stride + row);
      Vec::store(to, S::load(from + row));
    }
    for (; row < rows; row += kernel_rows, to += panel) {
      const int64_t count = rows - row < lanes ? rows - row : lanes;
      Vec::store(to, S::load_part(from + row, count));
    }
  }
}

template <MatmulType type>
void copy_columns(float* dst, int64_t panel, const void* src, int64_t stride, int64_t columns,
                  int64_t k) {
  using S = Source<type>;
  const auto* from = static_cast<const typename S::E*>(src);
  for (int64_t i = 0; i < k; ++i, from += stride, dst += kernel_columns) {
    float* to = dst;
    int64_t column = 0;
    for (; column + kernel_columns <= columns; column += kernel_columns, to += panel) {
      __builtin_prefetch(from + rows_ahead * stride + column);
      Vec::store(to, S::load(from + column));
      Vec::store(to + lanes, S::load(from + column + lanes));
    }
    if (column == columns) continue;
    const int64_t left = columns - column;
    if (left >= lanes) {
      Vec::store(to, S::load(from + column));
      Vec::store(to + lanes, S::load_part(from + column + lanes, left - lanes));
    } else {
      Vec::store(to, S::load_part(from + column, left));
      Vec::store(to + lanes, Vec::zero());
    }
  }
}

template <MatmulType type>
void transpose_columns(float* dst, int64_t panel, const void* src, int64_t stride, int64_t columns,
                       int64_t k) {
  using S = Source<type>;
  for (int64_t column = 0; column < columns; column += lanes) {
    const auto* from = static_cast<const typename S::E*>(src) + column * stride;
    const int64_t count = columns - column < lanes ? columns - column : lanes;
    float* to = dst + column / kernel_columns * panel + column % kernel_columns;
    for (int64_t i = 0; i < k; i += lanes) {
      const int64_t length = k - i < lanes ? k - i : lanes;
      Vec::T block[lanes];
      if (length == lanes && count == lanes) {
#pragma GCC unroll unrolled
        for (int r = 0; r < lanes; ++r) block[r] = S::load(from + r * stride + i);
      } else {
        for (int r = 0; r < lanes; ++r) {
          block[r] = r < count ? S::load_part(from + r * stride + i, length) : Vec::zero();
        }
      }
      Vec::transpose(block);
      if (length == lanes) {
#pragma GCC unroll unrolled
        for (int r = 0; r < lanes; ++r) Vec::store(to + (i + r) * kernel_columns, block[r]);
      } else {
        for (int r = 0; r < length; ++r) Vec::store(to + (i + r) * kernel_columns, block[r]);
      }
    }
    // A last panel of one vector: the other one is read by nobody but must not hold signalling
    // rubbish.
    if (column % kernel_columns == 0 && column + lanes >= columns) {
      for (int64_t i = 0; i < k; ++i) Vec::store(to + i * kernel_columns + lanes, Vec::zero());
    }
  }
}

template <MatmulRowsLayout layout, int rows>
void fill_kernels(MatmulCode& code) {
  auto& row = code.kernel[static_cast<int>(layout)][rows - 1];
  row[0] = kernel<rows, 1, layout>;
  row[1] = kernel<rows, 2, layout>;
  if constexpr (rows > 1) fill_kernels<layout, rows - 1>(code);
}

template <MatmulType type>
void fill_packing(MatmulCode& code) {
  constexpr int index = static_cast<int>(type);
  code.copy_rows[index] = copy_rows<type>;
  code.interleave_rows[index] = interleave_rows<type>;
  code.copy_columns[index] = copy_columns<type>;
  code.transpose_columns[index] = transpose_columns<type>;
}

MatmulCode make_matmul_code(MatmulIsa isa) {
  MatmulCode code = {};
  code.isa = isa;
  code.lanes = lanes;
  code.kernel_rows = kernel_rows;
  code.kernel_columns = kernel_columns;
  fill_kernels<MatmulRowsLayout::packed_rows, kernel_rows>(code);
  fill_kernels<MatmulRowsLayout::interleaved, kernel_rows>(code);
  fill_kernels<MatmulRowsLayout::strided, kernel_rows>(code);
  fill_packing<MatmulType::f32>(code);
  fill_packing<MatmulType::bf16>(code);
  fill_packing<MatmulType::f16>(code);
  fill_packing<MatmulType::i8>(code);
  return code;
}

}  // namespace
}  // namespace ullage
