// What the regions of a loop or conditional read from outside.
#pragma once

#include <vector>

#include "ir/ir.h"

namespace ullage {

// Values from outside that the operation's regions read, each once. Splat constants among them have
// no buffer: they are copied into the regions instead.
std::vector<Value*> capture_values(Op& op);

}  // namespace ullage
