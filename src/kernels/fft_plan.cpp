#include "kernels/fft_plan.h"

#include <algorithm>

#include "kernels/sort_plan.h"

namespace ullage {

std::vector<int> fft_factors(int64_t length) {
  std::vector<int> factors;
  // Eights first, since the steps after the first then have whole vectors of neighbours.
  int twos = 0;
  while (length % 2 == 0) length /= 2, ++twos;
  while (twos >= 3 && twos != 4) factors.push_back(8), twos -= 3;
  while (twos >= 2) factors.push_back(4), twos -= 2;
  if (twos == 1) factors.push_back(2);
  for (int p = 3; length > 1; p += 2) {
    if (static_cast<int64_t>(p) * p > length)
      p = static_cast<int>(std::min<int64_t>(length, 1 << 30));
    if (p > kMaxFftFactor) return {};
    while (length % p == 0) factors.push_back(p), length /= p;
  }
  return factors;
}

static FftPass make_pass(FftPass::Kind kind, const std::vector<int64_t>& shape, size_t dim,
                         int64_t n) {
  FftPass pass;
  pass.kind = kind;
  pass.n = n;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d < dim) pass.outer *= shape[d];
    if (d > dim) pass.inner *= shape[d];
  }
  pass.length = kind != FftPass::Kind::complex && n % 2 == 0 ? n / 2 : n;
  if (pass.length > 1 && fft_factors(pass.length).empty()) {
    pass.padded = 1;
    while (pass.padded < 2 * pass.length - 1) pass.padded *= 2;
  }
  int64_t size = std::max(pass.length, pass.padded);
  pass.lanes = pass.inner > 1 ? (size <= 8192 ? 16 : 4) : (size < 256 ? 16 : 1);
  return pass;
}

FftPlan plan_fft(const Op& op, int threads) {
  using Kind = FftPass::Kind;
  const auto& a = op.as<FftAttributes>();
  const Type &operand = op.operand(0)->type, &result = op.result()->type;
  FftPlan plan;
  plan.inverse = a.type == FftType::ifft || a.type == FftType::irfft;
  plan.wide = operand.dtype == DType::c128 || operand.dtype == DType::f64;
  if (operand.num_elements() == 0 || result.num_elements() == 0) return plan;
  size_t last = operand.shape.size() - 1, first = operand.shape.size() - a.length.size();
  int64_t n = a.length.back();
  // Complex passes run over the shape without a real last dimension.
  const std::vector<int64_t>& shape = a.type == FftType::irfft ? operand.shape : result.shape;
  if (a.type != FftType::irfft)
    plan.passes.push_back(make_pass(a.type == FftType::rfft ? Kind::real_to_complex : Kind::complex,
                                    operand.shape, last, n));
  for (size_t d = first; d < last; ++d)
    plan.passes.push_back(make_pass(Kind::complex, shape, d, shape[d]));
  if (a.type == FftType::irfft) {
    if (!plan.passes.empty()) plan.between_bytes = scratch_aligned(operand.bytes());
    plan.passes.push_back(make_pass(Kind::complex_to_real, result.shape, last, n));
  }
  for (const FftPass& pass : plan.passes)
    plan.worker_bytes =
        std::max(plan.worker_bytes, 4 * scratch_aligned((std::max(pass.length, pass.padded) + 1) *
                                                        pass.lanes * (plan.wide ? 8 : 4)));
  plan.scratch_bytes = plan.between_bytes + plan.worker_bytes * threads;
  return plan;
}

}  // namespace ullage
