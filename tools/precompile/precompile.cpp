// Writes the table of kernels that are compiled when Ullage is built (codegen/cpu/precompiled.h):
//
//   ullage_precompile FOLDER
//
// What is in it: the operations that people try one at a time, on dense arrays; a kernel for such
// an array fits every shape of it.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "codegen/cpu/compile.h"
#include "codegen/cpu/precompiled.h"
#include "kernels/build.h"
#include "normalize/normalize.h"
#include "ops/verify.h"
#include "syntax/reader.h"

using namespace ullage;

namespace {

constexpr const char* kFloats[] = {"f32", "f64"};
constexpr const char* kIntegers[] = {"i32", "ui32"};
constexpr const char* kUnaryOfFloats[] = {"abs",
                                          "cbrt",
                                          "ceil",
                                          "cosine",
                                          "exponential",
                                          "exponential_minus_one",
                                          "floor",
                                          "log",
                                          "log_plus_one",
                                          "negate",
                                          "round_nearest_afz",
                                          "round_nearest_even",
                                          "rsqrt",
                                          "sign",
                                          "sine",
                                          "sqrt",
                                          "tan",
                                          "tanh"};
constexpr const char* kUnaryOfIntegers[] = {"negate", "not", "popcnt"};
constexpr const char* kUnaryOfSigned[] = {"abs", "sign"};
constexpr const char* kBinaryOfNumbers[] = {"add",     "subtract", "multiply",  "divide",
                                            "maximum", "minimum",  "remainder", "power"};
constexpr const char* kBinaryOfBits[] = {"and", "or", "xor"};
constexpr const char* kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr const char* kTypes[] = {"f32", "f64", "i32", "ui32", "i1"};

class Programs {
 public:
  // A function of these arguments, of which the body makes %r.
  void add(std::string arguments, std::string body, std::string result) {
    texts_.push_back(fmt::format("func.func public @main({}) -> {} {{\n{}\n  return %r : {}\n}}\n",
                                 arguments, result, body, result));
  }

  void unary(std::string_view op, std::string_view type) {
    for (const std::string& t : {array(type), scalar(type)})
      add(fmt::format("%a: {}", t), fmt::format("  %r = stablehlo.{} %a : {}", op, t), t);
  }

  // Of two arrays, of an array and a scalar, and of two scalars. `how`: what stands behind the
  // operands but for the types.
  void binary(std::string_view op, std::string_view type, std::string_view result,
              std::string_view how = "") {
    for (int form = 0; form < 4; ++form) {
      bool spread_a = form == 2, spread_b = form == 1;
      std::string t = form == 3 ? scalar(type) : array(type), e = scalar(type);
      std::string r = form == 3 ? scalar(result) : array(result);
      std::string body;
      auto operand = [&](const char* name, bool spread) {
        if (!spread) return fmt::format("%{}", name);
        body += fmt::format("  %{0}s = stablehlo.broadcast_in_dim %{0}, dims = [] : ({1}) -> {2}\n",
                            name, e, t);
        return fmt::format("%{}s", name);
      };
      std::string a = operand("a", spread_a), b = operand("b", spread_b);
      std::string types = result == type ? t : fmt::format("({}, {}) -> {}", t, t, r);
      body += fmt::format("  %r = stablehlo.{} {}, {}{} : {}", op, a, b, how, types);
      add(fmt::format("%a: {}, %b: {}", spread_a ? e : t, spread_b ? e : t), body, r);
    }
  }

  static std::string array(std::string_view type) { return fmt::format("tensor<4096x{}>", type); }
  static std::string scalar(std::string_view type) { return fmt::format("tensor<{}>", type); }

  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
};

Programs programs() {
  Programs out;
  for (const char* type : kFloats) {
    for (const char* op : kUnaryOfFloats) out.unary(op, type);
    if (std::string_view(type) == "f32") out.unary("logistic", type);  // of f64 it is a call
    for (const char* op : kBinaryOfNumbers) out.binary(op, type, type);
    for (const char* direction : kDirections)
      out.binary(fmt::format("compare {},", direction), type, "i1", ", FLOAT");
  }
  for (const char* type : kIntegers) {
    for (const char* op : kUnaryOfIntegers) out.unary(op, type);
    for (const char* op : kBinaryOfNumbers)
      if (std::string_view(op) != "power") out.binary(op, type, type);
    for (const char* op : kBinaryOfBits) out.binary(op, type, type);
    for (const char* direction : kDirections)
      out.binary(fmt::format("compare {},", direction), type, "i1",
                 std::string_view(type) == "i32" ? ", SIGNED" : ", UNSIGNED");
  }
  for (const char* op : kUnaryOfSigned) out.unary(op, "i32");
  out.unary("not", "i1");
  for (const char* op : kBinaryOfBits) out.binary(op, "i1", "i1");
  for (const char* from : kTypes) {
    std::string t = Programs::array(from), e = Programs::scalar(from);
    out.add(fmt::format("%a: {}", e),
            fmt::format("  %r = stablehlo.broadcast_in_dim %a, dims = [] : ({}) -> {}", e, t), t);
    out.add(fmt::format("%p: {}, %a: {}, %b: {}", Programs::array("i1"), t, t),
            fmt::format("  %r = stablehlo.select %p, %a, %b : {}, {}", Programs::array("i1"), t),
            t);
    for (const char* to : kTypes) {
      if (std::string_view(from) == to) continue;
      std::string r = Programs::array(to);
      out.add(fmt::format("%a: {}", t),
              fmt::format("  %r = stablehlo.convert %a : ({}) -> {}", t, r), r);
    }
    if (std::string_view(from) == "i1") continue;
    out.add("", fmt::format("  %r = stablehlo.iota dim = 0 : {}", t), t);
    for (const char* value : {"0", "1"})
      out.add("",
              fmt::format("  %r = stablehlo.constant dense<{}{}> : {}", value,
                          from[0] == 'f' ? ".0" : "", t),
              t);
    for (const char* op : {"add", "maximum", "minimum"})
      out.add(fmt::format("%a: {}, %z: {}", t, e),
              fmt::format("  %r = stablehlo.reduce(%a init: %z) applies stablehlo.{} across "
                          "dimensions = [0] : ({}, {}) -> {}",
                          op, t, e, e),
              e);
  }
  return out;
}

int complain(const std::vector<Diagnostic>& diagnostics, const std::string& program) {
  std::fputs(to_string(diagnostics).c_str(), stderr);
  std::fputs(program.c_str(), stderr);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: ullage_precompile FOLDER\n", stderr);
    return 2;
  }
  const Target target = cpu_target(1);
  std::vector<std::unique_ptr<Module>> modules;
  std::vector<std::unique_ptr<KernelGraph>> graphs;
  std::vector<const KernelGraph*> all;
  const Programs made = programs();
  for (const std::string& text : made.texts()) {
    Result<std::unique_ptr<Module>> module = read_text(text, "precompile.mlir");
    if (!module) return complain(module.diagnostics(), text);
    if (Status status = verify(**module); !status) return complain(status.diagnostics(), text);
    if (Status status = normalize(**module); !status) return complain(status.diagnostics(), text);
    Result<KernelGraph> graph = build_kernels(**module, *(*module)->entry(), target);
    if (!graph) return complain(graph.diagnostics(), text);
    modules.push_back(std::move(*module));
    graphs.push_back(std::make_unique<KernelGraph>(std::move(*graph)));
    all.push_back(graphs.back().get());
  }
  Status status = write_precompiled(all, argv[1]);
  return status ? 0 : complain(status.diagnostics(), "");
}
