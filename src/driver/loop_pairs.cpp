#include "driver/loop_pairs.h"

#include <algorithm>
#include <utility>

#include "normalize/normalize.h"
#include "normalize/stack_ops.h"

namespace ullage {

namespace {

constexpr int64_t kFewestTrips = 3;

bool contains(const std::vector<size_t>& values, size_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool repeatable(const Region& body) {
  bool pure = true;
  walk(body, [&](Op* op) {
    bool control = op->kind == OpKind::while_ || op->kind == OpKind::if_ ||
                   op->kind == OpKind::case_ || op->kind == OpKind::call;
    pure &= control || has_trait(op->kind, kTerminator) || has_trait(op->kind, kPure);
  });
  return pure;
}

class PairFinder {
 public:
  explicit PairFinder(Op* forward) : forward_(forward), body_(forward->nested(1)) {}

  std::optional<LoopPair> run() {
    std::optional<CountedLoop> counted = counted_loop(*forward_);
    if (!counted || counted->start != 0 || counted->step != 1 ||
        counted->trip_count < kFewestTrips || !repeatable(body_))
      return {};
    pair_.forward = forward_;
    pair_.trips = counted->trip_count;
    for (size_t i = 0; i < forward_->num_operands(); ++i) {
      Op* write = stack_writer(*forward_, *counted, i);
      if (!write || !body_.argument(i)->has_one_use() ||
          forward_->nested(0).argument(i)->has_uses())
        continue;
      add(i, write, slice_index(*write) == body_.argument(counted->counter));
    }
    if (pair_.residuals.empty()) return {};
    collect();
    return std::move(pair_);
  }

 private:
  // All readers must be in one later loop, and read one slice in each trip.
  void add(size_t number, Op* write, bool ascending) {
    Residual residual{number, write, {}, {}};
    Value* stack = forward_->result(number);
    Op* loop = pair_.backward;
    for (const Use* use = stack->first_use(); use; use = use->next) {
      Op* user = use->owner;
      bool carried = user->kind == OpKind::while_;
      Op* parent = carried ? user : user->region()->parent();
      if (!parent || parent->kind != OpKind::while_ || parent->region() != forward_->region() ||
          (loop && parent != loop))
        return;
      loop = parent;
      if (!carried) {
        residual.reads.push_back(user);
      } else if (residual.becomes || !add_carried(residual, *loop, use->index)) {
        return;
      }
    }
    if (!loop || residual.reads.empty()) return;
    std::optional<CountedLoop> counted = counted_loop(*loop);
    if (!counted || counted->trip_count != pair_.trips) return;
    std::optional<bool> reversed;
    if (pair_.backward) reversed = pair_.reversed;
    for (Op* reader : residual.reads) {
      if (reader->kind != OpKind::dynamic_slice || reader->region() != &loop->nested(1)) return;
      Value* index = slice_index(*reader);
      if (!index || !covers(index, *loop, *counted, pair_.trips)) return;
      bool same = (index == loop->nested(1).argument(counted->counter)) == ascending;
      if (reversed && *reversed == same) return;
      reversed = !same;
    }
    pair_.backward = loop;
    pair_.reversed = *reversed;
    pair_.residuals.push_back(std::move(residual));
  }

  // Each trip reads a slice of the stack before it overwrites that slice.
  static bool add_carried(Residual& residual, const Op& loop, size_t number) {
    std::optional<CountedLoop> counted = counted_loop(loop);
    Op* write = counted ? stack_writer(loop, *counted, number) : nullptr;
    if (!write || loop.nested(0).argument(number)->has_uses()) return false;
    for (Op* user : loop.nested(1).argument(number)->users()) {
      if (user == write) continue;
      if (user->kind != OpKind::dynamic_slice || !slice_index(*user) ||
          !same_index(slice_index(*user), slice_index(*write)))
        return false;
      residual.reads.push_back(user);
    }
    residual.becomes = number;
    return true;
  }

  void need(Value* value) {
    if (!value->op()) {
      if (value->region() == &body_ && !contains(pair_.state, value->index()))
        pair_.state.push_back(value->index());
      return;
    }
    if (value->op()->region() == &body_) need(value->op());
  }

  void need(Op* op) {
    if (!pair_.recipe.insert(op).second) return;
    for (Value* operand : op->operands()) need(operand);
    for (size_t r = 0; r < op->num_regions(); ++r)
      walk(op->nested(r), [&](Op* inner) {
        for (Value* operand : inner->operands()) need(operand);
      });
  }

  // The residuals, and the state from one trip to the next.
  void collect() {
    for (const Residual& residual : pair_.residuals) need(residual.write->operand(1));
    for (size_t s = 0; s < pair_.state.size(); ++s)
      need(body_.terminator()->operand(pair_.state[s]));
    std::sort(pair_.state.begin(), pair_.state.end());
  }

  Op* forward_;
  Region& body_;
  LoopPair pair_;
};

}  // namespace

std::optional<LoopPair> find_loop_pair(Op& forward) {
  return PairFinder(&forward).run();
}

}  // namespace ullage
