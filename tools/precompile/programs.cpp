#include "programs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace ullage {

namespace {

using Shape = std::vector<int>;
using std::string_view;

constexpr const char* kFloats[] = {"f32", "f64", "bf16", "f16"};
constexpr const char* kIntegers[] = {"i32", "ui32", "i64", "i8", "ui8"};
constexpr const char* kTypes[] = {"f32",  "f64", "bf16", "f16", "i32",
                                  "ui32", "i64", "i8",   "ui8", "i1"};
constexpr const char* kUnaryOfFloats[] = {"abs",
                                          "cbrt",
                                          "ceil",
                                          "cosine",
                                          "exponential",
                                          "exponential_minus_one",
                                          "floor",
                                          "log",
                                          "log_plus_one",
                                          "logistic",
                                          "negate",
                                          "round_nearest_afz",
                                          "round_nearest_even",
                                          "rsqrt",
                                          "sign",
                                          "sine",
                                          "sqrt",
                                          "tan",
                                          "tanh"};
constexpr const char* kUnaryOfIntegers[] = {"negate", "not", "popcnt", "count_leading_zeros"};
constexpr const char* kUnaryOfSigned[] = {"abs", "sign"};
constexpr const char* kArithmetic[] = {"add",     "subtract", "multiply", "divide",
                                       "maximum", "minimum",  "remainder"};
constexpr const char* kBits[] = {"and", "or", "xor"};
constexpr const char* kShifts[] = {"shift_left", "shift_right_arithmetic", "shift_right_logical"};
constexpr const char* kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr const char* kCombiners[] = {"add", "multiply", "maximum", "minimum"};

string_view comparison(string_view type) {
  return type[0] == 'f' || type[0] == 'b' ? "FLOAT"
         : type[0] == 'u' || type == "i1" ? "UNSIGNED"
                                          : "SIGNED";
}

// Any value that is not special; code takes others in its place.
string_view one(string_view type) {
  return type == "i1" ? "true" : comparison(type) == "FLOAT" ? "1.0" : "1";
}

std::string tensor(const Shape& shape, string_view type) {
  return shape.empty() ? fmt::format("tensor<{}>", type)
                       : fmt::format("tensor<{}x{}>", fmt::join(shape, "x"), type);
}

class Programs {
 public:
  // Of typed arguments %a, %b, ...; the last line of the body makes %r.
  void add(const std::vector<std::string>& arguments, const std::string& body, string_view result) {
    std::string list;
    for (size_t i = 0; i < arguments.size(); ++i)
      list += fmt::format("{}%{}: {}", i ? ", " : "", static_cast<char>('a' + i), arguments[i]);
    texts_.push_back(fmt::format("func.func public @main({}) -> {} {{\n{}\n  return %r : {}\n}}\n",
                                 list, result, body, result));
  }

  // One operation on all of the arguments. `attributes`: what stands between operands and types.
  void operation(string_view op, const std::vector<std::string>& arguments, string_view result,
                 string_view attributes = "") {
    std::string operands;
    for (size_t i = 0; i < arguments.size(); ++i)
      operands += fmt::format("{}%{}", i ? ", " : "", static_cast<char>('a' + i));
    add(arguments,
        fmt::format("  %r = stablehlo.{} {}{} : ({}) -> {}", op, operands, attributes,
                    fmt::join(arguments, ", "), result),
        result);
  }

  void unary(string_view op, string_view type, string_view result = "") {
    for (const Shape& shape : {kArray, Shape{}})
      operation(op, {tensor(shape, type)}, tensor(shape, result.empty() ? type : result));
  }

