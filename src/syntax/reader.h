// Reads StableHLO text into a Module: the forms that JAX and the StableHLO tools print, pretty and
// generic. What comes out is in SSA form with every use agreeing with its definition; the
// constraints of single operations (shapes, element types, regions) are the verifier's business
// (ops/verify.h). A wrong text gives exactly one diagnostic, with its place. Called by the command
// line, the tests and whoever takes programs from outside.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostics.h"

namespace ullage {

// `file` is the name that diagnostics show.
Result<std::unique_ptr<Module>> read_text(std::string_view text, std::string file);

// A program as text or as bytecode (bytecode.h), told apart by the first bytes.
Result<std::unique_ptr<Module>> read_module(std::string_view content, std::string file);

// A text of several modules, separated by lines that begin with "// -----"; or bytecode, which has
// one.
Result<std::vector<std::unique_ptr<Module>>> read_modules(std::string_view text, std::string file);

// The content of a file, or of the standard input for "-": text or bytecode. Refuses files that
// cannot be read or are neither.
Result<std::string> read_program_text(const std::string& path);

// A program in a file; "-" is the standard input.
Result<std::unique_ptr<Module>> read_file(const std::string& path);

}  // namespace ullage
