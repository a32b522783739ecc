// The names that StableHLO's printer gives to values, for programs that come without: %arg0, %cst,
// %c_1, %iterArg, %12. A reader of bytecode uses them, so that reports on a program name the same
// values as its printed text does.
#pragma once

#include "ir/ir.h"

namespace ullage::syntax {

void name_values(Function& function);

}  // namespace ullage::syntax
