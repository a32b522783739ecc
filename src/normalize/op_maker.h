// Makes the operations that a rewrite puts in place of another: each before that one, in its
// region and with its location. For the passes of this room.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/ir.h"

namespace ullage {

class OpMaker {
 public:
  OpMaker(Function& function, Op* replaced) : function_(function), replaced_(replaced) {}

  Op* op(OpKind kind, std::span<Value* const> operands, std::span<const Type> results,
         Attributes attributes = {}, size_t num_regions = 0);
  Value* make(OpKind kind, std::initializer_list<Value*> operands, Type type,
              Attributes attributes = {});
  // An elementwise operation on values of the first operand's type.
  Value* same(OpKind kind, std::initializer_list<Value*> operands);

  // A number in every element, of any type; floats below f32 are converted from it.
  Value* splat(const Type& type, double value);
  Value* integer(const Type& type, int64_t value);
  // The values along a dimension, of type f32, f64, or an integer.
  Value* vector(DType dtype, std::span<const double> values);
  Value* convert(Value* value, DType dtype);
  // dims[i]: the dimension of the result that dimension i of the value becomes.
  Value* broadcast(Value* value, const std::vector<int64_t>& shape, const Dims& dims);
  Value* transpose(Value* value, const Dims& permutation);
  Value* reshape(Value* value, const std::vector<int64_t>& shape);
  Value* compare(CompareDirection direction, Value* a, Value* b);
  // The sum over some dimensions.
  Value* sum(Value* value, const Dims& dims);
  // A loop: `body` gets a maker of operations inside of it, the number of the trip (i32) and what
  // is carried, and returns what is carried next. The last of these are returned.
  using LoopBody = std::function<std::vector<Value*>(OpMaker& inside, Value* trip,
                                                     std::span<Value* const> values)>;
  std::vector<Value*> repeat(int64_t trips, std::vector<Value*> values, const LoopBody& body);

  // Hands the replaced operation's results over and erases it.
  void replace_with(std::span<Value* const> values);
  void replace_with(std::initializer_list<Value*> values) {
    replace_with(std::span<Value* const>(values.begin(), values.size()));
  }

  Function& function() { return function_; }

 private:
  Function& function_;
  Op* replaced_;
};

}  // namespace ullage
