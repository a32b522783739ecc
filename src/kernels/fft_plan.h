// How stablehlo.fft is computed: one dimension after another, each pass a batch of lines. A line is
// a complex transform of `length` elements, half as many as it has for real lines of even length,
// by factors up to kMaxFftFactor; lengths with greater prime factors go through a convolution of
// `padded` elements (Bluestein, "A linear filtering approach to the computation of discrete Fourier
// transform", 1970). `lanes` neighbouring lines are transformed together.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/ir.h"

namespace ullage {

inline constexpr int64_t kMaxFftFactor = 64;

struct FftPass {
  enum class Kind : uint8_t { complex, real_to_complex, complex_to_real };
  Kind kind = Kind::complex;
  int64_t outer = 1, n = 1,
          inner = 1;  // lines are along the middle one; n real or complex elements
  int64_t length = 1, padded = 0;
  int64_t lanes = 1;
};

struct FftPlan {
  bool inverse = false, wide = false;  // wide: in f64
  std::vector<FftPass> passes;         // the first reads the operand, the last writes the result
  int64_t between_bytes = 0;           // an array for what complex passes before a real one leave
  int64_t worker_bytes = 0;            // four planes of reals
  int64_t scratch_bytes = 0;
};
FftPlan plan_fft(const Op& op, int threads);

// Factors of a transform's length in the order of its steps; empty if one would be too great.
std::vector<int> fft_factors(int64_t length);

}  // namespace ullage
