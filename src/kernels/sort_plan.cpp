#include "kernels/sort_plan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

namespace ullage {

namespace {

// One comparison of the comparator: the elements' `node` (of the left element), as `dtype`.
struct SortKey {
  int32_t node = -1;
  DType dtype = DType::i32;
  bool descending = false;
  bool total_order = false;  // of floats
};

// Finds "key(left) < key(right)", possibly "or equal and ...", in a comparator.
class Comparator {
 public:
  explicit Comparator(const LibraryKernel& kernel) : body_(kernel.body) {
    // Complex elements are two parameters each: such comparators are called.
    for (Value* operand : kernel.op->operands())
      if (is_complex(operand->type.dtype)) return;
    if (kernel.body_results.size() == 1 && !order(kernel.body_results[0])) keys_.clear();
  }
  // Most significant first; empty if the comparator is something else.
  const std::vector<SortKey>& keys() const { return keys_; }

 private:
  const ExprNode& node(int32_t i) const { return body_.nodes[static_cast<size_t>(i)]; }
  bool is_op(int32_t i, OpKind op) const {
    return i >= 0 && node(i).kind == ExprNode::Kind::op && node(i).op == op;
  }

  // Whether b is a with each left element replaced by the right one of the same operand.
  bool mirrored(int32_t a, int32_t b) {
    if (auto known = mirrored_.find({a, b}); known != mirrored_.end()) return known->second;
    const ExprNode &x = node(a), &y = node(b);
    bool same = x.kind == y.kind && x.dtype == y.dtype;
    if (same && x.kind == ExprNode::Kind::parameter) {
      same = x.input % 2 == 0 && y.input == x.input + 1;
    } else if (same && x.kind == ExprNode::Kind::constant) {
      same = a == b;
    } else if (same && x.kind == ExprNode::Kind::op) {
      same = x.op == y.op && x.direction == y.direction && x.compare_type == y.compare_type &&
             x.precision == y.precision;
      for (size_t i = 0; same && i < x.operands.size(); ++i)
        same = x.operands[i] < 0 ? y.operands[i] < 0 : mirrored(x.operands[i], y.operands[i]);
    } else {
      same = false;
    }
    return mirrored_[{a, b}] = same;
  }

  // The key that a comparison (of direction LT or GT) orders by.
  std::optional<SortKey> less(int32_t i) {
    if (!is_op(i, OpKind::compare)) return {};
    CompareDirection direction = node(i).direction;
    if (direction != CompareDirection::lt && direction != CompareDirection::gt) return {};
    SortKey key;
    key.descending = direction == CompareDirection::gt;
    int32_t a = node(i).operands[0], b = node(i).operands[1];
    if (!mirrored(a, b)) {
      std::swap(a, b);
      key.descending = !key.descending;
      if (!mirrored(a, b)) return {};
    }
    key.node = a;
    key.dtype = node(a).dtype;
    key.total_order = node(i).compare_type == CompareType::totalorder;
    if (is_complex(key.dtype)) return {};
    return key;
  }

  bool equal(int32_t i, const SortKey& key) {
    if (!is_op(i, OpKind::compare) || node(i).direction != CompareDirection::eq) return false;
    if ((node(i).compare_type == CompareType::totalorder) != key.total_order) return false;
    int32_t a = node(i).operands[0], b = node(i).operands[1];
    return (a == key.node && mirrored(a, b)) || (b == key.node && mirrored(b, a));
  }

  bool order(int32_t i) {
    if (std::optional<SortKey> key = less(i)) {
      keys_.push_back(*key);
      return true;
    }
    if (is_op(i, OpKind::or_))
      for (int flip : {0, 1}) {
        int32_t first = node(i).operands[static_cast<size_t>(flip)],
                rest = node(i).operands[static_cast<size_t>(1 - flip)];
        std::optional<SortKey> key = less(first);
        if (!key || !is_op(rest, OpKind::and_)) continue;
        for (int side : {0, 1})
          if (equal(node(rest).operands[static_cast<size_t>(side)], *key)) {
            keys_.push_back(*key);
            return order(node(rest).operands[static_cast<size_t>(1 - side)]);
          }
      }
    if (is_op(i, OpKind::select))
      if (std::optional<SortKey> key = less(node(i).operands[2]);
          key && equal(node(i).operands[0], *key)) {
        keys_.push_back(*key);
        return order(node(i).operands[1]);
      }
    return false;
  }

