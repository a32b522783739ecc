// What the user switched off with --disable=NAME or --disable=NAME@WHERE. NAME is a pass or a move
// of the planner; WHERE is a function for passes and a part of a source line or label for moves.
// Read by the pipeline.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostics.h"

namespace ullage {

class Disabled {
 public:
  Disabled() = default;
  // Refuses names that no pass or move has, and passes at functions that the module lacks.
  static Result<Disabled> make(std::span<const std::string> words, const Module& module);

  // Whether the pass or move is off altogether.
  bool everywhere(std::string_view name) const;
  bool in_function(std::string_view pass, std::string_view function) const;
  // For a value made at `where`, e.g. "model.py:12" or "block_3/add".
  bool at(std::string_view move, const LocationTable& locations, Location where) const;

 private:
  struct Entry {
    std::string name;
    std::string where;  // empty: everywhere
  };
  std::vector<Entry> entries_;
};

}  // namespace ullage
