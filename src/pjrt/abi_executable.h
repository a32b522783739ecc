// Argument records of functions that compile and run, and of the extensions that describe layouts
// and shardings; see abi.h.
#pragma once

#include "pjrt/abi.h"

namespace ullage::pjrt {

struct ClientCompileArgs {
  Head head;
  Client* client;
  Program* program;
  const char* compile_options;
  size_t compile_options_len;
  LoadedExecutable* executable;
};
ULLAGE_ABI_SIZE(ClientCompileArgs, executable, 56);

struct ExecutableDestroyArgs {
  Head head;
  Executable* exe;
};
ULLAGE_ABI_SIZE(ExecutableDestroyArgs, exe, 24);

struct ExecutableNameArgs {
  Head head;
  Executable* exe;
  const char* name;
  size_t name_len;
};
ULLAGE_ABI_SIZE(ExecutableNameArgs, name_len, 40);

struct ExecutableNumReplicasArgs {
  Head head;
  Executable* exe;
  size_t n;
};
ULLAGE_ABI_SIZE(ExecutableNumReplicasArgs, n, 32);

struct ExecutableNumPartitionsArgs {
  Head head;
  Executable* exe;
  size_t n;
};
ULLAGE_ABI_SIZE(ExecutableNumPartitionsArgs, n, 32);

struct ExecutableNumOutputsArgs {
  Head head;
  Executable* exe;
  size_t n;
};
ULLAGE_ABI_SIZE(ExecutableNumOutputsArgs, n, 32);

struct ExecutableSizeOfGeneratedCodeInBytesArgs {
  Head head;
  Executable* exe;
  int64_t bytes;
};
ULLAGE_ABI_SIZE(ExecutableSizeOfGeneratedCodeInBytesArgs, bytes, 32);

struct ExecutableGetCostAnalysisArgs {
  Head head;
  Executable* exe;
  size_t n_props;
  const NamedValue* props;
};
ULLAGE_ABI_SIZE(ExecutableGetCostAnalysisArgs, props, 40);

struct ExecutableOutputMemoryKindsArgs {
  Head head;
  Executable* exe;
  size_t n_outputs;
  const char* const* kinds;
  const size_t* kind_lens;
};
ULLAGE_ABI_SIZE(ExecutableOutputMemoryKindsArgs, kind_lens, 48);

struct ExecutableOptimizedProgramArgs {
  Head head;
  Executable* exe;
  Program* program;
};
ULLAGE_ABI_SIZE(ExecutableOptimizedProgramArgs, program, 32);

struct ExecutableSerializeArgs {
  Head head;
  Executable* exe;
  const char* bytes;
  size_t bytes_len;
  void* holder;
  void (*deleter)(void*);
};
ULLAGE_ABI_SIZE(ExecutableSerializeArgs, deleter, 56);

struct LoadedExecutableDestroyArgs {
  Head head;
  LoadedExecutable* lexe;
};
ULLAGE_ABI_SIZE(LoadedExecutableDestroyArgs, lexe, 24);

struct LoadedExecutableGetExecutableArgs {
  Head head;
  LoadedExecutable* lexe;
  Executable* exe;
};
ULLAGE_ABI_SIZE(LoadedExecutableGetExecutableArgs, exe, 32);

struct LoadedExecutableAddressableDevicesArgs {
  Head head;
  LoadedExecutable* lexe;
  Device* const* devices;
  size_t n_devices;
};
ULLAGE_ABI_SIZE(LoadedExecutableAddressableDevicesArgs, n_devices, 40);

struct LoadedExecutableDeleteArgs {
  Head head;
  LoadedExecutable* lexe;
};
ULLAGE_ABI_SIZE(LoadedExecutableDeleteArgs, lexe, 24);

struct LoadedExecutableIsDeletedArgs {
  Head head;
  LoadedExecutable* lexe;
  bool deleted;
};
ULLAGE_ABI_SIZE(LoadedExecutableIsDeletedArgs, deleted, 25);

struct LoadedExecutableExecuteArgs {
  Head head;
  LoadedExecutable* lexe;
  const ExecuteOptions* options;
  Buffer* const* const* argument_lists;
  size_t n_devices;
  size_t n_args;
  Buffer** const* output_lists;
  Event** device_complete_events;
  Device* execute_device;
};
ULLAGE_ABI_SIZE(LoadedExecutableExecuteArgs, execute_device, 80);

struct ExecutableDeserializeAndLoadArgs {
  Head head;
  Client* client;
  const char* bytes;
  size_t bytes_len;
  LoadedExecutable* lexe;
  const char* override_options;
  size_t override_options_len;
  void* load_options;
};
ULLAGE_ABI_SIZE(ExecutableDeserializeAndLoadArgs, load_options, 72);

struct CompileArgs {
  Head head;
  Topology* topology;
  Program* program;
  const char* compile_options;
  size_t compile_options_len;
  Client* client;
  Executable* exe;
};
ULLAGE_ABI_SIZE(CompileArgs, exe, 64);

struct ExecutableOutputElementTypesArgs {
  Head head;
  Executable* exe;
  const int32_t* types;
  size_t n_types;
};
ULLAGE_ABI_SIZE(ExecutableOutputElementTypesArgs, n_types, 40);

struct ExecutableOutputDimensionsArgs {
  Head head;
  Executable* exe;
  size_t n_outputs;
  const int64_t* dims;
  const size_t* dim_counts;
};
ULLAGE_ABI_SIZE(ExecutableOutputDimensionsArgs, dim_counts, 48);

struct ExecutableFingerprintArgs {
  Head head;
  Executable* exe;
  const char* text;
  size_t text_len;
};
ULLAGE_ABI_SIZE(ExecutableFingerprintArgs, text_len, 40);

struct ExecutableGetCompiledMemoryStatsArgs {
  Head head;
  Executable* exe;
  int64_t generated_code;
  int64_t argument;
  int64_t output;
  int64_t alias;
  int64_t temp;
  int64_t host_generated_code;
  int64_t host_argument;
  int64_t host_output;
  int64_t host_alias;
  int64_t host_temp;
  int64_t peak_memory;
  int64_t total_size;
  int64_t total_allocation_bytes;
  int64_t indefinite_allocations;
  int64_t peak_unpadded_heap;
};
ULLAGE_ABI_SIZE(ExecutableGetCompiledMemoryStatsArgs, peak_unpadded_heap, 144);

struct LoadedExecutableGetDeviceAssignmentArgs {
  Head head;
  LoadedExecutable* lexe;
  const char* bytes;
  size_t bytes_len;
  void* holder;
  void (*deleter)(void*);
};
ULLAGE_ABI_SIZE(LoadedExecutableGetDeviceAssignmentArgs, deleter, 56);

struct ExecutableGetCompileOptionsArgs {
  Head head;
  Executable* exe;
  const char* bytes;
  size_t bytes_len;
  void* holder;
  void (*deleter)(void*);
};
ULLAGE_ABI_SIZE(ExecutableGetCompileOptionsArgs, deleter, 56);

struct LoadedExecutableAddressableDeviceLogicalIdsArgs {
  Head head;
  LoadedExecutable* lexe;
  const int32_t* ids;
  size_t n;
};
ULLAGE_ABI_SIZE(LoadedExecutableAddressableDeviceLogicalIdsArgs, n, 40);

struct ExecutableParameterMemoryKindsArgs {
  Head head;
  Executable* exe;
  size_t n_params;
  const char* const* kinds;
  const size_t* kind_lens;
};
ULLAGE_ABI_SIZE(ExecutableParameterMemoryKindsArgs, kind_lens, 48);

struct LayoutsMemoryLayoutDestroyArgs {
  Head head;
  Layout* layout;
};
ULLAGE_ABI_SIZE(LayoutsMemoryLayoutDestroyArgs, layout, 24);

struct LayoutsMemoryLayoutSerializeArgs {
  Head head;
  Layout* layout;
  const char* bytes;
  size_t bytes_len;
  void* holder;
  void (*deleter)(void*);
};
ULLAGE_ABI_SIZE(LayoutsMemoryLayoutSerializeArgs, deleter, 56);

struct LayoutsClientGetDefaultLayoutArgs {
  Head head;
  Client* client;
  int32_t type;
  const int64_t* dims;
  size_t n_dims;
  Layout* layout;
};
ULLAGE_ABI_SIZE(LayoutsClientGetDefaultLayoutArgs, layout, 56);

struct LayoutsBufferMemoryLayoutArgs {
  Head head;
  Buffer* buffer;
  Layout* layout;
};
ULLAGE_ABI_SIZE(LayoutsBufferMemoryLayoutArgs, layout, 32);

struct LayoutsTopologyGetDefaultLayoutArgs {
  Head head;
  Topology* topology;
  int32_t type;
  const int64_t* dims;
  size_t n_dims;
  Layout* layout;
};
ULLAGE_ABI_SIZE(LayoutsTopologyGetDefaultLayoutArgs, layout, 56);

struct LayoutsExecutableGetOutputLayoutsArgs {
  Head head;
  Executable* exe;
  size_t n;
  Layout* const* layouts;
};
ULLAGE_ABI_SIZE(LayoutsExecutableGetOutputLayoutsArgs, layouts, 40);

struct LayoutsExecutableGetParameterLayoutsArgs {
  Head head;
  Executable* exe;
  size_t n;
  Layout* const* layouts;
};
ULLAGE_ABI_SIZE(LayoutsExecutableGetParameterLayoutsArgs, layouts, 40);

struct ShardingsParameterShardingsArgs {
  Head head;
  Executable* exe;
  size_t n;
  const char* const* protos;
  const size_t* proto_lens;
};
ULLAGE_ABI_SIZE(ShardingsParameterShardingsArgs, proto_lens, 48);

struct ShardingsOutputShardingsArgs {
  Head head;
  Executable* exe;
  size_t n;
  const char* const* protos;
  const size_t* proto_lens;
};
ULLAGE_ABI_SIZE(ShardingsOutputShardingsArgs, proto_lens, 48);

}  // namespace ullage::pjrt
