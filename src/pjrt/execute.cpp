// Running a loaded executable: arguments in, results out, donated arguments taken.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "pjrt/error.h"
#include "pjrt/functions.h"
#include "pjrt/objects.h"
#include "runtime/host_call.h"
#include "support/size.h"

namespace ullage::pjrt {

namespace {

// One run, on one device or over several.
class Run {
 public:
  Run(const LoadedExecutable& loaded, const LoadedExecutableExecuteArgs& args)
      : client_(*loaded.client),
        program_(*loaded.program),
        code_(*loaded.program->code),
        devices_(loaded.devices),
        arguments_(args.argument_lists),
        options_(args.options) {
    if (args.execute_device) devices_ = {args.execute_device};
  }

  Error* run(Buffer** const* outputs) {
    if (Error* error = take_arguments()) return error;
    if (Error* error = make_outputs()) return error;
    std::vector<std::byte*> argument_addresses, output_addresses;
    for (const auto& storage : inputs_) argument_addresses.push_back(storage->data());
    for (const auto& storage : results_)
      output_addresses.push_back(storage ? storage->data() : nullptr);
    std::shared_ptr<Storage> scratch = Storage::make(client_.memory, code_.scratch_bytes());
    if (!scratch) return no_memory(code_.scratch_bytes(), "temporaries");
    static const std::function<bool()> ask = [] {
      Interrupted interrupted = interrupted_callback();
      return interrupted && interrupted() != 0;
    };
    if (!code_.run(argument_addresses, output_addresses, scratch->data(), *client_.pool, &ask))
      return make_error(kCancelled, "the run was interrupted");
    for (size_t o = 0; o < results_.size(); ++o)
      if (Error* error = hand_out(o, outputs)) return error;
    return nullptr;
  }

 private:
  static Error* no_memory(int64_t bytes, std::string_view what) {
    return make_error(kResourceExhausted,
                      fmt::format("the system has no {} for {}", format_size(bytes), what));
  }

  bool may_donate(size_t a) const {
    if (!options_ || !options_->non_donatable) return true;
    const int64_t* begin = options_->non_donatable;
    return std::find(begin, begin + options_->n_non_donatable, static_cast<int64_t>(a)) ==
           begin + options_->n_non_donatable;
  }

  // Whether an argument is handed out again as it is.
  bool is_result(size_t a) const {
    for (const ullage::Executable::Output& output : code_.outputs())
      if (output.kind == ullage::Executable::Output::Kind::argument && output.index == a)
        return true;
    return false;
  }

  // The buffer of an argument on one of the devices, with its memory held; null if it has none.
  Error* hold(size_t device, size_t a, const std::vector<int64_t>& shape,
              std::shared_ptr<Storage>& out) {
    Buffer& buffer = *arguments_[device][a];
    const Type& expected = code_.arguments()[a].type;
    const Layout& layout = *program_.argument_layouts[a];
    // The first token of a chain comes as an empty array.
    if (expected.is_tensor() &&
        (buffer.type.dtype != expected.dtype || buffer.type.shape != as_seen(layout, shape)))
      return make_error(
          kInvalidArgument,
          fmt::format("argument {} is {}, the program takes {}", a, to_string(buffer.type),
                      to_string(Type::tensor(expected.dtype, as_seen(layout, shape)))));
    if (expected.is_tensor() && buffer.layout != &layout)
      return make_error(kInvalidArgument,
                        fmt::format("argument {} has the layout {}, the program takes {}", a,
                                    buffer.layout->text, layout.text));
    out = buffer.lock_storage();
    if (out) return nullptr;
    return make_error(kInvalidArgument, fmt::format("argument {} has been deleted or donated", a));
  }

  // A whole argument: the buffer of the first device, or all shards put together.
  Error* gather(size_t a) {
    const Type& type = code_.arguments()[a].type;
    const Sharding* sharding = program_.shards ? &program_.shards->arguments[a] : nullptr;
    if (!sharding || !sharding->mesh || sharding->replicated())
      return hold(0, a, type.shape, inputs_[a]);
    inputs_[a] = Storage::make(client_.memory, type.bytes());
    if (!inputs_[a]) return no_memory(type.bytes(), "an argument");
    std::vector<int64_t> shape = sharding->local_shape(type.shape);
    for (int64_t place : places_of_shards(*sharding)) {
      std::shared_ptr<Storage> shard;
      size_t device = static_cast<size_t>(sharding->mesh->device_at(place));
      if (Error* error = hold(device, a, shape, shard)) return error;
      copy_shard(type, *sharding, place, inputs_[a]->data(), shard->data(), false);
    }
    return nullptr;
  }

