#include "kernels/expr_builder.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "support/check.h"

namespace ullage {

static bool is_splat_constant(const Value* value) {
  const Op* op = value->op();
  if (op && op->kind == OpKind::broadcast_in_dim) return is_splat_constant(op->operand(0));
  if (!op || op->kind != OpKind::constant) return false;
  const Literal& literal = op->as<ConstantAttributes>().value;
  return literal.splat || literal.type.num_elements() == 1;
}

bool is_fusible(const Module&, const Op& op) {
  if (op.num_results() == 0) return false;
  for (Value* result : op.results())
    if (!result->type.is_tensor() || !result->type.is_static() || result->type.quantized)
      return false;
  switch (op.kind) {
    case OpKind::bitcast_convert:
      return bit_width(op.operand(0)->type.dtype) == bit_width(op.result()->type.dtype);
    case OpKind::call:  // after normalisation only calls to pointwise functions are left
    case OpKind::constant:
      return true;
    case OpKind::gather:
      return true;
    case OpKind::dynamic_update_slice:
      // Into nothing but one value repeated: there is no array to update in place.
      return is_splat_constant(op.operand(0));
    case OpKind::uniform_dequantize:
    case OpKind::uniform_quantize:
      return false;
    default:
      return has_trait(op.kind, kElementwise) || has_trait(op.kind, kIndexing);
  }
}

size_t ExprBuilder::KeyHash::operator()(const Key& key) const {
  size_t h = reinterpret_cast<size_t>(key.value) >> 4;
  auto mix = [&h](int64_t v) {
    h = (h ^ static_cast<size_t>(v)) * 0x9E3779B97F4A7C15ull, h ^= h >> 31;
  };
  mix(key.frame * 2 + key.part);
  mix(key.guard);
  for (const Index& index : key.index) {
    mix(index.affine.constant);
    for (int64_t c : index.affine.coefficients) mix(c);
    for (const Access::Dynamic& d : index.dynamic) mix(d.node * 31 + d.stride);
  }
  return h;
}

ExprBuilder::ExprBuilder(Expr& expr, ExprContext context, size_t rank, std::vector<int64_t> extents)
    : expr_(expr), context_(std::move(context)), rank_(rank), extents_(std::move(extents)) {}

Index ExprBuilder::constant_index(int64_t value) const {
  Index index;
  index.affine.constant = value;
  index.affine.coefficients.assign(rank_, 0);
  return index;
}

Index ExprBuilder::loop_index(size_t dimension) const {
  Index index = constant_index(0);
  index.affine.coefficients[dimension] = 1;
  return index;
}

Index ExprBuilder::add(const Index& a, const Index& b) const {
  Index sum = a;
  sum.affine.constant += b.affine.constant;
  for (size_t d = 0; d < rank_; ++d) sum.affine.coefficients[d] += b.affine.coefficients[d];
  for (const Access::Dynamic& term : b.dynamic) {
    bool found = false;
    for (Access::Dynamic& have : sum.dynamic)
      if (have.node == term.node) have.stride += term.stride, found = true;
    if (!found) sum.dynamic.push_back(term);
  }
  return sum;
}

Index ExprBuilder::scaled(const Index& a, int64_t factor) const {
  Index out = a;
  out.affine.constant *= factor;
  for (int64_t& c : out.affine.coefficients) c *= factor;
  for (Access::Dynamic& term : out.dynamic) term.stride *= factor;
  return out;
}

Access ExprBuilder::address(const std::vector<int64_t>& shape, const IndexVector& index) const {
  std::vector<int64_t> strides = row_major_strides(shape);
  Access access = constant_index(0);
  for (size_t d = 0; d < shape.size(); ++d) access = add(access, scaled(index[d], strides[d]));
  return access;
}

std::optional<int32_t> ExprBuilder::fail(Op* op) {
  if (!failure_) failure_ = op;
  return {};
}

int32_t ExprBuilder::constant_node(DType dtype, const std::byte* element) {
  ExprNode node;
  node.kind = ExprNode::Kind::constant;
  node.dtype = dtype;
  std::memcpy(node.bits.data(), element, static_cast<size_t>(storage_bytes(dtype)));
  return expr_.add(node);
}

int32_t ExprBuilder::integer(DType dtype, int64_t value) {
  std::byte bytes[8];
  std::memcpy(bytes, &value, 8);  // little endian: the low bytes come first
  return constant_node(dtype, bytes);
}

int32_t ExprBuilder::op_node(OpKind op, DType dtype, std::initializer_list<int32_t> operands) {
  ExprNode node;
  node.op = op;
  node.dtype = dtype;
  size_t i = 0;
  for (int32_t operand : operands) node.operands[i++] = operand;
  return expr_.add(node);
}

int32_t ExprBuilder::index_node(const Index& index, DType dtype) {
  ExprNode node;
  node.kind = ExprNode::Kind::index;
  node.access.affine = index.affine;
  if (index.dynamic.empty()) {
    node.dtype = dtype;
    return expr_.add(node);
  }
  node.dtype = DType::i64;
  int32_t sum = expr_.add(node);
  for (const Access::Dynamic& term : index.dynamic) {
    int32_t product = term.stride == 1 ? term.node
                                       : op_node(OpKind::multiply, DType::i64,
                                                 {term.node, integer(DType::i64, term.stride)});
    sum = op_node(OpKind::add, DType::i64, {sum, product});
  }
  return dtype == DType::i64 ? sum : op_node(OpKind::convert, dtype, {sum});
}

int32_t ExprBuilder::range_node(const Index& index, int64_t lower, int64_t upper) {
  ExprNode node;
  node.dtype = DType::i1;
  if (index.dynamic.empty()) {
    node.kind = ExprNode::Kind::in_range;
    node.access.affine = index.affine;
    node.lower = lower;
    node.upper = upper;
    return expr_.add(node);
  }
  // As an unsigned number, what lies below is large.
  Index above = index;
  above.affine.constant -= lower;
  int32_t distance = op_node(OpKind::bitcast_convert, DType::ui64, {index_node(above, DType::i64)});
  node.op = OpKind::compare;
  node.direction = CompareDirection::lt;
  node.operands = {distance, integer(DType::ui64, std::max<int64_t>(0, upper - lower)), -1};
  return expr_.add(node);
}

int32_t ExprBuilder::both(int32_t guard, int32_t condition) {
  return guard < 0 ? condition : op_node(OpKind::and_, DType::i1, {guard, condition});
}

std::optional<int32_t> ExprBuilder::evaluate(Value* value, const IndexVector& index, int32_t guard,
                                             int32_t part) {
  std::swap(part_, part);
  std::optional<int32_t> node = eval(value, index, guard, -1);
  std::swap(part_, part);
  return node;
}

std::optional<int32_t> ExprBuilder::eval(Value* value, const IndexVector& index, int32_t guard,
                                         int32_t frame) {
  int32_t part = is_complex(value->type.dtype) ? part_ : 0;
  Key key{value, frame, guard, part, index};
  if (auto it = memo_.find(key); it != memo_.end()) return it->second;
  std::optional<int32_t> node;
  if (frame >= 0 && value->region()) {  // an argument of the function being expanded
    const Frame& call = frames_[static_cast<size_t>(frame)];
    node = eval(call.call->operand(value->index()), index, guard, call.parent);
  } else if (std::optional<int32_t> number =
                 frame < 0 && context_.parameter ? context_.parameter(value) : std::nullopt) {
    ExprNode parameter;
    parameter.kind = ExprNode::Kind::parameter;
    parameter.dtype = real_part(value->type.dtype);
    parameter.input = *number + part;
    node = expr_.add(parameter);
  } else if (frame < 0 && value == context_.accumulator) {
    ExprNode acc;
    acc.kind = ExprNode::Kind::accumulator;
    acc.dtype = context_.accumulator_dtype;
    node = expr_.add(acc);
    // A product's own result type may be narrower than its accumulator.
    if (value->type.dtype != acc.dtype) node = op_node(OpKind::convert, value->type.dtype, {*node});
  } else if (std::optional<int32_t> input =
                 frame < 0 ? context_.stored_input(value) : std::nullopt) {
    ExprNode load;
    load.kind = ExprNode::Kind::load;
    load.dtype = real_part(value->type.dtype);
    load.input = *input;
    load.guard = guard;
    load.access = address(value->type.shape, index);
    if (is_complex(value->type.dtype)) {
      load.access = scaled(load.access, 2);
      load.access.affine.constant += part;
    }
    node = expr_.add(load);
  } else {
    ULLAGE_CHECK(value->op(), "an argument that is not stored");
    node = eval_op(value->op(), value, index, guard, frame);
  }
  if (node) memo_.emplace(std::move(key), *node);
  return node;
}

std::optional<int32_t> ExprBuilder::eval_op(Op* op, Value* value, const IndexVector& index,
                                            int32_t guard, int32_t frame) {
  // Nothing is read of a value without elements.
  if (value->type.num_elements() == 0) return integer(real_part(value->type.dtype), 0);
  switch (op->kind) {
    case OpKind::constant: {
      const Literal& literal = op->as<ConstantAttributes>().value;
      if (literal.splat || literal.type.num_elements() == 1)
        return constant_node(real_part(literal.type.dtype),
                             literal.element(0) + (is_complex(literal.type.dtype) && part_ == 1
                                                       ? storage_bytes(literal.type.dtype) / 2
                                                       : 0));
      return fail(op);
    }
    case OpKind::iota:
      if (is_complex(value->type.dtype) && part_ == 1)
        return integer(real_part(value->type.dtype), 0);
      return index_node(index[static_cast<size_t>(op->as<DimAttributes>().dim)],
                        real_part(value->type.dtype));
    case OpKind::broadcast_in_dim: {
      const Dims& dims = op->as<DimsAttributes>().dims;
      const std::vector<int64_t>& shape = op->operand(0)->type.shape;
      IndexVector inner(shape.size());
      for (size_t d = 0; d < shape.size(); ++d)
        inner[d] = shape[d] == 1 ? constant_index(0) : index[static_cast<size_t>(dims[d])];
      return eval(op->operand(0), inner, guard, frame);
    }
    case OpKind::broadcast: {
      size_t skip = op->as<DimsAttributes>().dims.size();
      return eval(op->operand(0),
                  IndexVector(index.begin() + static_cast<ptrdiff_t>(skip), index.end()), guard,
                  frame);
    }
    case OpKind::transpose: {
      const Dims& permutation = op->as<DimsAttributes>().dims;
      IndexVector inner(index.size());
      for (size_t d = 0; d < index.size(); ++d)
        inner[static_cast<size_t>(permutation[d])] = index[d];
      return eval(op->operand(0), inner, guard, frame);
    }
    case OpKind::slice: {
      const auto& slice = op->as<SliceAttributes>();
      IndexVector inner = index;
      for (size_t d = 0; d < index.size(); ++d) {
        inner[d] = scaled(index[d], slice.strides[d]);
        inner[d].affine.constant += slice.start[d];
      }
      return eval(op->operand(0), inner, guard, frame);
    }
    case OpKind::reverse: {
      IndexVector inner = index;
      for (int64_t dim : op->as<DimsAttributes>().dims) {
        Index& at = inner[static_cast<size_t>(dim)];
        at = scaled(at, -1);
        at.affine.constant += op->operand(0)->type.shape[static_cast<size_t>(dim)] - 1;
      }
      return eval(op->operand(0), inner, guard, frame);
    }
    case OpKind::reshape:
      return eval_reshape(op, index, guard, frame);
    case OpKind::concatenate:
      return eval_concatenate(op, index, guard, frame);
    case OpKind::pad:
      return eval_pad(op, index, guard, frame);
    case OpKind::dynamic_slice:
      return eval_dynamic_slice(op, index, guard, frame);
    case OpKind::dynamic_update_slice:
      return eval_update(op, index, guard, frame);
    case OpKind::gather:
      return eval_gather(op, index, guard, frame);
    case OpKind::bitcast_convert: {
      if (is_complex(value->type.dtype) || is_complex(op->operand(0)->type.dtype)) return fail(op);
      if (bit_width(op->operand(0)->type.dtype) != bit_width(value->type.dtype)) return fail(op);
      std::optional<int32_t> operand = eval(op->operand(0), index, guard, frame);
      if (!operand) return {};
      return op_node(OpKind::bitcast_convert, value->type.dtype, {*operand});
    }
    case OpKind::call: {
      const Function* callee = context_.module->find(op->as<CallAttributes>().callee);
      ULLAGE_CHECK(callee, "call of a function that does not exist");
      auto [it, added] =
          frame_numbers_.try_emplace({op, frame}, static_cast<int32_t>(frames_.size()));
      if (added) frames_.push_back({op, frame});
      return eval(callee->body().terminator()->operand(value->index()), index, guard, it->second);
    }
    default:
      if (has_trait(op->kind, kElementwise)) return eval_elementwise(op, index, guard, frame);
      return fail(op);
  }
}

std::optional<int32_t> ExprBuilder::eval_elementwise(Op* op, const IndexVector& index,
                                                     int32_t guard, int32_t frame) {
  ExprNode node;
  node.op = op->kind;
  node.dtype = op->result()->type.dtype;
  if (op->num_operands() > 3) return fail(op);
  bool complex = is_complex(node.dtype);
  for (Value* operand : op->operands()) complex |= is_complex(operand->type.dtype);
  if (complex) return eval_complex(op, index, guard, frame);
  for (size_t i = 0; i < op->num_operands(); ++i) {
    Value* operand = op->operand(i);
    // select and clamp broadcast their scalar operands.
    std::optional<int32_t> at = operand->type.rank() == 0 ? eval(operand, {}, guard, frame)
                                                          : eval(operand, index, guard, frame);
    if (!at) return {};
    node.operands[i] = *at;
  }
  if (op->kind == OpKind::compare) {
    node.direction = op->as<CompareAttributes>().direction;
    // All others say what the operands' type says already.
    CompareType type = op->as<CompareAttributes>().type;
    if (type == CompareType::totalorder) node.compare_type = type;
  }
  if (op->kind == OpKind::reduce_precision) node.precision = op->as<ReducePrecisionAttributes>();
  if (op->kind == OpKind::chlo_conj ||
      (op->kind == OpKind::convert && op->operand(0)->type.dtype == node.dtype))
    return node.operands[0];
  return expr_.add(node);
}

std::optional<int32_t> ExprBuilder::eval_reshape(Op* op, const IndexVector& index, int32_t guard,
                                                 int32_t frame) {
  const std::vector<int64_t>& from = op->operand(0)->type.shape;
  const std::vector<int64_t>& to = op->result()->type.shape;
  IndexVector inner;
  // Of one value repeated every element will do.
  if (is_splat_constant(op->operand(0)) && op->result()->type.num_elements() > 0) {
    inner.assign(from.size(), constant_index(0));
    return eval(op->operand(0), inner, guard, frame);
  }
  if (!is_unit_reshape(op->operand(0)->type, op->result()->type)) return fail(op);
  size_t t = 0;
  for (int64_t extent : from) {
    if (extent == 1) {
      inner.push_back(constant_index(0));
      continue;
    }
    while (to[t] == 1) ++t;
    inner.push_back(index[t++]);
  }
  return eval(op->operand(0), inner, guard, frame);
}

std::optional<int32_t> ExprBuilder::eval_concatenate(Op* op, const IndexVector& index,
                                                     int32_t guard, int32_t frame) {
  size_t dim = static_cast<size_t>(op->as<DimAttributes>().dim);
  int64_t offset = 0;
  std::optional<int32_t> chosen;
  const std::vector<int64_t>& c = index[dim].affine.coefficients;
  bool known = index[dim].dynamic.empty() &&
               std::all_of(c.begin(), c.end(), [](int64_t v) { return v == 0; });
  for (size_t i = 0; i < op->num_operands(); ++i) {
    int64_t extent = op->operand(i)->type.shape[dim];
    if (extent == 0) continue;
    if (known) {  // a single operand; beyond the end, where a guard is false, any will do
      int64_t total = op->result()->type.shape[dim];
      int64_t within = std::clamp<int64_t>(index[dim].affine.constant, 0, total - 1) - offset;
      offset += extent;
      if (within >= extent) continue;
      IndexVector inner = index;
      inner[dim] = constant_index(within);
      return eval(op->operand(i), inner, guard, frame);
    }
    int32_t inside = range_node(index[dim], offset, offset + extent);
    IndexVector inner = index;
    inner[dim].affine.constant -= offset;
    std::optional<int32_t> part = eval(op->operand(i), inner, both(guard, inside), frame);
    if (!part) return {};
    chosen = chosen ? op_node(OpKind::select, real_part(op->result()->type.dtype),
                              {inside, *part, *chosen})
                    : part;
    offset += extent;
  }
  return chosen ? chosen : fail(op);
}

Index ExprBuilder::divided(const Index& index, int64_t step, int32_t& inside) {
  if (step == 1) return index;
  auto divides = [step](int64_t v) { return v % step == 0; };
  const std::vector<int64_t>& c = index.affine.coefficients;
  if (std::all_of(c.begin(), c.end(), divides) &&
      std::all_of(index.dynamic.begin(), index.dynamic.end(),
                  [&](const Access::Dynamic& term) { return divides(term.stride); })) {
    Index quotient = index;
    if (!divides(index.affine.constant)) inside = both(inside, range_node(constant_index(0), 0, 0));
    quotient.affine.constant /= step;
    for (int64_t& coefficient : quotient.affine.coefficients) coefficient /= step;
    for (Access::Dynamic& term : quotient.dynamic) term.stride /= step;
    return quotient;
  }
  if (std::optional<Index> quotient = divided_by_extent(index, step, inside)) return *quotient;
  bool power = (step & (step - 1)) == 0;
  int32_t at = index_node(index, DType::i64);
  ExprNode exact;
  exact.op = OpKind::compare;
  exact.dtype = DType::i1;
  exact.operands = {power ? op_node(OpKind::and_, DType::i64, {at, integer(DType::i64, step - 1)})
                          : op_node(OpKind::remainder, DType::i64, {at, integer(DType::i64, step)}),
                    integer(DType::i64, 0), -1};
  inside = both(inside, expr_.add(exact));
  int shift = 0;
  while (int64_t{1} << shift < step) ++shift;
  Index quotient = constant_index(0);
  quotient.dynamic.push_back(
      {power ? op_node(OpKind::shift_right_arithmetic, DType::i64, {at, integer(DType::i64, shift)})
             : op_node(OpKind::divide, DType::i64, {at, integer(DType::i64, step)}),
       1});
  return quotient;
}

std::optional<Index> ExprBuilder::divided_by_extent(const Index& index, int64_t step,
                                                    int32_t& inside) {
  std::optional<size_t> odd;  // the only term that leaves a remainder
  const std::vector<int64_t>& c = index.affine.coefficients;
  for (size_t d = 0; d < c.size(); ++d) {
    if (c[d] % step == 0) continue;
    if (odd) return {};
    odd = d;
  }
  for (const Access::Dynamic& term : index.dynamic)
    if (term.stride % step != 0) return {};
  if (!odd || *odd >= extents_.size() || std::gcd(c[*odd], step) != 1) return {};
  if (extents_[*odd] > step) {
    divisions_.push_back({*odd, step});
    return {};
  }
  // One iteration at most of that loop leaves none.
  int64_t at = 0;
  while (at < extents_[*odd] && (index.affine.constant + c[*odd] * at) % step != 0) ++at;
  inside = both(inside, range_node(loop_index(*odd), at, std::min(at + 1, extents_[*odd])));
  Index there = index;
  there.affine.constant += c[*odd] * at;
  there.affine.coefficients[*odd] = 0;
  return divided(there, step, inside);
}

std::optional<int32_t> ExprBuilder::eval_pad(Op* op, const IndexVector& index, int32_t guard,
                                             int32_t frame) {
  const auto& pad = op->as<PadAttributes>();
  const std::vector<int64_t>& shape = op->operand(0)->type.shape;
  std::optional<int32_t> outside = eval(op->operand(1), {}, guard, frame);
  if (!outside) return {};
  IndexVector inner = index;
  int32_t inside = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    inner[d].affine.constant -= pad.low[d];
    inner[d] = divided(inner[d], pad.interior[d] + 1, inside);
    if (pad.low[d] <= 0 && pad.high[d] <= 0 && shape[d] > 0) continue;
    inside = both(inside, range_node(inner[d], 0, shape[d]));
  }
  if (inside < 0) return eval(op->operand(0), inner, guard, frame);
  std::optional<int32_t> part = eval(op->operand(0), inner, both(guard, inside), frame);
  if (!part) return {};
  return op_node(OpKind::select, real_part(op->result()->type.dtype), {inside, *part, *outside});
}

