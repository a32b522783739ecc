// Calls out of the program: Python functions, and handlers that users registered (jax.ffi). What is
// called is looked up when the program is compiled, once; a call runs on the thread that runs the
// program.
#include <cstdlib>
#include <cstring>
#include <deque>

#include "codegen/cpu/ffi_abi.h"
#include "codegen/cpu/library_kernels.h"
#include "kernels/dictionary.h"
#include "kernels/host_call.h"
#include "runtime/host_call.h"
#include "runtime/thread_pool.h"

namespace ullage {

namespace ffi {

struct Failure {
  std::string message;
  int32_t code = 13;
};
struct Future {
  Failure* failure = nullptr;
};

}  // namespace ffi

namespace {

constexpr int32_t kInternalCode = 13, kUnimplementedCode = 12;

// ---- The table that handlers call back through ----

ffi::Failure* failure(int32_t code, std::string message) {
  return new ffi::Failure{std::move(message), code};
}

template <typename Record>
ffi::Failure* not_there(Record*) {
  return failure(kUnimplementedCode, "not available to handlers that Ullage calls");
}

const ffi::Api& api() {
  static const ffi::Api table = {
      .head = {sizeof(ffi::Api), nullptr},
      .version = {{sizeof(ffi::ApiVersion), nullptr}, 0, 3},
      .internal = nullptr,
      .failure_create = [](ffi::FailureCreate* args) { return failure(args->code, args->message); },
      .failure_message =
          [](ffi::FailureMessage* args) { args->message = args->failure->message.c_str(); },
      .failure_destroy = [](ffi::FailureDestroy* args) { delete args->failure; },
      .handler_register = not_there<ffi::Lookup>,
      .stream_get = not_there<ffi::Lookup>,
      .type_register = not_there<ffi::Lookup>,
      .context_get = not_there<ffi::Lookup>,
      .state_set = not_there<ffi::Lookup>,
      .state_get = not_there<ffi::Lookup>,
      .memory_allocate = [](ffi::MemoryAllocate* args) -> ffi::Failure* {
        args->data = nullptr;
        if (posix_memalign(&args->data, std::max<size_t>(64, args->alignment), args->bytes) != 0)
          return failure(kInternalCode, "no memory for a handler's scratch");
        return nullptr;
      },
      .memory_free = [](ffi::MemoryFree* args) -> ffi::Failure* {
        std::free(args->data);
        return nullptr;
      },
      .schedule = [](ffi::Schedule* args) -> ffi::Failure* {
        args->task(args->data);
        return nullptr;
      },
      .num_threads = [](ffi::NumThreads* args) -> ffi::Failure* {
        *args->threads = 1;
        return nullptr;
      },
      .future_create = [](ffi::FutureCreate* args) -> ffi::Failure* {
        args->future = new ffi::Future();
        return nullptr;
      },
      .future_set = [](ffi::FutureSet*) -> ffi::Failure* { return nullptr; },
      .future_fail = [](ffi::FutureSet* args) -> ffi::Failure* {
        args->future->failure = args->failure;
        return nullptr;
      },
      .run_id = [](ffi::RunId* args) -> ffi::Failure* {
        args->run_id = 0;
        return nullptr;
      },
      .device_ordinal = [](ffi::DeviceOrdinal* args) -> ffi::Failure* {
        args->ordinal = 0;
        return nullptr;
      },
  };
  return table;
}

// Throws what a handler failed with.
void report(ffi::Failure* failed) {
  if (!failed) return;
  HostCallError error(failed->code, failed->message);
  delete failed;
  throw error;
}

int32_t ffi_type(const Type& type) {
  if (type.kind == Type::Kind::token) return 17;
  switch (type.dtype) {
    case DType::i1:
      return 1;
    case DType::i2:
      return 26;
    case DType::i4:
      return 21;
    case DType::i8:
      return 2;
    case DType::i16:
      return 3;
    case DType::i32:
      return 4;
    case DType::i64:
      return 5;
    case DType::ui2:
      return 27;
    case DType::ui4:
      return 22;
    case DType::ui8:
      return 6;
    case DType::ui16:
      return 7;
    case DType::ui32:
      return 8;
    case DType::ui64:
      return 9;
    case DType::f16:
      return 10;
    case DType::f32:
      return 11;
    case DType::f64:
      return 12;
    case DType::bf16:
      return 16;
    case DType::c64:
      return 15;
    case DType::c128:
      return 18;
    case DType::f8E5M2:
      return 19;
    case DType::f8E4M3FN:
      return 20;
    case DType::f8E4M3B11FNUZ:
      return 23;
    case DType::f8E5M2FNUZ:
      return 24;
    case DType::f8E4M3FNUZ:
      return 25;
    case DType::f8E4M3:
      return 28;
    case DType::f8E3M4:
      return 29;
    case DType::f4E2M1FN:
      return 32;
    case DType::f8E8M0FNU:
      return 33;
    default:
      return 0;
  }
}

// ---- Attributes in the interface's records; made once, at addresses that stay ----

class AttributeRecords {
 public:
  explicit AttributeRecords(std::vector<DictionaryValue> dictionary)
      : dictionary_(std::move(dictionary)) {
    root_ = convert(dictionary_);
  }
  const ffi::Attributes& root() const { return *root_; }

