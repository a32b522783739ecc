// Real programs exported from JAX, filled by recipe and judged by the samples and sums of their
// case.json. By default the quick ones; ULLAGE_LONG_TESTS=1 adds a training step of about 60 GFLOP,
// ULLAGE_PROGRAMS=a,b picks programs.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "interp/interpret.h"
#include "ops/verify.h"
#include "shared_data.h"
#include "syntax/reader.h"

namespace ullage {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path programs_folder() {
  return shared_folder() / "programs";
}

uint64_t hash(uint64_t seed, uint64_t i) {
  uint64_t x = i + 1 + seed * 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// One value of the recipe; floats are rounded to f32 as the recipe says.
double recipe(const json& spec, uint64_t i) {
  std::string kind = spec["fill"];
  auto number = [&](const char* key) { return static_cast<float>(spec.value(key, 0.0)); };
  if (kind == "const")
    return spec["value"].is_boolean() ? spec["value"].get<bool>() : spec["value"].get<double>();
  if (kind == "values")
    return spec["values"][i].is_boolean() ? spec["values"][i].get<bool>()
                                          : spec["values"][i].get<double>();
  if (kind == "iota")
    return spec.value("start", 0.0) + static_cast<double>(i) * spec.value("delta", 1.0);
  uint64_t h = hash(spec["seed"], i);
  if (kind == "uniform") {
    float u = static_cast<float>(h >> 40) * 0x1p-24f, scaled = u * number("span");
    return scaled + number("lo");
  }
  if (kind == "normal") {
    int64_t s = static_cast<int64_t>((h & 0xFFFF) + ((h >> 16) & 0xFFFF) + ((h >> 32) & 0xFFFF) +
                                     (h >> 48)) -
                131070;
    float v = static_cast<float>(s) * number("mul");
    return v + number("mean");
  }
  if (kind == "bool") return (h >> 40) < spec["below"].get<uint64_t>();
  int64_t lo = spec["lo"], hi = spec["hi"];
  return static_cast<double>(lo + static_cast<int64_t>(h % static_cast<uint64_t>(hi - lo)));
}

// Converts doubles to the element type through the interpreter's own convert, which the conformance
// data tests.
Tensor filled(const json& spec) {
  DType dtype = *dtype_from_name(spec["dtype"].get<std::string>());
  std::vector<int64_t> shape = spec["shape"];
  Tensor wide(Type::tensor(DType::f64, shape));
  auto* to = reinterpret_cast<double*>(wide.mutable_data());
  for (int64_t i = 0; i < wide.num_elements(); ++i) to[i] = recipe(spec, static_cast<uint64_t>(i));
  Function scratch("fill");
  Value* operands[] = {scratch.add_argument(wide.type())};
  Type types[] = {Type::tensor(dtype, shape)};
  Op* convert = scratch.create(scratch.body(), OpKind::convert, operands, types);
  return (*evaluate(*convert, {&wide, 1}))[0];
}

void judge(const std::string& name, size_t index, const json& expected, const Tensor& actual) {
  SCOPED_TRACE(name + " output " + std::to_string(index) + " " + expected.value("name", ""));
  ASSERT_EQ(actual.shape(), expected["shape"].get<std::vector<int64_t>>());
  if (is_complex(actual.dtype())) return;
  double sum = 0, sumsq = 0;
  for (int64_t i = 0; i < actual.num_elements(); ++i) {
    double x = actual.real_at(i);
    sum += x;
    sumsq += x * x;
  }
  bool exact = expected.value("exact", false);
  double tolerance = exact ? 0 : expected["tol_abs"].get<double>();
  const json& sample = expected["sample"];
  int64_t stride = sample["stride"];
  for (size_t j = 0; j < sample["values"].size(); ++j) {
    const json& value = sample["values"][j];
    double want = value.is_boolean()  ? value.get<bool>()
                  : value.is_number() ? value.get<double>()
                                      : NAN;
    if (std::isnan(want)) continue;
    ASSERT_NEAR(actual.real_at(static_cast<int64_t>(j) * stride), want, tolerance)
        << "sample " << j;
  }
  if (expected["sum"].is_number()) {
    EXPECT_NEAR(sum, expected["sum"].get<double>(), exact ? 0 : expected["tol_sum"].get<double>());
  }
  if (!exact && expected["sumsq"].is_number()) {
    EXPECT_NEAR(sumsq, expected["sumsq"].get<double>(), expected["tol_sumsq"].get<double>());
  }
}

void run_case(const std::string& name) {
  fs::path folder = programs_folder() / name;
  std::ifstream file(folder / "case.json");
  ASSERT_TRUE(file.good()) << name;
  json spec = json::parse(file);
  auto module = read_file((folder / "program.mlir").string());
  ASSERT_TRUE(module.ok()) << to_string(module.diagnostics());
  Status status = verify(**module);
  ASSERT_TRUE(status.ok()) << to_string(status.diagnostics());
  std::vector<Tensor> inputs;
  for (const json& input : spec["inputs"]) inputs.push_back(filled(input));
  auto begin = std::chrono::steady_clock::now();
  auto results = interpret(**module, "main", std::move(inputs));
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(results.ok()) << to_string(results.diagnostics());
  std::printf("%s: interpreted in %.2f s\n", name.c_str(), seconds.count());
  ASSERT_EQ(results->size(), spec["outputs"].size());
  for (size_t i = 0; i < results->size(); ++i) judge(name, i, spec["outputs"][i], (*results)[i]);
}

TEST(Programs, MatchTheirReferences) {
  if (!fs::exists(programs_folder())) GTEST_SKIP() << "no shared programs";
  std::string names = "pain_rank10_contraction,pain_captured_table";
  if (long_tests()) names += ",seed_a_CI_remat_dropout_rbg,seed_b_onestep_bf16_b64";
  if (const char* given = std::getenv("ULLAGE_PROGRAMS")) names = given;
  std::stringstream list(names);
  for (std::string name; std::getline(list, name, ',');) run_case(name);
}

}  // namespace
}  // namespace ullage