std::optional<int32_t> ExprBuilder::start_node(Value* scalar, const IndexVector& index,
                                               int64_t upper, int32_t guard, int32_t frame) {
  if (upper == 0) return integer(DType::i64, 0);
  std::optional<int32_t> start = eval(scalar, index, guard, frame);
  if (!start) return {};
  DType dtype = scalar->type.dtype;
  // An unsigned 64-bit start beyond the signed range is clamped before it would turn negative.
  if (dtype == DType::ui64)
    start = op_node(OpKind::minimum, dtype, {*start, integer(dtype, upper)});
  int32_t wide = dtype == DType::i64 ? *start : op_node(OpKind::convert, DType::i64, {*start});
  return op_node(OpKind::clamp, DType::i64,
                 {integer(DType::i64, 0), wide, integer(DType::i64, upper)});
}

std::optional<int32_t> ExprBuilder::wide_integer(Value* value, const IndexVector& index) {
  std::optional<int32_t> node = evaluate(value, index);
  DType dtype = value->type.dtype;
  if (!node || dtype == DType::i64) return node;
  // Beyond the signed range it must not turn into a small negative number.
  if (dtype == DType::ui64)
    node = op_node(OpKind::minimum, dtype, {*node, integer(dtype, INT64_MAX)});
  return op_node(OpKind::convert, DType::i64, {*node});
}