  const Expr& body_;
  std::vector<SortKey> keys_;
  std::map<std::pair<int32_t, int32_t>, bool> mirrored_;
};

// The node is the element itself (unsigned, signed or totalOrder), or the element with one zero and
// one NaN: select(x != x, NaN, select(x == 0, 0, x)).
std::optional<KeyForm> plain_form(const Expr& body, const SortKey& key) {
  auto at = [&](int32_t i) -> const ExprNode& { return body.nodes[static_cast<size_t>(i)]; };
  const ExprNode& node = at(key.node);
  if (node.kind == ExprNode::Kind::parameter) {
    if (is_float(key.dtype))
      return key.total_order ? top_k_key(key.dtype) : std::optional<KeyForm>(KeyForm::canonical);
    return top_k_key(key.dtype);
  }
  auto is_compare = [&](int32_t i, CompareDirection direction, int32_t a, int32_t b) {
    const ExprNode& n = at(i);
    return n.kind == ExprNode::Kind::op && n.op == OpKind::compare && n.direction == direction &&
           n.compare_type != CompareType::totalorder && n.operands[0] == a &&
           (b < 0 || n.operands[1] == b);
  };
  auto is_select = [&](const ExprNode& n) {
    return n.kind == ExprNode::Kind::op && n.op == OpKind::select;
  };
  if (!is_float(key.dtype) || !is_select(node) || !is_select(at(node.operands[2]))) return {};
  const ExprNode& inner = at(node.operands[2]);
  int32_t x = inner.operands[2];
  if (at(x).kind != ExprNode::Kind::parameter ||
      !is_compare(node.operands[0], CompareDirection::ne, x, x) ||
      !is_compare(inner.operands[0], CompareDirection::eq, x, inner.operands[1]))
    return {};
  const ExprNode &nan = at(node.operands[1]), &zero = at(inner.operands[1]);
  if (nan.kind != ExprNode::Kind::constant || zero.kind != ExprNode::Kind::constant ||
      zero.bits[0] != 0 || nan.dtype != key.dtype || (nan.bits[0] >> (bit_width(key.dtype) - 1)))
    return {};
  switch (key.dtype) {  // the constant above infinity is a NaN, of positive sign as just seen
    case DType::bf16:
      return nan.bits[0] > 0x7f80 ? std::optional(KeyForm::canonical) : std::nullopt;
    case DType::f16:
      return nan.bits[0] > 0x7c00 ? std::optional(KeyForm::canonical) : std::nullopt;
    case DType::f32:
      return nan.bits[0] > 0x7f800000 ? std::optional(KeyForm::canonical) : std::nullopt;
    case DType::f64:
      return nan.bits[0] > 0x7ff0000000000000 ? std::optional(KeyForm::canonical) : std::nullopt;
    default:
      return {};
  }
}

// Builds the integer key of an element.
class KeyBuilder {
 public:
  KeyBuilder(const LibraryKernel& kernel, SortPlan& plan) : body_(kernel.body), plan_(plan) {
    load_.affine.coefficients = {plan.extent * plan.inner, 1, plan.inner};
    plan.store.affine.coefficients = {0, 0, 1};
  }

  // As many of the plan's keys as are needed, each of several of the comparator's while they fit.
  void build(const std::vector<SortKey>& keys, DType dtype) {
    int bits = 0;
    for (const SortKey& key : keys) {
      int32_t one = convert(ordered(key), dtype);
      if (bits > 0 && bits + width(key.dtype) <= width(dtype)) {
        int32_t& all = plan_.keys.back();
        all = op(OpKind::or_, dtype,
                 {op(OpKind::shift_left, dtype, {all, integer(dtype, width(key.dtype))}), one});
        bits += width(key.dtype);
      } else {
        plan_.keys.push_back(one);
        bits = width(key.dtype);
      }
    }
  }

  // Bits that an ordered key of the dtype takes.
  static int width(DType dtype) { return dtype == DType::i1 ? 1 : 8 * storage_bytes(dtype); }

