// Structural equality of programs: functions, arguments, operations, types and attributes, in
// order; not names of values and not locations. Called by tests of writers and readers.
#pragma once

#include <string>

#include "ir/ir.h"

namespace ullage {

// When the two differ and `why` is given, it says where they first do.
bool equal(const Module& a, const Module& b, std::string* why = nullptr);
bool equal(const Function& a, const Function& b, std::string* why = nullptr);

}  // namespace ullage
