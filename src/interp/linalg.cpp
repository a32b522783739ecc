// Matrix products: operands are widened once, laid out as [batch, rows, contracted] and [batch,
// contracted, columns], multiplied by a plain triple loop and rounded once to the result type.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "interp/eval.h"
#include "interp/index_space.h"
#include "interp/product.h"

namespace ullage::interp {

namespace {

Tensor dot_general(const Tensor& lhs, const Tensor& rhs, const DotAttributes& a,
                   const Type& result) {
  auto free_dims = [](const Tensor& t, const Dims& batching, const Dims& contracting) {
    Dims out;
    for (int64_t d = 0; d < t.rank(); ++d)
      if (std::find(batching.begin(), batching.end(), d) == batching.end() &&
          std::find(contracting.begin(), contracting.end(), d) == contracting.end())
        out.push_back(d);
    return out;
  };
  auto joined = [](Dims first, const Dims& second, const Dims& third) {
    first.insert(first.end(), second.begin(), second.end());
    first.insert(first.end(), third.begin(), third.end());
    return first;
  };
  auto extent = [](const Tensor& t, const Dims& dims) {
    int64_t out = 1;
    for (int64_t d : dims) out *= t.shape()[static_cast<size_t>(d)];
    return out;
  };
  Dims lhs_free = free_dims(lhs, a.lhs_batching, a.lhs_contracting);
  Dims rhs_free = free_dims(rhs, a.rhs_batching, a.rhs_contracting);
  int64_t batch = extent(lhs, a.lhs_batching), rows = extent(lhs, lhs_free);
  int64_t inner = extent(lhs, a.lhs_contracting), columns = extent(rhs, rhs_free);
  Tensor out(result);
  with_accumulator(lhs.dtype(), rhs.dtype(), result.dtype, inner, [&]<typename T>(T) {
    std::vector<T> x = widen<T>(lhs, joined(a.lhs_batching, lhs_free, a.lhs_contracting));
    std::vector<T> y = widen<T>(rhs, joined(a.rhs_batching, a.rhs_contracting, rhs_free));
    std::vector<T> z(static_cast<size_t>(batch * rows * columns));
    for (int64_t b = 0; b < batch; ++b)
      multiply_add(x.data() + b * rows * inner, y.data() + b * inner * columns,
                   z.data() + b * rows * columns, rows, inner, columns);
    // On truth values the sum is "or".
    if constexpr (std::is_same_v<T, uint64_t>)
      if (result.dtype == DType::i1)
        for (T& value : z) value = value != 0;
    narrow(z, out);
  });
  return out;
}

Result<Tensors> evaluate_dot_general(Evaluation& e) {
  return Tensors{dot_general(e.operands[0], e.operands[1], e.op.as<DotAttributes>(), e.types[0])};
}

Result<Tensors> evaluate_dot(Evaluation& e) {
  DotAttributes a;
  a.lhs_contracting = {e.operands[0].rank() - 1};
  a.rhs_contracting = {0};
  return Tensors{dot_general(e.operands[0], e.operands[1], a, e.types[0])};
}

// einsum and unary_einsum, "ab,bc->ac": for each assignment of extents to letters, multiply and
// add.
Result<Tensors> evaluate_einsum(Evaluation& e) {
  std::string config = e.op.as<EinsumAttributes>().config;
  std::erase(config, ' ');
  size_t arrow = config.find("->");
  std::vector<std::string> inputs(1);
  for (char letter : config.substr(0, arrow)) {
    if (letter == ',')
      inputs.emplace_back();
    else
      inputs.back() += letter;
  }
  std::string output = config.substr(arrow + 2), letters;
  for (char letter : output)
    if (letters.find(letter) == std::string::npos) letters += letter;
  std::array<int64_t, 256> extents{};
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t d = 0; d < inputs[i].size(); ++d) {
      extents[static_cast<unsigned char>(inputs[i][d])] = e.operands[i].shape()[d];
      if (letters.find(inputs[i][d]) == std::string::npos) letters += inputs[i][d];
    }
  // Strides of each operand, and of the result, per letter.
  auto letter_strides = [&](const std::string& names, const std::vector<int64_t>& shape) {
    Index own = row_major_strides(shape), out(letters.size(), 0);
    for (size_t d = 0; d < names.size(); ++d) out[letters.find(names[d])] += own[d];
    return out;
  };
  std::vector<int64_t> space;
  for (char letter : letters) space.push_back(extents[static_cast<unsigned char>(letter)]);
  Tensor out(e.types[0]);
  Index to = letter_strides(output, out.shape());
  std::vector<Index> from;
  for (size_t i = 0; i < inputs.size(); ++i)
    from.push_back(letter_strides(inputs[i], e.operands[i].shape()));
  with_accumulator(e.operands[0].dtype(), e.operands.back().dtype(), out.dtype(),
                   element_count(space), [&]<typename T>(T) {
                     std::vector<std::vector<T>> values;
                     for (const Tensor& operand : e.operands) values.push_back(widen<T>(operand));
                     std::vector<T> sums(static_cast<size_t>(out.num_elements()));
                     for_each_index(space, [&](const Index& index) {
                       T product = values[0][static_cast<size_t>(dot(index, from[0]))];
                       if (values.size() == 2)
                         product = product * values[1][static_cast<size_t>(dot(index, from[1]))];
                       sums[static_cast<size_t>(dot(index, to))] += product;
                     });
                     // On truth values the sum is "or".
                     if constexpr (std::is_same_v<T, uint64_t>)
                       if (out.dtype() == DType::i1)
                         for (T& value : sums) value = value != 0;
                     narrow(sums, out);
                   });
  return Tensors{std::move(out)};
}

// Products of groups of consecutive places along one dimension of the left operand, the ragged one:
// of a free dimension, each place is multiplied with its group's own right operand, and places
// beyond all groups give zero; of a contracted one, each group gives a product of its own; of a
// batch dimension, groups change nothing.
Result<Tensors> evaluate_ragged_dot(Evaluation& e) {
  const auto& a = e.op.as<DotAttributes>();
  const Tensor &lhs = e.operands[0], &rhs = e.operands[1], &sizes = e.operands[2];
  const int64_t ragged = a.lhs_ragged[0];
  auto has = [](const Dims& dims, int64_t d) {
    return std::find(dims.begin(), dims.end(), d) != dims.end();
  };
  if (has(a.lhs_batching, ragged)) return Tensors{dot_general(lhs, rhs, a, e.types[0])};
  bool contracted = has(a.lhs_contracting, ragged);

  // One index over the result's dimensions, then over the contracted ones; where each dimension of
  // an operand finds its place in it. The group's is not among them where the place decides.
  std::vector<int64_t> space = e.types[0].shape, inner;
  std::vector<size_t> left(lhs.shape().size()), right(rhs.shape().size());
  size_t next = contracted ? 1 : 0;
  for (size_t k = 0; k < a.lhs_batching.size(); ++k)
    left[static_cast<size_t>(a.lhs_batching[k])] = right[static_cast<size_t>(a.rhs_batching[k])] =
        next++;
  for (int64_t d = 0; d < lhs.rank(); ++d)
    if (!has(a.lhs_batching, d) && !has(a.lhs_contracting, d))
      left[static_cast<size_t>(d)] = next++;
  for (int64_t d = 0; d < rhs.rank(); ++d)
    if (!has(a.rhs_batching, d) && !has(a.rhs_contracting, d) && !has(a.rhs_group, d))
      right[static_cast<size_t>(d)] = next++;
  for (size_t k = 0; k < a.lhs_contracting.size(); ++k) {
    inner.push_back(lhs.shape()[static_cast<size_t>(a.lhs_contracting[k])]);
    left[static_cast<size_t>(a.lhs_contracting[k])] =
        right[static_cast<size_t>(a.rhs_contracting[k])] = next++;
  }
  // The group of the ragged place, or the number of groups beyond them all. Sizes may differ with
  // the batch, and with the dimensions of the ragged one's kind that are named before it.
  const int64_t groups = sizes.shape().back();
  Dims prefix;
  if (sizes.rank() > 1) {
    prefix = a.lhs_batching;
    for (int64_t d : a.lhs_contracting) {
      if (!contracted || d == ragged) break;
      prefix.push_back(d);
    }
    for (int64_t d = 0; d < ragged && !contracted; ++d)
      if (!has(a.lhs_batching, d) && !has(a.lhs_contracting, d)) prefix.push_back(d);
  }
  auto group_of = [&](const Index& at) {
    int64_t line = 0, end = 0, group = 0;
    for (int64_t d : prefix)
      line = line * lhs.shape()[static_cast<size_t>(d)] + at[left[static_cast<size_t>(d)]];
    for (; group < groups; ++group) {
      end += sizes.int_at(line * groups + group);
      if (at[left[static_cast<size_t>(ragged)]] < end) break;
    }
    return group;
  };
  Tensor out(e.types[0]);
  with_accumulator(lhs.dtype(), rhs.dtype(), out.dtype(), element_count(inner), [&]<typename T>(T) {
    std::vector<T> x = widen<T>(lhs), y = widen<T>(rhs), sums;
    Index from_left = row_major_strides(lhs.shape()), from_right = row_major_strides(rhs.shape());
    for_each_index(space, [&](const Index& place) {
      T sum{};
      for_each_index(inner, [&](const Index& k) {
        Index at = place;
        at.insert(at.end(), k.begin(), k.end());
        int64_t group = group_of(at);
        if (contracted ? group != place[0] : group == groups) return;
        int64_t i = 0, j = 0;
        for (size_t d = 0; d < left.size(); ++d) i += at[left[d]] * from_left[d];
        for (size_t d = 0; d < right.size(); ++d)
          j += (has(a.rhs_group, static_cast<int64_t>(d)) ? group : at[right[d]]) * from_right[d];
        multiply_add(&x[static_cast<size_t>(i)], &y[static_cast<size_t>(j)], &sum, 1, 1, 1);
      });
      if constexpr (std::is_same_v<T, uint64_t>)
        if (out.dtype() == DType::i1) sum = sum != 0;
      sums.push_back(sum);
    });
    narrow(sums, out);
  });
  return Tensors{std::move(out)};
}

constexpr HandlerRow kRows[] = {
    {OpKind::dot_general, evaluate_dot_general},
    {OpKind::chlo_ragged_dot, evaluate_ragged_dot},
    {OpKind::dot, evaluate_dot},
    {OpKind::einsum, evaluate_einsum},
    {OpKind::unary_einsum, evaluate_einsum},
};

}  // namespace

std::span<const HandlerRow> linalg_handlers() {
  return kRows;
}

}  // namespace ullage::interp
