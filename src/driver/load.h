// Plan and compiled kernels -> the executor's steps over offsets: a mechanical translation.
#pragma once

#include "codegen/cpu/compile.h"
#include "plan/plan.h"
#include "runtime/executor.h"

namespace ullage {

ExecProgram load_steps(const Plan& plan, const CpuCompiler& compiler);

}  // namespace ullage