  // Of two arrays, of an array and a scalar, and of two scalars.
  void binary(string_view op, string_view type, string_view result = "",
              string_view attributes = "") {
    if (result.empty()) result = type;
    for (const Shape& shape : {kArray, Shape{}})
      operation(op, {tensor(shape, type), tensor(shape, type)}, tensor(shape, result), attributes);
    spread(op, type, result, attributes, kArray, {}, "");
    with_constant(op, type, result, attributes);
  }
  void with_constant(string_view op, string_view type, string_view result, string_view attributes) {
    std::string a = tensor(kArray, type), r = tensor(kArray, result);
    for (bool left : {false, true})
      add({a},
          fmt::format("  %c = stablehlo.constant dense<{}> : {}\n"
                      "  %r = stablehlo.{} {}{} : ({}, {}) -> {}",
                      one(type), a, op, left ? "%c, %a" : "%a, %c", attributes, a, a, r),
          r);
  }
  void power(string_view type, string_view exponent) {
    const std::string t = tensor(kArray, type);
    add({t},
        fmt::format("  %c = stablehlo.constant dense<{0}> : {1}\n"
                    "  %r = stablehlo.power %a, %c : {1}",
                    exponent, t),
        t);
  }
  // Of a matrix and a row or a column.
  void with_vector(string_view op, string_view type) {
    spread(op, type, type, "", {300, 500}, {500}, "1");
    spread(op, type, type, "", {300, 500}, {300}, "0");
  }

  std::vector<std::string> take() { return std::move(texts_); }

  static inline const Shape kArray = {4096};

 private:
  // Of an array and what is spread over it, on either side.
  void spread(string_view op, string_view type, string_view result, string_view attributes,
              const Shape& shape, const Shape& small, string_view dims) {
    std::string whole = tensor(shape, type), part = tensor(small, type),
                out = tensor(shape, result);
    for (bool left : {false, true}) {
      std::string body =
          fmt::format("  %s = stablehlo.broadcast_in_dim %{}, dims = [{}] : ({}) -> {}\n",
                      left ? 'a' : 'b', dims, part, whole);
      body += fmt::format("  %r = stablehlo.{} {}{} : ({}, {}) -> {}", op,
                          left ? "%s, %b" : "%a, %s", attributes, whole, whole, out);
      add(left ? std::vector{part, whole} : std::vector{whole, part}, body, out);
    }
  }

