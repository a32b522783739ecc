#include "pjrt/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <map>
#include <set>

#include "partition/propagate.h"
#include "pjrt/protobuf.h"
#include "support/float16.h"

namespace ullage::pjrt {

namespace {

constexpr uint32_t kKindField = 1, kTilesField = 3, kDevicesField = 4, kLastTilesField = 8;
constexpr uint64_t kOtherKind = 3;
constexpr int64_t kReplicatedTiles = 0, kUnreducedTiles = 6;

// Which shard a device has: the part of each dimension, then which summand.
std::vector<int64_t> shard_number(const Sharding& sharding, int64_t place) {
  std::vector<int64_t> out;
  for (size_t d = 0; d < sharding.dims.size(); ++d) out.push_back(sharding.part(d, place));
  out.push_back(sharding.summand(place));
  return out;
}

// A replicated array is the empty message; else tiles per dimension, and the devices in the tiles'
// order. Devices that have the same shard, and those that have summands of it, are dimensions of
// their own after these.
std::string message(const Sharding& sharding) {
  if (!sharding.mesh || sharding.replicated()) return {};
  int64_t tiles = sharding.summands(), devices = sharding.mesh->devices();
  std::vector<int64_t> counts, kinds;
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    counts.push_back(sharding.parts(d));
    tiles *= counts.back();
  }
  std::map<std::vector<int64_t>, int64_t> seen;
  std::vector<std::pair<std::vector<int64_t>, int64_t>> order;  // where in the tiles, place
  for (int64_t place = 0; place < devices; ++place) {
    std::vector<int64_t> number = shard_number(sharding, place);
    number.insert(number.end() - 1, seen[number]++);
    order.emplace_back(std::move(number), place);
  }
  std::sort(order.begin(), order.end());
  std::vector<int64_t> ids;
  for (const auto& [tile, place] : order) ids.push_back(sharding.mesh->device_at(place));
  auto add = [&](int64_t count, int64_t kind) {
    if (count == 1) return;
    counts.push_back(count);
    kinds.push_back(kind);
  };
  add(devices / tiles, kReplicatedTiles);
  add(sharding.summands(), kUnreducedTiles);
  ProtoWriter out;
  out.number(kKindField, kOtherKind);
  out.packed(kTilesField, counts);
  out.packed(kDevicesField, ids);
  if (!kinds.empty()) out.packed(kLastTilesField, kinds);
  return out.take();
}

template <class T>
void add_numbers(std::byte* total, const std::byte* more, int64_t count) {
  for (int64_t i = 0; i < count; ++i, total += sizeof(T), more += sizeof(T)) {
    T a, b;
    std::memcpy(&a, total, sizeof(T));
    std::memcpy(&b, more, sizeof(T));
    a = static_cast<T>(a + b);
    std::memcpy(total, &a, sizeof(T));
  }
}

template <float (*widen)(uint16_t), uint16_t (*narrow)(float)>
void add_short_floats(std::byte* total, const std::byte* more, int64_t count) {
  for (int64_t i = 0; i < count; ++i, total += 2, more += 2) {
    uint16_t a, b;
    std::memcpy(&a, total, 2);
    std::memcpy(&b, more, 2);
    a = narrow(widen(a) + widen(b));
    std::memcpy(total, &a, 2);
  }
}

// Adds elements to elements; null for types that are not summed over devices.
using Adder = void (*)(std::byte*, const std::byte*, int64_t);
Adder adder(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return add_numbers<float>;
    case DType::f64:
      return add_numbers<double>;
    case DType::c64:
      return add_numbers<std::complex<float>>;
    case DType::c128:
      return add_numbers<std::complex<double>>;
    case DType::bf16:
      return add_short_floats<bf16_to_float, float_to_bf16>;
    case DType::f16:
      return add_short_floats<f16_to_float, float_to_f16>;
    case DType::i8:
    case DType::ui8:
      return add_numbers<uint8_t>;
    case DType::i16:
    case DType::ui16:
      return add_numbers<uint16_t>;
    case DType::i32:
    case DType::ui32:
      return add_numbers<uint32_t>;
    case DType::i64:
    case DType::ui64:
      return add_numbers<uint64_t>;
    default:
      return nullptr;
  }
}

Status check(const Sharding& sharding, const Type& type, int64_t devices, std::string_view what) {
  if (!sharding.mesh || sharding.replicated()) return Ok{};
  if (!sharding.unreduced.empty() && !adder(type.dtype))
    return error(
        fmt::format("{}: sums over devices are not supported for {}", what, name(type.dtype)));
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

void ShardPlan::lay_out(const std::vector<Layout*>& argument_layouts,
                        const std::vector<Layout*>& result_layouts) {
  for (size_t a = 0; a < arguments.size(); ++a)
    arguments[a] = in_memory(*argument_layouts[a], std::move(arguments[a]));
  for (size_t r = 0; r < results.size(); ++r)
    results[r] = in_memory(*result_layouts[r], std::move(results[r]));
}

void copy_shard(const Type& whole, const Sharding& sharding, int64_t place, std::byte* array,
                std::byte* shard, bool to_shard) {
  std::vector<int64_t> part = sharding.local_shape(whole.shape), begin;
  for (size_t d = 0; d < part.size(); ++d) begin.push_back(sharding.part(d, place) * part[d]);
  int64_t width = storage_bytes(whole.dtype), elements = 1;
  for (int64_t size : part) elements *= size;
  bool first = sharding.summand(place) == 0;
  if (to_shard && !first) {
    std::memset(shard, 0, static_cast<size_t>(elements * width));
  } else if (first) {
    copy_block(array, shard, whole.shape, part, begin, width, to_shard);
  } else {
    std::vector<std::byte> total(static_cast<size_t>(elements * width));
    copy_block(array, total.data(), whole.shape, part, begin, width, true);
    adder(whole.dtype)(total.data(), shard, elements);
    copy_block(array, total.data(), whole.shape, part, begin, width, false);
  }
}

std::vector<int64_t> places_of_shards(const Sharding& sharding) {
  std::set<std::vector<int64_t>> seen;
  std::vector<int64_t> out;
  for (int64_t place = 0; place < sharding.mesh->devices(); ++place)
    if (seen.insert(shard_number(sharding, place)).second) out.push_back(place);
  std::stable_sort(out.begin(), out.end(),
                   [&](int64_t a, int64_t b) { return sharding.summand(a) < sharding.summand(b); });
  return out;
}

}  // namespace ullage::pjrt
