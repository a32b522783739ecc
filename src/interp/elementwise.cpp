// Elementwise operations on whole tensors, and map.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "interp/eval.h"
#include "interp/lane_program.h"

namespace ullage::interp {

namespace {

// Applies `lane` to the elements; scalar operands count for all of them.
Result<Tensor> apply_lanes(const Evaluation& e, const LaneOp& lane,
                           std::span<const Tensor* const> operands, const Type& result) {
  if (operands.size() > 3) return e.problem("takes too many operands");
  for (const Tensor* operand : operands)
    if (operand->rank() != 0 && operand->shape() != result.shape)
      return e.problem(fmt::format("operand of type {} for a result of type {}",
                                   to_string(operand->type()), to_string(result)));
  Tensor out(result);
  std::byte* to = out.mutable_data();
  auto in = std::make_unique<Lanes[]>(operands.size() + 1);
  Lanes& results = in[operands.size()];
  const Lanes* pointers[3] = {};
  for (size_t i = 0; i < operands.size(); ++i) {
    pointers[i] = &in[i];
    if (operands[i]->rank() == 0)
      load_strided(operands[i]->dtype(), operands[i]->data(), 0, kLanes, in[i]);
  }
  int64_t count = out.num_elements();
  for (int64_t at = 0; at < count; at += static_cast<int64_t>(kLanes)) {
    auto n = static_cast<size_t>(std::min<int64_t>(count - at, kLanes));
    for (size_t i = 0; i < operands.size(); ++i)
      if (operands[i]->rank() != 0)
        load(operands[i]->dtype(), operands[i]->data() + at * storage_bytes(operands[i]->dtype()),
             n, in[i]);
    // Storing rounds to the element type.
    lane.function(lane, pointers, results, n);
    store(result.dtype, results, n, to + at * storage_bytes(result.dtype));
  }
  return out;
}

}  // namespace

Result<Tensor> apply(Evaluation& e, OpKind kind, std::vector<const Tensor*> operands,
                     const Type& result, const Attributes& attributes) {
  std::vector<DType> types;
  for (const Tensor* operand : operands) types.push_back(operand->dtype());
  auto lane = lane_op(kind, types, result.dtype, attributes);
  if (!lane) return lane.diagnostics();
  return apply_lanes(e, *lane, operands, result);
}

Result<Tensors> evaluate_elementwise(Evaluation& e) {
  std::vector<const Tensor*> operands;
  for (const Tensor& operand : e.operands) operands.push_back(&operand);
  auto out = apply(e, e.op.kind, operands, e.types[0], e.op.attributes);
  if (!out) return out.diagnostics();
  return Tensors{std::move(*out)};
}

Result<Tensors> evaluate_map(Evaluation& e) {
  auto program = LaneProgram::compile(e, e.op.nested());
  if (!program) return program.diagnostics();
  Tensor out(e.types[0]);
  std::byte* to = out.mutable_data();
  int64_t count = out.num_elements();
  for (int64_t at = 0; at < count; at += static_cast<int64_t>(kLanes)) {
    auto n = static_cast<size_t>(std::min<int64_t>(count - at, kLanes));
    for (size_t i = 0; i < e.operands.size(); ++i)
      load(e.operands[i].dtype(), e.operands[i].data() + at * storage_bytes(e.operands[i].dtype()),
           n, program->argument(i));
    program->run(n);
    store(out.dtype(), program->result(0), n, to + at * storage_bytes(out.dtype()));
  }
  return Tensors{std::move(out)};
}

}  // namespace ullage::interp
