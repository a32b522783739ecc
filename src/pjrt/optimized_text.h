// A compiled program as text: the form in which it is planned and run, over whole arrays, without
// what only says how arrays are spread over devices. jaxlib shows it as HLO. Made when asked for.
#pragma once

#include <string>

#include "driver/compile.h"
#include "support/diagnostics.h"

namespace ullage::pjrt {

Result<std::string> optimized_text(const std::string& artifact, const CompileSettings& settings);

}  // namespace ullage::pjrt
