// The operations with which a program checks itself.
#include <fmt/format.h>

#include "ops/rules.h"

namespace ullage::ops {

namespace {

Result<Types> infer_check(const OpView& view) {
  const auto& a = std::get<CheckAttributes>(view.attributes);
  for (const Type& operand : view.operands)
    if (!compatible(operand, view.operands[0]))
      return violation(view, 0,
                       fmt::format("operands must have the same type, found {} and {}",
                                   to_string(view.operands[0]), to_string(operand)));
  bool constant = view.kind == OpKind::check_expect_eq_const ||
                  view.kind == OpKind::check_expect_almost_eq_const;
  if (constant && !a.value) return violation(view, 0, "needs the expected value");
  if (constant && !compatible(a.value->type, view.operands[0]))
    return violation(view, 0,
                     fmt::format("compares {} with a constant {}", to_string(view.operands[0]),
                                 to_string(a.value->type)));
  return Types{};
}

}  // namespace

void add_check_rules(RuleTable& table) {
  for (OpKind kind : {OpKind::check_expect_almost_eq, OpKind::check_expect_almost_eq_const,
                      OpKind::check_expect_close, OpKind::check_expect_eq,
                      OpKind::check_expect_eq_const, OpKind::check_expect_serialized_eq})
    row(table, kind) = {infer_check, attribute_index<CheckAttributes>(), 0, ""};
}

}  // namespace ullage::ops
