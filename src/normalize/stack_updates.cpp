// What is done to a stack element by element once a loop has made it, is done to each slice in the
// loop: the update of stacked weights by the gradients of a scan. Then the stack itself need not
// exist, only what is made of it, and that can take the place of a stack that is consumed
// (normalize/stacks.cpp). No operation or operand changes but for their shape.
#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "normalize/rewrite.h"
#include "normalize/stack_ops.h"

namespace ullage {

namespace {

constexpr size_t kMaxScalars = 32;  // operations on scalars that are moved in front of a loop

class StackUpdates {
 public:
  StackUpdates(Function& function, Op* loop, const CountedLoop& counted)
      : function_(function),
        loop_(loop),
        counted_(counted),
        body_(loop->nested(1)),
        outside_(*loop->region()) {}

  bool run() {
    find_stacks();
    if (stacks_.empty()) return false;
    for (const Op* op = loop_->prev(); op; op = op->prev()) before_.insert(op);
    while (!stacks_.empty() && !follow()) {
    }
    if (stacks_.empty() || updates_.empty()) return false;
    find_roots();
    if (!saves_memory()) return false;
    move_scalars();
    move_updates();
    return true;
  }

 private:
  struct Stack {
    size_t number = 0;  // carried value
    Op* write = nullptr;
  };

  // Stacks that the loop only writes, all at the same index.
  void find_stacks() {
    for (size_t i = 0; i < loop_->num_operands(); ++i) {
      Op* write = stack_writer(*loop_, counted_, i);
      if (!write || !body_.argument(i)->has_one_use() || loop_->nested(0).argument(i)->has_uses())
        continue;
      if (!stacks_.empty() && !same_index(slice_index(*write), slice_index(*stacks_.front().write)))
        continue;
      stacks_.push_back({i, write});
    }
  }

  // Collects the elementwise operations on the stacks after the loop, with those that make their
  // other operands. False: a stack had another reader and was given up, so that it has to be done
  // again.
  bool follow() {
    derived_.clear();
    updates_.clear();
    std::unordered_set<const Value*> of_stacks;
    for (const Stack& stack : stacks_) of_stacks.insert(loop_->result(stack.number));
    derived_ = of_stacks;
    std::vector<Op*> candidates;
    for (Op* op = loop_->next(); op; op = op->next()) {
      if (!eligible(*op)) continue;
      candidates.push_back(op);
      derived_.insert(op->result());
      for (Value* operand : op->operands())
        if (of_stacks.contains(operand)) of_stacks.insert(op->result());
    }
    std::unordered_set<const Value*> wanted = of_stacks;
    for (size_t c = candidates.size(); c-- > 0;) {
      Op* op = candidates[c];
      if (!wanted.contains(op->result())) {
        derived_.erase(op->result());
        continue;
      }
      updates_.push_back(op);
      for (Value* operand : op->operands()) wanted.insert(operand);
    }
    std::reverse(updates_.begin(), updates_.end());
    std::unordered_set<const Op*> inside(updates_.begin(), updates_.end());
    size_t before = stacks_.size();
    std::erase_if(stacks_, [&](const Stack& stack) {
      std::vector<Op*> users = loop_->result(stack.number)->users();
      return users.empty() || !std::all_of(users.begin(), users.end(),
                                           [&](Op* user) { return inside.contains(user); });
    });
    return stacks_.size() == before;
  }

  bool eligible(const Op& op) const {
    if (!has_trait(op.kind, kElementwise) || op.num_results() != 1 || op.num_regions() != 0)
      return false;
    const std::vector<int64_t>& shape = op.result()->type.shape;
    for (Value* operand : op.operands()) {
      if (derived_.contains(operand)) {
        if (operand->type.shape != shape) return false;
      } else if (operand->type.shape != shape ||
                 !(is_splat(operand) || repeated_scalar(operand) || exists_before(operand))) {
        return false;
      }
    }
    return true;
  }

  static bool is_splat(const Value* value) {
    const Literal* literal = constant_value(value);
    return literal && literal->splat;
  }

