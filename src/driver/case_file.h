// case.json: the arguments of a program as recipes, and what its outputs must be. Reading checks
// every field, so that filling and judging meet valid values only.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/inputs.h"
#include "ir/type.h"
#include "support/diagnostics.h"
#include "support/file.h"

namespace ullage {

// What is known of one output. Elements at flat row-major positions 0, stride, 2 * stride, ... are
// in `sample`. Integer and boolean outputs are exact and named by a checksum; floating ones are
// within tolerances of a reference.
struct OutputSpec {
  std::string name;
  Type type;
  bool has_values = false;  // false when only the type is known
  bool exact = false;
  uint32_t crc32 = 0;  // exact: of the row-major little-endian bytes
  int64_t stride = 1;
  std::vector<std::complex<double>> sample;
  std::complex<double> sum = 0;
  double sum_of_squares = 0;
  double largest = 0;  // magnitude in the reference
  double tolerance = 0, sum_tolerance = 0, sum_of_squares_tolerance = 0;
  std::optional<double> rms_tolerance;
};

struct CaseFile {
  std::string name;
  int64_t devices = 1;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  FileBytes expected_file;         // expected.npz beside case.json, if there is one
  std::vector<NpyArray> expected;  // its arrays: out<i>_f64, out<i>_xla, out<i>
};

Result<CaseFile> read_case_file(const std::string& path);
// The text alone, without expected.npz. `path` is for messages.
Result<CaseFile> parse_case(std::string_view text, const std::string& path);

}  // namespace ullage
