// Scatter kernels. Where the targets of neighbouring updates are known to differ, along a dimension
// of the window, lanes run along it; else lanes compute the offsets and values of updates that
// follow each other, which are then applied one by one.
#include "codegen/cpu/emit_expr.h"
#include "codegen/cpu/emit_kernels.h"

namespace ullage::cpu {

using llvm::Value;

namespace {

class ScatterEmitter {
 public:
  ScatterEmitter(Emit& e, const ScatterCode& code) : e_(e), code_(code), nest_(code.nest) {
    for (const KernelOutput& output : nest_.outputs) roots_.push_back(output.node);
    for (size_t d = 0; d < nest_.groups.size(); ++d)
      if (nest_.groups[d] != static_cast<int>(ScatterKernel::Dim::parallel))
        ordered_ |= uint64_t{1} << d;
    std::vector<bool> needed = needed_nodes(code.body, code.body_results);
    reads_target_.assign(roots_.size(), false);
    for (size_t i = 0; i < code.body.nodes.size(); ++i) {
      const ExprNode& node = code.body.nodes[i];
      size_t number = static_cast<size_t>(node.input);
      if (needed[i] && node.kind == ExprNode::Kind::parameter && number < roots_.size())
        reads_target_[number] = true;
    }
  }

  void emit() {
    std::vector<int32_t> roots = roots_;
    if (code_.in_range >= 0) roots.push_back(code_.in_range);
    ExprEmitter values(e_, nest_.expr, roots, &nest_.outputs,
                       {nest_.order, nest_.vector_dim, nest_.vector_dim}, nest_.small_index);
    values_ = &values;
    values.bind(e_.function->getArg(0), code_.first_output);
    for (int d = 0; d < static_cast<int>(nest_.extents.size()); ++d) {
      lower_.push_back(e_.bound(1, d));
      upper_.push_back(e_.bound(2, d));
    }
    const Access& store = nest_.outputs[0].store;
    size_t lane = static_cast<size_t>(nest_.vector_dim);
    if (nest_.vector_dim >= 0 && (ordered_ >> lane & 1) && store.affine.coefficients[lane] != 0)
      offset_per_lane_ = true;
    for (const Access::Dynamic& dynamic : store.dynamic)
      offset_per_lane_ |= values.is_vector_node(dynamic.node);
    condition_per_lane_ = code_.in_range >= 0 && values.is_vector_node(code_.in_range);
    if (code_.one_by_one) {
      for (size_t k = 0; k < roots_.size(); ++k)
        slots_.push_back(stack(e_.memory_type(dtype(k)), kMostUnroll * kLanes));
      offsets_ = stack(e_.b.getInt64Ty(), kMostUnroll * kLanes);
      listed_ = stack(e_.b.getInt32Ty(), kMostUnroll * kLanes);
    }
    nested(0);
  }

 private:
  static constexpr int kMostUnroll = 4;

  DType dtype(size_t k) const { return nest_.expr.nodes[static_cast<size_t>(roots_[k])].dtype; }
  Value* stack(llvm::Type* element, int64_t elements) {
    llvm::BasicBlock& entry = e_.function->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    llvm::AllocaInst* slot =
        at_entry.CreateAlloca(llvm::ArrayType::get(element, static_cast<uint64_t>(elements)));
    slot->setAlignment(llvm::Align(64));
    return slot;
  }

  template <typename Body>
  void when(Value* condition, const Body& body) {
    llvm::BasicBlock* then = llvm::BasicBlock::Create(e_.context, "then", e_.function);
    llvm::BasicBlock* after = llvm::BasicBlock::Create(e_.context, "after", e_.function);
    e_.b.CreateCondBr(condition, then, after);
    e_.b.SetInsertPoint(then);
    body();
    e_.b.CreateBr(after);
    e_.b.SetInsertPoint(after);
  }

  void nested(size_t depth) {
    values_->scalars(static_cast<int>(depth));
    if (depth < nest_.order.size()) {
      size_t dim = static_cast<size_t>(nest_.order[depth]);
      e_.loop(lower_[dim], upper_[dim], 1, [&](Value* i) {
        values_->index[dim] = i;
        nested(depth + 1);
      });
    } else if (code_.one_by_one) {
      strips([&](int unroll, Value* count, Value* mask) { apply_one_by_one(unroll, count, mask); });
    } else if (nest_.vector_dim < 0) {
      when(scalar_condition(), [&] { apply(0); });
    } else {
      when(scalar_condition(),
           [&] { strips([&](int unroll, Value*, Value* mask) { apply_lanes(unroll, mask); }); });
    }
  }

