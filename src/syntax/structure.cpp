#include "syntax/structure.h"

#include <fmt/format.h>

#include <unordered_map>

namespace ullage::syntax {

std::string counted(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string wrong_operand_count(OpKind kind, size_t count) {
  const OpInfo& op = info(kind);
  if (op.operands < 0 || count == static_cast<size_t>(op.operands)) return {};
  return fmt::format("{} takes {}, not {}", op.mnemonic,
                     counted(static_cast<size_t>(op.operands), "operand"), count);
}

std::string wrong_result_count(OpKind kind, size_t count) {
  const OpInfo& op = info(kind);
  if (op.results < 0 || count == static_cast<size_t>(op.results)) return {};
  return fmt::format("{} has {}, not {}", op.mnemonic,
                     counted(static_cast<size_t>(op.results), "result"), count);
}

static size_t required_regions(OpKind kind) {
  switch (kind) {
    case OpKind::all_reduce:
    case OpKind::map:
    case OpKind::reduce:
    case OpKind::reduce_scatter:
    case OpKind::reduce_window:
    case OpKind::scatter:
    case OpKind::sdy_manual_computation:
    case OpKind::sort:
      return 1;
    case OpKind::if_:
    case OpKind::select_and_scatter:
    case OpKind::while_:
      return 2;
    default:
      return 0;
  }
}

std::string wrong_region_count(OpKind kind, size_t count) {
  const bool any = kind == OpKind::case_;
  if (any ? count > 0 : count == required_regions(kind)) return {};
  return fmt::format("{} takes {}, not {}", info(kind).mnemonic,
                     any ? "at least one region" : counted(required_regions(kind), "region"),
                     count);
}

OpKind terminator_of(OpKind parent) {
  return parent == OpKind::sdy_manual_computation ? OpKind::sdy_return : OpKind::return_;
}

static std::string disagreement(const Op& call, const Function& callee) {
  std::string_view name = callee.name;
  std::span<Value* const> arguments = callee.body().arguments();
  const std::vector<Type>& results = callee.result_types;
  if (call.num_operands() != arguments.size())
    return fmt::format("@{} takes {}, not {}", name, counted(arguments.size(), "argument"),
                       call.num_operands());
  if (call.num_results() != results.size())
    return fmt::format("@{} has {}, not {}", name, counted(results.size(), "result"),
                       call.num_results());
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!(call.operand(i)->type == arguments[i]->type))
      return fmt::format("argument {} of @{} is {}, not {}", i, name, to_string(arguments[i]->type),
                         to_string(call.operand(i)->type));
  for (size_t i = 0; i < results.size(); ++i)
    if (!(call.result(i)->type == results[i]))
      return fmt::format("result {} of @{} is {}, not {}", i, name, to_string(results[i]),
                         to_string(call.result(i)->type));
  return {};
}

std::optional<WrongCall> find_wrong_call(const Module& module, std::span<Op* const> calls) {
  std::unordered_map<std::string_view, const Function*> functions;
  for (const auto& function : module.functions) functions[function->name] = function.get();
  for (size_t i = 0; i < calls.size(); ++i) {
    const Op& op = *calls[i];
    std::vector<std::string_view> names;
    if (op.kind == OpKind::call)
      names.push_back(op.as<CallAttributes>().callee);
    else if (op.kind == OpKind::composite)
      names.push_back(op.as<CompositeAttributes>().decomposition);
    else
      for (const std::string& name : op.as<CustomCallAttributes>().called_computations)
        names.push_back(name);
    for (std::string_view name : names) {
      auto found = functions.find(name);
      if (found == functions.end())
        return WrongCall{i, fmt::format("there is no function @{}", name), nullptr};
      if (op.kind == OpKind::custom_call) continue;  // says nothing of signatures
      std::string message = disagreement(op, *found->second);
      if (!message.empty()) return WrongCall{i, std::move(message), found->second};
    }
  }
  return {};
}

std::string wrong_returned_values(const Function& function) {
  const Op* op = function.body().terminator();
  const std::vector<Type>& types = function.result_types;
  if (op->num_operands() != types.size())
    return fmt::format("the function @{} returns {}, but its signature has {}", function.name,
                       counted(op->num_operands(), "value"), types.size());
  for (size_t i = 0; i < types.size(); ++i)
    if (!(op->operand(i)->type == types[i]))
      return fmt::format("result {} of the function @{} is {} in its signature, but {} is returned",
                         i, function.name, to_string(types[i]), to_string(op->operand(i)->type));
  return {};
}

}  // namespace ullage::syntax