 private:
  ffi::Attributes* convert(std::vector<DictionaryValue>& values) {
    ffi::Attributes& out = attributes_.emplace_back();
    auto& types = types_.emplace_back();
    auto& names = names_.emplace_back();
    auto& records = records_.emplace_back();
    for (DictionaryValue& value : values) {
      names.push_back(&bytes_.emplace_back(ffi::Bytes{value.name.data(), value.name.size()}));
      int32_t dtype = ffi_type(Type::tensor(value.dtype, {}));
      switch (value.kind) {
        case DictionaryValue::Kind::scalar:
          types.push_back(ffi::kScalar);
          records.push_back(&scalars_.emplace_back(ffi::Scalar{dtype, value.bytes.data()}));
          break;
        case DictionaryValue::Kind::array:
          types.push_back(ffi::kArray);
          records.push_back(&arrays_.emplace_back(
              ffi::Array{dtype, static_cast<size_t>(value.elements), value.bytes.data()}));
          break;
        case DictionaryValue::Kind::text:
          types.push_back(ffi::kText);
          records.push_back(&bytes_.emplace_back(
              ffi::Bytes{reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()}));
          break;
        case DictionaryValue::Kind::dictionary:
          types.push_back(ffi::kDictionary);
          records.push_back(convert(value.dictionary));
          break;
      }
    }
    out = {{sizeof(ffi::Attributes), nullptr},
           static_cast<int64_t>(types.size()),
           types.data(),
           names.data(),
           records.data()};
    return &out;
  }

  std::vector<DictionaryValue> dictionary_;
  std::deque<ffi::Attributes> attributes_;
  std::deque<ffi::Scalar> scalars_;
  std::deque<ffi::Array> arrays_;
  std::deque<ffi::Bytes> bytes_;
  std::deque<std::vector<int32_t>> types_;
  std::deque<std::vector<ffi::Bytes*>> names_;
  std::deque<std::vector<void*>> records_;
  ffi::Attributes* root_ = nullptr;
};

// An operand or result, and how its matrix lies in memory when the handler wants another order
// than row-major.
struct Operand {
  Type type;
  int32_t dtype = 0;
  Dims layout;  // minor to major; empty: row-major
};

// Copies between row-major and `layout`.
void permute(const Operand& operand, const std::byte* from, std::byte* to, bool into_layout) {
  int64_t width = storage_bytes(operand.type.dtype);
  size_t rank = operand.type.shape.size();
  std::vector<int64_t> stride(rank);  // of each dimension in the handler's order, in elements
  int64_t next = 1;
  for (int64_t d : operand.layout) {
    stride[static_cast<size_t>(d)] = next;
    next *= operand.type.shape[static_cast<size_t>(d)];
  }
  std::vector<int64_t> index(rank, 0);
  int64_t elements = operand.type.num_elements(), place = 0;
  for (int64_t i = 0; i < elements; ++i) {
    const std::byte* source = from + (into_layout ? i : place) * width;
    std::memcpy(to + (into_layout ? place : i) * width, source, static_cast<size_t>(width));
    for (size_t d = rank; d-- > 0;) {
      place += stride[d];
      if (++index[d] < operand.type.shape[d]) break;
      place -= stride[d] * operand.type.shape[d];
      index[d] = 0;
    }
  }
}

class HandlerCall : public CompiledKernel {
 public:
  HandlerCall(ffi::Handler handler, std::vector<Operand> operands, size_t inputs,
              std::vector<DictionaryValue> attributes)
      : handler_(handler),
        operands_(std::move(operands)),
        inputs_(inputs),
        attributes_(std::move(attributes)) {}

