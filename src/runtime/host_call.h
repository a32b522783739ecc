// What a program calls in its host process: Python callbacks and handlers that the user registered
// by name. A call that fails throws; the run ends and whoever started it reports the failure.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ullage {

class HostCallError : public std::runtime_error {
 public:
  // `code` is one of the status codes that the caller of the run knows.
  HostCallError(int32_t code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  int32_t code() const { return code_; }

 private:
  int32_t code_;
};

}  // namespace ullage
