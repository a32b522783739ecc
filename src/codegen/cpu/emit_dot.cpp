// Products with few rows: streaming kernels that read the large operand (the "weights", [K, N])
// once, where it is, with whatever expression produces it, and keep the sums of a strip of columns
// in the caller's array. Every sum is one chain of fused multiply-adds per block of 256, in order,
// as in matmul.h: the same bits.
#include <array>

#include "codegen/cpu/emit_expr.h"
#include "codegen/cpu/emit_kernels.h"
#include "support/check.h"

namespace ullage::cpu {

using llvm::Value;

namespace {

class DotEmitter {
 public:
  DotEmitter(Emit& e, const SmallDotCode& code) : e_(e), code_(code), nest_(code.weights) {
    rank_ = nest_.extents.size();
    n_dim_ = code.column_dims.back();
    k_dim_ = code.k_dims.back();
  }

  void emit() {
    for (int d = 0; d < static_cast<int>(rank_); ++d) {
      lower_.push_back(e_.bound(1, d));
      upper_.push_back(e_.bound(2, d));
    }
    ExprEmitter::Loops loops;
    for (int d : code_.batch_dims) loops.order.push_back(d);
    for (size_t i = 0; i + 1 < code_.column_dims.size(); ++i)
      loops.order.push_back(code_.column_dims[i]);
    size_t single = loops.order.size();
    for (size_t i = 0; i + 1 < code_.k_dims.size(); ++i) loops.order.push_back(code_.k_dims[i]);
    if (code_.lanes_along_k) {
      loops.order.push_back(n_dim_);
      loops.vector_dim = k_dim_;
    } else {
      loops.vector_dim = n_dim_;
      loops.unroll_dim = k_dim_;
    }
    k_level_ = static_cast<int>(single);
    ExprEmitter weights(e_, nest_.expr, {code_.root}, nullptr, loops, nest_.small_index);
    weights_ = &weights;
    weights.bind(e_.function->getArg(0), 0);
    weights.scalars(0);
    for (size_t i = 0; i < single; ++i) {
      size_t dim = static_cast<size_t>(loops.order[i]);
      weights.index[dim] = lower_[dim];
      weights.scalars(static_cast<int>(i) + 1);
    }
    llvm::IRBuilder<> at_entry(&e_.function->getEntryBlock(), e_.function->getEntryBlock().begin());
    auto stack = [&](int64_t floats) {
      llvm::AllocaInst* slot = at_entry.CreateAlloca(
          llvm::ArrayType::get(e_.b.getFloatTy(), static_cast<uint64_t>(floats)));
      slot->setAlignment(llvm::Align(64));
      return slot;
    };
    block_ = stack(static_cast<int64_t>(code_.rows) *
                   (code_.lanes_along_k ? e_.lanes : dot_strip(code_.rows)));
    tile_ = stack(e_.lanes * e_.lanes);
    find_rows();
    if (code_.lanes_along_k)
      tiles();
    else
      strips();
    e_.b.CreateRetVoid();
  }

