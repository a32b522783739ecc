// Random numbers.
#include <fmt/format.h>

#include "ops/rules.h"

namespace ullage::ops {

namespace {

Result<Types> infer_rng(const OpView& view) {
  const Type& a = view.operands[0];
  const Type& b = view.operands[1];
  if (!a.is_tensor() || !b.is_tensor() || a.rank() != 0 || b.rank() != 0 || !same_element(a, b))
    return violation(view, 1,
                     fmt::format("bounds must be scalars of one type, found {} and {}",
                                 to_string(a), to_string(b)));
  if (!(element_class(a) & (kBool | kInteger | kFloat)))
    return violation(view, 0, "bounds must be booleans, integers or floats, found " + to_string(a));
  if (std::get<RngAttributes>(view.attributes).distribution == RngDistribution::normal &&
      !(element_class(a) & kFloat))
    return violation(view, 2,
                     "a normal distribution needs a floating-point type, found " + to_string(a));
  const Type& shape = view.operands[2];
  if (!shape.is_tensor() || shape.rank() != 1 || !(element_class(shape) & kInteger))
    return violation(view, 3, "shape must be a vector of integers, found " + to_string(shape));
  if (view.declared.size() == 1 && dims_agree(shape.shape[0], view.declared[0].rank()))
    return Types{with_shape(a, view.declared[0].shape)};
  if (shape.shape[0] == kDynamic || !view.declared.empty())
    return violation(view, 3, "the result's rank must be the number of elements of shape");
  return Types{with_shape(a, std::vector<int64_t>(static_cast<size_t>(shape.shape[0]), kDynamic))};
}

Result<Types> infer_rng_bit_generator(const OpView& view) {
  const Type& state = view.operands[0];
  RngAlgorithm algorithm = std::get<RngAttributes>(view.attributes).algorithm;
  if (!state.is_tensor() || state.rank() != 1 ||
      (state.dtype != DType::ui64 && state.dtype != DType::ui32))
    return violation(view, 1, "the state must be a vector of ui64, found " + to_string(state));
  int64_t words = state.dtype == DType::ui64 || state.shape[0] == kDynamic ? state.shape[0]
                                                                           : state.shape[0] / 2;
  bool fits =
      words == kDynamic || words == 2 || (algorithm != RngAlgorithm::three_fry && words == 3);
  if (!fits)
    return violation(view, 2, "the algorithm does not take a state of type " + to_string(state));
  if (view.declared.size() != 2 || !view.declared[1].is_tensor() ||
      !(element_class(view.declared[1]) & (kInteger | kFloat)))
    return violation(view, 0, "the output type must be given, of integers or floats");
  return Types{state, view.declared[1]};
}

}  // namespace

void add_random_rules(RuleTable& table) {
  constexpr size_t kRng = attribute_index<RngAttributes>();
  row(table, OpKind::rng) = {infer_rng, kRng, 0, "(C3)"};
  row(table, OpKind::rng_bit_generator) = {infer_rng_bit_generator, kRng, 0, "(C1)"};
}

}  // namespace ullage::ops