std::optional<int32_t> ExprBuilder::clamped_start(Value* scalar, int64_t upper) {
  return start_node(scalar, {}, upper, -1, -1);
}

// The constant that a dynamic start is, clamped, if it is one: keeps the address affine.
static std::optional<int64_t> constant_start(Value* scalar, int64_t upper) {
  if (upper == 0) return 0;
  Op* op = scalar->op();
  if (!op || op->kind != OpKind::constant) return {};
  int64_t start = op->as<ConstantAttributes>().value.int_at(0);
  if (is_unsigned_int(scalar->type.dtype) && start < 0) return upper;
  return std::clamp<int64_t>(start, 0, upper);
}

std::optional<int32_t> ExprBuilder::eval_dynamic_slice(Op* op, const IndexVector& index,
                                                       int32_t guard, int32_t frame) {
  const std::vector<int64_t>& shape = op->operand(0)->type.shape;
  const Dims& sizes = op->as<DimsAttributes>().dims;
  IndexVector inner = index;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t upper = shape[d] - sizes[d];
    if (std::optional<int64_t> start = constant_start(op->operand(d + 1), upper)) {
      inner[d].affine.constant += *start;
      continue;
    }
    std::optional<int32_t> start = start_node(op->operand(d + 1), {}, upper, guard, frame);
    if (!start) return {};
    Index offset = constant_index(0);
    offset.dynamic.push_back({*start, 1});
    inner[d] = add(inner[d], offset);
  }
  return eval(op->operand(0), inner, guard, frame);
}

