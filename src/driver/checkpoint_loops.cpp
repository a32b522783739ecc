// Forward and backward loops with stacks of residuals in between. The first trips become m chunks
// of c, the others stay as they are. The forward loop stores its state at the beginning of each
// chunk; the backward loop takes the chunks in the order in which it needs them, runs the forward
// trips of one again from the stored state, stacks their residuals, and then does its own trips.
#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "driver/copy_module.h"
#include "driver/loop_pairs.h"
#include "driver/variants.h"
#include "normalize/normalize.h"
#include "normalize/stack_ops.h"

namespace ullage {

namespace {

constexpr double kWorthwhile = 0.9;  // of the memory that stacks take, at the most

int64_t bytes(const Value* value) {
  return value->type.is_tensor() ? value->type.bytes() : 0;
}

// The first trips forward run in chunks, the rest keep their residuals.
struct Division {
  int64_t chunk = 0, chunks = 0;  // trips of a chunk, number of chunks
  int64_t stored = 0;             // trips
};

// The division of least memory in which about `eighths` of eight trips are in chunks; nothing if
// the stacks as they are take not much more. Backward through a reversed pair the stacks of stored
// trips are read before those of a chunk are made, so the two share their space.
std::optional<Division> divide(const LoopPair& pair, int eighths) {
  int64_t state = 0, residual = 0;
  for (size_t s : pair.state) state += bytes(pair.forward->operand(s));
  for (const Residual& r : pair.residuals) residual += bytes(r.write->operand(1));
  int64_t stacks = residual * pair.trips;
  int64_t most = std::max<int64_t>(1, pair.trips * eighths / 8);
  auto total = [&](const Division& one) {
    int64_t slices = pair.reversed ? std::max(one.chunk, one.stored) : one.chunk + one.stored;
    return state * one.chunks + residual * slices;
  };
  // Chunks of one trip need no state made again, which is worth some space.
  Division best{1, most, pair.trips - most};
  int64_t least = total(best) - (eighths < 8 ? stacks / 16 : 0);
  for (int64_t c = 2; c <= most; ++c) {
    Division one{c, most / c, pair.trips - most / c * c};
    if (total(one) < least) best = one, least = total(one);
  }
  if (static_cast<double>(total(best)) > kWorthwhile * static_cast<double>(stacks)) return {};
  return best;
}

// Makes the loops of one pair.
class Chunker {
 public:
  Chunker(Function& function, LoopPair pair, const Division& division)
      : function_(function),
        pair_(std::move(pair)),
        division_(division),
        outside_(*pair_.forward->region()) {
    for (size_t i = 0; i < pair_.forward->num_operands(); ++i)
      if (std::none_of(pair_.residuals.begin(), pair_.residuals.end(),
                       [&](const Residual& r) { return r.number == i; }))
        kept_.push_back(i);
  }

  void run() {
    make_forward();
    make_backward();
    pair_.backward->erase();
    pair_.forward->erase();
  }

 private:
  struct Loop {
    Op* op = nullptr;
    Value* trip = nullptr;        // the counter, in the body
    std::vector<Value*> carried;  // the other arguments of the body
    Region& body() const { return op->nested(1); }
  };

  Value* create(Region& region, OpKind kind, std::span<Value* const> operands, const Type& type,
                Attributes attributes = {}) {
    return function_
        .create(region, kind, operands, {&type, 1}, std::move(attributes), location_, 0, before_)
        ->result();
  }

  Value* integer(Region& region, const Type& type, int64_t value) {
    std::vector<std::byte> data(static_cast<size_t>(storage_bytes(type.dtype)));
    std::memcpy(data.data(), &value, data.size());
    return create(region, OpKind::constant, {}, type,
                  ConstantAttributes{Literal::make(type, std::move(data))});
  }

  Value* zeros(Region& region, const Type& type) {
    std::vector<std::byte> data(static_cast<size_t>(storage_bytes(type.dtype)));
    return create(region, OpKind::constant, {}, type,
                  ConstantAttributes{Literal::make(type, std::move(data), true)});
  }

