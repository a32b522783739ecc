// Clients, devices, memories and topologies.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "pjrt/error.h"
#include "pjrt/functions.h"
#include "pjrt/objects.h"
#include "support/size.h"

#ifndef ULLAGE_VERSION
#define ULLAGE_VERSION "0"
#endif

namespace ullage::pjrt {

namespace {

constexpr int64_t kMostDevices = 1024;

std::string text_of(const NamedValue& value) {
  switch (value.kind) {
    case NamedValue::kString:
      return std::string(value.text, value.count);
    case NamedValue::kInt64:
      return std::to_string(value.number);
    case NamedValue::kFloat:
      return fmt::format("{}", value.fraction);
    case NamedValue::kBool:
      return value.flag ? "true" : "false";
    default:
      return {};
  }
}

Result<int64_t> whole_number(std::string_view name, const std::string& text, int64_t most) {
  char* end = nullptr;
  long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < 1 || value > most)
    return error(fmt::format("client option {} takes a whole number from 1 to {}, found \"{}\"",
                             name, most, text));
  return static_cast<int64_t>(value);
}

Status apply_client_option(Client& client, int64_t& devices, const NamedValue& option) {
  std::string name(option.name, option.name_len);
  std::string value = text_of(option);
  if (name == "num_devices") {
    Result<int64_t> number = whole_number(name, value, kMostDevices);
    if (!number) return number.diagnostics();
    devices = *number;
    return Ok{};
  }
  if (name == "threads") {
    Result<int64_t> number = whole_number(name, value, 4096);
    if (!number) return number.diagnostics();
    client.settings.threads = static_cast<int>(*number);
    return Ok{};
  }
  if (name == "platform_name" && !value.empty()) {
    client.platform_name = value;
    return Ok{};
  }
  Result<bool> known = apply_option(client.settings, name, value);
  if (!known) return known.diagnostics();
  if (name == "memory_budget")
    client.settings.budget_option = "JAX_PJRT_CLIENT_CREATE_OPTIONS=memory_budget:{}";
  if (*known) return Ok{};
  return error(fmt::format("there is no client option \"{}\"", name), {},
               "options are num_devices, threads, platform_name, memory_budget, disable, "
               "verify_plan and dump_dir");
}

void add_devices(Client& client, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    auto device = std::make_unique<Device>();
    int32_t id = static_cast<int32_t>(i);
    device->client = &client;
    device->description = {id, "ullage", fmt::format("UllageDevice(id={})", id)};
    auto memory = std::make_unique<Memory>();
    memory->id = id;
    memory->text = fmt::format("MEMORY_SPACE_{}", id);
    memory->device = device.get();
    device->memories.push_back(memory.get());
    client.memories.push_back(memory.get());
    client.devices.push_back(device.get());
    client.owned_memories.push_back(std::move(memory));
    client.owned_devices.push_back(std::move(device));
  }
}

Topology make_topology(const std::string& name, const std::string& version, int64_t devices) {
  Topology out;
  out.platform_name = name;
  out.platform_version = version;
  for (int32_t id = 0; id < devices; ++id) {
    out.owned.push_back(std::make_unique<DeviceDescription>(
        DeviceDescription{id, "ullage", fmt::format("UllageDevice(id={})", id)}));
    out.devices.push_back(out.owned.back().get());
  }
  return out;
}

void set(const char*& text, size_t& length, const std::string& from) {
  text = from.data();
  length = from.size();
}

}  // namespace

Error* plugin_initialize(PluginInitializeArgs*) {
  return nullptr;
}

Error* plugin_attributes(PluginAttributesArgs* args) {
  static const int64_t version[] = {1, 13, 0};
  static const NamedValue attributes[] = {[] {
    NamedValue value{};
    value.head.struct_size = 56;
    value.name = "stablehlo_current_version";
    value.name_len = std::strlen(value.name);
    value.kind = NamedValue::kInt64List;
    value.list = version;
    value.count = 3;
    return value;
  }()};
  args->attrs = attributes;
  args->n_attrs = std::size(attributes);
  return nullptr;
}

Error* client_create(ClientCreateArgs* args) {
  args->client = nullptr;
  return guarded([&]() -> Error* {
    auto client = std::make_unique<Client>();
    client->platform_version = "ullage " ULLAGE_VERSION;
    int64_t devices = 1;
    Status status = environment_settings(client->settings);
    for (size_t i = 0; i < args->n_options && status; ++i)
      status = apply_client_option(*client, devices, args->options[i]);
    if (!status) return make_error(kInvalidArgument, status.diagnostics());
    client->pool = std::make_unique<ThreadPool>(client->settings.threads);
    add_devices(*client, devices);
    client->topology = make_topology(client->platform_name, client->platform_version, devices);
    args->client = client.release();
    return nullptr;
  });
}

