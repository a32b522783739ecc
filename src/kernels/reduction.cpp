#include "kernels/reduction.h"

#include <algorithm>

#include "support/check.h"

namespace ullage {

namespace {

constexpr int64_t kBlockRows = 256;
constexpr int64_t kBlockElements = 65536;  // of a result; more are cut into blocks of fewer rows
constexpr int64_t kChainElements = 256;    // likewise where one accumulator takes them all in turn
constexpr int64_t kStrip = 2048;           // columns one thread takes at least

// How well lanes along dimension d suit the loads: 1 for each that is contiguous, a half for each
// that does not move.
double contiguity(const LoopKernel& kernel, int d) {
  double score = 0;
  for (const ExprNode& node : kernel.expr.nodes) {
    if (node.kind != ExprNode::Kind::load) continue;
    const std::vector<int64_t>& c = node.access.affine.coefficients;
    if (std::all_of(c.begin(), c.end(), [](int64_t v) { return v == 0; })) continue;
    int64_t at = static_cast<size_t>(d) < c.size() ? c[static_cast<size_t>(d)] : 0;
    score += at == 1 ? 1 : at == 0 ? 0.5 : 0;
  }
  return score;
}

}  // namespace

DType accumulation_dtype(DType dtype) {
  return is_float(dtype) && bit_width(dtype) < 32 ? DType::f32 : dtype;
}

uint64_t identity_bits(OpKind combiner, DType dtype) {
  int width = bit_width(dtype);
  uint64_t ones = width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  auto real = [dtype](uint64_t f32, uint64_t f64, uint64_t bf16, uint64_t f16) {
    return dtype == DType::f64    ? f64
           : dtype == DType::bf16 ? bf16
           : dtype == DType::f16  ? f16
                                  : f32;
  };
  bool boolean = dtype == DType::i1;
  switch (combiner) {
    case OpKind::add:  // -0: adding it changes nothing, not even the sign of zero
      if (is_float(dtype)) return real(0x80000000, 0x8000000000000000, 0x8000, 0x8000);
      return 0;
    case OpKind::multiply:
      if (is_float(dtype)) return real(0x3f800000, 0x3ff0000000000000, 0x3f80, 0x3c00);
      return 1;
    case OpKind::maximum:
      if (is_float(dtype)) return real(0xff800000, 0xfff0000000000000, 0xff80, 0xfc00);
      if (boolean) return 0;
      return is_signed_int(dtype)
                 ? (width < 8 ? ~uint64_t{0} << (width - 1) : uint64_t{1} << (width - 1))
                 : 0;
    case OpKind::minimum:
      if (is_float(dtype)) return real(0x7f800000, 0x7ff0000000000000, 0x7f80, 0x7c00);
      if (boolean) return 1;
      return is_signed_int(dtype) ? ones >> 1 : ones;
    case OpKind::and_:
      if (boolean) return 1;
      return is_signed_int(dtype) ? ~uint64_t{0} : ones;
    case OpKind::or_:
    case OpKind::xor_:
      return 0;
    default:
      break;
  }
  ULLAGE_CHECK(false, "a combiner without identity");
  return 0;
}

ReductionPlan plan_reduction(const LoopKernel& kernel) {
  ULLAGE_CHECK(kernel.reduction, "a kernel without reduction has no reduction plan");
  int64_t parallel = 1, reduced = 1;
  int first_reduced = -1, last_reduced = -1, best_parallel = -1;
  double best_score = -1;
  for (size_t d = 0; d < kernel.extents.size(); ++d) {
    int dim = static_cast<int>(d);
    if (kernel.roles[d] == LoopRole::reduced) {
      reduced *= kernel.extents[d];
      if (first_reduced < 0 && kernel.extents[d] != 1) first_reduced = dim;
      if (kernel.extents[d] > 1) last_reduced = dim;
      continue;
    }
    parallel *= kernel.extents[d];
    if (kernel.extents[d] == 1) continue;
    double score = contiguity(kernel, dim);
    if (kernel.extents[d] < 16) score *= 0.1;  // idle lanes
    if (score >= best_score) best_score = score, best_parallel = dim;
  }
  ReductionPlan plan;
  int64_t rows = first_reduced < 0 ? 1 : kernel.extents[static_cast<size_t>(first_reduced)];
  if (!kernel.reduction->combiner) {
    plan.lane_dim = best_parallel;
    plan.blocks = rows == 0 ? 0 : 1;
    plan.block_rows = std::max<int64_t>(rows, 1);
    return plan;
  }
  bool along_rows =
      last_reduced >= 0 && (best_parallel < 0 || contiguity(kernel, last_reduced) > best_score);
  // Short rows leave lanes idle and pay for combining them; lanes across many short rows do not.
  if (reduced < 32) along_rows = false;
  plan.form = along_rows ? ReductionForm::rows : ReductionForm::columns;
  plan.lane_dim = along_rows ? last_reduced : best_parallel;

  int64_t row_elements = rows > 0 ? reduced / rows : 1;
  plan.block_rows = kBlockRows;
  int64_t most = along_rows ? kBlockElements : kChainElements;
  while (plan.block_rows > 1 && plan.block_rows * row_elements > most) plan.block_rows /= 2;
  plan.blocks = (rows + plan.block_rows - 1) / plan.block_rows;

  int64_t units = parallel;
  if (!along_rows && best_parallel >= 0) {
    int64_t lanes = std::max<int64_t>(1, kernel.extents[static_cast<size_t>(best_parallel)]);
    units = parallel / lanes * ((lanes + kStrip - 1) / kStrip);
  }
  plan.split = units < 16 && plan.blocks >= 4 && parallel * reduced >= 2 * kBlockElements;
  if (plan.split) {
    DType dtype = kernel.expr.nodes[static_cast<size_t>(kernel.outputs[0].node)].dtype;
    plan.scratch_bytes = plan.blocks * parallel * storage_bytes(accumulation_dtype(dtype));
  }
  return plan;
}

int64_t reduction_scratch_bytes(const LoopKernel& kernel) {
  return kernel.reduction ? plan_reduction(kernel).scratch_bytes : 0;
}

}  // namespace ullage
