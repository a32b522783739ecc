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

// A name and the user's line, without the calls that led there: the same program has the same text
// wherever it is compiled.
Location without_callers(LocationTable& locations, Location location) {
  LocationData name{.kind = LocationData::Kind::name, .text = locations.label(location)};
  if (SourceRange at = locations.source(location); at.known()) {
    name.children.push_back(locations.add({.kind = LocationData::Kind::file,
                                           .text = at.file,
                                           .line = at.line,
                                           .column = at.column,
                                           .end_line = at.end_line,
                                           .end_column = at.end_column}));
    if (name.text.empty()) return name.children[0];
  }
  return name.text.empty() ? Location{} : locations.add(std::move(name));
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
    walk(function->body(), [&](Op* op) {
      remove_shardings(op->extra);
      op->location = without_callers(module.locations, op->location);
    });
  }
  return write_text(module, {.locations = true});
}

}  // namespace ullage::pjrt