  void run(const KernelCall& call, ThreadPool&) const override {
    size_t count = operands_.size();
    std::vector<std::vector<int64_t>> dims(count);
    std::vector<ffi::Buffer> buffers(count);
    std::vector<void*> addresses(count);
    std::vector<int32_t> types(count, ffi::kBuffer);
    std::vector<std::vector<std::byte>> permuted(count);
    for (size_t i = 0; i < count; ++i) {
      const Operand& operand = operands_[i];
      dims[i] = operand.type.shape;
      std::byte* data = call.buffers[i];
      if (!operand.layout.empty()) {
        permuted[i].resize(static_cast<size_t>(operand.type.bytes()));
        if (i < inputs_) permute(operand, data, permuted[i].data(), true);
        data = permuted[i].data();
      }
      buffers[i] = {{sizeof(ffi::Buffer), nullptr},
                    operand.dtype,
                    data,
                    static_cast<int64_t>(dims[i].size()),
                    dims[i].data()};
      addresses[i] = &buffers[i];
    }
    ffi::CallFrame frame{};
    frame.head = {offsetof(ffi::CallFrame, attributes) + sizeof(ffi::Attributes), nullptr};
    frame.api = &api();
    frame.stage = ffi::kExecute;
    frame.arguments = {{sizeof(ffi::Operands), nullptr},
                       static_cast<int64_t>(inputs_),
                       types.data(),
                       addresses.data()};
    frame.results = {{sizeof(ffi::Operands), nullptr},
                     static_cast<int64_t>(count - inputs_),
                     types.data() + inputs_,
                     addresses.data() + inputs_};
    frame.attributes = attributes_.root();
    report(handler_(&frame));
    if (frame.future) {
      ffi::Failure* failed = frame.future->failure;
      delete frame.future;
      report(failed);
    }
    for (size_t i = inputs_; i < count; ++i)
      if (!operands_[i].layout.empty())
        permute(operands_[i], permuted[i].data(), call.buffers[i], false);
  }

 private:
  ffi::Handler handler_;
  std::vector<Operand> operands_;  // inputs, then outputs
  size_t inputs_;
  AttributeRecords attributes_;
};

class PythonCall : public CompiledKernel {
 public:
  PythonCall(uint64_t index, size_t inputs, size_t outputs)
      : index_(index), inputs_(inputs), outputs_(outputs) {}

  void run(const KernelCall& call, ThreadPool&) const override {
    std::vector<char> message(1 << 16);
    void* const* addresses = reinterpret_cast<void* const*>(call.buffers);
    int32_t failed = python_callback()(index_, static_cast<int64_t>(inputs_), addresses,
                                       static_cast<int64_t>(outputs_), addresses + inputs_,
                                       message.data(), static_cast<int64_t>(message.size()));
    if (failed != 0) throw HostCallError(kInternalCode, message.data());
  }

 private:
  uint64_t index_;
  size_t inputs_, outputs_;
};

class NoWork : public CompiledKernel {
 public:
  void run(const KernelCall&, ThreadPool&) const override {}
};

KernelRecipe made(std::shared_ptr<const CompiledKernel> kernel) {
  KernelRecipe out;
  out.finish = [kernel](const std::vector<void*>&, std::shared_ptr<const void>) { return kernel; };
  return out;
}

bool is_row_major(const Dims& layout) {
  for (size_t i = 0; i < layout.size(); ++i)
    if (layout[i] != static_cast<int64_t>(layout.size() - 1 - i)) return false;
  return true;
}

}  // namespace

Result<KernelRecipe> token_recipe(const Kernel&, const LibraryKernel&) {
  return made(std::make_shared<NoWork>());
}

Result<KernelRecipe> host_call_recipe(const Kernel& kernel, const LibraryKernel& library) {
  const auto& attributes = library.op->as<CustomCallAttributes>();
  if (attributes.target == kSinkTarget && library.op->num_results() == 0)
    return made(std::make_shared<NoWork>());
  std::optional<std::vector<DictionaryValue>> dictionary =
      parse_dictionary(call_dictionary(*library.op));
  if (!dictionary) return error("attributes that a handler cannot take: " + kernel.name);
  if (attributes.target == kPythonCallbackTarget) {
    std::optional<int64_t> index = integer_in(*dictionary, "index");
    if (!index) return error("a Python callback without a number");
    return made(std::make_shared<PythonCall>(static_cast<uint64_t>(*index), kernel.inputs.size(),
                                             kernel.outputs.size()));
  }
  void* handler = host_target(attributes.target);
  if (!handler) return error("nothing is registered under the name " + attributes.target);
  std::vector<Operand> operands;
  auto add = [&](Value* value, const std::vector<Dims>& layouts, size_t i) {
    Operand operand{value->type, ffi_type(value->type), {}};
    if (i < layouts.size() && !is_row_major(layouts[i])) operand.layout = layouts[i];
    operands.push_back(std::move(operand));
  };
  for (size_t i = 0; i < library.op->num_operands(); ++i)
    add(library.op->operand(i), attributes.operand_layouts, i);
  for (size_t i = 0; i < library.op->num_results(); ++i)
    add(library.op->result(i), attributes.result_layouts, i);
  return made(std::make_shared<HandlerCall>(reinterpret_cast<ffi::Handler>(handler),
                                            std::move(operands), library.op->num_operands(),
                                            std::move(*dictionary)));
}

}  // namespace ullage
