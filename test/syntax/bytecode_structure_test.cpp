// The structure of bytecode programs, made by hand: versions, locations, limits, the table of
// operations, and what is wrong with broken ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "bytecode_builder.h"
#include "ir/equal.h"
#include "syntax/bytecode.h"
#include "syntax/bytecode_ops.h"
#include "syntax/describe.h"
#include "syntax/reader.h"

namespace ullage {
namespace {

constexpr uint64_t kF32 = 4;

std::unique_ptr<Module> accepted(const std::string& bytes) {
  auto module = read_module(bytes, "test.mlirbc");
  EXPECT_TRUE(module.ok()) << to_string(module.diagnostics());
  return module.ok() ? std::move(*module) : nullptr;
}

void expect_refused(const std::string& bytes, std::string_view part) {
  auto module = read_module(bytes, "test.mlirbc");
  ASSERT_FALSE(module.ok()) << "not refused: " << part;
  ASSERT_EQ(module.diagnostics().size(), 1u);
  const Diagnostic& d = module.diagnostics()[0];
  EXPECT_TRUE(d.message.starts_with("byte ")) << d.message;
  EXPECT_NE(d.message.find(part), std::string::npos) << d.message << " lacks: " << part;
}

// @main(%x: tensor<f32>) returns -x.
std::string negation(ArtifactBuilder& b) {
  const uint32_t f32 = b.tensor({}, b.simple_type(kF32));
  return b.program({f32}, f32, {b.op("vhlo.negate_v1", {.operands = {0}, .results = {f32}})}, 2, 1);
}

std::string of_version(std::string producer, uint64_t bytecode_version = 6) {
  ArtifactBuilder b;
  b.producer = std::move(producer);
  b.bytecode_version = bytecode_version;
  return negation(b);
}

TEST(BytecodeVersion, FromTheOldestToTheNewestIsRead) {
  for (const char* version : {"1.0.0", "1.4.0", "1.13.7", "1.17.0", "1.17.3"})
    EXPECT_TRUE(accepted(of_version(std::string("StableHLO_v") + version))) << version;
}

TEST(BytecodeVersion, OthersAreRefusedByName) {
  expect_refused(of_version("StableHLO_v1.18.0"),
                 "byte 5: this program is of StableHLO 1.18.0, which is newer than 1.17.0");
  expect_refused(of_version("StableHLO_v2.0.0"), "StableHLO 2.0.0, which is newer");
  expect_refused(of_version("StableHLO_v0.20.0"), "which is older than 1.0.0");
  for (const char* producer : {"MLIR22.0.0", "StableHLO_v1.13", "StableHLO_v1.13.0x",
                               "StableHLO_v1.-3.0", "StableHLO_v1.99999999999999999999.0", ""})
    expect_refused(of_version(producer), "byte 5: expected the bytecode of a StableHLO portable");
  expect_refused(of_version("StableHLO_v1.13.0", 5),
                 "byte 4: MLIR bytecode of version 5 is not supported");
}

// -- Locations

struct Place {
  std::string file, label;
};

Place place_of(const std::function<uint32_t(ArtifactBuilder&)>& make) {
  ArtifactBuilder b;
  const uint32_t location = make(b);
  const uint32_t f32 = b.tensor({}, b.simple_type(kF32));
  const Bytes op =
      b.op("vhlo.negate_v1", {.operands = {0}, .results = {f32}, .location = location});
  auto module = accepted(b.program({f32}, f32, {op}, 2, 1));
  if (!module) return {};
  const Op* negate = module->entry()->body().first();
  EXPECT_EQ(negate->location, negate->result()->location);
  return {module->locations.source(negate->location).str(),
          module->locations.label(negate->location)};
}

TEST(BytecodeLocation, OfEveryKind) {
  auto file = [](ArtifactBuilder& b, std::string name, std::initializer_list<uint64_t> numbers) {
    Bytes content = varints({22, b.builtin_string(std::move(name)), numbers.size()});
    return b.attribute("builtin", content.append(varints(numbers)));
  };
  EXPECT_EQ(place_of([](auto& b) { return b.unknown_location(); }).file, SourceRange{}.str());
  EXPECT_EQ(place_of([&](auto& b) { return file(b, "a.py", {3, 4, 9}); }).file, "a.py:3:4");
  EXPECT_EQ(place_of([&](auto& b) { return file(b, "a.py", {3, 4, 5, 6}); }).file, "a.py:3:4");
  EXPECT_EQ(place_of([](auto& b) { return b.builtin({11, b.builtin_string("b.py"), 7, 8}); }).file,
            "b.py:7:8");
  // A call site in an installed package gives way to the user's file.
  const Place named = place_of([&](auto& b) {
    const uint32_t inner = file(b, "/lib/site-packages/jax/x.py", {1, 1, 2});
    const uint32_t site = b.builtin({10, inner, file(b, "mine.py", {20, 5, 9})});
    return b.builtin({14, b.builtin_string("jit(f)/dot"), site});
  });
  EXPECT_EQ(named.file, "mine.py:20:5");
  EXPECT_EQ(named.label, "jit(f)/dot");
  EXPECT_EQ(place_of([&](auto& b) {
              return b.builtin({12, 2, b.unknown_location(), file(b, "c.py", {1, 2, 3})});
            }).file,
            "c.py:1:2");
  EXPECT_EQ(place_of([&](auto& b) {
              return b.builtin({13, 1, file(b, "d.py", {1, 2}), b.builtin_string("metadata")});
            }).file,
            "d.py:1:2");
}

TEST(BytecodeLocation, CallStacksMayBeDeepButNotWithoutBound) {
  auto nested = [](uint32_t depth) {
    return [=](ArtifactBuilder& b) {
      const uint32_t name = b.builtin_string("f");
      uint32_t location = b.builtin({11, b.builtin_string("a.py"), 1, 2});
      for (uint32_t i = 0; i < depth; ++i) location = b.builtin({14, name, location});
      return location;
    };
  };
  EXPECT_EQ(place_of(nested(1000)).file, "a.py:1:2");
  ArtifactBuilder b;
  const uint32_t deep = nested(200'000)(b);
  const uint32_t f32 = b.tensor({}, b.simple_type(kF32));
  const Bytes op = b.op("vhlo.negate_v1", {.operands = {0}, .results = {f32}, .location = deep});
  expect_refused(b.program({f32}, f32, {op}, 2, 1), "nested more than 2000 deep");
}

TEST(BytecodeLocation, ThoseThatExpandWithoutBoundAreRefused) {
  ArtifactBuilder b;
  uint32_t location = b.builtin({11, b.builtin_string("a.py"), 1, 2});
  for (int i = 0; i < 60; ++i) location = b.builtin({10, location, location});
  const uint32_t f32 = b.tensor({}, b.simple_type(kF32));
  const Bytes op =
      b.op("vhlo.negate_v1", {.operands = {0}, .results = {f32}, .location = location});
  expect_refused(b.program({f32}, f32, {op}, 2, 1), "expands to more than 100000 positions");
}

// -- Limits

TEST(BytecodeLimit, NestingIsBounded) {
  {
    ArtifactBuilder b;  // types
    uint32_t type = b.tensor({}, b.simple_type(kF32));
    for (int i = 0; i < 100'000; ++i) type = b.type("vhlo", varints({23}).list({type}));
    expect_refused(b.program({type}, type, {}, 1, 0), "nested more than 200 deep");
  }
  {
    ArtifactBuilder b;  // attributes
    uint32_t list = b.array({});
    for (int i = 0; i < 100'000; ++i) list = b.array({list});
    const uint32_t kept = b.builtin({1, 1, b.builtin_string("x.y"), list});
    const uint32_t f32 = b.tensor({}, b.simple_type(kF32));
    const Bytes op =
        b.op("vhlo.negate_v1", {.operands = {0}, .results = {f32}, .attributes = kept});
    expect_refused(b.program({f32}, f32, {op}, 2, 1), "nested more than 200 deep");
  }
  {
    ArtifactBuilder b;  // a function type that takes itself
    const uint32_t type = b.type("vhlo", varints({8}).list({b.next_type()}).list({}));
    const uint32_t kept = b.builtin({1, 1, b.builtin_string("x.y"), b.vhlo({17, type})});
    const Bytes body = b.region({}, 0, {b.op("vhlo.return_v1", {})});
    expect_refused(b.artifact({b.function("main", {}, body)}, kept), "nested more than 200 deep");
  }
  ArtifactBuilder b;  // regions
  const uint32_t f32 = b.tensor({}, b.simple_type(kF32));
  const uint32_t i32 = b.tensor({}, b.simple_type(13));
  auto end = [&](uint32_t value) { return b.op("vhlo.return_v1", {.operands = {value}}); };
  Bytes inner = b.region({}, 0, {end(1)});
  for (uint32_t depth = 300; depth > 0; --depth)
    inner = b.region({}, 1,
                     {b.op("vhlo.case_v1", {.operands = {0}, .results = {f32}, .regions = {inner}}),
                      end(1 + depth)});
  const Bytes main = b.op("vhlo.case_v1", {.operands = {0}, .results = {f32}, .regions = {inner}});
  expect_refused(b.program({i32, f32}, f32, {main}, 3, 2), "nested more than 200 deep");
}

// Tables whose entries double each other must neither take the memory nor the time of what they
// stand for.
TEST(BytecodeLimit, EntriesThatExpandWithoutBoundAreRefused) {
  constexpr std::string_view kMessage = "times its size when written in full";
  {
    ArtifactBuilder b;
    uint32_t type = b.tensor({2}, b.simple_type(kF32));
    for (int i = 0; i < 100; ++i) type = b.type("vhlo", varints({23}).list({type, type}));
    expect_refused(b.program({type}, type, {}, 1, 0), kMessage);
  }
  {
    ArtifactBuilder b;
    uint32_t list = b.vhlo_string("text");
    for (int i = 0; i < 100; ++i) list = b.array({list, list});
    const Bytes body = b.region({}, 0, {b.op("vhlo.return_v1", {})});
    const uint32_t kept = b.builtin({1, 1, b.builtin_string("x.y"), list});
    expect_refused(b.artifact({b.function("main", {}, body)}, kept), kMessage);
  }
  ArtifactBuilder b;  // one long list, named by many operations
  const uint32_t f32 = b.tensor({}, b.simple_type(kF32));
  const std::string blob(size_t{8} << 16, '\0');
  const uint32_t list = b.constant(b.tensor({1 << 16}, b.simple_type(14)), blob);
  std::vector<Bytes> ops;
  for (uint32_t i = 0; i < 2000; ++i)
    ops.push_back(
        b.op("vhlo.transpose_v1", {.operands = {i}, .results = {f32}, .properties = {list}}));
  expect_refused(b.program({f32}, f32, ops, 2001, 2000), kMessage);
}

// -- Wrong programs

TEST(BytecodeWrong, IsReportedWithItsPlace) {
  struct Case {
    std::string message;
    std::function<std::string(ArtifactBuilder&, uint32_t)> make;  // with the type tensor<f32>
  };
  auto negate = [](ArtifactBuilder& b, uint32_t operand, uint32_t type) {
    return b.op("vhlo.negate_v1", {.operands = {operand}, .results = {type}});
  };
  const std::vector<Case> cases = {
      {"unknown operation vhlo.frobnicate_v1",
       [](auto& b, uint32_t t) {
         return b.program({t}, t, {b.op("vhlo.frobnicate_v1", {.results = {t}})}, 2, 1);
       }},
      {"unknown operation vhlo.negate_v7",
       [](auto& b, uint32_t t) {
         return b.program({t}, t, {b.op("vhlo.negate_v7", {.operands = {0}, .results = {t}})}, 2,
                          1);
       }},
      {"stablehlo.add takes 2 operands, not 1",
       [](auto& b, uint32_t t) {
         return b.program({t}, t, {b.op("vhlo.add_v1", {.operands = {0}, .results = {t}})}, 2, 1);
       }},
      {"stablehlo.negate has 1 result, not 2",
       [](auto& b, uint32_t t) {
         return b.program({t}, t, {b.op("vhlo.negate_v1", {.operands = {0}, .results = {t, t}})}, 3,
                          1);
       }},
      {"expected a value that is defined above, found number 1",
       [&](auto& b, uint32_t t) { return b.program({t}, t, {negate(b, 1, t)}, 2, 1); }},
      {"expected a value that is defined above, found number 99",
       [&](auto& b, uint32_t t) { return b.program({t}, t, {negate(b, 99, t)}, 2, 1); }},
      {"expected a value that is defined above, found number 1",  // its own result, in its region
       [&](auto& b, uint32_t t) {
         const Bytes inner = b.region({}, 0, {b.op("vhlo.return_v1", {.operands = {1}})});
         return b.program(
             {t}, t, {b.op("vhlo.case_v1", {.operands = {0}, .results = {t}, .regions = {inner}})},
             2, 1);
       }},
      {"expected a value that is defined above, found number 0",  // not seen from isolated regions
       [&](auto& b, uint32_t t) {
         const Bytes inner = b.region({}, 0, {b.op("vhlo.return_v1", {.operands = {0}})});
         return b.program(
             {t}, t,
             {b.op("vhlo.case_v1",
                   {.operands = {0}, .results = {t}, .regions = {inner}, .isolated = true})},
             2, 1);
       }},
      {"this region defines more values than it says",
       [&](auto& b, uint32_t t) { return b.program({t}, t, {negate(b, 0, t)}, 1, 1); }},
      {"expected a region with 3 values, found 2",
       [&](auto& b, uint32_t t) { return b.program({t}, t, {negate(b, 0, t)}, 3, 1); }},
      {"values are more than this file can hold",
       [&](auto& b, uint32_t t) { return b.program({t}, t, {negate(b, 0, t)}, 1 << 30, 1); }},
      {"func.return must be the last operation of its region",
       [&](auto& b, uint32_t t) {
         return b.program({t}, t, {b.op("vhlo.return_v1", {.operands = {0}}), negate(b, 0, t)}, 2,
                          1);
       }},
      {"this region does not end with func.return",
       [&](auto& b, uint32_t t) {
         return b.artifact({b.function("main", {.arguments = {t}, .results = {t}},
                                       b.region({t}, 2, {negate(b, 0, t)}))});
       }},
      {"sdy.return does not end a region of this kind",
       [](auto& b, uint32_t t) {
         return b.artifact({b.function("main", {.arguments = {t}, .results = {t}},
                                       b.region({t}, 1, {b.op("sdy.return", {.operands = {0}})}))});
       }},
      {"the function @main has no body",
       [](auto& b, uint32_t t) {
         return b.artifact({b.function("main", {.arguments = {t}, .results = {t}}, varints({0}))});
       }},
      {"expected a region of one block, found 2",
       [](auto& b, uint32_t t) {
         return b.artifact(
             {b.function("main", {.arguments = {t}, .results = {t}}, varints({2, 1, 1}))});
       }},
      {"the function @main is defined twice",
       [&](auto& b, uint32_t t) {
         const Bytes body = b.region({t}, 1, {b.op("vhlo.return_v1", {.operands = {0}})});
         const Bytes main = b.function("main", {.arguments = {t}, .results = {t}}, body);
         return b.artifact({main, main});
       }},
      {"'function_type' of @main does not agree with the arguments of its body",
       [](auto& b, uint32_t t) {
         const Bytes body = b.region({t}, 1, {b.op("vhlo.return_v1", {.operands = {0}})});
         return b.artifact({b.function("main", {.results = {t}}, body)});
       }},
      {"the function @main returns 1 value, but its signature has 2",
       [](auto& b, uint32_t t) {
         const Bytes body = b.region({t}, 1, {b.op("vhlo.return_v1", {.operands = {0}})});
         return b.artifact({b.function("main", {.arguments = {t}, .results = {t, t}}, body)});
       }},
      {"vhlo.negate_v1 cannot stand at the top level of a module",
       [](auto& b, uint32_t t) { return b.artifact({b.op("vhlo.negate_v1", {.results = {t}})}); }},
      {"vhlo.func_v1 cannot stand inside a function",
       [](auto& b, uint32_t t) {
         const Bytes body = b.region({t}, 1, {b.op("vhlo.return_v1", {.operands = {0}})});
         return b.program({t}, t, {b.function("f", {.arguments = {t}, .results = {t}}, body)}, 1,
                          0);
       }},
      {"expected the properties of vhlo.iota_v1",
       [](auto& b, uint32_t t) {
         return b.program({}, t, {b.op("vhlo.iota_v1", {.results = {t}})}, 1, 0);
       }},
      {"expected the end of these properties, but 1 bytes are left",
       [](auto& b, uint32_t t) {
         const uint32_t dim = b.attribute("vhlo", varints({9, b.simple_type(14)}).svarint(0));
         return b.program({}, t, {b.op("vhlo.iota_v1", {.results = {t}, .properties = {dim, dim}})},
                          1, 0);
       }},
      {"'iota_dimension' of stablehlo.iota must be an integer, not a string",
       [](auto& b, uint32_t t) {
         const uint32_t text = b.vhlo_string("0");
         return b.program({}, t, {b.op("vhlo.iota_v1", {.results = {t}, .properties = {text}})}, 1,
                          0);
       }},
      {"expected a comparison direction, found 6",
       [](auto& b, uint32_t t) {
         const uint32_t i1 = b.tensor({}, b.simple_type(0));
         return b.program(
             {t}, i1,
             {b.op("vhlo.compare_v1", {.operands = {0, 0},
                                       .results = {i1},
                                       .properties = {b.vhlo({4, 0}), b.vhlo({3, 6})}})},
             2, 1);
       }},
      {"unknown attribute 77 of this dialect",
       [](auto& b, uint32_t t) {
         const uint32_t wrong = b.vhlo({77});
         return b.program({}, t, {b.op("vhlo.iota_v1", {.results = {t}, .properties = {wrong}})}, 1,
                          0);
       }},
      {"this location contains itself",
       [](auto& b, uint32_t t) {
         const uint32_t name = b.builtin_string("a");
         const uint32_t self = b.builtin({14, name, b.next_attribute()});
         return b.program(
             {t}, t, {b.op("vhlo.negate_v1", {.operands = {0}, .results = {t}, .location = self})},
             2, 1);
       }},
      {"the attribute 'x.y' is given twice",
       [](auto& b, uint32_t t) {
         const uint32_t name = b.builtin_string("x.y"), unit = b.builtin({7});
         const uint32_t twice = b.builtin({1, 2, name, unit, name, unit});
         return b.program(
             {t}, t,
             {b.op("vhlo.negate_v1", {.operands = {0}, .results = {t}, .attributes = twice})}, 2,
             1);
       }},
      {"this module has no function",
       [](auto& b, uint32_t) {
         const uint32_t mesh = b.attribute("sdy", varints({2, 0, 0}));
         return b.artifact({b.op("sdy.mesh", {.properties = {mesh, b.vhlo_string("m")}})});
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.message);
    ArtifactBuilder b;
    const uint32_t f32 = b.tensor({}, b.simple_type(kF32));
    expect_refused(c.make(b, f32), c.message);
  }
}

TEST(BytecodeWrong, ProgramsAreReadByTheirFirstBytes) {
  ArtifactBuilder b;
  const std::string bytes = negation(b);
  ASSERT_TRUE(is_bytecode(bytes));
  EXPECT_TRUE(read_module(bytes, "program.mlir").ok());
  auto modules = read_modules(bytes, "program.mlir");
  ASSERT_TRUE(modules.ok());
  EXPECT_EQ(modules->size(), 1u);
  EXPECT_TRUE(read_module("func.func @main() {\n  return\n}\n", "program.mlirbc").ok());
  const std::string more = bytes + "x\x01";  // a section without content
  expect_refused(more, "unknown section 120");
}

// -- The table of operations

// Notes which fields an operation's struct has; a structure's fields are the operation's own.
class FieldNames {
 public:
  std::set<std::string, std::less<>> names;

  template <typename F>
  void structure(std::string_view name, std::string_view, bool* present, syntax::Need, F&& fields) {
    if (present) *present = true;
    names.emplace(name);
    fields(*this);
  }
  void convolution(std::string_view, ConvolutionDimensionNumbers& dims) {
    syntax::describe_convolution(*this, dims);
  }
  template <typename... Rest>
  void note(std::string_view name, Rest&&...) {
    names.emplace(name == "handle" ? "channel_id" : name == "type" ? "channel_type" : name);
  }
#define ULLAGE_NOTE(method)                            \
  template <typename... Rest>                          \
  void method(std::string_view name, Rest&&... rest) { \
    note(name, rest...);                               \
  }
  ULLAGE_NOTE(dims)
  ULLAGE_NOTE(integer)
  ULLAGE_NOTE(boolean)
  ULLAGE_NOTE(flag)
  ULLAGE_NOTE(floating)
  ULLAGE_NOTE(string)
  ULLAGE_NOTE(symbol)
  ULLAGE_NOTE(symbols)
  ULLAGE_NOTE(keyword)
  ULLAGE_NOTE(keywords)
  ULLAGE_NOTE(bools)
  ULLAGE_NOTE(pairs)
  ULLAGE_NOTE(matrix)
  ULLAGE_NOTE(literal)
  ULLAGE_NOTE(layouts)
  ULLAGE_NOTE(structures)
  ULLAGE_NOTE(type)
  ULLAGE_NOTE(verbatim)
  ULLAGE_NOTE(sharding)
  ULLAGE_NOTE(config)
#undef ULLAGE_NOTE
};

std::set<std::string, std::less<>> fields_of(OpKind kind) {
  FieldNames archive;
  Attributes attributes = syntax::empty_attributes(kind);
  std::visit([&](auto& typed) { syntax::describe(archive, kind, typed); }, attributes);
  return archive.names;
}

TEST(BytecodeOps, PropertiesAreFieldsOfTheOperationInAlphabeticalOrder) {
  for (const std::string& row : syntax::bytecode_op_rows()) {
    const size_t dot = row.find('.');
    const syntax::BytecodeOp op = syntax::bytecode_op(row.substr(0, dot), row.substr(dot + 1));
    ASSERT_EQ(op.role, syntax::BytecodeOp::Role::operation) << row;
    EXPECT_TRUE(std::is_sorted(op.properties.begin(), op.properties.end())) << row;
    const auto fields = fields_of(op.kind);
    for (std::string_view property : op.properties) {
      const bool kept = property == "result_accuracy" || property == "layout";
      EXPECT_TRUE(kept || fields.contains(property)) << row << " has " << property;
    }
  }
}

// Every StableHLO operation can be read, and its newest row has all of its fields.
TEST(BytecodeOps, EveryOperationHasARow) {
  const std::set<std::string_view> kStructures = {"dot_dimension_numbers", "dimension_numbers",
                                                  "scatter_dimension_numbers", "algorithm",
                                                  "channel_handle"};
  for (int i = 0; i < kOpKindCount; ++i) {
    const auto kind = static_cast<OpKind>(i);
    std::string_view mnemonic = info(kind).mnemonic;
    if (!mnemonic.starts_with("stablehlo.") || kind == OpKind::return_) continue;
    const std::string bare(mnemonic.substr(10));
    syntax::BytecodeOp newest;
    for (const char* version : {"_v1", "_v2"}) {
      const syntax::BytecodeOp op = syntax::bytecode_op("vhlo", bare + version);
      if (op.role == syntax::BytecodeOp::Role::operation) newest = op;
    }
    ASSERT_EQ(newest.role, syntax::BytecodeOp::Role::operation) << mnemonic;
    EXPECT_EQ(newest.kind, kind);
    for (const std::string& field : fields_of(kind)) {
      // Not every collective has a channel, and dynamic_conv's padding is an operand.
      const bool absent = kStructures.contains(field) || field.starts_with("channel_") ||
                          (kind == OpKind::dynamic_conv && field == "padding");
      const bool there = std::find(newest.properties.begin(), newest.properties.end(), field) !=
                         newest.properties.end();
      EXPECT_TRUE(absent || there) << newest.name << " lacks " << field;
    }
  }
}

}  // namespace
}  // namespace ullage
