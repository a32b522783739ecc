// What a program calls in its host process: Python functions, and handlers that users registered by
// name. One table for the process, because handlers are registered before any program is loaded. A
// call that fails throws; the run ends and whoever started it reports the failure.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

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

// Calls of this target are Python functions, told apart by the attribute "index".
inline constexpr std::string_view kPythonCallbackTarget = "ullage_python_callback";

// A call of this target does nothing: what it names must be computed.
inline constexpr std::string_view kSinkTarget = "dce_sink";

// Calls the Python function `index` with the addresses of operands and results. Not 0: it failed,
// and `message` has a text of less than `capacity` bytes.
using PythonCallback = int32_t (*)(uint64_t index, int64_t operand_count, void* const* operands,
                                   int64_t result_count, void* const* results, char* message,
                                   int64_t capacity);
void set_python_callback(PythonCallback callback);
PythonCallback python_callback();

// `handler` follows the typed custom-call interface (codegen/cpu/ffi_abi.h).
void register_host_target(std::string name, void* handler);
// Null if there is none.
void* host_target(std::string_view name);

// Whether a program may call this target.
bool has_host_target(std::string_view name);

// Asked by long runs: whether the user wants them to end. Null: nobody asks.
using Interrupted = int32_t (*)();
void set_interrupted(Interrupted interrupted);
Interrupted interrupted_callback();

}  // namespace ullage
