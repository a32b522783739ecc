// The gradient of an array from which slices were taken at computed places is a sum of arrays that
// are zero but for one slice each. Added up as they stand, every element of the whole array takes
// part in every addition. Here the sum becomes one array of zeros to whose slices the parts are
// added in place, in the same order.
//
// Every bit stays. Adding zero changes a number only where that is -0, so the two differ at most
// where all parts of an element are -0: the sum is -0 if every slice covers the element and +0 if
// some do not. Elements that the smaller of the first two slices does not cover begin as +0, the
// others as -0; at the end those others that another slice left out gain +0.
#include <algorithm>

#include "normalize/op_maker.h"
#include "normalize/rewrite.h"

namespace ullage {

namespace {

// An update of zeros that only `reader` reads.
bool is_part(const Value* value, const Op& reader) {
  const Op* op = value->op();
  if (!op || op->kind != OpKind::dynamic_update_slice || op->region() != reader.region() ||
      !value->has_one_use() || !is_positive_zero(op->operand(0)))
    return false;
  // Places are compared as i64.
  for (size_t i = 2; i < op->num_operands(); ++i)
    if (op->operand(i)->type.dtype == DType::ui64) return false;
  return true;
}

class SumOfUpdates {
 public:
  SumOfUpdates(Function& function, Op* last) : function_(function), type_(last->result()->type) {
    collect(last);
  }

  bool run() {
    if (parts_.size() < 2 || !type_.is_static() || type_.quantized) return false;
    int64_t covered = 0;
    for (const Op* part : parts_) covered += part->operand(1)->type.num_elements();
    if (covered * 4 > type_.num_elements()) return false;
    // -0 is an identity of floats only.
    floats_ = is_float(type_.dtype);
    if (floats_)
      first_ =
          parts_[1]->operand(1)->type.num_elements() < parts_[0]->operand(1)->type.num_elements();
    Value* sum = parts_[0]->operand(0);
    for (size_t k = 0; k < parts_.size(); ++k) {
      OpMaker maker(function_, sums_[k == 0 ? 0 : k - 1]);
      if (k == 0 && floats_) sum = begin(maker, sum);
      Value* before = slice(maker, sum, *parts_[k]);
      sum =
          update(maker, sum, maker.same(OpKind::add, {before, parts_[k]->operand(1)}), *parts_[k]);
    }
    OpMaker maker(function_, sums_.back());
    if (floats_) sum = end(maker, sum);
    sums_.back()->result()->replace_all_uses_with(sum);
    return true;
  }

 private:
  // Additions in their order, each of what the one before left and a part; the first of two parts.
  void collect(Op* last) {
    std::vector<Op*> sums, parts;
    for (Op* sum = last;;) {
      sums.push_back(sum);
      size_t rest = is_part(sum->operand(1), *sum) ? 0 : 1;
      if (!is_part(sum->operand(1 - rest), *sum)) return;
      parts.push_back(sum->operand(1 - rest)->op());
      Value* before = sum->operand(rest);
      if (is_part(before, *sum)) {
        parts.push_back(before->op());
        break;
      }
      sum = before->op();
      if (!sum || sum->kind != OpKind::add || sum->region() != last->region() ||
          !before->has_one_use())
        return;
    }
    sums_.assign(sums.rbegin(), sums.rend());
    parts_.assign(parts.rbegin(), parts.rend());
  }

  Value* slice(OpMaker& maker, Value* from, const Op& part) {
    std::vector<Value*> operands = {from};
    for (size_t i = 2; i < part.num_operands(); ++i) operands.push_back(part.operand(i));
    const Type& type = part.operand(1)->type;
    return maker.op(OpKind::dynamic_slice, operands, {&type, 1}, DimsAttributes{type.shape})
        ->result();
  }
  Value* update(OpMaker& maker, Value* array, Value* by, const Op& part) {
    std::vector<Value*> operands = {array, by};
    for (size_t i = 2; i < part.num_operands(); ++i) operands.push_back(part.operand(i));
    return maker.op(OpKind::dynamic_update_slice, operands, {&type_, 1})->result();
  }

