// Reduction kernels, in the three forms and the order that kernels/reduction.h describes.
// Accumulators live on the stack: a strip of columns, four vectors, or one per result.
#include "codegen/cpu/emit_expr.h"
#include "codegen/cpu/emit_kernels.h"

namespace ullage::cpu {

using llvm::Value;

namespace {

class ReduceEmitter {
 public:
  ReduceEmitter(Emit& e, const ReductionCode& code) : e_(e), code_(code), nest_(code.nest) {
    for (int d = 0; d < static_cast<int>(nest_.extents.size()); ++d) {
      if (nest_.roles[static_cast<size_t>(d)] == LoopRole::reduced)
        reduced_.push_back(d);
      else if (d != nest_.vector_dim)
        parallel_.push_back(d);
    }
    lanes_ = nest_.vector_dim >= 0;
    along_rows_ = lanes_ && code.form == ReductionForm::rows;
    for (const KernelOutput& output : nest_.outputs) {
      roots_.push_back(output.node);
      element_dtypes_.push_back(nest_.expr.nodes[static_cast<size_t>(output.node)].dtype);
    }
    output_dtypes_ = code.output_dtypes;
  }

  void emit() {
    for (int d = 0; d < static_cast<int>(nest_.extents.size()); ++d) {
      lower_.push_back(e_.bound(1, d));
      upper_.push_back(e_.bound(2, d));
    }
    continues_ = e_.b.CreateICmpNE(e_.function->getArg(3), e_.i64(0));
    ExprEmitter::Loops start_loops{parallel_, along_rows_ ? -1 : nest_.vector_dim,
                                   along_rows_ ? -1 : nest_.vector_dim};
    ExprEmitter::Loops loops{parallel_, nest_.vector_dim, -1};
    bool columns = lanes_ && code_.form == ReductionForm::columns;
    size_t around = reduced_.size() - (columns || along_rows_ ? 1 : 0);
    loops.order.insert(loops.order.end(), reduced_.begin(),
                       reduced_.begin() + static_cast<std::ptrdiff_t>(around));
    if (columns) loops.unroll_dim = reduced_.back();
    if (along_rows_) loops.unroll_dim = nest_.vector_dim;
    ExprEmitter start(e_, nest_.expr, code_.reduction.initial, &nest_.outputs, start_loops,
                      nest_.small_index);
    ExprEmitter element(e_, nest_.expr, roots_, nullptr, loops, nest_.small_index);
    start.stored_dtypes = code_.output_dtypes;
    start.bind(e_.function->getArg(0), code_.first_output);
    element.bind(e_.function->getArg(0), code_.first_output);
    start_ = &start;
    element_ = &element;
    for (size_t k = 0; k < roots_.size(); ++k) {
      int64_t slots = columns ? kStrip : along_rows_ ? 4 * kLanes : kLanes;
      block_.push_back(e_.stack(code_.accumulators[k], slots));
      total_.push_back(e_.stack(code_.accumulators[k], columns ? kStrip : kLanes));
    }
    around_parallel(0);
  }

 private:
  // Accumulators on the stack: element `offset`, one or a vector of them.
  Value* get(Value* slot, DType dtype, Value* offset, bool vector) {
    llvm::Type* element = e_.memory_type(dtype);
    Value* address = offset ? e_.b.CreateGEP(element, slot, offset) : slot;
    return from_memory(e_, e_.b.CreateLoad(vector ? e_.vector(element) : element, address), dtype);
  }
  void put(Value* slot, DType dtype, Value* offset, Value* held) {
    Value* address = offset ? e_.b.CreateGEP(e_.memory_type(dtype), slot, offset) : slot;
    e_.b.CreateStore(to_memory(e_, held, dtype), address);
  }
  Value* minimum(Value* a, Value* b) { return e_.b.CreateSelect(e_.b.CreateICmpSLT(a, b), a, b); }
  Value* combine(Value* a, Value* b) {
    return emit_combine(e_, *code_.reduction.combiner, code_.accumulators[0], a, b);
  }
  Value* identity(bool vector) {
    ExprNode node;
    node.kind = ExprNode::Kind::constant;
    node.dtype = code_.accumulators[0];
    node.bits[0] = identity_bits(*code_.reduction.combiner, node.dtype);
    llvm::Constant* scalar = emit_constant(e_, node);
    return vector ? llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(kLanes), scalar)
                  : scalar;
  }
  Value* element_value(size_t k, int u) {
    Value* held = lanes_ ? element_->vector_value(roots_[k], u) : element_->value(roots_[k], u);
    return emit_convert(e_, held, element_dtypes_[k], code_.accumulators[k]);
  }

