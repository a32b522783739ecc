// Scan kernels, in the order that emit_kernels.h describes.
#include "codegen/cpu/emit_expr.h"
#include "codegen/cpu/emit_kernels.h"
#include "kernels/reduction.h"

namespace ullage::cpu {

using llvm::Value;

namespace {

class ScanEmitter {
 public:
  ScanEmitter(Emit& e, const ScanCode& code) : e_(e), code_(code), nest_(code.nest) {
    scanned_ = static_cast<int>(nest_.extents.size()) - 1;
    along_ = nest_.vector_dim == scanned_;
    for (int d = 0; d < scanned_; ++d)
      if (d != nest_.vector_dim) parallel_.push_back(d);
    for (const KernelOutput& output : nest_.outputs) roots_.push_back(output.node);
  }

  void emit() {
    ExprEmitter::Loops loops{parallel_, nest_.vector_dim, nest_.vector_dim};
    if (!along_) loops.order.push_back(scanned_);
    std::vector<int32_t> roots = roots_;
    roots.insert(roots.end(), code_.reduction.initial.begin(), code_.reduction.initial.end());
    ExprEmitter values(e_, nest_.expr, roots, &nest_.outputs, loops, nest_.small_index);
    values_ = &values;
    values.stored_dtypes = code_.output_dtypes;
    values.bind(e_.function->getArg(0), code_.first_output);
    for (int d = 0; d <= scanned_; ++d) {
      lower_.push_back(e_.bound(1, d));
      upper_.push_back(e_.bound(2, d));
    }
    if (!along_)
      for (DType dtype : code_.accumulators) {
        within_.push_back(e_.stack(dtype, kReductionStrip));
        before_.push_back(e_.stack(dtype, kReductionStrip));
      }
    around_parallel(0);
  }

 private:
  std::vector<Value*> combine(const std::vector<Value*>& before, const std::vector<Value*>& after) {
    if (code_.reduction.combiner)
      return {
          emit_combine(e_, *code_.reduction.combiner, code_.accumulators[0], before[0], after[0])};
    std::vector<Value*> parameters = before;
    parameters.insert(parameters.end(), after.begin(), after.end());
    std::vector<Value*> out =
        emit_body(e_, code_.reduction.body, code_.reduction.body_results, parameters);
    for (Value*& value : out)
      if (!value->getType()->isVectorTy()) value = e_.splat(value);
    return out;
  }
  std::vector<Value*> elements() {
    std::vector<Value*> out;
    for (size_t k = 0; k < roots_.size(); ++k)
      out.push_back(emit_convert(e_, values_->vector_value(roots_[k], 0), dtype(roots_[k]),
                                 code_.accumulators[k]));
    return out;
  }
  std::vector<Value*> initial() {
    std::vector<Value*> out;
    for (size_t k = 0; k < roots_.size(); ++k) {
      int32_t node = code_.reduction.initial[k];
      out.push_back(emit_convert(e_, values_->value(node, 0), dtype(node), code_.accumulators[k]));
    }
    return out;
  }
  void store(const std::vector<Value*>& results) {
    for (size_t k = 0; k < roots_.size(); ++k)
      values_->store(static_cast<int>(k),
                     emit_convert(e_, results[k], code_.accumulators[k], code_.output_dtypes[k]),
                     code_.output_dtypes[k], 0);
  }
  DType dtype(int32_t node) const { return nest_.expr.nodes[static_cast<size_t>(node)].dtype; }
  Value* mask_of(Value* rest) {
    return e_.b.CreateICmpSGT(e_.splat(e_.b.CreateTrunc(rest, e_.b.getInt32Ty())),
                              e_.lane_numbers(e_.b.getInt32Ty()));
  }

  void around_parallel(size_t depth) {
    values_->scalars(static_cast<int>(depth));
    if (depth < parallel_.size()) {
      size_t dim = static_cast<size_t>(parallel_[depth]);
      e_.loop(lower_[dim], upper_[dim], 1, [&](Value* i) {
        values_->index[dim] = i;
        around_parallel(depth + 1);
      });
    } else if (along_) {
      along();
    } else {
      across();
    }
  }