  Value* both(Value* a, Value* b) { return a ? e_.b.CreateAnd(a, b) : b; }
  Value* in_own_range(int u) {
    Value* offset = values_->store_offset(0, ordered_, u);
    Value* first = e_.function->getArg(3);
    Value* last = e_.function->getArg(4);
    if (offset->getType()->isVectorTy()) first = e_.splat(first), last = e_.splat(last);
    return e_.b.CreateAnd(e_.b.CreateICmpSGE(offset, first), e_.b.CreateICmpSLT(offset, last));
  }
  // What is the same for all lanes, and what is not.
  Value* scalar_condition() {
    Value* condition = nullptr;
    if (code_.in_range >= 0 && !condition_per_lane_) condition = values_->value(code_.in_range, 0);
    if (!offset_per_lane_) condition = both(condition, in_own_range(0));
    return condition ? condition : e_.b.getTrue();
  }
  Value* lane_condition(int u) {
    Value* condition = nullptr;
    if (condition_per_lane_) condition = values_->vector_value(code_.in_range, u);
    if (offset_per_lane_) condition = both(condition, in_own_range(u));
    return condition;
  }

  // Along the vector dimension: body(vectors, updates, mask).
  template <typename Body>
  void strips(const Body& body) {
    size_t dim = static_cast<size_t>(nest_.vector_dim);
    int unroll =
        choose_unroll(nest_.expr, needed_nodes(nest_.expr, roots_), e_.host, uint64_t{1} << dim);
    if (!code_.one_by_one && (condition_per_lane_ || offset_per_lane_)) unroll = 1;
    int64_t step = static_cast<int64_t>(kLanes) * unroll;
    Value* whole = e_.b.CreateAnd(e_.b.CreateSub(upper_[dim], lower_[dim]), e_.i64(-step));
    Value* split = e_.b.CreateAdd(lower_[dim], whole);
    e_.loop(lower_[dim], split, step, [&](Value* i) {
      values_->index[dim] = i;
      values_->block(unroll, kLanes, nullptr);
      body(unroll, e_.i64(step), nullptr);
    });
    e_.loop(split, upper_[dim], kLanes, [&](Value* i) {
      values_->index[dim] = i;
      Value* rest = e_.b.CreateSub(upper_[dim], i);
      Value* lanes = e_.splat(e_.b.CreateTrunc(rest, e_.b.getInt32Ty()));
      Value* mask = e_.b.CreateICmpSGT(lanes, e_.lane_numbers(e_.b.getInt32Ty()));
      values_->block(1, kLanes, mask);
      Value* full = e_.i64(kLanes);
      body(1, e_.b.CreateSelect(e_.b.CreateICmpSLT(rest, full), rest, full), mask);
    });
  }

  void apply_lanes(int unroll, Value*) {
    for (int u = 0; u < unroll; ++u) {
      if (Value* lanes = lane_condition(u)) values_->narrow_mask(lanes);
      apply(u);
    }
  }

  void apply(int u) {
    std::vector<Value*> parameters(2 * roots_.size(), nullptr);
    bool vector = nest_.vector_dim >= 0;
    for (size_t k = 0; k < roots_.size(); ++k) {
      if (reads_target_[k]) parameters[k] = values_->load_output(static_cast<int>(k), dtype(k), u);
      parameters[roots_.size() + k] =
          vector ? values_->vector_value(roots_[k], u) : values_->value(roots_[k], u);
    }
    std::vector<Value*> results = emit_body(e_, code_.body, code_.body_results, parameters);
    for (size_t k = 0; k < roots_.size(); ++k)
      values_->store(static_cast<int>(k), results[k], dtype(k), u);
  }

