// Compiling, and what is asked about compiled programs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "driver/session.h"
#include "pjrt/error.h"
#include "pjrt/functions.h"
#include "pjrt/objects.h"
#include "pjrt/optimized_text.h"
#include "pjrt/protobuf.h"
#include "pjrt/types.h"
#include "support/sha256.h"
#include "syntax/reader.h"

namespace ullage::pjrt {

namespace {

constexpr std::string_view kFormat = "mlir";
constexpr const char kMemoryKind[] = "device";

// Serialised executables: what was received. Loading one compiles it again. They begin with this,
// by which the Python half finds them in what jaxlib wraps around.
constexpr const char kSerialVersion[] = "ullage-executable " ULLAGE_VERSION;
constexpr uint32_t kVersionField = 1, kArtifactField = 2, kOptionsField = 3;

NamedValue figure(const char* name, double value) {
  NamedValue out{};
  out.head.struct_size = 56;
  out.name = name;
  out.name_len = std::strlen(name);
  out.kind = NamedValue::kFloat;
  out.fraction = static_cast<float>(value);
  out.count = 1;
  return out;
}

void describe(CompiledProgram& program) {
  for (const ullage::Executable::Output& output : program.code->outputs()) {
    program.output_types.push_back(element_type_of(output.type));
    size_t o = program.output_ranks.size();
    std::vector<int64_t> shape = as_seen(*program.output_layouts[o], output.type.shape);
    program.output_ranks.push_back(shape.size());
    program.output_dims.insert(program.output_dims.end(), shape.begin(), shape.end());
  }
  program.output_kinds.assign(program.output_types.size(), kMemoryKind);
  program.output_kind_lens.assign(program.output_types.size(), std::strlen(kMemoryKind));
  program.argument_kinds.assign(program.code->arguments().size(), kMemoryKind);
  program.argument_kind_lens.assign(program.code->arguments().size(), std::strlen(kMemoryKind));
  if (program.shards) {
    for (const std::string& text : program.shards->argument_messages) {
      program.argument_shardings.push_back(text.data());
      program.argument_sharding_lens.push_back(text.size());
    }
    for (const std::string& text : program.shards->result_messages) {
      program.output_shardings.push_back(text.data());
      program.output_sharding_lens.push_back(text.size());
    }
  }
  program.costs = {figure("flops", program.code->flops()),
                   figure("bytes accessed", program.code->bytes_accessed()),
                   figure("optimal_seconds", program.code->predicted_seconds())};
}

Error* refused(const std::string& name, const PlannedProgram& planned, std::string option) {
  RefusalReport report = refusal_report(name, planned);
  report.budget_option = std::move(option);
  std::string text = to_text(report);
  for (const std::string& tried : planned.outcome.refusal.tried) text += "  tried: " + tried + "\n";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return make_error(kResourceExhausted, std::move(text));
}

Error* compile_program(std::string artifact, std::string options, const CompileSettings& defaults,
                       std::shared_ptr<const CompiledProgram>& out) {
  auto program = std::make_shared<CompiledProgram>();
  Result<CompileRequest> request = parse_compile_options(options, defaults);
  if (!request) return make_error(kInvalidArgument, request.diagnostics());
  program->request = std::move(*request);
  program->fingerprint = sha256_hex(std::as_bytes(std::span(artifact)));
  Result<std::unique_ptr<Module>> module = read_module(artifact, "program");
  if (!module) return make_error(kInvalidArgument, module.diagnostics());
  program->name = (*module)->name;
  if (program->request.replicas != 1)
    return make_error(kUnimplemented, "programs with replicas are not supported");
  if (!(*module)->entry()) return make_error(kInvalidArgument, "a program without a function");
  std::unique_ptr<ShardPlan> shards;
  if (program->request.partitions > 1) {
    shards = std::make_unique<ShardPlan>();
    Status status = make_shard_plan(**module, program->request.partitions, *shards);
    if (!status) return make_error(kUnimplemented, status.diagnostics());
  }
  Status laid_out = apply_layouts(**module, program->argument_layouts, program->output_layouts);
  if (!laid_out) return make_error(kUnimplemented, laid_out.diagnostics());
  if (shards) shards->lay_out(program->argument_layouts, program->output_layouts);
  program->shards = std::move(shards);
  CompileSettings settings = program->request.settings;
  // What the verifier complains about is the program's fault, what comes later is ours.
  bool verified = false;
  settings.progress = [&](std::string_view phase) { verified = phase != "verify"; };
  Result<std::unique_ptr<PlannedProgram>> planned = plan_program(std::move(*module), settings);
  if (!planned)
    return make_error(verified ? kUnimplemented : kInvalidArgument, planned.diagnostics());
  if (!(*planned)->outcome.plan) return refused(program->name, **planned, settings.budget_option);
  Result<std::unique_ptr<ullage::Executable>> code = ullage::Executable::make(**planned, settings);
  if (!code) return make_error(kUnimplemented, code.diagnostics());
  program->code = std::move(*code);
  program->artifact = std::move(artifact);
  program->options = std::move(options);
  describe(*program);
  out = std::move(program);
  return nullptr;
}

Error* load(Client& client, std::shared_ptr<const CompiledProgram> program,
            LoadedExecutable*& out) {
  auto loaded = std::make_unique<LoadedExecutable>();
  loaded->client = &client;
  const CompileRequest& request = program->request;
  for (size_t i = 0; i < request.device_ids.size(); ++i) {
    int32_t id = request.device_ids[i];
    if (id < 0 || static_cast<size_t>(id) >= client.devices.size())
      return make_error(kInvalidArgument, fmt::format("the program is for device {}, of {}", id,
                                                      client.devices.size()));
    loaded->devices.push_back(client.devices[static_cast<size_t>(id)]);
    loaded->logical_ids.push_back(static_cast<int32_t>(i) /
                                  static_cast<int32_t>(request.partitions));
    loaded->logical_ids.push_back(static_cast<int32_t>(i) %
                                  static_cast<int32_t>(request.partitions));
  }
  loaded->program = std::move(program);
  out = loaded.release();
  return nullptr;
}

}  // namespace

const std::string& CompiledProgram::shown() const {
  std::call_once(shown_once_, [&] {
    Result<std::string> text = optimized_text(artifact, request.settings);
    shown_ = text ? std::move(*text) : artifact;
  });
  return shown_;
}

namespace {

void hand_out(std::string text, const char*& bytes, size_t& length, void*& holder,
              void (*&deleter)(void*)) {
  auto* owned = new std::string(std::move(text));
  bytes = owned->data();
  length = owned->size();
  holder = owned;
  deleter = [](void* held) { delete static_cast<std::string*>(held); };
}

}  // namespace

Error* client_compile(ClientCompileArgs* args) {
  args->executable = nullptr;
  return guarded([&]() -> Error* {
    std::string_view format(args->program->format, args->program->format_len);
    if (format != kFormat)
      return make_error(kUnimplemented, fmt::format("programs in format \"{}\"", format));
    std::shared_ptr<const CompiledProgram> program;
    Error* error = compile_program(std::string(args->program->code, args->program->code_len),
                                   std::string(args->compile_options, args->compile_options_len),
                                   args->client->settings, program);
    return error ? error : load(*args->client, std::move(program), args->executable);
  });
}

Error* compile(CompileArgs* args) {
  args->exe = nullptr;
  return guarded([&]() -> Error* {
    CompileSettings defaults;
    defaults.separate_operands = true;
    if (args->client) defaults = args->client->settings;
    std::shared_ptr<const CompiledProgram> program;
    Error* error = compile_program(std::string(args->program->code, args->program->code_len),
                                   std::string(args->compile_options, args->compile_options_len),
                                   defaults, program);
    if (!error) args->exe = new Executable{std::move(program)};
    return error;
  });
}

Error* executable_destroy(ExecutableDestroyArgs* args) {
  delete args->exe;
  return nullptr;
}

Error* executable_name(ExecutableNameArgs* args) {
  args->name = args->exe->program->name.data();
  args->name_len = args->exe->program->name.size();
  return nullptr;
}

Error* executable_num_replicas(ExecutableNumReplicasArgs* args) {
  args->n = static_cast<size_t>(args->exe->program->request.replicas);
  return nullptr;
}

Error* executable_num_partitions(ExecutableNumPartitionsArgs* args) {
  args->n = static_cast<size_t>(args->exe->program->request.partitions);
  return nullptr;
}

Error* executable_num_outputs(ExecutableNumOutputsArgs* args) {
  args->n = args->exe->program->output_types.size();
  return nullptr;
}

Error* executable_size_of_generated_code_in_bytes(ExecutableSizeOfGeneratedCodeInBytesArgs* args) {
  args->bytes = 0;
  return nullptr;
}

Error* executable_get_cost_analysis(ExecutableGetCostAnalysisArgs* args) {
  args->n_props = args->exe->program->costs.size();
  args->props = args->exe->program->costs.data();
  return nullptr;
}

Error* executable_output_memory_kinds(ExecutableOutputMemoryKindsArgs* args) {
  args->n_outputs = args->exe->program->output_kinds.size();
  args->kinds = args->exe->program->output_kinds.data();
  args->kind_lens = args->exe->program->output_kind_lens.data();
  return nullptr;
}

Error* executable_parameter_memory_kinds(ExecutableParameterMemoryKindsArgs* args) {
  args->n_params = args->exe->program->argument_kinds.size();
  args->kinds = args->exe->program->argument_kinds.data();
  args->kind_lens = args->exe->program->argument_kind_lens.data();
  return nullptr;
}

// Asked twice: first for the size, then for the bytes.
Error* executable_optimized_program(ExecutableOptimizedProgramArgs* args) {
  const std::string& text = args->exe->program->shown();
  args->program->format = kFormat.data();
  args->program->format_len = kFormat.size();
  if (!args->program->code) {
    args->program->code_len = text.size();
    return nullptr;
  }
  if (args->program->code_len < text.size())
    return make_error(kInvalidArgument, "too little space for the program");
  args->program->code_len = text.size();
  std::memcpy(args->program->code, text.data(), text.size());
  return nullptr;
}

Error* executable_serialize(ExecutableSerializeArgs* args) {
  const CompiledProgram& program = *args->exe->program;
  ProtoWriter writer;
  writer.bytes(kVersionField, kSerialVersion);
  writer.bytes(kArtifactField, program.artifact);
  writer.bytes(kOptionsField, program.options);
  hand_out(writer.take(), args->bytes, args->bytes_len, args->holder, args->deleter);
  return nullptr;
}

Error* executable_deserialize_and_load(ExecutableDeserializeAndLoadArgs* args) {
  args->lexe = nullptr;
  return guarded([&]() -> Error* {
    ProtoReader reader({args->bytes, args->bytes_len});
    std::string version, artifact, options;
    while (std::optional<ProtoField> field = reader.next()) {
      if (field->number == kVersionField) version = field->bytes;
      if (field->number == kArtifactField) artifact = field->bytes;
      if (field->number == kOptionsField) options = field->bytes;
    }
    if (!reader.ok() || version != kSerialVersion)
      return make_error(kInvalidArgument,
                        "the executable was not serialised by this version of Ullage");
    if (args->override_options && args->override_options_len > 0)
      options.assign(args->override_options, args->override_options_len);
    std::shared_ptr<const CompiledProgram> program;
    Error* error =
        compile_program(std::move(artifact), std::move(options), args->client->settings, program);
    return error ? error : load(*args->client, std::move(program), args->lexe);
  });
}

Error* executable_fingerprint(ExecutableFingerprintArgs* args) {
  args->text = args->exe->program->fingerprint.data();
  args->text_len = args->exe->program->fingerprint.size();
  return nullptr;
}

Error* executable_output_element_types(ExecutableOutputElementTypesArgs* args) {
  args->types = args->exe->program->output_types.data();
  args->n_types = args->exe->program->output_types.size();
  return nullptr;
}

Error* executable_output_dimensions(ExecutableOutputDimensionsArgs* args) {
  args->n_outputs = args->exe->program->output_ranks.size();
  args->dims = args->exe->program->output_dims.data();
  args->dim_counts = args->exe->program->output_ranks.data();
  return nullptr;
}

Error* executable_get_compiled_memory_stats(ExecutableGetCompiledMemoryStatsArgs* args) {
  const PlanReport& report = args->exe->program->code->report();
  args->generated_code = 0;
  args->argument = report.argument_bytes;
  args->output = report.output_bytes;
  args->alias = report.alias_bytes;
  args->temp = report.temp_bytes + report.constant_bytes;
  args->host_generated_code = args->host_argument = args->host_output = args->host_alias =
      args->host_temp = 0;
  args->peak_memory = report.planned_peak_bytes;
  // Newer fields, if the caller knows them.
  if (args->head.struct_size >= 144) {
    args->total_size = report.planned_peak_bytes;
    args->total_allocation_bytes = report.planned_peak_bytes;
    args->indefinite_allocations = 0;
    args->peak_unpadded_heap = report.planned_peak_bytes;
  }
  return nullptr;
}

Error* executable_get_compile_options(ExecutableGetCompileOptionsArgs* args) {
  hand_out(args->exe->program->options, args->bytes, args->bytes_len, args->holder, args->deleter);
  return nullptr;
}

// ---- Loaded executables ----

Error* loaded_executable_destroy(LoadedExecutableDestroyArgs* args) {
  delete args->lexe;
  return nullptr;
}

Error* loaded_executable_get_executable(LoadedExecutableGetExecutableArgs* args) {
  args->exe = new Executable{args->lexe->program};
  return nullptr;
}

Error* loaded_executable_addressable_devices(LoadedExecutableAddressableDevicesArgs* args) {
  args->devices = args->lexe->devices.data();
  args->n_devices = args->lexe->devices.size();
  return nullptr;
}

Error* loaded_executable_addressable_device_logical_ids(
    LoadedExecutableAddressableDeviceLogicalIdsArgs* args) {
  args->ids = args->lexe->logical_ids.data();
  args->n = args->lexe->devices.size();
  return nullptr;
}

Error* loaded_executable_delete(LoadedExecutableDeleteArgs* args) {
  args->lexe->deleted = true;
  return nullptr;
}

Error* loaded_executable_is_deleted(LoadedExecutableIsDeletedArgs* args) {
  args->deleted = args->lexe->deleted;
  return nullptr;
}

Error* loaded_executable_get_device_assignment(LoadedExecutableGetDeviceAssignmentArgs* args) {
  hand_out(args->lexe->program->request.device_assignment, args->bytes, args->bytes_len,
           args->holder, args->deleter);
  return nullptr;
}

}  // namespace ullage::pjrt
