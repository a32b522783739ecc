#include "kernels/library.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "kernels/fft_plan.h"
#include "kernels/host_call.h"
#include "kernels/lapack_plan.h"
#include "kernels/sort_plan.h"

namespace ullage {

namespace {

std::string refuse_sort(const Op& op) {
  int64_t rank = op.operand(0)->type.rank();
  int64_t dim = op.as<SortAttributes>().dimension;
  int64_t extent = op.operand(0)->type.shape[static_cast<size_t>(dim < 0 ? dim + rank : dim)];
  if (extent > kMaxSortExtent) return "slices have more elements than 32 bits can number";
  if (op.num_operands() > kMaxSortOperands)
    return "more than " + std::to_string(kMaxSortOperands) + " operands";
  return {};
}

double sort_operations(const LibraryKernel& kernel) {
  double elements = static_cast<double>(kernel.op->operand(0)->type.num_elements());
  double extent = static_cast<double>(plan_sort(kernel, 1).extent);
  return 8 * elements * std::log2(extent + 2);
}

std::string refuse_top_k(const Op& op) {
  const Type& type = op.operand(0)->type;
  if (!top_k_key(type.dtype))
    return "elements of type " + std::string(name(type.dtype)) + " are not ordered";
  if (type.shape.back() > kMaxSortExtent) return "lines have more elements than 32 bits can number";
  return {};
}

double top_k_operations(const LibraryKernel& kernel) {
  return 4 * static_cast<double>(kernel.op->operand(0)->type.num_elements());
}

std::string refuse_lapack(const Op& op) {
  return plan_lapack(op).refusal;
}

int64_t lapack_scratch(const LibraryKernel& kernel, int) {
  return plan_lapack(*kernel.op).plan->worker_bytes;
}

double lapack_operations(const LibraryKernel& kernel) {
  LapackPlan plan = *plan_lapack(*kernel.op).plan;
  return static_cast<double>(plan.batch) * plan.operations;
}

bool lapack_leaves_out(const Op& op, size_t result) {
  const LapackPart part = plan_lapack(op).plan->results[result];
  return !part.read && part.offset >= 0;
}

std::string accept(const Op&) {
  return {};
}

double fft_operations(const LibraryKernel& kernel) {
  double elements = static_cast<double>(std::max(kernel.op->operand(0)->type.num_elements(),
                                                 kernel.op->result()->type.num_elements()));
  double points = 2;
  for (int64_t length : kernel.op->as<FftAttributes>().length)
    points *= static_cast<double>(std::max<int64_t>(1, length));
  return 5 * elements * std::log2(points);
}

std::string refuse_convolution(const Op& op) {
  if (op.as<ConvolutionAttributes>().dims.input_spatial.size() > 6)
    return "more than six spatial dimensions";
  DType lhs = op.operand(0)->type.dtype, rhs = op.operand(1)->type.dtype,
        out = op.result()->type.dtype;
  auto narrow = [](DType t) { return t == DType::f32 || t == DType::bf16 || t == DType::f16; };
  auto real = [](DType t) { return t == DType::f32 || t == DType::f64; };
  auto whole = [](DType t) { return is_int(t) && bit_width(t) >= 8; };
  if (narrow(lhs) && narrow(rhs) && narrow(out)) return {};
  if (real(lhs) && real(rhs) && real(out)) return {};
  if (is_complex(out) && lhs == out && rhs == out) return {};
  if (whole(lhs) && whole(rhs) && (whole(out) || real(out))) return {};
  return "elements of types " + std::string(name(lhs)) + ", " + std::string(name(rhs)) + " and " +
         std::string(name(out));
}

double convolution_operations(const LibraryKernel& kernel) {
  const Type& window = kernel.op->operand(1)->type;
  int64_t features = window.shape[static_cast<size_t>(
      kernel.op->as<ConvolutionAttributes>().dims.kernel_output_feature)];
  if (features == 0) return 0;
  return 2 * static_cast<double>(kernel.op->result()->type.num_elements()) *
         static_cast<double>(window.num_elements() / features);
}

std::string refuse_host_call(const Op& op) {
  const std::string& target = op.as<CustomCallAttributes>().target;
  return host_answers(target) ? "" : "nothing is registered under the name " + target;
}

int64_t no_scratch(const LibraryKernel&, int) {
  return 0;
}

double no_operations(const LibraryKernel&) {
  return 0;
}

struct Row {
  OpKind kind;
  LibraryOperation operation;
};
const Row kRows[] = {
    {OpKind::sort,
     {"sort", refuse_sort,
      [](const LibraryKernel& kernel, int threads) {
        return plan_sort(kernel, threads).scratch_bytes;
      },
      sort_operations, [](const LibraryKernel& kernel) { return plan_sort(kernel, 1).in_place; }}},
    {OpKind::chlo_top_k,
     {"top_k", refuse_top_k,
      [](const LibraryKernel& kernel, int threads) {
        return plan_top_k(*kernel.op, threads).scratch_bytes;
      },
      top_k_operations}},
    {OpKind::cholesky, {"cholesky", refuse_lapack, lapack_scratch, lapack_operations}},
    {OpKind::triangular_solve,
     {"triangular_solve", refuse_lapack, lapack_scratch, lapack_operations}},
    {OpKind::fft,
     {"fft", accept,
      [](const LibraryKernel& kernel, int threads) {
        return plan_fft(*kernel.op, threads).scratch_bytes;
      },
      fft_operations}},
    {OpKind::convolution,
     {"convolution", refuse_convolution, nullptr, convolution_operations, nullptr, nullptr, true}},
    {OpKind::create_token, {"token", accept, no_scratch, no_operations}},
    {OpKind::after_all, {"token", accept, no_scratch, no_operations}},
    {OpKind::custom_call,
     {"lapack", refuse_lapack, lapack_scratch, lapack_operations, nullptr, lapack_leaves_out}},
};

}  // namespace

const LibraryOperation* library_operation(const Op& op) {
  static const LibraryOperation host_call = {"host_call", refuse_host_call, no_scratch,
                                             no_operations};
  if (is_host_call(op)) return &host_call;
  auto row = std::find_if(std::begin(kRows), std::end(kRows),
                          [&](const Row& r) { return r.kind == op.kind; });
  return row == std::end(kRows) ? nullptr : &row->operation;
}

}  // namespace ullage
