// Function -> KernelGraph: every stored value of the normalised entry function becomes the output
// of a kernel.
#pragma once

#include "ir/ir.h"
#include "kernels/kernel_graph.h"
#include "support/diagnostics.h"

namespace ullage {

// The function must be verified and normalised. An operation that no kernel can express yet is
// refused with its source line. Scratch and costs are filled in for `target`.
Result<KernelGraph> build_kernels(const Module& module, const Function& function,
                                  const Target& target);

// Gives loop nests that run over the same space one after another a single kernel with several
// outputs, where the later reads the earlier element by element and both could start at the same
// moment. Called by build_kernels.
void merge_loops(KernelGraph& graph);

// Flops, bytes, scratch and in-place permissions of a kernel whose body and operands are complete.
void finish_kernel(Kernel& kernel, const KernelGraph& graph, const Target& target);

}  // namespace ullage