  Error* take_arguments() {
    const auto& expected = code_.arguments();
    inputs_.resize(expected.size());
    for (size_t a = 0; a < expected.size(); ++a)
      if (Error* error = gather(a)) return error;
    // Buffers that the caller gives up: their memory is taken.
    std::vector<Buffer*> donated, taken;
    for (size_t a = 0; a < expected.size(); ++a) {
      if (!expected[a].donated || !may_donate(a)) continue;
      for (size_t device = 0; device < devices_.size(); ++device) {
        Buffer* buffer = arguments_[device][a];
        if (std::find(donated.begin(), donated.end(), buffer) != donated.end())
          return make_error(kInvalidArgument,
                            fmt::format("Attempt to donate the same buffer twice in Execute() "
                                        "(second use: argument {})",
                                        a));
        donated.push_back(buffer);
        // A donor's memory is taken only if the run really uses it.
        if (expected[a].aliased || expected[a].overwritten || is_result(a)) taken.push_back(buffer);
      }
    }
    for (Buffer* buffer : taken) {
      std::shared_ptr<Storage> dropped;
      std::lock_guard lock(buffer->mutex);
      dropped.swap(buffer->storage);
    }
    // What a run writes to must belong to it alone; otherwise it gets a copy.
    for (size_t a = 0; a < expected.size(); ++a) {
      if (!expected[a].overwritten) continue;
      if (inputs_[a].use_count() == 1 && inputs_[a]->writable()) continue;
      std::shared_ptr<Storage> copy = Storage::make(client_.memory, inputs_[a]->bytes());
      if (!copy) return no_memory(inputs_[a]->bytes(), "a copy of an argument");
      std::memcpy(copy->data(), inputs_[a]->data(), static_cast<size_t>(copy->bytes()));
      inputs_[a] = std::move(copy);
    }
    return nullptr;
  }

  Error* make_outputs() {
    for (const ullage::Executable::Output& output : code_.outputs()) {
      results_.emplace_back();
      if (output.kind != ullage::Executable::Output::Kind::own) continue;
      results_.back() = Storage::make(client_.memory, output.type.bytes());
      if (!results_.back()) return no_memory(output.type.bytes(), "a result");
    }
    return nullptr;
  }

  std::shared_ptr<Storage> result(size_t o) const {
    const ullage::Executable::Output& output = code_.outputs()[o];
    switch (output.kind) {
      case ullage::Executable::Output::Kind::argument:
        return inputs_[output.index];
      case ullage::Executable::Output::Kind::output:
        return results_[output.index];
      default:
        return results_[o];
    }
  }

  // A result as buffers, one per device: the same memory on all, or each its shard.
  Error* hand_out(size_t o, Buffer** const* outputs) {
    const Type& type = code_.outputs()[o].type;
    const Sharding* sharding = program_.shards ? &program_.shards->results[o] : nullptr;
    Layout* layout = program_.output_layouts[o];
    std::shared_ptr<Storage> whole = result(o);
    bool cut = sharding && sharding->mesh && !sharding->replicated();
    for (size_t device = 0; device < devices_.size(); ++device) {
      Memory* memory = devices_[device]->memories.front();
      if (!cut) {
        Type seen = type;
        if (type.is_tensor()) seen.shape = as_seen(*layout, type.shape);
        outputs[device][o] = make_buffer(memory, std::move(seen), whole, layout);
        continue;
      }
      Type local = Type::tensor(type.dtype, sharding->local_shape(type.shape));
      std::shared_ptr<Storage> shard = Storage::make(client_.memory, local.bytes());
      if (!shard) return no_memory(local.bytes(), "a shard of a result");
      int64_t place = sharding->mesh->place_of(static_cast<int64_t>(device));
      copy_shard(type, *sharding, place, whole->data(), shard->data(), true);
      local.shape = as_seen(*layout, local.shape);
      outputs[device][o] = make_buffer(memory, std::move(local), std::move(shard), layout);
    }
    return nullptr;
  }

  Client& client_;
  const CompiledProgram& program_;
  const ullage::Executable& code_;
  std::vector<Device*> devices_;
  Buffer* const* const* arguments_;  // per device, then per argument
  const ExecuteOptions* options_;
  std::vector<std::shared_ptr<Storage>> inputs_, results_;
};

}  // namespace

Error* loaded_executable_execute(LoadedExecutableExecuteArgs* args) {
  return guarded([&]() -> Error* {
    const LoadedExecutable& loaded = *args->lexe;
    if (loaded.deleted) return make_error(kInvalidArgument, "the executable has been deleted");
    size_t expected = loaded.program->code->arguments().size();
    if (args->n_args != expected)
      return make_error(kInvalidArgument, fmt::format("{} arguments given, the program takes {}",
                                                      args->n_args, expected));
    if (args->n_devices != loaded.devices.size())
      return make_error(kInvalidArgument,
                        fmt::format("{} lists of arguments for a program over {} devices",
                                    args->n_devices, loaded.devices.size()));
    Run run(loaded, *args);
    if (Error* error = run.run(args->output_lists)) return error;
    for (size_t i = 0; args->device_complete_events && i < args->n_devices; ++i)
      args->device_complete_events[i] = new Event();
    return nullptr;
  });
}

}  // namespace ullage::pjrt
