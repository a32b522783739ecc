// Runs small programs on the compiled path, kernel by kernel on buffers of their own, and beside
// them on the interpreter. Shared by the tests of code generation that start from program text.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "codegen/cpu/compile.h"
#include "interp/interpret.h"
#include "kernels/build.h"
#include "normalize/normalize.h"
#include "read_program.h"
#include "runtime/thread_pool.h"

namespace ullage::testing_cpu {

// The results of a graph without loops and branches.
inline std::vector<Tensor> run_graph(const KernelGraph& graph, const std::vector<Tensor>& arguments,
                                     int threads) {
  auto code = compile_kernels(graph, {});
  if (!code.ok()) {
    ADD_FAILURE() << to_string(code.diagnostics());
    return {};
  }
  std::vector<std::vector<std::byte>> buffers(graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const KernelValue& value = graph.values[i];
    // What is written past the end would be found by the sanitizers; what is not written shows.
    buffers[i].assign(static_cast<size_t>(value.bytes), std::byte{0xa5});
    if (value.literal)
      for (int64_t e = 0; e < value.type.num_elements(); ++e)
        std::memcpy(buffers[i].data() + e * storage_bytes(value.type.dtype),
                    value.literal->element(value.literal->splat ? 0 : e),
                    static_cast<size_t>(storage_bytes(value.type.dtype)));
  }
  for (size_t i = 0; i < graph.arguments.size(); ++i) {
    std::vector<std::byte>& buffer = buffers[static_cast<size_t>(graph.arguments[i])];
    if (!buffer.empty()) std::memcpy(buffer.data(), arguments[i].data(), buffer.size());
  }
  ThreadPool pool(threads);
  for (size_t k = 0; k < graph.kernels.size(); ++k) {
    const Kernel& kernel = graph.kernels[k];
    for (const Kernel::InPlace& pair : kernel.in_place)
      if (pair.required)
        buffers[static_cast<size_t>(kernel.outputs[static_cast<size_t>(pair.output)])] =
            buffers[static_cast<size_t>(kernel.inputs[static_cast<size_t>(pair.input)])];
    std::vector<std::byte*> pointers;
    for (ValueId id : kernel.inputs) pointers.push_back(buffers[static_cast<size_t>(id)].data());
    for (ValueId id : kernel.outputs) pointers.push_back(buffers[static_cast<size_t>(id)].data());
    std::vector<std::byte> scratch(static_cast<size_t>(kernel.scratch_bytes) + 64);
    KernelCall call;
    call.buffers = pointers.data();
    call.scratch = scratch.data();
    (*code)[k]->run(call, pool);
  }
  std::vector<Tensor> out;
  for (ValueId id : graph.outputs) {
    const std::vector<std::byte>& buffer = buffers[static_cast<size_t>(id)];
    Tensor tensor(graph.values[static_cast<size_t>(id)].type);
    if (!buffer.empty()) std::memcpy(tensor.mutable_data(), buffer.data(), buffer.size());
    out.push_back(std::move(tensor));
  }
  return out;
}

// Compiled against interpreted; tolerance 0 means the same bits (any NaN equals any other), else
// the difference relative to the larger of 1 and the value. With 3 threads the bits must be those
// of one.
inline void compare(const std::string& text, const std::vector<Tensor>& arguments,
                    double tolerance = 0) {
  SCOPED_TRACE(text);
  std::unique_ptr<Module> module = read_program(text);
  ASSERT_TRUE(module);
  auto expected = interpret(*module, "main", arguments);
  ASSERT_TRUE(expected.ok()) << to_string(expected.diagnostics());
  ASSERT_TRUE(normalize(*module).ok());
  auto graph = build_kernels(*module, *module->entry(), cpu_target(1));
  ASSERT_TRUE(graph.ok()) << to_string(graph.diagnostics());
  std::vector<Tensor> found = run_graph(*graph, arguments, 1);
  std::vector<Tensor> threaded = run_graph(*graph, arguments, 3);
  ASSERT_EQ(found.size(), expected->size());
  for (size_t i = 0; i < found.size(); ++i) {
    const Tensor& want = (*expected)[i];
    ASSERT_EQ(found[i].type(), want.type());
    int64_t bytes = found[i].size_bytes();
    EXPECT_TRUE(bytes == 0 ||
                std::memcmp(found[i].data(), threaded[i].data(), static_cast<size_t>(bytes)) == 0)
        << "result " << i << " depends on the number of threads";
    bool complex = is_complex(want.dtype());
    std::vector<int64_t> flat = {want.num_elements() * (complex ? 2 : 1)};
    auto reals = [&](const Tensor& tensor) {
      Tensor out(Type::tensor(real_part(want.dtype()), flat));
      if (bytes > 0) std::memcpy(out.mutable_data(), tensor.data(), static_cast<size_t>(bytes));
      return out;
    };
    Tensor a = reals(found[i]), b = reals(want);
    int64_t width = storage_bytes(a.dtype());
    for (int64_t e = 0; e < a.num_elements(); ++e) {
      if (std::memcmp(a.data() + e * width, b.data() + e * width, static_cast<size_t>(width)) == 0)
        continue;
      double x = a.real_at(e), y = b.real_at(e);
      if (std::isnan(x) && std::isnan(y)) continue;
      bool close = tolerance > 0 && std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y));
      ASSERT_TRUE(close) << "result " << i << " element " << e << ": " << a.element_string(e)
                         << ", expected " << b.element_string(e);
    }
  }
}

// Random values of a type: floats around 0 with special values among them, integers of all sizes.
inline Tensor random_tensor(DType dtype, std::vector<int64_t> shape, uint64_t seed,
                            bool special = false) {
  std::mt19937_64 random(seed);
  Type type = Type::tensor(dtype, std::move(shape));
  int64_t count = type.num_elements() * (is_complex(dtype) ? 2 : 1);
  DType part = real_part(dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(type.bytes()));
  for (int64_t e = 0; e < count; ++e) {
    double value = static_cast<double>(static_cast<int64_t>(random() % 4001) - 2000) / 512.0;
    if (special && random() % 8 == 0) {
      const double values[] = {0.0, -0.0, NAN, INFINITY, -INFINITY};
      value = values[random() % 5];
    }
    std::byte* at = bytes.data() + e * storage_bytes(part);
    uint64_t bits = random();
    switch (part) {
      case DType::f64:
        std::memcpy(at, &value, 8);
        break;
      case DType::f32:
      case DType::bf16: {
        float narrow = static_cast<float>(value);
        std::memcpy(&bits, &narrow, 4);
        if (part == DType::bf16) bits >>= 16;
        std::memcpy(at, &bits, static_cast<size_t>(storage_bytes(part)));
        break;
      }
      case DType::i1:
        bits &= 1;
        std::memcpy(at, &bits, 1);
        break;
      default:
        std::memcpy(at, &bits, static_cast<size_t>(storage_bytes(part)));
    }
  }
  Tensor out(type);
  if (!bytes.empty()) std::memcpy(out.mutable_data(), bytes.data(), bytes.size());
  return out;
}

// Integers in [low, high).
inline Tensor random_indices(DType dtype, std::vector<int64_t> shape, int64_t low, int64_t high,
                             uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor out(Type::tensor(dtype, std::move(shape)));
  int64_t width = storage_bytes(dtype);
  for (int64_t e = 0; e < out.num_elements(); ++e) {
    int64_t value = low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low));
    std::memcpy(out.mutable_data() + e * width, &value, static_cast<size_t>(width));
  }
  return out;
}

}  // namespace ullage::testing_cpu
