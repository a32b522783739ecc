// Bytecode that was made by hand: what real artifacts of the shared folder do not hold, or hold
// somewhere deep, and wrong bytes with the place that must be named.
#include "syntax/bytecode.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include "bytecode_builder.h"
#include "ir/equal.h"
#include "ops/verify.h"
#include "syntax/reader.h"
#include "syntax/writer.h"

namespace ullage {
namespace {

std::unique_ptr<Module> accepted(const std::string& bytes) {
  auto module = read_bytecode(bytes, "test.mlirbc");
  EXPECT_TRUE(module.ok()) << to_string(module.diagnostics());
  return module.ok() ? std::move(*module) : nullptr;
}

Diagnostic refused(const std::string& bytes) {
  auto module = read_bytecode(bytes, "test.mlirbc");
  EXPECT_FALSE(module.ok());
  if (module.ok()) return {};
  EXPECT_EQ(module.diagnostics().size(), 1u);
  EXPECT_TRUE(module.diagnostics()[0].message.starts_with("byte "));
  EXPECT_EQ(module.diagnostics()[0].where.file, "test.mlirbc");
  return module.diagnostics()[0];
}

void expect_refused(const std::string& bytes, std::string_view part) {
  const Diagnostic d = refused(bytes);
  EXPECT_NE(d.message.find(part), std::string::npos) << d.message << " lacks: " << part;
}

const Op* first(const Module& module) {
  return module.entry()->body().first();
}

std::vector<int64_t> integers(const Literal& literal) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < literal.type.num_elements(); ++i) out.push_back(literal.int_at(i));
  return out;
}

// VHLO's codes of types.
enum : uint64_t {
  kBool = 0,
  kF32 = 4,
  kF8E4M3FN = 6,
  kIndex = 9,
  kI4 = 10,
  kI8 = 11,
  kI32 = 13,
  kI64 = 14,
  kUi64 = 19,
  kUi2 = 32,
};

// A program that returns one constant.
Literal read_constant(uint64_t element, std::initializer_list<int64_t> dims,
                      std::string_view blob) {
  ArtifactBuilder b;
  const uint32_t type = b.tensor(dims, b.simple_type(element));
  const Bytes op =
      b.op("vhlo.constant_v1", {.results = {type}, .properties = {b.constant(type, blob)}});
  auto module = accepted(b.program({}, type, {op}, 1, 0));
  return module ? first(*module)->as<ConstantAttributes>().value : Literal{};
}

