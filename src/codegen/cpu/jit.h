// Machine code from LLVM modules. A JitUnit is one function and how to emit it; units are spread
// over modules, and the modules are compiled on several threads, each with its own LLVM context. No
// optimiser runs: what is emitted is already vector code. Called by compile.cpp only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/cpu/host.h"
#include "support/diagnostics.h"

namespace llvm {
class Module;
}

namespace ullage {

struct JitUnit {
  std::string name;  // of the function; unique
  std::function<void(llvm::Module&, const Host&, const std::string& name)> emit;
  double weight = 1;  // relative cost of compiling it
};

// Executable memory; functions stay valid as long as it lives.
class JitCode {
 public:
  virtual ~JitCode() = default;
  void* find(const std::string& name) const {
    auto found = functions.find(name);
    return found == functions.end() ? nullptr : found->second;
  }
  std::unordered_map<std::string, void*> functions;
};

struct JitOptions {
  int threads = 1;
  IsaLevel isa = IsaLevel::avx512;  // at most
  bool print_ir = false;            // to stderr, for people debugging code generation
};

// An object file with the functions of the units, which may be linked anywhere.
Result<std::string> compile_object(const std::vector<const JitUnit*>& units, const Host& host);
// Names that an object file needs from elsewhere.
Result<std::vector<std::string>> undefined_symbols(const std::string& object);

Result<std::shared_ptr<const JitCode>> jit_compile(const std::vector<JitUnit>& units,
                                                   const JitOptions& options);

// The symbols that generated code may call, by name (math_runtime.cpp).
void* runtime_symbol(const std::string& name);

}  // namespace ullage
