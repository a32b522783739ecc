// What `ullage pack` prints besides rows: the JSON object, and why rows do not fit.
#pragma once

#include <string>

#include "plan/pack.h"
#include "plan/pack_csv.h"

namespace ullage {

// Keys: program, capacity (null for none), fits, proved_infeasible, arena, max_live, method, nodes;
// `offsets` by id when the rows fit, else `obstacle`, the ids that stand in the way.
std::string pack_json(const std::string& program, const PackOptions& options,
                      const PackTable& table, const PackResult& result);
std::string pack_refusal(const std::string& program, const PackOptions& options,
                         const PackTable& table, const PackResult& result);

}  // namespace ullage
