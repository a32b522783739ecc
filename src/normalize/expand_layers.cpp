// Products by their older names, and normalisation layers.
#include <algorithm>
#include <cmath>
#include <string>

#include "normalize/expand.h"

namespace ullage {

bool expand_dot(const Module&, OpMaker& maker, Op* op) {
  DotAttributes attributes;
  if (const auto* given = std::get_if<DotAttributes>(&op->attributes)) attributes = *given;
  attributes.lhs_contracting = {op->operand(0)->type.rank() - 1};
  attributes.rhs_contracting = {0};
  maker.replace_with({maker.make(OpKind::dot_general, {op->operand(0), op->operand(1)},
                                 op->result()->type, attributes)});
  return true;
}

namespace {

// An operand of an einsum: one letter per dimension.
struct Lettered {
  Value* value;
  std::string letters;

  bool has(char letter) const { return letters.find(letter) != std::string::npos; }
  int64_t dim(char letter) const { return static_cast<int64_t>(letters.find(letter)); }
};

// Sums away the dimensions whose letters nobody else names.
void sum_unnamed(OpMaker& maker, Lettered& operand, const std::string& named) {
  Dims dims;
  std::string kept;
  for (size_t d = 0; d < operand.letters.size(); ++d) {
    if (named.find(operand.letters[d]) == std::string::npos)
      dims.push_back(static_cast<int64_t>(d));
    else
      kept += operand.letters[d];
  }
  if (dims.empty()) return;
  operand.value = maker.sum(operand.value, dims);
  operand.letters = kept;
}

// Dimensions that share a letter become one, their diagonal: every (n + 1)-th element of n * n.
void take_diagonals(OpMaker& maker, Lettered& operand) {
  std::string& letters = operand.letters;
  for (size_t first = 0; first < letters.size();) {
    size_t second = letters.find(letters[first], first + 1);
    if (second == std::string::npos) {
      ++first;
      continue;
    }
    const Type& type = operand.value->type;
    Dims order;
    std::vector<int64_t> shape;
    for (size_t d = 0; d < letters.size(); ++d) {
      if (d == first || d == second) continue;
      order.push_back(static_cast<int64_t>(d));
      shape.push_back(type.shape[d]);
    }
    order.push_back(static_cast<int64_t>(first));
    order.push_back(static_cast<int64_t>(second));
    int64_t n = type.shape[first];
    shape.push_back(n * n);
    Value* flat = maker.reshape(maker.transpose(operand.value, order), shape);
    SliceAttributes diagonal{Dims(shape.size(), 0), Dims(shape.begin(), shape.end()),
                             Dims(shape.size(), 1)};
    diagonal.strides.back() = n + 1;
    shape.back() = n;
    operand.value = maker.make(OpKind::slice, {flat}, Type::tensor(type.dtype, shape), diagonal);
    letters += letters[first];
    letters.erase(second, 1);
    letters.erase(first, 1);
  }
}

// Values along one dimension that several have in common: zeros but where their places agree.
Value* put_on_diagonals(OpMaker& maker, Lettered operand, const std::string& letters,
                        const Type& type) {
  Dims dims;
  for (char letter : operand.letters) dims.push_back(static_cast<int64_t>(letters.find(letter)));
  Value* value = maker.broadcast(operand.value, type.shape, dims);
  Type places = Type::tensor(DType::i64, type.shape);
  auto place = [&](size_t d) {
    return maker.make(OpKind::iota, {}, places, DimAttributes{static_cast<int64_t>(d)});
  };
  for (size_t d = 0; d < letters.size(); ++d) {
    size_t first = letters.find(letters[d]);
    if (first == d) continue;
    Value* agree = maker.compare(CompareDirection::eq, place(first), place(d));
    value = maker.make(OpKind::select, {agree, value, maker.splat(value->type, 0)}, value->type);
  }
  return value;
}

}  // namespace

bool expand_einsum(const Module&, OpMaker& maker, Op* op) {
  std::string config = op->as<EinsumAttributes>().config;
  std::erase(config, ' ');
  size_t arrow = config.find("->");
  std::string output = config.substr(arrow + 2), inputs = config.substr(0, arrow);
  size_t comma = inputs.find(',');
  Lettered lhs{op->operand(0), inputs.substr(0, comma)};
  const Type& type = op->result()->type;
  take_diagonals(maker, lhs);
  if (comma != std::string::npos) {
    Lettered rhs{op->operand(1), inputs.substr(comma + 1)};
    take_diagonals(maker, rhs);
    sum_unnamed(maker, lhs, rhs.letters + output);
    sum_unnamed(maker, rhs, lhs.letters + output);
    DotAttributes dot;
    std::string batch, left, right;
    for (char letter : lhs.letters) {
      bool kept = output.find(letter) != std::string::npos;
      if (!rhs.has(letter)) {
        left += letter;
      } else {
        (kept ? dot.lhs_batching : dot.lhs_contracting).push_back(lhs.dim(letter));
        (kept ? dot.rhs_batching : dot.rhs_contracting).push_back(rhs.dim(letter));
        if (kept) batch += letter;
      }
    }
    for (char letter : rhs.letters)
      if (!lhs.has(letter)) right += letter;
    Type product = Type::tensor(type.dtype, {});
    std::string letters = batch + left + right;
    for (char letter : letters) product.shape.push_back(type.shape[output.find(letter)]);
    Value* value = maker.make(OpKind::dot_general, {lhs.value, rhs.value}, product, dot);
    lhs = {value, letters};
  } else {
    sum_unnamed(maker, lhs, output);
  }
  std::string distinct;
  for (char letter : output)
    if (distinct.find(letter) == std::string::npos) distinct += letter;
  Dims permutation;
  for (char letter : distinct) permutation.push_back(lhs.dim(letter));
  lhs = {maker.transpose(lhs.value, permutation), distinct};
  if (distinct != output) lhs.value = put_on_diagonals(maker, lhs, output, type);
  maker.replace_with({maker.convert(lhs.value, type.dtype)});
  return true;
}

// torch_index_select: slices of the operand along a dimension, at the given indices.
bool expand_index_select(const Module&, OpMaker& maker, Op* op) {
  const auto& select = op->as<DimAttributes>();
  const Type &from = op->operand(0)->type, &indices = op->operand(1)->type;
  auto dim = static_cast<size_t>(select.dim);
  GatherAttributes gather;
  gather.slice_sizes = from.shape;
  gather.slice_sizes[dim] = 1;
  gather.collapsed_slice_dims = {select.dim};
  gather.start_index_map = {select.dim};
  gather.index_vector_dim = indices.rank();
  for (int64_t d = 0; d < select.batch_dims; ++d) {
    gather.operand_batching_dims.push_back(d);
    gather.start_indices_batching_dims.push_back(d);
    gather.slice_sizes[static_cast<size_t>(d)] = 1;
  }
  // The result has the operand's dimensions before `dim`, those of the indices, and the rest.
  int64_t selected = indices.rank() - select.batch_dims;
  for (int64_t d = select.batch_dims; d < from.rank(); ++d)
    if (d != select.dim) gather.offset_dims.push_back(d < select.dim ? d : d - 1 + selected);
  maker.replace_with(
      {maker.make(OpKind::gather, {op->operand(0), op->operand(1)}, op->result()->type, gather)});
  return true;
}

bool expand_batch_norm(const Module&, OpMaker& maker, Op* op) {
  const auto& attributes = op->as<BatchNormAttributes>();
  Value* x = op->operand(0);
  const Type type = x->type;
  // Sums over all positions want more digits than narrow floats have.
  DType wide = bit_width(type.dtype) < 32 ? DType::f32 : type.dtype;
  if (is_complex(wide)) return false;
  auto feature = static_cast<size_t>(attributes.feature_index);
  Dims others;
  for (int64_t d = 0; d < type.rank(); ++d)
    if (d != attributes.feature_index) others.push_back(d);
  Type per_feature = Type::tensor(wide, {type.shape[feature]});
  double count = static_cast<double>(type.num_elements()) /
                 static_cast<double>(std::max<int64_t>(1, type.shape[feature]));
  auto all = [&](Value* vector) {
    return maker.broadcast(vector, type.shape, {attributes.feature_index});
  };
  auto wide_operand = [&](size_t i) { return maker.convert(op->operand(i), wide); };
  auto binary = [&](OpKind kind, Value* a, Value* b) { return maker.same(kind, {a, b}); };
  auto deviation = [&](Value* variance) {
    Value* epsilon = maker.splat(per_feature, attributes.epsilon);
    return maker.same(OpKind::sqrt, {binary(OpKind::add, variance, epsilon)});
  };
  x = maker.convert(x, wide);
  auto normalized = [&](Value* mean, Value* variance) {
    Value* centered = binary(OpKind::subtract, x, all(mean));
    Value* scaled = binary(OpKind::divide, centered, all(deviation(variance)));
    scaled = binary(OpKind::multiply, scaled, all(wide_operand(1)));
    return maker.convert(binary(OpKind::add, scaled, all(wide_operand(2))), type.dtype);
  };
  if (op->kind == OpKind::batch_norm_inference) {
    maker.replace_with({normalized(wide_operand(3), wide_operand(4))});
    return true;
  }
  Value* number = maker.splat(per_feature, count);
  if (op->kind == OpKind::batch_norm_training) {
    Value* mean = binary(OpKind::divide, maker.sum(x, others), number);
    Value* centered = binary(OpKind::subtract, x, all(mean));
    Value* squares = maker.sum(binary(OpKind::multiply, centered, centered), others);
    Value* variance = binary(OpKind::divide, squares, number);
    maker.replace_with({normalized(mean, variance), maker.convert(mean, op->result(1)->type.dtype),
                        maker.convert(variance, op->result(2)->type.dtype)});
    return true;
  }
  Value *scale = wide_operand(1), *mean = wide_operand(2), *variance = wide_operand(3),
        *gradient = wide_operand(4);
  Value* centered = binary(OpKind::subtract, x, all(mean));
  Value* sum = maker.sum(gradient, others);
  Value* product = maker.sum(binary(OpKind::multiply, gradient, centered), others);
  Value* spread = binary(OpKind::add, variance, maker.splat(per_feature, attributes.epsilon));
  Value* root = maker.same(OpKind::sqrt, {spread});
  Value* factor = binary(OpKind::divide, binary(OpKind::divide, scale, root), number);
  Value* change = binary(OpKind::multiply, gradient, maker.splat(x->type, count));
  change = binary(OpKind::subtract, change, all(sum));
  change = binary(OpKind::subtract, change,
                  binary(OpKind::multiply, all(binary(OpKind::divide, product, spread)), centered));
  maker.replace_with(
      {maker.convert(binary(OpKind::multiply, all(factor), change), type.dtype),
       maker.convert(binary(OpKind::divide, product, root), op->result(1)->type.dtype),
       maker.convert(sum, op->result(2)->type.dtype)});
  return true;
}

}  // namespace ullage
