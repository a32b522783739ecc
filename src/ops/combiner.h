// What a reduction combines elements with.
#pragma once

#include <optional>

#include "ir/ir.h"

namespace ullage {

// The operation that combines two elements, if the body of the reduction is just that, on both
// arguments in any order, and it is one of add, multiply, maximum, minimum, and_, or_, xor_.
std::optional<OpKind> plain_combiner(const Op& reduction);

}  // namespace ullage
