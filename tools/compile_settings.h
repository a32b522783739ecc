// Options of the command line -> settings of the compiler, and the progress line that compilations
// of above two seconds show on a terminal.
#pragma once

#include <memory>

#include "driver/compile.h"
#include "driver/session.h"
#include "report/memory_report.h"
#include "verbs.h"

namespace ullage {

CompileSettings compile_settings(const VerbCall& call);

// Reads and plans the program of the verb's first operand. The arguments of a run give a program
// with dynamic shapes its static ones.
Result<std::unique_ptr<PlannedProgram>> plan_operand(const VerbCall& call,
                                                     const CompileSettings& settings,
                                                     const RunRequest* run = nullptr);

// Writes the page that --report names, if it was given.
Status write_html(const VerbCall& call, const PlannedProgram& planned, const MemoryReport& memory);

// Prints why the budget cannot be met (exit code 2).
int refuse(const VerbCall& call, const PlannedProgram& planned);

}  // namespace ullage