std::optional<int32_t> ExprBuilder::eval_update(Op* op, const IndexVector& index, int32_t guard,
                                                int32_t frame) {
  const std::vector<int64_t>& shape = op->operand(0)->type.shape;
  const std::vector<int64_t>& part = op->operand(1)->type.shape;
  IndexVector inner = index;
  int32_t inside = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t upper = shape[d] - part[d];
    if (upper == 0) continue;
    if (std::optional<int64_t> start = constant_start(op->operand(d + 2), upper)) {
      inner[d].affine.constant -= *start;
    } else {
      std::optional<int32_t> node = start_node(op->operand(d + 2), {}, upper, guard, frame);
      if (!node) return {};
      Index offset = constant_index(0);
      offset.dynamic.push_back({*node, -1});
      inner[d] = add(inner[d], offset);
    }
    inside = both(inside, range_node(inner[d], 0, part[d]));
  }
  if (inside < 0) return eval(op->operand(1), inner, guard, frame);
  std::optional<int32_t> updated = eval(op->operand(1), inner, both(guard, inside), frame);
  std::optional<int32_t> before = eval(op->operand(0), index, guard, frame);
  if (!updated || !before) return {};
  return op_node(OpKind::select, real_part(op->result()->type.dtype), {inside, *updated, *before});
}