  void apply_one_by_one(int unroll, Value* count, Value* mask) {
    llvm::Type* i64 = e_.b.getInt64Ty();
    llvm::Type* i32 = e_.b.getInt32Ty();
    for (int u = 0; u < unroll; ++u) {
      Value* condition = code_.in_range >= 0 ? values_->vector_value(code_.in_range, u) : nullptr;
      Value* own = in_own_range(u);
      condition = both(condition, own->getType()->isVectorTy() ? own : e_.splat(own));
      if (mask) condition = both(condition, mask);
      Value* offset = values_->store_offset(0, ~uint64_t{0}, u);
      if (!offset->getType()->isVectorTy()) offset = e_.splat(offset);
      offset = e_.b.CreateSelect(condition, offset, e_.integer(offset, -1));
      e_.b.CreateStore(offset, e_.b.CreateGEP(i64, offsets_, e_.i64(u * kLanes)));
      for (size_t k = 0; k < roots_.size(); ++k) {
        Value* stored = to_memory(e_, values_->vector_value(roots_[k], u), dtype(k));
        e_.b.CreateStore(stored,
                         e_.b.CreateGEP(e_.memory_type(dtype(k)), slots_[k], e_.i64(u * kLanes)));
      }
    }
    // A call that has all targets skips few updates. Of others, those that are theirs are listed
    // first: a branch on each would often be mispredicted.
    Value* everything = e_.b.CreateICmpEQ(e_.function->getArg(4), e_.i64(kAllTargets));
    when(everything, [&] {
      e_.loop(e_.i64(0), count, 1, [&](Value* i) {
        Value* place = e_.b.CreateLoad(i64, e_.b.CreateGEP(i64, offsets_, i));
        when(e_.b.CreateICmpSGE(place, e_.i64(0)), [&] { apply_update(i, place); });
      });
    });
    count = e_.b.CreateSelect(everything, e_.i64(0), count);
    std::vector<Value*> number = e_.loop_carrying(
        e_.i64(0), count, 1, {e_.i64(0)}, [&](Value* i, const std::vector<Value*>& n) {
          e_.b.CreateStore(e_.b.CreateTrunc(i, i32), e_.b.CreateGEP(i32, listed_, n[0]));
          Value* place = e_.b.CreateLoad(i64, e_.b.CreateGEP(i64, offsets_, i));
          Value* own = e_.b.CreateICmpSGE(place, e_.i64(0));
          return std::vector<Value*>{e_.b.CreateAdd(n[0], e_.b.CreateZExt(own, i64))};
        });
    e_.loop(e_.i64(0), number[0], 1, [&](Value* n) {
      Value* i = e_.b.CreateZExt(e_.b.CreateLoad(i32, e_.b.CreateGEP(i32, listed_, n)), i64);
      apply_update(i, e_.b.CreateLoad(i64, e_.b.CreateGEP(i64, offsets_, i)));
    });
  }

  bool is_part(size_t k) const {
    auto same = [&](size_t other) {
      return other < roots_.size() && nest_.outputs[other].result == nest_.outputs[k].result;
    };
    return nest_.outputs[k].result >= 0 && (same(k + 1) || (k > 0 && same(k - 1)));
  }

  // Where output `k` has the element that lies at `place` in the first output. Parts of complex
  // numbers lie one after the other.
  Value* same_place(Value* place, size_t k) {
    Value* element = is_part(0) ? e_.b.CreateAShr(place, e_.i64(1)) : place;
    if (!is_part(k)) return element;
    bool second = k > 0 && nest_.outputs[k - 1].result == nest_.outputs[k].result;
    return e_.b.CreateAdd(e_.b.CreateShl(element, e_.i64(1)), e_.i64(second));
  }

  // Update `i` of those computed, at its place.
  void apply_update(Value* i, Value* place) {
    std::vector<Value*> parameters(2 * roots_.size(), nullptr), targets;
    for (size_t k = 0; k < roots_.size(); ++k) {
      llvm::Type* element = e_.memory_type(dtype(k));
      Value* at = same_place(place, k);
      targets.push_back(e_.b.CreateGEP(element, values_->output_buffer(static_cast<int>(k)), at));
      if (reads_target_[k])
        parameters[k] = from_memory(e_, e_.b.CreateLoad(element, targets[k]), dtype(k));
      Value* update = e_.b.CreateLoad(element, e_.b.CreateGEP(element, slots_[k], i));
      parameters[roots_.size() + k] = from_memory(e_, update, dtype(k));
    }
    std::vector<Value*> results = emit_body(e_, code_.body, code_.body_results, parameters);
    for (size_t k = 0; k < roots_.size(); ++k)
      e_.b.CreateStore(to_memory(e_, results[k], dtype(k)), targets[k]);
  }

  Emit& e_;
  const ScatterCode& code_;
  const LoopNest& nest_;
  ExprEmitter* values_ = nullptr;
  std::vector<int32_t> roots_;
  std::vector<bool> reads_target_;  // per output: the body depends on what is there
  uint64_t ordered_ = 0;            // dimensions that are not parallel
  bool offset_per_lane_ = false, condition_per_lane_ = false;
  std::vector<Value*> lower_, upper_, slots_;
  Value* offsets_ = nullptr;
  Value* listed_ = nullptr;
};

}  // namespace

void emit_scatter(llvm::Module& module, const Host& host, const std::string& name,
                  const ScatterCode& code) {
  Emit e(module, host);
  llvm::Type* pointer = e.b.getPtrTy();
  llvm::Type* i64 = e.b.getInt64Ty();
  e.function = llvm::Function::Create(
      llvm::FunctionType::get(e.b.getVoidTy(), {pointer, pointer, pointer, i64, i64, pointer},
                              false),
      llvm::Function::ExternalLinkage, name, module);
  e.numbers = e.function->getArg(5);
  e.b.SetInsertPoint(llvm::BasicBlock::Create(e.context, "entry", e.function));
  ScatterEmitter(e, code).emit();
  e.b.CreateRetVoid();
}

}  // namespace ullage::cpu
