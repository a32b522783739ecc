// How the results of a program are laid out over devices when their author does not say: as follows
// from its arguments, forwards through operations that keep dimensions apart. Any choice is right;
// this one keeps what is cut cut. Called by the PJRT plugin.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "partition/sharding.h"

namespace ullage {

// Of every argument of the entry function; nothing where the program does not say.
Result<std::vector<std::optional<Sharding>>> argument_shardings(const Module& module,
                                                                std::span<const Mesh> meshes);
// Of every result; replicated where nothing is known (no mesh).
Result<std::vector<Sharding>> result_shardings(const Module& module, std::span<const Mesh> meshes);

}  // namespace ullage
