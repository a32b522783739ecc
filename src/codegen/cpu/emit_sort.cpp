// The merge of two runs of positions by a comparator that is compiled into it.
#include "codegen/cpu/emit_expr.h"
#include "codegen/cpu/emit_kernels.h"

namespace ullage::cpu {

using llvm::Value;

void emit_merge(llvm::Module& module, const Host& host, const std::string& name,
                const MergeCode& code) {
  Emit e(module, host);
  llvm::Type* pointer = e.b.getPtrTy();
  llvm::Type* i64 = e.b.getInt64Ty();
  llvm::Type* i32 = e.b.getInt32Ty();
  e.function = llvm::Function::Create(
      llvm::FunctionType::get(e.b.getVoidTy(), {pointer, i64, i64, pointer, pointer, i64, i64, i64},
                              false),
      llvm::Function::ExternalLinkage, name, module);
  e.b.SetInsertPoint(llvm::BasicBlock::Create(e.context, "entry", e.function));
  Value *base = e.function->getArg(1), *stride = e.function->getArg(2);
  Value *from = e.function->getArg(3), *to = e.function->getArg(4);
  Value *begin = e.function->getArg(5), *middle = e.function->getArg(6),
        *end = e.function->getArg(7);
  std::vector<Value*> buffers;
  for (size_t i = 0; i < code.operands.size(); ++i)
    buffers.push_back(
        e.b.CreateLoad(pointer, e.b.CreateConstGEP1_64(pointer, e.function->getArg(0), i)));
  // A part (0, or 1 for the imaginary one) of an element.
  auto element = [&](size_t operand, Value* position, int part) {
    Value* offset = e.b.CreateAdd(base, e.b.CreateMul(e.b.CreateZExt(position, i64), stride));
    DType dtype = real_part(code.operands[operand]);
    if (is_complex(code.operands[operand]))
      offset = e.b.CreateAdd(e.b.CreateMul(offset, e.i64(2)), e.i64(part));
    llvm::Type* type = e.memory_type(dtype);
    return from_memory(
        e,
        e.b.CreateAlignedLoad(type, e.b.CreateGEP(type, buffers[operand], offset),
                              llvm::Align(static_cast<uint64_t>(storage_bytes(dtype)))),
        dtype);
  };
  auto minimum = [&](Value* a, Value* b) {
    return e.b.CreateSelect(e.b.CreateICmpSLT(a, b), a, b);
  };
  Value* last = e.b.CreateSub(end, e.i64(1));
  Value* before_middle = e.b.CreateSub(middle, e.i64(1));
  e.loop_carrying(begin, end, 1, {begin, middle}, [&](Value* at, std::vector<Value*> next) {
    // Positions at the heads of the runs; of an empty run, the last one that was there.
    Value* left = e.b.CreateLoad(i32, e.b.CreateGEP(i32, from, minimum(next[0], before_middle)));
    Value* right = e.b.CreateLoad(i32, e.b.CreateGEP(i32, from, minimum(next[1], last)));
    ExprEmitter comparator(e, code.body, {code.result}, nullptr, {}, false);
    for (size_t i = 0; i < code.operands.size(); ++i) {
      int parts = is_complex(code.operands[i]) ? 2 : 1;
      for (Value* position : {right, left})
        for (int part = 0; part < parts; ++part)
          comparator.parameters.push_back({element(i, position, part)});
    }
    comparator.scalars(0);
    Value* less = comparator.value(code.result, 0);
    Value* take_right = e.b.CreateAnd(e.b.CreateICmpSLT(next[1], end),
                                      e.b.CreateOr(e.b.CreateICmpEQ(next[0], middle), less));
    e.b.CreateStore(e.b.CreateSelect(take_right, right, left), e.b.CreateGEP(i32, to, at));
    Value* step = e.b.CreateZExt(take_right, i64);
    return std::vector<Value*>{e.b.CreateAdd(next[0], e.b.CreateSub(e.i64(1), step)),
                               e.b.CreateAdd(next[1], step)};
  });
  e.b.CreateRetVoid();
}

}  // namespace ullage::cpu
