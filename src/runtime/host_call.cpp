#include "runtime/host_call.h"

#include <atomic>
#include <map>
#include <mutex>

namespace ullage {

namespace {

struct Table {
  std::mutex mutex;
  std::map<std::string, void*, std::less<>> targets;
  std::atomic<PythonCallback> python{nullptr};
  std::atomic<Interrupted> interrupted{nullptr};
};

Table& table() {
  static Table table;
  return table;
}

}  // namespace

void set_python_callback(PythonCallback callback) {
  table().python = callback;
}

PythonCallback python_callback() {
  return table().python;
}

void register_host_target(std::string name, void* handler) {
  std::lock_guard lock(table().mutex);
  table().targets[std::move(name)] = handler;
}

void* host_target(std::string_view name) {
  std::lock_guard lock(table().mutex);
  auto it = table().targets.find(name);
  return it == table().targets.end() ? nullptr : it->second;
}

bool has_host_target(std::string_view name) {
  if (name == kSinkTarget) return true;
  return name == kPythonCallbackTarget ? python_callback() != nullptr
                                       : host_target(name) != nullptr;
}

void set_interrupted(Interrupted interrupted) {
  table().interrupted = interrupted;
}

Interrupted interrupted_callback() {
  return table().interrupted;
}

}  // namespace ullage
