// Builds the kernel graph of one region, operation by operation. The members are defined in
// build.cpp (the walk, loop nests, control flow), build_products.cpp and build_windows.cpp. Private
// to the room: others call build_kernels.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kernels/build.h"
#include "kernels/expr_builder.h"
#include "kernels/library.h"
#include "kernels/region_analysis.h"

namespace ullage {

class GraphBuilder {
 public:
  GraphBuilder(const Module& module, const Region& region, const Target& target)
      : module_(module), region_(region), target_(target) {}

  // `captured`: values of outer regions that become arguments after the region's own.
  Result<KernelGraph> build(std::span<Value* const> captured,
                            const std::vector<ArgumentInfo>& argument_info);

 private:
  // One kernel under construction.
  struct Draft {
    Kernel kernel;
    std::unordered_map<ValueId, int32_t> input_numbers;
  };

  ValueId add_value(KernelValue::Kind kind, Value* value);
  std::optional<ValueId> lookup(Value* value) const;
  int32_t input_number(Draft& draft, ValueId id);
  // Stored values are loaded; `target` itself is computed.
  ExprContext context(Draft& draft, Value* target);
  Status finish(Draft&& draft, std::span<Value* const> results, Op* op);
  // A kernel whose outputs no value of the program names.
  std::vector<ValueId> finish_unnamed(Draft&& draft, const std::vector<Type>& types, Op* op);
  void find_unwritten();
  ValueId unwritten(const Type& type, Op* op);
  Diagnostic unsupported(Op* op, std::string_view why = {});
  // Gives a value that was to be virtual a buffer after all.
  Status store_first(Value* value);
  // A buffer for one more copy of a stored value.
  ValueId copy_of(ValueId from, Op* op);
  // A region of the operation as an expression of its arguments.
  Status region_body(Op* op, Region& region, Expr& body, std::vector<int32_t>& results);
  // A single operation on both arguments is a plain combiner; anything else becomes a body
  // expression.
  Status combiner(Op* op, LoopKernel::Reduction& reduction);
  Result<std::shared_ptr<KernelGraph>> nested_graph(Region& region,
                                                    std::span<Value* const> captured,
                                                    const std::vector<ArgumentInfo>& info);

  // The kernels of an operation; where one value of several is named, those that make it.
  Status emit(Op* op);
  Status emit_constant(Op* op);
  Status emit_loop(Op* op, Value* value);
  Status emit_reduce(Op* op);
  // The update goes into a copy of its operand where that is given.
  Status emit_update(Op* op, std::optional<ValueId> copy = {});
  // Kernels whose operands are whole buffers, in order.
  Status emit_whole(Op* op, decltype(Kernel::body) body, std::string name);
  Status emit_library(Op* op, const LibraryOperation& library);
  Status emit_while(Op* op);
  Status emit_case(Op* op);
  Status emit_scatter(Op* op);
  Status emit_window(Op* op);
  // The places that the windows select, an array of initial values, and a scatter onto it.
  Status emit_select_and_scatter(Op* op);
  Status emit_dot(Op* op, Value* result);
  // Products of other types (integers, f64) are plain reductions of lhs * rhs; they take no
  // epilogue.
  Status emit_dot_as_reduction(Op* op, Value* result);

  const Module& module_;
  const Region& region_;
  const Target& target_;
  RegionAnalysis analysis_;
  KernelGraph graph_;
  std::unordered_map<Value*, ValueId> ids_;
  std::unordered_set<Value*> unwritten_;  // only the beginning of loops that overwrite them
};

}  // namespace ullage
