// Argument records of functions that make or use buffers; see abi.h.
#pragma once

#include "pjrt/abi.h"

namespace ullage::pjrt {

struct ClientBufferFromHostBufferArgs {
  Head head;
  Client* client;
  const void* data;
  int32_t type;
  const int64_t* dims;
  size_t n_dims;
  const int64_t* byte_strides;
  size_t n_byte_strides;
  int32_t semantics;
  Device* device;
  Memory* memory;
  const MemoryLayout* device_layout;
  Event* done_with_host_buffer;
  Buffer* buffer;
};
ULLAGE_ABI_SIZE(ClientBufferFromHostBufferArgs, buffer, 120);

struct BufferDestroyArgs {
  Head head;
  Buffer* buffer;
};
ULLAGE_ABI_SIZE(BufferDestroyArgs, buffer, 24);

struct BufferElementTypeArgs {
  Head head;
  Buffer* buffer;
  int32_t type;
};
ULLAGE_ABI_SIZE(BufferElementTypeArgs, type, 28);

struct BufferDimensionsArgs {
  Head head;
  Buffer* buffer;
  const int64_t* dims;
  size_t n_dims;
};
ULLAGE_ABI_SIZE(BufferDimensionsArgs, n_dims, 40);

struct BufferUnpaddedDimensionsArgs {
  Head head;
  Buffer* buffer;
  const int64_t* dims;
  size_t n_dims;
};
ULLAGE_ABI_SIZE(BufferUnpaddedDimensionsArgs, n_dims, 40);

struct BufferDynamicDimensionIndicesArgs {
  Head head;
  Buffer* buffer;
  const size_t* indices;
  size_t n;
};
ULLAGE_ABI_SIZE(BufferDynamicDimensionIndicesArgs, n, 40);

struct BufferOnDeviceSizeInBytesArgs {
  Head head;
  Buffer* buffer;
  size_t bytes;
};
ULLAGE_ABI_SIZE(BufferOnDeviceSizeInBytesArgs, bytes, 32);

struct BufferDeviceArgs {
  Head head;
  Buffer* buffer;
  Device* device;
};
ULLAGE_ABI_SIZE(BufferDeviceArgs, device, 32);

struct BufferMemoryArgs {
  Head head;
  Buffer* buffer;
  Memory* memory;
};
ULLAGE_ABI_SIZE(BufferMemoryArgs, memory, 32);

struct BufferDeleteArgs {
  Head head;
  Buffer* buffer;
};
ULLAGE_ABI_SIZE(BufferDeleteArgs, buffer, 24);

struct BufferIsDeletedArgs {
  Head head;
  Buffer* buffer;
  bool deleted;
};
ULLAGE_ABI_SIZE(BufferIsDeletedArgs, deleted, 25);

struct BufferCopyToDeviceArgs {
  Head head;
  Buffer* buffer;
  Device* dst_device;
  Buffer* dst;
};
ULLAGE_ABI_SIZE(BufferCopyToDeviceArgs, dst, 40);

struct BufferToHostBufferArgs {
  Head head;
  Buffer* buffer;
  const MemoryLayout* host_layout;
  void* dst;
  size_t dst_size;
  Event* event;
};
ULLAGE_ABI_SIZE(BufferToHostBufferArgs, event, 56);

struct BufferIsOnCpuArgs {
  Head head;
  Buffer* buffer;
  bool on_cpu;
};
ULLAGE_ABI_SIZE(BufferIsOnCpuArgs, on_cpu, 25);

struct BufferReadyEventArgs {
  Head head;
  Buffer* buffer;
  Event* event;
};
ULLAGE_ABI_SIZE(BufferReadyEventArgs, event, 32);

struct BufferUnsafePointerArgs {
  Head head;
  Buffer* buffer;
  uintptr_t address;
};
ULLAGE_ABI_SIZE(BufferUnsafePointerArgs, address, 32);

struct BufferIncreaseExternalReferenceCountArgs {
  Head head;
  Buffer* buffer;
};
ULLAGE_ABI_SIZE(BufferIncreaseExternalReferenceCountArgs, buffer, 24);

struct BufferDecreaseExternalReferenceCountArgs {
  Head head;
  Buffer* buffer;
};
ULLAGE_ABI_SIZE(BufferDecreaseExternalReferenceCountArgs, buffer, 24);

struct BufferOpaqueDeviceMemoryDataPointerArgs {
  Head head;
  Buffer* buffer;
  void* address;
};
ULLAGE_ABI_SIZE(BufferOpaqueDeviceMemoryDataPointerArgs, address, 32);

struct BufferCopyToMemoryArgs {
  Head head;
  Buffer* buffer;
  Memory* dst_memory;
  Buffer* dst;
};
ULLAGE_ABI_SIZE(BufferCopyToMemoryArgs, dst, 40);

struct ClientCreateViewOfDeviceBufferArgs {
  Head head;
  Client* client;
  void* address;
  const int64_t* dims;
  size_t n_dims;
  int32_t type;
  const MemoryLayout* layout;
  Device* device;
  void (*on_delete)(void*, void*);
  void* on_delete_user;
  uintptr_t stream;
  Buffer* buffer;
  Memory* memory;
};
ULLAGE_ABI_SIZE(ClientCreateViewOfDeviceBufferArgs, memory, 112);

struct BufferCopyRawToHostArgs {
  Head head;
  Buffer* buffer;
  void* dst;
  int64_t offset;
  int64_t n_bytes;
  Event* event;
};
ULLAGE_ABI_SIZE(BufferCopyRawToHostArgs, event, 56);

}  // namespace ullage::pjrt
