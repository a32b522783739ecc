#include "codegen/cpu/emit.h"

#include "codegen/cpu/runtime_numbers.h"
#include "support/check.h"

namespace ullage::cpu {

using llvm::Type;
using llvm::Value;

Type* Emit::held_type(DType dtype) {
  if (is_small_float(dtype)) return b.getFloatTy();
  switch (dtype) {
    case DType::i1:
      return b.getInt1Ty();
    case DType::bf16:
    case DType::f16:
    case DType::f32:
      return b.getFloatTy();
    case DType::f64:
      return b.getDoubleTy();
    default:
      return b.getIntNTy(static_cast<unsigned>(8 * storage_bytes(dtype)));
  }
}

Type* Emit::memory_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return b.getFloatTy();
    case DType::f64:
      return b.getDoubleTy();
    default:
      return b.getIntNTy(static_cast<unsigned>(8 * storage_bytes(dtype)));
  }
}

llvm::Constant* Emit::lane_numbers(Type* integer_type, int64_t stride) {
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes; ++i)
    numbers.push_back(
        llvm::ConstantInt::get(integer_type, static_cast<uint64_t>(i * stride), true, true));
  return llvm::ConstantVector::get(numbers);
}

Value* Emit::intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<Value*> operands) {
  return b.CreateIntrinsic(id, {operands[0]->getType()}, operands);
}

Value* Emit::fma(Value* x, Value* y, Value* z) {
  if (!host.fma) return b.CreateFAdd(b.CreateFMul(x, y), z);
  return intrinsic(llvm::Intrinsic::fma, {x, y, z});
}

Value* Emit::bits_of(Value* real) {
  unsigned bits = real->getType()->getScalarSizeInBits();
  return b.CreateBitCast(real, like(real, b.getIntNTy(bits)));
}

Value* Emit::as_real(Value* integer, Type* element) {
  return b.CreateBitCast(integer, like(integer, element));
}

Value* Emit::polynomial(Value* x, std::initializer_list<double> coefficients) {
  const double* at = coefficients.end();
  Value* sum = real(x, *--at);
  while (at != coefficients.begin()) sum = fma(sum, x, real(x, *--at));
  return sum;
}

Value* Emit::call_per_lane(const std::string& name, llvm::ArrayRef<Value*> operands) {
  Type* element = operands[0]->getType()->getScalarType();
  std::vector<Type*> parameters(operands.size(), element);
  llvm::FunctionCallee callee =
      module.getOrInsertFunction(name, llvm::FunctionType::get(element, parameters, false));
  if (!operands[0]->getType()->isVectorTy()) return b.CreateCall(callee, operands);
  Value* result = llvm::PoisonValue::get(operands[0]->getType());
  for (uint64_t lane = 0; lane < static_cast<uint64_t>(lanes); ++lane) {
    std::vector<Value*> arguments;
    for (Value* operand : operands) arguments.push_back(b.CreateExtractElement(operand, lane));
    result = b.CreateInsertElement(result, b.CreateCall(callee, arguments), lane);
  }
  return result;
}

Value* Emit::zeros() {
  if (llvm::GlobalVariable* found = module.getNamedGlobal("zeros")) return found;
  llvm::ArrayType* type = llvm::ArrayType::get(b.getInt64Ty(), 256);
  auto* global =
      new llvm::GlobalVariable(module, type, /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
                               llvm::ConstantAggregateZero::get(type), "zeros");
  global->setAlignment(llvm::Align(64));
  return global;
}

llvm::Constant* emit_constant(Emit& e, const ExprNode& node) {
  uint64_t bits = node.bits[0];
  switch (node.dtype) {
    case DType::i1:
      return e.b.getInt1((bits & 0xff) != 0);
    case DType::f32:
      return llvm::ConstantFP::get(e.context, llvm::APFloat(llvm::APFloat::IEEEsingle(),
                                                            llvm::APInt(32, bits & 0xffffffff)));
    case DType::f64:
      return llvm::ConstantFP::get(
          e.context, llvm::APFloat(llvm::APFloat::IEEEdouble(), llvm::APInt(64, bits)));
    case DType::bf16:
      return llvm::ConstantFP::get(
          e.context,
          llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, (bits & 0xffff) << 16)));
    case DType::f16: {
      llvm::APFloat value(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits & 0xffff));
      bool loses = false;
      value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
      return llvm::ConstantFP::get(e.context, value);
    }
    default: {
      if (is_small_float(node.dtype))  // folded by the builder
        return llvm::cast<llvm::Constant>(
            decode_small_float(e, e.b.getInt8(static_cast<uint8_t>(bits)), node.dtype));
      Type* type = e.held_type(node.dtype);
      unsigned width = type->getIntegerBitWidth();
      return llvm::ConstantInt::get(type, llvm::APInt(64, bits).trunc(width));
    }
  }
}

llvm::Value* Emit::number(int64_t value) {
  if (!is_number(value)) return i64(value);
  llvm::Value*& loaded = loaded_numbers_[value];
  if (!loaded) {
    llvm::BasicBlock& entry = function->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    uint64_t at = static_cast<uint64_t>(value - kFirstNumber);
    loaded = at_entry.CreateLoad(b.getInt64Ty(),
                                 at_entry.CreateConstInBoundsGEP1_64(b.getInt64Ty(), numbers, at));
  }
  return loaded;
}

llvm::Value* Emit::constant(int32_t at, DType dtype) {
  llvm::Type* type = memory_type(dtype);
  llvm::Type* bits = b.getIntNTy(static_cast<unsigned>(type->getPrimitiveSizeInBits()));
  llvm::Value* value = b.CreateTrunc(number(kFirstNumber + at), bits);
  if (type != bits) value = as_real(value, type);
  return from_memory(*this, value, dtype);
}

llvm::Value* Emit::bound(unsigned argument, int dim) {
  llvm::Value* slot = b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), function->getArg(argument),
                                                   static_cast<uint64_t>(dim));
  return b.CreateLoad(b.getInt64Ty(), slot);
}

llvm::Value* Emit::stack(DType dtype, int64_t elements) {
  llvm::BasicBlock& entry = function->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::AllocaInst* slot = at_entry.CreateAlloca(
      llvm::ArrayType::get(memory_type(dtype), static_cast<uint64_t>(elements)));
  slot->setAlignment(llvm::Align(64));
  return slot;
}

}  // namespace ullage::cpu
