// Building one LLVM function: the pieces that all emitters share. A value of the expression is
// either a scalar or a vector of `lanes` elements, and every function here accepts both: types
// follow the operands. How dtypes are held: i1 as i1; i2, i4, ui2, ui4 as i8 that holds the value,
// extended by its sign; floats below 32 bits as f32 that holds a value of theirs; everything else
// as itself. Only codegen/cpu/emit_*.cpp include this header.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <string>
#include <vector>

#include "codegen/cpu/host.h"
#include "codegen/cpu/loop_nest.h"
#include "kernels/expr.h"

// The namespace apart keeps LLVM's Value and Type from the IR's.
namespace ullage::cpu {

class Emit {
 public:
  Emit(llvm::Module& module, const Host& host)
      : module(module), context(module.getContext()), host(host), b(context) {}

  llvm::Module& module;
  llvm::LLVMContext& context;
  const Host& host;
  llvm::IRBuilder<> b;
  llvm::Function* function = nullptr;
  llvm::Argument* numbers = nullptr;  // of the function, where it has any (runtime_numbers.h)
  int lanes =
      kLanes;  // elements of a vector; products of several rows take 8 where vectors have 256 bits

  // Element types: as held in registers, and as stored in buffers.
  llvm::Type* held_type(DType dtype);
  llvm::Type* memory_type(DType dtype);
  llvm::VectorType* vector(llvm::Type* element) {
    return llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
  }
  llvm::Type* like(llvm::Value* shape, llvm::Type* element) {
    return shape->getType()->isVectorTy() ? vector(element) : element;
  }

  // Constants of the type of `shape`.
  llvm::Constant* real(llvm::Value* shape, double value) {
    return llvm::ConstantFP::get(shape->getType(), value);
  }
  llvm::Constant* integer(llvm::Value* shape, int64_t value) {
    return llvm::ConstantInt::get(shape->getType(), static_cast<uint64_t>(value), true);
  }
  llvm::Constant* i64(int64_t value) { return b.getInt64(static_cast<uint64_t>(value)); }
  // A value of a nest as i64: itself, or the number that it stands for.
  llvm::Value* number(int64_t value);
  // Number `at` of the function as an element, as held.
  llvm::Value* constant(int32_t at, DType dtype);
  // index * coefficient, of such a value.
  llvm::Value* scaled(llvm::Value* index, int64_t coefficient) {
    return coefficient == 1 ? index : b.CreateMul(index, number(coefficient));
  }

  // An i64 as what `index` is: an integer of its width, or a vector of them.
  llvm::Value* like_index(llvm::Value* index, llvm::Value* value) {
    value = b.CreateTrunc(value, index->getType()->getScalarType());
    return index->getType()->isVectorTy() ? splat(value) : value;
  }

  llvm::Value* splat(llvm::Value* scalar) {
    return b.CreateVectorSplat(static_cast<unsigned>(lanes), scalar);
  }
  // lane numbers * stride, as a constant vector of the integer type.
  llvm::Constant* lane_numbers(llvm::Type* integer_type, int64_t stride = 1);
  llvm::Value* intrinsic(llvm::Intrinsic::ID id,
                         llvm::ArrayRef<llvm::Value*> operands);  // overloaded on the first
  llvm::Value* fma(llvm::Value* x, llvm::Value* y,
                   llvm::Value* z);         // unfused where the host has none
  llvm::Value* bits_of(llvm::Value* real);  // bitcast to integers of the same width
  llvm::Value* as_real(llvm::Value* integer, llvm::Type* element);
  // Coefficients of increasing degree, by Horner's rule.
  llvm::Value* polynomial(llvm::Value* x, std::initializer_list<double> coefficients);
  // Calls scalar function `name` of the runtime for each lane.
  llvm::Value* call_per_lane(const std::string& name, llvm::ArrayRef<llvm::Value*> operands);

  // Entry `dim` of a box's corner, which is argument number `argument` of the function.
  llvm::Value* bound(unsigned argument, int dim);
  // Room for elements in the function's frame.
  llvm::Value* stack(DType dtype, int64_t elements);

  // A 2 KiB block of zeros that may be read in place of memory that must not be.
  llvm::Value* zeros();

