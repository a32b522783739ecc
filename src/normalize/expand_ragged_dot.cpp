// chlo.ragged_dot, whose left operand is cut into groups of consecutive positions along one
// dimension. One group after the other, so that no operand exists once for each.
#include <algorithm>

#include "normalize/expand.h"
#include "ops/ragged_dot.h"

namespace ullage {

namespace {

// Whether an element lies in the group: its place along `dim` of `shape` is from `start` up to
// `end`, arrays of which each dimension lies along one of `dims`.
Value* in_group(OpMaker& maker, const std::vector<int64_t>& shape, int64_t dim, Value* start,
                Value* end, const Dims& dims) {
  Value* place = maker.make(OpKind::iota, {}, Type::tensor(DType::i64, shape), DimAttributes{dim});
  Value* from = maker.compare(CompareDirection::ge, place, maker.broadcast(start, shape, dims));
  Value* below = maker.compare(CompareDirection::lt, place, maker.broadcast(end, shape, dims));
  return maker.same(OpKind::and_, {from, below});
}

Value* select(OpMaker& maker, Value* condition, Value* chosen, Value* other) {
  return maker.make(OpKind::select, {condition, chosen, other}, chosen->type);
}

// Slice number `at` along a dimension, which stays with one element.
Value* slice_at(OpMaker& maker, Value* value, int64_t dim, Value* at) {
  std::vector<Value*> operands = {value};
  Dims sizes = value->type.shape;
  sizes[static_cast<size_t>(dim)] = 1;
  for (int64_t d = 0; d < value->type.rank(); ++d)
    operands.push_back(d == dim ? at : maker.integer(at->type, 0));
  Type type = Type::tensor(value->type.dtype, sizes);
  return maker.op(OpKind::dynamic_slice, operands, {&type, 1}, DimsAttributes{sizes, {}, {}})
      ->result();
}

}  // namespace

bool expand_ragged_dot(const Module&, OpMaker& maker, Op* op) {
  const auto& attributes = op->as<DotAttributes>();
  Value *lhs = op->operand(0), *rhs = op->operand(1);
  const Type result = op->result()->type;
  RaggedDot ragged = ragged_dot(attributes, lhs->type.rank());
  DotAttributes dot = attributes;
  dot.lhs_ragged.clear();
  dot.rhs_group.clear();
  if (ragged.mode == RaggedDot::Mode::batch) {
    maker.replace_with({maker.make(OpKind::dot_general, {lhs, rhs}, result, dot)});
    return true;
  }
  // Sizes of the groups, [prefix..., groups].
  Value* sizes = maker.convert(op->operand(2), DType::i64);
  const int64_t groups = sizes->type.shape.back();
  std::vector<int64_t> prefix;
  for (int64_t d : ragged.prefix) prefix.push_back(lhs->type.shape[static_cast<size_t>(d)]);
  if (sizes->type.rank() == 1 && !prefix.empty()) {
    std::vector<int64_t> shape = prefix;
    shape.push_back(groups);
    sizes = maker.broadcast(sizes, shape, {static_cast<int64_t>(prefix.size())});
  }
  bool contracting = ragged.mode == RaggedDot::Mode::contracting;
  Type product = result;
  if (contracting) product.shape.erase(product.shape.begin());
  const int64_t group_dim = contracting ? 0 : attributes.rhs_group[0];
  if (!contracting)  // the group's slice of the right operand loses a dimension
    for (Dims* dims : {&dot.rhs_batching, &dot.rhs_contracting})
      for (int64_t& d : *dims) d -= d > group_dim;

  Value* start = maker.splat(Type::tensor(DType::i64, prefix), 0);
  auto body = [&](OpMaker& in, Value* group, std::span<Value* const> carried) {
    Value *sum = carried[0], *first = carried[1];
    Value* size =
        in.reshape(slice_at(in, sizes, static_cast<int64_t>(prefix.size()), group), prefix);
    Value* end = in.same(OpKind::add, {first, size});
    if (!contracting) {
      Value* matrix = slice_at(in, rhs, group_dim, group);
      std::vector<int64_t> shape = rhs->type.shape;
      shape.erase(shape.begin() + group_dim);
      Value* value = in.make(OpKind::dot_general, {lhs, in.reshape(matrix, shape)}, product, dot);
      Value* inside =
          in_group(in, product.shape, ragged.result_dim, first, end, ragged.result_prefix);
      return std::vector<Value*>{select(in, inside, value, sum), end};
    }
    // What lies outside of the group must not reach the sum, not even as zero times infinity.
    auto own = [&](Value* value, int64_t dim, const Dims& dims) {
      return select(in, in_group(in, value->type.shape, dim, first, end, dims), value,
                    in.splat(value->type, 0));
    };
    Value* value = in.make(OpKind::dot_general,
                           {own(lhs, attributes.lhs_ragged[0], ragged.prefix),
                            own(rhs, ragged.rhs_dim, ragged.rhs_prefix)},
                           product, dot);
    std::vector<int64_t> shape = product.shape;
    shape.insert(shape.begin(), 1);
    std::vector<Value*> operands = {sum, in.reshape(value, shape), group};
    for (size_t d = 0; d < product.shape.size(); ++d)
      operands.push_back(in.integer(group->type, 0));
    Value* updated = in.op(OpKind::dynamic_update_slice, operands, {&sum->type, 1})->result();
    return std::vector<Value*>{updated, end};
  };
  maker.replace_with({maker.repeat(groups, {maker.splat(result, 0), start}, body)[0]});
  return true;
}

}  // namespace ullage
