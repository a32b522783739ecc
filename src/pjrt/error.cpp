#include "pjrt/error.h"

#include <fmt/format.h>

#include <exception>
#include <new>

#include "pjrt/functions.h"
#include "runtime/host_call.h"
#include "support/check.h"

namespace ullage::pjrt {

Error* make_error(Code code, std::string message) {
  return new Error{code, std::move(message)};
}

Error* make_error(Code code, const std::vector<Diagnostic>& diagnostics) {
  std::string text = to_string(diagnostics);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return make_error(code, std::move(text));
}

Error* guarded(const std::function<Error*()>& body) {
  try {
    return body();
  } catch (const HostCallError& failure) {
    return make_error(static_cast<Code>(failure.code()), failure.what());
  } catch (const InternalError& failure) {
    return make_error(kInternal, std::string(failure.what()) + "\nThis is an error in Ullage.");
  } catch (const std::bad_alloc&) {
    return make_error(kResourceExhausted, "out of memory");
  } catch (const std::exception& failure) {
    return make_error(kInternal, failure.what());
  }
}

Error* error_destroy(ErrorDestroyArgs* args) {
  delete args->err;
  return nullptr;
}

Error* error_message(ErrorMessageArgs* args) {
  args->text = args->err->message.data();
  args->text_len = args->err->message.size();
  return nullptr;
}

Error* error_get_code(ErrorGetCodeArgs* args) {
  args->code = args->err->code;
  return nullptr;
}

// Errors carry nothing beyond code and message.
Error* error_for_each_payload(ErrorForEachPayloadArgs*) {
  return nullptr;
}

}  // namespace ullage::pjrt
