// One description of every attribute struct, used in both directions: the reader fills a struct
// from a dictionary, the writer makes a dictionary from a struct. `describe(archive, kind, struct)`
// names each field as StableHLO's text does and says what it holds; an archive
// (read_attributes.cpp, write_attributes.cpp) does the rest. The archive's methods:
//
//   dims(name, Dims&, need)               a list of integers
//   integer(name, int64_t&, width, need)  an integer; `width` as in "i64"
//   boolean(name, bool&, need)
//   floating(name, double&, dtype, need)  dtype as in "f32"
//   string(name, std::string&, need)      symbol(name, std::string&, need)
//   symbols(name, std::vector<std::string>&)
//   keyword(name, E&, enumeration, words, need)   #stablehlo<enumeration WORD>; words[i] spells the
//   value i keywords(name, std::vector<E>&, enumeration, words) bools(name, std::vector<bool>&)
//   pairs(name, vector of pairs&): dense<[[0, 1]]> matrix(name, Dims&, rows&, columns&, need)
//   dense<[[0, 1], [2, 3]]>, -1 where a row is shorter literal(name, Literal&) layouts(name,
//   std::vector<Dims>&) structure(name, mnemonic, present*, need, f)  #mnemonic<...>, f(archive)
//   describes the fields convolution(name, ConvolutionDimensionNumbers&) structures(name, mnemonic,
//   std::vector<T>&, f)  a list of them, f(archive, T&) type(name, std::string&)              the
//   name of an element type flag(name, bool&)                     true when the name is there
//   verbatim(name, std::string&)          kept as written
//   sharding(name, std::string&, frame)   kept as written in the pretty form, which the generic one
//                                         puts in a frame: between its two brackets
//   config(name, std::string&, typed)     a string, or a dictionary as written when `typed`
//
// Fields that are not required are left at their default when absent, and not written when they
// have it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/attributes.h"
#include "ir/op_info.h"
#include "support/check.h"