 private:
  Value* minimum(Value* a, Value* b) { return e_.b.CreateSelect(e_.b.CreateICmpSLT(a, b), a, b); }
  Value* at(Value* base, Value* offset) { return e_.b.CreateGEP(e_.b.getFloatTy(), base, offset); }
  Value* load_vector(Value* address) {
    return e_.b.CreateAlignedLoad(e_.vector(e_.b.getFloatTy()), address, llvm::Align(4));
  }
  void store_vector(Value* value, Value* address) {
    e_.b.CreateAlignedStore(value, address, llvm::Align(4));
  }
  Value* mask_of(Value* rest) {
    return e_.b.CreateICmpSGT(e_.splat(e_.b.CreateTrunc(rest, e_.b.getInt32Ty())),
                              e_.lane_numbers(e_.b.getInt32Ty()));
  }
  // The narrow operand's element of a row at k = flat_k + more, for every lane.
  Value* activation(int row, Value* flat_k, int64_t more) {
    llvm::Type* type = e_.memory_type(code_.x_dtype);
    Value* k = e_.scaled(flat_k, code_.x_stride);
    Value* x = e_.b.CreateGEP(type, x_rows_[static_cast<size_t>(row)], k);
    Value* held = e_.b.CreateAlignedLoad(
        type, e_.b.CreateGEP(type, x, e_.scaled(e_.i64(more), code_.x_stride)),
        llvm::Align(static_cast<uint64_t>(storage_bytes(code_.x_dtype))));
    held = from_memory(e_, held, code_.x_dtype);
    return e_.splat(emit_convert(e_, held, code_.x_dtype, DType::f32));
  }
  void find_rows() {
    Value* table = e_.function->getArg(3);
    for (int row = 0; row < code_.rows; ++row) {
      if (row > 0 && code_.x_row_stride > 0) {
        x_rows_.push_back(e_.b.CreateGEP(e_.memory_type(code_.x_dtype), x_rows_[0],
                                         e_.i64(row * code_.x_row_stride)));
        continue;
      }
      Value* place = e_.b.CreateGEP(e_.b.getPtrTy(), table, e_.i64(row));
      x_rows_.push_back(e_.b.CreateLoad(e_.b.getPtrTy(), place));
    }
  }
  Value* sums(int row, Value* column) {
    return at(e_.function->getArg(4), strip_offset(row, column));
  }
  Value* weight_value(int u) {
    Value* held = weights_->vector_value(code_.root, u);
    return emit_convert(e_, held, nest_.expr.nodes[static_cast<size_t>(code_.root)].dtype,
                        DType::f32);
  }

  // The dimensions of k around the innermost; calls body(flat index of the innermost's 0) for each.
  template <typename Body>
  void around_k(size_t i, Value* from, Value* to, Value* flat, const Body& body) {
    size_t dim = static_cast<size_t>(code_.k_dims[i]);
    if (i + 1 == code_.k_dims.size()) {
      body(from, to, flat);
      return;
    }
    e_.loop(from, to, 1, [&](Value* k) {
      weights_->index[dim] = k;
      weights_->scalars(k_level_ + static_cast<int>(i) + 1);
      size_t next = static_cast<size_t>(code_.k_dims[i + 1]);
      Value* inner = e_.scaled(e_.b.CreateAdd(flat, k), code_.k_extents[i + 1]);
      around_k(i + 1, lower_[next], upper_[next], inner, body);
    });
  }

  template <typename Body>
  void blocks(const Body& body) {
    size_t first = static_cast<size_t>(code_.k_dims.front());
    e_.loop(lower_[first], upper_[first], code_.block_rows, [&](Value* from) {
      body(from, minimum(e_.b.CreateAdd(from, e_.number(code_.block_rows)), upper_[first]));
    });
  }

  // Lanes across columns: for a few k at a time, all columns of the strip.
  void strips() {
    size_t n = static_cast<size_t>(n_dim_);
    Value* columns = e_.b.CreateSub(upper_[n], lower_[n]);
    Value* whole = e_.b.CreateAnd(columns, e_.i64(-e_.lanes));
    Value* zero = llvm::Constant::getNullValue(e_.vector(e_.b.getFloatTy()));
    blocks([&](Value* from, Value* to) {
      for (int row = 0; row < code_.rows; ++row)
        e_.loop(e_.i64(0), columns, e_.lanes,
                [&](Value* v) { store_vector(zero, at(block_, strip_offset(row, v))); });
      around_k(0, from, to, e_.i64(0), [&](Value* k_from, Value* k_to, Value* flat) {
        Value* split =
            e_.b.CreateAdd(k_from, e_.b.CreateAnd(e_.b.CreateSub(k_to, k_from), e_.i64(-kDepth)));
        e_.loop(k_from, split, kDepth, [&](Value* k) { strip_rows(k, flat, kDepth, whole); });
        e_.loop(split, k_to, 1, [&](Value* k) { strip_rows(k, flat, 1, whole); });
        // The columns that do not fill a vector.
        e_.loop(whole, columns, e_.lanes, [&](Value* v) {
          Value* mask = mask_of(e_.b.CreateSub(columns, v));
          e_.loop(k_from, k_to, 1, [&](Value* k) {
            weights_->index[static_cast<size_t>(k_dim_)] = k;
            Value* at_k = e_.b.CreateAdd(flat, k);
            for (int first = 0; first < code_.rows; first += rows_together())
              column_step(at_k, v, first, 1, mask, {});
          });
        });
      });
      for (int row = 0; row < code_.rows; ++row)
        e_.loop(e_.i64(0), columns, e_.lanes, [&](Value* v) {
          Value* total = sums(row, v);
          store_vector(
              e_.b.CreateFAdd(load_vector(total), load_vector(at(block_, strip_offset(row, v)))),
              total);
        });
    });
  }