TEST(BytecodeConstant, BooleansArePackedIntoBits) {
  EXPECT_EQ(integers(read_constant(kBool, {3}, "\x05")), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(integers(read_constant(kBool, {9}, std::string_view("\x02\x01", 2))),
            (std::vector<int64_t>{0, 1, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(integers(read_constant(kBool, {}, "\x01")), std::vector<int64_t>{1});
  EXPECT_EQ(integers(read_constant(kBool, {}, std::string_view("\0", 1))), std::vector<int64_t>{0});
}

TEST(BytecodeConstant, SplatsKeepOneElement) {
  Literal booleans = read_constant(kBool, {1000}, "\xFF");
  EXPECT_TRUE(booleans.splat);
  EXPECT_EQ(booleans.int_at(999), 1);
  Literal wide = read_constant(kUi64, {1 << 20, 1 << 20}, "\x01\x02\x03\x04\x05\x06\x07\x08");
  EXPECT_TRUE(wide.splat);
  EXPECT_EQ(wide.int_at(int64_t{1} << 39), 0x0807060504030201);
  EXPECT_TRUE(read_constant(kF32, {8}, std::string_view("\0\0\x80\x3F", 4)).splat);
}

TEST(BytecodeConstant, NarrowIntegersTakeAByteAndASign) {
  EXPECT_EQ(integers(read_constant(kI4, {3}, std::string_view("\x0E\x07\x00", 3))),
            (std::vector<int64_t>{-2, 7, 0}));
  EXPECT_EQ(integers(read_constant(kI4, {5}, "\x0F")), (std::vector<int64_t>(5, -1)));
  EXPECT_EQ(integers(read_constant(kUi2, {2}, "\x03\x01")), (std::vector<int64_t>{3, 1}));
}

TEST(BytecodeConstant, EmptyOnesMayStillHoldASplat) {
  EXPECT_TRUE(read_constant(kF32, {4, 0}, "").bytes->empty());
  EXPECT_TRUE(read_constant(kF32, {0}, "abcd").bytes->empty());
  EXPECT_TRUE(read_constant(kBool, {0}, "\xFF").bytes->empty());
}

TEST(BytecodeConstant, ComplexNumbersAreRealThenImaginary) {
  ArtifactBuilder b;
  const uint32_t complex = b.type("vhlo", varints({1, b.simple_type(kF32)}));
  const uint32_t type = b.tensor({2}, complex);
  const float parts[] = {1, 2, 3, 4};
  const std::string_view blob(reinterpret_cast<const char*>(parts), sizeof parts);
  const Bytes op =
      b.op("vhlo.constant_v1", {.results = {type}, .properties = {b.constant(type, blob)}});
  auto module = accepted(b.program({}, type, {op}, 1, 0));
  ASSERT_TRUE(module);
  const Literal& literal = first(*module)->as<ConstantAttributes>().value;
  EXPECT_EQ(literal.type.dtype, DType::c64);
  EXPECT_EQ(write_text(literal),
            "dense<[(1.0e+00,2.0e+00), (3.0e+00,4.0e+00)]> : "
            "tensor<2xcomplex<f32>>");
}

TEST(BytecodeConstant, OfAWrongSizeAreRefused) {
  for (std::string_view blob : {"", "abc", "abcdefgh", "abcdefghijklmnop"}) {
    ArtifactBuilder b;
    const uint32_t type = b.tensor({3}, b.simple_type(kF32));
    const Bytes op =
        b.op("vhlo.constant_v1", {.results = {type}, .properties = {b.constant(type, blob)}});
    expect_refused(b.program({}, type, {op}, 1, 0), "cannot be a constant of type tensor<3xf32>");
  }
}

TEST(Bytecode, VarintsOfNineBytes) {
  ArtifactBuilder b;
  Bytes extents;
  extents.longest = true;
  extents.varint(20).signed_list({2, 3}).varint(b.simple_type(kF32));
  const uint32_t type = b.type("vhlo", extents);
  const Bytes op = b.op("vhlo.negate_v1", {.operands = {0}, .results = {type}});
  auto module = accepted(b.program({type}, type, {op}, 2, 1));
  ASSERT_TRUE(module);
  EXPECT_EQ(to_string(first(*module)->result()->type), "tensor<2x3xf32>");
}

TEST(Bytecode, OrdersOfUsesAreSkipped) {
  ArtifactBuilder b;
  const uint32_t f32 = b.tensor({}, b.simple_type(kF32));
  // Of the two arguments' uses: one entry, for argument 1, of two uses.
  Bytes of_arguments = varints({1, 1});
  of_arguments.flagged(2, false).varint(1).varint(0);
  Bytes of_result;
  of_result.flagged(2, true).varint(0).varint(1);
  std::vector<Bytes> ops = {
      b.op("vhlo.multiply_v1", {.operands = {1, 1}, .results = {f32}, .use_orders = of_result}),
      b.op("vhlo.add_v1", {.operands = {2, 2}, .results = {f32}}),
      b.op("vhlo.return_v1", {.operands = {3}})};
  auto module = accepted(b.artifact({b.function("main", {.arguments = {f32, f32}, .results = {f32}},
                                                b.region({f32, f32}, 4, ops, of_arguments))}));
  ASSERT_TRUE(module);
  EXPECT_EQ(first(*module)->operand(0), module->entry()->body().argument(1));
}

// A loop inside a branch; both branches and both regions of the loop use the same numbers.
TEST(Bytecode, SiblingRegionsReuseNumbers) {
  ArtifactBuilder b;
  const uint32_t f32 = b.tensor({}, b.simple_type(kF32));
  const uint32_t i32 = b.tensor({}, b.simple_type(kI32));
  const uint32_t i1 = b.tensor({}, b.simple_type(kBool));
  auto end = [&](uint32_t value) { return b.op("vhlo.return_v1", {.operands = {value}}); };
  // Numbers of the function: 0 and 1 are arguments, 2 the result of the case. Branches begin at 3,
  // the loop's regions at 4.
  const Bytes cond =
      b.region({f32}, 2, {b.op("vhlo.is_finite_v1", {.operands = {4}, .results = {i1}}), end(5)});
  const Bytes body =
      b.region({f32}, 2, {b.op("vhlo.add_v1", {.operands = {4, 1}, .results = {f32}}), end(5)});
  const Bytes loop =
      b.op("vhlo.while_v1", {.operands = {1}, .results = {f32}, .regions = {cond, body}});
  const Bytes one = b.region({}, 1, {loop, end(3)});
  const Bytes other =
      b.region({}, 1, {b.op("vhlo.negate_v1", {.operands = {1}, .results = {f32}}), end(3)});
  const Bytes branch =
      b.op("vhlo.case_v1", {.operands = {0}, .results = {f32}, .regions = {one, other}});
  auto module = accepted(b.program({i32, f32}, f32, {branch}, 3, 2));
  ASSERT_TRUE(module);
  EXPECT_TRUE(verify(*module).ok());
  auto text = read_text(R"(
func.func public @main(%arg0: tensor<i32>, %arg1: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.case"(%arg0) ({
    %1 = stablehlo.while(%iterArg = %arg1) : tensor<f32>
    cond {
      %2 = stablehlo.is_finite %iterArg : (tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.add %iterArg, %arg1 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }
    stablehlo.return %1 : tensor<f32>
  }, {
    %1 = stablehlo.negate %arg1 : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return %0 : tensor<f32>
}
)",
                        "test.mlir");
  ASSERT_TRUE(text.ok()) << to_string(text.diagnostics());
  std::string why;
  EXPECT_TRUE(equal(**text, *module, &why)) << why;
  const Op* first_loop = first(*module)->nested(0).first();
  EXPECT_EQ(first_loop->nested(1).argument(0)->name, "iterArg");
  EXPECT_EQ(first_loop->nested(1).first()->result()->name, "2");
}

TEST(Bytecode, AFunctionMayBeCalledBeforeItsDefinition) {
  ArtifactBuilder b;
  const uint32_t f32 = b.tensor({}, b.simple_type(kF32));
  auto program = [&](std::string callee, uint32_t type) {
    const Bytes call =
        b.op("vhlo.call_v1",
             {.operands = {0}, .results = {f32}, .properties = {b.vhlo_string(std::move(callee))}});
    const Bytes main = b.region({f32}, 2, {call, b.op("vhlo.return_v1", {.operands = {1}})});
    const Bytes inner = b.region({type}, 1, {b.op("vhlo.return_v1", {.operands = {0}})});
    return b.artifact(
        {b.function("main", {.arguments = {f32}, .results = {f32}}, main),
         b.function("inner", {.arguments = {type}, .results = {type}, .visibility = "private"},
                    inner)});
  };
  auto module = accepted(program("inner", f32));
  ASSERT_TRUE(module);
  EXPECT_EQ(module->functions.size(), 2u);
  EXPECT_FALSE(module->functions[1]->is_public);
  b = {};
  b.tensor({}, b.simple_type(kF32));
  expect_refused(program("inner", b.tensor({2}, b.simple_type(kF32))),
                 "argument 0 of @inner is tensor<2xf32>, not tensor<f32>");
  b = {};
  b.tensor({}, b.simple_type(kF32));
  expect_refused(program("other", f32), "there is no function @other");
}

TEST(Bytecode, CastsBetweenDialectsAreIdentities) {
  ArtifactBuilder b;
  const uint32_t f32 = b.tensor({4}, b.simple_type(kF32));
  const uint32_t builtin =
      b.type("builtin", varints({13}).signed_list({4}).varint(b.type("builtin", varints({5}))));
  const std::string_view cast = "builtin.unrealized_conversion_cast";
  std::vector<Bytes> ops = {b.op(cast, {.operands = {0}, .results = {builtin}}),
                            b.op(cast, {.operands = {1}, .results = {f32}}),
                            b.op("vhlo.negate_v1", {.operands = {2}, .results = {f32}})};
  auto module = accepted(b.program({f32}, f32, ops, 4, 3));
  ASSERT_TRUE(module);
  EXPECT_EQ(first(*module)->operand(0), module->entry()->body().argument(0));
  b = {};
  b.tensor({4}, b.simple_type(kF32));
  const uint32_t two = b.tensor({2}, b.simple_type(kF32));
  ops = {b.op(cast, {.operands = {0}, .results = {two}})};
  expect_refused(b.program({f32}, two, ops, 2, 1),
                 "a value of type tensor<4xf32> cannot be cast to tensor<2xf32>");
}

// -- Types

TEST(BytecodeType, OfEveryKind) {
  struct Case {
    std::function<uint32_t(ArtifactBuilder&)> make;
    std::string text;
  };
  auto f64 = [](double value) { return std::bit_cast<int64_t>(value); };
  const std::vector<Case> cases = {
      {[](auto& b) { return b.tensor({2, INT64_MIN}, b.simple_type(kI32)); }, "tensor<2x?xi32>"},
      {[](auto& b) {
         const uint32_t bounds = b.attribute("vhlo", varints({18}).signed_list({INT64_MIN, 8}));
         return b.type(
             "vhlo", varints({21, bounds}).signed_list({2, INT64_MIN}).varint(b.simple_type(kF32)));
       },
       "tensor<2x?xf32, #stablehlo.bounds<?, 8>>"},
      {[](auto& b) {
         const uint32_t part = b.tensor({}, b.simple_type(kF8E4M3FN));
         return b.type("vhlo", varints({23}).list({part, b.simple_type(22)}));
       },
       "tuple<tensor<f8E4M3FN>, !stablehlo.token>"},
      {[&](auto& b) {
         return b.tensor({4},
                         b.type("vhlo", varints({24, 1, b.simple_type(kI8), b.simple_type(kF32)})
                                            .svarint(f64(0.5))
                                            .svarint(3)
                                            .svarint(-128)
                                            .svarint(127)));
       },
       "tensor<4x!quant.uniform<i8:f32, 5.0e-01:3>>"},
      {[&](auto& b) {
         return b.tensor({2},
                         b.type("vhlo", varints({30, 0, b.simple_type(kI8), b.simple_type(kF32), 0})
                                            .svarint(0)
                                            .svarint(255)
                                            .varint(2)
                                            .svarint(f64(0.5))
                                            .svarint(f64(0.25))
                                            .signed_list({1, 0})));
       },
       "tensor<2x!quant.uniform<ui8:f32:0, {5.0e-01:1, 2.5e-01}>>"},
  };
  for (const Case& c : cases) {
    ArtifactBuilder b;
    const uint32_t type = c.make(b);
    auto module = accepted(b.program({type}, type, {}, 1, 0));
    ASSERT_TRUE(module) << c.text;
    EXPECT_EQ(to_string(module->entry()->result_types[0]), c.text);
  }
}

TEST(BytecodeType, WrongOnesAreRefused) {
  auto expect = [](std::string_view message,
                   const std::function<uint32_t(ArtifactBuilder&)>& make) {
    ArtifactBuilder b;
    const uint32_t type = make(b);
    expect_refused(b.program({type}, type, {}, 1, 0), message);
  };
  expect("unknown type 99 of VHLO", [](auto& b) { return b.simple_type(99); });
  expect("a value cannot have the type f32", [](auto& b) { return b.simple_type(kF32); });
  expect("a value cannot have the type tensor<2xindex>",
         [](auto& b) { return b.tensor({2}, b.simple_type(kIndex)); });
  expect("expected the extent of a dimension, found -3",
         [](auto& b) { return b.tensor({-3}, b.simple_type(kF32)); });
  expect("too many elements to address", [](auto& b) {
    return b.tensor({int64_t{1} << 40, int64_t{1} << 40}, b.simple_type(kF32));
  });
  expect("this type contains itself",
         [](auto& b) { return b.type("vhlo", varints({23}).list({b.next_type()})); });
}

// -- Attributes of functions, kept texts

TEST(BytecodeAttribute, OfArgumentsSayWhatTheirBuffersAreFor) {
  ArtifactBuilder b;
  const uint32_t f32 = b.tensor({}, b.simple_type(kF32));
  auto key = [&](std::string name) { return b.vhlo_string(std::move(name)); };
  const uint32_t one = b.attribute("vhlo", varints({9, b.simple_type(kI32)}).svarint(1));
  const uint32_t mesh = b.builtin({4, b.builtin_string("mesh")});
  const uint32_t axis = b.attribute("sdy", varints({4, b.string("x")}).flagged(0, false));
  const uint32_t dimension =
      b.attribute("sdy", varints({5}).list({axis}).byte(0).flagged(0, false));
  const uint32_t sharding = b.attribute("sdy", varints({6, mesh}).list({dimension}).list({}));
  ArtifactBuilder::FunctionParts parts{.arguments = {f32, f32, f32}, .results = {f32, f32}};
  parts.argument_attributes = {
      b.dictionary({{key("tf.aliasing_output"), one}, {key("sdy.sharding"), sharding}}),
      b.dictionary({{key("jax.buffer_donor"), b.vhlo({2, 1})}}), b.dictionary({})};
  parts.result_attributes = {b.dictionary({{key("jax.result_info"), key("result[\"a\"]")}}),
                             b.dictionary({})};
  auto module = accepted(b.artifact(
      {b.function("main", parts,
                  b.region({f32, f32, f32}, 3, {b.op("vhlo.return_v1", {.operands = {1, 0}})}))}));
  ASSERT_TRUE(module);
  const Function& main = *module->entry();
  EXPECT_EQ(main.argument_info[0].aliases_output, 1);
  EXPECT_TRUE(main.argument_info[0].donated);
  EXPECT_EQ(main.argument_info[0].extra,
            (NamedAttributes{{"sdy.sharding", "#sdy.sharding<@mesh, [{\"x\", ?}]>"}}));
  EXPECT_TRUE(main.argument_info[1].donated && !main.argument_info[1].aliases_output);
  EXPECT_TRUE(main.argument_info[1].extra.empty());
  EXPECT_FALSE(main.argument_info[2].donated);
  EXPECT_EQ(main.result_extra[0], (NamedAttributes{{"jax.result_info", R"("result[\22a\22]")"}}));
  EXPECT_TRUE(main.result_extra[1].empty());
}

// What the module keeps of one attribute.
std::string kept_text(const std::function<uint32_t(ArtifactBuilder&)>& make) {
  ArtifactBuilder b;
  const uint32_t value = make(b);
  const uint32_t name = b.builtin_string("x.y");
  const uint32_t dictionary = b.builtin({1, 1, name, value});
  const Bytes body = b.region({}, 0, {b.op("vhlo.return_v1", {})});
  auto module = accepted(b.artifact({b.function("main", {}, body)}, dictionary));
  if (!module || module->extra.size() != 1) return "nothing kept";
  return module->extra[0].text;
}

TEST(BytecodeAttribute, KeptTextsAreThoseOfMlir) {
  struct Case {
    std::string text;
    std::function<uint32_t(ArtifactBuilder&)> make;
  };
  auto f64 = [](double value) { return std::bit_cast<int64_t>(value); };
  auto f32 = [](float value) { return static_cast<int64_t>(std::bit_cast<int32_t>(value)); };
  auto floating = [&](int64_t bits, uint64_t type) {
    return [=](ArtifactBuilder& b) {
      return b.attribute("vhlo", varints({8, b.simple_type(type)}).svarint(bits));
    };
  };
  // A list of one dimension of a sharding, in Shardy's first form.
  auto sharding = [](ArtifactBuilder& b, uint32_t dimension, const Bytes& rest) {
    const uint32_t mesh = b.builtin({4, b.builtin_string("mesh")});
    return varints({mesh}).list({dimension}).append(rest);
  };
  auto axis = [](ArtifactBuilder& b, std::string name) {
    return b.attribute("sdy", varints({4, b.string(std::move(name))}).flagged(0, false));
  };
  const std::vector<Case> cases = {
      {"", [](auto& b) { return b.builtin({7}); }},
      {"true", [](auto& b) { return b.vhlo({2, 1}); }},
      {"-3 : i32",
       [](auto& b) { return b.attribute("vhlo", varints({9, b.simple_type(kI32)}).svarint(-3)); }},
      {"200 : ui8",
       [](auto& b) {
         return b.attribute("builtin",
                            varints({8, b.type("builtin", varints({0, 8 << 2 | 2}))}).byte(200));
       }},
      {"1.500000e+00 : f32", floating(f32(1.5F), kF32)},
      {"0.949999988 : f32", floating(f32(0.95F), kF32)},
      {"-1.000000e-01 : f64", floating(f64(-0.1), 5)},
      {"0x7F800000 : f32", floating(f32(INFINITY), kF32)},
      {R"("a\22b\0A")", [](auto& b) { return b.vhlo_string("a\"b\n"); }},
      {"[true, \"s\"]", [](auto& b) { return b.array({b.vhlo({2, 1}), b.vhlo_string("s")}); }},
      {"{\"a b\" = 1 : i64, c}",
       [](auto& b) {
         const uint32_t one = b.attribute("vhlo", varints({9, b.simple_type(kI64)}).svarint(1));
         return b.dictionary(
             {{b.vhlo_string("a b"), one}, {b.builtin_string("c"), b.builtin({7})}});
       }},
      {"@outer::@inner",
       [](auto& b) {
         const uint32_t inner = b.builtin({4, b.builtin_string("inner")});
         return b.builtin({5, b.builtin_string("outer"), 1, inner});
       }},
      {"tensor<2xindex>",
       [](auto& b) { return b.vhlo({17, b.tensor({2}, b.simple_type(kIndex))}); }},
      {"dense<[1, -2]> : tensor<2xi32>",
       [](auto& b) {
         return b.constant(b.tensor({2}, b.simple_type(kI32)),
                           std::string_view("\1\0\0\0\xFE\xFF\xFF\xFF", 8));
       }},
      {"dense<true> : tensor<4xi1>",
       [](auto& b) { return b.constant(b.tensor({4}, b.simple_type(kBool)), "\xFF"); }},
      {"array<i8: 1, 2>",
       [](auto& b) {
         return b.attribute("builtin", varints({17, b.simple_type(kI8), 2}).blob("\x01\x02"));
       }},
      {"#stablehlo.result_accuracy<atol = 1.000000e-05, ulps = 2, mode = "
       "#stablehlo.result_accuracy_mode<TOLERANCE>>",
       [&](auto& b) {
         const uint32_t mode = b.vhlo({19, 2});
         return b.attribute("vhlo",
                            varints({20}).svarint(f64(1e-5)).svarint(0).svarint(2).varint(mode));
       }},
      {"#sdy<manual_axes{\"x\"}>",
       [](auto& b) { return b.attribute("sdy", varints({0}).list({b.builtin_string("x")})); }},
      {"#sdy.mesh<[\"x\"=4, \"y\"=2], device_ids=[1, 0]>",
       [](auto& b) {
         const uint32_t x = b.attribute("sdy", varints({1, b.string("x")}).svarint(4));
         const uint32_t y = b.attribute("sdy", varints({1, b.string("y")}).svarint(2));
         return b.attribute("sdy", varints({2}).list({x, y}).signed_list({1, 0}));
       }},
      {"#sdy.sharding<@mesh, [{\"x\":(2)4, ?}p3], replicated={\"y\"}, unreduced=max{\"z\"}>",
       [&](auto& b) {
         const uint32_t part = b.attribute("sdy", varints({3}).svarint(2).svarint(4));
         const uint32_t x = b.attribute("sdy", varints({4, b.string("x")}).flagged(part, true));
         const uint32_t dimension =
             b.attribute("sdy", varints({5}).list({x}).byte(0).flagged(3, true));
         Bytes rest;
         rest.list({axis(b, "y")}).list({axis(b, "z")}).svarint(1);
         Bytes content = varints({17});
         return b.attribute("sdy", content.append(sharding(b, dimension, rest)));
       }},
      {"#sdy.sharding_per_value<[<@mesh, [{\"x\"}]>]>",
       [&](auto& b) {
         const uint32_t dimension =
             b.attribute("sdy", varints({5}).list({axis(b, "x")}).byte(1).flagged(0, false));
         Bytes content = varints({6});
         const uint32_t one =
             b.attribute("sdy", content.append(sharding(b, dimension, Bytes{}.list({}))));
         return b.attribute("sdy", varints({7}).list({one}));
       }},
      {"#sdy.op_sharding_rule<([ij, k])->([i]) {i=4, j=2, k=8} reduction={k}, custom>",
       [](auto& b) {
         const uint32_t ij = b.attribute("sdy", varints({8}).signed_list({0, 1}));
         const uint32_t k = b.attribute("sdy", varints({8}).signed_list({2}));
         const uint32_t i = b.attribute("sdy", varints({8}).signed_list({0}));
         const uint32_t operand = b.attribute("sdy", varints({9}).list({ij, k}));
         const uint32_t result = b.attribute("sdy", varints({9}).list({i}));
         return b.attribute("sdy", varints({10})
                                       .signed_list({4, 2, 8})
                                       .list({operand})
                                       .list({result})
                                       .signed_list({2})
                                       .signed_list({})
                                       .signed_list({})
                                       .signed_list({})
                                       .byte(1));
       }},
  };
  for (const Case& c : cases) EXPECT_EQ(kept_text(c.make), c.text);
}

}  // namespace
}  // namespace ullage