  // while (trip < trips) with the given values carried; results follow in order, after the trip.
  Loop begin(Region& region, int64_t trips, const std::vector<Value*>& initial) {
    std::vector<Value*> operands = {integer(region, counter_, 0)};
    operands.insert(operands.end(), initial.begin(), initial.end());
    std::vector<Type> types;
    types.reserve(operands.size());
    for (Value* value : operands) types.push_back(value->type);
    Loop loop;
    loop.op = function_.create(region, OpKind::while_, operands, types, {}, location_, 2, before_);
    before_ = nullptr;
    for (size_t r = 0; r < 2; ++r)
      for (const Type& type : types) loop.op->nested(r).add_argument(type, location_);
    Region& condition = loop.op->nested(0);
    CompareAttributes less;
    less.direction = CompareDirection::lt;
    less.type = CompareType::signed_;
    std::array<Value*, 2> sides = {condition.argument(0), integer(condition, counter_, trips)};
    Value* more = create(condition, OpKind::compare, sides, Type::tensor(DType::i1, {}), less);
    function_.create(condition, OpKind::return_, {&more, 1}, {}, {}, location_);
    loop.trip = loop.body().argument(0);
    std::span<Value* const> arguments = loop.body().arguments();
    loop.carried.assign(arguments.begin() + 1, arguments.end());
    return loop;
  }

  void end(const Loop& loop, const std::vector<Value*>& next) {
    Region& body = loop.body();
    std::array<Value*, 2> sum = {loop.trip, integer(body, counter_, 1)};
    std::vector<Value*> values = {create(body, OpKind::add, sum, counter_)};
    values.insert(values.end(), next.begin(), next.end());
    function_.create(body, OpKind::return_, values, {}, {}, location_);
  }

  static std::vector<Value*> results(const Loop& loop) {
    std::span<Value* const> all = loop.op->results();
    return {all.begin() + 1, all.end()};
  }

  // extent - 1 - index, or the index itself.
  Value* directed(Region& region, Value* index, int64_t extent) {
    if (!pair_.reversed) return index;
    std::array<Value*, 2> difference = {integer(region, counter_, extent - 1), index};
    return create(region, OpKind::subtract, difference, counter_);
  }

  std::vector<Value*> starts(Region& region, Value* stack, Value* index) {
    std::vector<Value*> out = {index};
    while (out.size() < stack->type.shape.size()) out.push_back(integer(region, counter_, 0));
    return out;
  }

  static Type stacked(Type type, int64_t count) {
    type.shape.insert(type.shape.begin(), count);
    return type;
  }

  Value* write(Region& region, Value* stack, Value* slice, Value* index) {
    std::vector<Value*> operands = {stack, slice};
    std::vector<Value*> at = starts(region, stack, index);
    operands.insert(operands.end(), at.begin(), at.end());
    return create(region, OpKind::dynamic_update_slice, operands, stack->type);
  }

  Value* read(Region& region, Value* stack, Value* index) {
    std::vector<Value*> operands = {stack};
    std::vector<Value*> at = starts(region, stack, index);
    operands.insert(operands.end(), at.begin(), at.end());
    Type type = stack->type;
    type.shape[0] = 1;
    return create(region, OpKind::dynamic_slice, operands, type, DimsAttributes{type.shape});
  }

  Value* reshape(Region& region, Value* value, const Type& type) {
    return create(region, OpKind::reshape, {&value, 1}, type);
  }

  std::vector<Value*> empty_stacks(Region& region, int64_t extent) {
    std::vector<Value*> out;
    for (const Residual& residual : pair_.residuals) {
      Type type = residual.write->operand(0)->type;
      type.shape[0] = extent;
      out.push_back(zeros(region, type));
    }
    return out;
  }

  // A trip of the forward loop on some of its carried values: all of it, or what residuals need.
  // Residuals are stacked in the loop's further carried values, if it has any.
  void forward_trip(const Loop& loop, const std::vector<size_t>& numbers, bool all,
                    ValueMap map = {}) {
    const Region& body = pair_.forward->nested(1);
    for (size_t k = 0; k < numbers.size(); ++k) map.set(body.argument(numbers[k]), loop.carried[k]);
    for (Op* op : body) {
      bool writes = std::any_of(pair_.residuals.begin(), pair_.residuals.end(),
                                [&](const Residual& r) { return r.write == op; });
      if (writes || has_trait(op->kind, kTerminator)) continue;
      if (all || pair_.recipe.contains(op)) clone(op, function_, loop.body(), map);
    }
    std::vector<Value*> next;
    next.reserve(loop.carried.size());
    for (size_t number : numbers) next.push_back(map.lookup(body.terminator()->operand(number)));
    for (size_t r = 0; numbers.size() + r < loop.carried.size(); ++r)
      next.push_back(write(loop.body(), loop.carried[numbers.size() + r],
                           map.lookup(pair_.residuals[r].write->operand(1)), loop.trip));
    end(loop, next);
  }

