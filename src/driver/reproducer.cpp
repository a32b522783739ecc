#include "driver/reproducer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "driver/exit_codes.h"
#include "support/file.h"

namespace ullage {
namespace {

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./,:@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Text in a comment must not end it.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

bool is_bytecode(std::string_view program) {
  return program.starts_with("ML\xefR");
}

}  // namespace

std::string reproducer_text(const CommandRecord& record, const std::string& error) {
  std::string command = "ullage";
  for (const std::string& argument : record.arguments) command += " " + quoted(argument);
  std::string out = fmt::format("// {}\n", one_line(command));
  if (!record.flags.empty())
    out += fmt::format("// ULLAGE_FLAGS={}\n", one_line(quoted(record.flags)));
  out += fmt::format("// internal error: {}\n", one_line(error));
  if (!is_bytecode(record.program_text)) out += record.program_text;
  return out;
}

std::string write_reproducer(const CommandRecord& record, const std::string& error,
                             const std::string& folder) {
  std::error_code ignored;
  for (int number = 1; number < 1000; ++number) {
    std::string base =
        (std::filesystem::path(folder) / fmt::format("ullage-reproducer-{}", number)).string();
    if (std::filesystem::exists(base + ".mlir", ignored)) continue;
    if (!write_file(base + ".mlir", reproducer_text(record, error)).ok()) return {};
    if (is_bytecode(record.program_text) && !write_file(base + ".mlirbc", record.program_text).ok())
      return {};
    return base + ".mlir";
  }
  return {};
}

int run_guarded(CommandRecord& record, const std::string& folder,
                const std::function<int(CommandRecord&)>& command) {
  std::string problem;
  try {
    return command(record);
  } catch (const std::exception& error) {
    problem = error.what();
  } catch (...) {
    problem = "unknown exception";
  }
  std::string path = write_reproducer(record, problem, folder);
  std::fflush(stdout);
  fmt::print(stderr, "internal error: {}\n  this is a mistake in Ullage, not in your program\n",
             problem);
  if (path.empty()) {
    fmt::print(stderr, "  no reproducer could be written to '{}'\n", folder);
  } else {
    fmt::print(stderr, "  please report it with the file {}\n", path);
  }
  return kExitInternalError;
}

}  // namespace ullage
