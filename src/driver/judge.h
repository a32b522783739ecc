// Judges the outputs of a run: against the expectations of a case file, or against the outputs of
// another engine.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "driver/case_file.h"
#include "ir/type.h"

namespace ullage {

struct OutputView {
  Type type;
  std::span<const std::byte> bytes;  // row-major
};

struct CheckResult {
  bool passed = true;
  double max_abs_error =
      0;  // over all elements whose value is known; infinite where a NaN is on one side only
  double max_rel_error =
      0;  // the same, each as a part of the largest magnitude in its output's reference
  int64_t judged_outputs = 0;
  std::vector<std::string> failures;  // one text for each thing that is off

  std::string summary() const;  // "check passed: 12 outputs, ..." or the failures, one a line
};

// A floating output passes when each sample is within the tolerance, its sum and sum of squares are
// within theirs, and, where all elements are known, each of them is within the tolerance and their
// root mean square error within its own. Exact outputs must have the expected checksum. A NaN
// passes only where the reference has one.
CheckResult judge(const CaseFile& expected, std::span<const OutputView> outputs);

// Compares every element. Integers must be equal; floating elements may differ by some units in the
// last place of the output's largest magnitude, since two engines may add in different orders.
CheckResult compare_outputs(std::span<const OutputView> outputs,
                            std::span<const OutputView> reference);

}  // namespace ullage