  Value* strip_offset(int row, Value* v) {
    return e_.b.CreateAdd(v, e_.i64(row * dot_strip(code_.rows)));
  }

  void strip_rows(Value* k, Value* flat, int64_t depth, Value* columns) {
    weights_->index[static_cast<size_t>(k_dim_)] = k;
    Value* at_k = e_.b.CreateAdd(flat, k);
    for (int first = 0; first < code_.rows; first += rows_together()) {
      // With one row the activations fit in registers for the whole strip.
      std::vector<Value*> kept;
      if (code_.rows == 1)
        for (int64_t u = 0; u < depth; ++u) kept.push_back(activation(first, at_k, u));
      e_.loop(e_.i64(0), columns, e_.lanes,
              [&](Value* v) { column_step(at_k, v, first, depth, nullptr, kept); });
    }
  }

  // Adds `depth` products to the sums of one vector of columns, for the rows that go together from
  // `first` on.
  void column_step(Value* at_k, Value* v, int first, int64_t depth, Value* mask,
                   const std::vector<Value*>& kept) {
    int rows = std::min(rows_together(), code_.rows - first);
    weights_->index[static_cast<size_t>(n_dim_)] =
        e_.b.CreateAdd(lower_[static_cast<size_t>(n_dim_)], v);
    weights_->block(static_cast<int>(depth), 1, mask);
    if (depth == kDepth && first == 0) weights_->prefetch(static_cast<int>(depth), kDepth);
    std::vector<Value*> acc;
    for (int r = 0; r < rows; ++r)
      acc.push_back(load_vector(at(block_, strip_offset(first + r, v))));
    for (int64_t u = 0; u < depth; ++u) {
      Value* w = weight_value(static_cast<int>(u));
      for (int r = 0; r < rows; ++r) {
        Value* x = kept.empty() ? activation(first + r, at_k, u) : kept[static_cast<size_t>(u)];
        acc[static_cast<size_t>(r)] = e_.fma(x, w, acc[static_cast<size_t>(r)]);
      }
    }
    for (int r = 0; r < rows; ++r)
      store_vector(acc[static_cast<size_t>(r)], at(block_, strip_offset(first + r, v)));
  }

  // Rows whose sums stay in registers while weights pass by.
  int rows_together() const {
    int registers_each = std::max(1, e_.lanes * 4 / e_.host.vector_bytes);
    return std::max(1, std::min(8, (e_.host.vector_registers - 6) / registers_each));
  }

