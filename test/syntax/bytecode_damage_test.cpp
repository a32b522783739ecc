// Damaged bytecode: cut off at every byte, and with bits turned over. Reading it ends with a
// program or with exactly one diagnostic that names a byte of the file, and takes memory in
// proportion to the file. Some artifacts and 3,000 files with turned bits by default; all stored
// artifacts and 100,000 with ULLAGE_LONG_TESTS=1.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <random>
#include <sstream>

#include "bytecode_builder.h"
#include "ops/verify.h"
#include "shared_data.h"
#include "syntax/bytecode.h"
#include "syntax/writer.h"

namespace {

std::atomic<int64_t> live_bytes{0}, peak_bytes{0};

void* counted_new(size_t size) {
  void* at = std::malloc(size);
  if (!at) throw std::bad_alloc();
  const int64_t live = live_bytes += static_cast<int64_t>(malloc_usable_size(at));
  int64_t peak = peak_bytes;
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live)) {
  }
  return at;
}

void counted_delete(void* at) {
  if (!at) return;
  live_bytes -= static_cast<int64_t>(malloc_usable_size(at));
  std::free(at);
}

}  // namespace

void* operator new(size_t size) {
  return counted_new(size);
}
void operator delete(void* at) noexcept {
  counted_delete(at);
}
void operator delete(void* at, size_t) noexcept {
  counted_delete(at);
}

namespace ullage {
namespace {

struct Sample {
  std::string name, bytes;
};

// A loop around a constant, with attributes, so that something is tested without the shared folder.
std::string made_by_hand() {
  ArtifactBuilder b;
  const uint32_t f32 = b.tensor({}, b.simple_type(4));
  const uint32_t i1 = b.tensor({}, b.simple_type(0));
  const uint32_t ten = b.constant(f32, std::string_view("\x00\x00\x20\x41", 4));
  auto end = [&](uint32_t value) { return b.op("vhlo.return_v1", {.operands = {value}}); };
  const Bytes compare =
      b.op("vhlo.compare_v1",
           {.operands = {3, 1}, .results = {i1}, .properties = {b.vhlo({4, 1}), b.vhlo({3, 5})}});
  const Bytes cond = b.region({f32}, 2, {compare, end(4)});
  const Bytes body =
      b.region({f32}, 2, {b.op("vhlo.add_v1", {.operands = {3, 3}, .results = {f32}}), end(4)});
  const Bytes loop =
      b.op("vhlo.while_v1", {.operands = {0}, .results = {f32}, .regions = {cond, body}});
  const uint32_t donated = b.dictionary({{b.vhlo_string("jax.buffer_donor"), b.vhlo({2, 1})}});
  ArtifactBuilder::FunctionParts parts{.arguments = {f32}, .results = {f32}};
  parts.argument_attributes = {donated};
  const Bytes constant = b.op("vhlo.constant_v1", {.results = {f32}, .properties = {ten}});
  return b.artifact({b.function("main", parts, b.region({f32}, 3, {constant, loop, end(2)}))});
}

std::vector<Sample> samples() {
  std::vector<Sample> out = {{"made by hand", made_by_hand()}};
  const std::filesystem::path artifacts = shared_folder() / "conformance/bytecode";
  std::vector<std::string> names = {
      "attention_grad",     "cholesky_c64",        "const_dtypes",  "conv_grad",
      "donate_alias2",      "ffi_alias",           "max_pool_grad", "scatter_max",
      "spmd_sm_scan_ring",  "spmd_jit_constraint", "switch",        "top_k",
      "type_float4_e2m1fn", "v1_0_0_gather_take",  "while_nested"};
  if (long_tests() && std::filesystem::exists(artifacts)) {
    names.clear();
    for (const auto& file : std::filesystem::directory_iterator(artifacts))
      if (file.path().extension() == ".mlirbc") names.push_back(file.path().stem());
    std::sort(names.begin(), names.end());
  }
  for (const std::string& name : names) {
    std::ifstream stream(artifacts / (name + ".mlirbc"), std::ios::binary);
    if (!stream) continue;
    std::stringstream content;
    content << stream.rdbuf();
    out.push_back({name, content.str()});
  }
  return out;
}

// Programs that are read are verified too, which must end as well, and the smaller ones written.
enum class Outcome : uint8_t { read, refused };
Outcome read_damaged(const std::string& bytes) {
  peak_bytes = live_bytes.load();
  const int64_t before = live_bytes;
  auto module = read_bytecode(bytes, "damaged");
  // 64 times the file for expanded tables, as much again for the program, and a floor.
  EXPECT_LT(peak_bytes - before, static_cast<int64_t>(bytes.size()) * 200 + (40 << 20));
  if (module.ok()) {
    Status verified = verify(**module);
    EXPECT_FALSE(verified.ok() && write_text(**module, {.elide_elements = 64}).empty());
    return Outcome::read;
  }
  EXPECT_EQ(module.diagnostics().size(), 1u);
  const std::string& message = module.diagnostics()[0].message;
  EXPECT_TRUE(message.starts_with("byte ")) << message;
  EXPECT_LE(std::strtoull(message.c_str() + 5, nullptr, 10), bytes.size()) << message;
  return Outcome::refused;
}

TEST(BytecodeDamage, CutOffAnywhereItIsRefused) {
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    ASSERT_EQ(read_damaged(sample.bytes), Outcome::read);
    for (size_t size = 0; size < sample.bytes.size(); ++size) {
      ASSERT_EQ(read_damaged(sample.bytes.substr(0, size)), Outcome::refused) << size;
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(BytecodeDamage, TurnedBitsDoNoHarm) {
  const std::vector<Sample> all = samples();
  const size_t rounds = long_tests() ? 100'000 : 3'000;
  std::mt19937_64 random(20240607);
  size_t refused = 0;
  for (size_t round = 0; round < rounds; ++round) {
    std::string bytes = all[round % all.size()].bytes;
    const size_t flips = 1 + random() % 3;
    for (size_t i = 0; i < flips; ++i)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    refused += read_damaged(bytes) == Outcome::refused;
    if (testing::Test::HasFailure()) {
      std::ofstream("damaged.mlirbc", std::ios::binary) << bytes;
      FAIL() << "round " << round << ", " << all[round % all.size()].name;
    }
  }
  EXPECT_GT(refused, rounds / 4);
}

}  // namespace
}  // namespace ullage