namespace ullage::syntax {

enum class Need : uint8_t { required, optional };

// The struct that operations of this kind hold, with its defaults.
Attributes empty_attributes(OpKind kind);
// Windows and precisions that say the same as their absence are taken out, so that programs are
// equal however their exporters spell defaults.
void drop_defaults(Attributes& attributes);
// A sharding without the frame of its generic form: #sdy.sharding<@mesh, []> is <@mesh, []> in the
// frame "#sdy.sharding<>".
std::string without_frame(std::string text, std::string_view frame);

inline constexpr std::string_view kPrecisionWords[] = {"DEFAULT", "HIGH", "HIGHEST"};
inline constexpr std::string_view kDirectionWords[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
inline constexpr std::string_view kCompareTypeWords[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED",
                                                         "UNSIGNED"};
inline constexpr std::string_view kDistributionWords[] = {"UNIFORM", "NORMAL"};
inline constexpr std::string_view kAlgorithmWords[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
inline constexpr std::string_view kFftWords[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
inline constexpr std::string_view kTransposeWords[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};

inline std::string_view dims_name(OpKind kind) {
  switch (kind) {
    case OpKind::broadcast:
      return "broadcast_sizes";
    case OpKind::broadcast_in_dim:
    case OpKind::dynamic_broadcast_in_dim:
      return "broadcast_dimensions";
    case OpKind::transpose:
      return "permutation";
    case OpKind::dynamic_slice:
      return "slice_sizes";
    default:
      return "dimensions";
  }
}

inline std::string_view dim_name(OpKind kind) {
  switch (kind) {
    case OpKind::iota:
    case OpKind::dynamic_iota:
      return "iota_dimension";
    case OpKind::get_tuple_element:
      return "index";
    case OpKind::torch_index_select:
      return "dim";
    default:
      return "dimension";
  }
}

template <typename A>
void describe(A&, OpKind, NoAttributes&) {}

template <typename A>
void describe(A& a, OpKind, ConstantAttributes& s) {
  a.literal("value", s.value);
}

template <typename A>
void describe(A& a, OpKind kind, DimsAttributes& s) {
  a.dims(dims_name(kind), s.dims, Need::required);
  if (kind != OpKind::dynamic_broadcast_in_dim) return;
  a.dims("known_expanding_dimensions", s.known_expanding, Need::optional);
  a.dims("known_nonexpanding_dimensions", s.known_nonexpanding, Need::optional);
}

template <typename A>
void describe(A& a, OpKind kind, DimAttributes& s) {
  a.integer(dim_name(kind), s.dim, kind == OpKind::get_tuple_element ? "i32" : "i64",
            Need::required);
  if (kind == OpKind::torch_index_select)
    a.integer("batch_dims", s.batch_dims, "i64", Need::required);
}

template <typename A>
void describe(A& a, OpKind, SliceAttributes& s) {
  a.dims("start_indices", s.start, Need::required);
  a.dims("limit_indices", s.limit, Need::required);
  a.dims("strides", s.strides, Need::required);
}

template <typename A>
void describe(A& a, OpKind, PadAttributes& s) {
  a.dims("edge_padding_low", s.low, Need::required);
  a.dims("edge_padding_high", s.high, Need::required);
  a.dims("interior_padding", s.interior, Need::required);
}

template <typename A>
void describe(A& a, OpKind, CompareAttributes& s) {
  a.keyword("comparison_direction", s.direction, "comparison_direction", kDirectionWords,
            Need::required);
  a.keyword("compare_type", s.type, "comparison_type", kCompareTypeWords, Need::optional);
}

template <typename A>
void describe(A& a, OpKind kind, DotAttributes& s) {
  const bool ragged = kind == OpKind::chlo_ragged_dot;
  if (kind != OpKind::dot) {
    a.structure(ragged ? "ragged_dot_dimension_numbers" : "dot_dimension_numbers",
                ragged ? "chlo.ragged_dot" : "stablehlo.dot", nullptr, Need::required,
                [&](auto& f) {
                  f.dims("lhs_batching_dimensions", s.lhs_batching, Need::optional);
                  f.dims("rhs_batching_dimensions", s.rhs_batching, Need::optional);
                  f.dims("lhs_contracting_dimensions", s.lhs_contracting, Need::optional);
                  f.dims("rhs_contracting_dimensions", s.rhs_contracting, Need::optional);
                  if (!ragged) return;
                  f.dims("lhs_ragged_dimensions", s.lhs_ragged, Need::optional);
                  f.dims("rhs_group_dimensions", s.rhs_group, Need::optional);
                });
  }
  a.keywords("precision_config", s.precision, "precision", kPrecisionWords,
             ragged ? "chlo" : "stablehlo");
  if (kind != OpKind::dot_general) return;
  bool has_algorithm = s.algorithm.has_value();
  DotAlgorithm algorithm = s.algorithm.value_or(DotAlgorithm{});
  a.structure("algorithm", "stablehlo.dot_algorithm", &has_algorithm, Need::optional, [&](auto& f) {
    f.type("lhs_precision_type", algorithm.lhs_precision_type);
    f.type("rhs_precision_type", algorithm.rhs_precision_type);
    f.type("accumulation_type", algorithm.accumulation_type);
    f.integer("lhs_component_count", algorithm.lhs_component_count, "i64", Need::required);
    f.integer("rhs_component_count", algorithm.rhs_component_count, "i64", Need::required);
    f.integer("num_primitive_operations", algorithm.num_primitive_operations, "i64",
              Need::required);
    f.boolean("allow_imprecise_accumulation", algorithm.allow_imprecise_accumulation,
              Need::required);
  });
  if (has_algorithm) s.algorithm = algorithm;
}

template <typename A>
void describe(A& a, OpKind, EinsumAttributes& s) {
  a.string("einsum_config", s.config, Need::required);
}

template <typename A>
void describe_convolution(A& a, ConvolutionDimensionNumbers& s) {
  a.integer("input_batch_dimension", s.input_batch, "i64", Need::required);
  a.integer("input_feature_dimension", s.input_feature, "i64", Need::required);
  a.dims("input_spatial_dimensions", s.input_spatial, Need::required);
  a.integer("kernel_input_feature_dimension", s.kernel_input_feature, "i64", Need::required);
  a.integer("kernel_output_feature_dimension", s.kernel_output_feature, "i64", Need::required);
  a.dims("kernel_spatial_dimensions", s.kernel_spatial, Need::required);
  a.integer("output_batch_dimension", s.output_batch, "i64", Need::required);
  a.integer("output_feature_dimension", s.output_feature, "i64", Need::required);
  a.dims("output_spatial_dimensions", s.output_spatial, Need::required);
}

template <typename A>
void describe(A& a, OpKind, ConvolutionAttributes& s) {
  a.convolution("dimension_numbers", s.dims);
  a.dims("window_strides", s.window_strides, Need::optional);
  // dynamic_conv has its padding as an operand; a static one in the text of old exporters is read
  // all the same.
  a.pairs("padding", s.padding);
  a.dims("lhs_dilation", s.lhs_dilation, Need::optional);
  a.dims("rhs_dilation", s.rhs_dilation, Need::optional);
  a.bools("window_reversal", s.window_reversal);
  a.integer("batch_group_count", s.batch_group_count, "i64", Need::required);
  a.integer("feature_group_count", s.feature_group_count, "i64", Need::required);
  a.keywords("precision_config", s.precision, "precision", kPrecisionWords, "stablehlo");
}

template <typename A>
void describe(A& a, OpKind kind, GatherAttributes& s) {
  a.structure("dimension_numbers", "stablehlo.gather", nullptr, Need::required, [&](auto& f) {
    f.dims("offset_dims", s.offset_dims, Need::optional);
    f.dims("collapsed_slice_dims", s.collapsed_slice_dims, Need::optional);
    f.dims("operand_batching_dims", s.operand_batching_dims, Need::optional);
    f.dims("start_indices_batching_dims", s.start_indices_batching_dims, Need::optional);
    f.dims("start_index_map", s.start_index_map, Need::optional);
    f.integer("index_vector_dim", s.index_vector_dim, "i64", Need::optional);
  });
  if (kind == OpKind::gather) a.dims("slice_sizes", s.slice_sizes, Need::required);
  a.boolean("indices_are_sorted", s.indices_are_sorted, Need::optional);
}

template <typename A>
void describe(A& a, OpKind, ScatterAttributes& s) {
  a.structure(
      "scatter_dimension_numbers", "stablehlo.scatter", nullptr, Need::required, [&](auto& f) {
        f.dims("update_window_dims", s.update_window_dims, Need::optional);
        f.dims("inserted_window_dims", s.inserted_window_dims, Need::optional);
        f.dims("input_batching_dims", s.input_batching_dims, Need::optional);
        f.dims("scatter_indices_batching_dims", s.scatter_indices_batching_dims, Need::optional);
        f.dims("scatter_dims_to_operand_dims", s.scatter_dims_to_operand_dims, Need::optional);
        f.integer("index_vector_dim", s.index_vector_dim, "i64", Need::optional);
      });
  a.boolean("indices_are_sorted", s.indices_are_sorted, Need::optional);
  a.boolean("unique_indices", s.unique_indices, Need::optional);
}

template <typename A>
void describe(A& a, OpKind kind, WindowAttributes& s) {
  bool whole = kind == OpKind::reduce_window;
  a.dims("window_dimensions", s.window_dimensions, whole ? Need::required : Need::optional);
  a.dims("window_strides", s.window_strides, Need::optional);
  if (whole) {
    a.dims("base_dilations", s.base_dilations, Need::optional);
    a.dims("window_dilations", s.window_dilations, Need::optional);
  }
  a.pairs("padding", s.padding);
}

template <typename A>
void describe(A& a, OpKind, SortAttributes& s) {
  a.integer("dimension", s.dimension, "i64", Need::optional);
  a.boolean("is_stable", s.is_stable, Need::optional);
}

template <typename A>
void describe(A& a, OpKind, TopKAttributes& s) {
  a.integer("k", s.k, "i64", Need::required);
  a.boolean("largest", s.largest, Need::optional);
}

template <typename A>
void describe(A& a, OpKind kind, RngAttributes& s) {
  if (kind == OpKind::rng)
    a.keyword("rng_distribution", s.distribution, "rng_distribution", kDistributionWords,
              Need::required);
  else
    a.keyword("rng_algorithm", s.algorithm, "rng_algorithm", kAlgorithmWords, Need::required);
}

template <typename A>
void describe(A& a, OpKind, FftAttributes& s) {
  a.keyword("fft_type", s.type, "fft_type", kFftWords, Need::required);
  a.dims("fft_length", s.length, Need::required);
}

template <typename A>
void describe(A& a, OpKind kind, TriangularAttributes& s) {
  if (kind == OpKind::cholesky) {
    a.boolean("lower", s.lower, Need::optional);
    return;
  }
  a.boolean("left_side", s.left_side, Need::required);
  a.boolean("lower", s.lower, Need::required);
  a.keyword("transpose_a", s.transpose_a, "transpose", kTransposeWords, Need::required);
  a.boolean("unit_diagonal", s.unit_diagonal, Need::required);
}

template <typename A>
void describe(A& a, OpKind, ReducePrecisionAttributes& s) {
  a.integer("exponent_bits", s.exponent_bits, "i32", Need::required);
  a.integer("mantissa_bits", s.mantissa_bits, "i32", Need::required);
}

template <typename A>
void describe(A& a, OpKind, BatchNormAttributes& s) {
  a.floating("epsilon", s.epsilon, DType::f32, Need::required);
  a.integer("feature_index", s.feature_index, "i64", Need::required);
}

template <typename A>
void describe(A& a, OpKind, CallAttributes& s) {
  a.symbol("callee", s.callee, Need::required);
}

template <typename A>
void describe(A& a, OpKind, CustomCallAttributes& s) {
  a.string("call_target_name", s.target, Need::required);
  a.boolean("has_side_effect", s.has_side_effect, Need::optional);
  a.integer("api_version", s.api_version, "i32", Need::optional);
  constexpr int64_t kTypedConfig = 4;
  a.config("backend_config", s.backend_config, s.api_version == kTypedConfig);
  a.symbols("called_computations", s.called_computations);
  // Both or none must be there, even when there are no results to lay out.
  a.layouts("operand_layouts", s.operand_layouts, !s.result_layouts.empty());
  a.layouts("result_layouts", s.result_layouts, !s.operand_layouts.empty());
  a.structures("output_operand_aliases", "stablehlo.output_operand_alias", s.output_operand_aliases,
               [](auto& f, OutputOperandAlias& alias) {
                 f.dims("output_tuple_indices", alias.output_tuple_indices, Need::required);
                 f.integer("operand_index", alias.operand_index, "i64", Need::required);
                 f.dims("operand_tuple_indices", alias.operand_tuple_indices, Need::required);
               });
}

template <typename A>
void describe(A& a, OpKind, CompositeAttributes& s) {
  a.string("name", s.name, Need::required);
  a.verbatim("composite_attributes", s.composite_attributes);
  a.symbol("decomposition", s.decomposition, Need::required);
  a.integer("version", s.version, "i32", Need::optional);
}

template <typename A>
void describe(A& a, OpKind kind, CollectiveAttributes& s) {
  switch (kind) {
    case OpKind::all_gather:
      a.integer("all_gather_dim", s.dim, "i64", Need::required);
      break;
    case OpKind::reduce_scatter:
      a.integer("scatter_dimension", s.dim, "i64", Need::required);
      break;
    case OpKind::all_to_all:
      a.integer("split_dimension", s.dim, "i64", Need::required);
      a.integer("concat_dimension", s.concat_dim, "i64", Need::required);
      a.integer("split_count", s.split_count, "i64", Need::required);
      break;
    case OpKind::infeed:
      a.string("infeed_config", s.config, Need::optional);
      return;
    case OpKind::outfeed:
      a.string("outfeed_config", s.config, Need::optional);
      return;
    default:
      break;
  }
  if (kind == OpKind::collective_permute || kind == OpKind::send || kind == OpKind::recv) {
    int64_t count = static_cast<int64_t>(s.pairs.size()) / 2, two = 2;
    a.matrix("source_target_pairs", s.pairs, count, two,
             kind == OpKind::collective_permute ? Need::required : Need::optional);
  } else {
    a.matrix("replica_groups", s.replica_groups, s.group_count, s.group_size, Need::required);
  }
  if (kind == OpKind::send || kind == OpKind::recv)
    a.boolean("is_host_transfer", s.is_host_transfer, Need::optional);
  a.structure("channel_handle", "stablehlo.channel_handle", &s.has_channel, Need::optional,
              [&](auto& f) {
                f.integer("handle", s.channel_id, "i64", Need::required);
                f.integer("type", s.channel_type, "i64", Need::required);
              });
  if (kind == OpKind::all_gather || kind == OpKind::all_reduce || kind == OpKind::reduce_scatter)
    a.flag("use_global_device_ids", s.use_global_device_ids);
}

template <typename A>
void describe(A& a, OpKind kind, ShardingAttributes& s) {
  if (kind == OpKind::sdy_sharding_constraint) {
    a.sharding("sharding", s.sharding, "#sdy.sharding<>");
    return;
  }
  a.sharding("in_shardings", s.in_shardings, "#sdy.sharding_per_value<[]>");
  a.sharding("out_shardings", s.out_shardings, "#sdy.sharding_per_value<[]>");
  a.sharding("manual_axes", s.manual_axes, "#sdy<manual_axes{}>");
}

template <typename A>
void describe(A& a, OpKind kind, CheckAttributes& s) {
  switch (kind) {
    case OpKind::check_expect_almost_eq_const:
    case OpKind::check_expect_eq_const:
      if (!s.value) s.value.emplace();
      a.literal("value", *s.value);
      [[fallthrough]];
    case OpKind::check_expect_almost_eq:
      if (kind != OpKind::check_expect_eq_const)
        a.floating("tolerance", s.tolerance, DType::f64, Need::optional);
      break;
    case OpKind::check_expect_close:
      a.integer("max_ulp_difference", s.max_ulp_difference, "i64", Need::optional);
      a.integer("min_ulp_difference", s.min_ulp_difference, "i64", Need::optional);
      break;
    case OpKind::check_expect_serialized_eq:
      a.string("probe_id", s.text, Need::required);
      break;
    default:
      break;
  }
}

}  // namespace ullage::syntax
