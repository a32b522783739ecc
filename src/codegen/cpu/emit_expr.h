// Evaluates an expression inside loops that the caller builds. Nodes that do not depend on the
// vector dimension are computed once per iteration of the deepest loop they depend on, as scalars,
// by scalars(level); the others by block(), for several vectors at once: each node for all of them
// before the next node, so that long dependent chains overlap. The vectors of a block follow each
// other along `unroll_dim`: the vector dimension itself, or a loop around it.
#pragma once

#include <array>

#include "codegen/cpu/emit.h"

namespace ullage::cpu {

class ExprEmitter {
 public:
  struct Loops {
    std::vector<int> order;  // loops around the block, outermost first
    int vector_dim = -1;     // -1: everything is scalar
    int unroll_dim = -1;
  };

  // `outputs` may be null; their store addresses are prepared like those of loads. Bounds of index
  // expressions within i32 make `small_index`.
  ExprEmitter(Emit& e, const Expr& expr, const std::vector<int32_t>& roots,
              const std::vector<KernelOutput>* outputs, Loops loops, bool small_index);

  // Loads the addresses of the buffers; output k is buffer first_output + k.
  void bind(llvm::Value* buffers, int first_output);

  std::vector<DType> stored_dtypes;  // of the outputs, where not those of their nodes

  std::vector<llvm::Value*>
      index;  // per dimension: the loop counter (i64), or the first index of the block

  // Nodes of `level`: 0 before all loops, k inside order[0..k).
  void scalars(int level);
  int levels() const { return static_cast<int>(loops_.order.size()) + 1; }

  // Starts a block of `unroll` vectors, `stride` indices apart along unroll_dim. mask: lanes that
  // exist, or null for all.
  void block(int unroll, int64_t stride, llvm::Value* mask);
  // Transposes the squares of lanes x lanes that begin at the current indices of `tile_dim` and the
  // vector dimension, for every load that is contiguous along the former; use_tiles(u) then makes
  // block() take their row u, until use_tiles(null).
  void fill_tiles(int tile_dim);
  void use_tiles(llvm::Value* row) { tile_row_ = row; }

  // The value of a node in vector u: a scalar if it does not depend on the vector dimension.
  llvm::Value* value(int32_t node, int u);
  llvm::Value* vector_value(int32_t node, int u);
  void store(int output, llvm::Value* held, DType dtype, int u);
  // Whether output k and the next one take turns in memory along the vector dimension, as the parts
  // of complex numbers do; then both are stored at once.
  bool takes_turns(int output) const;
  void store_turns(int output, llvm::Value* first, llvm::Value* second, DType dtype, int u);
  // The stored element at output k's address, as held.
  llvm::Value* load_output(int output, DType dtype, int u);
  // The part of output k's offset that comes from dynamic terms and from the dimensions in `dims`,
  // per lane if it differs between them.
  llvm::Value* store_offset(int output, uint64_t dims, int u);
  llvm::Value* output_buffer(int output) { return output_buffers_[static_cast<size_t>(output)]; }
  // From here on stores and load_output leave out these lanes too, until the next block.
  void narrow_mask(llvm::Value* lanes) { mask_ = mask_ ? e_.b.CreateAnd(mask_, lanes) : lanes; }

  // Asks for the lines that this block's contiguous loads would need `ahead` indices further along
  // unroll_dim.
  void prefetch(int unroll, int64_t ahead);

  // For accumulator and parameter nodes: the held value, per vector.
  std::vector<std::vector<llvm::Value*>> parameters;  // [number][u]; an accumulator is number 0

  bool is_block_node(int32_t node) const {
    return (depends_[static_cast<size_t>(node)] & block_mask_) != 0;
  }
  bool is_vector_node(int32_t node) const {
    return (depends_[static_cast<size_t>(node)] & vector_mask_) != 0;
  }

 private:
  struct Place {  // an address, split into what is known outside the block and what is not
    llvm::Value* base = nullptr;
    int level = 0;
  };
  int level_of(uint64_t depends) const;
  void emit_bases(int level);
  llvm::Value* outer_address(const Access& access, llvm::Value* buffer, llvm::Type* element);
  // Address of lane 0 in vector u, and the coefficient of the lane number; `offsets` are further
  // offsets per lane.
  llvm::Value* block_address(const Access& access, llvm::Value* base, llvm::Type* element, int u,
                             int64_t& lane_stride, llvm::Value*& offsets);
  // The same for the place of output k.
  llvm::Value* output_address(int output, llvm::Type* element, int u, int64_t& lane_stride,
                              llvm::Value*& offsets);
  llvm::Value* emit_node(int32_t node, int u);
  llvm::Value* emit_load(int32_t node, int u);
  llvm::Value* emit_scalar_load(int32_t node);
  llvm::Value* load_lanes(llvm::Value* address, llvm::Type* element, int64_t lane_stride,
                          llvm::Value* offsets, llvm::Value* mask);
  void store_lanes(llvm::Value* address, llvm::Value* value, int64_t lane_stride,
                   llvm::Value* offsets, llvm::Value* mask);
  llvm::Value* affine_value(const Access& access, int64_t less, bool vector, DType as, int u);
  llvm::Value* index_at(int dim, int u);
  llvm::Value* operand(int32_t node, bool vector, int u);

  Emit& e_;
  const Expr& expr_;
  const std::vector<KernelOutput>* outputs_;
  Loops loops_;
  bool small_index_;
  std::vector<bool> needed_;
  std::vector<uint64_t> depends_;
  uint64_t vector_mask_ = 0, block_mask_ = 0;
  std::vector<llvm::Value*> buffers_;  // per input
  std::vector<llvm::Value*> output_buffers_;
  std::vector<llvm::Value*> scalar_, splat_;  // per node, of the current enclosing iteration
  std::vector<std::vector<llvm::Value*>> block_values_;  // per node and vector
  std::vector<Place> load_places_, store_places_;
  std::vector<llvm::Value*> tiles_;  // per node, on the stack
  llvm::Value* tile_row_ = nullptr;
  int unroll_ = 1;
  int64_t unroll_stride_ = 0;
  llvm::Value* mask_ = nullptr;
};

// A region's results for these held parameters, scalars or vectors. A parameter that the results do
// not need may be null.
std::vector<llvm::Value*> emit_body(Emit& e, const Expr& body, const std::vector<int32_t>& results,
                                    const std::vector<llvm::Value*>& parameters);

// How many vectors to interleave: as many as registers hold, fewer for long expressions.
int choose_unroll(const Expr& expr, const std::vector<bool>& needed, const Host& host,
                  uint64_t vector_mask);

}  // namespace ullage::cpu