  // Of the sums within a block, which begin anew with its first element.
  std::vector<Value*> continued(Value* first, const std::vector<Value*>& before,
                                const std::vector<Value*>& sums) {
    std::vector<Value*> out = combine(before, sums);
    for (size_t k = 0; k < out.size(); ++k) out[k] = e_.b.CreateSelect(first, sums[k], out[k]);
    return out;
  }
  std::vector<Value*> splats(const std::vector<Value*>& scalars) {
    std::vector<Value*> out;
    for (Value* value : scalars) out.push_back(e_.splat(value));
    return out;
  }
  std::vector<Value*> last_lanes(const std::vector<Value*>& vectors) {
    std::vector<Value*> out;
    for (Value* value : vectors)
      out.push_back(e_.b.CreateExtractElement(value, uint64_t{kLanes - 1}));
    return out;
  }
  Value* smaller(Value* a, Value* b) { return e_.b.CreateSelect(e_.b.CreateICmpSLT(a, b), a, b); }

  void along() {
    size_t dim = static_cast<size_t>(scanned_), count = roots_.size();
    // Sums of 16 elements at i, continued within the block; then with what came before the block.
    auto sixteen = [&](Value* i, Value* from, const std::vector<Value*>& within,
                       const std::vector<Value*>& before, Value* mask) {
      values_->index[dim] = i;
      values_->block(1, kLanes, mask);
      std::vector<Value*> sums = elements();
      for (int step = 1; step < kLanes; step *= 2) {
        std::vector<int> lanes;
        std::vector<llvm::Constant*> joins;
        for (int lane = 0; lane < kLanes; ++lane) {
          lanes.push_back(std::max(0, lane - step));
          joins.push_back(e_.b.getInt1(lane >= step));
        }
        std::vector<Value*> shifted;
        for (Value* sum : sums) shifted.push_back(e_.b.CreateShuffleVector(sum, lanes));
        std::vector<Value*> joined = combine(shifted, sums);
        for (size_t k = 0; k < count; ++k)
          sums[k] = e_.b.CreateSelect(llvm::ConstantVector::get(joins), joined[k], sums[k]);
      }
      sums = continued(e_.b.CreateICmpEQ(i, from), splats(within), sums);
      std::vector<Value*> results = combine(splats(before), sums);
      store(results);
      std::vector<Value*> next = last_lanes(sums), last = last_lanes(results);
      next.insert(next.end(), last.begin(), last.end());
      return next;
    };
    auto split_at = [count](const std::vector<Value*>& both) {
      auto middle = both.begin() + static_cast<std::ptrdiff_t>(count);
      return std::pair(std::vector<Value*>(both.begin(), middle),
                       std::vector<Value*>(middle, both.end()));
    };
    e_.loop_carrying(lower_[dim], upper_[dim], kScanBlock, initial(),
                     [&](Value* from, std::vector<Value*> before) {
                       Value* to = smaller(e_.b.CreateAdd(from, e_.i64(kScanBlock)), upper_[dim]);
                       Value* whole = e_.b.CreateAnd(e_.b.CreateSub(to, from), e_.i64(-kLanes));
                       Value* split = e_.b.CreateAdd(from, whole);
                       std::vector<Value*> carried = before;
                       carried.insert(carried.end(), before.begin(), before.end());
                       carried = e_.loop_carrying(
                           from, split, kLanes, carried, [&](Value* i, std::vector<Value*> values) {
                             return sixteen(i, from, split_at(values).first, before, nullptr);
                           });
                       // Only the last block has elements left over.
                       e_.loop(split, to, kLanes, [&](Value* i) {
                         sixteen(i, from, split_at(carried).first, before,
                                 mask_of(e_.b.CreateSub(to, i)));
                       });
                       return split_at(carried).second;
                     });
  }