  // for (i = from; i < to; i += step): calls body(i) with the insert point inside, and leaves it
  // behind the loop.
  template <typename Body>
  void loop(llvm::Value* from, llvm::Value* to, int64_t step, const Body& body);
  // The same with values carried from one iteration to the next: body(i, values) returns the next
  // ones.
  template <typename Body>
  std::vector<llvm::Value*> loop_carrying(llvm::Value* from, llvm::Value* to, int64_t step,
                                          std::vector<llvm::Value*> values, const Body& body);

 private:
  std::map<int64_t, llvm::Value*> loaded_numbers_;
};

// The operation of a node on its operands' held values. `operand_type` is the dtype of operand 0
// (of operand 1 for select).
llvm::Value* emit_operation(Emit& e, const ExprNode& node, DType operand_type,
                            llvm::ArrayRef<llvm::Value*> operands);
llvm::Value* emit_math(Emit& e, OpKind op, DType dtype, llvm::ArrayRef<llvm::Value*> operands);
llvm::Value* emit_convert(Emit& e, llvm::Value* value, DType from, DType to);
llvm::Value* emit_combine(Emit& e, OpKind combiner, DType dtype, llvm::Value* a, llvm::Value* b);

// As many vectors as lanes (8 or 16), transposed.
std::vector<llvm::Value*> transpose_lanes(Emit& e, std::vector<llvm::Value*> rows);

// Rounds an f32 value to a narrower float (still held as f32), wraps an integer of 2 or 4 bits;
// other types are left alone.
llvm::Value* emit_normalize(Emit& e, llvm::Value* value, DType dtype);
llvm::Value* from_memory(Emit& e, llvm::Value* stored, DType dtype);
llvm::Value* to_memory(Emit& e, llvm::Value* held, DType dtype);
llvm::Constant* emit_constant(Emit& e, const ExprNode& node);

// Floats of 4, 6 and 8 bits: between the stored byte and f32, rounding to nearest.
bool is_small_float(DType dtype);
bool has_negative_zero(DType dtype);  // of floats: else the code of -0 is a NaN
struct FloatLayout {
  int exponent_bits, mantissa_bits;
  bool ieee;  // with denormals, infinities and NaNs as IEEE 754 has them
};
FloatLayout float_layout(DType dtype);
llvm::Value* encode_small_float(Emit& e, llvm::Value* value, DType dtype);
llvm::Value* decode_small_float(Emit& e, llvm::Value* stored, DType dtype);

template <typename Body>
std::vector<llvm::Value*> Emit::loop_carrying(llvm::Value* from, llvm::Value* to, int64_t step,
                                              std::vector<llvm::Value*> values, const Body& body) {
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* head = llvm::BasicBlock::Create(context, "loop", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "after", function);
  b.CreateCondBr(b.CreateICmpSLT(from, to), head, after);
  b.SetInsertPoint(head);
  llvm::PHINode* index = b.CreatePHI(from->getType(), 2);
  index->addIncoming(from, before);
  std::vector<llvm::PHINode*> carried;
  for (llvm::Value* value : values) {
    carried.push_back(b.CreatePHI(value->getType(), 2));
    carried.back()->addIncoming(value, before);
  }
  std::vector<llvm::Value*> next = body(static_cast<llvm::Value*>(index),
                                        std::vector<llvm::Value*>(carried.begin(), carried.end()));
  llvm::BasicBlock* latch = b.GetInsertBlock();
  llvm::Value* next_index = b.CreateNSWAdd(index, number(step));
  index->addIncoming(next_index, latch);
  for (size_t i = 0; i < values.size(); ++i) carried[i]->addIncoming(next[i], latch);
  b.CreateCondBr(b.CreateICmpSLT(next_index, to), head, after);
  b.SetInsertPoint(after);
  for (size_t i = 0; i < values.size(); ++i) {
    llvm::PHINode* out = b.CreatePHI(values[i]->getType(), 2);
    out->addIncoming(values[i], before);
    out->addIncoming(next[i], latch);
    values[i] = out;
  }
  return values;
}

template <typename Body>
void Emit::loop(llvm::Value* from, llvm::Value* to, int64_t step, const Body& body) {
  loop_carrying(from, to, step, {}, [&](llvm::Value* index, const std::vector<llvm::Value*>&) {
    body(index);
    return std::vector<llvm::Value*>();
  });
}

}  // namespace ullage::cpu
