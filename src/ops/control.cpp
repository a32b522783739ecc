// Control flow, calls and structure.
#include <fmt/format.h>

#include "ops/rules.h"

namespace ullage::ops {

namespace {

bool all_compatible(std::span<const Type> a, std::span<const Type> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!compatible(a[i], b[i])) return false;
  return true;
}

std::string types_string(std::span<const Type> types) {
  std::string out = "(";
  for (size_t i = 0; i < types.size(); ++i) out += (i ? ", " : "") + to_string(types[i]);
  return out + ")";
}

Result<Types> declared_types(const OpView& view) {
  return Types(view.declared.begin(), view.declared.end());
}
Result<Types> operand_types(const OpView& view) {
  return Types(view.operands.begin(), view.operands.end());
}
Result<Types> no_types(const OpView&) {
  return Types{};
}

Result<Types> infer_token(const OpView& view) {
  for (const Type& operand : view.operands)
    if (operand.kind != Type::Kind::token)
      return violation(view, 0, "takes tokens, found " + to_string(operand));
  return Types{Type::token()};
}

Result<Types> infer_branches(const OpView& view) {
  bool is_if = view.kind == OpKind::if_;
  const Type& index = view.operands[0];
  if (!index.is_tensor() || index.rank() != 0 || index.dtype != (is_if ? DType::i1 : DType::i32))
    return violation(view, 0,
                     fmt::format("the condition must be a tensor<{}>, found {}",
                                 is_if ? "i1" : "i32", to_string(index)));
  if (view.regions.empty()) {
    if (view.declared.data() == nullptr && !is_if)
      return violation(view, 1, "needs at least one branch");
    return declared_types(view);
  }
  Types results;
  for (size_t i = 0; i < view.regions.size(); ++i) {
    Signature branch = signature(*view.regions[i]);
    if (!branch.arguments.empty())
      return violation(view, is_if ? 1 : 2, fmt::format("branch {} takes arguments", i));
    if (i == 0) results = branch.results;
    if (!all_compatible(branch.results, results))
      return violation(view, is_if ? 2 : 3,
                       fmt::format("branch {} returns {}, branch 0 returns {}", i,
                                   types_string(branch.results), types_string(results)));
  }
  // A dynamic result may be declared with less than the branches know.
  return results;
}

Result<Types> infer_while(const OpView& view) {
  if (view.regions.size() == 2) {
    Signature cond = signature(*view.regions[0]), body = signature(*view.regions[1]);
    if (!all_compatible(cond.arguments, view.operands))
      return violation(view, 1,
                       fmt::format("cond takes {}, operands are {}", types_string(cond.arguments),
                                   types_string(view.operands)));
    if (cond.results.size() != 1 || !cond.results[0].is_tensor() ||
        cond.results[0].dtype != DType::i1 || cond.results[0].rank() != 0)
      return violation(
          view, 1,
          fmt::format("cond must return a tensor<i1>, returns {}", types_string(cond.results)));
    if (!all_compatible(body.arguments, view.operands))
      return violation(view, 2,
                       fmt::format("body takes {}, operands are {}", types_string(body.arguments),
                                   types_string(view.operands)));
    if (!all_compatible(body.results, view.operands))
      return violation(view, 2,
                       fmt::format("body returns {}, operands are {}", types_string(body.results),
                                   types_string(view.operands)));
  }
  return operand_types(view);
}

Result<Types> infer_tuple(const OpView& view) {
  return Types{Type::tuple(Types(view.operands.begin(), view.operands.end()))};
}

Result<Types> infer_get_tuple_element(const OpView& view) {
  const Type& operand = view.operands[0];
  int64_t index = std::get<DimAttributes>(view.attributes).dim;
  if (operand.kind != Type::Kind::tuple || index < 0 ||
      static_cast<size_t>(index) >= operand.elements.size())
    return violation(view, 1, fmt::format("element {} of {}", index, to_string(operand)));
  return Types{operand.elements[static_cast<size_t>(index)]};
}

Types types_of(std::span<Value* const> values) {
  Types out;
  for (const Value* value : values) out.push_back(value->type);
  return out;
}

// The callee exists and its signature is that of the operands and results.
Status verify_callee(const Op& op, const Module& module, const std::string& name, bool composite) {
  std::string_view mnemonic = op.mnemonic();
  const Function* callee = module.find(name);
  if (!callee)
    return error(
        fmt::format("{}{}: there is no function @{}", mnemonic, composite ? " (C2)" : "", name));
  Types takes = types_of(callee->body().arguments()), operands = types_of(op.operands());
  if (!all_compatible(takes, operands))
    return error(fmt::format("{}{}: @{} takes {}, operands are {}", mnemonic,
                             composite ? " (C3)" : "", name, types_string(takes),
                             types_string(operands)));
  Types results = types_of(op.results());
  if (!all_compatible(callee->result_types, results))
    return error(fmt::format("{}{}: @{} returns {}, results are {}", mnemonic,
                             composite ? " (C4)" : "", name, types_string(callee->result_types),
                             types_string(results)));
  return Ok{};
}

Status verify_call(const Op& op, const Module& module) {
  return verify_callee(op, module, op.as<CallAttributes>().callee, false);
}

Status verify_composite(const Op& op, const Module& module) {
  return verify_callee(op, module, op.as<CompositeAttributes>().decomposition, true);
}

Status verify_custom_call(const Op& op, const Module& module) {
  for (const std::string& name : op.as<CustomCallAttributes>().called_computations)
    if (!module.find(name))
      return error(fmt::format("stablehlo.custom_call: there is no function @{}", name));
  for (const OutputOperandAlias& alias : op.as<CustomCallAttributes>().output_operand_aliases)
    if (alias.operand_index < 0 || static_cast<size_t>(alias.operand_index) >= op.num_operands())
      return error(fmt::format("stablehlo.custom_call: output_operand_alias names operand {} of {}",
                               alias.operand_index, op.num_operands()));
  return Ok{};
}

}  // namespace

void add_control_rules(RuleTable& table) {
  row(table, OpKind::after_all) = {infer_token, 0, 0, ""};
  row(table, OpKind::create_token) = {infer_token, 0, 0, ""};
  row(table, OpKind::call) = {declared_types, attribute_index<CallAttributes>(), 0, "",
                              verify_call};
  row(table, OpKind::composite) = {declared_types, attribute_index<CompositeAttributes>(), -1, "",
                                   verify_composite};
  row(table, OpKind::custom_call) = {declared_types, attribute_index<CustomCallAttributes>(), 0, "",
                                     verify_custom_call};
  row(table, OpKind::case_) = {infer_branches, 0, -1, "(C4)"};
  row(table, OpKind::if_) = {infer_branches, 0, 2, "(C3)"};
  row(table, OpKind::while_) = {infer_while, 0, 2, "(C3)"};
  row(table, OpKind::func_return) = {no_types, 0, 0, ""};
  row(table, OpKind::return_) = {no_types, 0, 0, ""};
  row(table, OpKind::tuple) = {infer_tuple, 0, 0, "(C1)"};
  row(table, OpKind::get_tuple_element) = {infer_get_tuple_element,
                                           attribute_index<DimAttributes>(), 0, "(C2)"};
  row(table, OpKind::optimization_barrier) = {operand_types, 0, 0, "(C1)"};
}

}  // namespace ullage::ops
