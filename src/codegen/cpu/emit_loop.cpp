// Loop kernels without reduction, and the boxes of products: loops over a box, the vector dimension
// innermost, with a masked remainder.
#include "codegen/cpu/emit_expr.h"
#include "codegen/cpu/emit_kernels.h"
#include "codegen/cpu/loop_cells.h"

namespace ullage::cpu {

using llvm::Value;

namespace {

// One cell of a nest.
class LoopEmitter {
 public:
  LoopEmitter(Emit& e, const LoopCell& cell, const BoxSide* side)
      : e_(e), cell_(cell), nest_(cell.nest), side_(side) {
    if (evaluates()) roots_.push_back(cell.root);
    for (const KernelOutput& output : nest_.outputs) roots_.push_back(output.node);
  }

  void emit(int first_output) {
    ExprEmitter values(e_, nest_.expr, roots_, &nest_.outputs,
                       {nest_.order, nest_.vector_dim, nest_.vector_dim}, nest_.small_index);
    values_ = &values;
    llvm::BasicBlock* after = within_cell();
    values.bind(e_.function->getArg(0), first_output);
    nested(0);
    if (!after) return;
    e_.b.CreateBr(after);
    e_.b.SetInsertPoint(after);
  }

 private:
  bool evaluates() const { return side_ && side_->kind == BoxSide::Kind::evaluate; }
  // The bounds of the loops: those given, within the cell. If they leave nothing, control goes to
  // the block returned (null: the cell is everything).
  llvm::BasicBlock* within_cell() {
    Value* some = nullptr;
    for (size_t d = 0; d < nest_.extents.size(); ++d) {
      Value* low = e_.bound(1, static_cast<int>(d));
      Value* high = e_.bound(2, static_cast<int>(d));
      if (cell_.cut[d]) {
        low = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, low, e_.number(cell_.lower[d]));
        high = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, high, e_.number(cell_.upper[d]));
        Value* inside = e_.b.CreateICmpSLT(low, high);
        some = some ? e_.b.CreateAnd(some, inside) : inside;
      }
      lower_.push_back(low);
      upper_.push_back(high);
    }
    if (!some) return nullptr;
    llvm::BasicBlock* body = llvm::BasicBlock::Create(e_.context, "cell", e_.function);
    llvm::BasicBlock* after = llvm::BasicBlock::Create(e_.context, "after", e_.function);
    e_.b.CreateCondBr(some, body, after);
    e_.b.SetInsertPoint(body);
    return after;
  }

  bool has_accumulator() const { return side_ && side_->kind == BoxSide::Kind::epilogue; }

  void nested(size_t depth) {
    if (nest_.vector_dim < 0 && depth == nest_.order.size() && has_accumulator())
      values_->parameters = {{e_.b.CreateLoad(e_.b.getFloatTy(), side_address())}};
    values_->scalars(static_cast<int>(depth));
    if (depth + 1 == nest_.order.size() && nest_.tile_dim >= 0) {
      tiled(depth);
    } else if (depth < nest_.order.size()) {
      size_t dim = static_cast<size_t>(nest_.order[depth]);
      e_.loop(lower_[dim], upper_[dim], 1, [&](Value* i) {
        values_->index[dim] = i;
        nested(depth + 1);
      });
    } else if (nest_.vector_dim < 0) {
      store(1, nullptr);
    } else {
      columns(lower_[static_cast<size_t>(nest_.vector_dim)]);
    }
  }

