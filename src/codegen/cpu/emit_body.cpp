// Bodies of reductions and scatters: expressions of parameters alone.
#include "codegen/cpu/emit_expr.h"
#include "support/check.h"

namespace ullage::cpu {

using llvm::Value;

std::vector<Value*> emit_body(Emit& e, const Expr& body, const std::vector<int32_t>& results,
                              const std::vector<Value*>& parameters) {
  bool vector = false;
  for (Value* parameter : parameters) vector |= parameter && parameter->getType()->isVectorTy();
  auto shaped = [&](Value* value) {
    return vector && !value->getType()->isVectorTy() ? e.splat(value) : value;
  };
  std::vector<bool> needed = needed_nodes(body, results);
  std::vector<Value*> values(body.nodes.size(), nullptr);
  for (size_t i = 0; i < body.nodes.size(); ++i) {
    const ExprNode& node = body.nodes[i];
    if (!needed[i]) continue;
    if (node.kind == ExprNode::Kind::parameter) {
      values[i] = shaped(parameters[static_cast<size_t>(node.input)]);
    } else if (node.kind == ExprNode::Kind::constant) {
      values[i] = shaped(emit_constant(e, node));
    } else {
      ULLAGE_CHECK(node.kind == ExprNode::Kind::op, "a combiner body reads only its parameters");
      std::vector<Value*> operands;
      for (int32_t operand : node.operands)
        if (operand >= 0) operands.push_back(values[static_cast<size_t>(operand)]);
      int32_t typed = node.op == OpKind::select ? node.operands[1] : node.operands[0];
      values[i] = emit_operation(e, node, body.nodes[static_cast<size_t>(typed)].dtype, operands);
    }
  }
  std::vector<Value*> out;
  for (int32_t result : results) out.push_back(values[static_cast<size_t>(result)]);
  return out;
}

}  // namespace ullage::cpu
