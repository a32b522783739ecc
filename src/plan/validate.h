// Checks a plan against the definition of a valid one, knowing nothing of how plans are made:
// buffers that live at the same time do not overlap; every step finds in its operands' buffers
// exactly the values its kernel reads; nothing is overwritten in place unless the kernel permits
// it; at the end the outputs are there and kept arguments are unchanged.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace ullage {

// Violations in words; empty for a valid plan. `budget_bytes` below 0 means no budget.
std::vector<std::string> validate(const Plan& plan, int64_t budget_bytes = -1);

}  // namespace ullage
