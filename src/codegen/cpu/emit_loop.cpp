// Loop kernels without reduction: loops over a box, the vector dimension innermost, with a masked
// remainder.
#include "codegen/cpu/emit_expr.h"
#include "codegen/cpu/emit_kernels.h"

namespace ullage::cpu {

using llvm::Value;

void emit_loop(llvm::Module& module, const Host& host, const std::string& name,
               const LoopNest& nest, int first_output) {
  Emit e(module, host);
  llvm::Type* pointer = e.b.getPtrTy();
  e.function = llvm::Function::Create(
      llvm::FunctionType::get(e.b.getVoidTy(), {pointer, pointer, pointer}, false),
      llvm::Function::ExternalLinkage, name, module);
  e.b.SetInsertPoint(llvm::BasicBlock::Create(e.context, "entry", e.function));

  std::vector<int32_t> roots;
  for (const KernelOutput& output : nest.outputs) roots.push_back(output.node);
  ExprEmitter values(e, nest.expr, roots, &nest.outputs,
                     {nest.order, nest.vector_dim, nest.vector_dim}, nest.small_index);
  values.bind(e.function->getArg(0), first_output);
  auto bound = [&](unsigned argument, int dim) -> Value* {
    Value* slot = e.b.CreateConstInBoundsGEP1_64(e.b.getInt64Ty(), e.function->getArg(argument),
                                                 static_cast<uint64_t>(dim));
    return e.b.CreateLoad(e.b.getInt64Ty(), slot);
  };
  std::vector<Value*> lower, upper;
  for (int d = 0; d < static_cast<int>(nest.extents.size()); ++d) {
    lower.push_back(bound(1, d));
    upper.push_back(bound(2, d));
  }

  auto store_all = [&](int unroll) {
    for (int u = 0; u < unroll; ++u)
      for (size_t k = 0; k < nest.outputs.size(); ++k) {
        int32_t node = nest.outputs[k].node;
        values.store(static_cast<int>(k), values.value(node, u),
                     nest.expr.nodes[static_cast<size_t>(node)].dtype, u);
      }
  };

  std::function<void(size_t)> nested = [&](size_t depth) {
    values.scalars(static_cast<int>(depth));
    if (depth < nest.order.size()) {
      size_t dim = static_cast<size_t>(nest.order[depth]);
      e.loop(lower[dim], upper[dim], 1, [&](Value* i) {
        values.index[dim] = i;
        nested(depth + 1);
      });
      return;
    }
    if (nest.vector_dim < 0) {
      store_all(1);
      return;
    }
    size_t dim = static_cast<size_t>(nest.vector_dim);
    std::vector<bool> needed = needed_nodes(nest.expr, roots);
    int unroll = choose_unroll(nest.expr, needed, host, uint64_t{1} << dim);
    int64_t step = static_cast<int64_t>(kLanes) * unroll;
    Value* count = e.b.CreateSub(upper[dim], lower[dim]);
    Value* whole = e.b.CreateAnd(count, e.i64(-step));
    Value* split = e.b.CreateAdd(lower[dim], whole);
    e.loop(lower[dim], split, step, [&](Value* i) {
      values.index[dim] = i;
      values.block(unroll, kLanes, nullptr);
      store_all(unroll);
    });
    Value* lanes = e.lane_numbers(e.b.getInt32Ty());
    e.loop(split, upper[dim], kLanes, [&](Value* i) {
      values.index[dim] = i;
      Value* rest = e.b.CreateTrunc(e.b.CreateSub(upper[dim], i), e.b.getInt32Ty());
      values.block(1, kLanes, e.b.CreateICmpSGT(e.splat(rest), lanes));
      store_all(1);
    });
  };
  nested(0);
  e.b.CreateRetVoid();
}

}  // namespace ullage::cpu
