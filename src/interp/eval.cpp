#include "interp/eval.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "interp/quantized.h"
#include "interp/scalar_ops.h"
#include "ops/infer.h"

namespace ullage {

namespace interp {

namespace {

#define ULLAGE_OP(kind, mnemonic, family, operands, results, traits) +1
constexpr size_t kOpCount = 0
#include "ir/ops.def"
    ;

std::array<Handler, kOpCount> build_handlers() {
  std::array<Handler, kOpCount> table{};
  for (auto rows :
       {movement_handlers(), gather_scatter_handlers(), dynamic_handlers(), reduction_handlers(),
        sort_handlers(), linalg_handlers(), decomposition_handlers(), convolution_handlers(),
        fft_handlers(), normalization_handlers(), random_handlers(), check_handlers(),
        collective_handlers()})
    for (const HandlerRow& row : rows) table[static_cast<size_t>(row.kind)] = row.handler;
  for (size_t i = 0; i < kOpCount; ++i)
    if (!table[i] && is_lane_op(static_cast<OpKind>(i))) table[i] = evaluate_elementwise;
  return table;
}

// Result types of this run: as declared, or inferred from the operands where the program leaves
// extents open.
Result<std::vector<Type>> concrete_types(const Op& op, const Tensors& operands) {
  std::vector<Type> declared;
  bool is_static = true;
  for (const Value* result : op.results()) {
    declared.push_back(result->type);
    is_static = is_static && result->type.is_static();
  }
  if (is_static) return declared;
  std::vector<Type> types;
  for (const Tensor& operand : operands) types.push_back(operand.type());
  std::vector<const Region*> regions;
  for (size_t i = 0; i < op.num_regions(); ++i) regions.push_back(&op.nested(i));
  return infer_types(op.kind, types, op.attributes, declared, regions);
}

}  // namespace

Handler handler_of(OpKind kind) {
  static const auto table = build_handlers();
  return table[static_cast<size_t>(kind)];
}

SourceRange Evaluation::where() const {
  return module ? module->source(op.location) : SourceRange{};
}

Diagnostic Evaluation::problem(const std::string& what) const {
  return error(fmt::format("{}: {}", op.mnemonic(), what), where());
}

Result<Tensors> evaluate_op(Evaluation& e) {
  Handler handler = handler_of(e.op.kind);
  auto is_quantized = [](const Value* value) { return value->type.quantized != nullptr; };
  std::vector<Value*> operands = e.op.operands();
  if (std::any_of(operands.begin(), operands.end(), is_quantized) ||
      std::any_of(e.op.results().begin(), e.op.results().end(), is_quantized))
    handler = evaluate_quantized;
  if (!handler) return e.problem("the interpreter does not support this operation");
  auto types = concrete_types(e.op, e.operands);
  if (!types) {
    auto diagnostics = types.diagnostics();
    for (Diagnostic& d : diagnostics)
      if (!d.where.known()) d.where = e.where();
    return diagnostics;
  }
  e.types = std::move(*types);
  if (info(e.op.kind).family != OpFamily::dynamic)
    for (const Type& type : e.types)
      if (!type.is_static())
        return e.problem("its result shape is not known at run time: " + to_string(type));
  auto results = handler(e);
  if (results) return results;
  auto diagnostics = results.diagnostics();
  for (Diagnostic& d : diagnostics)
    if (!d.where.known()) d.where = e.where();
  return diagnostics;
}

}  // namespace interp

bool can_evaluate(OpKind kind) {
  const OpFamily family = info(kind).family;
  return interp::handler_of(kind) && family != OpFamily::check && family != OpFamily::collective &&
         kind != OpKind::custom_call && kind != OpKind::rng;
}

Result<std::vector<Tensor>> evaluate(const Op& op, std::span<const Tensor> operands) {
  if (!can_evaluate(op.kind))
    return error(fmt::format("{} cannot be evaluated on its own", op.mnemonic()));
  std::vector<Tensor> owned(operands.begin(), operands.end());
  interp::Evaluation e{op, owned, {}};
  return interp::evaluate_op(e);
}

}  // namespace ullage
