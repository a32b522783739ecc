// Whatever the bytes: reading them ends with a program or with exactly one diagnostic that has a
// place. A program that was read is written, and what was written reads back as an equal program.
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "ir/equal.h"
#include "syntax/reader.h"
#include "syntax/writer.h"

namespace {

[[noreturn]] void wrong(const std::string& what) {
  std::cerr << what << "\n";
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ullage;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto module = read_text(text, "fuzz.mlir");
  if (!module) {
    if (module.diagnostics().size() != 1)
      wrong("not one diagnostic: " + to_string(module.diagnostics()));
    if (module.diagnostics()[0].where.line == 0)
      wrong("no place: " + to_string(module.diagnostics()));
    return 0;
  }
  for (bool locations : {false, true}) {
    std::string written = write_text(**module, {.locations = locations});
    auto again = read_text(written, "fuzz.mlir");
    if (!again) wrong("written text is refused: " + to_string(again.diagnostics()) + written);
    std::string why;
    if (!equal(**module, **again, &why)) wrong("written text differs: " + why + "\n" + written);
  }
  return 0;
}
