// ullage pack FILE.csv --capacity N: the packer alone.
#include <fmt/format.h>

#include "driver/pack_output.h"
#include "plan/pack.h"
#include "plan/pack_csv.h"
#include "plan/pack_validator.h"
#include "support/check.h"
#include "verbs.h"

namespace ullage {

int run_pack(const VerbCall& call) {
  const std::string& path = call.operands.front();
  Result<std::string> text = read_program(call, path);
  if (!text.ok()) return fail(text.diagnostics());
  Result<PackTable> table = read_pack_csv(*text, shown_path(path));
  if (!table.ok()) return fail(table.diagnostics());

  PackOptions options;
  options.capacity = call.options.number(Opt::capacity).value_or(-1);
  PackResult result = pack(table->buffers, options);
  if (result.fits) {
    std::vector<std::string> violations =
        validate_packing(table->buffers, result.offsets, options.capacity);
    ULLAGE_CHECK(violations.empty(), violations.front());
  }
  if (call.options.flag(Opt::json)) {
    fmt::print("{}", pack_json(shown_path(path), options, *table, result));
  } else if (result.fits) {
    fmt::print("{}", write_pack_csv(*table, result.offsets));
  } else {
    fmt::print(stderr, "{}", pack_refusal(shown_path(path), options, *table, result));
  }
  return result.fits ? kExitFine : kExitOverBudget;
}

}  // namespace ullage
