// Events: something that has happened or will. Work is done in the call that asks for it, so most
// events have happened when they are made; the exception is the end of borrowed host memory.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "pjrt/abi.h"

namespace ullage::pjrt {

// Shared by handles and by whoever makes it happen.
class EventState {
 public:
  using Callback = void (*)(Error*, void*);

  bool happened();
  void wait();
  // Runs the callbacks, without a lock held.
  void happen();
  // Calls back at once if it has happened.
  void on_happened(Callback callback, void* user);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool happened_ = false;
  std::vector<std::pair<Callback, void*>> callbacks_;
};

struct Event {
  std::shared_ptr<EventState> state;  // null: it has happened
};

}  // namespace ullage::pjrt
