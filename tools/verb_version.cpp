// ullage version.
#include <fmt/format.h>

#include "verbs.h"

namespace ullage {

int run_version(const VerbCall&) {
  fmt::print("ullage {}\n", ULLAGE_VERSION);
  return kExitFine;
}

}  // namespace ullage