  // A trip of the backward loop, with residuals from stacks of `extent`.
  void backward_trip(const Loop& loop, const std::vector<Value*>& stacks, int64_t extent) {
    const Region& body = pair_.backward->nested(1);
    Value* index = directed(loop.body(), loop.trip, extent);
    ValueMap map;
    for (size_t i = 0; i < loop.carried.size(); ++i) map.set(body.argument(i), loop.carried[i]);
    std::unordered_set<const Op*> reads;
    for (size_t r = 0; r < stacks.size(); ++r)
      for (Op* reader : pair_.residuals[r].reads) {
        map.set(reader->result(), read(loop.body(), stacks[r], index));
        reads.insert(reader);
      }
    for (Op* op : body)
      if (!reads.contains(op) && !has_trait(op->kind, kTerminator))
        clone(op, function_, loop.body(), map);
    std::vector<Value*> next;
    for (Value* value : body.terminator()->operands()) next.push_back(map.lookup(value));
    end(loop, next);
  }

  // Chunks, then the trips that keep their residuals.
  void make_forward() {
    Op* old = pair_.forward;
    location_ = old->location;
    before_ = old;
    std::vector<Value*> values;
    values.reserve(kept_.size() + pair_.residuals.size());
    for (size_t k : kept_) values.push_back(old->operand(k));
    std::vector<Value*> initial = values;
    for (size_t s : pair_.state)
      initial.push_back(zeros(outside_, stacked(old->operand(s)->type, division_.chunks)));
    Loop outer = begin(outside_, division_.chunks, initial);
    std::vector<Value*> saved;
    for (size_t s = 0; s < pair_.state.size(); ++s) {
      auto at = std::find(kept_.begin(), kept_.end(), pair_.state[s]) - kept_.begin();
      Value* value = outer.carried[static_cast<size_t>(at)];
      Value* slice = reshape(outer.body(), value, stacked(value->type, 1));
      saved.push_back(write(outer.body(), outer.carried[kept_.size() + s], slice, outer.trip));
    }
    std::vector<Value*> carried = first(outer.carried, kept_.size());
    Loop inner = begin(outer.body(), division_.chunk, carried);
    forward_trip(inner, kept_, true);
    std::vector<Value*> next = results(inner);
    next.insert(next.end(), saved.begin(), saved.end());
    end(outer, next);
    values = first(results(outer), kept_.size());
    saved_ = rest(results(outer), kept_.size());
    if (division_.stored > 0) {
      before_ = old;
      std::vector<Value*> stacks = empty_stacks(outside_, division_.stored);
      values.insert(values.end(), stacks.begin(), stacks.end());
      Loop loop = begin(outside_, division_.stored, values);
      forward_trip(loop, kept_, true);
      values = first(results(loop), kept_.size());
      stored_ = rest(results(loop), kept_.size());
    }
    for (size_t k = 0; k < kept_.size(); ++k) replace(old->result(kept_[k]), values[k]);
  }

  // The trips in the order in which they were.
  void make_backward() {
    Op* old = pair_.backward;
    location_ = old->location;
    std::vector<Value*> values = old->operands();
    before_ = old;
    for (const Residual& residual : pair_.residuals)
      if (residual.becomes)
        values[*residual.becomes] = zeros(outside_, values[*residual.becomes]->type);
    if (pair_.reversed) values = backward_stored(values);
    values = backward_chunks(values);
    if (!pair_.reversed) values = backward_stored(values);
    for (size_t i = 0; i < values.size(); ++i) replace(old->result(i), values[i]);
  }

  std::vector<Value*> backward_stored(const std::vector<Value*>& values) {
    if (division_.stored == 0) return values;
    before_ = pair_.backward;
    Loop loop = begin(outside_, division_.stored, values);
    backward_trip(loop, stored_, division_.stored);
    return results(loop);
  }