  // Lanes along k: squares of columns and k are turned into vectors across columns, by way of the
  // stack.
  void tiles() {
    size_t n = static_cast<size_t>(n_dim_);
    e_.loop(lower_[n], upper_[n], e_.lanes, [&](Value* column) {
      Value* offset = e_.b.CreateSub(column, lower_[n]);
      Value* zero = llvm::Constant::getNullValue(e_.vector(e_.b.getFloatTy()));
      blocks([&](Value* from, Value* to) {
        for (int row = 0; row < code_.rows; ++row)
          store_vector(zero, at(block_, e_.i64(row * e_.lanes)));
        around_k(0, from, to, e_.i64(0), [&](Value* k_from, Value* k_to, Value* flat) {
          Value* split = e_.b.CreateAdd(
              k_from, e_.b.CreateAnd(e_.b.CreateSub(k_to, k_from), e_.i64(-e_.lanes)));
          int together = rows_together();
          for (int first = 0; first < code_.rows; first += together) {
            int rows = std::min(together, code_.rows - first);
            std::vector<Value*> acc;
            for (int r = 0; r < rows; ++r)
              acc.push_back(load_vector(at(block_, e_.i64((first + r) * e_.lanes))));
            acc = e_.loop_carrying(
                k_from, split, e_.lanes, acc, [&](Value* k, std::vector<Value*> carried) {
                  fill_tile(column, k, nullptr);
                  return tile_step(e_.b.CreateAdd(flat, k), e_.i64(e_.lanes), 4, first, carried);
                });
            acc = e_.loop_carrying(
                split, k_to, e_.lanes, acc, [&](Value* k, std::vector<Value*> carried) {
                  Value* rest = e_.b.CreateSub(k_to, k);
                  fill_tile(column, k, mask_of(rest));
                  return tile_step(e_.b.CreateAdd(flat, k), rest, 1, first, carried);
                });
            for (int r = 0; r < rows; ++r)
              store_vector(acc[static_cast<size_t>(r)], at(block_, e_.i64((first + r) * e_.lanes)));
          }
        });
        for (int row = 0; row < code_.rows; ++row) {
          Value* total = sums(row, offset);
          store_vector(
              e_.b.CreateFAdd(load_vector(total), load_vector(at(block_, e_.i64(row * e_.lanes)))),
              total);
        }
      });
    });
  }

  // Adds `count` vectors of the tile times activations to the sums of rows from `first` on.
  std::vector<Value*> tile_step(Value* at_k, Value* count, int64_t step, int first,
                                std::vector<Value*> sums) {
    return e_.loop_carrying(
        e_.i64(0), count, step, std::move(sums), [&](Value* u, std::vector<Value*> carried) {
          for (int64_t i = 0; i < step; ++i) {
            Value* number = e_.b.CreateAdd(u, e_.i64(i));
            Value* w = load_vector(at(tile_, e_.b.CreateMul(number, e_.i64(e_.lanes))));
            for (size_t r = 0; r < carried.size(); ++r) {
              Value* x = activation(first + static_cast<int>(r), e_.b.CreateAdd(at_k, u), i);
              carried[r] = e_.fma(x, w, carried[r]);
            }
          }
          return carried;
        });
  }

  // The tile: for each k of k..k+lanes a vector across columns. Columns that do not exist repeat
  // the last one.
  void fill_tile(Value* column, Value* k, Value* mask) {
    size_t n = static_cast<size_t>(n_dim_);
    Value* last = e_.b.CreateSub(upper_[n], e_.i64(1));
    weights_->index[static_cast<size_t>(k_dim_)] = k;
    std::vector<Value*> rows;
    if (!mask && operations_per_element(nest_.expr) <= 4) {
      for (int u = 0; u < e_.lanes; ++u)
        rows.push_back(row_along_k(minimum(e_.b.CreateAdd(column, e_.i64(u)), last), mask));
    } else {
      e_.loop(e_.i64(0), e_.i64(e_.lanes), 1, [&](Value* u) {
        Value* row = row_along_k(minimum(e_.b.CreateAdd(column, u), last), mask);
        store_vector(row, at(tile_, e_.b.CreateMul(u, e_.i64(e_.lanes))));
      });
      for (int u = 0; u < e_.lanes; ++u)
        rows.push_back(load_vector(at(tile_, e_.i64(u * e_.lanes))));
    }
    rows = transpose_lanes(e_, std::move(rows));
    for (int u = 0; u < e_.lanes; ++u)
      store_vector(rows[static_cast<size_t>(u)], at(tile_, e_.i64(u * e_.lanes)));
  }

  Value* row_along_k(Value* column, Value* mask) {
    weights_->index[static_cast<size_t>(n_dim_)] = column;
    weights_->scalars(weights_->levels() - 1);
    weights_->block(1, e_.lanes, mask);
    return weight_value(0);
  }

