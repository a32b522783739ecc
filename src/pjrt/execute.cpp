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

// One run on one device.
class Run {
 public:
  Run(const LoadedExecutable& loaded, Device* device, Buffer* const* arguments,
      const ExecuteOptions* options)
      : client_(*loaded.client),
        code_(*loaded.program->code),
        device_(device),
        arguments_(arguments),
        options_(options) {}

  Error* run(Buffer** outputs) {
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
      outputs[o] = make_buffer(device_->memories.front(), code_.outputs()[o].type, result(o));
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

  Error* take_arguments() {
    const auto& expected = code_.arguments();
    inputs_.resize(expected.size());
    for (size_t a = 0; a < expected.size(); ++a) {
      Buffer& buffer = *arguments_[a];
      // The first token of a chain comes as an empty array.
      if (expected[a].type.is_tensor() && !(buffer.type == expected[a].type))
        return make_error(kInvalidArgument,
                          fmt::format("argument {} is {}, the program takes {}", a,
                                      to_string(buffer.type), to_string(expected[a].type)));
      inputs_[a] = buffer.lock_storage();
      if (!inputs_[a])
        return make_error(kInvalidArgument,
                          fmt::format("argument {} has been deleted or donated", a));
    }
    // Buffers that the caller gives up: their memory is taken.
    std::vector<Buffer*> donated;
    for (size_t a = 0; a < expected.size(); ++a) {
      if (!expected[a].donated || !may_donate(a)) continue;
      if (!expected[a].aliased && !expected[a].overwritten) continue;
      if (std::find(donated.begin(), donated.end(), arguments_[a]) != donated.end())
        return make_error(kInvalidArgument,
                          fmt::format("Attempt to donate the same buffer twice in Execute() "
                                      "(second use: argument {})",
                                      a));
      donated.push_back(arguments_[a]);
    }
    for (Buffer* buffer : donated) {
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

  Client& client_;
  const ullage::Executable& code_;
  Device* device_;
  Buffer* const* arguments_;
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
    if (args->n_devices != 1)
      return make_error(kUnimplemented, "programs for several devices are not supported");
    Device* device = args->execute_device ? args->execute_device : loaded.devices.front();
    Run run(loaded, device, args->n_args > 0 ? args->argument_lists[0] : nullptr, args->options);
    if (Error* error = run.run(args->output_lists[0])) return error;
    if (args->device_complete_events) args->device_complete_events[0] = new Event();
    return nullptr;
  });
}

}  // namespace ullage::pjrt
