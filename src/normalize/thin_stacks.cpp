// What a loop stacks for another one to read, as scan does with what the gradient needs, is often
// computed in a few steps from other stacks, or from what is there anyway: the mask that a relu
// leaves beside its argument, one minus a gate, weights plus a number, the random bits of a key.
// Such a stack is left out, and the slice is computed where it is read.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "normalize/rewrite.h"
#include "normalize/stack_ops.h"

namespace ullage {

namespace {

constexpr size_t kMaxOps = 24;        // operations computed again
constexpr double kMaxCost = 32;       // simple operations an element, unless its leaves are small
constexpr double kFunctionCost = 12;  // of a transcendental function
constexpr int64_t kSmallShare = 8;    // by which leaves are small

struct Stack {
  size_t number = 0;  // carried value
  Op* write = nullptr;
  Value* element = nullptr;  // what is written, under whatever shape
  std::vector<Op*> reads;    // dynamic_slice of the loop's result, one index each
};

// How an element is computed from leaves.
struct Recipe {
  std::vector<Op*> ops;        // in order
  std::vector<size_t> stacks;  // leaves, as numbers of stacks
  std::vector<Op*> slices;     // leaves: dynamic_slice of a captured array at the index of the trip
  std::vector<Value*> captured;
  double cost = 0;
  int64_t leaf_bytes = 0;
};

class ThinStacks {
 public:
  ThinStacks(const Module& module, Function& function, Op* loop, const CountedLoop& counted)
      : module_(module),
        function_(function),
        loop_(loop),
        body_(loop->nested(1)),
        outside_(*loop->region()) {
    for (size_t i = 0; i < loop->num_operands(); ++i) {
      Stack stack;
      stack.number = i;
      stack.write = stack_writer(*loop, counted, i);
      if (!stack.write || !body_.argument(i)->has_one_use() || !find_reads(stack)) continue;
      stack.element = through_reshape(stack.write->operand(1));
      by_element_.emplace(stack.element, stacks_.size());
      stacks_.push_back(std::move(stack));
    }
  }

  bool run() {
    // Later values are made of earlier ones more often than the other way round.
    std::vector<size_t> order;
    for (size_t s = 0; s < stacks_.size(); ++s) order.push_back(s);
    std::unordered_map<const Op*, int64_t> position;
    int64_t next = 0;
    for (Op* op : body_) position[op] = next++;
    auto written = [&](size_t s) {
      const Op* op = stacks_[s].element->op();
      return op ? position[op] : -1;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return written(a) > written(b); });
    bool changed = false;
    for (size_t s : order) {
      if (needed_.contains(s)) continue;
      Recipe recipe;
      if (!collect(stacks_[s].element, s, recipe) || !worthwhile(stacks_[s], recipe)) continue;
      if (!std::all_of(stacks_[s].reads.begin(), stacks_[s].reads.end(),
                       [&](Op* read) { return available(recipe, *read); }))
        continue;
      needed_.insert(recipe.stacks.begin(), recipe.stacks.end());
      for (Op* read : stacks_[s].reads) replace(stacks_[s], recipe, read);
      // The loop no longer changes this carried value, so it will be dropped.
      body_.terminator()->set_operand(stacks_[s].number, body_.argument(stacks_[s].number));
      removed_.insert(s);
      changed = true;
    }
    return changed;
  }

 private:
  // All uses of the loop's result must read one index of it.
  bool find_reads(Stack& stack) const {
    Value* result = loop_->result(stack.number);
    for (Op* user : result->users()) {
      if (user->kind != OpKind::dynamic_slice || user->operand(0) != result || !slice_index(*user))
        return false;
      stack.reads.push_back(user);
    }
    return !stack.reads.empty();
  }

  bool inside(const Value* value) const {
    return value->op() ? is_within(value->op(), body_) : value->region() == &body_;
  }

  bool collect(Value* value, size_t self, Recipe& recipe) {
    auto stacked = by_element_.find(value);
    if (stacked != by_element_.end() && stacked->second != self) {
      if (removed_.contains(stacked->second)) return false;
      if (std::find(recipe.stacks.begin(), recipe.stacks.end(), stacked->second) ==
          recipe.stacks.end()) {
        recipe.stacks.push_back(stacked->second);
        recipe.leaf_bytes += value->type.bytes();
      }
      return true;
    }
    if (!inside(value)) {
      if (std::find(recipe.captured.begin(), recipe.captured.end(), value) ==
          recipe.captured.end()) {
        recipe.captured.push_back(value);
        recipe.leaf_bytes +=
            value->op() && value->op()->kind == OpKind::constant ? 0 : value->type.bytes();
      }
      return true;
    }
    Op* op = value->op();
    if (!op || op->region() != &body_ || op->num_regions() != 0) return false;
    if (std::find(recipe.ops.begin(), recipe.ops.end(), op) != recipe.ops.end()) return true;
    if (op->kind == OpKind::dynamic_slice && !inside(op->operand(0))) {
      Value* index = slice_index(*op);
      if (!index || !same_index(index, slice_index(*stacks_[self].write))) return false;
      if (std::find(recipe.slices.begin(), recipe.slices.end(), op) == recipe.slices.end()) {
        recipe.slices.push_back(op);
        recipe.leaf_bytes += value->type.bytes();
      }
      return true;
    }
    if (recipe.ops.size() >= kMaxOps) return false;
    bool computes = has_trait(op->kind, kElementwise) || has_trait(op->kind, kIndexing) ||
                    op->kind == OpKind::constant || op->kind == OpKind::call;
    if (!computes || op->kind == OpKind::dynamic_slice || op->kind == OpKind::gather) return false;
    for (Value* operand : op->operands())
      if (!collect(operand, self, recipe)) return false;
    recipe.ops.push_back(op);
    recipe.cost += cost(*op);
    return true;
  }

