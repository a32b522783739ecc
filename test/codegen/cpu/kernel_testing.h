// Builds kernels by hand and runs their code on buffers. Shared by the tests of code generation.
#pragma once

#include <gtest/gtest.h>
#include <time.h>

#include <bit>
#include <chrono>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "codegen/cpu/compile.h"
#include "runtime/thread_pool.h"

namespace ullage::testing_cpu {

using Bytes = std::vector<std::byte>;

template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

inline float from_bf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
inline uint16_t to_bf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>((bits | 0x400000) >> 16);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Row-major access over the given dimensions of a loop space; `dims` names the loop dimension of
// each buffer dimension.
inline Access row_major(const std::vector<int64_t>& extents, const std::vector<int>& dims) {
  Access access;
  access.affine.coefficients.assign(extents.size(), 0);
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    access.affine.coefficients[static_cast<size_t>(dims[i])] = stride;
    stride *= extents[static_cast<size_t>(dims[i])];
  }
  return access;
}
inline Access identity(const std::vector<int64_t>& extents) {
  std::vector<int> dims;
  for (size_t d = 0; d < extents.size(); ++d) dims.push_back(static_cast<int>(d));
  return row_major(extents, dims);
}

struct ExprBuilder {
  Expr expr;
  int32_t load(DType dtype, int input, Access access, int32_t guard = -1) {
    ExprNode node;
    node.kind = ExprNode::Kind::load;
    node.dtype = dtype;
    node.input = input;
    node.access = std::move(access);
    node.guard = guard;
    return expr.add(std::move(node));
  }
  int32_t index(DType dtype, Affine affine) {
    ExprNode node;
    node.kind = ExprNode::Kind::index;
    node.dtype = dtype;
    node.access.affine = std::move(affine);
    return expr.add(std::move(node));
  }
  int32_t in_range(Affine affine, int64_t lower, int64_t upper) {
    ExprNode node;
    node.kind = ExprNode::Kind::in_range;
    node.dtype = DType::i1;
    node.access.affine = std::move(affine);
    node.lower = lower;
    node.upper = upper;
    return expr.add(std::move(node));
  }
  template <typename T>
  int32_t constant(DType dtype, T value) {
    ExprNode node;
    node.kind = ExprNode::Kind::constant;
    node.dtype = dtype;
    std::memcpy(node.bits.data(), &value, sizeof value);
    return expr.add(std::move(node));
  }
  int32_t parameter(DType dtype, int number) {
    ExprNode node;
    node.kind = ExprNode::Kind::parameter;
    node.dtype = dtype;
    node.input = number;
    return expr.add(std::move(node));
  }
  int32_t accumulator() {
    ExprNode node;
    node.kind = ExprNode::Kind::accumulator;
    node.dtype = DType::f32;
    return expr.add(std::move(node));
  }
  int32_t op(OpKind kind, DType dtype, int32_t a, int32_t b = -1, int32_t c = -1) {
    ExprNode node;
    node.op = kind;
    node.dtype = dtype;
    node.operands = {a, b, c};
    return expr.add(std::move(node));
  }
  int32_t compare(CompareDirection direction, int32_t a, int32_t b,
                  CompareType type = CompareType::unspecified) {
    ExprNode node;
    node.op = OpKind::compare;
    node.dtype = DType::i1;
    node.direction = direction;
    node.compare_type = type;
    node.operands = {a, b, -1};
    return expr.add(std::move(node));
  }
};

// A graph whose kernels are run one by one, each on buffers of its own.
struct Graph {
  KernelGraph graph;
  std::vector<std::shared_ptr<const CompiledKernel>> compiled;

  ValueId value(DType dtype, std::vector<int64_t> shape) {
    KernelValue value;
    value.type = Type::tensor(dtype, std::move(shape));
    value.bytes = value.type.bytes();
    graph.values.push_back(std::move(value));
    return static_cast<ValueId>(graph.values.size()) - 1;
  }
  // `inputs` and `outputs` are dtypes of one-dimensional values; code generation reads sizes from
  // the kernel only.
  template <typename Body>
  size_t add(Body body, std::vector<DType> inputs, std::vector<DType> outputs,
             int64_t scratch = 0) {
    Kernel kernel;
    kernel.body = std::move(body);
    for (DType dtype : inputs) kernel.inputs.push_back(value(dtype, {1}));
    for (DType dtype : outputs) kernel.outputs.push_back(value(dtype, {1}));
    kernel.scratch_bytes = scratch;
    kernel.name = "test";
    graph.kernels.push_back(std::move(kernel));
    return graph.kernels.size() - 1;
  }
  double compile(IsaLevel isa = IsaLevel::avx512, bool print = false) {
    auto begin = std::chrono::steady_clock::now();
    CompileOptions options;
    options.threads = 2;
    options.isa = isa;
    options.print_ir = print;
    auto result = compile_kernels(graph, options);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : to_string(result.diagnostics()));
    if (result.ok()) compiled = *result;
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
  }
  void run(size_t kernel, const std::vector<std::byte*>& buffers, KernelCall call = {},
           int threads = 1) const {
    ThreadPool pool(threads);
    run(kernel, buffers, call, pool);
  }
  void run(size_t kernel, const std::vector<std::byte*>& buffers, KernelCall call,
           ThreadPool& pool) const {
    call.buffers = buffers.data();
    compiled[kernel]->run(call, pool);
  }
};

inline LoopKernel loop(std::vector<int64_t> extents, Expr expr, std::vector<KernelOutput> outputs) {
  LoopKernel kernel;
  kernel.roles.assign(extents.size(), LoopRole::parallel);
  kernel.extents = std::move(extents);
  kernel.expr = std::move(expr);
  kernel.outputs = std::move(outputs);
  return kernel;
}

// Least time of some repetitions: processor time of this thread where it works alone (other
// programs do not count), else time on the clock.
template <typename F>
double best_seconds(int repeats, int threads, const F& f) {
  auto now = [threads] {
    timespec t;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  double best = 1e9;
  for (int i = 0; i < repeats; ++i) {
    double begin = now();
    f();
    best = std::min(best, now() - begin);
  }
  return best;
}

// The levels of instructions that this machine has, for tests of each.
inline std::vector<IsaLevel> levels() {
  std::vector<IsaLevel> found;
  for (IsaLevel level : {IsaLevel::baseline, IsaLevel::avx2, IsaLevel::avx512})
    if (host(level).level == level) found.push_back(level);
  return found;
}
inline std::string level_name(const ::testing::TestParamInfo<IsaLevel>& info) {
  const char* names[] = {"baseline", "avx2", "avx512"};
  return names[static_cast<size_t>(info.param)];
}

}  // namespace ullage::testing_cpu
