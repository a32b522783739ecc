// Programs of one operation or a few: compiled and run kernel by kernel, each on buffers of its
// own, and interpreted. Shared by the tests of library kernels.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

#include "interp/interpret.h"
#include "kernel_testing.h"
#include "kernels/build.h"
#include "normalize/normalize.h"
#include "read_program.h"
#include "support/float16.h"

namespace ullage::testing_cpu {

inline std::vector<Tensor> interpreted(const std::string& text, const std::vector<Tensor>& inputs) {
  std::unique_ptr<Module> module = read_program(text);
  Result<std::vector<Tensor>> out = interpret(*module, "main", inputs);
  EXPECT_TRUE(out.ok()) << to_string(out.diagnostics()) << text;
  return out.ok() ? *out : std::vector<Tensor>();
}

// Memory in scratch that no kernel may touch follows what it asked for. With `in_place`, results
// lie in every operand whose memory the kernels say they may take; operands are read once then.
inline std::vector<Tensor> compiled(const std::string& text, const std::vector<Tensor>& inputs,
                                    int threads = 1, bool in_place = false) {
  std::unique_ptr<Module> module = read_program(text);
  EXPECT_TRUE(normalize(*module).ok());
  Result<KernelGraph> built = build_kernels(*module, *module->entry(), cpu_target(threads));
  EXPECT_TRUE(built.ok()) << to_string(built.diagnostics()) << text;
  if (!built) return {};
  KernelGraph& graph = *built;
  auto kernels = compile_kernels(graph, {});
  EXPECT_TRUE(kernels.ok()) << to_string(kernels.diagnostics()) << text;
  if (!kernels) return {};
  std::vector<std::vector<std::byte>> buffers(graph.values.size());
  for (size_t v = 0; v < buffers.size(); ++v) {
    buffers[v].resize(static_cast<size_t>(graph.values[v].bytes) + 64, std::byte{0xa5});
    if (const auto& literal = graph.values[v].literal) {
      Tensor value = Tensor::from(*literal);
      std::memcpy(buffers[v].data(), value.data(), static_cast<size_t>(value.size_bytes()));
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].size_bytes() > 0)
      std::memcpy(buffers[static_cast<size_t>(graph.arguments[i])].data(), inputs[i].data(),
                  static_cast<size_t>(inputs[i].size_bytes()));
  ThreadPool pool(threads);
  for (size_t k = 0; k < graph.kernels.size(); ++k) {
    const Kernel& kernel = graph.kernels[k];
    std::vector<std::byte*> bound;
    for (ValueId input : kernel.inputs) bound.push_back(buffers[static_cast<size_t>(input)].data());
    for (ValueId output : kernel.outputs)
      bound.push_back(buffers[static_cast<size_t>(output)].data());
    if (in_place)
      for (const Kernel::InPlace& pair : kernel.in_place)
        bound[kernel.inputs.size() + static_cast<size_t>(pair.output)] =
            bound[static_cast<size_t>(pair.input)];
    size_t size = static_cast<size_t>(kernel.scratch_bytes);
    std::vector<std::byte> room(size + 128, std::byte{0x5a});
    std::byte* scratch = room.data() + 63;
    scratch -= reinterpret_cast<uintptr_t>(scratch) % 64;
    KernelCall call;
    call.buffers = bound.data();
    call.scratch = scratch;
    (*kernels)[k]->run(call, pool);
    for (std::byte* at = scratch + size; at < room.data() + room.size(); ++at)
      EXPECT_EQ(*at, std::byte{0x5a}) << kernel.name << " wrote behind its scratch";
    if (in_place)
      for (const Kernel::InPlace& pair : kernel.in_place)
        buffers[static_cast<size_t>(kernel.outputs[static_cast<size_t>(pair.output)])] =
            buffers[static_cast<size_t>(kernel.inputs[static_cast<size_t>(pair.input)])];
    for (ValueId output : kernel.outputs) {
      const auto& buffer = buffers[static_cast<size_t>(output)];
      for (size_t i = buffer.size() - 64; i < buffer.size(); ++i)
        EXPECT_EQ(buffer[i], std::byte{0xa5}) << kernel.name << " wrote behind a result";
    }
  }
  std::vector<Tensor> out;
  for (ValueId output : graph.outputs) {
    Tensor value(graph.values[static_cast<size_t>(output)].type);
    if (value.size_bytes() > 0)
      std::memcpy(value.mutable_data(), buffers[static_cast<size_t>(output)].data(),
                  static_cast<size_t>(value.size_bytes()));
    out.push_back(std::move(value));
  }
  return out;
}

inline void expect_same_bits(const std::vector<Tensor>& got, const std::vector<Tensor>& want,
                             const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].type(), want[i].type()) << what;
    if (got[i].size_bytes() == 0) continue;
    if (std::memcmp(got[i].data(), want[i].data(), static_cast<size_t>(got[i].size_bytes())) == 0)
      continue;
    for (int64_t e = 0; e < got[i].num_elements(); ++e)
      ASSERT_EQ(got[i].element_string(e), want[i].element_string(e))
          << what << "result " << i << " element " << e;
    ADD_FAILURE() << what << "result " << i << " differs in bits that are not printed";
  }
}

