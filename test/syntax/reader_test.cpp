#include "syntax/reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "syntax/writer.h"

namespace ullage {
namespace {

std::unique_ptr<Module> read(std::string_view text) {
  auto module = read_text(text, "test.mlir");
  EXPECT_TRUE(module.ok()) << to_string(module.diagnostics());
  return module.ok() ? std::move(*module) : nullptr;
}

// A function with one operation on %x, a tensor<4xf32>.
std::unique_ptr<Module> read_op(std::string_view op) {
  return read("func.func @main(%x: tensor<4xf32>) {\n  " + std::string(op) + "\n  return\n}\n");
}

Diagnostic refused(std::string_view text) {
  auto module = read_text(text, "test.mlir");
  EXPECT_FALSE(module.ok());
  return module.ok() ? Diagnostic{} : module.diagnostics().front();
}

TEST(Reader, KeepsNamesTypesAndPlaces) {
  auto module = read(R"(module @m {
  func.func public @main(%x: tensor<2xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<f32> {jax.buffer_donor = true, mhlo.sharding = "{replicated}"}) -> (tensor<2xf32> {jax.result_info = "out"}) {
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
  EXPECT_FALSE(main->argument_info[1].aliases_output);
  EXPECT_TRUE(main->argument_info[1].donated);
  EXPECT_EQ(main->argument_info[1].extra, (NamedAttributes{{"mhlo.sharding", "\"{replicated}\""}}));
  EXPECT_EQ(main->result_extra[0], (NamedAttributes{{"jax.result_info", "\"out\""}}));
  Op* add = main->body().first();
  EXPECT_EQ(add->kind, OpKind::add);
  EXPECT_EQ(add->result()->name, "sum");
  EXPECT_EQ(add->result()->num_uses(), 1u);
  EXPECT_EQ(module->source(add->location).str(), "test.mlir:3:12");
}

TEST(Reader, ResolvesLocationsDefinedAfterTheirUse) {
  auto module = read(R"(#loc2 = loc("before.py":7:1 to 8:2)
func.func @main(%x: tensor<4xf32> loc("x"(#loc2))) {
  %0 = stablehlo.negate %x : tensor<4xf32> loc(#loc4)
  %1 = stablehlo.negate %0 : tensor<4xf32> loc(fused<"why">[#loc2, callsite("f" at #loc3)])
  return loc(unknown)
} loc(#loc3)
#loc3 = loc("after.py":9:3 to :5)
#loc4 = loc("name"(#loc3))
)");
  ASSERT_TRUE(module);
  const Function& main = *module->entry();
  const LocationTable& table = module->locations;
  EXPECT_EQ(module->source(main.location).str(), "after.py:9:3");
  EXPECT_EQ(module->source(main.body().argument(0)->location).end_line, 8u);
  const Op* first = main.body().first();
  EXPECT_EQ(table[first->location].kind, LocationData::Kind::name);
  EXPECT_EQ(table.label(first->location), "name");
  EXPECT_EQ(first->result()->location, first->location);
  const LocationData& fused = table[first->next()->location];
  EXPECT_EQ(fused.kind, LocationData::Kind::fused);
  EXPECT_EQ(fused.text, "\"why\"");
  ASSERT_EQ(fused.children.size(), 2u);
  EXPECT_EQ(table[fused.children[1]].kind, LocationData::Kind::callsite);
  EXPECT_EQ(first->next()->next()->location, Location{});
}

TEST(Reader, GroupsOfResults) {
  auto module = read_op(
      "%a:2, %b = stablehlo.optimization_barrier %x, %x, %x : tensor<4xf32>, tensor<4xf32>, "
      "tensor<4xf32>\n"
      "  %c = stablehlo.add %a#1, %b : tensor<4xf32>");
  ASSERT_TRUE(module);
  const Op* barrier = module->entry()->body().first();
  EXPECT_EQ(barrier->result(1)->name, "a#1");
  EXPECT_EQ(barrier->result(2)->name, "b");
  EXPECT_EQ(barrier->next()->operand(0), barrier->result(1));
  EXPECT_EQ(barrier->next()->operand(1), barrier->result(2));
}

TEST(Reader, ShortReductionHasItsRegion) {
  auto module = read_op(
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [0] : "
      "(tensor<4xf32>, tensor<f32>) -> tensor<f32>");
  ASSERT_TRUE(module);
  const Op* reduce = module->entry()->body().first()->next();
  EXPECT_EQ(reduce->as<DimsAttributes>().dims, Dims{0});
  ASSERT_EQ(reduce->nested().arguments().size(), 2u);
  EXPECT_EQ(reduce->nested().first()->kind, OpKind::maximum);
  EXPECT_EQ(reduce->nested().last()->kind, OpKind::return_);
}

TEST(Reader, ReducerArgumentsAreAllLeftThenAllRight) {
  auto module = read_op(R"(%z = stablehlo.constant dense<0.0> : tensor<f32>
  %0:2 = stablehlo.reduce(%x init: %z), (%x init: %z) across dimensions = [0] : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
   reducer(%l0: tensor<f32>, %r0: tensor<f32>) (%l1: tensor<f32>, %r1: tensor<f32>) {
    stablehlo.return %l0, %r1 : tensor<f32>, tensor<f32>
  })");
  ASSERT_TRUE(module);
  const Region& body = module->entry()->body().first()->next()->nested();
  EXPECT_EQ(body.argument(0)->name, "l0");
  EXPECT_EQ(body.argument(1)->name, "l1");
  EXPECT_EQ(body.argument(2)->name, "r0");
  EXPECT_EQ(body.argument(3)->name, "r1");
}

TEST(Reader, Aliases) {
  auto module = read(R"(#alias = [1, 2]
#outer = {inner = #alias}
!t = tensor<2xf32>
module attributes {my.note = #outer} {
  func.func @main(%x: !t) -> tensor<2xf32> {
    return %x : !t
  }
})");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->extra, (NamedAttributes{{"my.note", "{inner = [1, 2]}"}}));
}

TEST(Reader, CustomCallConfigurations) {
  auto module = read_op(
      R"(stablehlo.custom_call @a(%x) {api_version = 4 : i32, backend_config = {n = 1 : i64}} : (tensor<4xf32>) -> ()
  stablehlo.custom_call @b(%x) {backend_config = "{\"n\": 1}", mhlo.note} : (tensor<4xf32>) -> ())");
  ASSERT_TRUE(module);
  const Op* a = module->entry()->body().first();
  EXPECT_EQ(a->as<CustomCallAttributes>().backend_config, "{n = 1 : i64}");
  EXPECT_EQ(a->as<CustomCallAttributes>().api_version, 4);
  EXPECT_EQ(a->next()->as<CustomCallAttributes>().backend_config, "{\"n\": 1}");
  EXPECT_EQ(a->next()->extra, (NamedAttributes{{"mhlo.note", ""}}));
}

TEST(Reader, ChecksOfSelfCheckingPrograms) {
  auto module = read_op(
      "check.expect_eq %x, %x : tensor<4xf32>\n"
      "  check.expect_eq_const %x, dense<1.0> : tensor<4xf32>\n"
      "  check.expect_almost_eq_const %x, dense<1.0> : tensor<4xf32>\n"
      "  check.expect_close %x, %x, max_ulp_difference = 5 : tensor<4xf32>, tensor<4xf32>");
  ASSERT_TRUE(module);
  const Op* op = module->entry()->body().first();
  EXPECT_EQ(op->num_operands(), 2u);
  EXPECT_TRUE(op->next()->as<CheckAttributes>().value->splat);
  EXPECT_EQ(op->next()->next()->next()->as<CheckAttributes>().max_ulp_difference, 5);
}

template <typename T>
std::vector<T> constant(const std::string& text) {
  auto module = read_op("%c = stablehlo.constant " + text);
  if (!module) return {};
  const Literal& literal = module->entry()->body().first()->as<ConstantAttributes>().value;
  std::vector<T> out(literal.bytes->size() / sizeof(T));
  std::memcpy(out.data(), literal.bytes->data(), literal.bytes->size());
  return out;
}

TEST(Constants, OfEveryKind) {
  EXPECT_EQ(constant<float>("dense<[1.0, -2.5e-1, 0x7F800000]> : tensor<3xf32>"),
            (std::vector<float>{1, -0.25f, HUGE_VALF}));
  EXPECT_EQ(constant<float>("dense<3.0> : tensor<1000x1000xf32>"), std::vector<float>{3});
  EXPECT_EQ(constant<double>("dense<(1.0, -1.0)> : tensor<complex<f64>>"),
            (std::vector<double>{1, -1}));
  EXPECT_EQ(constant<int8_t>("dense<[[-8, 7], [1, -1]]> : tensor<2x2xi4>"),
            (std::vector<int8_t>{-8, 7, 1, -1}));
  EXPECT_EQ(constant<uint8_t>("dense<[true, false, 1]> : tensor<3xi1>"),
            (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(constant<uint64_t>("dense<18446744073709551615> : tensor<ui64>"),
            std::vector<uint64_t>{UINT64_MAX});
  EXPECT_EQ(constant<int64_t>("dense<-9223372036854775808> : tensor<i64>"),
            std::vector<int64_t>{INT64_MIN});
  EXPECT_EQ(constant<uint32_t>("dense<4294967295> : tensor<i32>"),
            std::vector<uint32_t>{UINT32_MAX});
  EXPECT_EQ(constant<int32_t>("dense<\"0x0100000002000000\"> : tensor<2xi32>"),
            (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(constant<int8_t>("dense<\"0x0F07\"> : tensor<2xi4>"), (std::vector<int8_t>{-1, 7}));
  EXPECT_EQ(constant<int32_t>("dense<\"0x05000000\"> : tensor<7xi32>"), std::vector<int32_t>{5});
  EXPECT_EQ(constant<uint8_t>("dense<\"0x0501\"> : tensor<9xi1>"),
            (std::vector<uint8_t>{1, 0, 1, 0, 0, 0, 0, 0, 1}));
  EXPECT_TRUE(constant<float>("dense<> : tensor<0x3xf32>").empty());
  EXPECT_TRUE(constant<float>("dense<1.0> : tensor<0x3xf32>").empty());
}

// Bits as the OCP and LLVM definitions of the types have them.
TEST(Constants, SmallFloatsRoundToNearestEven) {
  EXPECT_EQ(constant<uint16_t>("dense<[1.0, 1.00390625, 1.01171875, 3.3895e38]> : tensor<4xbf16>"),
            (std::vector<uint16_t>{0x3F80, 0x3F80, 0x3F82, 0x7F7F}));
  EXPECT_EQ(constant<uint16_t>("dense<[65504.0, 6.0e-8, -0.0]> : tensor<3xf16>"),
            (std::vector<uint16_t>{0x7BFF, 0x0001, 0x8000}));
  EXPECT_EQ(constant<uint8_t>("dense<[448.0, 1.0, 0.001953125]> : tensor<3xf8E4M3FN>"),
            (std::vector<uint8_t>{0x7E, 0x38, 0x01}));
  EXPECT_EQ(constant<uint8_t>("dense<[57344.0, -1.0]> : tensor<2xf8E5M2>"),
            (std::vector<uint8_t>{0x7B, 0xBC}));
  EXPECT_EQ(constant<uint8_t>("dense<[-0.0, 240.0]> : tensor<2xf8E4M3FNUZ>"),
            (std::vector<uint8_t>{0x00, 0x7F}));
  EXPECT_EQ(constant<uint8_t>("dense<[6.0, -0.5, 2.5]> : tensor<3xf4E2M1FN>"),
            (std::vector<uint8_t>{0x7, 0x9, 0x4}));
  EXPECT_EQ(constant<uint8_t>("dense<[1.0, 4.0]> : tensor<2xf8E8M0FNU>"),
            (std::vector<uint8_t>{127, 129}));
}

TEST(Reader, ModulesSeparatedByALine) {
  auto modules = read_modules(
      "module @a {\n  func.func @f() {\n    return\n  }\n}\n// -----\nmodule @b {\n  func.func "
      "@g() {\n    return\n  }\n}\n",
      "two.mlir");
  ASSERT_TRUE(modules.ok()) << to_string(modules.diagnostics());
  ASSERT_EQ(modules->size(), 2u);
  EXPECT_EQ((*modules)[1]->name, "b");
  auto wrong = read_modules(
      "func.func @f() {\n  return\n}\n// -----\nfunc.func @g() {\n  retrun\n}\n", "two.mlir");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.diagnostics()[0].where.str(), "two.mlir:6:3");
}

TEST(Reader, ErrorsPointAtTheFirstDefinition) {
  Diagnostic d = refused(
      "func.func @main(%x: tensor<4xf32>) {\n  %0 = stablehlo.add %x, %x : tensor<4xf64>\n  "
      "return\n}\n");
  EXPECT_EQ(d.message, "'%x' is used as tensor<4xf64>, but it has the type tensor<4xf32>");
  ASSERT_EQ(d.notes.size(), 1u);
  EXPECT_EQ(d.notes[0].where.str(), "test.mlir:1:17");
}

TEST(Reader, RefusesFilesThatAreNoPrograms) {
  const auto path = std::filesystem::temp_directory_path() / "ullage_reader_test.bin";
  std::ofstream(path, std::ios::binary) << "ML\xEFR\x0D rest";
  auto bytecode = read_file(path.string());
  ASSERT_FALSE(bytecode.ok());
  EXPECT_TRUE(bytecode.diagnostics()[0].message.starts_with("byte 5: "))
      << bytecode.diagnostics()[0].message;
  std::ofstream(path, std::ios::binary) << std::string("func\0", 5);
  EXPECT_FALSE(read_file(path.string()).ok());
  std::filesystem::remove(path);
  auto missing = read_file(path.string());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.diagnostics()[0].where.file, path.string());
}

// Aliases that double a hundred times must neither take the memory nor the time of what they stand
// for.
TEST(Reader, AliasesThatExpandWithoutBoundAreRefused) {
  std::string attributes = "#a0 = [1, 2]\n", types = "!t0 = tuple<tensor<f32>>\n",
              locations = "#loc0 = loc(\"f\":1:1)\n";
  for (int i = 1; i < 100; ++i) {
    std::string n = std::to_string(i), m = std::to_string(i - 1);
    attributes += "#a" + n + " = [#a" + m + ", #a" + m + "]\n";
    types += "!t" + n + " = tuple<!t" + m + ", !t" + m + ">\n";
    locations += "#loc" + n + " = loc(fused[#loc" + m + ", #loc" + m + ", unknown])\n";
  }
  const std::string function = "func.func @main() {\n  return loc(#loc99)\n}\n";
  EXPECT_NE(refused(attributes + function).message.find("expand"), std::string::npos);
  EXPECT_NE(refused(types + function).message.find("expand"), std::string::npos);
  EXPECT_NE(refused(function + locations).message.find("expands"), std::string::npos);
}

// Every prefix of a program is either a program or one error.
TEST(Reader, TruncatedTextIsRefused) {
  auto whole = read_program_text(ULLAGE_SOURCE_DIR "/test/syntax/all_forms.mlir");
  ASSERT_TRUE(whole.ok());
  const std::string_view text = std::string_view(*whole).substr(0, whole->find_last_of('}'));
  for (size_t size = 0; size <= text.size(); size += 37) {
    auto module = read_text(text.substr(0, size), "test.mlir");
    ASSERT_FALSE(module.ok()) << size;
    EXPECT_EQ(module.diagnostics().size(), 1u);
  }
}

TEST(Writer, ElidesLargeConstants) {
  auto module = read_op("%c = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>");
  ASSERT_TRUE(module);
  std::string text = write_text(*module->entry(), {.elide_elements = 2});
  EXPECT_NE(text.find("dense_resource<__elided__> : tensor<3xi32>"), std::string::npos);
  EXPECT_NE(write_text(*module, {.list_elements = 2}).find("dense<\"0x010000000200000003000000\">"),
            std::string::npos);
}

TEST(Writer, GivesEqualNamesApart) {
  auto module = read_op(
      "%0 = stablehlo.negate %x : tensor<4xf32>\n  %y = stablehlo.negate %0 : tensor<4xf32>");
  ASSERT_TRUE(module);
  for (Op* op : module->entry()->body())
    for (Value* result : op->results()) result->name = "x";
  std::string text = write_text(*module);
  EXPECT_NE(text.find("%x_0 = stablehlo.negate %x :"), std::string::npos) << text;
  EXPECT_NE(text.find("%x_1 = stablehlo.negate %x_0 :"), std::string::npos) << text;
}

}  // namespace
}  // namespace ullage
