// ULLAGE_CHECK guards an invariant of Ullage itself, in every build. When it fails the program is
// wrong, not the user: it throws InternalError, which the driver turns into exit code 70 and a
// reproducer.
#pragma once

#include <stdexcept>
#include <string>

namespace ullage {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void internal_error(const char* file, int line, const std::string& message);

}  // namespace ullage

#define ULLAGE_CHECK(condition, message)                                                   \
  do {                                                                                     \
    if (!(condition)) [[unlikely]]                                                         \
      ::ullage::internal_error(__FILE__, __LINE__,                                         \
                               std::string("check failed: " #condition ": ") + (message)); \
  } while (false)