  std::vector<std::string> texts_;
};

void elementwise(Programs& out) {
  for (const char* type : kFloats) {
    for (const char* op : kUnaryOfFloats)
      if (string_view(op) != "logistic" || string_view(type) != "f64")
        out.unary(op, type);  // a call
    for (const char* op : kArithmetic) {
      out.binary(op, type);
      out.with_vector(op, type);
    }
    for (const char* op : {"power", "atan2"}) out.binary(op, type);
    for (const char* exponent : {"0.5", "1.5", "2.0", "2.5", "3.0", "4.0", "-0.5", "-1.0", "-2.0"})
      out.power(type, exponent);  // code for a constant is faster
    out.unary("is_finite", type, "i1");
    out.operation("clamp", {tensor({}, type), tensor(Programs::kArray, type), tensor({}, type)},
                  tensor(Programs::kArray, type));
  }
  for (const char* type : kIntegers) {
    for (const char* op : kUnaryOfIntegers) out.unary(op, type);
    if (type[0] != 'u')
      for (const char* op : kUnaryOfSigned) out.unary(op, type);
    for (const char* op : kArithmetic) out.binary(op, type);
    for (const char* op : kBits) out.binary(op, type);
    for (const char* op : kShifts) out.binary(op, type);
    out.operation("clamp", {tensor({}, type), tensor(Programs::kArray, type), tensor({}, type)},
                  tensor(Programs::kArray, type));
  }
  out.unary("not", "i1");
  for (const char* op : kBits) out.binary(op, "i1");
  for (const char* type : kTypes) {
    const std::string t = tensor(Programs::kArray, type), p = tensor(Programs::kArray, "i1");
    for (const char* direction : kDirections)
      out.binary(fmt::format("compare {},", direction), type, "i1",
                 fmt::format(", {}", comparison(type)));
    out.add({p, t, t}, fmt::format("  %r = stablehlo.select %a, %b, %c : {}, {}", p, t), t);
    for (const char* to : kTypes)
      if (string_view(type) != to) out.operation("convert", {t}, tensor(Programs::kArray, to));
  }
  for (auto [from, to] :
       {std::pair{"f32", "ui32"}, {"f32", "i32"}, {"ui32", "f32"}, {"i32", "f32"}})
    out.operation("bitcast_convert", {tensor(Programs::kArray, from)},
                  tensor(Programs::kArray, to));
  const std::string real = tensor(Programs::kArray, "f32"),
                    complex = tensor(Programs::kArray, "complex<f32>");
  out.operation("complex", {real, real}, complex);
  for (const char* op : {"real", "imag", "abs"}) out.operation(op, {complex}, real);
  for (const char* op : {"negate", "exponential"}) out.operation(op, {complex}, complex);
  for (const char* op : {"add", "subtract", "multiply", "divide"})
    out.operation(op, {complex, complex}, complex);
  for (const char* format : {"e5m10", "e8m7"})
    out.operation("reduce_precision", {real}, real, fmt::format(", format = {}", format));
}

// Moves without arithmetic.
void movement(Programs& out, string_view type) {
  auto t = [&](const Shape& shape) { return tensor(shape, type); };
  out.operation("broadcast_in_dim", {t({})}, t(Programs::kArray), ", dims = []");
  out.operation("broadcast_in_dim", {t({500})}, t({300, 500}), ", dims = [1]");
  out.operation("broadcast_in_dim", {t({300})}, t({300, 500}), ", dims = [0]");
  for (const Shape& s : {Shape{300, 500}, Shape{5, 6}, Shape{5, 500}, Shape{500, 5}, Shape{2, 3},
                         Shape{3, 2}, Shape{2, 500}, Shape{500, 2}})
    out.operation("transpose", {t(s)}, t({s[1], s[0]}), ", dims = [1, 0]");
  out.operation("transpose", {t({8, 300, 500})}, t({8, 500, 300}), ", dims = [0, 2, 1]");
  out.operation("transpose", {t({8, 12, 64, 64})}, t({8, 64, 12, 64}), ", dims = [0, 2, 1, 3]");
  out.operation("transpose", {t({8, 64, 12, 64})}, t({64, 8, 12, 64}), ", dims = [1, 0, 2, 3]");
  out.operation("reverse", {t({500})}, t({500}), ", dims = [0]");
  for (const char* dims : {"0", "1", "0, 1"})
    out.operation("reverse", {t({300, 500})}, t({300, 500}), fmt::format(", dims = [{}]", dims));
  out.operation("slice", {t({300})}, t({100}), " [10:110]");
  out.operation("slice", {t({300})}, t({150}), " [0:300:2]");
  out.operation("slice", {t({300})}, t({150}), " [1:300:2]");
  out.operation("slice", {t({300, 500})}, t({100, 400}), " [10:110, 50:450]");
  out.operation("slice", {t({300, 500})}, t({100, 400}), " [10:110, 0:400]");
  out.operation("slice", {t({300, 500})}, t({300, 400}), " [0:300, 0:400]");
  out.operation("slice", {t({300, 500})}, t({300, 400}), " [0:300, 1:401]");
  out.operation("slice", {t({300, 500})}, t({150, 250}), " [0:300:2, 0:500:2]");
  out.operation("slice", {t({300, 500})}, t({150, 500}), " [0:300:2, 0:500]");
  out.operation("slice", {t({8, 300, 500})}, t({4, 100, 400}), " [2:6, 10:110, 50:450]");
  out.operation("concatenate", {t({300}), t({500})}, t({800}), ", dim = 0");
  out.operation("concatenate", {t({300, 500}), t({300, 500})}, t({600, 500}), ", dim = 0");
  out.operation("concatenate", {t({300, 500}), t({300, 100})}, t({300, 600}), ", dim = 1");
  auto pad = [&](const Shape& from, const Shape& low, const Shape& high) {
    Shape to, interior;
    for (size_t d = 0; d < from.size(); ++d)
      to.push_back(low[d] + from[d] + high[d]), interior.push_back(0);
    std::string form =
        fmt::format(", low = [{}], high = [{}], interior = [{}]", fmt::join(low, ", "),
                    fmt::join(high, ", "), fmt::join(interior, ", "));
    out.operation("pad", {t(from), t({})}, t(to), form);
    out.add({t(from)},
            fmt::format("  %b = stablehlo.constant dense<{}> : {}\n"
                        "  %r = stablehlo.pad %a, %b{} : ({}, {}) -> {}",
                        one(type), t({}), form, t(from), t({}), t(to)),
            t(to));
  };
  for (int low : {0, 1, 20})
    for (int high : {0, 1, 20})
      if (low + high > 0) pad({300}, {low}, {high});
  pad({300, 500}, {1, 1}, {1, 1});
  pad({300, 500}, {20, 20}, {20, 20});
  pad({300, 500}, {0, 0}, {20, 20});
  pad({300, 500}, {0, 0}, {1, 1});
  pad({300, 500}, {20, 0}, {20, 0});
  pad({300, 500}, {0, 0}, {20, 0});
  pad({300, 500}, {0, 20}, {0, 20});
  pad({300, 500}, {0, 0}, {0, 20});
  const std::string index = tensor({}, "i32");
  out.operation("dynamic_slice", {t({300}), index}, t({100}), ", sizes = [100]");
  out.operation("dynamic_slice", {t({300, 500}), index, index}, t({100, 400}),
                ", sizes = [100, 400]");
  out.operation("dynamic_slice", {t({300, 500}), index, index}, t({1, 500}), ", sizes = [1, 500]");
  out.operation("dynamic_update_slice", {t({300}), t({100}), index}, t({300}));
  out.operation("dynamic_update_slice", {t({300, 500}), t({10, 400}), index, index}, t({300, 500}));
  out.operation("dynamic_update_slice", {t({300, 500}), t({10, 500}), index, index}, t({300, 500}));
  for (int rank : {1, 2}) {
    std::string rows = t({300, 500}), taken = t({64, 500}),
                at = rank == 1 ? "tensor<64xi32>" : "tensor<64x1xi32>";
    out.add(
        {rows, at},
        fmt::format(
            R"(  %r = "stablehlo.gather"(%a, %b) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 500>}}> : ({}, {}) -> {})",
            rows, at, taken),
        taken);
  }
}

// Of matrices and blocks with few and many results, from a given value and from a constant.
void reductions(Programs& out, string_view type, string_view op) {
  const std::string z = tensor({}, type);
  auto reduce = [&](const Shape& from, const std::vector<int>& dims) {
    Shape to;
    for (int d = 0; d < static_cast<int>(from.size()); ++d)
      if (std::find(dims.begin(), dims.end(), d) == dims.end())
        to.push_back(from[static_cast<size_t>(d)]);
    std::string a = tensor(from, type), r = tensor(to, type);
    std::string body = fmt::format(
        "  %r = stablehlo.reduce(%a init: %b) applies stablehlo.{} across dimensions = [{}] : "
        "({}, {}) -> {}",
        op, fmt::join(dims, ", "), a, z, r);
    out.add({a, z}, body, r);
    out.add({a}, fmt::format("  %b = stablehlo.constant dense<{}> : {}\n{}", one(type), z, body),
            r);
  };
  for (const Shape& shape :
       {Shape{6, 5}, Shape{6, 2}, Shape{6, 3000}, Shape{3000, 2}, Shape{2, 3000}, Shape{3, 3000},
        Shape{4, 3000}, Shape{300, 500}, Shape{3000, 5}, Shape{5, 3000}, Shape{4096, 4096},
        Shape{2, 4000000}, Shape{4000000, 2}}) {
    reduce(shape, {0});
    reduce(shape, {1});
    reduce(shape, {0, 1});
  }
  for (int d : {0, 1, 2}) reduce({30, 40, 50}, {d});
  reduce({30, 40, 50}, {0, 1});
  reduce({30, 40, 50}, {0, 2});
}

// As jnp.argmax and argmin are exported.
void arg_reduction(Programs& out, string_view direction, string_view start, int dim) {
  Shape to = {dim == 0 ? 500 : 300};
  const std::string a = tensor({300, 500}, "f32"), i = tensor({300, 500}, "i32"),
                    r = tensor(to, "i32"), v = tensor(to, "f32");
  out.add({a},
          fmt::format(R"(  %i = stablehlo.iota dim = {4} : {1}
  %z = stablehlo.constant dense<{6}> : tensor<f32>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %m, %r = stablehlo.reduce(%a init: %z), (%i init: %n) across dimensions = [{4}] : ({0}, {1}, tensor<f32>, tensor<i32>) -> ({3}, {2})
   reducer(%p: tensor<f32>, %q: tensor<f32>) (%s: tensor<i32>, %t: tensor<i32>) {{
    %0 = stablehlo.compare {5}, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.compare NE, %p, %p, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.or %0, %1 : tensor<i1>
    %3 = stablehlo.compare EQ, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.compare LT, %s, %t, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.and %3, %4 : tensor<i1>
    %6 = stablehlo.or %2, %5 : tensor<i1>
    %7 = stablehlo.select %2, %p, %q : tensor<i1>, tensor<f32>
    %8 = stablehlo.select %6, %s, %t : tensor<i1>, tensor<i32>
    stablehlo.return %7, %8 : tensor<f32>, tensor<i32>
  }})",
                      a, i, r, v, dim, direction, start),
          r);
}

