// Packing instances as text: a header `id,lower,upper,size`, then one buffer a row. The columns may
// come in any order; an `alignment` column is optional, and an `offset` column, which
// write_pack_csv adds, is ignored on reading. Called by `ullage pack`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/pack.h"
#include "support/diagnostics.h"

namespace ullage {

struct PackTable {
  std::vector<std::string> ids;     // unique, any text without commas
  std::vector<PackBuffer> buffers;  // same order
  std::vector<uint32_t> lines;      // where each row stands in the file, from 1
  bool has_alignment = false;
};

// `file` names the text in diagnostics. All bad rows are reported, up to 20, each with its line and
// column. What is accepted meets the requirements of pack().
Result<PackTable> read_pack_csv(std::string_view text, std::string_view file);

// The rows in their order with an `offset` column at the end.
std::string write_pack_csv(const PackTable& table, std::span<const int64_t> offsets);

}  // namespace ullage
