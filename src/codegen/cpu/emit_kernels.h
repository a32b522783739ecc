// Emitters of whole kernels: each adds one function to a module. The signatures of the functions
// are given next to them.
#pragma once

#include <string>

#include "codegen/cpu/host.h"
#include "codegen/cpu/loop_nest.h"
#include "kernels/reduction.h"

namespace llvm {
class Module;
}

namespace ullage::cpu {

// Why a dtype or an operation cannot be compiled; empty if all can.
std::string unsupported(const Expr& expr, const std::vector<bool>& needed);

// Runs the box lower <= index < upper of the nest; the arrays have one entry per dimension of the
// nest, and no side of the box is empty.
using LoopFunction = void (*)(std::byte* const* buffers, const int64_t* lower,
                              const int64_t* upper);
void emit_loop(llvm::Module& module, const Host& host, const std::string& name,
               const LoopNest& nest, int first_output);

// A reduction over the box; `continues` != 0 starts from what the outputs hold instead of the
// initial values.
using ReductionFunction = void (*)(std::byte* const* buffers, const int64_t* lower,
                                   const int64_t* upper, int64_t continues);
inline constexpr int64_t kReductionStrip =
    2048;  // columns whose accumulators are on the stack at a time

struct ReductionCode {
  LoopNest nest;  // vector_dim: the lanes' dimension, -1 for scalar code
  LoopKernel::Reduction reduction;
  ReductionForm form = ReductionForm::fold;
  int64_t block_length = 1;          // of the first reduced dimension of the nest
  std::vector<DType> accumulators;   // per output
  std::vector<DType> output_dtypes;  // per output: as stored, which is what the initial values have
  int first_output = 0;
};
void emit_reduction(llvm::Module& module, const Host& host, const std::string& name,
                    const ReductionCode& code);

}  // namespace ullage::cpu
