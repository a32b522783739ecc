// Attributes of operations, as typed structs named after the operation or the group that shares
// them. Field names are those of the StableHLO specification. Every struct compares by content. An
// operation holds exactly one of them, in the variant Attributes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/literal.h"
#include "ir/type.h"

namespace ullage {

using Dims = std::vector<int64_t>;

// An attribute that Ullage does not interpret, kept as written so that it can be printed back:
// "mhlo.sharding" and the like on functions, arguments and operations. An empty text is a unit
// attribute.
struct NamedAttribute {
  std::string name;
  std::string text;
  friend bool operator==(const NamedAttribute&, const NamedAttribute&) = default;
};
using NamedAttributes = std::vector<NamedAttribute>;

struct NoAttributes {
  friend bool operator==(const NoAttributes&, const NoAttributes&) = default;
};

struct ConstantAttributes {
  Literal value;
  friend bool operator==(const ConstantAttributes&, const ConstantAttributes&) = default;
};

// broadcast (sizes), broadcast_in_dim and dynamic_broadcast_in_dim (dimensions), transpose
// (permutation), reverse (dimensions), reduce and map (dimensions), dynamic_slice (slice_sizes).
struct DimsAttributes {
  Dims dims;
  Dims known_expanding;     // dynamic_broadcast_in_dim only
  Dims known_nonexpanding;  // dynamic_broadcast_in_dim only
  friend bool operator==(const DimsAttributes&, const DimsAttributes&) = default;
};

// concatenate, iota, dynamic_iota, get_dimension_size, set_dimension_size: dimension;
// get_tuple_element: index; torch_index_select: dim.
struct DimAttributes {
  int64_t dim = 0;
  int64_t batch_dims = 0;  // torch_index_select only
  friend bool operator==(const DimAttributes&, const DimAttributes&) = default;
};

struct SliceAttributes {
  Dims start, limit, strides;
  friend bool operator==(const SliceAttributes&, const SliceAttributes&) = default;
};

struct PadAttributes {
  Dims low, high, interior;
  friend bool operator==(const PadAttributes&, const PadAttributes&) = default;
};

enum class CompareDirection : uint8_t { eq, ne, ge, gt, le, lt };
enum class CompareType : uint8_t { unspecified, floating, totalorder, signed_, unsigned_ };
struct CompareAttributes {
  CompareDirection direction = CompareDirection::eq;
  CompareType type = CompareType::unspecified;
  friend bool operator==(const CompareAttributes&, const CompareAttributes&) = default;
};

enum class Precision : uint8_t { default_, high, highest };
struct DotAlgorithm {
  std::string lhs_precision_type, rhs_precision_type,
      accumulation_type;  // as written: "tf32", "f32"
  int64_t lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1;
  bool allow_imprecise_accumulation = false;
  friend bool operator==(const DotAlgorithm&, const DotAlgorithm&) = default;
};
// dot_general, dot with no dimension numbers, and chlo.ragged_dot.
struct DotAttributes {
  Dims lhs_batching, rhs_batching, lhs_contracting, rhs_contracting;
  Dims lhs_ragged, rhs_group;        // chlo.ragged_dot only
  std::vector<Precision> precision;  // empty or two
  std::optional<DotAlgorithm> algorithm;
  friend bool operator==(const DotAttributes&, const DotAttributes&) = default;
};

struct EinsumAttributes {
  std::string config;
  friend bool operator==(const EinsumAttributes&, const EinsumAttributes&) = default;
};

struct ConvolutionDimensionNumbers {
  int64_t input_batch = 0, input_feature = 0;
  Dims input_spatial;
  int64_t kernel_input_feature = 0, kernel_output_feature = 0;
  Dims kernel_spatial;
  int64_t output_batch = 0, output_feature = 0;
  Dims output_spatial;
  friend bool operator==(const ConvolutionDimensionNumbers&,
                         const ConvolutionDimensionNumbers&) = default;
};
// convolution and dynamic_conv. Empty window vectors mean the defaults of the specification.
struct ConvolutionAttributes {
  ConvolutionDimensionNumbers dims;
  Dims window_strides;
  std::vector<std::pair<int64_t, int64_t>> padding;  // low, high per spatial dimension
  Dims lhs_dilation, rhs_dilation;
  std::vector<bool> window_reversal;
  int64_t feature_group_count = 1, batch_group_count = 1;
  std::vector<Precision> precision;
  friend bool operator==(const ConvolutionAttributes&, const ConvolutionAttributes&) = default;
};

// gather and dynamic_gather (slice_sizes empty for the latter).
struct GatherAttributes {
  Dims offset_dims, collapsed_slice_dims, operand_batching_dims, start_indices_batching_dims,
      start_index_map;
  int64_t index_vector_dim = 0;
  Dims slice_sizes;
  bool indices_are_sorted = false;
  friend bool operator==(const GatherAttributes&, const GatherAttributes&) = default;
};

struct ScatterAttributes {
  Dims update_window_dims, inserted_window_dims, input_batching_dims, scatter_indices_batching_dims,
      scatter_dims_to_operand_dims;
  int64_t index_vector_dim = 0;
  bool indices_are_sorted = false, unique_indices = false;
  friend bool operator==(const ScatterAttributes&, const ScatterAttributes&) = default;
};

// reduce_window, and select_and_scatter (without dilations).
struct WindowAttributes {
  Dims window_dimensions, window_strides, base_dilations, window_dilations;
  std::vector<std::pair<int64_t, int64_t>> padding;
  friend bool operator==(const WindowAttributes&, const WindowAttributes&) = default;
};

struct SortAttributes {
  int64_t dimension = -1;
  bool is_stable = false;
  friend bool operator==(const SortAttributes&, const SortAttributes&) = default;
};

struct TopKAttributes {
  int64_t k = 0;
  bool largest = true;
  friend bool operator==(const TopKAttributes&, const TopKAttributes&) = default;
};

enum class RngDistribution : uint8_t { uniform, normal };
enum class RngAlgorithm : uint8_t { default_, three_fry, philox };
struct RngAttributes {
  RngDistribution distribution = RngDistribution::uniform;  // of rng
  RngAlgorithm algorithm = RngAlgorithm::default_;          // of rng_bit_generator
  friend bool operator==(const RngAttributes&, const RngAttributes&) = default;
};

enum class FftType : uint8_t { fft, ifft, rfft, irfft };
struct FftAttributes {
  FftType type = FftType::fft;
  Dims length;
  friend bool operator==(const FftAttributes&, const FftAttributes&) = default;
};

enum class TransposeKind : uint8_t { no_transpose, transpose, adjoint };
// triangular_solve, and cholesky (lower only).
struct TriangularAttributes {
  bool left_side = true, lower = true, unit_diagonal = false;
  TransposeKind transpose_a = TransposeKind::no_transpose;
  friend bool operator==(const TriangularAttributes&, const TriangularAttributes&) = default;
};

struct ReducePrecisionAttributes {
  int64_t exponent_bits = 8, mantissa_bits = 23;
  friend bool operator==(const ReducePrecisionAttributes&,
                         const ReducePrecisionAttributes&) = default;
};

struct BatchNormAttributes {
  double epsilon = 0;
  int64_t feature_index = 0;
  friend bool operator==(const BatchNormAttributes&, const BatchNormAttributes&) = default;
};

struct CallAttributes {
  std::string callee;
  friend bool operator==(const CallAttributes&, const CallAttributes&) = default;
};

struct OutputOperandAlias {
  Dims output_tuple_indices;
  int64_t operand_index = 0;
  Dims operand_tuple_indices;
  friend bool operator==(const OutputOperandAlias&, const OutputOperandAlias&) = default;
};
struct CustomCallAttributes {
  std::string target;
  bool has_side_effect = false;
  std::string backend_config;  // the string form, or the dictionary form as written
  int64_t api_version = 1;
  std::vector<std::string> called_computations;
  std::vector<Dims> operand_layouts, result_layouts;  // empty, or one per operand and result
  std::vector<OutputOperandAlias> output_operand_aliases;
  friend bool operator==(const CustomCallAttributes&, const CustomCallAttributes&) = default;
};

struct CompositeAttributes {
  std::string name, decomposition;
  std::string composite_attributes;  // dictionary as written, with braces; may be empty
  int64_t version = 0;
  friend bool operator==(const CompositeAttributes&, const CompositeAttributes&) = default;
};

// Every collective uses the fields its specification has; the rest keep their defaults.
struct CollectiveAttributes {
  Dims replica_groups;  // row-major groups x size; padded with -1
  int64_t group_count = 0, group_size = 0;
  Dims pairs;  // collective_permute: source, target, source, target, ...
  int64_t channel_id = 0, channel_type = 0;
  bool has_channel = false, use_global_device_ids = false, is_host_transfer = false;
  int64_t dim = 0;  // all_gather_dim, scatter_dimension, split_dimension
  int64_t concat_dim = 0, split_count = 0;
  std::string config;  // infeed, outfeed
  Dims layout;
  friend bool operator==(const CollectiveAttributes&, const CollectiveAttributes&) = default;
};

// sdy operations: attribute texts as written.
struct ShardingAttributes {
  std::string sharding;  // of sharding_constraint
  std::string in_shardings, out_shardings, manual_axes;
  friend bool operator==(const ShardingAttributes&, const ShardingAttributes&) = default;
};

// check.expect_*: the expected constant, or the tolerance.
struct CheckAttributes {
  std::optional<Literal> value;
  double tolerance = 0;                                    // expect_almost_eq
  int64_t min_ulp_difference = 0, max_ulp_difference = 0;  // expect_close
  std::string text;                                        // file name of expect_serialized_eq
  friend bool operator==(const CheckAttributes&, const CheckAttributes&) = default;
};

using Attributes =
    std::variant<NoAttributes, ConstantAttributes, DimsAttributes, DimAttributes, SliceAttributes,
                 PadAttributes, CompareAttributes, DotAttributes, EinsumAttributes,
                 ConvolutionAttributes, GatherAttributes, ScatterAttributes, WindowAttributes,
                 SortAttributes, TopKAttributes, RngAttributes, FftAttributes, TriangularAttributes,
                 ReducePrecisionAttributes, BatchNormAttributes, CallAttributes,
                 CustomCallAttributes, CompositeAttributes, CollectiveAttributes,
                 ShardingAttributes, CheckAttributes>;

}  // namespace ullage
