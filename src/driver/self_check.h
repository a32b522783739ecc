// Runs self-checking programs: functions without arguments that compare what they compute with what
// they should, through the check.* operations. Called by `ullage check`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "interp/interpret.h"
#include "ir/ir.h"
#include "support/diagnostics.h"

namespace ullage {

struct SelfCheckReport {
  int64_t passed = 0;       // functions
  int64_t failed = 0;       // functions, and modules that could not be read
  bool unreadable = false;  // some text was no valid program
  std::vector<Diagnostic> problems;
};

// Runs one function of a verified module and notes its checks in `checks`.
using CheckEngine = std::function<Status(const Module&, const Function&, CheckReport& checks)>;
CheckEngine interpreter_engine();

// Runs every public function without arguments in every module of the text and adds to the report.
// A function fails when one of its checks does or when it cannot be run.
void self_check(std::string_view text, const std::string& file, const CheckEngine& engine,
                SelfCheckReport& report);

}  // namespace ullage