 private:
  int32_t op(OpKind kind, DType dtype, std::initializer_list<int32_t> operands) {
    ExprNode node;
    node.op = kind;
    node.dtype = dtype;
    std::copy(operands.begin(), operands.end(), node.operands.begin());
    return plan_.expr.add(node);
  }
  int32_t integer(DType dtype, int64_t value) {
    ExprNode node;
    node.kind = ExprNode::Kind::constant;
    node.dtype = dtype;
    node.bits[0] = static_cast<uint64_t>(value);
    if (storage_bytes(dtype) < 8) node.bits[0] &= (uint64_t{1} << 8 * storage_bytes(dtype)) - 1;
    return plan_.expr.add(node);
  }
  int32_t convert(int32_t node, DType dtype) {
    if (plan_.expr.nodes[static_cast<size_t>(node)].dtype == dtype) return node;
    return op(OpKind::convert, dtype, {node});
  }

  // The comparator's node with loads in place of left elements.
  int32_t copy(int32_t i) {
    if (auto known = copied_.find(i); known != copied_.end()) return known->second;
    ExprNode node = body_.nodes[static_cast<size_t>(i)];
    if (node.kind == ExprNode::Kind::parameter) {
      node.kind = ExprNode::Kind::load;
      node.input /= 2;
      node.access = load_;
    } else {
      for (int32_t& operand : node.operands)
        if (operand >= 0) operand = copy(operand);
    }
    return copied_[i] = plan_.expr.add(std::move(node));
  }

  // The key as an unsigned integer of its own width whose order is the one wanted.
  int32_t ordered(const SortKey& key) {
    int32_t node = copy(key.node);
    DType dtype = key.dtype;
    int bits = width(dtype);
    DType wide = bits <= 32 ? DType::ui32 : DType::ui64;
    DType wide_signed = bits <= 32 ? DType::i32 : DType::i64;
    if (is_float(dtype)) {
      if (!key.total_order) node = canonical(node, dtype);
      // Bits of the narrow type.
      DType same = bits == 16 ? DType::ui16 : bits == 32 ? DType::ui32 : DType::ui64;
      DType same_signed = bits == 16 ? DType::i16 : bits == 32 ? DType::i32 : DType::i64;
      int32_t raw = op(OpKind::bitcast_convert, same_signed, {node});
      int32_t sign =
          op(OpKind::shift_right_arithmetic, same_signed, {raw, integer(same_signed, bits - 1)});
      int32_t flip = op(OpKind::or_, same_signed,
                        {sign, integer(same_signed, int64_t(uint64_t{1} << (bits - 1)))});
      node = op(OpKind::bitcast_convert, same, {op(OpKind::xor_, same_signed, {raw, flip})});
    } else if (is_signed_int(dtype)) {
      node = op(OpKind::bitcast_convert, wide, {convert(node, wide_signed)});
      node = op(OpKind::xor_, wide, {node, integer(wide, int64_t(uint64_t{1} << (bits - 1)))});
      if (bits < 32) node = op(OpKind::and_, wide, {node, integer(wide, (1 << bits) - 1)});
    }
    node = convert(node, wide);
    if (key.descending) {
      uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
      node = op(OpKind::xor_, wide, {node, integer(wide, static_cast<int64_t>(mask))});
    }
    return node;
  }

  int32_t canonical(int32_t x, DType dtype) {
    uint64_t nan = dtype == DType::bf16  ? 0x7fc0
                   : dtype == DType::f16 ? 0x7e00
                   : dtype == DType::f32 ? 0x7fc00000
                                         : 0x7ff8000000000000;
    ExprNode differs;
    differs.op = OpKind::compare;
    differs.dtype = DType::i1;
    differs.direction = CompareDirection::ne;
    differs.operands = {x, x, -1};
    int32_t is_nan = plan_.expr.add(differs);
    ExprNode equals = differs;
    int32_t zero = integer(dtype, 0);
    equals.direction = CompareDirection::eq;
    equals.operands = {x, zero, -1};
    int32_t is_zero = plan_.expr.add(equals);
    int32_t one_zero = op(OpKind::select, dtype, {is_zero, zero, x});
    return op(OpKind::select, dtype, {is_nan, integer(dtype, static_cast<int64_t>(nan)), one_zero});
  }

