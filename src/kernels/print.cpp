// Text form of kernel graphs, for dumps and tests.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/kernel_graph.h"

namespace ullage {

namespace {

std::string access_string(const Access& access) {
  std::string out;
  for (size_t d = 0; d < access.affine.coefficients.size(); ++d)
    if (int64_t c = access.affine.coefficients[d]) {
      if (!out.empty()) out += " + ";
      out += c == 1 ? fmt::format("i{}", d) : fmt::format("{}*i{}", c, d);
    }
  for (const Access::Dynamic& term : access.dynamic)
    out += fmt::format("{}{}*%{}", out.empty() ? "" : " + ", term.stride, term.node);
  if (access.affine.constant != 0 || out.empty())
    out += fmt::format("{}{}", out.empty() ? "" : " + ", access.affine.constant);
  return out;
}

std::string node_string(const ExprNode& node) {
  switch (node.kind) {
    case ExprNode::Kind::load:
      return fmt::format("in{}[{}]{}", node.input, access_string(node.access),
                         node.guard < 0 ? "" : fmt::format(" if %{}", node.guard));
    case ExprNode::Kind::constant:
      return fmt::format("0x{:x}", node.bits[0]);
    case ExprNode::Kind::index:
      return fmt::format("index({})", access_string(node.access));
    case ExprNode::Kind::in_range:
      return fmt::format("{} <= {} < {}", node.lower, access_string(node.access), node.upper);
    case ExprNode::Kind::accumulator:
      return "accumulator";
    case ExprNode::Kind::parameter:
      return fmt::format("parameter {}", node.input);
    case ExprNode::Kind::op:
      break;
  }
  std::string out(info(node.op).name);
  for (int32_t operand : node.operands)
    if (operand >= 0) out += fmt::format(" %{}", operand);
  return out;
}

std::string expr_string(const Expr& expr, const char* indent) {
  std::string out;
  for (size_t i = 0; i < expr.nodes.size(); ++i)
    out += fmt::format("{}%{} = {} : {}\n", indent, i, node_string(expr.nodes[i]),
                       name(expr.nodes[i].dtype));
  return out;
}

std::string stores(const std::vector<KernelOutput>& outputs) {
  std::string out;
  for (size_t o = 0; o < outputs.size(); ++o)
    out +=
        fmt::format("    out{}[{}] = %{}\n", o, access_string(outputs[o].store), outputs[o].node);
  return out;
}

std::string graph_string(const KernelGraph& graph, const std::string& indent) {
  std::string out;
  for (size_t k = 0; k < graph.kernels.size(); ++k) {
    const Kernel& kernel = graph.kernels[k];
    std::string results;
    for (ValueId id : kernel.outputs)
      results += fmt::format("{}v{}: {}", results.empty() ? "" : ", ", id,
                             to_string(graph.values[static_cast<size_t>(id)].type));
    out += fmt::format("{}k{} {}(v{}) -> {}", indent, k, kernel.name,
                       fmt::join(kernel.inputs, ", v"), results);
    for (const Kernel::InPlace& pair : kernel.in_place)
      out += fmt::format(" [out{} {} in{}]", pair.output, pair.required ? "in" : "may be in",
                         pair.input);
    out += "\n";
    if (const LoopKernel* loop = kernel.get<LoopKernel>()) {
      out += fmt::format("    for [{}]", fmt::join(loop->extents, ", "));
      for (size_t d = 0; d < loop->roles.size(); ++d)
        if (loop->roles[d] == LoopRole::reduced) out += fmt::format(" reduce i{}", d);
      out += "\n" + expr_string(loop->expr, "    ") + stores(loop->outputs);
    } else if (const DotKernel* dot = kernel.get<DotKernel>()) {
      out += fmt::format("    batch [{}] m [{}] n [{}] k [{}]\n", fmt::join(dot->batch, ", "),
                         fmt::join(dot->m, ", "), fmt::join(dot->n, ", "), fmt::join(dot->k, ", "));
      out += "    lhs\n" + expr_string(dot->lhs, "      ") + "    rhs\n" +
             expr_string(dot->rhs, "      ") + "    epilogue\n" +
             expr_string(dot->epilogue, "      ") + stores(dot->outputs);
    } else if (const ScanKernel* scan = kernel.get<ScanKernel>()) {
      out += fmt::format("    scan [{}]\n", fmt::join(scan->extents, ", ")) +
             expr_string(scan->expr, "    ") + stores(scan->outputs);
    } else if (const ScatterKernel* scatter = kernel.get<ScatterKernel>()) {
      out += fmt::format("    for updates [{}]", fmt::join(scatter->extents, ", "));
      for (size_t d = 0; d < scatter->dims.size(); ++d)
        if (scatter->dims[d] == ScatterKernel::Dim::parallel)
          out += fmt::format(" parallel i{}", d);
      if (scatter->in_range >= 0) out += fmt::format(" if %{}", scatter->in_range);
      out += "\n" + expr_string(scatter->expr, "    ") + stores(scatter->outputs) + "    body\n" +
             expr_string(scatter->body, "      ");
    } else if (const WhileKernel* loop = kernel.get<WhileKernel>()) {
      out += fmt::format("{}  carried {} trips {}\n", indent, loop->carried,
                         loop->trip_count ? std::to_string(*loop->trip_count) : "?");
      if (loop->condition) out += graph_string(*loop->condition, indent + "  ? ");
      out += graph_string(*loop->body, indent + "  | ");
    } else if (const CaseKernel* branches = kernel.get<CaseKernel>()) {
      for (const auto& branch : branches->branches) out += graph_string(*branch, indent + "  - ");
    }
  }
  out += fmt::format("{}return v{}\n", indent, fmt::join(graph.outputs, ", v"));
  return out;
}

}  // namespace

std::string to_string(const KernelGraph& graph) {
  return graph_string(graph, "");
}

}  // namespace ullage
