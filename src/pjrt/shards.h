// Programs over several devices. All devices of a client share the memory of the process, so such a
// program runs once, over whole arrays: shards of arguments are put together before, and results
// cut into shards after. Which shard is where follows from the program's own shardings.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "partition/sharding.h"
#include "support/diagnostics.h"

namespace ullage::pjrt {

struct ShardPlan {
  std::vector<Mesh> meshes;  // what the shardings refer to
  std::vector<Sharding> arguments, results;
  // Serialised for jaxlib, one per argument and result.
  std::vector<std::string> argument_messages, result_messages;
};

// Refuses shardings that do not fit so many devices.
Status make_shard_plan(const Module& module, int64_t devices, ShardPlan& out);

// Bytes of one shard between its own memory and its place in the whole array.
void copy_shard(const Type& whole, const Sharding& sharding, int64_t place, std::byte* array,
                std::byte* shard, bool to_shard);

// The places that together have every shard once, in order.
std::vector<int64_t> places_of_shards(const Sharding& sharding);

}  // namespace ullage::pjrt
