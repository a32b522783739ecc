// What an operation's struct holds before anything is read, and which of its fields say nothing.
#include <algorithm>

#include "syntax/describe.h"

namespace ullage::syntax {

Attributes empty_attributes(OpKind kind) {
  switch (kind) {
    case OpKind::constant:
      return ConstantAttributes{};
    case OpKind::broadcast:
    case OpKind::broadcast_in_dim:
    case OpKind::dynamic_broadcast_in_dim:
    case OpKind::transpose:
    case OpKind::reverse:
    case OpKind::reduce:
    case OpKind::map:
    case OpKind::dynamic_slice:
      return DimsAttributes{};
    case OpKind::concatenate:
    case OpKind::iota:
    case OpKind::dynamic_iota:
    case OpKind::get_dimension_size:
    case OpKind::set_dimension_size:
    case OpKind::get_tuple_element:
    case OpKind::torch_index_select:
      return DimAttributes{};
    case OpKind::slice:
      return SliceAttributes{};
    case OpKind::pad:
      return PadAttributes{};
    case OpKind::compare:
      return CompareAttributes{};
    case OpKind::dot:
    case OpKind::dot_general:
    case OpKind::chlo_ragged_dot:
      return DotAttributes{};
    case OpKind::einsum:
    case OpKind::unary_einsum:
      return EinsumAttributes{};
    case OpKind::convolution:
    case OpKind::dynamic_conv:
      return ConvolutionAttributes{};
    case OpKind::gather:
    case OpKind::dynamic_gather:
      return GatherAttributes{};
    case OpKind::scatter:
      return ScatterAttributes{};
    case OpKind::reduce_window:
    case OpKind::select_and_scatter:
      return WindowAttributes{};
    case OpKind::sort:
      return SortAttributes{};
    case OpKind::chlo_top_k:
      return TopKAttributes{};
    case OpKind::rng:
    case OpKind::rng_bit_generator:
      return RngAttributes{};
    case OpKind::fft:
      return FftAttributes{};
    case OpKind::triangular_solve:
      return TriangularAttributes{};
    case OpKind::cholesky: {
      TriangularAttributes out;
      out.lower = false;
      return out;
    }
    case OpKind::reduce_precision:
      return ReducePrecisionAttributes{};
    case OpKind::batch_norm_grad:
    case OpKind::batch_norm_inference:
    case OpKind::batch_norm_training:
      return BatchNormAttributes{};
    case OpKind::call:
      return CallAttributes{};
    case OpKind::custom_call:
      return CustomCallAttributes{};
    case OpKind::composite:
      return CompositeAttributes{};
    case OpKind::all_gather:
    case OpKind::all_reduce:
    case OpKind::all_to_all:
    case OpKind::collective_broadcast:
    case OpKind::collective_permute:
    case OpKind::cross_replica_sum:
    case OpKind::infeed:
    case OpKind::outfeed:
    case OpKind::recv:
    case OpKind::reduce_scatter:
    case OpKind::send:
      return CollectiveAttributes{};
    case OpKind::sdy_manual_computation:
    case OpKind::sdy_sharding_constraint:
      return ShardingAttributes{};
    case OpKind::check_expect_close: {
      CheckAttributes out;
      out.max_ulp_difference = 3;
      return out;
    }
    case OpKind::check_expect_almost_eq:
    case OpKind::check_expect_almost_eq_const:
    case OpKind::check_expect_eq:
    case OpKind::check_expect_eq_const:
    case OpKind::check_expect_serialized_eq:
      return CheckAttributes{};
    default:
      return NoAttributes{};
  }
}

namespace {

// Only lists of the right length are taken out; the verifier reports the others.
template <typename List, typename Neutral>
void drop(List& list, size_t length, const Neutral& neutral) {
  if (list.size() == length &&
      std::all_of(list.begin(), list.end(), [&](const auto& v) { return v == neutral; }))
    list.clear();
}

constexpr std::pair<int64_t, int64_t> kNoPadding{0, 0};

}  // namespace

void drop_defaults(Attributes& attributes) {
  if (auto* dot = std::get_if<DotAttributes>(&attributes)) {
    drop(dot->precision, 2, Precision::default_);
  } else if (auto* convolution = std::get_if<ConvolutionAttributes>(&attributes)) {
    const size_t spatial = convolution->dims.input_spatial.size();
    drop(convolution->window_strides, spatial, 1);
    drop(convolution->lhs_dilation, spatial, 1);
    drop(convolution->rhs_dilation, spatial, 1);
    drop(convolution->padding, spatial, kNoPadding);
    drop(convolution->window_reversal, spatial, false);
    drop(convolution->precision, 2, Precision::default_);
  } else if (auto* window = std::get_if<WindowAttributes>(&attributes)) {
    const size_t rank = window->window_dimensions.size();
    drop(window->window_strides, rank, 1);
    drop(window->base_dilations, rank, 1);
    drop(window->window_dilations, rank, 1);
    drop(window->padding, rank, kNoPadding);
  }
}

}  // namespace ullage::syntax
