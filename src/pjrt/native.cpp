// What the Python half (python/jax_plugins/ullage/native.py) asks of the plugin beside the PJRT
// interface: callbacks into Python, handlers of custom calls, and memory reports.
#include "pjrt/native.h"

#include <nlohmann/json.hpp>

#include "driver/session.h"
#include "pjrt/compile_options.h"
#include "pjrt/error.h"
#include "pjrt/objects.h"
#include "report/html_report.h"
#include "runtime/host_call.h"
#include "syntax/reader.h"

namespace ullage::pjrt {

namespace {

nlohmann::json to_json(const MemoryReport& memory, const PlanReport& plan) {
  nlohmann::json live = nlohmann::json::array(), decisions = nlohmann::json::array();
  for (const LiveValue& value : memory.live)
    live.push_back({{"name", value.name},
                    {"shape", value.shape},
                    {"source", value.source},
                    {"why", value.why},
                    {"remedy", value.remedy},
                    {"bytes", value.bytes}});
  for (const MemoryReport::Decision& decision : memory.decisions)
    decisions.push_back({{"move", decision.move},
                         {"what", decision.what},
                         {"source", decision.source},
                         {"bytes", decision.bytes},
                         {"count", decision.count},
                         {"seconds", decision.seconds}});
  nlohmann::json budget = nullptr;
  if (plan.budget_bytes) budget = *plan.budget_bytes;
  return {{"program", plan.program},
          {"budget_bytes", budget},
          {"argument_bytes", plan.argument_bytes},
          {"output_bytes", plan.output_bytes},
          {"alias_bytes", plan.alias_bytes},
          {"constant_bytes", plan.constant_bytes},
          {"temp_bytes", plan.temp_bytes},
          {"planned_peak_bytes", plan.planned_peak_bytes},
          {"lower_bound_bytes", plan.lower_bound_bytes},
          {"recompute_flops_ratio", plan.recompute_flops_ratio},
          {"predicted_seconds", memory.predicted_seconds},
          {"peak_moment", memory.peak_moment},
          {"live", live},
          {"decisions", decisions}};
}

Result<std::string> report(std::string_view program, std::string_view options,
                           std::string_view what) {
  CompileSettings defaults;
  if (Status status = environment_settings(defaults); !status) return status.diagnostics();
  Result<CompileRequest> request = parse_compile_options(options, defaults);
  if (!request) return request.diagnostics();
  Result<std::unique_ptr<Module>> module = read_module(program, "program");
  if (!module) return module.diagnostics();
  std::string name = (*module)->name;
  Result<std::unique_ptr<PlannedProgram>> planned =
      plan_program(std::move(*module), request->settings);
  if (!planned) return planned.diagnostics();
  if (!(*planned)->outcome.plan) {
    RefusalReport refusal = refusal_report(name, **planned);
    refusal.budget_option = "memory_budget={}";
    return error(to_text(refusal));
  }
  MemoryReport memory = memory_report(**planned);
  if (what == "text") return to_text(memory);
  if (what == "html")
    return to_html(memory, *(*planned)->outcome.plan, (*planned)->module->locations,
                   "Memory of " + name);
  PlanReport plan = plan_report(name, **planned, 0);
  plan.budget_bytes = request->settings.budget_bytes;
  return to_json(memory, plan).dump();
}

using Receive = void (*)(const char* text, size_t size);

int32_t describe(const char* program, size_t program_size, const char* options, size_t options_size,
                 const char* what, Receive receive) {
  bool fine = false;
  Error* failed = guarded([&]() -> Error* {
    Result<std::string> text = report({program, program_size}, {options, options_size}, what);
    if (!text) return make_error(kInvalidArgument, text.diagnostics());
    receive(text->data(), text->size());
    fine = true;
    return nullptr;
  });
  if (failed) receive(failed->message.data(), failed->message.size());
  delete failed;
  return fine ? 0 : 1;
}

void add_target(const char* name, void* handler) {
  register_host_target(name, handler);
}

struct NativeTable {
  Extension head;
  void (*set_callback)(PythonCallback);
  void (*set_interrupted)(Interrupted);
  void (*register_target)(const char*, void*);
  int32_t (*describe)(const char*, size_t, const char*, size_t, const char*, Receive);
};

}  // namespace

const Extension* native_extension(const Extension* next) {
  static NativeTable table = {{sizeof(NativeTable), kNativeExtension, nullptr},
                              set_python_callback,
                              ullage::set_interrupted,
                              add_target,
                              describe};
  table.head.next = next;
  return &table.head;
}

}  // namespace ullage::pjrt
