// The pass flatten-tuples: what the entry function takes and returns.
#pragma once

#include "normalize/normalize.h"

namespace ullage {

Status flatten_tuples(Module& module, const NormalizeOptions& options);

}  // namespace ullage
