// Dumps: numbered text files after each phase, for people. A phase that changed nothing writes no
// file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/compile.h"
#include "ir/ir.h"
#include "plan/plan.h"

namespace ullage {

class Dumper {
 public:
  explicit Dumper(std::string directory) : directory_(std::move(directory)) {}
  void write(std::string_view phase, const Module& module);
  void write(std::string_view phase, const std::string& text);
  // phases.txt: seconds of each phase, then what the planner's decisions brought.
  Status write_phases(const std::vector<PhaseTime>& phases, const PlanOutcome& outcome);

 private:
  std::string directory_;
  std::string last_;
  int number_ = 0;
};

// The plan as text: buffers with addresses and lifetimes, then steps.
std::string describe(const Plan& plan);

}  // namespace ullage