  void set_index(int dim, Value* at) {
    start_->index[static_cast<size_t>(dim)] = at;
    element_->index[static_cast<size_t>(dim)] = at;
  }

  void around_parallel(size_t depth) {
    start_->scalars(static_cast<int>(depth));
    element_->scalars(static_cast<int>(depth));
    if (depth < parallel_.size()) {
      size_t dim = static_cast<size_t>(parallel_[depth]);
      e_.loop(lower_[dim], upper_[dim], 1, [&](Value* i) {
        set_index(static_cast<int>(dim), i);
        around_parallel(depth + 1);
      });
      return;
    }
    if (along_rows_)
      rows();
    else if (lanes_ && code_.form == ReductionForm::columns)
      columns();
    else
      fold();
  }

  // The value to start from, for output k: the initial one, or what the output holds.
  Value* starting_value(size_t k) {
    bool vector = lanes_ && !along_rows_;
    Value* initial = vector ? start_->vector_value(code_.reduction.initial[k], 0)
                            : start_->value(code_.reduction.initial[k], 0);
    Value* held = start_->load_output(static_cast<int>(k), output_dtypes_[k], 0);
    if (vector && !held->getType()->isVectorTy()) held = e_.splat(held);
    Value* start = e_.b.CreateSelect(continues_, held, initial);
    return emit_convert(e_, start, output_dtypes_[k], code_.accumulators[k]);
  }
  void finish(size_t k, Value* total) {
    Value* result = emit_convert(e_, total, code_.accumulators[k], output_dtypes_[k]);
    start_->store(static_cast<int>(k), result, output_dtypes_[k], 0);
  }

  // for v in [0, n) by vectors: body(v, mask), without a mask where all lanes exist.
  template <typename Body>
  void vectors(Value* n, const Body& body) {
    Value* whole = e_.b.CreateAnd(n, e_.i64(-kLanes));
    e_.loop(e_.i64(0), whole, kLanes, [&](Value* v) { body(v, nullptr); });
    e_.loop(whole, n, kLanes, [&](Value* v) { body(v, mask_of(e_.b.CreateSub(n, v))); });
  }
  Value* mask_of(Value* rest) {
    return e_.b.CreateICmpSGT(e_.splat(e_.b.CreateTrunc(rest, e_.b.getInt32Ty())),
                              e_.lane_numbers(e_.b.getInt32Ty()));
  }

  void columns() {
    size_t lane = static_cast<size_t>(nest_.vector_dim),
           first = static_cast<size_t>(reduced_.front());
    DType dtype = code_.accumulators[0];
    e_.loop(lower_[lane], upper_[lane], kStrip, [&](Value* strip) {
      Value* n = minimum(e_.b.CreateSub(upper_[lane], strip), e_.i64(kStrip));
      vectors(n, [&](Value* v, Value* mask) {
        set_index(nest_.vector_dim, e_.b.CreateAdd(strip, v));
        start_->block(1, kLanes, mask);
        put(total_[0], dtype, v, starting_value(0));
      });
      e_.loop(lower_[first], upper_[first], code_.block_length, [&](Value* from) {
        Value* to = minimum(e_.b.CreateAdd(from, e_.number(code_.block_length)), upper_[first]);
        e_.loop(e_.i64(0), n, kLanes, [&](Value* v) { put(block_[0], dtype, v, identity(true)); });
        column_rows(0, from, to, strip, n);
        e_.loop(e_.i64(0), n, kLanes, [&](Value* v) {
          put(total_[0], dtype, v,
              combine(get(total_[0], dtype, v, true), get(block_[0], dtype, v, true)));
        });
      });
      vectors(n, [&](Value* v, Value* mask) {
        set_index(nest_.vector_dim, e_.b.CreateAdd(strip, v));
        start_->block(1, kLanes, mask);
        finish(0, get(total_[0], dtype, v, true));
      });
    });
  }

