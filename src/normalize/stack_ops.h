// What loops do with stacked arrays: reading and writing one index of the first dimension. Shared
// by the passes that make stacks exist once, or not at all.
#pragma once

#include "normalize/normalize.h"

namespace ullage {

// The same integer, as far as the operations show.
bool same_index(const Value* a, const Value* b, int depth = 0);

// Whether `index` takes every value from 0 to extent - 1 once, as the loop runs: the counter
// itself, or extent - 1 minus it.
bool covers(const Value* index, const Op& loop, const CountedLoop& counted, int64_t extent);

// `op` reads (dynamic_slice) or writes (dynamic_update_slice) slice `index` of a stack: one index
// of the first dimension, all of the others. Null if it does not.
Value* slice_index(const Op& op);

// The operation that writes one slice of carried value i in each trip, all of them in the end, if
// nothing else happens to what it writes; null otherwise.
Op* stack_writer(const Op& loop, const CountedLoop& counted, size_t i);

bool is_within(const Op* op, const Region& region);

// The operation of `region` that is `op` or contains it, or null.
const Op* containing(const Op* op, const Region& region);

bool comes_before(const Op* a, const Op* b);

// The value that is the same elements under another shape, through any number of such steps that
// have no other reader.
Value* through_reshape(Value* value);

}  // namespace ullage
