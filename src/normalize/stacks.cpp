// Loops over stacked arrays. JAX's scan takes slice i of its inputs and writes slice i of its
// outputs; a cache that is updated on the way is both, and so exists twice, and a slice of it is
// copied out and back in each trip. Two rewrites let it exist once, where that is certain to save
// memory, and a third where it costs none:
//  - a stack that is written slice by slice begins in a stack of the same type that dies in the
//    loop, of which each trip reads the same slice: an array that is consumed becomes the result;
//  - a part of a slice is updated in the stack itself;
//  - so is a stack that is taken apart, updated and put together again.
#include <algorithm>
#include <cstring>

#include "normalize/rewrite.h"
#include "normalize/stack_ops.h"

namespace ullage {

namespace {

Value* make_reshape(Function& function, Value* value, std::vector<int64_t> shape, Op* before) {
  Type type = value->type;
  type.shape = std::move(shape);
  return function
      .create(*before->region(), OpKind::reshape, {&value, 1}, {&type, 1}, {}, before->location, 0,
              before)
      ->result();
}

// concatenate(update(slice 0 of x), update(slice 1 of x), ...) along the first dimension is x with
// those updates; slices may also come back as they were.
bool restack(Function& function, Op* whole) {
  if (whole->as<DimAttributes>().dim != 0 || whole->num_operands() < 2) return false;
  const std::vector<int64_t>& shape = whole->result()->type.shape;
  if (static_cast<int64_t>(whole->num_operands()) != shape[0]) return false;
  Value* stack = nullptr;
  std::vector<Op*> updates;  // null for a slice that is not updated
  for (size_t k = 0; k < whole->num_operands(); ++k) {
    Value* part = through_reshape(whole->operand(k));
    Op* update =
        part->op() && part->op()->kind == OpKind::dynamic_update_slice ? part->op() : nullptr;
    if (update && (update->region() != whole->region() || !update->operand(0)->has_one_use() ||
                   update->result()->type.shape.size() + 1 != shape.size()))
      return false;
    Op* slice = (update ? through_reshape(update->operand(0)) : part)->op();
    if (!slice || slice->kind != OpKind::slice || slice->operand(0)->type.shape != shape ||
        (stack && slice->operand(0) != stack))
      return false;
    const auto& range = slice->as<SliceAttributes>();
    if (range.start[0] != static_cast<int64_t>(k) || slice->result()->type.shape[0] != 1 ||
        !std::equal(shape.begin() + 1, shape.end(), slice->result()->type.shape.begin() + 1))
      return false;
    stack = slice->operand(0);
    updates.push_back(update);
  }
  // The new updates stand where the last of the old ones does; nothing may read an updated slice
  // before.
  Op* last = nullptr;
  for (Op* update : updates)
    if (update && (!last || comes_before(last, update))) last = update;
  if (!last) return false;
  Op* before = last->next();
  for (Op* update : updates)
    if (update)
      for (Op* reader : update->result()->users()) {
        const Op* outer = containing(reader, *whole->region());
        if (!outer || comes_before(outer, last)) return false;
      }
  Value* now = stack;
  for (size_t k = 0; k < updates.size(); ++k) {
    Op* update = updates[k];
    if (!update) continue;
    Value* part = update->operand(1);
    std::vector<int64_t> raised = part->type.shape;
    raised.insert(raised.begin(), 1);
    Type index = update->operand(2)->type;
    int64_t number = static_cast<int64_t>(k);
    std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(index.dtype)));
    std::memcpy(bytes.data(), &number, bytes.size());
    Op* start = function.create(*whole->region(), OpKind::constant, {}, {&index, 1},
                                ConstantAttributes{Literal::make(index, std::move(bytes))},
                                last->location, 0, before);
    std::vector<Value*> operands = {now, make_reshape(function, part, raised, before),
                                    start->result()};
    for (size_t s = 2; s < update->num_operands(); ++s) operands.push_back(update->operand(s));
    Type type = whole->result()->type;
    now = function
              .create(*whole->region(), OpKind::dynamic_update_slice, operands, {&type, 1},
                      update->attributes, update->location, 0, before)
              ->result();
  }
  whole->result()->replace_all_uses_with(now);
  // Who reads an updated slice reads it in the stack.
  for (size_t k = 0; k < updates.size(); ++k) {
    Op* update = updates[k];
    if (!update) continue;
    SliceAttributes range;
    range.start.assign(shape.size(), 0);
    range.limit = shape;
    range.strides.assign(shape.size(), 1);
    range.start[0] = static_cast<int64_t>(k);
    range.limit[0] = static_cast<int64_t>(k) + 1;
    Type one = whole->result()->type;
    one.shape[0] = 1;
    Op* slice = function.create(*whole->region(), OpKind::slice, {&now, 1}, {&one, 1}, range,
                                update->location, 0, before);
    update->result()->replace_all_uses_with(
        make_reshape(function, slice->result(), update->result()->type.shape, before));
  }
  whole->erase();
  return true;
}

class Stacks {
 public:
  Stacks(Function& function, Op* loop, const CountedLoop& counted)
      : function_(function), loop_(loop), counted_(counted), body_(loop->nested(1)) {}

  bool run() {
    bool changed = false;
    for (size_t i = 0; i < loop_->num_operands(); ++i) {
      Op* write = stack_writer(*loop_, counted_, i);
      if (!write) continue;
      write->move_before(body_.terminator());
      if (Value* consumed = find_consumed(i, *write)) {
        take_over(i, consumed);
        changed = true;
      }
      changed |= update_within(i, *write);
    }
    return changed;
  }