  Value* begin(OpMaker& maker, Value* zeros) {
    const Op& part = *parts_[first_];
    return update(maker, zeros, maker.splat(part.operand(1)->type, -0.0), part);
  }

  Value* end(OpMaker& maker, Value* sum) {
    const Op& part = *parts_[first_];
    Value* there = slice(maker, sum, part);
    Value* with_zero = maker.same(OpKind::add, {there, maker.splat(there->type, 0)});
    Value* everywhere = in_all(maker);
    Value* fixed = everywhere
                       ? maker.make(OpKind::select, {everywhere, there, with_zero}, there->type)
                       : there;
    return update(maker, sum, fixed, part);
  }

  // Which elements of the first slice all slices cover; null: all of them.
  Value* in_all(OpMaker& maker) {
    const Op& part = *parts_[first_];
    const Type numbers = Type::tensor(DType::i64, part.operand(1)->type.shape);
    Value* all = nullptr;
    for (size_t d = 0; d < type_.shape.size(); ++d) {
      Value *low = nullptr, *high = nullptr;
      for (const Op* other : parts_) {
        int64_t extent = other->operand(1)->type.shape[d];
        if (extent == type_.shape[d]) continue;
        Value* start = start_of(maker, *other, d);
        Value* limit = maker.same(OpKind::add, {start, maker.integer(start->type, extent)});
        low = low ? maker.same(OpKind::maximum, {low, start}) : start;
        high = high ? maker.same(OpKind::minimum, {high, limit}) : limit;
      }
      if (!low) continue;
      Value* own =
          maker.op(OpKind::iota, {}, {&numbers, 1}, DimAttributes{static_cast<int64_t>(d)})
              ->result();
      if (part.operand(1)->type.shape[d] != type_.shape[d])
        own = maker.same(OpKind::add,
                         {own, maker.broadcast(start_of(maker, part, d), numbers.shape, {})});
      for (Value* inside :
           {maker.compare(CompareDirection::ge, own, maker.broadcast(low, numbers.shape, {})),
            maker.compare(CompareDirection::lt, own, maker.broadcast(high, numbers.shape, {}))})
        all = all ? maker.same(OpKind::and_, {all, inside}) : inside;
    }
    return all;
  }

  // Where a slice begins, inside the bounds as the specification wants it.
  Value* start_of(OpMaker& maker, const Op& part, size_t d) {
    Value* start = maker.convert(part.operand(2 + d), DType::i64);
    int64_t most = type_.shape[d] - part.operand(1)->type.shape[d];
    return maker.make(OpKind::clamp,
                      {maker.integer(start->type, 0), start, maker.integer(start->type, most)},
                      start->type);
  }

  Function& function_;
  const Type type_;
  std::vector<Op*> parts_;  // in the order of the additions
  std::vector<Op*> sums_;   // one fewer
  bool floats_ = false;
  size_t first_ = 0;  // the smaller one of the first two parts
};

}  // namespace

Status add_slices_in_place(Module& module, const NormalizeOptions& options) {
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    std::vector<Op*> last;
    walk(function->body(), [&](Op* op) {
      if (op->kind != OpKind::add) return;
      const Type& type = op->result()->type;
      if (!type.is_tensor() || !(is_ieee_float(type.dtype) || is_int(type.dtype))) return;
      const Use* use = op->result()->first_use();
      bool goes_on = use && op->result()->has_one_use() && use->owner->kind == OpKind::add &&
                     use->owner->region() == op->region();
      if (goes_on) {
        const Op& next = *use->owner;
        size_t other = next.operand(0) == op->result() ? 1 : 0;
        goes_on = is_part(next.operand(other), next);
      }
      if (!goes_on) last.push_back(op);
    });
    bool changed = false;
    for (Op* op : last) changed |= SumOfUpdates(*function, op).run();
    if (changed) remove_dead_ops(module, *function);
  }
  return Ok{};
}

}  // namespace ullage
