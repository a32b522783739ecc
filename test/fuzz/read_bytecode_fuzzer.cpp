// Whatever the bytes: reading them as bytecode ends with a program or with exactly one diagnostic
// that names a byte. A program that was read can be verified, and written if it is right. Seeds are
// artifacts such as those of shared/conformance/bytecode.
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "ops/verify.h"
#include "syntax/bytecode.h"
#include "syntax/writer.h"

namespace {

[[noreturn]] void wrong(const std::string& what) {
  std::cerr << what << "\n";
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ullage;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto module = read_bytecode(bytes, "fuzz.mlirbc");
  if (module) {
    if (verify(**module) && write_text(**module).empty()) wrong("nothing was written");
    return 0;
  }
  if (module.diagnostics().size() != 1)
    wrong("not one diagnostic: " + to_string(module.diagnostics()));
  if (!module.diagnostics()[0].message.starts_with("byte "))
    wrong("no place: " + to_string(module.diagnostics()));
  return 0;
}