  const Expr& body_;
  SortPlan& plan_;
  Access load_;
  std::map<int32_t, int32_t> copied_;
};

bool has_integer_key(DType dtype) {
  return dtype == DType::i1 || is_int(dtype) || dtype == DType::bf16 || dtype == DType::f16 ||
         dtype == DType::f32 || dtype == DType::f64;
}

}  // namespace

std::optional<KeyForm> top_k_key(DType dtype) {
  if (bit_width(dtype) < 8 && dtype != DType::i1) return {};
  if (is_signed_int(dtype)) return KeyForm::signed_;
  if (dtype == DType::i1 || is_unsigned_int(dtype)) return KeyForm::unsigned_;
  if (dtype == DType::bf16 || dtype == DType::f16 || dtype == DType::f32 || dtype == DType::f64)
    return KeyForm::total_order;
  return {};
}

SortPlan plan_sort(const LibraryKernel& kernel, int threads) {
  SortPlan plan;
  const std::vector<int64_t>& shape = kernel.op->operand(0)->type.shape;
  int64_t rank = static_cast<int64_t>(shape.size());
  int64_t dim = kernel.op->as<SortAttributes>().dimension;
  if (dim < 0) dim += rank;
  for (int64_t d = 0; d < rank; ++d)
    (d < dim ? plan.outer : d == dim ? plan.extent : plan.inner) *= shape[static_cast<size_t>(d)];

  Comparator comparator(kernel);
  const std::vector<SortKey>& keys = comparator.keys();
  int bits = 0, widest = 0;
  bool integers = !keys.empty() && keys.size() <= kMaxSortKeys;
  for (const SortKey& key : keys) {
    bits += KeyBuilder::width(key.dtype);
    widest = std::max(widest, KeyBuilder::width(key.dtype));
    integers = integers && has_integer_key(key.dtype);
  }
  if (integers && (widest <= 32 || bits <= 64)) {
    plan.method = widest <= 32 ? SortMethod::narrow : SortMethod::wide;
    std::optional<KeyForm> form;
    if (keys.size() == 1 && kernel.op->num_operands() == 1) form = plain_form(kernel.body, keys[0]);
    if (form) {
      plan.method = SortMethod::values;
      plan.form = *form;
      plan.descending = keys[0].descending;
    } else {
      KeyBuilder(kernel, plan).build(keys, widest <= 32 ? DType::ui32 : DType::ui64);
    }
  }

  plan.alone = plan.extent <= kSliceAlone;
  plan.chunk = std::max(kSortChunk, (plan.extent + kMaxSortChunks - 1) / kMaxSortChunks);
  int64_t element = 0;
  switch (plan.method) {
    case SortMethod::values:
      element = storage_bytes(kernel.op->operand(0)->type.dtype);
      break;
    case SortMethod::narrow:
      element = 8;
      break;
    case SortMethod::wide:
      element = 16;
      break;
    case SortMethod::comparing:
      element = 4;
      break;
  }
  // What is sorted in place must be read nowhere else, and fit one array when it is moved.
  const std::vector<Value*> operands = kernel.op->operands();
  for (size_t i = 0; i < operands.size(); ++i)
    if (std::count(operands.begin(), operands.end(), operands[i]) == 1 &&
        storage_bytes(operands[i]->type.dtype) <= element)
      plan.in_place.push_back(static_cast<int32_t>(i));
  plan.worker_bytes = 2 * scratch_aligned(plan.extent * element);
  plan.scratch_bytes = plan.worker_bytes * (plan.alone ? threads : 1);
  // Counts of the digits of each chunk.
  if (!plan.alone) plan.scratch_bytes += (kMaxSortChunks + 1) * 256 * 4;
  return plan;
}

TopKPlan plan_top_k(const Op& op, int threads) {
  TopKPlan plan;
  const Type& type = op.operand(0)->type;
  plan.extent = type.shape.back();
  plan.lines = plan.extent == 0 ? 0 : type.num_elements() / plan.extent;
  plan.k = op.as<TopKAttributes>().k;
  plan.candidate_bytes = storage_bytes(type.dtype) <= 4 ? 8 : 16;
  // A search keeps the best k and room to collect as many again before it looks for them anew.
  plan.capacity = std::min(plan.extent, std::max<int64_t>(2 * plan.k, plan.k + 48));
  if (plan.extent > kSliceAlone)
    plan.pieces =
        std::clamp<int64_t>(plan.extent / std::max(kSliceAlone, 8 * plan.k), 1, kMaxSortChunks);
  plan.worker_bytes = scratch_aligned(plan.capacity * plan.candidate_bytes);
  plan.scratch_bytes = plan.worker_bytes * threads;
  if (plan.pieces > 1)
    plan.scratch_bytes += scratch_aligned(plan.pieces * plan.k * plan.candidate_bytes);
  return plan;
}

}  // namespace ullage
