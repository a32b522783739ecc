// Meshes of devices and how arrays are laid out over them, read from the texts that programs carry
// (sdy.mesh, sdy.sharding). Read by the expansion of manual computations and by the PJRT plugin.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostics.h"

namespace ullage {

struct Mesh {
  std::string name;
  std::vector<std::string> axes;
  std::vector<int64_t> sizes;
  std::vector<int64_t> device_ids;  // by place in the mesh; empty: the place itself

  int64_t devices() const;  // 1 for the empty mesh
  int64_t device_at(int64_t place) const;
  int64_t place_of(int64_t device) const;  // -1 if it is not in the mesh
  // Coordinate of a place along an axis.
  int64_t coordinate(int64_t place, size_t axis) const;
};

// A part of an axis: its coordinate divided by `stride`, modulo `size`.
struct MeshAxis {
  size_t axis = 0;
  int64_t stride = 1, size = 1;
  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

struct Sharding {
  const Mesh* mesh = nullptr;
  // Per dimension the axes along which it is cut, the most significant first.
  std::vector<std::vector<MeshAxis>> dims;
  std::vector<MeshAxis> unreduced;  // the array is the sum of what lies along these
  std::vector<bool> open;           // per dimension, if read: whether it may be cut along more axes

  int64_t parts(size_t dim) const;
  // The number of the part of a dimension that the device at a place of the mesh has.
  int64_t part(size_t dim, int64_t place) const;
  // The same of the sum: how many summands there are, and which one a device has.
  int64_t summands() const;
  int64_t summand(int64_t place) const;
  bool replicated() const;  // the whole array everywhere
  std::vector<int64_t> local_shape(const std::vector<int64_t>& shape) const;
};

Result<std::vector<Mesh>> read_meshes(const Module& module);

// "#sdy.sharding<@mesh, [{"x"}, {}]>", or what stands in a list of shardings, "<@mesh, [...]>". The
// meshes must outlive the result.
Result<Sharding> parse_sharding(std::string_view text, std::span<const Mesh> meshes);
// "[<@mesh, ...>, <@mesh, ...>]".
Result<std::vector<Sharding>> parse_shardings(std::string_view text, std::span<const Mesh> meshes);
// "{"x", "y"}".
std::vector<std::string> parse_axis_names(std::string_view text);

}  // namespace ullage