// Real and imaginary parts as doubles.
inline std::vector<double> parts(const Tensor& t) {
  std::vector<double> out;
  if (t.dtype() == DType::c64)
    for (float x : Tensor(t).to_vector<float>()) out.push_back(x);
  else if (t.dtype() == DType::c128)
    out = t.to_vector<double>();
  else
    for (int64_t i = 0; i < t.num_elements(); ++i) out.push_back(t.real_at(i));
  return out;
}

// Within `tolerance` of the largest expected value.
inline void expect_near(const Tensor& got, const Tensor& want, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(got.type(), want.type()) << what;
  std::vector<double> a = parts(got), b = parts(want);
  double largest = 0;
  for (double x : b) largest = std::max(largest, std::isfinite(x) ? std::fabs(x) : 0);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(b[i]) && std::isnan(a[i]))) continue;
    ASSERT_NEAR(a[i], b[i], tolerance * (largest + 1e-30)) << what << "element " << i;
  }
}

inline std::string shaped(const std::vector<int64_t>& shape, const std::string& dtype) {
  std::string out = "tensor<";
  for (int64_t extent : shape) out += std::to_string(extent) + "x";
  return out + dtype + ">";
}
inline std::string spelled(DType dtype) {
  if (dtype == DType::c64) return "complex<f32>";
  if (dtype == DType::c128) return "complex<f64>";
  return std::string(name(dtype));
}

// Numbers of a normal distribution; integers up to `range`.
inline Tensor random_tensor(DType dtype, const std::vector<int64_t>& shape, uint32_t seed,
                            int64_t range = 100) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  Tensor out(Type::tensor(dtype, shape));
  int64_t count = out.num_elements();
  std::byte* at = out.mutable_data();
  auto put = [&](auto value) {
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
  };
  for (int64_t i = 0; i < count; ++i) {
    double x = normal(engine);
    int64_t whole = static_cast<int64_t>(engine() % static_cast<uint64_t>(2 * range + 1)) - range;
    switch (dtype) {
      case DType::bf16:
        put(float_to_bf16(static_cast<float>(x)));
        break;
      case DType::f16:
        put(float_to_f16(static_cast<float>(x)));
        break;
      case DType::f32:
        put(static_cast<float>(x));
        break;
      case DType::f64:
        put(x);
        break;
      case DType::c64:
        put(static_cast<float>(x));
        put(static_cast<float>(normal(engine)));
        break;
      case DType::c128:
        put(x);
        put(normal(engine));
        break;
      case DType::i1:
        put(static_cast<uint8_t>(whole & 1));
        break;
      default:
        std::memcpy(at, &whole, static_cast<size_t>(storage_bytes(dtype)));
        at += storage_bytes(dtype);
    }
  }
  return out;
}

}  // namespace ullage::testing_cpu