// An operation in its generic form with a body of one binary operation on scalars.
std::string with_body(string_view op, string_view operands, string_view attributes,
                      string_view body, string_view type, string_view types) {
  return fmt::format(
      "  %r = \"stablehlo.{}\"({}) <{{{}}}> ({{\n  ^bb0(%x: tensor<{}>, %y: tensor<{}>):\n    %s = "
      "stablehlo.{} %x, %y : tensor<{}>\n    stablehlo.return %s : tensor<{}>\n  }}) : {}",
      op, operands, attributes, type, type, body, type, type, types);
}

void windows(Programs& out, string_view type) {
  const std::string z = tensor({}, type);
  auto window = [&](string_view body, const Shape& from, const Shape& size, const Shape& stride,
                    const Shape& low, const Shape& high) {
    Shape to;
    std::string padding;
    for (size_t d = 0; d < from.size(); ++d) {
      to.push_back((low[d] + from[d] + high[d] - size[d]) / stride[d] + 1);
      padding += fmt::format("{}[{}, {}]", d ? ", " : "", low[d], high[d]);
    }
    std::string a = tensor(from, type), r = tensor(to, type);
    std::string text =
        with_body("reduce_window", "%a, %b",
                  fmt::format("padding = dense<[{}]> : tensor<{}x2xi64>, window_dimensions = "
                              "array<i64: {}>, window_strides = array<i64: {}>",
                              padding, from.size(), fmt::join(size, ", "), fmt::join(stride, ", ")),
                  body, type, fmt::format("({}, {}) -> {}", a, z, r));
    out.add({a, z}, text, r);
    out.add({a}, fmt::format("  %b = stablehlo.constant dense<{}> : {}\n{}", one(type), z, text),
            r);
  };
  for (const char* body : kCombiners) {  // cumulative
    window(body, {500}, {500}, {1}, {499}, {0});
    window(body, {300, 500}, {1, 500}, {1, 1}, {0, 499}, {0, 0});
    window(body, {300, 500}, {300, 1}, {1, 1}, {299, 0}, {0, 0});
  }
  for (const char* body : {"add", "maximum"}) {  // pooling
    window(body, {8, 32, 32, 16}, {1, 2, 2, 1}, {1, 2, 2, 1}, {0, 0, 0, 0}, {0, 0, 0, 0});
    window(body, {8, 33, 33, 16}, {1, 3, 3, 1}, {1, 2, 2, 1}, {0, 0, 0, 0}, {0, 0, 0, 0});
    window(body, {8, 32, 32, 16}, {1, 3, 3, 1}, {1, 1, 1, 1}, {0, 1, 1, 0}, {0, 1, 1, 0});
  }
}