  // Reduced dimensions from number r on; `from` and `to` bound dimension r.
  void column_rows(size_t r, Value* from, Value* to, Value* strip, Value* n) {
    size_t dim = static_cast<size_t>(reduced_[r]);
    if (r + 1 < reduced_.size()) {
      e_.loop(from, to, 1, [&](Value* i) {
        element_->index[dim] = i;
        element_->scalars(static_cast<int>(parallel_.size() + r + 1));
        size_t next = static_cast<size_t>(reduced_[r + 1]);
        column_rows(r + 1, lower_[next], upper_[next], strip, n);
      });
      return;
    }
    int64_t group = row_group();
    Value* whole = e_.b.CreateAnd(n, e_.i64(-kLanes));
    Value* split = e_.b.CreateAdd(from, e_.b.CreateAnd(e_.b.CreateSub(to, from), e_.i64(-group)));
    auto add_rows = [&](Value* row, Value* v, int rows, Value* mask) {
      element_->index[dim] = row;
      element_->index[static_cast<size_t>(nest_.vector_dim)] = e_.b.CreateAdd(strip, v);
      element_->block(rows, 1, mask);
      DType dtype = code_.accumulators[0];
      Value* sum = get(block_[0], dtype, v, true);
      for (int u = 0; u < rows; ++u) sum = combine(sum, element_value(0, u));
      put(block_[0], dtype, v, sum);
    };
    if (group > 1)
      e_.loop(from, split, group, [&](Value* row) {
        e_.loop(e_.i64(0), whole, kLanes,
                [&](Value* v) { add_rows(row, v, static_cast<int>(group), nullptr); });
      });
    e_.loop(group > 1 ? split : from, to, 1, [&](Value* row) {
      e_.loop(e_.i64(0), whole, kLanes, [&](Value* v) { add_rows(row, v, 1, nullptr); });
    });
    // The columns left over, one row after another.
    e_.loop(whole, n, kLanes, [&](Value* v) {
      Value* mask = mask_of(e_.b.CreateSub(n, v));
      e_.loop(from, to, 1, [&](Value* row) { add_rows(row, v, 1, mask); });
    });
  }

  // How many rows to add before the accumulator is stored again: fewer for long expressions.
  int64_t row_group() const {
    double weight = operations_per_element(nest_.expr);
    return weight <= 4 ? 8 : weight <= 12 ? 4 : weight <= 60 ? 2 : 1;
  }

  void rows() {
    size_t first = static_cast<size_t>(reduced_.front());
    std::vector<Value*> total = {starting_value(0)};
    total = e_.loop_carrying(
        lower_[first], upper_[first], code_.block_length, total,
        [&](Value* from, std::vector<Value*> carried) {
          Value* to = minimum(e_.b.CreateAdd(from, e_.number(code_.block_length)), upper_[first]);
          std::vector<Value*> sums =
              row_elements(0, from, to, std::vector<Value*>(4, identity(true)));
          Value* sum = combine(combine(sums[0], sums[1]), combine(sums[2], sums[3]));
          for (int half = kLanes / 2; half >= 1; half /= 2) {
            std::vector<int> low, high;
            for (int i = 0; i < half; ++i) low.push_back(i), high.push_back(i + half);
            Value* a = half == 1 ? e_.b.CreateExtractElement(sum, uint64_t{0})
                                 : e_.b.CreateShuffleVector(sum, low);
            Value* b = half == 1 ? e_.b.CreateExtractElement(sum, uint64_t{1})
                                 : e_.b.CreateShuffleVector(sum, high);
            sum = combine(a, b);
          }
          carried[0] = combine(carried[0], sum);
          return carried;
        });
    finish(0, total[0]);
  }

  // Combines the elements of reduced dimensions from number r on with the four vectors of a block.
  std::vector<Value*> row_elements(size_t r, Value* from, Value* to, std::vector<Value*> sums) {
    size_t dim = static_cast<size_t>(reduced_[r]);
    if (r + 1 < reduced_.size())
      return e_.loop_carrying(from, to, 1, sums, [&](Value* i, std::vector<Value*> carried) {
        element_->index[dim] = i;
        element_->scalars(static_cast<int>(parallel_.size() + r + 1));
        size_t next = static_cast<size_t>(reduced_[r + 1]);
        return row_elements(r + 1, lower_[next], upper_[next], std::move(carried));
      });
    DType dtype = code_.accumulators[0];
    int together =
        choose_unroll(nest_.expr, needed_nodes(nest_.expr, roots_), e_.host, uint64_t{1} << dim);
    Value* split =
        e_.b.CreateAdd(from, e_.b.CreateAnd(e_.b.CreateSub(to, from), e_.i64(-4 * kLanes)));
    sums =
        e_.loop_carrying(from, split, 4 * kLanes, sums, [&](Value* i, std::vector<Value*> carried) {
          for (int a = 0; a < 4; a += together) {
            element_->index[dim] = e_.b.CreateAdd(i, e_.i64(a * kLanes));
            element_->block(together, kLanes, nullptr);
            for (int u = 0; u < together; ++u) {
              size_t at = static_cast<size_t>(a + u);
              carried[at] = combine(carried[at], element_value(0, u));
            }
          }
          return carried;
        });
    // What is left, if anything, goes by way of the stack, where a vector can be picked by number.
    Value* left = e_.b.CreateZExt(e_.b.CreateICmpSLT(split, to), e_.b.getInt64Ty());
    return e_.loop_carrying(e_.i64(0), left, 1, sums, [&](Value*, std::vector<Value*> carried) {
      for (int a = 0; a < 4; ++a)
        put(block_[0], dtype, e_.i64(a * kLanes), carried[static_cast<size_t>(a)]);
      e_.loop(split, to, kLanes, [&](Value* i) {
        element_->index[dim] = i;
        Value* mask = mask_of(e_.b.CreateSub(to, i));
        element_->block(1, kLanes, mask);
        Value* offset = e_.b.CreateSub(i, split);
        Value* before = get(block_[0], dtype, offset, true);
        put(block_[0], dtype, offset,
            e_.b.CreateSelect(mask, combine(before, element_value(0, 0)), before));
      });
      for (int a = 0; a < 4; ++a)
        carried[static_cast<size_t>(a)] = get(block_[0], dtype, e_.i64(a * kLanes), true);
      return carried;
    });
  }

