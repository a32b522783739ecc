#include "pjrt/compile_options.h"

#include <gtest/gtest.h>

#include "pjrt/protobuf.h"

namespace ullage::pjrt {
namespace {

// An option as JAX sends it; `field` is 1 for a text, 2 for a bool, 3 for a whole number.
std::string option(std::string_view key, uint32_t field, std::string_view text, uint64_t number) {
  ProtoWriter value, entry, out;
  if (field == 1)
    value.bytes(1, text);
  else
    value.number(field, number);
  entry.bytes(1, key);
  entry.bytes(2, value.take());
  out.bytes(7, entry.take());
  return out.take();
}

std::string text_option(std::string_view key, std::string_view text) {
  return option(key, 1, text, 0);
}

TEST(CompileOptions, TakesABudget) {
  Result<CompileRequest> request =
      parse_compile_options(text_option("ullage_memory_budget", "4GiB"), {});
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->settings.budget_bytes, int64_t{4} << 30);
  request = parse_compile_options(option("ullage_memory_budget", 3, "", 1 << 20), {});
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->settings.budget_bytes, 1 << 20);
}

TEST(CompileOptions, RefusesWhatDoesNotExist) {
  EXPECT_FALSE(parse_compile_options(text_option("ullage_memory", "4GiB"), {}).ok());
  EXPECT_FALSE(parse_compile_options(text_option("nonsense", "1"), {}).ok());
  EXPECT_FALSE(parse_compile_options(text_option("ullage_memory_budget", "much"), {}).ok());
  EXPECT_FALSE(parse_compile_options(text_option("xla_embed_ir_in_executable", "maybe"), {}).ok());
}

TEST(CompileOptions, IgnoresOptionsOfXla) {
  EXPECT_TRUE(parse_compile_options(option("xla_embed_ir_in_executable", 2, "", 1), {}).ok());
  EXPECT_TRUE(parse_compile_options(text_option("xla_cpu_max_isa", "AVX2"), {}).ok());
}

TEST(CompileOptions, ReadsTheDevices) {
  ProtoWriter assignment, build, out;
  for (int64_t id : {5, 3}) {
    ProtoWriter computation;
    computation.packed(1, {id});
    assignment.bytes(3, computation.take());
  }
  build.number(4, 1);
  build.number(5, 2);
  build.bytes(9, assignment.take());
  out.bytes(3, build.take());
  Result<CompileRequest> request = parse_compile_options(out.take(), {});
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->partitions, 2);
  EXPECT_EQ(request->device_ids, (std::vector<int32_t>{5, 3}));
}

TEST(CompileOptions, RefusesDamagedOptions) {
  std::string text = text_option("ullage_memory_budget", "4GiB");
  EXPECT_FALSE(parse_compile_options(std::string_view(text).substr(0, text.size() - 3), {}).ok());
}

}  // namespace
}  // namespace ullage::pjrt
