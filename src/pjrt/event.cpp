#include "pjrt/event.h"

#include "pjrt/functions.h"

namespace ullage::pjrt {

bool EventState::happened() {
  std::lock_guard lock(mutex_);
  return happened_;
}

void EventState::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return happened_; });
}

void EventState::happen() {
  std::vector<std::pair<Callback, void*>> callbacks;
  {
    std::lock_guard lock(mutex_);
    happened_ = true;
    callbacks.swap(callbacks_);
  }
  changed_.notify_all();
  for (auto [callback, user] : callbacks) callback(nullptr, user);
}

void EventState::on_happened(Callback callback, void* user) {
  {
    std::lock_guard lock(mutex_);
    if (!happened_) {
      callbacks_.emplace_back(callback, user);
      return;
    }
  }
  callback(nullptr, user);
}

Error* event_destroy(EventDestroyArgs* args) {
  delete args->event;
  return nullptr;
}

Error* event_is_ready(EventIsReadyArgs* args) {
  args->ready = !args->event->state || args->event->state->happened();
  return nullptr;
}

// No event of this plugin brings an error: they are returned from the calls themselves.
Error* event_error(EventErrorArgs*) {
  return nullptr;
}

Error* event_await(EventAwaitArgs* args) {
  if (args->event->state) args->event->state->wait();
  return nullptr;
}

Error* event_on_ready(EventOnReadyArgs* args) {
  if (args->event->state)
    args->event->state->on_happened(args->callback, args->user);
  else
    args->callback(nullptr, args->user);
  return nullptr;
}

Error* async_tracking_event_destroy(AsyncTrackingEventDestroyArgs* args) {
  delete args->event;
  return nullptr;
}

}  // namespace ullage::pjrt