  // The scalar that all elements are, if it can be had in front of the loop.
  Value* repeated_scalar(const Value* value) const {
    const Op* op = value->op();
    if (!op || op->kind != OpKind::broadcast_in_dim || op->operand(0)->type.rank() != 0)
      return nullptr;
    std::unordered_set<const Op*> seen;
    return exists_before(op->operand(0)) || movable(op->operand(0), seen) ? op->operand(0)
                                                                          : nullptr;
  }

  bool exists_before(const Value* value) const {
    const Op* op = value->op();
    return !op || op->region() != &outside_ || before_.contains(op);
  }

  bool movable(const Value* value, std::unordered_set<const Op*>& seen) const {
    const Op* op = value->op();
    if (exists_before(value) || seen.contains(op)) return true;
    if (seen.size() == kMaxScalars || op->num_regions() != 0 || !has_trait(op->kind, kPure))
      return false;
    for (Value* result : op->results())
      if (result->type.rank() != 0) return false;
    seen.insert(op);
    std::vector<Value*> operands = op->operands();
    return op != loop_ && std::all_of(operands.begin(), operands.end(),
                                      [&](const Value* v) { return movable(v, seen); });
  }

  void find_roots() {
    std::unordered_set<const Op*> inside(updates_.begin(), updates_.end());
    for (Op* op : updates_) {
      std::vector<Op*> users = op->result()->users();
      if (std::any_of(users.begin(), users.end(), [&](Op* user) { return !inside.contains(user); }))
        roots_.push_back(op->result());
    }
  }

  // What is made must not take more than the stacks did and what is consumed on the way; if nothing
  // is consumed there is nothing to gain.
  bool saves_memory() const {
    int64_t made = 0, had = 0;
    for (const Value* root : roots_) made += root->type.bytes();
    for (const Stack& stack : stacks_) had += loop_->result(stack.number)->type.bytes();
    bool any = false;
    std::unordered_set<const Value*> seen;
    for (const Op* op : updates_)
      for (const Value* operand : op->operands())
        if (!derived_.contains(operand) && seen.insert(operand).second && is_consumed(operand)) {
          had += operand->type.bytes();
          any = true;
        }
    return any && made <= had;
  }

  // The program may reuse its memory, and nobody reads it but the updates, the loop at the same
  // index, and what comes before.
  bool is_consumed(const Value* value) const {
    if (is_splat(value) || repeated_scalar(value)) return false;
    if (!value->op()) {
      if (value->region() != &outside_ || outside_.parent()) return false;
      const ArgumentInfo& info = function_.argument_info[value->index()];
      if (!info.donated && !info.aliases_output) return false;
    } else if (value->op()->region() != &outside_ || value->op()->kind == OpKind::constant) {
      return false;
    }
    for (const Use* use = value->first_use(); use; use = use->next) {
      Op* user = use->owner;
      if (std::find(updates_.begin(), updates_.end(), user) != updates_.end()) continue;
      if (is_within(user, body_)) {
        Value* index = user->kind == OpKind::dynamic_slice ? slice_index(*user) : nullptr;
        if (!index || !same_index(index, slice_index(*stacks_.front().write))) return false;
        continue;
      }
      const Op* outer = containing(user, outside_);
      if (!outer || outer == loop_ || !comes_before(outer, loop_)) return false;
    }
    return true;
  }

  void move_before_loop(Value* value) {
    if (exists_before(value)) return;
    for (Value* operand : value->op()->operands()) move_before_loop(operand);
    value->op()->move_before(loop_);
    before_.insert(value->op());
  }

  void move_scalars() {
    for (const Op* op : updates_)
      for (Value* operand : op->operands())
        if (!derived_.contains(operand))
          if (Value* scalar = repeated_scalar(operand)) move_before_loop(scalar);
  }

  Value* create(OpKind kind, std::span<Value* const> operands, const Type& type,
                Attributes attributes = {}) {
    return function_
        .create(body_, kind, operands, {&type, 1}, std::move(attributes), loop_->location, 0,
                body_.terminator())
        ->result();
  }

