// Argument records of functions on clients, devices, memories and topologies; see abi.h.
#pragma once

#include "pjrt/abi.h"

namespace ullage::pjrt {

struct ClientCreateArgs {
  Head head;
  const NamedValue* options;
  size_t n_options;
  void* kv_get;
  void* kv_get_user;
  void* kv_put;
  void* kv_put_user;
  Client* client;
  void* kv_try_get;
  void* kv_try_get_user;
};
ULLAGE_ABI_SIZE(ClientCreateArgs, kv_try_get_user, 88);

struct ClientDestroyArgs {
  Head head;
  Client* client;
};
ULLAGE_ABI_SIZE(ClientDestroyArgs, client, 24);

struct ClientPlatformNameArgs {
  Head head;
  Client* client;
  const char* name;
  size_t name_len;
};
ULLAGE_ABI_SIZE(ClientPlatformNameArgs, name_len, 40);

struct ClientProcessIndexArgs {
  Head head;
  Client* client;
  int32_t process;
};
ULLAGE_ABI_SIZE(ClientProcessIndexArgs, process, 28);

struct ClientPlatformVersionArgs {
  Head head;
  Client* client;
  const char* version;
  size_t version_len;
};
ULLAGE_ABI_SIZE(ClientPlatformVersionArgs, version_len, 40);

struct ClientDevicesArgs {
  Head head;
  Client* client;
  Device* const* devices;
  size_t n_devices;
};
ULLAGE_ABI_SIZE(ClientDevicesArgs, n_devices, 40);

struct ClientAddressableDevicesArgs {
  Head head;
  Client* client;
  Device* const* devices;
  size_t n_devices;
};
ULLAGE_ABI_SIZE(ClientAddressableDevicesArgs, n_devices, 40);

struct ClientLookupDeviceArgs {
  Head head;
  Client* client;
  int32_t id;
  Device* device;
};
ULLAGE_ABI_SIZE(ClientLookupDeviceArgs, device, 40);

struct ClientLookupAddressableDeviceArgs {
  Head head;
  Client* client;
  int32_t local_hardware_id;
  Device* device;
};
ULLAGE_ABI_SIZE(ClientLookupAddressableDeviceArgs, device, 40);

struct ClientAddressableMemoriesArgs {
  Head head;
  Client* client;
  Memory* const* memories;
  size_t n_memories;
};
ULLAGE_ABI_SIZE(ClientAddressableMemoriesArgs, n_memories, 40);

struct ClientDefaultDeviceAssignmentArgs {
  Head head;
  Client* client;
  int32_t n_replicas;
  int32_t n_partitions;
  size_t capacity;
  int32_t* assignment;
};
ULLAGE_ABI_SIZE(ClientDefaultDeviceAssignmentArgs, assignment, 48);

struct DeviceDescriptionIdArgs {
  Head head;
  DeviceDescription* desc;
  int32_t id;
};
ULLAGE_ABI_SIZE(DeviceDescriptionIdArgs, id, 28);

struct DeviceDescriptionProcessIndexArgs {
  Head head;
  DeviceDescription* desc;
  int32_t process;
};
ULLAGE_ABI_SIZE(DeviceDescriptionProcessIndexArgs, process, 28);

struct DeviceDescriptionAttributesArgs {
  Head head;
  DeviceDescription* desc;
  size_t n_attrs;
  const NamedValue* attrs;
};
ULLAGE_ABI_SIZE(DeviceDescriptionAttributesArgs, attrs, 40);

struct DeviceDescriptionKindArgs {
  Head head;
  DeviceDescription* desc;
  const char* kind;
  size_t kind_len;
};
ULLAGE_ABI_SIZE(DeviceDescriptionKindArgs, kind_len, 40);

struct DeviceDescriptionDebugStringArgs {
  Head head;
  DeviceDescription* desc;
  const char* text;
  size_t text_len;
};
ULLAGE_ABI_SIZE(DeviceDescriptionDebugStringArgs, text_len, 40);

struct DeviceDescriptionToStringArgs {
  Head head;
  DeviceDescription* desc;
  const char* text;
  size_t text_len;
};
ULLAGE_ABI_SIZE(DeviceDescriptionToStringArgs, text_len, 40);

struct DeviceGetDescriptionArgs {
  Head head;
  Device* device;
  DeviceDescription* desc;
};
ULLAGE_ABI_SIZE(DeviceGetDescriptionArgs, desc, 32);

struct DeviceIsAddressableArgs {
  Head head;
  Device* device;
  bool addressable;
};
ULLAGE_ABI_SIZE(DeviceIsAddressableArgs, addressable, 25);

struct DeviceLocalHardwareIdArgs {
  Head head;
  Device* device;
  int32_t local_hardware_id;
};
ULLAGE_ABI_SIZE(DeviceLocalHardwareIdArgs, local_hardware_id, 28);

struct DeviceAddressableMemoriesArgs {
  Head head;
  Device* device;
  Memory* const* memories;
  size_t n_memories;
};
ULLAGE_ABI_SIZE(DeviceAddressableMemoriesArgs, n_memories, 40);

struct DeviceDefaultMemoryArgs {
  Head head;
  Device* device;
  Memory* memory;
};
ULLAGE_ABI_SIZE(DeviceDefaultMemoryArgs, memory, 32);

struct DeviceMemoryStatsArgs {
  Head head;
  Device* device;
  int64_t bytes_in_use;
  int64_t peak_bytes_in_use;
  bool peak_bytes_in_use_set;
  int64_t num_allocs;
  bool num_allocs_set;
  int64_t largest_alloc;
  bool largest_alloc_set;
  int64_t bytes_limit;
  bool bytes_limit_set;
  int64_t bytes_reserved;
  bool bytes_reserved_set;
  int64_t peak_bytes_reserved;
  bool peak_bytes_reserved_set;
  int64_t bytes_reservable_limit;
  bool bytes_reservable_limit_set;
  int64_t largest_free_block;
  bool largest_free_block_set;
  int64_t pool_bytes;
  bool pool_bytes_set;
  int64_t peak_pool_bytes;
  bool peak_pool_bytes_set;
};
ULLAGE_ABI_SIZE(DeviceMemoryStatsArgs, peak_pool_bytes_set, 185);

struct MemoryIdArgs {
  Head head;
  Memory* memory;
  int32_t id;
};
ULLAGE_ABI_SIZE(MemoryIdArgs, id, 28);

struct MemoryKindArgs {
  Head head;
  Memory* memory;
  const char* kind;
  size_t kind_len;
};
ULLAGE_ABI_SIZE(MemoryKindArgs, kind_len, 40);

struct MemoryDebugStringArgs {
  Head head;
  Memory* memory;
  const char* text;
  size_t text_len;
};
ULLAGE_ABI_SIZE(MemoryDebugStringArgs, text_len, 40);

struct MemoryToStringArgs {
  Head head;
  Memory* memory;
  const char* text;
  size_t text_len;
};
ULLAGE_ABI_SIZE(MemoryToStringArgs, text_len, 40);

struct MemoryAddressableByDevicesArgs {
  Head head;
  Memory* memory;
  Device* const* devices;
  size_t n_devices;
};
ULLAGE_ABI_SIZE(MemoryAddressableByDevicesArgs, n_devices, 40);

struct TopologyDescriptionCreateArgs {
  Head head;
  const char* name;
  size_t name_len;
  const NamedValue* options;
  size_t n_options;
  Topology* topology;
};
ULLAGE_ABI_SIZE(TopologyDescriptionCreateArgs, topology, 56);

struct TopologyDescriptionDestroyArgs {
  Head head;
  Topology* topology;
};
ULLAGE_ABI_SIZE(TopologyDescriptionDestroyArgs, topology, 24);

struct TopologyDescriptionPlatformNameArgs {
  Head head;
  Topology* topology;
  const char* name;
  size_t name_len;
};
ULLAGE_ABI_SIZE(TopologyDescriptionPlatformNameArgs, name_len, 40);

struct TopologyDescriptionPlatformVersionArgs {
  Head head;
  Topology* topology;
  const char* version;
  size_t version_len;
};
ULLAGE_ABI_SIZE(TopologyDescriptionPlatformVersionArgs, version_len, 40);

struct TopologyDescriptionGetDeviceDescriptionsArgs {
  Head head;
  Topology* topology;
  DeviceDescription* const* descs;
  size_t n_descs;
};
ULLAGE_ABI_SIZE(TopologyDescriptionGetDeviceDescriptionsArgs, n_descs, 40);

struct TopologyDescriptionSerializeArgs {
  Head head;
  Topology* topology;
  const char* bytes;
  size_t bytes_len;
  void* holder;
  void (*deleter)(void*);
};
ULLAGE_ABI_SIZE(TopologyDescriptionSerializeArgs, deleter, 56);

struct TopologyDescriptionAttributesArgs {
  Head head;
  Topology* topology;
  const NamedValue* attrs;
  size_t n_attrs;
};
ULLAGE_ABI_SIZE(TopologyDescriptionAttributesArgs, n_attrs, 40);

struct ClientTopologyDescriptionArgs {
  Head head;
  Client* client;
  Topology* topology;
};
ULLAGE_ABI_SIZE(ClientTopologyDescriptionArgs, topology, 32);

struct MemoryKindIdArgs {
  Head head;
  Memory* memory;
  int32_t kind_id;
};
ULLAGE_ABI_SIZE(MemoryKindIdArgs, kind_id, 28);

struct DeviceCreateAsyncTrackingEventArgs {
  Head head;
  Device* device;
  const char* text;
  size_t text_len;
  Event* event;
};
ULLAGE_ABI_SIZE(DeviceCreateAsyncTrackingEventArgs, event, 48);

struct DeviceGetAttributesArgs {
  Head head;
  Device* device;
  const NamedValue* attrs;
  size_t n_attrs;
  void* holder;
  void (*deleter)(void*);
};
ULLAGE_ABI_SIZE(DeviceGetAttributesArgs, deleter, 56);

struct TopologyDescriptionFingerprintArgs {
  Head head;
  Topology* topology;
  uint64_t value;
};
ULLAGE_ABI_SIZE(TopologyDescriptionFingerprintArgs, value, 32);

struct DeviceClearMemoryStatsArgs {
  Head head;
  Device* device;
};
ULLAGE_ABI_SIZE(DeviceClearMemoryStatsArgs, device, 24);

}  // namespace ullage::pjrt
