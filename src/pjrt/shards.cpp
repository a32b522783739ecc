#include "pjrt/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "partition/propagate.h"
#include "pjrt/protobuf.h"

namespace ullage::pjrt {

namespace {

constexpr uint32_t kKindField = 1, kTilesField = 3, kDevicesField = 4, kLastTileField = 6;
constexpr uint64_t kOtherKind = 3;

std::vector<int64_t> shard_number(const Sharding& sharding, int64_t place) {
  std::vector<int64_t> out;
  for (size_t d = 0; d < sharding.dims.size(); ++d) out.push_back(sharding.part(d, place));
  return out;
}

// A replicated array is the empty message; else tiles per dimension, and the devices in the tiles'
// order. Devices that share a tile are a last dimension of their own.
std::string message(const Sharding& sharding) {
  if (!sharding.mesh || sharding.replicated()) return {};
  int64_t tiles = 1, devices = sharding.mesh->devices();
  std::vector<int64_t> counts;
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    counts.push_back(sharding.parts(d));
    tiles *= counts.back();
  }
  std::vector<std::pair<std::vector<int64_t>, int64_t>> order;  // tile, place
  for (int64_t place = 0; place < devices; ++place)
    order.emplace_back(shard_number(sharding, place), place);
  std::sort(order.begin(), order.end());
  std::vector<int64_t> ids;
  for (const auto& [tile, place] : order) ids.push_back(sharding.mesh->device_at(place));
  if (tiles < devices) counts.push_back(devices / tiles);
  ProtoWriter out;
  out.number(kKindField, kOtherKind);
  out.packed(kTilesField, counts);
  out.packed(kDevicesField, ids);
  if (tiles < devices) out.number(kLastTileField, 1);
  return out.take();
}

Status check(const Sharding& sharding, const Type& type, int64_t devices, std::string_view what) {
  if (!sharding.mesh || sharding.replicated()) return Ok{};
  if (!sharding.unreduced.empty())
    return error(fmt::format("{}: shardings with unreduced axes are not supported", what));
  if (sharding.mesh->devices() != devices)
    return error(fmt::format("{}: a mesh of {} devices in a program for {} is not supported", what,
                             sharding.mesh->devices(), devices));
  for (size_t d = 0; d < sharding.dims.size(); ++d)
    if (type.shape[d] % sharding.parts(d) != 0)
      return error(fmt::format("{}: {} does not divide into {} parts along dimension {}", what,
                               to_string(type), sharding.parts(d), d));
  return Ok{};
}

// Rows of the last dimensions, which are whole in both, are copied at once.
void copy_block(std::byte* array, std::byte* shard, const std::vector<int64_t>& whole,
                const std::vector<int64_t>& part, const std::vector<int64_t>& begin, int64_t width,
                bool to_shard) {
  size_t rank = whole.size(), inner = rank;
  int64_t run = width;
  while (inner > 0 && whole[inner - 1] == part[inner - 1]) run *= whole[--inner];
  if (inner > 0) run *= part[--inner];
  int64_t rows = 1;
  for (size_t d = 0; d < inner; ++d) rows *= part[d];
  std::vector<int64_t> index(inner, 0);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t at = 0;
    for (size_t d = 0; d < rank; ++d) at = at * whole[d] + begin[d] + (d < inner ? index[d] : 0);
    std::byte* in_array = array + at * width;
    std::byte* in_shard = shard + row * run;
    if (to_shard)
      std::memcpy(in_shard, in_array, static_cast<size_t>(run));
    else
      std::memcpy(in_array, in_shard, static_cast<size_t>(run));
    for (size_t d = inner; d-- > 0;) {
      if (++index[d] < part[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace

Status make_shard_plan(const Module& module, int64_t devices, ShardPlan& out) {
  Result<std::vector<Mesh>> meshes = read_meshes(module);
  if (!meshes) return meshes.diagnostics();
  out.meshes = std::move(*meshes);
  const Function& entry = *module.entry();
  auto arguments = argument_shardings(module, out.meshes);
  if (!arguments) return arguments.diagnostics();
  for (size_t a = 0; a < arguments->size(); ++a) {
    const Type& type = entry.body().argument(a)->type;
    Sharding sharding = (*arguments)[a].value_or(Sharding{});
    sharding.dims.resize(type.shape.size());
    Status status = check(sharding, type, devices, fmt::format("argument {}", a));
    if (!status) return status;
    out.argument_messages.push_back(message(sharding));
    out.arguments.push_back(std::move(sharding));
  }
  Result<std::vector<Sharding>> results = result_shardings(module, out.meshes);
  if (!results) return results.diagnostics();
  for (size_t r = 0; r < results->size(); ++r) {
    Status status =
        check((*results)[r], entry.result_types[r], devices, fmt::format("result {}", r));
    if (!status) return status;
    out.result_messages.push_back(message((*results)[r]));
  }
  out.results = std::move(*results);
  return Ok{};
}

void copy_shard(const Type& whole, const Sharding& sharding, int64_t place, std::byte* array,
                std::byte* shard, bool to_shard) {
  std::vector<int64_t> part = sharding.local_shape(whole.shape), begin;
  for (size_t d = 0; d < part.size(); ++d) begin.push_back(sharding.part(d, place) * part[d]);
  copy_block(array, shard, whole.shape, part, begin, storage_bytes(whole.dtype), to_shard);
}

std::vector<int64_t> places_of_shards(const Sharding& sharding) {
  std::set<std::vector<int64_t>> seen;
  std::vector<int64_t> out;
  for (int64_t place = 0; place < sharding.mesh->devices(); ++place)
    if (seen.insert(shard_number(sharding, place)).second) out.push_back(place);
  return out;
}

}  // namespace ullage::pjrt
