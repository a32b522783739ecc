// Our own declaration of the binary interface between jaxlib and a device plugin (PJRT), version
// 0.104: plain records and what is common to all of it. Every argument record begins with its size
// and a chain of extensions; its size counts up to the end of its last field. abi_client.h,
// abi_buffer.h and abi_executable.h hold the argument records of each kind of object, slots.def the
// order of the function table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ullage::pjrt {

inline constexpr int32_t kAbiMajor = 0, kAbiMinor = 104;

// The plugin's objects, behind the interface's opaque pointers.
struct Error;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Memory;
struct Topology;
struct Buffer;
struct Executable;
struct LoadedExecutable;
struct Layout;

struct Extension {
  size_t struct_size = 0;
  int32_t type = 0;
  const Extension* next = nullptr;
};
enum ExtensionType : int32_t { kLayoutsExtension = 4, kShardingsExtension = 19 };

struct Head {
  size_t struct_size = 0;
  const Extension* extensions = nullptr;
};

// The end of a record's last field is where jaxlib says it is.
#define ULLAGE_ABI_SIZE(type, last, size) \
  static_assert(offsetof(type, last) + sizeof(type::last) == (size))

struct NamedValue {
  enum Kind : int32_t { kString = 0, kInt64 = 1, kInt64List = 2, kFloat = 3, kBool = 4 };
  Head head;
  const char* name;
  size_t name_len;
  int32_t kind;
  union {
    const char* text;
    int64_t number;
    const int64_t* list;
    float fraction;
    bool flag;
  };
  size_t count;
};
ULLAGE_ABI_SIZE(NamedValue, count, 56);

struct Program {
  Head head;
  char* code;
  size_t code_len;
  const char* format;
  size_t format_len;
};
ULLAGE_ABI_SIZE(Program, format_len, 48);

struct MemoryLayout {
  enum Kind : int32_t { kTiled = 0, kStrides = 1 };
  struct Tiled {
    Head head;
    const int64_t* minor_to_major;
    size_t n_minor_to_major;
    const int64_t* tile_dims;
    const size_t* tile_dim_counts;
    size_t n_tiles;
  };
  struct Strides {
    Head head;
    const int64_t* bytes;
    size_t n;
  };
  Head head;
  union {
    Tiled tiled;
    Strides strides;
  };
  int32_t kind;
};
ULLAGE_ABI_SIZE(MemoryLayout, kind, 76);

struct ExecuteOptions {
  Head head;
  void* send_callbacks;
  void* recv_callbacks;
  size_t n_sends;
  size_t n_recvs;
  int32_t launch_id;
  const int64_t* non_donatable;
  size_t n_non_donatable;
};
ULLAGE_ABI_SIZE(ExecuteOptions, n_non_donatable, 72);

enum Code : int32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kNotFound = 5,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
  kInternal = 13,
};

struct ErrorDestroyArgs {
  Head head;
  Error* err;
};
ULLAGE_ABI_SIZE(ErrorDestroyArgs, err, 24);

struct ErrorMessageArgs {
  Head head;
  Error* err;
  const char* text;
  size_t text_len;
};
ULLAGE_ABI_SIZE(ErrorMessageArgs, text_len, 40);

struct ErrorGetCodeArgs {
  Head head;
  Error* err;
  int32_t code;
};
ULLAGE_ABI_SIZE(ErrorGetCodeArgs, code, 28);

struct PluginInitializeArgs {
  Head head;
};
ULLAGE_ABI_SIZE(PluginInitializeArgs, head, 16);

struct PluginAttributesArgs {
  Head head;
  const NamedValue* attrs;
  size_t n_attrs;
};
ULLAGE_ABI_SIZE(PluginAttributesArgs, n_attrs, 32);

struct EventDestroyArgs {
  Head head;
  Event* event;
};
ULLAGE_ABI_SIZE(EventDestroyArgs, event, 24);

struct EventIsReadyArgs {
  Head head;
  Event* event;
  bool ready;
};
ULLAGE_ABI_SIZE(EventIsReadyArgs, ready, 25);

struct EventErrorArgs {
  Head head;
  Event* event;
};
ULLAGE_ABI_SIZE(EventErrorArgs, event, 24);

struct EventAwaitArgs {
  Head head;
  Event* event;
};
ULLAGE_ABI_SIZE(EventAwaitArgs, event, 24);

struct EventOnReadyArgs {
  Head head;
  Event* event;
  void (*callback)(Error*, void*);
  void* user;
};
ULLAGE_ABI_SIZE(EventOnReadyArgs, user, 40);

struct AsyncTrackingEventDestroyArgs {
  Head head;
  Event* event;
};
ULLAGE_ABI_SIZE(AsyncTrackingEventDestroyArgs, event, 24);

struct ErrorForEachPayloadArgs {
  Head head;
  Error* err;
  void (*visitor)(const char*, size_t, const char*, size_t, void*);
  void* user;
};
ULLAGE_ABI_SIZE(ErrorForEachPayloadArgs, user, 40);

}  // namespace ullage::pjrt
