// Runs self-checking programs: functions without arguments that compare what they compute with what
// they should, through the check.* operations. Called by `ullage check`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/compile.h"
#include "interp/interpret.h"
#include "ir/ir.h"
#include "support/diagnostics.h"

namespace ullage {

struct SelfCheckReport {
  int64_t passed = 0;       // functions
  int64_t unsupported = 0;  // functions that the engine refuses, with a reason in `problems`
  int64_t failed = 0;       // functions, and modules that could not be read
  bool unreadable = false;  // some text was no valid program
  std::vector<Diagnostic> problems;
};

// How a function ran, whatever its checks found.
struct CheckOutcome {
  Status status = Ok{};
  bool supported = true;  // false: the engine does not run such programs, `status` says why
};

// Runs one function of a verified module and notes its checks in `checks`.
using CheckEngine =
    std::function<CheckOutcome(const Module&, const Function&, CheckReport& checks)>;
CheckEngine interpreter_engine();
// Compiles and runs what computes; the interpreter compares.
CheckEngine compiled_engine(const CompileSettings& settings);

// Runs every public function without arguments in every module of the text and adds to the report.
// A function fails when one of its checks does or when it cannot be run.
void self_check(std::string_view text, const std::string& file, const CheckEngine& engine,
                SelfCheckReport& report);

}  // namespace ullage
