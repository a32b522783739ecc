// The rows that are written by hand.
#include <fmt/format.h>

#include "conformance/table.h"

namespace ullage::conformance {

namespace {

// A region that combines two scalars by one operation.
std::string combining(const std::string& op, const std::string& type = "{E}") {
  return fmt::format(
      "({{ ^bb0(%a: tensor<{0}>, %b: tensor<{0}>):\n    %c = stablehlo.{1} %a, %b : tensor<{0}>\n  "
      "  "
      "stablehlo.return %c : tensor<{0}> }})",
      type, op);
}

void conversions(std::vector<Row>& out) {
  const std::pair<const char*, std::vector<const char*>> groups[] = {
      {"to integers", {"i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"}},
      {"to floats", {"bf16", "f16", "f32", "f64"}},
      {"to i1", {"i1"}},
      {"to complex numbers", {"complex<f32>", "complex<f64>"}},
      {"to narrow integers", {"i2", "i4", "ui2", "ui4"}},
      {"to narrow floats",
       {"f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ",
        "f8E4M3B11FNUZ", "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU"}}};
  for (const auto& [name, types] : groups) {
    std::string results, body, returned;
    for (size_t i = 0; i < types.size(); ++i) {
      std::string comma = i > 0 ? ", " : "";
      results += fmt::format("{}tensor<900x{}>", comma, types[i]);
      returned += fmt::format("{}%r{}", comma, i);
      body += fmt::format("%r{} = stablehlo.convert %x : (tensor<900x{{E}}>) -> tensor<900x{}>\n  ",
                          i, types[i]);
    }
    out.push_back(
        {OpKind::convert, name, "(%x: tensor<900x{E}>) -> (" + results + ")", body, returned, ""});
  }
}

void movement(std::vector<Row>& out) {
  out.push_back(
      {OpKind::broadcast, "rank 2", "(%x: tensor<4x6x{E}>) -> tensor<2x4x6x{E}>",
       "%r = stablehlo.broadcast %x, sizes = [2] : (tensor<4x6x{E}>) -> tensor<2x4x6x{E}>", "%r",
       ""});
  auto broadcast = [&](const char* form, const char* in, const char* dims, const char* result) {
    out.push_back({OpKind::broadcast_in_dim, form,
                   fmt::format("(%x: tensor<{}{{E}}>) -> tensor<{}{{E}}>", in, result),
                   fmt::format("%r = stablehlo.broadcast_in_dim %x, dims = [{}] : "
                               "(tensor<{}{{E}}>) -> tensor<{}{{E}}>",
                               dims, in, result),
                   "%r", ""});
  };
  broadcast("scalar", "", "", "3x40x");
  broadcast("rank 2", "1x6x", "2, 0", "6x5x1x");
  broadcast("rank 8", "2x1x3x", "1, 4, 7", "2x2x1x1x3x2x1x3x");
  broadcast("empty", "0x1x", "0, 1", "0x5x");
  auto bitcast = [&](const char* to) {
    out.push_back({OpKind::bitcast_convert, fmt::format("to {}", to),
                   fmt::format("(%x: tensor<37x{{E}}>) -> tensor<37x{}>", to),
                   fmt::format("%r = stablehlo.bitcast_convert %x : (tensor<37x{{E}}>) -> "
                               "tensor<37x{}>",
                               to),
                   "%r", ""});
  };
  for (const char* to : {"i8", "ui16", "i32", "ui64", "f32", "f64", "bf16", "f16", "complex<f32>"})
    bitcast(to);
  out.push_back(
      {OpKind::bitcast_convert, "to smaller elements", "(%x: tensor<9x{E}>) -> tensor<9x4xui8>",
       "%r = stablehlo.bitcast_convert %x : (tensor<9x{E}>) -> tensor<9x4xui8>", "%r", ""});
  out.push_back(
      {OpKind::bitcast_convert, "to elements below a byte", "(%x: tensor<9x{E}>) -> tensor<9x4xi4>",
       "%r = stablehlo.bitcast_convert %x : (tensor<9x{E}>) -> tensor<9x4xi4>", "%r", ""});
  out.push_back({OpKind::bitcast_convert, "from elements below a byte",
                 "(%x: tensor<9x4x{E}>) -> tensor<9xf16>",
                 "%r = stablehlo.bitcast_convert %x : (tensor<9x4x{E}>) -> tensor<9xf16>", "%r",
                 ""});
  out.push_back(
      {OpKind::concatenate, "rank 2",
       "(%x: tensor<3x5x{E}>, %y: tensor<3x2x{E}>, %z: tensor<3x0x{E}>) -> tensor<3x7x{E}>",
       "%r = stablehlo.concatenate %x, %y, %z, dim = 1 : (tensor<3x5x{E}>, "
       "tensor<3x2x{E}>, tensor<3x0x{E}>) -> tensor<3x7x{E}>",
       "%r", ""});
  out.push_back({OpKind::constant, "splat and elements", "() -> (tensor<7x9x{E}>, tensor<3x{E}>)",
                 "%r = stablehlo.constant dense<{O}> : tensor<7x9x{E}>\n  %s = stablehlo.constant "
                 "dense<[{O}, {Z}, {O}]> : tensor<3x{E}>",
                 "%r, %s", ""});
  for (const char* index : {"i8", "i32", "ui32", "i64"})
    out.push_back({OpKind::dynamic_slice, fmt::format("indices of {}", index),
                   fmt::format("(%x: tensor<5x9x{{E}}>, %i: tensor<{0}>, %j: tensor<{0}>) -> "
                               "tensor<2x9x{{E}}>",
                               index),
                   fmt::format("%r = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 9] : "
                               "(tensor<5x9x{{E}}>, tensor<{0}>, tensor<{0}>) -> tensor<2x9x{{E}}>",
                               index),
                   "%r", ""});
  out.push_back({OpKind::dynamic_update_slice, "rank 2",
                 "(%x: tensor<5x9x{E}>, %u: tensor<2x4x{E}>, %i: tensor<i32>, %j: tensor<i32>) -> "
                 "tensor<5x9x{E}>",
                 "%r = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<5x9x{E}>, "
                 "tensor<2x4x{E}>, tensor<i32>, tensor<i32>) -> tensor<5x9x{E}>",
                 "%r", ""});
  out.push_back(
      {OpKind::gather, "rows", "(%x: tensor<4x6x{E}>, %i: tensor<12x1xi32>) -> tensor<12x6x{E}>",
       "%r = \"stablehlo.gather\"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = "
       "[1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
       "slice_sizes = array<i64: 1, 6>}> : (tensor<4x6x{E}>, tensor<12x1xi32>) -> tensor<12x6x{E}>",
       "%r", ""});
  out.push_back(
      {OpKind::gather, "windows with batches",
       "(%x: tensor<3x8x5x{E}>, %i: tensor<3x4x2xi64>) -> tensor<3x4x2x3x{E}>",
       "%r = \"stablehlo.gather\"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = "
       "[2, 3], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = "
       "[2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 2, 3>}> : (tensor<3x8x5x{E}>, "
       "tensor<3x4x2xi64>) -> tensor<3x4x2x3x{E}>",
       "%r", ""});
  out.push_back({OpKind::iota, "rank 2", "() -> tensor<5x40x{E}>",
                 "%r = stablehlo.iota dim = 1 : tensor<5x40x{E}>", "%r", ""});
  out.push_back({OpKind::pad, "all kinds",
                 "(%x: tensor<4x6x{E}>, %s: tensor<{E}>) -> tensor<5x11x{E}>",
                 "%r = stablehlo.pad %x, %s, low = [-1, 0], high = [2, 0], interior = [0, 1] : "
                 "(tensor<4x6x{E}>, tensor<{E}>) -> tensor<5x11x{E}>",
                 "%r", ""});
  out.push_back({OpKind::pad, "between rows, twice",
                 "(%x: tensor<4x6x{E}>, %s: tensor<{E}>) -> tensor<24x8x{E}>",
                 "%p = stablehlo.pad %x, %s, low = [1, 0], high = [1, 0], interior = [2, 0] : "
                 "(tensor<4x6x{E}>, tensor<{E}>) -> tensor<12x6x{E}>\n  %r = stablehlo.pad %p, "
                 "%s, low = [-1, 2], high = [2, 0], interior = [1, 0] : (tensor<12x6x{E}>, "
                 "tensor<{E}>) -> tensor<24x8x{E}>",
                 "%r", ""});
  out.push_back({OpKind::reshape, "rank 2 to 3", "(%x: tensor<6x8x{E}>) -> tensor<3x4x4x{E}>",
                 "%r = stablehlo.reshape %x : (tensor<6x8x{E}>) -> tensor<3x4x4x{E}>", "%r", ""});
  out.push_back({OpKind::reverse, "rank 3", "(%x: tensor<3x5x17x{E}>) -> tensor<3x5x17x{E}>",
                 "%r = stablehlo.reverse %x, dims = [0, 2] : tensor<3x5x17x{E}>", "%r", ""});
  for (const char* op : {"add", "maximum", "multiply"})
    out.push_back(
        {OpKind::scatter, op,
         "(%x: tensor<5x6x{E}>, %i: tensor<9x1xi32>, %u: tensor<9x6x{E}>) -> tensor<5x6x{E}>",
         "%r = \"stablehlo.scatter\"(%x, %i, %u) <{scatter_dimension_numbers = "
         "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
         "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> " +
             combining(op) +
             " : (tensor<5x6x{E}>, tensor<9x1xi32>, tensor<9x6x{E}>) -> tensor<5x6x{E}>",
         "%r", ""});
  out.push_back(
      {OpKind::scatter, "beside complex numbers",
       "(%x: tensor<5x{E}>, %z: tensor<5xcomplex<f32>>, %i: tensor<90x1xi32>, %u: tensor<90x{E}>, "
       "%v: tensor<90xcomplex<f32>>) -> (tensor<5x{E}>, tensor<5xcomplex<f32>>)",
       "%r:2 = \"stablehlo.scatter\"(%x, %z, %i, %u, %v) <{scatter_dimension_numbers = "
       "#stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
       "index_vector_dim = 1>}> ({ ^bb0(%a: tensor<{E}>, %b: tensor<complex<f32>>, %c: "
       "tensor<{E}>, %d: tensor<complex<f32>>):\n    %e = stablehlo.maximum %a, %c : "
       "tensor<{E}>\n    %f = stablehlo.subtract %d, %b : tensor<complex<f32>>\n    "
       "stablehlo.return %e, %f : tensor<{E}>, tensor<complex<f32>> }) : (tensor<5x{E}>, "
       "tensor<5xcomplex<f32>>, tensor<90x1xi32>, tensor<90x{E}>, tensor<90xcomplex<f32>>) -> "
       "(tensor<5x{E}>, tensor<5xcomplex<f32>>)",
       "%r#0, %r#1", ""});
  out.push_back({OpKind::slice, "with strides", "(%x: tensor<9x20x{E}>) -> tensor<4x13x{E}>",
                 "%r = stablehlo.slice %x [1:9:2, 3:16] : (tensor<9x20x{E}>) -> tensor<4x13x{E}>",
                 "%r", ""});
  out.push_back({OpKind::torch_index_select, "rank 2",
                 "(%x: tensor<4x6x{E}>, %i: tensor<3xi32>) -> tensor<3x6x{E}>",
                 "%r = \"stablehlo.torch_index_select\"(%x, %i) <{batch_dims = 0 : i64, dim = 0 : "
                 "i64}> : (tensor<4x6x{E}>, tensor<3xi32>) -> tensor<3x6x{E}>",
                 "%r", ""});
  out.push_back({OpKind::transpose, "rank 2", "(%x: tensor<18x33x{E}>) -> tensor<33x18x{E}>",
                 "%r = stablehlo.transpose %x, dims = [1, 0] : (tensor<18x33x{E}>) -> "
                 "tensor<33x18x{E}>",
                 "%r", ""});
  out.push_back({OpKind::transpose, "rank 8",
                 "(%x: tensor<2x1x3x1x1x2x1x3x{E}>) -> tensor<3x1x2x1x1x3x1x2x{E}>",
                 "%r = stablehlo.transpose %x, dims = [7, 6, 5, 4, 3, 2, 1, 0] : "
                 "(tensor<2x1x3x1x1x2x1x3x{E}>) -> tensor<3x1x2x1x1x3x1x2x{E}>",
                 "%r", ""});
}

void selection(std::vector<Row>& out) {
  out.push_back({OpKind::select, "elements",
                 "(%p: tensor<60x{E}>, %x: tensor<60x{E}>, %c: tensor<60xi1>) -> tensor<60x{E}>",
                 "%r = stablehlo.select %c, %p, %x : tensor<60xi1>, tensor<60x{E}>", "%r", ""});
  out.push_back({OpKind::select, "one for all",
                 "(%p: tensor<60x{E}>, %x: tensor<60x{E}>, %c: tensor<i1>) -> tensor<60x{E}>",
                 "%r = stablehlo.select %c, %p, %x : tensor<i1>, tensor<60x{E}>", "%r", ""});
  out.push_back({OpKind::clamp, "elements",
                 "(%l: tensor<90x{E}>, %x: tensor<90x{E}>, %h: tensor<90x{E}>) -> tensor<90x{E}>",
                 "%r = stablehlo.clamp %l, %x, %h : tensor<90x{E}>", "%r", ""});
  out.push_back({OpKind::clamp, "one for all",
                 "(%l: tensor<{E}>, %x: tensor<90x{E}>, %h: tensor<{E}>) -> tensor<90x{E}>",
                 "%r = stablehlo.clamp %l, %x, %h : (tensor<{E}>, tensor<90x{E}>, tensor<{E}>) -> "
                 "tensor<90x{E}>",
                 "%r", ""});
  out.push_back(
      {OpKind::map, "rank 2", "(%x: tensor<5x7x{E}>, %y: tensor<5x7x{E}>) -> tensor<5x7x{E}>",
       "%r = \"stablehlo.map\"(%x, %y) <{dimensions = array<i64: 0, 1>}> " + combining("maximum") +
           " : (tensor<5x7x{E}>, tensor<5x7x{E}>) -> tensor<5x7x{E}>",
       "%r", ""});
}

void reductions(std::vector<Row>& out) {
  for (const char* op : {"add", "multiply", "maximum", "minimum", "and", "or", "xor"}) {
    out.push_back(
        {OpKind::reduce, op,
         "(%x: tensor<6x11x{E}>, %i: tensor<{E}>) -> (tensor<6x{E}>, tensor<11x{E}>, tensor<{E}>)",
         fmt::format("%r = stablehlo.reduce(%x init: %i) applies stablehlo.{0} across "
                     "dimensions = [1] : (tensor<6x11x{{E}}>, tensor<{{E}}>) -> "
                     "tensor<6x{{E}}>\n  %s = stablehlo.reduce(%x init: %i) applies "
                     "stablehlo.{0} across dimensions = [0] : (tensor<6x11x{{E}}>, "
                     "tensor<{{E}}>) -> tensor<11x{{E}}>\n  %t = stablehlo.reduce(%x init: "
                     "%i) applies stablehlo.{0} across dimensions = [0, 1] : "
                     "(tensor<6x11x{{E}}>, tensor<{{E}}>) -> tensor<{{E}}>",
                     op),
         "%r, %s, %t", ""});
  }
  out.push_back({OpKind::reduce, "empty", "(%x: tensor<4x0x{E}>, %i: tensor<{E}>) -> tensor<4x{E}>",
                 "%r = stablehlo.reduce(%x init: %i) applies stablehlo.maximum across dimensions = "
                 "[1] : (tensor<4x0x{E}>, tensor<{E}>) -> tensor<4x{E}>",
                 "%r", ""});
  for (const char* op : {"add", "maximum", "minimum"}) {
    out.push_back({OpKind::reduce_window, op,
                   "(%x: tensor<7x9x{E}>, %i: tensor<{E}>) -> tensor<4x4x{E}>",
                   "%r = \"stablehlo.reduce_window\"(%x, %i) <{window_dimensions = array<i64: 3, "
                   "2>, window_strides = array<i64: 2, 2>, padding = dense<[[1, 1], [0, 0]]> : "
                   "tensor<2x2xi64>}> " +
                       combining(op) + " : (tensor<7x9x{E}>, tensor<{E}>) -> tensor<4x4x{E}>",
                   "%r", ""});
    out.push_back({OpKind::reduce_window, fmt::format("cumulative {}", op),
                   "(%x: tensor<4x20x{E}>, %i: tensor<{E}>) -> tensor<4x20x{E}>",
                   "%r = \"stablehlo.reduce_window\"(%x, %i) <{window_dimensions = array<i64: 1, "
                   "20>, padding = dense<[[0, 0], [19, 0]]> : tensor<2x2xi64>}> " +
                       combining(op) + " : (tensor<4x20x{E}>, tensor<{E}>) -> tensor<4x20x{E}>",
                   "%r", ""});
  }
  out.push_back({OpKind::select_and_scatter, "greatest",
                 "(%x: tensor<8x9x{E}>, %s: tensor<4x3x{E}>, %i: tensor<{E}>) -> tensor<8x9x{E}>",
                 "%r = \"stablehlo.select_and_scatter\"(%x, %s, %i) <{window_dimensions = "
                 "array<i64: 2, 3>, window_strides = array<i64: 2, 3>}> ({ ^bb0(%a: tensor<{E}>, "
                 "%b: tensor<{E}>):\n    %c = stablehlo.compare GE, %a, %b : (tensor<{E}>, "
                 "tensor<{E}>) -> tensor<i1>\n    stablehlo.return %c : tensor<i1> }, " +
                     combining("add").substr(1, combining("add").size() - 2) +
                     ") : (tensor<8x9x{E}>, tensor<4x3x{E}>, tensor<{E}>) -> tensor<8x9x{E}>",
                 "%r", ""});
  out.push_back({OpKind::sort, "one operand", "(%x: tensor<5x40x{E}>) -> tensor<5x40x{E}>",
                 "%r = \"stablehlo.sort\"(%x) <{dimension = 1 : i64, is_stable = true}> ({ "
                 "^bb0(%a: tensor<{E}>, %b: tensor<{E}>):\n    %c = stablehlo.compare LT, %a, %b : "
                 "(tensor<{E}>, tensor<{E}>) -> tensor<i1>\n    stablehlo.return %c : tensor<i1> "
                 "}) : (tensor<5x40x{E}>) -> tensor<5x40x{E}>",
                 "%r", ""});
  out.push_back(
      {OpKind::sort, "key and value",
       "(%k: tensor<40xi32>, %x: tensor<40x{E}>) -> (tensor<40xi32>, tensor<40x{E}>)",
       "%r:2 = \"stablehlo.sort\"(%k, %x) <{dimension = 0 : i64, is_stable = true}> ({ ^bb0(%a: "
       "tensor<i32>, %b: tensor<i32>, %p: tensor<{E}>, %q: tensor<{E}>):\n    %c = "
       "stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    "
       "stablehlo.return %c : tensor<i1> }) : (tensor<40xi32>, tensor<40x{E}>) -> "
       "(tensor<40xi32>, tensor<40x{E}>)",
       "%r#0, %r#1", ""});
  out.push_back({OpKind::chlo_top_k, "five",
                 "(%x: tensor<3x20x{E}>) -> (tensor<3x5x{E}>, tensor<3x5xi32>)",
                 "%r, %s = chlo.top_k(%x, k = 5) : tensor<3x20x{E}> -> (tensor<3x5x{E}>, "
                 "tensor<3x5xi32>)",
                 "%r, %s", ""});
}

void products(std::vector<Row>& out) {
  out.push_back({OpKind::cholesky, "batch", "(%x: tensor<2x3x3x{E}>) -> tensor<2x3x3x{E}>",
                 "%d = stablehlo.constant dense<[[4.0, 1.0, 0.5], [1.0, 5.0, 1.5], [0.5, 1.5, "
                 "3.0]]> : tensor<3x3x{R}>\n  "
                 "%c = stablehlo.convert %d : (tensor<3x3x{R}>) -> tensor<3x3x{E}>\n  "
                 "%b = stablehlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<3x3x{E}>) -> "
                 "tensor<2x3x3x{E}>\n  "
                 "%z = stablehlo.multiply %b, %b : tensor<2x3x3x{E}>\n  "
                 "%r = stablehlo.cholesky %z, lower = true : tensor<2x3x3x{E}>",
                 "%r", ""});
  out.push_back({OpKind::triangular_solve, "lower", "(%x: tensor<3x2x{E}>) -> tensor<3x2x{E}>",
                 "%d = stablehlo.constant dense<[[4.0, 0.0, 0.0], [1.0, 5.0, 0.0], [0.5, 1.5, "
                 "3.0]]> : tensor<3x3x{R}>\n  "
                 "%c = stablehlo.convert %d : (tensor<3x3x{R}>) -> tensor<3x3x{E}>\n  "
                 "%r = \"stablehlo.triangular_solve\"(%c, %x) <{left_side = true, lower = true, "
                 "unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : "
                 "(tensor<3x3x{E}>, tensor<3x2x{E}>) -> tensor<3x2x{E}>",
                 "%r", ""});
  out.push_back({OpKind::dot, "matrices",
                 "(%x: tensor<5x9x{E}>, %y: tensor<9x17x{E}>) -> tensor<5x17x{E}>",
                 "%r = stablehlo.dot %x, %y : (tensor<5x9x{E}>, tensor<9x17x{E}>) -> "
                 "tensor<5x17x{E}>",
                 "%r", ""});
  out.push_back(
      {OpKind::dot_general, "batch",
       "(%x: tensor<3x5x9x{E}>, %y: tensor<3x17x9x{E}>) -> tensor<3x5x17x{E}>",
       "%r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [2] "
       ": (tensor<3x5x9x{E}>, tensor<3x17x9x{E}>) -> tensor<3x5x17x{E}>",
       "%r", ""});
  out.push_back({OpKind::dot_general, "vectors",
                 "(%x: tensor<70x{E}>, %y: tensor<70x{E}>) -> tensor<{E}>",
                 "%r = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : "
                 "(tensor<70x{E}>, tensor<70x{E}>) -> tensor<{E}>",
                 "%r", ""});
  for (const char* result : {"f32", "i32"})
    out.push_back(
        {OpKind::dot_general, fmt::format("into {}", result),
         fmt::format("(%x: tensor<5x9x{{E}}>, %y: tensor<9x17x{{E}}>) -> tensor<5x17x{}>", result),
         fmt::format("%r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : "
                     "(tensor<5x9x{{E}}>, tensor<9x17x{{E}}>) -> tensor<5x17x{}>",
                     result),
         "%r", ""});
  out.push_back({OpKind::einsum, "matrices",
                 "(%x: tensor<5x9x{E}>, %y: tensor<9x7x{E}>) -> tensor<5x7x{E}>",
                 "%r = \"stablehlo.einsum\"(%x, %y) <{einsum_config = \"ij,jk->ik\"}> : "
                 "(tensor<5x9x{E}>, tensor<9x7x{E}>) -> tensor<5x7x{E}>",
                 "%r", ""});
  out.push_back({OpKind::unary_einsum, "transposing", "(%x: tensor<5x9x{E}>) -> tensor<9x5x{E}>",
                 "%r = \"stablehlo.unary_einsum\"(%x) <{einsum_config = \"ij->ji\"}> : "
                 "(tensor<5x9x{E}>) -> tensor<9x5x{E}>",
                 "%r", ""});
  out.push_back(
      {OpKind::convolution, "two dimensions",
       "(%x: tensor<2x8x9x3x{E}>, %k: tensor<3x2x3x4x{E}>) -> tensor<2x4x9x4x{E}>",
       "%r = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, "
       "0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [1, 0]]} {batch_group_count = "
       "1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x9x3x{E}>, "
       "tensor<3x2x3x4x{E}>) -> tensor<2x4x9x4x{E}>",
       "%r", ""});
  out.push_back(
      {OpKind::convolution, "dilated input",
       "(%x: tensor<2x5x4x3x{E}>, %k: tensor<4x3x3x4x{E}>) -> tensor<2x10x4x4x{E}>",
       "%r = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, "
       "0, 1, f], window = {stride = [1, 2], pad = [[2, 2], [0, 1]], lhs_dilate = [2, 3], "
       "rhs_dilate = [1, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
       "(tensor<2x5x4x3x{E}>, tensor<4x3x3x4x{E}>) -> tensor<2x10x4x4x{E}>",
       "%r", ""});
  out.push_back(
      {OpKind::convolution, "dilated input, reversed window of one element",
       "(%x: tensor<4x4x1x{E}>, %k: tensor<1x1x2x{E}>) -> tensor<4x5x1x{E}>",
       "%r = stablehlo.convolution(%x, %k) dim_numbers = [0, b, f]x[i, o, 0]->[b, 0, f], window = "
       "{stride = [3], pad = [[2, 2]], lhs_dilate = [4], rhs_dilate = [2], reverse = [true]} "
       "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x4x1x{E}>, "
       "tensor<1x1x2x{E}>) -> tensor<4x5x1x{E}>",
       "%r", ""});
  out.push_back({OpKind::convolution, "groups",
                 "(%x: tensor<2x10x6x{E}>, %k: tensor<3x2x6x{E}>) -> tensor<2x8x6x{E}>",
                 "%r = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], "
                 "window = {} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : "
                 "(tensor<2x10x6x{E}>, tensor<3x2x6x{E}>) -> tensor<2x8x6x{E}>",
                 "%r", ""});
  out.push_back({OpKind::fft, "FFT and IFFT",
                 "(%x: tensor<3x12x{E}>) -> (tensor<3x12x{E}>, tensor<3x12x{E}>)",
                 "%r = stablehlo.fft %x, type = FFT, length = [12] : (tensor<3x12x{E}>) -> "
                 "tensor<3x12x{E}>\n  %s = stablehlo.fft %x, type = IFFT, length = [12] : "
                 "(tensor<3x12x{E}>) -> tensor<3x12x{E}>",
                 "%r, %s", ""});
  out.push_back({OpKind::fft, "RFFT", "(%x: tensor<3x12x{E}>) -> tensor<3x7xcomplex<{E}>>",
                 "%r = stablehlo.fft %x, type = RFFT, length = [12] : (tensor<3x12x{E}>) -> "
                 "tensor<3x7xcomplex<{E}>>",
                 "%r", ""});
  out.push_back({OpKind::fft, "IRFFT", "(%x: tensor<3x7x{E}>) -> tensor<3x12x{R}>",
                 "%r = stablehlo.fft %x, type = IRFFT, length = [12] : (tensor<3x7x{E}>) -> "
                 "tensor<3x12x{R}>",
                 "%r", ""});
  out.push_back(
      {OpKind::chlo_ragged_dot, "three groups",
       "(%l: tensor<11x5x{E}>, %r: tensor<3x5x7x{E}>) -> tensor<11x7x{E}>",
       "%g = stablehlo.constant dense<[4, 0, 7]> : tensor<3xi64>\n  %o = \"chlo.ragged_dot\"(%l, "
       "%r, %g) "
       "<{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], "
       "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = "
       "[0]>}> : (tensor<11x5x{E}>, tensor<3x5x7x{E}>, tensor<3xi64>) -> tensor<11x7x{E}>",
       "%o", ""});
  out.push_back(
      {OpKind::chlo_ragged_dot, "groups of each batch and row, places beyond them",
       "(%l: tensor<2x3x11x5x{E}>, %r: tensor<5x2x3x7x{E}>) -> tensor<2x3x11x7x{E}>",
       "%g = stablehlo.constant dense<[[[4, 0, 5], [1, 2, 3], [0, 11, 0]], [[0, 0, 0], [3, 3, 3], "
       "[9, 1, 1]]]> : tensor<2x3x3xi32>\n  %o = \"chlo.ragged_dot\"(%l, %r, %g) "
       "<{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], "
       "rhs_batching_dimensions = [1], lhs_contracting_dimensions = [3], "
       "rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [2], rhs_group_dimensions = "
       "[2]>}> : (tensor<2x3x11x5x{E}>, tensor<5x2x3x7x{E}>, tensor<2x3x3xi32>) -> "
       "tensor<2x3x11x7x{E}>",
       "%o", ""});
  out.push_back(
      {OpKind::chlo_ragged_dot, "groups of what is contracted",
       "(%l: tensor<4x2x9x{E}>, %r: tensor<9x3x2x{E}>) -> tensor<3x4x3x{E}>",
       "%g = stablehlo.constant dense<[[4, 0, 5], [1, 2, 3]]> : tensor<2x3xi64>\n  %o = "
       "\"chlo.ragged_dot\"(%l, %r, %g) <{ragged_dot_dimension_numbers = "
       "#chlo.ragged_dot<lhs_contracting_dimensions = [1, 2], rhs_contracting_dimensions = [2, 0], "
       "lhs_ragged_dimensions = [2]>}> : (tensor<4x2x9x{E}>, tensor<9x3x2x{E}>, tensor<2x3xi64>) "
       "-> tensor<3x4x3x{E}>",
       "%o", ""});
  out.push_back(
      {OpKind::chlo_ragged_dot, "groups of batches",
       "(%l: tensor<6x4x3x{E}>, %r: tensor<6x3x5x{E}>) -> tensor<6x4x5x{E}>",
       "%g = stablehlo.constant dense<[4, 2]> : tensor<2xi64>\n  %o = \"chlo.ragged_dot\"(%l, %r, "
       "%g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], "
       "rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], "
       "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]>}> : (tensor<6x4x3x{E}>, "
       "tensor<6x3x5x{E}>, tensor<2xi64>) -> tensor<6x4x5x{E}>",
       "%o", ""});
  out.push_back({OpKind::batch_norm_inference, "rank 2",
                 "(%x: tensor<6x3x{E}>, %s: tensor<3x{E}>, %o: tensor<3x{E}>, %m: tensor<3x{E}>) "
                 "-> tensor<6x3x{E}>",
                 "%v = stablehlo.constant dense<2.0> : tensor<3x{E}>\n  %r = "
                 "\"stablehlo.batch_norm_inference\"(%x, %s, %o, %m, %v) <{epsilon = 1.0e-3 : f32, "
                 "feature_index = 1 : i64}> : (tensor<6x3x{E}>, tensor<3x{E}>, tensor<3x{E}>, "
                 "tensor<3x{E}>, tensor<3x{E}>) -> tensor<6x3x{E}>",
                 "%r", ""});
  out.push_back({OpKind::batch_norm_training, "rank 2",
                 "(%x: tensor<6x3x{E}>, %s: tensor<3x{E}>, %o: tensor<3x{E}>) -> (tensor<6x3x{E}>, "
                 "tensor<3x{E}>, tensor<3x{E}>)",
                 "%r:3 = \"stablehlo.batch_norm_training\"(%x, %s, %o) <{epsilon = 1.0e-3 : f32, "
                 "feature_index = 1 : i64}> : (tensor<6x3x{E}>, tensor<3x{E}>, tensor<3x{E}>) -> "
                 "(tensor<6x3x{E}>, tensor<3x{E}>, tensor<3x{E}>)",
                 "%r#0, %r#1, %r#2", ""});
  out.push_back(
      {OpKind::batch_norm_grad, "rank 2",
       "(%x: tensor<6x3x{E}>, %s: tensor<3x{E}>, %m: tensor<3x{E}>, %g: tensor<6x3x{E}>) -> "
       "(tensor<6x3x{E}>, tensor<3x{E}>, tensor<3x{E}>)",
       "%v = stablehlo.constant dense<2.0> : tensor<3x{E}>\n  %r:3 = "
       "\"stablehlo.batch_norm_grad\"(%x, %s, %m, %v, %g) <{epsilon = 1.0e-3 : f32, "
       "feature_index = 1 : i64}> : (tensor<6x3x{E}>, tensor<3x{E}>, tensor<3x{E}>, tensor<3x{E}>, "
       "tensor<6x3x{E}>) -> (tensor<6x3x{E}>, tensor<3x{E}>, tensor<3x{E}>)",
       "%r#0, %r#1, %r#2", ""});
}

}  // namespace

std::vector<Row> control_rows();

std::vector<Row> written_rows() {
  std::vector<Row> out = control_rows();
  conversions(out);
  selection(out);
  movement(out);
  reductions(out);
  products(out);
  return out;
}

}  // namespace ullage::conformance
