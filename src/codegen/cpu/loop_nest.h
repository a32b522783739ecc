// A loop kernel as code generation sees it: dimensions of extent 1 dropped, adjacent dimensions
// merged where every access allows, an order of loops chosen and the vector dimension put last.
// Extents are used at run time only; the expression and the order decide the code. No LLVM here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel_graph.h"

namespace ullage {

inline constexpr int kLanes = 16;  // elements of a vector value, whatever their type

struct LoopNest {
  std::vector<int64_t> extents;
  std::vector<int>
      groups;  // dimensions merge within a group only: roles of loops, parts of products
  std::vector<LoopRole> roles;  // of loop kernels
  Expr expr;
  std::vector<KernelOutput> outputs;
  // The piece [lower, upper) of the kernel's cut_dim is [lower * rows_scale, upper * rows_scale) of
  // dimension rows_dim; rows_dim is -1 when that dimension had extent 1 or was not parallel.
  // Likewise for the first reduced one.
  int rows_dim = -1;
  int64_t rows_scale = 1;
  int reduced_dim = -1;
  int64_t reduced_scale = 1;
  std::vector<int> dim_of;  // dimension of the nest for each of the kernel, -1 when dropped
  std::vector<int64_t>
      scale_of;  // index of the kernel's dimension times this is part of that index of the nest
  std::vector<int> order;  // loops, outermost first; without the vector dimension
  int vector_dim = -1;     // -1 when there are no dimensions
  // Of loops: some operand is contiguous along this dimension instead of the vector dimension, so
  // squares of both are transposed in registers. It is the last of `order`. -1: none.
  int tile_dim = -1;
  bool small_index = false;  // every index expression fits i32

  int64_t elements() const;
};

// Everything that refers to loop dimensions, to be rewritten together.
struct DimMap {
  // New dimension of each old one, -1 when dropped; `leads` says that the old dimension's
  // coefficient is the new one's.
  std::vector<int> target;
  std::vector<bool> leads;
  int rank = 0;
};
void remap(Affine& affine, const DimMap& map);
void remap(Expr& expr, const DimMap& map);
void remap(std::vector<KernelOutput>& outputs, const DimMap& map);

// Drops dimensions of extent 1 and merges neighbours of the same group where every access allows.
// Nothing outside `outermost` is merged with it, so that it can be cut.
LoopNest collapse(const std::vector<int64_t>& extents, const std::vector<int>& groups,
                  const Expr& expr, const std::vector<KernelOutput>& outputs, int outermost = 0);

// Drops and merges dimensions; the order is left as it is, with the last parallel dimension as the
// vector dimension unless another makes more accesses contiguous.
LoopNest make_loop_nest(const LoopKernel& kernel);

// Whether a load is contiguous along `tile` but not along `vector`, with nothing else in the way of
// transposing squares.
bool is_transposed_load(const Expr& expr, const std::vector<uint64_t>& depends, size_t node,
                        int vector, int tile);

// Which of `dims` makes most accesses contiguous; the last one wins ties.
int best_vector_dim(const LoopNest& nest, const std::vector<int>& dims);

// Nodes that `roots` need, including guards and dynamic indices.
std::vector<bool> needed_nodes(const Expr& expr, const std::vector<int32_t>& roots);

// Bit d set: the node's value depends on loop dimension d (at most 64 dimensions).
std::vector<uint64_t> dependences(const Expr& expr);

// Largest value an affine expression takes over the extents, in absolute terms.
int64_t affine_bound(const Affine& affine, const std::vector<int64_t>& extents);

// Text that is equal for expressions that give the same code.
void append_key(std::string& key, const Expr& expr);
void append_key(std::string& key, const Access& access);
void append_key(std::string& key, const LoopNest& nest);  // all but its extents
void append_key(std::string& key, int64_t value);

}  // namespace ullage
