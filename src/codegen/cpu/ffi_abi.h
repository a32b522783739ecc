// Our own declaration of the typed custom-call interface (FFI) of XLA, version 0.3: what a handler
// that users register with jax.ffi is called with. Only library_host_call.cpp includes it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ullage::ffi {

struct Extension;
struct Head {
  size_t struct_size;
  Extension* extensions;
};

// A failure: made by the handler through the table, owned by the caller.
struct Failure;

struct Bytes {
  const char* data;
  size_t size;
};

struct Buffer {
  Head head;
  int32_t dtype;
  void* data;
  int64_t rank;
  int64_t* dims;
};

struct Scalar {
  int32_t dtype;
  void* value;
};

struct Array {
  int32_t dtype;
  size_t size;
  void* data;
};

struct Operands {
  Head head;
  int64_t size;
  int32_t* types;  // kBuffer
  void** values;
};
inline constexpr int32_t kBuffer = 1;

struct Attributes {
  Head head;
  int64_t size;
  int32_t* types;
  Bytes** names;
  void** values;  // Scalar, Array, Bytes or Attributes
};
enum AttributeType : int32_t { kArray = 1, kDictionary = 2, kScalar = 3, kText = 4 };

struct Api;
struct Future;
struct CallFrame {
  Head head;
  const Api* api;
  void* context;
  int32_t stage;
  Operands arguments, results;
  Attributes attributes;
  Future* future;
};
inline constexpr int32_t kExecute = 3;

using Handler = Failure* (*)(CallFrame*);

struct ApiVersion {
  Head head;
  int32_t major, minor;
};

struct FailureCreate {
  Head head;
  const char* message;
  int32_t code;
};
struct FailureMessage {
  Head head;
  Failure* failure;
  const char* message;
};
struct FailureDestroy {
  Head head;
  Failure* failure;
};
struct Lookup {  // what the table answers with "not there"
  Head head;
};
struct Schedule {
  Head head;
  void* context;
  void (*task)(void*);
  void* data;
};
struct NumThreads {
  Head head;
  void* context;
  int64_t* threads;
};
struct RunId {
  Head head;
  void* context;
  int64_t run_id;
};
struct DeviceOrdinal {
  Head head;
  void* context;
  int32_t ordinal;
};
struct MemoryAllocate {
  Head head;
  void* context;
  size_t bytes, alignment;
  void* data;
};
struct MemoryFree {
  Head head;
  void* context;
  size_t bytes;
  void* data;
};
struct FutureCreate {
  Head head;
  Future* future;
};
struct FutureSet {
  Head head;
  Future* future;
  Failure* failure;  // of set_failure
};

struct Api {
  Head head;
  ApiVersion version;
  const void* internal;
  Failure* (*failure_create)(FailureCreate*);
  void (*failure_message)(FailureMessage*);
  void (*failure_destroy)(FailureDestroy*);
  Failure* (*handler_register)(Lookup*);
  Failure* (*stream_get)(Lookup*);
  Failure* (*type_register)(Lookup*);
  Failure* (*context_get)(Lookup*);
  Failure* (*state_set)(Lookup*);
  Failure* (*state_get)(Lookup*);
  Failure* (*memory_allocate)(MemoryAllocate*);
  Failure* (*memory_free)(MemoryFree*);
  Failure* (*schedule)(Schedule*);
  Failure* (*num_threads)(NumThreads*);
  Failure* (*future_create)(FutureCreate*);
  Failure* (*future_set)(FutureSet*);
  Failure* (*future_fail)(FutureSet*);
  Failure* (*run_id)(RunId*);
  Failure* (*device_ordinal)(DeviceOrdinal*);
};

}  // namespace ullage::ffi
