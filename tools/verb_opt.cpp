// ullage opt FILE: prints the program after passes or at a phase.
#include <fmt/format.h>

#include <algorithm>

#include "compile_settings.h"
#include "driver/dump.h"
#include "syntax/reader.h"
#include "syntax/writer.h"

namespace ullage {

int run_opt(const VerbCall& call) {
  CompileSettings settings = compile_settings(call);
  std::vector<std::string_view> phases = phase_names();
  if (!settings.stop_after.empty() &&
      std::find(phases.begin(), phases.end(), settings.stop_after) == phases.end()) {
    std::string known;
    for (std::string_view phase : phases) known += (known.empty() ? "" : ", ") + std::string(phase);
    return fail({error(fmt::format("there is no phase named \"{}\"", settings.stop_after), {},
                       "phases: " + known)});
  }
  if (settings.stop_after == "kernels" || settings.stop_after == "plan") {
    Result<std::unique_ptr<PlannedProgram>> planned = plan_operand(call, settings);
    if (!planned) return fail(planned.diagnostics());
    if (settings.stop_after == "kernels") {
      fmt::print("{}", to_string((*planned)->graph));
      return kExitFine;
    }
    if (!(*planned)->outcome.plan) return refuse(call, **planned);
    fmt::print("{}", describe(*(*planned)->outcome.plan));
    return kExitFine;
  }
  Result<std::string> text = read_program(call, call.operands[0]);
  if (!text) return fail(text.diagnostics());
  Result<std::unique_ptr<Module>> module = read_module(*text, shown_path(call.operands[0]));
  if (!module) return fail(module.diagnostics());
  module = transform_program(std::move(*module), settings, call.options.list(Opt::passes));
  if (!module) return fail(module.diagnostics());
  fmt::print("{}", write_text(**module));
  return kExitFine;
}

}  // namespace ullage
