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
  std::string output = config.substr(arrow + 2), letters = output;
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
                     narrow(sums, out);
                   });
  return Tensors{std::move(out)};
}

constexpr HandlerRow kRows[] = {
    {OpKind::dot_general, evaluate_dot_general},
    {OpKind::dot, evaluate_dot},
    {OpKind::einsum, evaluate_einsum},
    {OpKind::unary_einsum, evaluate_einsum},
};

}  // namespace

std::span<const HandlerRow> linalg_handlers() {
  return kRows;
}

}  // namespace ullage::interp