  static constexpr int64_t kDepth = 8;  // k at a time between loads and stores of the sums
  Emit& e_;
  const SmallDotCode& code_;
  const LoopNest& nest_;
  size_t rank_ = 0;
  int n_dim_ = 0, k_dim_ = 0, k_level_ = 0;
  ExprEmitter* weights_ = nullptr;
  std::vector<Value*> lower_, upper_, x_rows_;
  Value* block_ = nullptr;
  Value* tile_ = nullptr;
};

}  // namespace

// Within blocks of four lanes by unpacking and halves, as processors do them; then blocks of four
// among vectors.
std::vector<Value*> transpose_lanes(Emit& e, std::vector<Value*> rows) {
  int lanes = e.lanes, blocks = lanes / 4;
  auto shuffled = [&](Value* a, Value* b, const std::array<int, 4>& pattern) {
    std::vector<int> mask;  // pattern: lane within the block, plus 4 for the second vector
    for (int block = 0; block < blocks; ++block)
      for (int p : pattern) mask.push_back(4 * block + p % 4 + (p >= 4 ? lanes : 0));
    return e.b.CreateShuffleVector(a, b, mask);
  };
  // quad[g][j]: in block b the elements of rows 4g..4g+3 in lane 4b + j.
  std::vector<std::array<Value*, 4>> quad;
  for (int g = 0; g < blocks; ++g) {
    Value** r = rows.data() + 4 * g;
    Value* low01 = shuffled(r[0], r[1], {0, 4, 1, 5});
    Value* high01 = shuffled(r[0], r[1], {2, 6, 3, 7});
    Value* low23 = shuffled(r[2], r[3], {0, 4, 1, 5});
    Value* high23 = shuffled(r[2], r[3], {2, 6, 3, 7});
    quad.push_back({shuffled(low01, low23, {0, 1, 4, 5}), shuffled(low01, low23, {2, 3, 6, 7}),
                    shuffled(high01, high23, {0, 1, 4, 5}),
                    shuffled(high01, high23, {2, 3, 6, 7})});
  }
  std::vector<Value*> result(rows.size());
  for (size_t j = 0; j < 4; ++j) {
    // Blocks as elements of a square matrix of side `blocks`: transpose by rounds of exchanges.
    std::vector<Value*> line;
    for (int g = 0; g < blocks; ++g) line.push_back(quad[static_cast<size_t>(g)][j]);
    for (int half = 1; half < blocks; half *= 2) {
      std::vector<Value*> next(line.size());
      for (int i = 0; i < blocks; ++i) {
        if (i & half) continue;
        std::vector<int> low, high;
        for (int block = 0; block < blocks; ++block)
          for (int lane = 0; lane < 4; ++lane) {
            low.push_back(4 * (block & half ? block ^ half : block) + lane +
                          (block & half ? lanes : 0));
            high.push_back(4 * (block & half ? block : block ^ half) + lane +
                           (block & half ? lanes : 0));
          }
        size_t a = static_cast<size_t>(i), b = static_cast<size_t>(i + half);
        next[a] = e.b.CreateShuffleVector(line[a], line[b], low);
        next[b] = e.b.CreateShuffleVector(line[a], line[b], high);
      }
      line = std::move(next);
    }
    for (size_t block = 0; block < line.size(); ++block) result[4 * block + j] = line[block];
  }
  return result;
}

void emit_small_dot(llvm::Module& module, const Host& host, const std::string& name,
                    const SmallDotCode& code) {
  Emit e(module, host);
  llvm::Type* pointer = e.b.getPtrTy();
  e.function = llvm::Function::Create(
      llvm::FunctionType::get(e.b.getVoidTy(),
                              {pointer, pointer, pointer, pointer, pointer, pointer}, false),
      llvm::Function::ExternalLinkage, name, module);
  e.numbers = e.function->getArg(5);
  e.b.SetInsertPoint(llvm::BasicBlock::Create(e.context, "entry", e.function));
  // Where vectors are short, several rows at a time need the registers.
  if (host.vector_bytes < 64 && code.rows > 4) e.lanes = 8;
  DotEmitter(e, code).emit();
}

}  // namespace ullage::cpu
