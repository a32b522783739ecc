// The exit codes of the `ullage` command: a contract with the scripts that call it.
#pragma once

namespace ullage {

enum ExitCode : int {
  kExitFine = 0,
  kExitUserError = 1,       // the user's program or arguments are wrong
  kExitOverBudget = 2,      // the budget cannot be met
  kExitCheckFailed = 3,     // a check or a comparison failed
  kExitInternalError = 70,  // a broken invariant of Ullage; a reproducer was written
};

}  // namespace ullage
