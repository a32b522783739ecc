// Operations that are others by a longer name: each function puts what an operation means in its
// place and returns true, or leaves it as it is. Called by the pass expand-operations.
#pragma once

#include "normalize/op_maker.h"

namespace ullage {

// The region of a map, on whole arrays.
bool expand_map(const Module& module, OpMaker& maker, Op* op);
// To or from elements below a byte.
bool expand_bitcast(const Module& module, OpMaker& maker, Op* op);
// As dot_general, with transposes and sums where letters ask for them.
bool expand_dot(const Module& module, OpMaker& maker, Op* op);
bool expand_einsum(const Module& module, OpMaker& maker, Op* op);
bool expand_index_select(const Module& module, OpMaker& maker, Op* op);
bool expand_batch_norm(const Module& module, OpMaker& maker, Op* op);
// Operations on elements for which there is no code of their own, on wider ones.
bool expand_narrowing_product(const Module& module, OpMaker& maker, Op* op);
bool expand_convolution(const Module& module, OpMaker& maker, Op* op);
bool expand_top_k(const Module& module, OpMaker& maker, Op* op);
bool expand_decomposition(const Module& module, OpMaker& maker, Op* op);
// A product of each group of rows, as a loop over the groups.
bool expand_ragged_dot(const Module& module, OpMaker& maker, Op* op);
// Custom calls by which exporters mark shardings, layouts and memories, and ApproxTopK, in place of
// which the exact one is taken.
bool expand_custom_call(const Module& module, OpMaker& maker, Op* op);
// Communication of one device with itself.
bool expand_collective(const Module& module, OpMaker& maker, Op* op);

}  // namespace ullage
