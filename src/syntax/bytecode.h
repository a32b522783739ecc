// Reads StableHLO portable artifacts: MLIR bytecode whose operations are of VHLO, StableHLO's
// versioned dialect, as JAX hands them to plugins and jax.export writes them. What comes out is
// what reader.h gives for the same program's text: the same operations, attributes, kept texts and
// locations. Values have the names that StableHLO's printer would give them. Operations of Shardy
// (sdy) are read where they occur.
//
// Wrong bytes give exactly one diagnostic, whose message names the byte's offset in the file and
// what was expected there. Reading takes time and memory in proportion to the file; the same limits
// hold as for text (limits.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ir/ir.h"
#include "support/diagnostics.h"

namespace ullage {

struct StablehloVersion {
  int64_t major = 0, minor = 0, patch = 0;
  friend auto operator<=>(const StablehloVersion&, const StablehloVersion&) = default;
};

// The versions that are read. Patches change nothing in the format. A plugin advertises the newest.
inline constexpr StablehloVersion kOldestStablehlo{1, 0, 0};
inline constexpr StablehloVersion kNewestStablehlo{1, 17, 0};

inline constexpr std::string_view kBytecodeMagic = "ML\xEFR";
inline bool is_bytecode(std::string_view content) {
  return content.starts_with(kBytecodeMagic);
}

// `file` is the name that diagnostics show.
Result<std::unique_ptr<Module>> read_bytecode(std::string_view bytes, std::string file);

}  // namespace ullage