  void fold() {
    if (!lanes_) {
      fold_one(nullptr);
      return;
    }
    size_t lane = static_cast<size_t>(nest_.vector_dim);
    Value* whole = e_.b.CreateAnd(e_.b.CreateSub(upper_[lane], lower_[lane]), e_.i64(-kLanes));
    Value* split = e_.b.CreateAdd(lower_[lane], whole);
    e_.loop(lower_[lane], split, kLanes, [&](Value* i) {
      set_index(nest_.vector_dim, i);
      fold_one(nullptr);
    });
    e_.loop(split, upper_[lane], kLanes, [&](Value* i) {
      set_index(nest_.vector_dim, i);
      fold_one(mask_of(e_.b.CreateSub(upper_[lane], i)));
    });
  }

  void fold_one(Value* mask) {
    start_->block(1, kLanes, mask);
    for (size_t k = 0; k < roots_.size(); ++k)
      put(total_[k], code_.accumulators[k], nullptr, starting_value(k));
    fold_elements(0, mask);
    for (size_t k = 0; k < roots_.size(); ++k)
      finish(k, get(total_[k], code_.accumulators[k], nullptr, lanes_));
  }

  void fold_elements(size_t r, Value* mask) {
    if (r < reduced_.size()) {
      size_t dim = static_cast<size_t>(reduced_[r]);
      e_.loop(lower_[dim], upper_[dim], 1, [&](Value* i) {
        element_->index[dim] = i;
        element_->scalars(static_cast<int>(parallel_.size() + r + 1));
        fold_elements(r + 1, mask);
      });
      return;
    }
    element_->block(1, kLanes, mask);
    std::vector<Value*> parameters;
    for (size_t k = 0; k < roots_.size(); ++k)
      parameters.push_back(get(total_[k], code_.accumulators[k], nullptr, lanes_));
    for (size_t k = 0; k < roots_.size(); ++k) parameters.push_back(element_value(k, 0));
    std::vector<Value*> results;
    if (code_.reduction.combiner)
      results = {combine(parameters[0], parameters[1])};
    else
      results = emit_body(e_, code_.reduction.body, code_.reduction.body_results, parameters);
    for (size_t k = 0; k < roots_.size(); ++k) {
      Value* result = results[k];
      if (lanes_ && !result->getType()->isVectorTy()) result = e_.splat(result);
      put(total_[k], code_.accumulators[k], nullptr, result);
    }
  }

  static constexpr int64_t kStrip = kReductionStrip;
  Emit& e_;
  const ReductionCode& code_;
  const LoopNest& nest_;
  std::vector<int> parallel_, reduced_;  // dimensions; parallel ones without the vector dimension
  bool lanes_ = false, along_rows_ = false;
  std::vector<int32_t> roots_;
  std::vector<DType> output_dtypes_, element_dtypes_;
  std::vector<Value*> lower_, upper_, block_, total_;
  Value* continues_ = nullptr;
  ExprEmitter* start_ = nullptr;    // initial values, and addresses of the outputs
  ExprEmitter* element_ = nullptr;  // what is reduced
};

}  // namespace

void emit_reduction(llvm::Module& module, const Host& host, const std::string& name,
                    const ReductionCode& code) {
  Emit e(module, host);
  llvm::Type* pointer = e.b.getPtrTy();
  e.function = llvm::Function::Create(
      llvm::FunctionType::get(e.b.getVoidTy(),
                              {pointer, pointer, pointer, e.b.getInt64Ty(), pointer}, false),
      llvm::Function::ExternalLinkage, name, module);
  e.numbers = e.function->getArg(4);
  e.b.SetInsertPoint(llvm::BasicBlock::Create(e.context, "entry", e.function));
  ReduceEmitter(e, code).emit();
  e.b.CreateRetVoid();
}

}  // namespace ullage::cpu