Error* client_destroy(ClientDestroyArgs* args) {
  delete args->client;
  return nullptr;
}

Error* client_platform_name(ClientPlatformNameArgs* args) {
  set(args->name, args->name_len, args->client->platform_name);
  return nullptr;
}

Error* client_process_index(ClientProcessIndexArgs* args) {
  args->process = 0;
  return nullptr;
}

Error* client_platform_version(ClientPlatformVersionArgs* args) {
  set(args->version, args->version_len, args->client->platform_version);
  return nullptr;
}

Error* client_devices(ClientDevicesArgs* args) {
  args->devices = args->client->devices.data();
  args->n_devices = args->client->devices.size();
  return nullptr;
}

Error* client_addressable_devices(ClientAddressableDevicesArgs* args) {
  args->devices = args->client->devices.data();
  args->n_devices = args->client->devices.size();
  return nullptr;
}

static Error* look_up(Client& client, int32_t id, Device*& out) {
  out = nullptr;
  if (id < 0 || static_cast<size_t>(id) >= client.devices.size())
    return make_error(kInvalidArgument, fmt::format("there is no device {}", id));
  out = client.devices[static_cast<size_t>(id)];
  return nullptr;
}

Error* client_lookup_device(ClientLookupDeviceArgs* args) {
  return look_up(*args->client, args->id, args->device);
}

Error* client_lookup_addressable_device(ClientLookupAddressableDeviceArgs* args) {
  return look_up(*args->client, args->local_hardware_id, args->device);
}

Error* client_addressable_memories(ClientAddressableMemoriesArgs* args) {
  args->memories = args->client->memories.data();
  args->n_memories = args->client->memories.size();
  return nullptr;
}

Error* client_default_device_assignment(ClientDefaultDeviceAssignmentArgs* args) {
  int64_t needed = static_cast<int64_t>(args->n_replicas) * args->n_partitions;
  if (needed > static_cast<int64_t>(args->capacity) ||
      needed > static_cast<int64_t>(args->client->devices.size()))
    return make_error(kInvalidArgument, fmt::format("{} devices asked for, {} exist", needed,
                                                    args->client->devices.size()));
  for (int32_t i = 0; i < needed; ++i) args->assignment[i] = i;
  return nullptr;
}

Error* client_topology_description(ClientTopologyDescriptionArgs* args) {
  args->topology = &args->client->topology;
  return nullptr;
}

// ---- Devices and memories ----

Error* device_description_id(DeviceDescriptionIdArgs* args) {
  args->id = args->desc->id;
  return nullptr;
}

Error* device_description_process_index(DeviceDescriptionProcessIndexArgs* args) {
  args->process = 0;
  return nullptr;
}

Error* device_description_attributes(DeviceDescriptionAttributesArgs* args) {
  args->n_attrs = 0;
  args->attrs = nullptr;
  return nullptr;
}

Error* device_description_kind(DeviceDescriptionKindArgs* args) {
  set(args->kind, args->kind_len, args->desc->kind);
  return nullptr;
}

Error* device_description_debug_string(DeviceDescriptionDebugStringArgs* args) {
  set(args->text, args->text_len, args->desc->text);
  return nullptr;
}

Error* device_description_to_string(DeviceDescriptionToStringArgs* args) {
  set(args->text, args->text_len, args->desc->text);
  return nullptr;
}

Error* device_get_description(DeviceGetDescriptionArgs* args) {
  args->desc = &args->device->description;
  return nullptr;
}

Error* device_is_addressable(DeviceIsAddressableArgs* args) {
  args->addressable = true;
  return nullptr;
}

Error* device_local_hardware_id(DeviceLocalHardwareIdArgs* args) {
  args->local_hardware_id = args->device->description.id;
  return nullptr;
}

Error* device_addressable_memories(DeviceAddressableMemoriesArgs* args) {
  args->memories = args->device->memories.data();
  args->n_memories = args->device->memories.size();
  return nullptr;
}

Error* device_default_memory(DeviceDefaultMemoryArgs* args) {
  args->memory = args->device->memories.front();
  return nullptr;
}

