// A copy of a whole program, for whoever wants to change it and keep the original.
#pragma once

#include <memory>

#include "ir/ir.h"

namespace ullage {

std::unique_ptr<Module> copy_module(const Module& module);

}  // namespace ullage
