#include "driver/case_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>

namespace ullage {
namespace {

std::string case_with(const std::string& input, const std::string& output = "") {
  return fmt::format(R"({{"name": "test", "inputs": [{}], "outputs": [{}]}})", input, output);
}

std::string problem(const std::string& text) {
  Result<CaseFile> parsed = parse_case(text, "case.json");
  return parsed.ok() ? "accepted" : to_string(parsed.diagnostics());
}

uint32_t crc_of(const std::vector<std::byte>& bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

struct Recipe {
  const char* json;  // without shape
  const char* shape;
  uint32_t crc32;                 // of all bytes
  std::vector<uint64_t> leading;  // bit patterns of the first elements
};

// The checksums and bit patterns were computed with the recipe's Python reference.
const Recipe kRecipes[] = {
    {R"("dtype":"f32","fill":"normal","mul":2.642899801230669e-05,"seed":7)",
     "[5000]",
     0xbc3ee095,
     {0x3fc2c115, 0x3e4a9f75, 0x3fba790d, 0x3f98ebd0}},
    {R"("dtype":"f64","fill":"normal","mul":2.642899801230669e-05,"seed":7)",
     "[5000]",
     0x504b1e4f,
     {0x3ff85822a0000000, 0x3fc953eea0000000}},
    {R"("dtype":"bf16","fill":"normal","mul":2.642899801230669e-05,"seed":7)",
     "[5000]",
     0xa7395da4,
     {0x3fc3, 0x3e4b, 0x3fba, 0x3f99}},
    {R"("dtype":"f16","fill":"normal","mul":2.642899801230669e-05,"seed":7)",
     "[5000]",
     0x452153d4,
     {0x3e16, 0x3255, 0x3dd4, 0x3cc7}},
    {R"("dtype":"c64","fill":"normal","mul":2.642899801230669e-05,"seed":7)",
     "[5000]",
     0xce99b4fd,
     {0x3e4a9f753fc2c115, 0x3f98ebd03fba790d}},
    {R"("dtype":"i32","fill":"normal","mul":3.0,"seed":7)",
     "[5000]",
     0xae981f38,
     {0x2a2a6, 0x57bd, 0x285f6}},
    {R"("dtype":"f32","fill":"normal","mul":2.642899801230669e-05,"mean":1.5,"seed":7)",
     "[5000]",
     0xde1de1ab,
     {0x4041608a, 0x3fd953ef}},
    {R"("dtype":"f32","fill":"uniform","lo":-0.25,"span":0.699999988079071,"seed":12345678901)",
     "[50,100]",
     0x55ef9ed5,
     {0x3e95fe86, 0xbd20026c, 0xbe73de4c, 0x3e3bf3dc}},
    {R"("dtype":"bf16","fill":"uniform","lo":-0.25,"span":0.699999988079071,"seed":12345678901)",
     "[50,100]",
     0xb4fa2d0e,
     {0x3e96, 0xbd20}},
    {R"("dtype":"f16","fill":"uniform","lo":-0.25,"span":0.699999988079071,"seed":12345678901)",
     "[50,100]",
     0x39ee8d49,
     {0x34b0, 0xa900}},
    {R"("dtype":"c64","fill":"uniform","lo":-0.25,"span":0.699999988079071,"seed":12345678901)",
     "[50,100]",
     0x390c701f,
     {0xbd20026c3e95fe86}},
    {R"("dtype":"i32","fill":"int","lo":-5,"hi":12,"seed":3)",
     "[5000]",
     0x9adc90e1,
     {0xfffffffb, 4, 2, 0xfffffffe}},
    {R"("dtype":"i8","fill":"int","lo":-128,"hi":128,"seed":3)",
     "[5000]",
     0xc35b4357,
     {0xde, 0xaf, 0x81, 0xdf}},
    {R"("dtype":"ui32","fill":"int","lo":0,"hi":4294967296,"seed":3)",
     "[5000]",
     0x279076f0,
     {0xfb32555e}},
    {R"("dtype":"i64","fill":"int","lo":-3,"hi":1000000007,"seed":3)",
     "[5000]",
     0xf5429bb0,
     {0x9ce1015, 0xfd25cd8}},
    {R"("dtype":"f32","fill":"int","lo":0,"hi":30522,"seed":3)",
     "[5000]",
     0xccc181ad,
     {0x46afc800, 0x463d2400}},
    {R"("dtype":"i1","fill":"bool","below":5000000,"seed":9)", "[5000]", 0xe2631444, {1, 1, 0, 1}},
    {R"("dtype":"i1","fill":"int","lo":0,"hi":3,"seed":9)", "[5000]", 0xa4977ab5, {0, 0, 1, 1}},
    {R"("dtype":"i32","fill":"iota","start":-3,"delta":7)",
     "[5000]",
     0xee34931c,
     {0xfffffffd, 4, 11}},
    {R"("dtype":"f32","fill":"iota","start":-3,"delta":7)",
     "[5000]",
     0x0f96ed1a,
     {0xc0400000, 0x40800000}},
    {R"("dtype":"c64","fill":"iota")",
     "[5000]",
     0x257c2677,
     {0x3f80000000000000, 0x4040000040000000}},
    {R"("dtype":"i32","fill":"const","value":10)", "[5]", 0xb8399552, {10, 10}},
    {R"("dtype":"bf16","fill":"const","value":0.1)", "[5]", 0xe3cd88c1, {0x3dcd}},
    {R"("dtype":"c64","fill":"const","value":0.1)", "[5]", 0x0c50b9a3, {0x3dcccccd3dcccccd}},
    {R"("dtype":"ui32","fill":"values","values":[[0,7],[4294967295,2]])",
     "[2,2]",
     0xa8f74ac7,
     {0, 7, 0xffffffff, 2}},
};

TEST(CaseFile, RecipesGiveTheBitsOfTheReference) {
  for (const Recipe& recipe : kRecipes) {
    SCOPED_TRACE(recipe.json);
    Result<CaseFile> parsed = parse_case(
        case_with(fmt::format(R"({{"shape":{},{}}})", recipe.shape, recipe.json)), "case.json");
    ASSERT_TRUE(parsed.ok()) << to_string(parsed.diagnostics());
    const InputSpec& spec = parsed->inputs.at(0);
    std::vector<std::byte> bytes(static_cast<size_t>(spec.type.bytes()));
    fill(spec, bytes);
    size_t size = static_cast<size_t>(storage_bytes(spec.type.dtype));
    for (size_t i = 0; i < recipe.leading.size(); ++i) {
      uint64_t bits = 0;
      std::memcpy(&bits, bytes.data() + i * size, size);
      EXPECT_EQ(bits, recipe.leading[i]) << i;
    }
    EXPECT_EQ(crc_of(bytes), recipe.crc32);
  }
}

TEST(CaseFile, PiecesGiveTheSameBits) {
  for (const Recipe& recipe : kRecipes) {
    SCOPED_TRACE(recipe.json);
    Result<CaseFile> parsed = parse_case(
        case_with(fmt::format(R"({{"shape":{},{}}})", recipe.shape, recipe.json)), "case.json");
    ASSERT_TRUE(parsed.ok());
    const InputSpec& spec = parsed->inputs.at(0);
    size_t size = static_cast<size_t>(storage_bytes(spec.type.dtype));
    std::vector<std::byte> bytes(static_cast<size_t>(spec.type.bytes()));
    size_t count = bytes.size() / size, step = count / 3 + 1;
    for (size_t first = 0; first < count; first += step)
      fill_range(spec, static_cast<int64_t>(first),
                 std::span(bytes).subspan(first * size, std::min(step, count - first) * size));
    EXPECT_EQ(crc_of(bytes), recipe.crc32);
  }
}

TEST(CaseFile, ReadsNamesAliasesAndDevices) {
  Result<CaseFile> parsed = parse_case(R"({"name": "n", "devices": 8, "inputs": [
      {"name": "a", "shape": [2], "dtype": "f32", "fill": "const", "value": 1, "aliases_output": 3},
      {"shape": [], "dtype": "i64", "fill": "const", "value": -2, "donor": true},
      {"shape": [], "dtype": "ui64", "fill": "const", "value": 18446744073709551615}], "outputs": [
      {"name": "o", "shape": [4], "dtype": "f32"}]})",
                                       "case.json");
  ASSERT_TRUE(parsed.ok()) << to_string(parsed.diagnostics());
  EXPECT_EQ(parsed->devices, 8);
  EXPECT_EQ(parsed->inputs[0].name, "a");
  EXPECT_EQ(parsed->inputs[0].aliases_output, 3);
  EXPECT_TRUE(parsed->inputs[0].donated);
  EXPECT_FALSE(parsed->inputs[1].aliases_output);
  EXPECT_TRUE(parsed->inputs[1].donated);
  EXPECT_FALSE(parsed->inputs[2].donated);
  EXPECT_EQ(parsed->inputs[2].bytes, std::vector<std::byte>(8, std::byte{0xff}));
  EXPECT_FALSE(parsed->outputs[0].has_values);
}

