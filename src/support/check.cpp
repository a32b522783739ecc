#include "support/check.h"

#include <cstring>

namespace ullage {

void internal_error(const char* file, int line, const std::string& message) {
  const char* base = std::strrchr(file, '/');
  throw InternalError(std::string(base ? base + 1 : file) + ":" + std::to_string(line) + ": " +
                      message);
}

}  // namespace ullage
