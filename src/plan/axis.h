// How a kernel behaves when it is run in pieces: along one of its parallel dimensions, or along the
// first contracted or reduced one, where pieces accumulate; and the kernel that runs such pieces.
#pragma once

#include <optional>
#include <vector>

#include "kernels/kernel_graph.h"
#include "plan/plan.h"

namespace ullage {

inline constexpr int64_t kReduceBlock = kDotBlock;  // contracted pieces end at multiples of this

// What piece [lower, upper) of an axis touches of an operand.
struct OperandUse {
  enum class Kind : uint8_t {
    none,   // the same elements, whatever the piece
    slice,  // the elements whose coordinate along `cut` is in [lower, upper), and nothing else
    mixed,  // anything else: the operand must exist whole
  };
  Kind kind = Kind::none;
  Cut cut;
  bool slices(const Cut& other) const { return kind == Kind::slice && cut == other; }
  friend bool operator==(const OperandUse&, const OperandUse&) = default;
};

// The axes along which the kernel can be cut, parallel ones first.
std::vector<PieceAxis> piece_axes(const Kernel& kernel, const KernelGraph& graph);
int64_t axis_extent(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis);

OperandUse input_use(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis, size_t input);
OperandUse output_use(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis,
                      size_t output);

// Whether the kernel as it is runs pieces along this axis on such operands (one slice per input,
// then per output), or only a variant of it does.
bool needs_variant(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis,
                   const std::vector<Slice>& operands);
// The kernel with the axis as the one to cut and with addresses into the buffers of such slices.
Kernel piece_variant(const Kernel& kernel, PieceAxis axis, const std::vector<Slice>& operands);

}  // namespace ullage
