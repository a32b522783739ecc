// The table of makers. Each adds something to the generator's current region, or nothing.
#pragma once

#include <span>
#include <string_view>

#include "random/generator.h"

namespace ullage::random_programs {

struct Maker {
  std::string_view name;
  int weight;
  void (*make)(Generator&);
};

std::span<const Maker> elementwise_makers();
std::span<const Maker> movement_makers();
std::span<const Maker> indexing_makers();
std::span<const Maker> reduction_makers();
std::span<const Maker> product_makers();
std::span<const Maker> control_makers();

}  // namespace ullage::random_programs
