// Diagnostics and results. A user's mistake is a Diagnostic: what is wrong, where in the user's
// file, and what would help. A broken invariant of Ullage itself is an InternalError (see check.h):
// a different type, so that neither is taken for the other. Inside the compiler functions return
// Result<T>; exceptions appear only at the API boundary.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ullage {

// A place in a text the user gave us. Lines and columns count from 1; 0 means unknown.
struct SourceRange {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t end_line = 0;
  uint32_t end_column = 0;

  bool known() const { return line != 0 || !file.empty(); }
  std::string str() const;  // "file:line:column", as much of it as is known
};

enum class Severity : uint8_t { error, warning, note };

struct Diagnostic {
  Severity severity = Severity::error;
  std::string message;  // one sentence, no trailing full stop
  SourceRange where;
  std::string help;  // what the user can do; may be empty
  std::vector<Diagnostic> notes = {};

  // "file:line:column: error: message" with help and notes on lines of their own.
  std::string str() const;
};

Diagnostic error(std::string message, SourceRange where = {}, std::string help = {});

// A value or the diagnostics that explain why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Diagnostic diagnostic) : state_(std::vector<Diagnostic>{std::move(diagnostic)}) {}
  Result(std::vector<Diagnostic> diagnostics) : state_(std::move(diagnostics)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const std::vector<Diagnostic>& diagnostics() const { return std::get<1>(state_); }

 private:
  std::variant<T, std::vector<Diagnostic>> state_;
};

struct Ok {};
using Status = Result<Ok>;

// All diagnostics, one after another, each ended by a newline.
std::string to_string(const std::vector<Diagnostic>& diagnostics);

}  // namespace ullage
