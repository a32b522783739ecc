#include "driver/pack_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ullage {

using Json = nlohmann::ordered_json;

std::string pack_json(const std::string& program, const PackOptions& options,
                      const PackTable& table, const PackResult& result) {
  Json json = {{"program", program},
               {"capacity", options.capacity < 0 ? Json(nullptr) : Json(options.capacity)},
               {"fits", result.fits},
               {"proved_infeasible", result.proved_infeasible},
               {"arena", result.arena},
               {"max_live", result.max_live},
               {"method", name(result.stats.method)},
               {"nodes", result.stats.nodes}};
  if (result.fits) {
    Json offsets = Json::object();
    for (size_t i = 0; i < table.ids.size(); ++i) offsets[table.ids[i]] = result.offsets[i];
    json["offsets"] = std::move(offsets);
  } else {
    Json obstacle = Json::array();
    for (int32_t i : result.obstacle) obstacle.push_back(table.ids[static_cast<size_t>(i)]);
    json["obstacle"] = std::move(obstacle);
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string pack_refusal(const std::string& program, const PackOptions& options,
                         const PackTable& table, const PackResult& result) {
  std::string out =
      fmt::format("error: the rows of {} do not fit into {}\n", program, options.capacity);
  if (result.max_live > options.capacity) {
    out += fmt::format("  {} units are alive at the same time\n", result.max_live);
  } else if (result.proved_infeasible) {
    out += "  no placement exists, though no moment needs more; the search was exhausted\n";
  } else {
    out += fmt::format(
        "  no placement was found; the best one needs {}, and none needs less than {}\n",
        result.arena, result.max_live);
  }
  out += result.proved_infeasible ? "rows that cannot be placed together:\n"
                                  : "rows alive at the busiest moment:\n";
  constexpr size_t kShown = 20;
  for (size_t i = 0; i < std::min(kShown, result.obstacle.size()); ++i) {
    auto row = static_cast<size_t>(result.obstacle[i]);
    const PackBuffer& buffer = table.buffers[row];
    out += fmt::format("  {}: size {}, alive in [{}, {})\n", table.ids[row], buffer.size,
                       buffer.lower, buffer.upper);
  }
  if (result.obstacle.size() > kShown)
    out += fmt::format("  and {} more\n", result.obstacle.size() - kShown);
  return out;
}

}  // namespace ullage
