#include "syntax/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "syntax/bytecode.h"
#include "syntax/parser.h"

namespace ullage {

// What a byte offset or a column counts must fit 32 bits.
static constexpr size_t kMaxText = size_t{1} << 40;

Result<std::unique_ptr<Module>> read_text(std::string_view text, std::string file) {
  if (text.size() > kMaxText) return error("this text is too large", {std::move(file)});
  return syntax::Parser(text, std::move(file), 1).parse();
}

Result<std::unique_ptr<Module>> read_module(std::string_view content, std::string file) {
  return is_bytecode(content) ? read_bytecode(content, std::move(file))
                              : read_text(content, std::move(file));
}

Result<std::vector<std::unique_ptr<Module>>> read_modules(std::string_view text, std::string file) {
  constexpr std::string_view kSeparator = "// -----";
  std::vector<std::unique_ptr<Module>> modules;
  if (is_bytecode(text)) {
    auto module = read_bytecode(text, std::move(file));
    if (!module) return module.diagnostics();
    modules.push_back(std::move(*module));
    return modules;
  }
  uint32_t line = 1;
  size_t begin = 0;
  while (begin <= text.size()) {
    size_t end = begin;
    while (end < text.size() && !text.substr(end).starts_with(kSeparator))
      end = std::min(text.find('\n', end), text.size() - 1) + 1;
    std::string_view part = text.substr(begin, end - begin);
    auto module = syntax::Parser(part, file, line).parse();
    if (!module) return module.diagnostics();
    modules.push_back(std::move(*module));
    if (end >= text.size()) break;
    line += static_cast<uint32_t>(std::count(part.begin(), part.end(), '\n')) + 1;
    begin = std::min(text.find('\n', end), text.size() - 1) + 1;
    if (begin >= text.size()) break;
  }
  return modules;
}

Result<std::string> read_program_text(const std::string& path) {
  const bool standard = path == "-";
  std::FILE* file = standard ? stdin : std::fopen(path.c_str(), "rb");
  SourceRange where{standard ? "<stdin>" : path};
  if (!file) return error(fmt::format("cannot open this file: {}", std::strerror(errno)), where);
  std::string text;
  char buffer[1 << 16];
  while (size_t got = std::fread(buffer, 1, sizeof buffer, file)) text.append(buffer, got);
  const bool broken = std::ferror(file) != 0;
  const int code = errno;
  if (!standard) std::fclose(file);
  if (broken) return error(fmt::format("cannot read this file: {}", std::strerror(code)), where);
  if (is_bytecode(text)) return text;
  bool binary = std::any_of(text.begin(), text.end(), [](char c) { return c == '\0'; });
  if (binary)
    return error("this is neither text nor MLIR bytecode", where,
                 "a program is StableHLO, as text (.mlir) or as a portable artifact (.mlirbc)");
  return text;
}

Result<std::unique_ptr<Module>> read_file(const std::string& path) {
  Result<std::string> text = read_program_text(path);
  if (!text) return text.diagnostics();
  return read_module(*text, path == "-" ? "<stdin>" : path);
}

}  // namespace ullage