void scatters(Programs& out, string_view type) {
  for (const char* body : {"add", "maximum", "minimum"}) {
    auto scatter = [&](const Shape& to, const Shape& updates, string_view window_dims) {
      std::string a = tensor(to, type), i = "tensor<64x1xi32>", u = tensor(updates, type);
      out.add({a, i, u},
              with_body("scatter", "%a, %b, %c",
                        fmt::format(
                            "scatter_dimension_numbers = #stablehlo.scatter<{}inserted_window_dims "
                            "= [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>",
                            window_dims),
                        body, type, fmt::format("({}, {}, {}) -> {}", a, i, u, a)),
              a);
    };
    scatter({300, 500}, {64, 500}, "update_window_dims = [1], ");
    scatter({300}, {64}, "");
  }
}

void products(Programs& out, string_view type) {
  auto dot = [&](const Shape& a, const Shape& b, const Shape& r, int over_a, int over_b) {
    out.operation("dot_general", {tensor(a, type), tensor(b, type)}, tensor(r, type),
                  fmt::format(", contracting_dims = [{}] x [{}]", over_a, over_b));
  };
  for (int k : {200, 512}) {  // longer ones may be summed in parts
    dot({k}, {k}, {}, 0, 0);
    dot({256, k}, {k}, {256}, 1, 0);
    dot({k, 256}, {k}, {256}, 0, 0);
    dot({k}, {k, 256}, {256}, 0, 0);
    dot({k}, {256, k}, {256}, 0, 1);
    dot({256, k}, {k, 128}, {256, 128}, 1, 0);
    dot({256, k}, {128, k}, {256, 128}, 1, 1);
    dot({k, 256}, {k, 128}, {256, 128}, 0, 0);
  }
}

}  // namespace

