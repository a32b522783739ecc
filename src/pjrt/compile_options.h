// What JAX says about a compilation beside the program: devices, and the options that users give
// with `compiler_options=`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "driver/compile.h"
#include "support/diagnostics.h"

namespace ullage::pjrt {

struct CompileRequest {
  int64_t replicas = 1, partitions = 1;
  std::string device_assignment;    // the serialised message
  std::vector<int32_t> device_ids;  // in order of replica, then partition
  CompileSettings settings;         // the client's, with what the request says about them
  // Per result: whether its sharding may be chosen here. One entry may stand for all.
  std::vector<bool> free_output_shardings;
};

// `options` is the serialised message, `defaults` are the client's settings. Options that do not
// exist are refused, and so are values of another type.
Result<CompileRequest> parse_compile_options(std::string_view options,
                                             const CompileSettings& defaults);

// What ULLAGE_FLAGS say, for programs of this plugin.
Status environment_settings(CompileSettings& settings);

// One option of a client or of a compilation, without the prefix "ullage_": memory_budget,
// disable, verify_plan, dump_dir. False if there is no such option.
Result<bool> apply_option(CompileSettings& settings, std::string_view name, std::string_view value);

}  // namespace ullage::pjrt
