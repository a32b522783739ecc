// ullage options: the registry, for people or as the page of the documentation.
#include <fmt/format.h>

#include "verbs.h"

namespace ullage {

int run_options(const VerbCall& call) {
  if (call.options.flag(Opt::markdown)) {
    fmt::print("{}", options_markdown());
    return kExitFine;
  }
  for (const OptionInfo& option : option_registry())
    fmt::print("--{:<16} {:<20} {}\n", option.name, option.verbs, option.help);
  return kExitFine;
}

}  // namespace ullage
