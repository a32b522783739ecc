#include "syntax/reader.h"

#include <gtest/gtest.h>

namespace ullage {
namespace {

std::unique_ptr<Module> read(std::string_view text) {
  auto module = read_text(text, "test.mlir");
  EXPECT_TRUE(module.ok()) << to_string(module.diagnostics());
  return module.ok() ? std::move(*module) : nullptr;
}

TEST(Reader, KeepsNamesTypesAndPlaces) {
  auto module = read(R"(module @m {
  func.func public @main(%x: tensor<2xf32> {tf.aliasing_output = 0 : i32}) -> tensor<2xf32> {
    %sum = stablehlo.add %x, %x : tensor<2xf32>
    return %sum : tensor<2xf32>
  }
})");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->name, "m");
  Function* main = module->entry();
  ASSERT_TRUE(main);
  EXPECT_EQ(main->argument_info[0].aliases_output, 0);
  EXPECT_TRUE(main->argument_info[0].donated);
  Op* add = main->body().first();
  EXPECT_EQ(add->kind, OpKind::add);
  EXPECT_EQ(add->result()->name, "sum");
  EXPECT_EQ(add->result()->num_uses(), 1u);
  EXPECT_EQ(module->source(add->location).str(), "test.mlir:3:12");
}

}  // namespace
}  // namespace ullage