  std::vector<Value*> get(const std::vector<Value*>& slots, Value* v) {
    std::vector<Value*> out;
    for (size_t k = 0; k < slots.size(); ++k) {
      llvm::Type* element = e_.memory_type(code_.accumulators[k]);
      Value* loaded = e_.b.CreateLoad(e_.vector(element), e_.b.CreateGEP(element, slots[k], v));
      out.push_back(from_memory(e_, loaded, code_.accumulators[k]));
    }
    return out;
  }
  void put(const std::vector<Value*>& slots, Value* v, const std::vector<Value*>& sums) {
    for (size_t k = 0; k < slots.size(); ++k) {
      DType dtype = code_.accumulators[k];
      e_.b.CreateStore(to_memory(e_, sums[k], dtype),
                       e_.b.CreateGEP(e_.memory_type(dtype), slots[k], v));
    }
  }

  void across() {
    size_t lane = static_cast<size_t>(nest_.vector_dim), dim = static_cast<size_t>(scanned_);
    e_.loop(lower_[lane], upper_[lane], kReductionStrip, [&](Value* strip) {
      Value* n = smaller(e_.b.CreateSub(upper_[lane], strip), e_.i64(kReductionStrip));
      Value* whole = e_.b.CreateAnd(n, e_.i64(-kLanes));
      std::vector<Value*> start = splats(initial());
      e_.loop(e_.i64(0), n, kLanes, [&](Value* v) {
        put(within_, v, start);
        put(before_, v, start);
      });
      e_.loop(lower_[dim], upper_[dim], kScanBlock, [&](Value* from) {
        Value* to = smaller(e_.b.CreateAdd(from, e_.i64(kScanBlock)), upper_[dim]);
        e_.loop(from, to, 1, [&](Value* i) {
          values_->index[dim] = i;
          values_->scalars(static_cast<int>(parallel_.size()) + 1);
          Value* first = e_.b.CreateICmpEQ(i, from);
          auto one = [&](Value* v, Value* mask) {
            values_->index[lane] = e_.b.CreateAdd(strip, v);
            values_->block(1, kLanes, mask);
            std::vector<Value*> sums = continued(first, get(within_, v), elements());
            put(within_, v, sums);
            store(combine(get(before_, v), sums));
          };
          e_.loop(e_.i64(0), whole, kLanes, [&](Value* v) { one(v, nullptr); });
          e_.loop(whole, n, kLanes, [&](Value* v) { one(v, mask_of(e_.b.CreateSub(n, v))); });
        });
        e_.loop(e_.i64(0), n, kLanes,
                [&](Value* v) { put(before_, v, combine(get(before_, v), get(within_, v))); });
      });
    });
  }

  Emit& e_;
  const ScanCode& code_;
  const LoopNest& nest_;
  ExprEmitter* values_ = nullptr;
  int scanned_ = 0;
  bool along_ = false;
  std::vector<int> parallel_;  // dimensions, without the vector dimension
  std::vector<int32_t> roots_;
  std::vector<Value*> lower_, upper_;
  // Per output, a strip of columns: the sums within the block, and those before it.
  std::vector<Value*> within_, before_;
};

}  // namespace

void emit_scan(llvm::Module& module, const Host& host, const std::string& name,
               const ScanCode& code) {
  Emit e(module, host);
  llvm::Type* pointer = e.b.getPtrTy();
  e.function = llvm::Function::Create(
      llvm::FunctionType::get(e.b.getVoidTy(), {pointer, pointer, pointer, pointer}, false),
      llvm::Function::ExternalLinkage, name, module);
  e.numbers = e.function->getArg(3);
  e.b.SetInsertPoint(llvm::BasicBlock::Create(e.context, "entry", e.function));
  ScanEmitter(e, code).emit();
  e.b.CreateRetVoid();
}

}  // namespace ullage::cpu
