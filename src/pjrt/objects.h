// The plugin's objects. A Client owns devices, memories and topology; buffers and executables are
// owned by their handles and share what they stand for, so that they may be destroyed in any order
// and from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver/compile.h"
#include "driver/executable.h"
#include "pjrt/abi.h"
#include "pjrt/compile_options.h"
#include "pjrt/event.h"
#include "pjrt/layouts.h"
#include "pjrt/shards.h"
#include "runtime/host_memory.h"
#include "runtime/thread_pool.h"

namespace ullage::pjrt {

struct Memory {
  int32_t id = 0;
  std::string kind = "device";
  std::string text;
  Device* device = nullptr;  // the one that can address it
};

struct DeviceDescription {
  int32_t id = 0;
  std::string kind, text;
};

struct Device {
  Client* client = nullptr;
  DeviceDescription description;
  std::vector<Memory*> memories;  // the first is the default
};

struct Topology {
  std::string platform_name, platform_version;
  std::vector<std::unique_ptr<DeviceDescription>> owned;
  std::vector<DeviceDescription*> devices;
};

// What outlives a client while buffers do.
struct ClientMemory {
  HostMemory host;
};

struct Client {
  std::string platform_name = "ullage";
  std::string platform_version;
  CompileSettings settings;
  std::shared_ptr<ClientMemory> memory = std::make_shared<ClientMemory>();
  std::unique_ptr<ThreadPool> pool;
  std::vector<std::unique_ptr<Device>> owned_devices;
  std::vector<std::unique_ptr<Memory>> owned_memories;
  std::vector<Device*> devices;
  std::vector<Memory*> memories;
  Topology topology;
};

// Bytes that buffers stand for. Never written to while more than one owner exists.
class Storage {
 public:
  // Memory of its own; null data if the system has none.
  static std::shared_ptr<Storage> make(const std::shared_ptr<ClientMemory>& memory, int64_t bytes);
  // Memory of somebody else, read only: `released` happens when nobody needs it any more.
  static std::shared_ptr<Storage> borrow(const std::shared_ptr<ClientMemory>& memory,
                                         const void* data, int64_t bytes,
                                         std::function<void()> released);
  ~Storage();

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  bool writable() const { return !released_; }

 private:
  Storage() = default;
  std::shared_ptr<ClientMemory> memory_;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  std::function<void()> released_;
};

struct Buffer {
  Memory* memory = nullptr;
  Type type;                         // as JAX sees it
  Layout* layout = nullptr;          // how its bytes lie
  std::mutex mutex;                  // guards what follows
  std::shared_ptr<Storage> storage;  // null once deleted or donated
  int64_t external_references = 0;
  std::shared_ptr<Storage> external;  // what they refer to

  std::shared_ptr<Storage> lock_storage();
};

// Row-major unless there is a layout.
Buffer* make_buffer(Memory* memory, Type type, std::shared_ptr<Storage> storage,
                    Layout* layout = nullptr);

// A compiled program and all that is asked about it. Never changes, but for the text that is made
// when somebody wants to see it.
struct CompiledProgram {
  std::string name;
  std::string artifact;  // as received: what is serialised and compiled again
  std::string options;   // the serialised request
  std::string fingerprint;
  CompileRequest request;
  std::unique_ptr<const ShardPlan> shards;  // of programs over several devices
  std::vector<const char*> argument_shardings, output_shardings;  // serialised, of `shards`
  std::vector<size_t> argument_sharding_lens, output_sharding_lens;
  std::unique_ptr<ullage::Executable> code;
  std::vector<int64_t> output_dims;  // of all outputs, one after another
  std::vector<size_t> output_ranks;
  std::vector<int32_t> output_types;
  std::vector<const char*> output_kinds;
  std::vector<size_t> output_kind_lens;
  std::vector<const char*> argument_kinds;
  std::vector<size_t> argument_kind_lens;
  std::vector<Layout*> argument_layouts, output_layouts;
  std::vector<NamedValue> costs;

  const std::string& shown() const;

 private:
  mutable std::once_flag shown_once_;
  mutable std::string shown_;
};

struct Executable {
  std::shared_ptr<const CompiledProgram> program;
};

struct LoadedExecutable {
  Client* client = nullptr;
  std::shared_ptr<const CompiledProgram> program;
  std::vector<Device*> devices;
  std::vector<int32_t> logical_ids;  // replica, partition of each
  std::atomic<bool> deleted{false};
};

}  // namespace ullage::pjrt
