#include "pjrt/optimized_text.h"

#include "driver/disabled.h"
#include "normalize/normalize.h"
#include "syntax/reader.h"
#include "syntax/writer.h"

namespace ullage::pjrt {

namespace {

// Makes operations that StableHLO does not have.
constexpr std::string_view kOwnOperations = "contract-multiply-add";

void remove_shardings(NamedAttributes& attributes) {
  std::erase_if(attributes,
                [](const NamedAttribute& attribute) { return attribute.name.starts_with("sdy."); });
}

}  // namespace

Result<std::string> optimized_text(const std::string& artifact, const CompileSettings& settings) {
  Result<std::unique_ptr<Module>> read = read_module(artifact, "program");
  if (!read) return read.diagnostics();
  Module& module = **read;
  Result<Disabled> disabled = Disabled::make(settings.disabled, module);
  if (!disabled) return disabled.diagnostics();
  Status status = normalize(module, {}, [&](std::string_view pass, const Function* function) {
    if (pass == kOwnOperations) return false;
    return function ? !disabled->in_function(pass, function->name) : !disabled->everywhere(pass);
  });
  if (!status) return status.diagnostics();
  module.meshes.clear();
  for (const auto& function : module.functions) {
    for (ArgumentInfo& info : function->argument_info) remove_shardings(info.extra);
    for (NamedAttributes& extra : function->result_extra) remove_shardings(extra);
    walk(function->body(), [](Op* op) { remove_shardings(op->extra); });
  }
  return write_text(module, {.locations = true});
}

}  // namespace ullage::pjrt
