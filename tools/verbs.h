// The verbs of the `ullage` command. Each is a function in a file of its own; main.cpp has the
// table.
#pragma once

#include <string>
#include <vector>

#include "driver/exit_codes.h"
#include "driver/reproducer.h"
#include "support/diagnostics.h"
#include "support/options.h"

namespace ullage {

struct VerbCall {
  const std::vector<std::string>& operands;
  const Options& options;
  CommandRecord& record;  // of this command, for a reproducer
};

struct Verb {
  const char* name;
  const char* operands;  // as in "FILE..."
  const char* summary;
  size_t min_operands, max_operands;
  int (*run)(const VerbCall&);  // gives an ExitCode
};

// The text of a program: a file, or "-" for standard input. It is remembered for a reproducer.
Result<std::string> read_program(const VerbCall& call, const std::string& path);
// The name that diagnostics show for it.
std::string shown_path(const std::string& path);

// Prints the diagnostics on standard error; gives kExitUserError.
int fail(const std::vector<Diagnostic>& diagnostics);

int run_run(const VerbCall& call);
int run_plan(const VerbCall& call);
int run_opt(const VerbCall& call);
int run_check(const VerbCall& call);
int run_pack(const VerbCall& call);
int run_options(const VerbCall& call);
int run_version(const VerbCall& call);

}  // namespace ullage