  // Along the vector dimension, from `first` on.
  void columns(Value* first) {
    size_t dim = static_cast<size_t>(nest_.vector_dim);
    int unroll =
        choose_unroll(nest_.expr, needed_nodes(nest_.expr, roots_), e_.host, uint64_t{1} << dim);
    int64_t step = static_cast<int64_t>(kLanes) * unroll;
    Value* whole = e_.b.CreateAnd(e_.b.CreateSub(upper_[dim], first), e_.i64(-step));
    Value* split = e_.b.CreateAdd(first, whole);
    e_.loop(first, split, step, [&](Value* i) {
      values_->index[dim] = i;
      vectors(unroll, nullptr);
    });
    if (side_ && unroll > 1) {
      // Rows of boxes are short, so what is left of them counts; masked vectors are slow.
      Value* left = e_.b.CreateAnd(e_.b.CreateSub(upper_[dim], split), e_.i64(-kLanes));
      Value* next = e_.b.CreateAdd(split, left);
      e_.loop(split, next, kLanes, [&](Value* i) {
        values_->index[dim] = i;
        vectors(1, nullptr);
      });
      split = next;
    }
    Value* lanes = e_.lane_numbers(e_.b.getInt32Ty());
    e_.loop(split, upper_[dim], kLanes, [&](Value* i) {
      values_->index[dim] = i;
      Value* rest = e_.b.CreateTrunc(e_.b.CreateSub(upper_[dim], i), e_.b.getInt32Ty());
      vectors(1, e_.b.CreateICmpSGT(e_.splat(rest), lanes));
    });
  }

  // The last loop and the vector dimension in squares; then what the squares leave over, row by
  // row.
  void tiled(size_t depth) {
    size_t tile = static_cast<size_t>(nest_.tile_dim),
           vector = static_cast<size_t>(nest_.vector_dim);
    auto whole = [&](size_t dim) {
      Value* count = e_.b.CreateSub(upper_[dim], lower_[dim]);
      return e_.b.CreateAdd(lower_[dim], e_.b.CreateAnd(count, e_.i64(-kLanes)));
    };
    Value* tile_split = whole(tile);
    Value* vector_split = whole(vector);
    e_.loop(lower_[tile], tile_split, kLanes, [&](Value* i) {
      e_.loop(lower_[vector], vector_split, kLanes, [&](Value* j) {
        values_->index[tile] = i;
        values_->index[vector] = j;
        values_->fill_tiles(nest_.tile_dim);
        e_.loop(e_.i64(0), e_.i64(kLanes), 1, [&](Value* u) {
          values_->index[tile] = e_.b.CreateAdd(i, u);
          values_->scalars(static_cast<int>(depth) + 1);
          values_->use_tiles(u);
          vectors(1, nullptr);
          values_->use_tiles(nullptr);
        });
      });
    });
    e_.loop(lower_[tile], upper_[tile], 1, [&](Value* i) {
      values_->index[tile] = i;
      values_->scalars(static_cast<int>(depth) + 1);
      columns(e_.b.CreateSelect(e_.b.CreateICmpSLT(i, tile_split), vector_split, lower_[vector]));
    });
  }

  void vectors(int unroll, Value* mask) {
    if (has_accumulator()) {
      Value* base = side_address();
      llvm::VectorType* type = e_.vector(e_.b.getFloatTy());
      std::vector<Value*> sums;
      for (int u = 0; u < unroll; ++u) {
        Value* at = e_.b.CreateGEP(e_.b.getFloatTy(), base, e_.i64(u * kLanes));
        sums.push_back(
            mask ? static_cast<Value*>(e_.b.CreateMaskedLoad(type, at, llvm::Align(4), mask,
                                                             llvm::Constant::getNullValue(type)))
                 : e_.b.CreateAlignedLoad(type, at, llvm::Align(4)));
      }
      values_->parameters = {sums};
    }
    values_->block(unroll, kLanes, mask);
    store(unroll, mask);
  }

  void store(int unroll, Value* mask) {
    for (int u = 0; u < unroll; ++u)
      for (int k = 0; k < static_cast<int>(nest_.outputs.size()); ++k) {
        int32_t node = nest_.outputs[static_cast<size_t>(k)].node;
        if (values_->takes_turns(k)) {
          int32_t next = nest_.outputs[static_cast<size_t>(k) + 1].node;
          values_->store_turns(k++, values_->value(node, u), values_->value(next, u),
                               dtype_of(node), u);
        } else {
          values_->store(k, values_->value(node, u), dtype_of(node), u);
        }
      }
    if (!evaluates()) return;
    Value* base = side_address();
    for (int u = 0; u < unroll; ++u) {
      bool scalar = nest_.vector_dim < 0;
      Value* held = scalar ? values_->value(cell_.root, u) : values_->vector_value(cell_.root, u);
      held = emit_convert(e_, held, dtype_of(cell_.root), DType::f32);
      Value* at = e_.b.CreateGEP(e_.b.getFloatTy(), base, e_.i64(u * kLanes));
      if (mask)
        e_.b.CreateMaskedStore(held, at, llvm::Align(4), mask);
      else
        e_.b.CreateAlignedStore(held, at, llvm::Align(4));
    }
  }

