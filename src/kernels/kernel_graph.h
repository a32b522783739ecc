// The program as kernels over buffers. A Kernel is one unit of work that the planner orders,
// repeats, cuts and places: a loop nest with an inlined expression, a product with pointwise
// prologues and epilogue, a loop with a body graph, a conditional, or a library call. Everything
// that is not a kernel's result, an argument or a constant has no memory at all. Built by
// kernels/build.h; read by the planner (src/plan) and by code generation (src/codegen/cpu).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/ir.h"
#include "kernels/expr.h"

namespace ullage {

using ValueId = int32_t;   // index into KernelGraph::values
using KernelId = int32_t;  // index into KernelGraph::kernels

// A buffer's worth of data, dense and row-major in its type.
struct KernelValue {
  enum class Kind : uint8_t { argument, constant, result };

  Kind kind = Kind::result;
  Type type;
  int64_t bytes = 0;
  KernelId producer = -1;           // of a result
  std::vector<KernelId> consumers;  // each reader once, in program order
  std::optional<Literal> literal;   // of a constant
  std::string name;                 // for people: the IR value's name or argument label
  Location location;
};

// One result of a loop nest or of a product's epilogue. The store's access addresses the output
// buffer.
struct KernelOutput {
  int32_t node = -1;
  Access store;
  // The kernel's output that it goes to; -1: the one with its own number. The two parts of complex
  // results go to the same one, which is then addressed in real numbers.
  int32_t result = -1;
};

enum class LoopRole : uint8_t { parallel, reduced };

// for each index of the space: evaluate, combine over the reduced dimensions, store.
// Loop dimensions are outermost first: the parallel ones in the order of the output, then the
// reduced ones, in order of the operand. If there are reduced dimensions each output k has combiner
// k and initial value node initial[k] (evaluated outside the reduced dimensions).
struct LoopKernel {
  std::vector<int64_t> extents;
  std::vector<LoopRole> roles;
  Expr expr;
  std::vector<KernelOutput> outputs;
  int32_t cut_dim = 0;  // the parallel dimension along which pieces of it are run

  struct Reduction {
    std::vector<int32_t> initial;  // node per output
    std::optional<OpKind>
        combiner;  // add, multiply, maximum, minimum, and_, or_, xor_: a single output
    Expr body;     // otherwise: parameters 0..n-1 are the accumulators, n..2n-1 the elements
    std::vector<int32_t> body_results;
  };
  std::optional<Reduction> reduction;
};

// out[b, m, n] = epilogue(sum over k of lhs[b, m, k] * rhs[b, k, n]), accumulated in f32 in blocks
// of kDotBlock (see design record on bits). Each of batch, m, n, k is a group of loop dimensions
// (possibly empty). The three expressions have the loop spaces lhs: [batch..., m..., k...], rhs:
// [batch..., k..., n...], epilogue: [batch..., m..., n...]. lhs_root and rhs_root may be of any
// float or integer dtype that converts to f32 without loss (f32, bf16, f16, i8).
struct DotKernel {
  std::vector<int64_t> batch, m, n, k;
  Expr lhs, rhs, epilogue;
  int32_t lhs_root = -1, rhs_root = -1;
  std::vector<KernelOutput> outputs;  // nodes of `epilogue`
  int32_t cut_dim = 0;  // pieces are run along the outermost dimension of m (0), n (1) or batch (2)

  int64_t batch_size() const;
  int64_t m_size() const;
  int64_t n_size() const;
  int64_t k_size() const;
};
inline constexpr int64_t kDotBlock = 256;

struct KernelGraph;

// A loop with carried values. The body's arguments are the carried values, then `captured` (the
// kernel's remaining inputs, which the body only reads). Body output i is the next value of carried
// value i; it may be body argument i itself (then it is invariant and never copied).
struct WhileKernel {
  int64_t carried = 0;  // the first `carried` inputs of the kernel; its outputs, in the same order
  std::optional<int64_t> trip_count;  // known for counted loops
  std::shared_ptr<KernelGraph>
      condition;  // same arguments as the body, one i1 output; null when trip_count is known
  std::shared_ptr<KernelGraph> body;
};

// stablehlo.case and stablehlo.if: input 0 is the index (i32, out of range takes the last branch);
// the remaining inputs are the arguments of every branch graph.
struct CaseKernel {
  std::vector<std::shared_ptr<KernelGraph>> branches;
};

// optimization_barrier: nothing is computed or copied, output i is input i. What reads an output
// must come after every input exists.
struct BarrierKernel {};

// A bit generator: input 0 the state, outputs the new state and the bits. Random access by element
// index.
struct RngKernel {
  RngAlgorithm algorithm = RngAlgorithm::default_;
  int32_t cut_dim = 0;  // pieces are run along the bits' dimension 0 or 1
  int64_t spacing = 0;  // of two indices of dimension 0 in the buffer, when they do not lie dense
};

// The operands with some elements replaced: for each update, in row-major order, the elements of
// the outputs at its target (if it lies inside) and the update are combined by `body` and stored
// back. The loops are over the updates. Updates that differ in an index of a parallel dimension
// never have the same target; those that differ only in indices of window dimensions do not
// either, but their targets may be those of other updates.
struct ScatterKernel {
  enum class Dim : uint8_t { parallel, window, position };

