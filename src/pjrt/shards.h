// Programs over several devices. All devices of a client share the memory of the process, so such a
// program runs once, over whole arrays: shards of arguments are put together before, and results
// cut into shards after. Which shard is where follows from the program's own shardings.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "partition/sharding.h"
#include "pjrt/layouts.h"
#include "support/diagnostics.h"

namespace ullage::pjrt {

struct ShardPlan {
  std::vector<Mesh> meshes;                  // what the shardings refer to
  std::vector<Sharding> arguments, results;  // of arrays as they lie in memory
  // Serialised for jaxlib, one per argument and result.
  std::vector<std::string> argument_messages, result_messages;

  // From arrays as they are seen, which is how shardings are read.
  void lay_out(const std::vector<Layout*>& argument_layouts,
               const std::vector<Layout*>& result_layouts);
};

// Refuses shardings that do not fit so many devices.
Status make_shard_plan(const Module& module, int64_t devices, ShardPlan& out);

// One shard between its own memory and its place in the whole array. Of an array that is a sum over
// devices, the first summand is the whole and the others are zero; into the array, summands after
// the first are added to what is there.
void copy_shard(const Type& whole, const Sharding& sharding, int64_t place, std::byte* array,
                std::byte* shard, bool to_shard);

// The places that together have every shard once, first summands first.
std::vector<int64_t> places_of_shards(const Sharding& sharding);

}  // namespace ullage::pjrt
