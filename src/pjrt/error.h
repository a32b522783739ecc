// Errors that cross the interface, and the one place where exceptions of the compiler and of the
// user's callbacks become errors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pjrt/abi.h"
#include "support/diagnostics.h"

namespace ullage::pjrt {

struct Error {
  Code code = kUnknown;
  std::string message;
};

Error* make_error(Code code, std::string message);
Error* make_error(Code code, const std::vector<Diagnostic>& diagnostics);

// Runs `body` and turns what it throws into an error: nothing may be thrown through jaxlib.
Error* guarded(const std::function<Error*()>& body);

}  // namespace ullage::pjrt