TEST(CaseFile, MistakesNameTheirPlace) {
  EXPECT_EQ(problem("[1, 2"),
            "error: 'case.json' is not valid JSON: syntax error while parsing array - unexpected "
            "end of input; expected ']'\n");
  EXPECT_EQ(problem("[]"), "error: 'case.json' is not an object\n");
  EXPECT_EQ(problem(R"({"inputs": []})"), "error: 'case.json' has no field 'outputs'\n");
  EXPECT_EQ(problem(R"({"inputs": 3, "outputs": []})"),
            "error: 'case.json' needs a list as 'inputs'\n");
  EXPECT_EQ(problem(case_with("4")), "error: 'case.json': inputs[0] is not an object\n");
  EXPECT_EQ(problem(case_with(R"({"shape":[2],"dtype":"f33","fill":"const","value":1})")),
            "error: 'case.json': inputs[0] has the unknown element type 'f33'\n");
  EXPECT_EQ(problem(case_with(R"({"shape":[2],"dtype":"f8E5M2","fill":"const","value":1})")),
            "error: 'case.json': inputs[0] is of type f8E5M2, for which there is no recipe\n");
  EXPECT_EQ(problem(case_with(R"({"shape":[-2],"dtype":"f32","fill":"const","value":1})")),
            "error: 'case.json': inputs[0] has an impossible shape\n");
  EXPECT_EQ(
      problem(case_with(
          R"({"shape":[100000000000000,100000000000000],"dtype":"f32","fill":"const","value":1})")),
      "error: 'case.json': inputs[0] has an impossible shape\n");
  EXPECT_EQ(problem(case_with(R"({"shape":[2],"dtype":"f32","fill":"noise"})")),
            "error: 'case.json': inputs[0] has the unknown recipe 'noise'\n");
  EXPECT_EQ(problem(case_with(R"({"shape":[2],"dtype":"f32","fill":"normal","mul":1})")),
            "error: 'case.json': inputs[0] has no field 'seed'\n");
  EXPECT_EQ(
      problem(case_with(R"({"shape":[2],"dtype":"i32","fill":"int","seed":1,"lo":3,"hi":3})")),
      "error: 'case.json': inputs[0] needs 'hi' above 'lo'\n");
  EXPECT_EQ(
      problem(case_with(R"({"shape":[2],"dtype":"i32","fill":"values","values":[1]})")),
      "error: 'case.json': inputs[0] has not as many 'values' as tensor<2xi32> has elements\n");
  EXPECT_EQ(problem(case_with(R"({"shape":[2],"dtype":"i32","fill":"values","values":[1,"x"]})")),
            "error: 'case.json': inputs[0] needs numbers as 'values'\n");
  EXPECT_EQ(
      problem(case_with("", R"({"shape":[4],"dtype":"f32","sample":{"stride":0,"values":[]}})")),
      "error: 'case.json': outputs[0].sample needs a 'stride' from 1 up\n");
  EXPECT_EQ(problem(case_with(
                "", R"({"shape":[4],"dtype":"f32","sample":{"stride":2,"values":[1,2,3]}})")),
            "error: 'case.json': outputs[0].sample goes past the end of the output\n");
}

TEST(CaseFile, DeepNestingIsRefused) {
  std::string deep = std::string(100000, '[') + "1" + std::string(100000, ']');
  EXPECT_EQ(
      problem(case_with(R"({"shape":[1],"dtype":"i32","fill":"values","values":)" + deep + "}")),
      "error: 'case.json': inputs[0] needs numbers as 'values'\n");
}

}  // namespace
}  // namespace ullage
