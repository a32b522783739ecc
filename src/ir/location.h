// Source locations. A Location is an index into its module's LocationTable, where equal locations
// are stored once. They mirror MLIR's kinds: a file position, a name around another location, a
// call site, a fusion of several.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "support/diagnostics.h"

namespace ullage {

struct Location {
  uint32_t index = 0;  // 0 is unknown
  friend bool operator==(Location, Location) = default;
};

struct LocationData {
  enum class Kind : uint8_t { unknown, file, name, callsite, fused };

  Kind kind = Kind::unknown;
  std::string text;  // file name, name, or the metadata of a fusion as written (may be empty)
  uint32_t line = 0, column = 0, end_line = 0,
           end_column = 0;         // of a file position; end 0 when absent
  std::vector<Location> children;  // name: 0 or 1; callsite: callee, caller; fused: any number
  friend bool operator==(const LocationData&, const LocationData&) = default;
};

class LocationTable {
 public:
  LocationTable();
  Location add(LocationData data);
  const LocationData& operator[](Location location) const { return data_[location.index]; }
  size_t size() const { return data_.size(); }

  // The position a user would recognise: the innermost file position that is not inside an
  // installed package ("site-packages", "dist-packages"); if all are, the innermost one; unknown
  // when there is none.
  SourceRange source(Location location) const;
  // The same as "file:line", empty when unknown.
  std::string source_line(Location location) const;
  // The outermost name around that position, e.g. a variable name or a traced function; may be
  // empty.
  std::string label(Location location) const;

 private:
  std::vector<LocationData> data_;
  std::unordered_multimap<size_t, uint32_t> by_hash_;
};

}  // namespace ullage
