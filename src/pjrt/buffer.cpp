// Buffers: arrays on a device, to and from host memory.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "pjrt/error.h"
#include "pjrt/functions.h"
#include "pjrt/objects.h"
#include "pjrt/types.h"
#include "support/size.h"

namespace ullage::pjrt {

namespace {

constexpr int64_t kWorthBorrowing = 64 << 10;  // bytes
constexpr uintptr_t kBorrowAlignment = 16;

// to: dense, row-major. from: strides in bytes, any sign.
void copy_strided(std::byte* to, const std::byte* from, int64_t width,
                  std::span<const int64_t> shape, std::span<const int64_t> strides) {
  if (shape.empty()) {
    std::memcpy(to, from, static_cast<size_t>(width));
    return;
  }
  if (shape.size() == 1) {
    if (strides[0] == width) {
      std::memcpy(to, from, static_cast<size_t>(width * shape[0]));
      return;
    }
    for (int64_t i = 0; i < shape[0]; ++i)
      std::memcpy(to + i * width, from + i * strides[0], static_cast<size_t>(width));
    return;
  }
  int64_t inner = width;
  for (int64_t extent : shape.subspan(1)) inner *= extent;
  for (int64_t i = 0; i < shape[0]; ++i)
    copy_strided(to + i * inner, from + i * strides[0], width, shape.subspan(1),
                 strides.subspan(1));
}

bool is_dense(const Type& type, std::span<const int64_t> strides) {
  int64_t expected = storage_bytes(type.dtype);
  for (size_t d = type.shape.size(); d-- > 0;) {
    if (type.shape[d] != 1 && strides[d] != expected) return false;
    expected *= type.shape[d];
  }
  return true;
}

Result<Type> array_type(int32_t element_type, const int64_t* dims, size_t n_dims) {
  if (element_type == kTokenType) return Type::token();
  std::optional<DType> dtype = dtype_of(element_type);
  if (!dtype)
    return error(fmt::format("arrays of element type {} are not supported", element_type));
  return Type::tensor(*dtype, {dims, dims + n_dims});
}

Error* no_memory(int64_t bytes) {
  return make_error(kResourceExhausted,
                    fmt::format("the system has no {} for an array", format_size(bytes)));
}

Error* deleted() {
  return make_error(kInvalidArgument, "the array has been deleted or donated");
}

// Null for layouts that we have not.
Layout* read_layout(const MemoryLayout* layout, size_t rank) {
  if (!layout) return row_major(rank);
  if (layout->kind != MemoryLayout::kTiled || layout->tiled.n_tiles != 0 ||
      layout->tiled.n_minor_to_major != rank)
    return nullptr;
  std::vector<int64_t> order(layout->tiled.minor_to_major, layout->tiled.minor_to_major + rank);
  std::reverse(order.begin(), order.end());
  return layout_of(order);
}

// The bytes of an array from one layout in another.
void copy_between(std::byte* to, const Layout& to_layout, const std::byte* from,
                  const Layout& from_layout, const Type& type) {
  if (&to_layout == &from_layout) {
    std::memcpy(to, from, static_cast<size_t>(type.bytes()));
    return;
  }
  int64_t width = storage_bytes(type.dtype), stride = width;
  std::vector<int64_t> strides(type.shape.size());
  for (size_t d = type.shape.size(); d-- > 0;) {
    size_t dim = static_cast<size_t>(from_layout.order[d]);
    strides[dim] = stride;
    stride *= type.shape[dim];
  }
  if (stride == 0) return;
  copy_strided(to, from, width, in_memory(to_layout, type.shape), in_memory(to_layout, strides));
}

}  // namespace

std::shared_ptr<Storage> Storage::make(const std::shared_ptr<ClientMemory>& memory, int64_t bytes) {
  std::shared_ptr<Storage> out(new Storage());
  out->data_ = memory->host.allocate(bytes);
  if (!out->data_) return nullptr;
  out->memory_ = memory;
  out->bytes_ = bytes;
  return out;
}

std::shared_ptr<Storage> Storage::borrow(const std::shared_ptr<ClientMemory>& memory,
                                         const void* data, int64_t bytes,
                                         std::function<void()> released) {
  std::shared_ptr<Storage> out(new Storage());
  out->memory_ = memory;
  // Nothing writes to it: writable() is false.
  out->data_ = const_cast<std::byte*>(static_cast<const std::byte*>(data));
  out->bytes_ = bytes;
  out->released_ = std::move(released);
  memory->host.count_foreign(bytes);
  return out;
}

Storage::~Storage() {
  if (!memory_) return;
  if (released_) {
    memory_->host.count_foreign(-bytes_);
    released_();
  } else {
    memory_->host.release(data_, bytes_);
  }
}

std::shared_ptr<Storage> Buffer::lock_storage() {
  std::lock_guard lock(mutex);
  return storage;
}

Buffer* make_buffer(Memory* memory, Type type, std::shared_ptr<Storage> storage, Layout* layout) {
  auto* out = new Buffer();
  out->memory = memory;
  out->layout = layout ? layout : row_major(type.is_tensor() ? type.shape.size() : 0);
  out->type = std::move(type);
  out->storage = std::move(storage);
  return out;
}

Error* client_buffer_from_host_buffer(ClientBufferFromHostBufferArgs* args) {
  args->buffer = nullptr;
  args->done_with_host_buffer = nullptr;
  return guarded([&]() -> Error* {
    Result<Type> type = array_type(args->type, args->dims, args->n_dims);
    if (!type) return make_error(kUnimplemented, type.diagnostics());
    if (Layout* layout = read_layout(args->device_layout, args->n_dims);
        !layout || !layout->row_major)
      return make_error(kUnimplemented, "arrays come from the host in row-major layouts only");
    Client& client = *args->client;
    Device* device = args->device ? args->device : client.devices.front();
    Memory* memory = args->memory ? args->memory : device->memories.front();
    int64_t bytes = type->bytes();
    std::span<const int64_t> strides(args->byte_strides, args->n_byte_strides);
    bool dense = strides.empty() || is_dense(*type, strides);
    bool lent = args->semantics >= 2 || args->semantics == 1;
    bool aligned = reinterpret_cast<uintptr_t>(args->data) % kBorrowAlignment == 0;
    if (dense && lent && aligned && bytes >= kWorthBorrowing) {
      auto state = std::make_shared<EventState>();
      args->done_with_host_buffer = new Event{state};
      args->buffer = make_buffer(
          memory, *type,
          Storage::borrow(client.memory, args->data, bytes, [state] { state->happen(); }));
      return nullptr;
    }
    std::shared_ptr<Storage> storage = Storage::make(client.memory, bytes);
    if (!storage) return no_memory(bytes);
    const auto* from = static_cast<const std::byte*>(args->data);
    if (bytes > 0 && dense)
      std::memcpy(storage->data(), from, static_cast<size_t>(bytes));
    else if (bytes > 0)
      copy_strided(storage->data(), from, storage_bytes(type->dtype), type->shape, strides);
    args->done_with_host_buffer = new Event();
    args->buffer = make_buffer(memory, std::move(*type), std::move(storage));
    return nullptr;
  });
}

Error* client_create_view_of_device_buffer(ClientCreateViewOfDeviceBufferArgs* args) {
  args->buffer = nullptr;
  return guarded([&]() -> Error* {
    Result<Type> type = array_type(args->type, args->dims, args->n_dims);
    if (!type) return make_error(kUnimplemented, type.diagnostics());
    Layout* layout = read_layout(args->layout, args->n_dims);
    if (!layout) return make_error(kUnimplemented, "layouts with tiles are not supported");
    Memory* memory = args->head.struct_size >= 112 && args->memory ? args->memory
                     : args->device                                ? args->device->memories.front()
                                                                   : args->client->memories.front();
    auto release = [on_delete = args->on_delete, address = args->address,
                    user = args->on_delete_user] {
      if (on_delete) on_delete(address, user);
    };
    args->buffer = make_buffer(
        memory, *type, Storage::borrow(args->client->memory, args->address, type->bytes(), release),
        layout);
    return nullptr;
  });
}

Error* buffer_destroy(BufferDestroyArgs* args) {
  delete args->buffer;
  return nullptr;
}

Error* buffer_element_type(BufferElementTypeArgs* args) {
  args->type = element_type_of(args->buffer->type);
  return nullptr;
}

Error* buffer_dimensions(BufferDimensionsArgs* args) {
  args->dims = args->buffer->type.shape.data();
  args->n_dims = args->buffer->type.shape.size();
  return nullptr;
}

Error* buffer_unpadded_dimensions(BufferUnpaddedDimensionsArgs* args) {
  args->dims = args->buffer->type.shape.data();
  args->n_dims = args->buffer->type.shape.size();
  return nullptr;
}

Error* buffer_dynamic_dimension_indices(BufferDynamicDimensionIndicesArgs* args) {
  args->indices = nullptr;
  args->n = 0;
  return nullptr;
}

Error* buffer_on_device_size_in_bytes(BufferOnDeviceSizeInBytesArgs* args) {
  args->bytes = static_cast<size_t>(args->buffer->type.bytes());
  return nullptr;
}

Error* buffer_device(BufferDeviceArgs* args) {
  args->device = args->buffer->memory->device;
  return nullptr;
}

Error* buffer_memory(BufferMemoryArgs* args) {
  args->memory = args->buffer->memory;
  return nullptr;
}

Error* buffer_delete(BufferDeleteArgs* args) {
  std::shared_ptr<Storage> dropped;  // freed without the lock
  std::lock_guard lock(args->buffer->mutex);
  dropped.swap(args->buffer->storage);
  return nullptr;
}

Error* buffer_is_deleted(BufferIsDeletedArgs* args) {
  std::lock_guard lock(args->buffer->mutex);
  args->deleted = !args->buffer->storage;
  return nullptr;
}

static Error* copy_buffer(Buffer& buffer, Memory* to, Buffer*& out) {
  out = nullptr;
  return guarded([&]() -> Error* {
    std::shared_ptr<Storage> from = buffer.lock_storage();
    if (!from) return deleted();
    std::shared_ptr<Storage> storage = Storage::make(to->device->client->memory, from->bytes());
    if (!storage) return no_memory(from->bytes());
    std::memcpy(storage->data(), from->data(), static_cast<size_t>(from->bytes()));
    out = make_buffer(to, buffer.type, std::move(storage), buffer.layout);
    return nullptr;
  });
}

Error* buffer_copy_to_device(BufferCopyToDeviceArgs* args) {
  return copy_buffer(*args->buffer, args->dst_device->memories.front(), args->dst);
}

Error* buffer_copy_to_memory(BufferCopyToMemoryArgs* args) {
  return copy_buffer(*args->buffer, args->dst_memory, args->dst);
}

Error* buffer_to_host_buffer(BufferToHostBufferArgs* args) {
  args->event = nullptr;
  return guarded([&]() -> Error* {
    Buffer& buffer = *args->buffer;
    std::shared_ptr<Storage> storage = buffer.lock_storage();
    if (!storage) return deleted();
    size_t bytes = static_cast<size_t>(storage->bytes());
    if (!args->dst) {
      args->dst_size = bytes;
      return nullptr;
    }
    Layout* layout = buffer.type.is_tensor()
                         ? read_layout(args->host_layout, buffer.type.shape.size())
                         : buffer.layout;
    if (!layout) return make_error(kUnimplemented, "layouts with tiles are not supported");
    if (args->dst_size < bytes)
      return make_error(kInvalidArgument,
                        fmt::format("{} bytes given for an array of {}", args->dst_size, bytes));
    copy_between(static_cast<std::byte*>(args->dst), *layout, storage->data(), *buffer.layout,
                 buffer.type);
    args->event = new Event();
    return nullptr;
  });
}

Error* buffer_copy_raw_to_host(BufferCopyRawToHostArgs* args) {
  args->event = nullptr;
  std::shared_ptr<Storage> storage = args->buffer->lock_storage();
  if (!storage) return deleted();
  if (args->offset < 0 || args->n_bytes < 0 || args->offset > storage->bytes() - args->n_bytes)
    return make_error(kInvalidArgument, "bytes outside the array");
  std::memcpy(args->dst, storage->data() + args->offset, static_cast<size_t>(args->n_bytes));
  args->event = new Event();
  return nullptr;
}

Error* buffer_is_on_cpu(BufferIsOnCpuArgs* args) {
  args->on_cpu = true;
  return nullptr;
}

Error* buffer_ready_event(BufferReadyEventArgs* args) {
  args->event = new Event();
  return nullptr;
}

Error* buffer_unsafe_pointer(BufferUnsafePointerArgs* args) {
  std::shared_ptr<Storage> storage = args->buffer->lock_storage();
  args->address = 0;
  if (!storage) return deleted();
  args->address = reinterpret_cast<uintptr_t>(storage->data());
  return nullptr;
}

// While somebody outside refers to the memory it neither moves nor is overwritten, whatever
// becomes of the buffer.
Error* buffer_increase_external_reference_count(BufferIncreaseExternalReferenceCountArgs* args) {
  std::lock_guard lock(args->buffer->mutex);
  if (!args->buffer->storage) return deleted();
  ++args->buffer->external_references;
  args->buffer->external = args->buffer->storage;
  return nullptr;
}

Error* buffer_decrease_external_reference_count(BufferDecreaseExternalReferenceCountArgs* args) {
  std::shared_ptr<Storage> dropped;
  std::lock_guard lock(args->buffer->mutex);
  if (args->buffer->external_references > 0 && --args->buffer->external_references == 0)
    dropped.swap(args->buffer->external);
  return nullptr;
}

Error* buffer_opaque_device_memory_data_pointer(BufferOpaqueDeviceMemoryDataPointerArgs* args) {
  std::shared_ptr<Storage> storage = args->buffer->lock_storage();
  args->address = nullptr;
  if (!storage) return deleted();
  args->address = storage->data();
  return nullptr;
}

}  // namespace ullage::pjrt
