// The rows of control flow, random numbers, dynamic shapes and communication.
#include <fmt/format.h>

#include "conformance/table.h"

namespace ullage::conformance {

std::vector<Row> control_rows();

std::vector<Row> control_rows() {
  std::vector<Row> out;
  const std::string vector = "(%x: tensor<7x{E}>, %y: tensor<7x{E}>) -> tensor<7x{E}>";
  out.push_back(
      {OpKind::call, "private function", vector,
       "%r = call @f(%x, %y) : (tensor<7x{E}>, tensor<7x{E}>) -> tensor<7x{E}>", "%r",
       "func.func private @f(%a: tensor<7x{E}>, %b: tensor<7x{E}>) -> tensor<7x{E}> {\n  "
       "%r = stablehlo.maximum %a, %b : tensor<7x{E}>\n  return %r : tensor<7x{E}>\n}\n"});
  out.push_back(
      {OpKind::composite, "private function", vector,
       "%r = stablehlo.composite \"my.op\" %x, %y {decomposition = @f} : (tensor<7x{E}>, "
       "tensor<7x{E}>) -> tensor<7x{E}>",
       "%r",
       "func.func private @f(%a: tensor<7x{E}>, %b: tensor<7x{E}>) -> tensor<7x{E}> {\n  "
       "%r = stablehlo.maximum %a, %b : tensor<7x{E}>\n  return %r : tensor<7x{E}>\n}\n"});
  out.push_back(
      {OpKind::if_, "two branches",
       "(%p: tensor<i1>, %x: tensor<7x{E}>, %y: tensor<7x{E}>) -> tensor<7x{E}>",
       "%r = \"stablehlo.if\"(%p) ({\n    stablehlo.return %x : tensor<7x{E}>\n  }, {\n   "
       " %s = stablehlo.maximum %x, %y : tensor<7x{E}>\n    stablehlo.return %s : "
       "tensor<7x{E}>\n  }) : (tensor<i1>) -> tensor<7x{E}>",
       "%r", ""});
  out.push_back(
      {OpKind::case_, "two branches",
       "(%p: tensor<i32>, %x: tensor<7x{E}>, %y: tensor<7x{E}>) -> tensor<7x{E}>",
       "%r = \"stablehlo.case\"(%p) ({\n    stablehlo.return %x : tensor<7x{E}>\n  }, {\n "
       "   %s = stablehlo.maximum %x, %y : tensor<7x{E}>\n    stablehlo.return %s : "
       "tensor<7x{E}>\n  }) : (tensor<i32>) -> tensor<7x{E}>",
       "%r", ""});
  out.push_back(
      {OpKind::while_, "counted", vector,
       "%i = stablehlo.constant dense<0> : tensor<i32>\n  %n = stablehlo.constant dense<9> : "
       "tensor<i32>\n  %o = stablehlo.constant dense<1> : tensor<i32>\n  %r:2 = "
       "stablehlo.while(%k = %i, %v = %x) : tensor<i32>, tensor<7x{E}>\n   cond {\n    %c = "
       "stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    "
       "stablehlo.return %c : tensor<i1>\n  } do {\n    %k1 = stablehlo.add %k, %o : "
       "tensor<i32>\n    %t = stablehlo.reverse %v, dims = [0] : tensor<7x{E}>\n    %v1 = "
       "stablehlo.maximum %t, %y : tensor<7x{E}>\n    stablehlo.return %k1, %v1 : tensor<i32>, "
       "tensor<7x{E}>\n  }",
       "%r#1", ""});
  out.push_back({OpKind::optimization_barrier, "two values",
                 "(%x: tensor<7x{E}>, %y: tensor<5x{E}>) -> (tensor<7x{E}>, tensor<5x{E}>)",
                 "%r:2 = stablehlo.optimization_barrier %x, %y : tensor<7x{E}>, tensor<5x{E}>",
                 "%r#0, %r#1", ""});
  out.push_back({OpKind::tuple, "made and taken apart", vector,
                 "%t = stablehlo.tuple %x, %y : tuple<tensor<7x{E}>, tensor<7x{E}>>\n  %r = "
                 "stablehlo.get_tuple_element %t[1] : (tuple<tensor<7x{E}>, tensor<7x{E}>>) -> "
                 "tensor<7x{E}>",
                 "%r", ""});
  out.push_back({OpKind::get_tuple_element, "made and taken apart", vector,
                 "%t = stablehlo.tuple %x, %y : tuple<tensor<7x{E}>, tensor<7x{E}>>\n  %r = "
                 "stablehlo.get_tuple_element %t[0] : (tuple<tensor<7x{E}>, tensor<7x{E}>>) -> "
                 "tensor<7x{E}>",
                 "%r", ""});
  out.push_back({OpKind::create_token, "token", "(%x: tensor<7x{E}>) -> tensor<7x{E}>",
                 "%t = stablehlo.create_token : !stablehlo.token", "%x", ""});
  out.push_back({OpKind::after_all, "two tokens", "(%x: tensor<7x{E}>) -> tensor<7x{E}>",
                 "%t = stablehlo.create_token : !stablehlo.token\n  %u = stablehlo.after_all %t, "
                 "%t : !stablehlo.token",
                 "%x", ""});
  out.push_back({OpKind::custom_call, "sharding marker", "(%x: tensor<7x{E}>) -> tensor<7x{E}>",
                 "%r = stablehlo.custom_call @Sharding(%x) : (tensor<7x{E}>) -> tensor<7x{E}>",
                 "%r", ""});
  out.push_back({OpKind::custom_call, "unknown target", "(%x: tensor<7x{E}>) -> tensor<7x{E}>",
                 "%r = stablehlo.custom_call @my_target(%x) : (tensor<7x{E}>) -> tensor<7x{E}>",
                 "%r", ""});
  out.push_back({OpKind::sdy_sharding_constraint, "one device",
                 "(%x: tensor<7x{E}>) -> tensor<7x{E}>",
                 "%r = sdy.sharding_constraint %x <@mesh, [{}]> : tensor<7x{E}>", "%r",
                 "sdy.mesh @mesh = <[\"x\"=1]>\n"});
  for (const char* algorithm : {"DEFAULT", "THREE_FRY", "PHILOX"})
    out.push_back(
        {OpKind::rng_bit_generator, algorithm,
         "(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<9x{E}>)",
         fmt::format(
             "%r, %b = stablehlo.rng_bit_generator %s, algorithm = {} : (tensor<2xui64>) -> "
             "(tensor<2xui64>, tensor<9x{{E}}>)",
             algorithm),
         "%r, %b", ""});
  for (const char* distribution : {"UNIFORM", "NORMAL"})
    out.push_back({OpKind::rng, distribution, "() -> tensor<4x5x{E}>",
                   fmt::format("%a = stablehlo.constant dense<{{Z}}> : tensor<{{E}}>\n  %b = "
                               "stablehlo.constant dense<{{O}}> : tensor<{{E}}>\n  %n = "
                               "stablehlo.constant dense<[4, 5]> : tensor<2xi64>\n  %r = "
                               "stablehlo.rng %a, %b, %n, distribution = {} : (tensor<{{E}}>, "
                               "tensor<{{E}}>, tensor<2xi64>) -> tensor<4x5x{{E}}>",
                               distribution),
                   "%r", ""});

  // Shapes given as values, here as constants.
  const std::string shape = "%n = stablehlo.constant dense<[2, 6]> : tensor<2xi32>\n  ";
  out.push_back({OpKind::dynamic_broadcast_in_dim, "constant shape",
                 "(%x: tensor<6x{E}>) -> tensor<2x6x{E}>",
                 shape + "%r = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [1] : "
                         "(tensor<6x{E}>, tensor<2xi32>) -> tensor<2x6x{E}>",
                 "%r", ""});
  out.push_back({OpKind::dynamic_reshape, "constant shape",
                 "(%x: tensor<12x{E}>) -> tensor<2x6x{E}>",
                 shape + "%r = stablehlo.dynamic_reshape %x, %n : (tensor<12x{E}>, tensor<2xi32>) "
                         "-> tensor<2x6x{E}>",
                 "%r", ""});
  out.push_back({OpKind::dynamic_iota, "constant shape", "() -> tensor<2x6x{E}>",
                 shape + "%r = stablehlo.dynamic_iota %n, dim = 1 : (tensor<2xi32>) -> "
                         "tensor<2x6x{E}>",
                 "%r", ""});
  out.push_back(
      {OpKind::dynamic_pad, "constant amounts",
       "(%x: tensor<3x{E}>, %s: tensor<{E}>) -> tensor<8x{E}>",
       "%l = stablehlo.constant dense<[1]> : tensor<1xi32>\n  %h = stablehlo.constant dense<[2]> : "
       "tensor<1xi32>\n  %r = stablehlo.dynamic_pad %x, %s, %l, %h, %l : (tensor<3x{E}>, "
       "tensor<{E}>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<8x{E}>",
       "%r", ""});
  out.push_back({OpKind::real_dynamic_slice, "constant places",
                 "(%x: tensor<9x{E}>) -> tensor<3x{E}>",
                 "%s = stablehlo.constant dense<[2]> : tensor<1xi32>\n  %l = stablehlo.constant "
                 "dense<[8]> : tensor<1xi32>\n  %r = stablehlo.real_dynamic_slice %x, %s, %l, %s : "
                 "(tensor<9x{E}>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3x{E}>",
                 "%r", ""});
  out.push_back(
      {OpKind::dynamic_gather, "constant sizes",
       "(%x: tensor<4x6x{E}>, %i: tensor<5x1xi32>) -> tensor<5x6x{E}>",
       "%n = stablehlo.constant dense<[1, 6]> : tensor<2xi32>\n  %r = "
       "\"stablehlo.dynamic_gather\"(%x, %i, %n) <{dimension_numbers = "
       "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
       "index_vector_dim = 1>}> : (tensor<4x6x{E}>, tensor<5x1xi32>, tensor<2xi32>) -> "
       "tensor<5x6x{E}>",
       "%r", ""});
  out.push_back(
      {OpKind::dynamic_conv, "constant padding",
       "(%x: tensor<2x8x3x{E}>, %k: tensor<3x3x4x{E}>) -> tensor<2x8x4x{E}>",
       "%p = stablehlo.constant dense<[[1, 1]]> : tensor<1x2xi32>\n  %r = "
       "\"stablehlo.dynamic_conv\"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = "
       "#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : "
       "(tensor<2x8x3x{E}>, tensor<3x3x4x{E}>, tensor<1x2xi32>) -> tensor<2x8x4x{E}>",
       "%r", ""});
  out.push_back({OpKind::get_dimension_size, "static", "(%x: tensor<4x6x{E}>) -> tensor<i32>",
                 "%r = stablehlo.get_dimension_size %x, dim = 1 : (tensor<4x6x{E}>) -> "
                 "tensor<i32>",
                 "%r", ""});
  out.push_back({OpKind::set_dimension_size, "static", "(%x: tensor<4x6x{E}>) -> tensor<4x6x{E}>",
                 "%n = stablehlo.constant dense<6> : tensor<i32>\n  %r = "
                 "stablehlo.set_dimension_size %x, %n, dim = 1 : (tensor<4x6x{E}>, tensor<i32>) -> "
                 "tensor<4x6x{E}>",
                 "%r", ""});

  // Collectives of one participant.
  const std::string groups = "replica_groups = dense<0> : tensor<1x1xi64>";
  const std::string adding =
      "({ ^bb0(%a: tensor<{E}>, %b: tensor<{E}>):\n    %c = stablehlo.add %a, %b : tensor<{E}>\n   "
      " "
      "stablehlo.return %c : tensor<{E}> })";
  auto collective = [&](OpKind kind, const std::string& attributes, bool region) {
    out.push_back({kind, "one participant", "(%x: tensor<4x6x{E}>) -> tensor<4x6x{E}>",
                   fmt::format("%r = \"{}\"(%x) <{{{}}}>{} : (tensor<4x6x{{E}}>) -> "
                               "tensor<4x6x{{E}}>",
                               info(kind).mnemonic, attributes, region ? " " + adding : ""),
                   "%r", ""});
  };
  collective(OpKind::all_gather, "all_gather_dim = 0 : i64, " + groups, false);
  collective(OpKind::all_reduce, groups, true);
  collective(
      OpKind::all_to_all,
      "split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 1 : i64, " + groups,
      false);
  collective(OpKind::collective_broadcast, groups, false);
  collective(OpKind::collective_permute, "source_target_pairs = dense<0> : tensor<1x2xi64>", false);
  collective(OpKind::cross_replica_sum, groups, false);
  collective(OpKind::reduce_scatter, "scatter_dimension = 0 : i64, " + groups, true);
  out.push_back({OpKind::partition_id, "one participant", "(%x: tensor<{E}>) -> tensor<ui32>",
                 "%r = stablehlo.partition_id : tensor<ui32>", "%r", ""});
  out.push_back({OpKind::replica_id, "one participant", "(%x: tensor<{E}>) -> tensor<ui32>",
                 "%r = stablehlo.replica_id : tensor<ui32>", "%r", ""});
  const std::string token = "%t = stablehlo.create_token : !stablehlo.token\n  ";
  out.push_back({OpKind::infeed, "one value", "() -> tensor<4x{E}>",
                 token + "%r:2 = \"stablehlo.infeed\"(%t) <{infeed_config = \"\"}> : "
                         "(!stablehlo.token) -> (tensor<4x{E}>, !stablehlo.token)",
                 "%r#0", ""});
  out.push_back({OpKind::outfeed, "one value", "(%x: tensor<4x{E}>) -> tensor<4x{E}>",
                 token + "%r = \"stablehlo.outfeed\"(%x, %t) <{outfeed_config = \"\"}> : "
                         "(tensor<4x{E}>, !stablehlo.token) -> !stablehlo.token",
                 "%x", ""});
  out.push_back({OpKind::send, "one value", "(%x: tensor<4x{E}>) -> tensor<4x{E}>",
                 token +
                     "%r = \"stablehlo.send\"(%x, %t) <{channel_handle = "
                     "#stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> "
                     ": (tensor<4x{E}>, !stablehlo.token) -> !stablehlo.token",
                 "%x", ""});
  out.push_back({OpKind::recv, "one value", "() -> tensor<4x{E}>",
                 token +
                     "%r:2 = \"stablehlo.recv\"(%t) <{channel_handle = "
                     "#stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> "
                     ": (!stablehlo.token) -> (tensor<4x{E}>, !stablehlo.token)",
                 "%r#0", ""});
  return out;
}

}  // namespace ullage::conformance