  std::vector<int64_t> extents;
  std::vector<Dim> dims;
  Expr expr;
  std::vector<KernelOutput> outputs;  // node: the update; store: where it goes, if in_range
  int32_t in_range = -1;              // i1 node; -1: always
  Expr body;  // parameters 0..n-1 are the elements of the outputs, n..2n-1 the updates
  std::vector<int32_t> body_results;
};

// Cumulative sums and their like: for each index of the outer loops, the output at i of the last
// one combines the elements from 0 to i. The order of combination is fixed by the shape alone (see
// codegen/cpu/emit_scan.cpp); combiner, body and initial values are as in LoopKernel.
struct ScanKernel {
  std::vector<int64_t> extents;
  Expr expr;
  std::vector<KernelOutput> outputs;
  LoopKernel::Reduction reduction;
};

// An operation that has a kernel of its own; kernels/library.h lists them.
struct LibraryKernel {
  std::string name;  // "sort", "fft", ...
  Op* op = nullptr;  // attributes and operand types
  // The operation's region, if it has one: parameters are the region's arguments.
  Expr body;
  std::vector<int32_t> body_results;
};

struct Kernel {
  std::variant<LoopKernel, DotKernel, WhileKernel, CaseKernel, BarrierKernel, RngKernel,
               ScatterKernel, ScanKernel, LibraryKernel>
      body;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  // (output k, input i): the output may take the input's buffer, because every element is read
  // before, or exactly when, the element in its place is written.
  struct InPlace {
    int32_t output = 0;
    int32_t input = 0;
    bool required = false;  // the output is the input with some elements replaced: not in place
                            // means copy first
  };
  std::vector<InPlace> in_place;
  double flops = 0;           // arithmetic, one multiply-add counting 2
  double bytes_moved = 0;     // operands read once plus results written
  int64_t scratch_bytes = 0;  // needed while it runs, from the plan
  std::string name;           // for people: "dot", "add_select", ...
  Location location;

  template <typename T>
  const T* get() const {
    return std::get_if<T>(&body);
  }
  template <typename T>
  T* get() {
    return std::get_if<T>(&body);
  }
};

struct KernelGraph {
  std::vector<KernelValue> values;
  std::vector<Kernel> kernels;  // in program order: producers before consumers
  std::vector<ValueId> arguments;
  std::vector<ArgumentInfo> argument_info;
  std::vector<ValueId> outputs;  // a value may appear twice, and may be an argument
};

// What the target says about costs: filled by codegen/cpu, so that planning needs no code
// generator.
struct Target {
  int threads = 1;
  double flops_per_second = 2e11;       // dense f32 products, all threads
  double vector_ops_per_second = 6e10;  // elementwise operations on f32, all threads
  double bytes_per_second = 3e10;       // streaming, all threads
  double kernel_seconds = 2e-6;         // fixed cost of starting one
  int64_t (*dot_scratch)(const DotKernel& dot, int threads) = nullptr;  // bytes; null: none
  int64_t (*convolution_scratch)(const LibraryKernel& kernel, int threads) = nullptr;
};

double seconds(const Kernel& kernel, const Target& target);

// Whether results are stored as real and imaginary parts.
inline bool has_complex_parts(const LoopKernel& loop) {
  for (const KernelOutput& output : loop.outputs)
    if (output.result >= 0) return true;
  return false;
}
// Whether an input or output is an array of complex numbers: loops address those in real numbers.
bool touches_complex(const Kernel& kernel, const KernelGraph& graph);

// Human-readable form, one kernel a line with its expression below: used by dumps and tests.
std::string to_string(const KernelGraph& graph);

}  // namespace ullage