std::optional<int32_t> ExprBuilder::eval_gather(Op* op, const IndexVector& index, int32_t guard,
                                                int32_t frame) {
  const auto& gather = op->as<GatherAttributes>();
  Value* operand = op->operand(0);
  Value* indices = op->operand(1);
  auto contains = [](const Dims& dims, int64_t d) {
    return std::find(dims.begin(), dims.end(), d) != dims.end();
  };
  // Result dimensions split into offsets within the slice and batch positions in the index array.
  IndexVector batch, offsets;
  for (size_t d = 0; d < index.size(); ++d)
    (contains(gather.offset_dims, static_cast<int64_t>(d)) ? offsets : batch).push_back(index[d]);
  IndexVector inner(operand->type.shape.size(), constant_index(0));
  size_t next_offset = 0;
  for (size_t d = 0; d < inner.size(); ++d) {
    int64_t dim = static_cast<int64_t>(d);
    if (contains(gather.collapsed_slice_dims, dim) || contains(gather.operand_batching_dims, dim))
      continue;
    inner[d] = offsets[next_offset++];
  }
  for (size_t i = 0; i < gather.operand_batching_dims.size(); ++i) {
    // Batch position of the index array's batching dimension, which skips index_vector_dim.
    int64_t at = gather.start_indices_batching_dims[i];
    if (at > gather.index_vector_dim) --at;
    size_t d = static_cast<size_t>(gather.operand_batching_dims[i]);
    inner[d] = add(inner[d], batch[static_cast<size_t>(at)]);
  }
  for (size_t i = 0; i < gather.start_index_map.size(); ++i) {
    size_t d = static_cast<size_t>(gather.start_index_map[i]);
    IndexVector at = batch;
    if (gather.index_vector_dim < indices->type.rank())
      at.insert(at.begin() + gather.index_vector_dim, constant_index(static_cast<int64_t>(i)));
    std::optional<int32_t> start =
        start_node(indices, at, operand->type.shape[d] - gather.slice_sizes[d], guard, frame);
    if (!start) return {};
    Index offset = constant_index(0);
    offset.dynamic.push_back({*start, 1});
    inner[d] = add(inner[d], offset);
  }
  return eval(operand, inner, guard, frame);
}

}  // namespace ullage
