// Builds the expression of one kernel by walking back from a value: elementwise operations become
// nodes, indexing operations change the index at which their operand is evaluated, calls to
// pointwise functions are expanded, stored values are loaded.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/ir.h"
#include "kernels/expr.h"
#include "kernels/kernel_graph.h"

namespace ullage {

// Index of one dimension of a value: affine in the loop indices, plus nodes times coefficients.
using Index = Access;
using IndexVector = std::vector<Index>;

// What the builder asks of its surroundings.
struct ExprContext {
  const Module* module = nullptr;
  // Input number of the kernel for a stored value, or nothing if the value is to be computed.
  // Stored values are dense and row-major in the type of the asking value.
  std::function<std::optional<int32_t>(Value*)> stored_input;
  // Parameter number of a region argument, in combiner bodies; may be empty.
  std::function<std::optional<int32_t>(Value*)> parameter;
  // The value that stands for a product's accumulator, or null.
  Value* accumulator = nullptr;
  DType accumulator_dtype = DType::f32;
};

class ExprBuilder {
 public:
  // `rank` is the number of loop dimensions of `expr`; their extents help where they are known.
  ExprBuilder(Expr& expr, ExprContext context, size_t rank, std::vector<int64_t> extents = {});

  // Node with the value's element at `index` (one entry per dimension of the value). Nothing when
  // some operation on the way cannot be expressed; `failure()` then names it.
  // Where the i1 node `guard` is false nothing is read.
  // Of a complex value this is its real (0) or imaginary (1) part.
  std::optional<int32_t> evaluate(Value* value, const IndexVector& index, int32_t guard = -1,
                                  int32_t part = 0);
  // Nodes of all parts of an element; empty when it cannot be expressed.
  std::vector<int32_t> evaluate_parts(Value* value, const IndexVector& index, int32_t guard = -1);
  Op* failure() const { return failure_; }

  // A loop dimension whose index was divided at run time: as two loops, of which the inner one goes
  // `step` steps, it would not have to be.
  struct Division {
    size_t dimension = 0;
    int64_t step = 1;
  };
  const std::vector<Division>& divisions() const { return divisions_; }

  Index constant_index(int64_t value) const;
  Index loop_index(size_t dimension) const;
  // Address of an element of a dense row-major buffer of this shape.
  Access address(const std::vector<int64_t>& shape, const IndexVector& index) const;
  // A scalar integer value as an i64 node, clamped to [0, upper].
  std::optional<int32_t> clamped_start(Value* scalar, int64_t upper);
  // An integer element as an i64 node.
  std::optional<int32_t> wide_integer(Value* value, const IndexVector& index);
  // i1 nodes: lower <= index < upper; both conditions, where -1 stands for true.
  int32_t range_node(const Index& index, int64_t lower, int64_t upper);
  int32_t both(int32_t guard, int32_t condition);
  int32_t op_node(OpKind op, DType dtype, std::initializer_list<int32_t> operands);
  int32_t index_node(const Index& index, DType dtype);
  // index / step; `inside` becomes false where that leaves a remainder.
  Index divided(const Index& index, int64_t step, int32_t& inside);
  Index add(const Index& a, const Index& b) const;
  Index scaled(const Index& a, int64_t factor) const;

 private:
  struct Frame;  // one pointwise call being expanded

  std::optional<int32_t> eval(Value* value, const IndexVector& index, int32_t guard, int32_t frame);
  std::optional<int32_t> eval_op(Op* op, Value* value, const IndexVector& index, int32_t guard,
                                 int32_t frame);
  std::optional<int32_t> eval_elementwise(Op* op, const IndexVector& index, int32_t guard,
                                          int32_t frame);
  std::optional<int32_t> eval_complex(Op* op, const IndexVector& index, int32_t guard,
                                      int32_t frame);
  std::optional<int32_t> eval_concatenate(Op* op, const IndexVector& index, int32_t guard,
                                          int32_t frame);
  std::optional<int32_t> eval_pad(Op* op, const IndexVector& index, int32_t guard, int32_t frame);
  std::optional<int32_t> eval_dynamic_slice(Op* op, const IndexVector& index, int32_t guard,
                                            int32_t frame);
  std::optional<int32_t> eval_update(Op* op, const IndexVector& index, int32_t guard,
                                     int32_t frame);
  std::optional<int32_t> eval_gather(Op* op, const IndexVector& index, int32_t guard,
                                     int32_t frame);
  std::optional<int32_t> eval_reshape(Op* op, const IndexVector& index, int32_t guard,
                                      int32_t frame);
  // The same where the extent of a loop tells which one of its iterations leaves no remainder.
  std::optional<Index> divided_by_extent(const Index& index, int64_t step, int32_t& inside);
  std::optional<int32_t> fail(Op* op);

  std::optional<int32_t> start_node(Value* scalar, const IndexVector& index, int64_t upper,
                                    int32_t guard, int32_t frame);
  int32_t constant_node(DType dtype, const std::byte* element);
  int32_t integer(DType dtype, int64_t value);

  Expr& expr_;
  ExprContext context_;
  size_t rank_;
  std::vector<int64_t> extents_;
  std::vector<Division> divisions_;
  Op* failure_ = nullptr;
  int32_t part_ = 0;  // of complex values, the part being evaluated

  struct Frame {
    Op* call;
    int32_t parent;
  };
  std::vector<Frame> frames_;
  std::map<std::pair<Op*, int32_t>, int32_t> frame_numbers_;

  struct Key {
    Value* value;
    int32_t frame, guard, part;
    IndexVector index;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, int32_t, KeyHash> memo_;
};

// Nodes of an element: one, or two for complex numbers.
inline int32_t parts(DType dtype) {
  return is_complex(dtype) ? 2 : 1;
}

// Appends the outputs that store an element of result `result` at `store`: one, or one for each
// part.
void add_output(std::vector<KernelOutput>& outputs, DType dtype, int32_t result,
                const std::vector<int32_t>& nodes, const Access& store);

// Operations whose result an expression can compute in place of a load.
bool is_fusible(const Module& module, const Op& op);

}  // namespace ullage
