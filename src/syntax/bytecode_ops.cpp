#include "syntax/bytecode_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "syntax/describe.h"

namespace ullage::syntax {

namespace {

// Properties are written in alphabetical order of their names, with nothing in between. A version
// is a row of its own; without a row there is version 1, which has no properties.
struct Row {
  std::string_view name, properties;
};

constexpr Row kVhloRows[] = {
    {"all_gather_v1", "all_gather_dim channel_id replica_groups use_global_device_ids"},
    {"all_gather_v2", "all_gather_dim channel_id replica_groups use_global_device_ids"},
    {"all_reduce_v1", "channel_id replica_groups use_global_device_ids"},
    {"all_reduce_v2", "channel_id replica_groups use_global_device_ids"},
    {"all_to_all_v1", "channel_id concat_dimension replica_groups split_count split_dimension"},
    {"all_to_all_v2", "channel_id concat_dimension replica_groups split_count split_dimension"},
    {"batch_norm_grad_v1", "epsilon feature_index"},
    {"batch_norm_inference_v1", "epsilon feature_index"},
    {"batch_norm_training_v1", "epsilon feature_index"},
    {"broadcast_in_dim_v1", "broadcast_dimensions"},
    {"broadcast_v1", "broadcast_sizes"},
    {"call_v1", "callee"},
    {"cbrt_v2", "result_accuracy"},
    {"cholesky_v1", "lower"},
    {"collective_broadcast_v1", "channel_id replica_groups"},
    {"collective_permute_v1", "channel_id source_target_pairs"},
    {"compare_v1", "compare_type comparison_direction"},
    {"composite_v1", "composite_attributes decomposition name version"},
    {"composite_v2", "composite_attributes decomposition name version"},
    {"concatenate_v1", "dimension"},
    {"constant_v1", "value"},
    {"convolution_v1",
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension "
     "kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension "
     "output_spatial_dimensions padding precision_config rhs_dilation window_reversal "
     "window_strides"},
    {"cosine_v2", "result_accuracy"},
    {"cross-replica-sum_v1", "replica_groups"},
    {"custom_call_v1",
     "api_version backend_config call_target_name called_computations has_side_effect "
     "operand_layouts output_operand_aliases result_layouts"},
    {"dot_general_v1",
     "lhs_batching_dimensions lhs_contracting_dimensions precision_config "
     "rhs_batching_dimensions rhs_contracting_dimensions"},
    {"dot_general_v2",
     "accumulation_type allow_imprecise_accumulation lhs_batching_dimensions lhs_component_count "
     "lhs_contracting_dimensions lhs_precision_type num_primitive_operations precision_config "
     "rhs_batching_dimensions rhs_component_count rhs_contracting_dimensions rhs_precision_type"},
    {"dot_v1", "precision_config"},
    {"dynamic_broadcast_in_dim_v1",
     "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions"},
    {"dynamic_conv_v2",
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension "
     "kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension "
     "output_spatial_dimensions precision_config rhs_dilation window_reversal window_strides"},
    {"dynamic_gather_v1",
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims start_index_map"},
    {"dynamic_gather_v2",
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims "
     "start_index_map start_indices_batching_dims"},
    {"dynamic_iota_v1", "iota_dimension"},
    {"dynamic_slice_v1", "slice_sizes"},
    {"einsum_v1", "einsum_config"},
    {"exponential_minus_one_v2", "result_accuracy"},
    {"exponential_v2", "result_accuracy"},
    {"fft_v1", "fft_length fft_type"},
    {"gather_v1",
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims slice_sizes "
     "start_index_map"},
    {"gather_v2",
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims "
     "slice_sizes start_index_map start_indices_batching_dims"},
    {"get_dimension_size_v1", "dimension"},
    {"get_tuple_element_v1", "index"},
    {"infeed_v1", "infeed_config layout"},
    {"iota_v1", "iota_dimension"},
    {"log_plus_one_v2", "result_accuracy"},
    {"log_v2", "result_accuracy"},
    {"logistic_v2", "result_accuracy"},
    {"map_v1", "dimensions"},
    {"outfeed_v1", "outfeed_config"},
    {"pad_v1", "edge_padding_high edge_padding_low interior_padding"},
    {"recv_v1", "channel_id channel_type is_host_transfer"},
    {"recv_v2", "channel_id channel_type is_host_transfer source_target_pairs"},
    {"reduce_precision_v1", "exponent_bits mantissa_bits"},
    {"reduce_scatter_v1", "channel_id replica_groups scatter_dimension use_global_device_ids"},
    {"reduce_v1", "dimensions"},
    {"reduce_window_v1",
     "base_dilations padding window_dilations window_dimensions window_strides"},
    {"reverse_v1", "dimensions"},
    {"rng_bit_generator_v1", "rng_algorithm"},
    {"rng_v1", "rng_distribution"},
    {"rsqrt_v2", "result_accuracy"},
    {"scatter_v1",
     "index_vector_dim indices_are_sorted inserted_window_dims scatter_dims_to_operand_dims "
     "unique_indices update_window_dims"},
    {"scatter_v2",
     "index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims "
     "scatter_dims_to_operand_dims scatter_indices_batching_dims unique_indices "
     "update_window_dims"},
    {"select_and_scatter_v1", "padding window_dimensions window_strides"},
    {"send_v1", "channel_id channel_type is_host_transfer"},
    {"send_v2", "channel_id channel_type is_host_transfer source_target_pairs"},
    {"set_dimension_size_v1", "dimension"},
    {"sine_v2", "result_accuracy"},
    {"slice_v1", "limit_indices start_indices strides"},
    {"sort_v1", "dimension is_stable"},
    {"sqrt_v2", "result_accuracy"},
    {"tan_v2", "result_accuracy"},
    {"tanh_v2", "result_accuracy"},
    {"torch_index_select_v1", "batch_dims dim"},
    {"transpose_v1", "permutation"},
    {"triangular_solve_v1", "left_side lower transpose_a unit_diagonal"},
    {"unary_einsum_v1", "einsum_config"},
};

constexpr Row kShardyRows[] = {
    {"manual_computation", "in_shardings manual_axes out_shardings"},
    {"sharding_constraint", "sharding"},
};

constexpr std::string_view kFunctionProperties =
    "arg_attrs function_type res_attrs sym_name sym_visibility";

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

const Row* find(std::span<const Row> rows, std::string_view name) {
  for (const Row& row : rows)
    if (row.name == name) return &row;
  return nullptr;
}

// The kind of "add_v1"; calls and returns are StableHLO's only in VHLO.
std::optional<OpKind> vhlo_kind(std::string_view name) {
  const size_t version = name.rfind("_v");
  if (version == std::string_view::npos) return {};
  std::string_view bare = name.substr(0, version);
  if (bare == "call") return OpKind::call;
  if (bare == "return") return OpKind::return_;
  return op_from_mnemonic(fmt::format("stablehlo.{}", bare));
}

}  // namespace

BytecodeOp bytecode_op(std::string_view dialect, std::string_view name) {
  using Role = BytecodeOp::Role;
  BytecodeOp out;
  out.name = fmt::format("{}.{}", dialect, name);
  auto take = [&](std::optional<OpKind> kind, std::span<const Row> rows, bool without_row) {
    const Row* row = find(rows, name);
    if (!kind || (!row && !without_row)) return;
    out.role = Role::operation;
    out.kind = *kind;
    if (row) out.properties = words(row->properties);
  };
  if (dialect == "vhlo" && name == "func_v1") {
    out.role = Role::function;
    out.properties = words(kFunctionProperties);
  } else if (dialect == "vhlo") {
    const std::optional<OpKind> kind = vhlo_kind(name);
    const bool plain = kind && std::holds_alternative<NoAttributes>(empty_attributes(*kind));
    take(kind, kVhloRows, plain && name.ends_with("_v1"));
    if (kind == OpKind::return_ && out.role == Role::operation) out.role = Role::terminator;
  } else if (dialect == "sdy" && name == "mesh") {
    out.role = Role::mesh;
    out.properties = words("mesh sym_name");
  } else if (dialect == "sdy") {
    const std::optional<OpKind> kind = op_from_mnemonic(out.name);
    take(kind, kShardyRows, kind == OpKind::sdy_return);
  } else if (out.name == "builtin.module") {
    out.role = Role::module;
    out.properties = words("sym_name sym_visibility");
  } else if (out.name == "builtin.unrealized_conversion_cast") {
    out.role = Role::cast;
  }
  return out;
}

std::vector<std::string> bytecode_op_rows() {
  std::vector<std::string> out;
  for (const Row& row : kVhloRows) out.push_back(fmt::format("vhlo.{}", row.name));
  for (const Row& row : kShardyRows) out.push_back(fmt::format("sdy.{}", row.name));
  return out;
}

}  // namespace ullage::syntax