  std::vector<Value*> backward_chunks(const std::vector<Value*>& values) {
    before_ = pair_.backward;
    Loop outer = begin(outside_, division_.chunks, values);
    Region& body = outer.body();
    Value* number = directed(body, outer.trip, division_.chunks);
    std::vector<Value*> initial;
    initial.reserve(pair_.state.size() + pair_.residuals.size());
    for (size_t s = 0; s < pair_.state.size(); ++s)
      initial.push_back(reshape(body, read(body, saved_[s], number),
                                pair_.forward->operand(pair_.state[s])->type));
    std::vector<Value*> stacks = empty_stacks(body, division_.chunk);
    initial.insert(initial.end(), stacks.begin(), stacks.end());
    Loop again = begin(body, division_.chunk, initial);
    forward_trip(again, pair_.state, false, still_there(outer));
    Loop inner = begin(body, division_.chunk, outer.carried);
    backward_trip(inner, rest(results(again), pair_.state.size()), division_.chunk);
    end(outer, results(inner));
    return results(outer);
  }

  // Arrays whose slices the backward loop overwrites in the order in which it goes back through the
  // forward trips that read them: a slice that is still to be read again is what it was. Without
  // this the array would have to be copied.
  ValueMap still_there(const Loop& outer) const {
    ValueMap map;
    const Region& body = pair_.forward->nested(1);
    std::optional<CountedLoop> counted = counted_loop(*pair_.backward);
    const Residual& residual = pair_.residuals.front();
    for (size_t i = 0; counted && i < pair_.backward->num_operands(); ++i) {
      Op* write = stack_writer(*pair_.backward, *counted, i);
      if (!write || !same_index(slice_index(*write), slice_index(*residual.reads.front())))
        continue;
      Value* array = pair_.backward->operand(i);
      bool by_slices = true;
      for (Op* user : array->users()) {
        if (!is_within(user, body)) continue;
        Value* index = user->region() == &body && user->kind == OpKind::dynamic_slice
                           ? slice_index(*user)
                           : nullptr;
        by_slices &= index && same_index(index, slice_index(*residual.write));
      }
      if (by_slices) map.set(array, outer.carried[i]);
    }
    return map;
  }

  static std::vector<Value*> first(const std::vector<Value*>& values, size_t count) {
    return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  static std::vector<Value*> rest(const std::vector<Value*>& values, size_t count) {
    return {values.begin() + static_cast<std::ptrdiff_t>(count), values.end()};
  }
  static void replace(Value* old, Value* by) {
    by->name = old->name;
    old->replace_all_uses_with(by);
  }

  Function& function_;
  LoopPair pair_;
  Division division_;
  Region& outside_;
  std::vector<size_t> kept_;  // carried values of the forward loop that are no residuals
  Type counter_ = Type::tensor(DType::i32, {});
  Location location_;
  Op* before_ = nullptr;        // where operations outside the new loops go; else at the end
  std::vector<Value*> saved_;   // stacks of the state at the beginning of chunks
  std::vector<Value*> stored_;  // stacks of residuals of the trips that keep them
};

}  // namespace

std::unique_ptr<Module> checkpoint_loops(const Module& module, int eighths) {
  std::unique_ptr<Module> copy = copy_module(module);
  bool changed = false;
  for (const auto& function : copy->functions) {
    // The innermost first: a loop takes along what it contains when it is made anew.
    std::vector<std::pair<int, Op*>> loops;
    walk(function->body(), [&](Op* op) {
      int depth = 0;
      for (const Op* at = op; at; at = at->region()->parent()) ++depth;
      if (op->kind == OpKind::while_) loops.push_back({depth, op});
    });
    std::stable_sort(loops.begin(), loops.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::unordered_set<Op*> gone;
    for (auto [depth, loop] : loops) {
      if (gone.contains(loop)) continue;
      std::optional<LoopPair> pair = find_loop_pair(*loop);
      std::optional<Division> division = pair ? divide(*pair, eighths) : std::nullopt;
      if (!division) continue;
      gone.insert(pair->backward);
      Chunker(*function, std::move(*pair), *division).run();
      changed = true;
    }
  }
  if (!changed) return nullptr;
  bool done = remove_dead(*copy, {}).ok() && mark_counted_loops(*copy, {}).ok();
  return done ? std::move(copy) : nullptr;
}

}  // namespace ullage