  double cost(const Op& op) const {
    if (op.kind == OpKind::call) {
      const Function* callee = module_.find(op.as<CallAttributes>().callee);
      double total = 0;
      for (Op* inner : callee->body())
        if (!has_trait(inner->kind, kTerminator)) total += cost(*inner);
      return total;
    }
    switch (op.kind) {
      case OpKind::exponential:
      case OpKind::exponential_minus_one:
      case OpKind::log:
      case OpKind::log_plus_one:
      case OpKind::logistic:
      case OpKind::tanh:
      case OpKind::sine:
      case OpKind::cosine:
      case OpKind::power:
        return kFunctionCost;
      default:
        return has_trait(op.kind, kElementwise) ? 1 : 0;
    }
  }

  static bool worthwhile(const Stack& stack, const Recipe& recipe) {
    return recipe.cost <= kMaxCost ||
           recipe.leaf_bytes * kSmallShare <= stack.element->type.bytes();
  }

  // Whether the leaves are alive where the slice is read, without living longer for it.
  bool available(const Recipe& recipe, const Op& read) const {
    const Op* reader = containing(&read, outside_);
    if (!reader || !comes_before(loop_, reader)) return false;
    auto alive = [&](Value* value) {
      const Region* home = value->op() ? value->op()->region() : value->region();
      if (home != &outside_) return true;  // of a region around this one
      if (value->op() && value->op()->kind == OpKind::constant) return true;
      if (!value->op() && !outside_.parent()) {
        const ArgumentInfo& info = function_.argument_info[value->index()];
        if (!info.donated && !info.aliases_output) return true;
      }
      for (const Use* use = value->first_use(); use; use = use->next) {
        const Op* user = containing(use->owner, outside_);
        if (user && (user == reader || comes_before(reader, user))) return true;
      }
      return false;
    };
    for (size_t s : recipe.stacks)
      if (!alive(loop_->result(stacks_[s].number))) return false;
    for (Op* slice : recipe.slices)
      if (!alive(slice->operand(0))) return false;
    return std::all_of(recipe.captured.begin(), recipe.captured.end(), alive);
  }

  void replace(const Stack& stack, const Recipe& recipe, Op* read) {
    ValueMap map;
    Value* index = slice_index(*read);
    for (size_t s : recipe.stacks) {
      const Stack& leaf = stacks_[s];
      map.set(leaf.element, slice_at(loop_->result(leaf.number), index, leaf.element->type, read));
    }
    for (Op* slice : recipe.slices)
      map.set(slice->result(), slice_at(slice->operand(0), index, slice->result()->type, read));
    for (Op* op : recipe.ops) clone(op, function_, *read->region(), map, read);
    Value* element = map.lookup(stack.element);
    Type type = read->result()->type;
    if (!(element->type == type))
      element = function_
                    .create(*read->region(), OpKind::reshape, {&element, 1}, {&type, 1}, {},
                            read->location, 0, read)
                    ->result();
    read->result()->replace_all_uses_with(element);
    read->erase();
  }

  // Slice `index` of a stack, in the shape that is wanted.
  Value* slice_at(Value* stack, Value* index, const Type& shape, Op* before) {
    DimsAttributes sizes;
    sizes.dims = stack->type.shape;
    sizes.dims[0] = 1;
    Type one = stack->type;
    one.shape[0] = 1;
    std::vector<Value*> operands = {stack, index};
    if (one.shape.size() > 1) {
      std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(index->type.dtype)));
      Op* zero = function_.create(*before->region(), OpKind::constant, {}, {&index->type, 1},
                                  ConstantAttributes{Literal::make(index->type, std::move(bytes))},
                                  before->location, 0, before);
      operands.resize(one.shape.size() + 1, zero->result());
    }
    Value* out = function_
                     .create(*before->region(), OpKind::dynamic_slice, operands, {&one, 1}, sizes,
                             before->location, 0, before)
                     ->result();
    if (out->type == shape) return out;
    return function_
        .create(*before->region(), OpKind::reshape, {&out, 1}, {&shape, 1}, {}, before->location, 0,
                before)
        ->result();
  }

  const Module& module_;
  Function& function_;
  Op* loop_;
  Region& body_;
  Region& outside_;
  std::vector<Stack> stacks_;
  std::unordered_map<Value*, size_t> by_element_;
  std::unordered_set<size_t> needed_, removed_;
};

}  // namespace

Status thin_stacks(Module& module, const NormalizeOptions& options) {
  bool changed = false;
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    std::vector<Op*> loops;
    walk(function->body(), [&](Op* op) {
      if (op->kind == OpKind::while_) loops.push_back(op);
    });
    for (Op* loop : loops)
      if (std::optional<CountedLoop> counted = counted_loop(*loop))
        changed |= ThinStacks(module, *function, loop, *counted).run();
  }
  return changed ? capture_invariants(module, options) : Status(Ok{});
}

}  // namespace ullage