// All devices of a client share the memory of the process.
Error* device_memory_stats(DeviceMemoryStatsArgs* args) {
  const Client& client = *args->device->client;
  MemoryCounts counts = client.memory->host.counts();
  args->bytes_in_use = counts.bytes_in_use;
  args->peak_bytes_in_use = counts.peak_bytes_in_use;
  args->peak_bytes_in_use_set = true;
  args->num_allocs = counts.allocations;
  args->num_allocs_set = true;
  args->largest_alloc = counts.largest_allocation;
  args->largest_alloc_set = true;
  args->bytes_limit = client.settings.budget_bytes.value_or(0);
  args->bytes_limit_set = client.settings.budget_bytes.has_value();
  args->bytes_reserved = counts.bytes_kept;
  args->bytes_reserved_set = true;
  args->peak_bytes_reserved = 0;
  args->peak_bytes_reserved_set = false;
  args->bytes_reservable_limit = 0;
  args->bytes_reservable_limit_set = false;
  args->largest_free_block = 0;
  args->largest_free_block_set = false;
  args->pool_bytes = counts.bytes_in_use + counts.bytes_kept;
  args->pool_bytes_set = true;
  args->peak_pool_bytes = 0;
  args->peak_pool_bytes_set = false;
  return nullptr;
}

Error* device_clear_memory_stats(DeviceClearMemoryStatsArgs* args) {
  args->device->client->memory->host.reset_counts();
  return nullptr;
}

Error* device_get_attributes(DeviceGetAttributesArgs* args) {
  args->attrs = nullptr;
  args->n_attrs = 0;
  args->holder = nullptr;
  args->deleter = [](void*) {};
  return nullptr;
}

Error* device_create_async_tracking_event(DeviceCreateAsyncTrackingEventArgs* args) {
  args->event = new Event();
  return nullptr;
}

Error* memory_id(MemoryIdArgs* args) {
  args->id = args->memory->id;
  return nullptr;
}

Error* memory_kind(MemoryKindArgs* args) {
  set(args->kind, args->kind_len, args->memory->kind);
  return nullptr;
}

Error* memory_kind_id(MemoryKindIdArgs* args) {
  args->kind_id = 0;
  return nullptr;
}

Error* memory_debug_string(MemoryDebugStringArgs* args) {
  set(args->text, args->text_len, args->memory->text);
  return nullptr;
}

Error* memory_to_string(MemoryToStringArgs* args) {
  set(args->text, args->text_len, args->memory->text);
  return nullptr;
}

Error* memory_addressable_by_devices(MemoryAddressableByDevicesArgs* args) {
  args->devices = &args->memory->device;
  args->n_devices = 1;
  return nullptr;
}

// ---- Topologies ----

Error* topology_description_create(TopologyDescriptionCreateArgs* args) {
  args->topology = nullptr;
  return guarded([&]() -> Error* {
    int64_t devices = 1;
    Client ignored;
    for (size_t i = 0; i < args->n_options; ++i)
      if (Status status = apply_client_option(ignored, devices, args->options[i]); !status)
        return make_error(kInvalidArgument, status.diagnostics());
    args->topology = new Topology(make_topology("ullage", "ullage " ULLAGE_VERSION, devices));
    return nullptr;
  });
}

Error* topology_description_destroy(TopologyDescriptionDestroyArgs* args) {
  delete args->topology;
  return nullptr;
}

Error* topology_description_platform_name(TopologyDescriptionPlatformNameArgs* args) {
  set(args->name, args->name_len, args->topology->platform_name);
  return nullptr;
}

Error* topology_description_platform_version(TopologyDescriptionPlatformVersionArgs* args) {
  set(args->version, args->version_len, args->topology->platform_version);
  return nullptr;
}

Error* topology_description_get_device_descriptions(
    TopologyDescriptionGetDeviceDescriptionsArgs* args) {
  args->descs = args->topology->devices.data();
  args->n_descs = args->topology->devices.size();
  return nullptr;
}

Error* topology_description_serialize(TopologyDescriptionSerializeArgs* args) {
  auto* text = new std::string(fmt::format("{} {} {}", args->topology->platform_name,
                                           args->topology->platform_version,
                                           args->topology->devices.size()));
  set(args->bytes, args->bytes_len, *text);
  args->holder = text;
  args->deleter = [](void* holder) { delete static_cast<std::string*>(holder); };
  return nullptr;
}

Error* topology_description_attributes(TopologyDescriptionAttributesArgs* args) {
  args->attrs = nullptr;
  args->n_attrs = 0;
  return nullptr;
}

Error* topology_description_fingerprint(TopologyDescriptionFingerprintArgs* args) {
  // FNV-1a over what a compiled program depends on.
  uint64_t hash = 14695981039346656037ull;
  auto add = [&](std::string_view text) {
    for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211ull;
  };
  add(args->topology->platform_name);
  add(args->topology->platform_version);
  add(std::to_string(args->topology->devices.size()));
  args->value = hash;
  return nullptr;
}

}  // namespace ullage::pjrt
