#include "ops/ragged_dot.h"

#include <algorithm>

namespace ullage {

namespace {

int64_t place(const Dims& dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) - dims.begin();
}
bool contains(const Dims& dims, int64_t d) {
  return place(dims, d) < static_cast<int64_t>(dims.size());
}

}  // namespace

RaggedDot ragged_dot(const DotAttributes& a, int64_t lhs_rank) {
  RaggedDot out;
  const int64_t dim = a.lhs_ragged.at(0);
  if (contains(a.lhs_batching, dim)) {
    out.mode = RaggedDot::Mode::batch;
    out.prefix.assign(a.lhs_batching.begin(), a.lhs_batching.begin() + place(a.lhs_batching, dim));
    return out;
  }
  out.prefix = a.lhs_batching;
  if (contains(a.lhs_contracting, dim)) {
    out.mode = RaggedDot::Mode::contracting;
    out.rhs_prefix = a.rhs_batching;
    const int64_t at = place(a.lhs_contracting, dim);
    out.prefix.insert(out.prefix.end(), a.lhs_contracting.begin(), a.lhs_contracting.begin() + at);
    out.rhs_prefix.insert(out.rhs_prefix.end(), a.rhs_contracting.begin(),
                          a.rhs_contracting.begin() + at);
    out.rhs_dim = a.rhs_contracting[static_cast<size_t>(at)];
    return out;
  }
  // The result has batch dimensions, then those of the left operand that are neither.
  for (size_t d = 0; d < a.lhs_batching.size(); ++d)
    out.result_prefix.push_back(static_cast<int64_t>(d));
  auto next = static_cast<int64_t>(a.lhs_batching.size());
  for (int64_t d = 0; d < lhs_rank; ++d) {
    if (contains(a.lhs_batching, d) || contains(a.lhs_contracting, d)) continue;
    if (d == dim) {
      out.result_dim = next;
      break;
    }
    out.prefix.push_back(d);
    out.result_prefix.push_back(next++);
  }
  return out;
}

}  // namespace ullage