 private:
  // A stack that only this loop reads, slice by slice as `write` writes them, and whose memory is
  // the program's to reuse. The carried value must not be read itself.
  Value* find_consumed(size_t i, const Op& write) {
    if (!body_.argument(i)->has_one_use() || loop_->nested(0).argument(i)->has_uses())
      return nullptr;
    for (Op* op : body_) {
      if (op->kind != OpKind::dynamic_slice) continue;
      Value* stack = op->operand(0);
      if (stack->type == write.result()->type && is_consumed(stack, write)) return stack;
    }
    return nullptr;
  }

  bool is_consumed(Value* stack, const Op& write) const {
    const Region& outside = *loop_->region();
    if (stack->op()) {
      if (stack->op()->region() != &outside || stack->op()->kind == OpKind::constant) return false;
    } else {
      if (stack->region() != &outside) return false;
      if (!outside.parent()) {
        const ArgumentInfo& info = function_.argument_info[stack->index()];
        if (!info.donated && !info.aliases_output) return false;
      } else if (outside.parent()->kind != OpKind::while_) {
        return false;
      }
    }
    for (const Use* use = stack->first_use(); use; use = use->next) {
      const Op* user = use->owner;
      if (is_within(user, body_)) {
        if (user->region() != &body_ || user->kind != OpKind::dynamic_slice || use->index != 0)
          return false;
        Value* index = slice_index(*user);
        if (!index || !same_index(index, slice_index(write))) return false;
        continue;
      }
      const Op* outer = containing(user, outside);
      if (!outer || outer == loop_ || !comes_before(outer, loop_)) return false;
    }
    return true;
  }

  void take_over(size_t i, Value* stack) {
    for (Op* op : body_)
      if (op->kind == OpKind::dynamic_slice && op->operand(0) == stack)
        op->set_operand(0, body_.argument(i));
    loop_->set_operand(i, stack);
  }

  // write(stack, update(read(stack, index), part, starts), index) becomes
  // write(stack, part, index and starts); who reads the updated slice reads it there.
  bool update_within(size_t i, Op& write) {
    Value* stack = body_.argument(i);
    Op* update = through_reshape(write.operand(1))->op();
    if (!update || update->kind != OpKind::dynamic_update_slice || update->region() != &body_)
      return false;
    Value* old = update->operand(0);
    Op* read = through_reshape(old)->op();
    if (!read || read->kind != OpKind::dynamic_slice || read->operand(0) != stack ||
        !old->has_one_use() || stack->num_uses() != 2)
      return false;
    Value* index = slice_index(*read);
    if (!index || !same_index(index, slice_index(write)) || !read->result()->has_one_use())
      return false;
    const Type& slice = update->result()->type;
    if (slice.shape.size() + 1 != stack->type.shape.size() ||
        !std::equal(slice.shape.begin(), slice.shape.end(), stack->type.shape.begin() + 1) ||
        !(update->operand(2)->type == index->type))
      return false;

    Op* before = update->next();
    Value* part = update->operand(1);
    Type part_type = part->type;
    part_type.shape.insert(part_type.shape.begin(), 1);
    Op* raised = function_.create(body_, OpKind::reshape, {&part, 1}, {&part_type, 1}, {},
                                  update->location, 0, before);
    std::vector<Value*> operands = {stack, raised->result(), index};
    for (size_t s = 2; s < update->num_operands(); ++s) operands.push_back(update->operand(s));
    Op* direct = function_.create(body_, OpKind::dynamic_update_slice, operands, {&stack->type, 1},
                                  update->attributes, update->location, 0, before);
    write.result()->replace_all_uses_with(direct->result());
    write.erase();

    std::vector<Value*> again = read->operands();
    again[0] = direct->result();
    Type one = read->result()->type;
    Op* updated = function_.create(body_, OpKind::dynamic_slice, again, {&one, 1}, read->attributes,
                                   update->location, 0, before);
    Value* whole = updated->result();
    Op* lowered = function_.create(body_, OpKind::reshape, {&whole, 1}, {&slice, 1}, {},
                                   update->location, 0, before);
    update->result()->replace_all_uses_with(lowered->result());
    update->erase();
    return true;
  }

  Function& function_;
  Op* loop_;
  CountedLoop counted_;
  Region& body_;
};

}  // namespace

void inline_slices(const Module& module, Function& function) {
  inline_into(module, function, [](const Op&, const Function& callee) {
    bool slices = false;
    for (Op* op : callee.body()) {
      if (has_trait(op->kind, kTerminator) || op->kind == OpKind::constant) continue;
      slices |= op->kind == OpKind::dynamic_slice;
      if (op->kind != OpKind::dynamic_slice && op->kind != OpKind::reshape) return false;
    }
    return slices;
  });
}

Status update_stacks_in_place(Module& module, const NormalizeOptions& options) {
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    std::vector<Op*> loops, stacked;
    walk(function->body(), [&](Op* op) {
      if (op->kind == OpKind::while_) loops.push_back(op);
      if (op->kind == OpKind::concatenate) stacked.push_back(op);
    });
    bool changed = false;
    for (Op* op : stacked) changed |= restack(*function, op);
    if (!loops.empty()) inline_slices(module, *function);
    for (Op* loop : loops)
      if (std::optional<CountedLoop> counted = counted_loop(*loop))
        changed |= Stacks(*function, loop, *counted).run();
    if (changed) remove_dead_ops(module, *function);
  }
  return Ok{};
}

}  // namespace ullage
