// The programs whose kernels are part of the binary: operations as people try them one at a time,
// each on arrays of every form that makes code of its own. What differs in sizes only shares it.
#pragma once

#include <string>
#include <vector>

namespace ullage {

std::vector<std::string> precompiled_programs();

}  // namespace ullage