  DType dtype_of(int32_t node) const { return nest_.expr.nodes[static_cast<size_t>(node)].dtype; }

  Value* flat(const std::vector<int64_t>& strides, unsigned origin) {
    Value* sum = e_.b.CreateNeg(e_.function->getArg(origin));
    for (size_t d = 0; d < strides.size(); ++d)
      if (strides[d] != 0) sum = e_.b.CreateAdd(sum, e_.scaled(values_->index[d], strides[d]));
    return sum;
  }
  // Of the element at the current indices.
  Value* side_address() {
    Value* outer = e_.b.CreateMul(flat(side_->outer, 6), e_.function->getArg(5));
    return e_.b.CreateGEP(e_.b.getFloatTy(), e_.function->getArg(4),
                          e_.b.CreateAdd(outer, flat(side_->inner, 7)));
  }

  Emit& e_;
  const LoopCell& cell_;
  const LoopNest& nest_;
  const BoxSide* side_;
  ExprEmitter* values_ = nullptr;
  std::vector<int32_t> roots_;
  std::vector<Value*> lower_, upper_;
};

}  // namespace

static void emit_cells(llvm::Module& module, const Host& host, const std::string& name,
                       const std::vector<LoopCell>& cells, int first_output, const BoxSide* side) {
  Emit e(module, host);
  llvm::Type* pointer = e.b.getPtrTy();
  llvm::Type* i64 = e.b.getInt64Ty();
  std::vector<llvm::Type*> parameters = {pointer, pointer, pointer, pointer};
  if (side) parameters.insert(parameters.end(), {pointer, i64, i64, i64});
  e.function = llvm::Function::Create(llvm::FunctionType::get(e.b.getVoidTy(), parameters, false),
                                      llvm::Function::ExternalLinkage, name, e.module);
  e.b.SetInsertPoint(llvm::BasicBlock::Create(e.context, "entry", e.function));
  e.numbers = e.function->getArg(3);
  for (const LoopCell& cell : cells) LoopEmitter(e, cell, side).emit(first_output);
  e.b.CreateRetVoid();
}

void emit_loop(llvm::Module& module, const Host& host, const std::string& name,
               const std::vector<LoopCell>& cells, int first_output) {
  emit_cells(module, host, name, cells, first_output, nullptr);
}

void emit_box(llvm::Module& module, const Host& host, const std::string& name,
              const std::vector<LoopCell>& cells, int first_output, const BoxSide& side) {
  emit_cells(module, host, name, cells, first_output, &side);
}

void emit_offsets(llvm::Module& module, const Host& host, const std::string& name, const Expr& expr,
                  const std::vector<Access>& accesses) {
  Emit e(module, host);
  llvm::Type* pointer = e.b.getPtrTy();
  e.function =
      llvm::Function::Create(llvm::FunctionType::get(e.b.getVoidTy(), {pointer, pointer}, false),
                             llvm::Function::ExternalLinkage, name, module);
  e.b.SetInsertPoint(llvm::BasicBlock::Create(e.context, "entry", e.function));
  std::vector<int32_t> roots;
  for (const Access& access : accesses)
    for (const Access::Dynamic& dynamic : access.dynamic) roots.push_back(dynamic.node);
  ExprEmitter values(e, expr, roots, nullptr, {}, false);
  values.bind(e.function->getArg(0), 0);
  values.scalars(0);
  for (size_t i = 0; i < accesses.size(); ++i) {
    Value* offset = e.i64(accesses[i].affine.constant);
    for (const Access::Dynamic& dynamic : accesses[i].dynamic)
      offset = e.b.CreateAdd(offset,
                             e.b.CreateMul(values.value(dynamic.node, 0), e.i64(dynamic.stride)));
    e.b.CreateStore(offset, e.b.CreateConstGEP1_64(e.b.getInt64Ty(), e.function->getArg(1), i));
  }
  e.b.CreateRetVoid();
}

}  // namespace ullage::cpu