std::vector<std::string> precompiled_programs() {
  Programs out;
  elementwise(out);
  for (const char* type : kTypes) {
    movement(out, type);
    const std::string t = tensor(Programs::kArray, type);
    if (string_view(type) == "i1") continue;
    out.add({}, fmt::format("  %r = stablehlo.iota dim = 0 : {}", t), t);
    for (int d : {0, 1}) {
      std::string matrix = tensor({300, 500}, type);
      out.add({}, fmt::format("  %r = stablehlo.iota dim = {} : {}", d, matrix), matrix);
    }
    out.add({}, fmt::format("  %r = stablehlo.constant dense<{}> : {}", one(type), t), t);
  }
  for (const char* type : {"f32", "f64", "bf16", "f16", "i32"})
    for (const char* op : kCombiners) reductions(out, type, op);
  for (const char* op : {"and", "or"}) reductions(out, "i1", op);
  for (int dim : {0, 1}) {
    arg_reduction(out, "GT", "0xFF800000", dim);
    arg_reduction(out, "LT", "0x7F800000", dim);
  }
  for (const char* type : {"f32", "bf16"}) {
    windows(out, type);
    scatters(out, type);
    products(out, type);
  }
  for (const char* algorithm : {"THREE_FRY", "PHILOX"})
    out.add({"tensor<2xui64>"},
            fmt::format("  %n, %r = stablehlo.rng_bit_generator %a, algorithm = {} : "
                        "(tensor<2xui64>) -> (tensor<2xui64>, tensor<1000xui32>)",
                        algorithm),
            "tensor<1000xui32>");
  return out.take();
}

}  // namespace ullage
