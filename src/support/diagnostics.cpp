#include "support/diagnostics.h"

namespace ullage {

std::string SourceRange::str() const {
  std::string out = file.empty() ? "<unknown>" : file;
  if (line != 0) {
    out += ":" + std::to_string(line);
    if (column != 0) out += ":" + std::to_string(column);
  }
  return out;
}

static const char* name(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "error";
}

std::string Diagnostic::str() const {
  std::string out;
  if (where.known()) out += where.str() + ": ";
  out += std::string(name(severity)) + ": " + message;
  if (!help.empty()) out += "\n  help: " + help;
  for (const Diagnostic& note : notes) out += "\n" + note.str();
  return out;
}

Diagnostic error(std::string message, SourceRange where, std::string help) {
  return {Severity::error, std::move(message), std::move(where), std::move(help)};
}

std::string to_string(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) out += diagnostic.str() + "\n";
  return out;
}

}  // namespace ullage