  // The slice of a whole operand that a trip works on.
  Value* slice_of(Value* value) {
    if (auto it = slices_.find(value); it != slices_.end()) return it->second;
    Type type = value->type;
    type.shape[0] = 1;
    Value* out = nullptr;
    if (const Literal* literal = constant_value(value); literal && literal->splat) {
      out = create(OpKind::constant, {}, type,
                   ConstantAttributes{Literal::make(type, *literal->bytes, true)});
    } else if (Value* scalar = repeated_scalar(value)) {
      out = create(OpKind::broadcast_in_dim, {&scalar, 1}, type, DimsAttributes{});
    } else {
      std::vector<Value*> operands = {value};
      std::vector<Value*> starts = this->starts();
      operands.insert(operands.end(), starts.begin(), starts.end());
      out = create(OpKind::dynamic_slice, operands, type, DimsAttributes{type.shape});
    }
    return slices_[value] = out;
  }

  std::vector<Value*> starts() const {
    std::vector<Value*> operands = stacks_.front().write->operands();
    return {operands.begin() + 2, operands.end()};
  }

  void move_updates() {
    for (const Stack& stack : stacks_)
      slices_[loop_->result(stack.number)] = stack.write->operand(1);
    for (Op* op : updates_) {
      std::vector<Value*> operands;
      for (Value* operand : op->operands()) operands.push_back(slice_of(operand));
      Type type = op->result()->type;
      type.shape[0] = 1;
      Op* one = function_.create(body_, op->kind, operands, {&type, 1}, op->attributes,
                                 op->location, 0, body_.terminator());
      slices_[op->result()] = one->result();
    }
    std::vector<Stack> free = stacks_;
    for (Value* root : roots_) {
      auto slot = std::find_if(free.begin(), free.end(), [&](const Stack& stack) {
        return loop_->result(stack.number)->type == root->type;
      });
      size_t number = slot == free.end() ? add_carried(root->type) : slot->number;
      if (slot != free.end()) free.erase(slot);
      std::vector<Value*> operands = {body_.argument(number), slices_[root]};
      std::vector<Value*> at = starts();
      operands.insert(operands.end(), at.begin(), at.end());
      Value* written = create(OpKind::dynamic_update_slice, operands, root->type);
      body_.terminator()->set_operand(number, written);
      loop_->result(number)->name = root->name;
      root->replace_all_uses_with(loop_->result(number));
    }
    // Stacks that nothing takes the place of no longer change, and will be dropped.
    for (const Stack& stack : free)
      body_.terminator()->set_operand(stack.number, body_.argument(stack.number));
    for (size_t u = updates_.size(); u-- > 0;) updates_[u]->erase();
  }

  size_t add_carried(const Type& type) {
    std::vector<std::byte> zero(static_cast<size_t>(storage_bytes(type.dtype)));
    Op* initial = function_.create(outside_, OpKind::constant, {}, {&type, 1},
                                   ConstantAttributes{Literal::make(type, std::move(zero), true)},
                                   loop_->location, 0, loop_);
    std::vector<Value*> operands = loop_->operands();
    operands.push_back(initial->result());
    loop_->set_operands(operands);
    function_.add_results(loop_, {&type, 1});
    loop_->nested(0).add_argument(type, loop_->location);
    Value* argument = body_.add_argument(type, loop_->location);
    std::vector<Value*> next = body_.terminator()->operands();
    next.push_back(argument);
    body_.terminator()->set_operands(next);
    return operands.size() - 1;
  }

  Function& function_;
  Op* loop_;
  CountedLoop counted_;
  Region& body_;
  Region& outside_;
  std::unordered_set<const Op*> before_;  // operations in front of the loop
  std::vector<Stack> stacks_;
  std::vector<Op*> updates_;                  // in order
  std::unordered_set<const Value*> derived_;  // the stacks and what updates make
  std::vector<Value*> roots_;                 // of these, what others read
  std::unordered_map<const Value*, Value*> slices_;
};

}  // namespace

Status move_updates_into_loops(Module& module, const NormalizeOptions& options) {
  bool changed = false;
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    std::vector<Op*> loops;
    walk(function->body(), [&](Op* op) {
      if (op->kind == OpKind::while_) loops.push_back(op);
    });
    if (!loops.empty()) inline_slices(module, *function);
    for (Op* loop : loops)
      if (std::optional<CountedLoop> counted = counted_loop(*loop))
        changed |= StackUpdates(*function, loop, *counted).run();
  }
  if (changed) {
    Status done = remove_dead(module, options);
    return done ? capture_invariants(module, options) : done;
  }
  return Ok{};
}

}  // namespace ullage
