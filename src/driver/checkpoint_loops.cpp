// A pair of loops, forward and backward, with stacks of residuals in between: JAX's gradient of a
// scan. N trips become m chunks of c. The forward loop stores its state at the beginning of each
// chunk; the backward loop takes the chunks in the order in which it needs them, runs the forward
// trips of one again from the stored state, stacks their residuals, and then does its own trips.
#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "driver/copy_module.h"
#include "driver/variants.h"
#include "normalize/normalize.h"
#include "normalize/stack_ops.h"

namespace ullage {

namespace {

constexpr int64_t kFewestTrips = 3;
constexpr double kWorthwhile = 0.7;  // of the memory that stacks take, at the most

// A stack of residuals: carried value of the forward loop, and who reads it.
struct Residual {
  size_t number = 0;
  Op* write = nullptr;
  std::vector<Op*> reads;  // in the body of the backward loop
  // Carried value of the backward loop that begins as this stack and overwrites what it has read.
  std::optional<size_t> becomes;
};

struct Pair {
  Op* forward = nullptr;
  Op* backward = nullptr;
  std::vector<Residual> residuals;
  bool reversed = false;  // the first trip backward reads what the last one forward wrote
  int64_t trips = 0;
  // What a chunk of forward trips is made again from and by.
  std::vector<size_t> state;       // carried values
  std::unordered_set<Op*> recipe;  // operations of the body
};

bool contains(const std::vector<size_t>& values, size_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

int64_t bytes(const Value* value) {
  return value->type.is_tensor() ? value->type.bytes() : 0;
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

  std::optional<Pair> run() {
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
  Pair pair_;
};

// Trips of a chunk for the least memory; 0 if that is not much less than the stacks take.
int64_t best_chunk(const Pair& pair) {
  int64_t state = 0, residual = 0;
  for (size_t s : pair.state) state += bytes(pair.forward->operand(s));
  for (const Residual& r : pair.residuals) residual += bytes(r.write->operand(1));
  int64_t best = 0,
          least = static_cast<int64_t>(kWorthwhile * static_cast<double>(residual * pair.trips));
  for (int64_t c = 1; c < pair.trips; ++c) {
    if (pair.trips % c != 0) continue;
    int64_t total = state * (pair.trips / c) + residual * c;
    if (total < least) best = c, least = total;
  }
  return best;
}

// Makes the loops of one pair.
class Chunker {
 public:
  Chunker(Function& function, Pair pair, int64_t chunk)
      : function_(function),
        pair_(std::move(pair)),
        chunk_(chunk),
        chunks_(pair_.trips / chunk),
        outside_(*pair_.forward->region()) {}

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

  bool is_residual(size_t number) const {
    return std::any_of(pair_.residuals.begin(), pair_.residuals.end(),
                       [&](const Residual& r) { return r.number == number; });
  }

  void make_forward() {
    Op* old = pair_.forward;
    location_ = old->location;
    before_ = old;
    std::vector<size_t> kept;  // carried values that are no residuals
    std::vector<Value*> initial;
    for (size_t i = 0; i < old->num_operands(); ++i)
      if (!is_residual(i)) {
        kept.push_back(i);
        initial.push_back(old->operand(i));
      }
    for (size_t s : pair_.state)
      initial.push_back(zeros(outside_, stacked(old->operand(s)->type, chunks_)));
    Loop outer = begin(outside_, chunks_, initial);
    std::vector<Value*> carried(outer.carried.begin(),
                                outer.carried.begin() + static_cast<std::ptrdiff_t>(kept.size()));
    std::vector<Value*> saved;
    for (size_t s = 0; s < pair_.state.size(); ++s) {
      size_t at =
          static_cast<size_t>(std::find(kept.begin(), kept.end(), pair_.state[s]) - kept.begin());
      Value* slice = reshape(outer.body(), carried[at], stacked(carried[at]->type, 1));
      saved.push_back(write(outer.body(), outer.carried[kept.size() + s], slice, outer.trip));
    }
    Loop inner = begin(outer.body(), chunk_, carried);
    ValueMap map;
    for (size_t k = 0; k < kept.size(); ++k)
      map.set(old->nested(1).argument(kept[k]), inner.carried[k]);
    for (Op* op : old->nested(1)) {
      bool writes = std::any_of(pair_.residuals.begin(), pair_.residuals.end(),
                                [&](const Residual& r) { return r.write == op; });
      if (!writes && !has_trait(op->kind, kTerminator)) clone(op, function_, inner.body(), map);
    }
    std::vector<Value*> next;
    for (size_t k : kept) next.push_back(map.lookup(old->nested(1).terminator()->operand(k)));
    end(inner, next);
    next = results(inner);
    next.insert(next.end(), saved.begin(), saved.end());
    end(outer, next);
    std::vector<Value*> final = results(outer);
    for (size_t k = 0; k < kept.size(); ++k) {
      final[k]->name = old->result(kept[k])->name;
      old->result(kept[k])->replace_all_uses_with(final[k]);
    }
    saved_.assign(final.begin() + static_cast<std::ptrdiff_t>(kept.size()), final.end());
  }

  // The residuals of chunk `number`, made again.
  std::vector<Value*> again(Region& region, Value* number) {
    const Region& body = pair_.forward->nested(1);
    std::vector<Value*> initial;
    for (size_t s = 0; s < pair_.state.size(); ++s)
      initial.push_back(reshape(region, read(region, saved_[s], number),
                                pair_.forward->operand(pair_.state[s])->type));
    for (const Residual& residual : pair_.residuals) {
      Type type = residual.write->operand(0)->type;
      type.shape[0] = chunk_;
      initial.push_back(zeros(region, type));
    }
    Loop loop = begin(region, chunk_, initial);
    ValueMap map;
    for (size_t s = 0; s < pair_.state.size(); ++s)
      map.set(body.argument(pair_.state[s]), loop.carried[s]);
    for (Op* op : body)
      if (pair_.recipe.contains(op)) clone(op, function_, loop.body(), map);
    std::vector<Value*> next;
    for (size_t s : pair_.state) next.push_back(map.lookup(body.terminator()->operand(s)));
    for (size_t r = 0; r < pair_.residuals.size(); ++r)
      next.push_back(write(loop.body(), loop.carried[pair_.state.size() + r],
                           map.lookup(pair_.residuals[r].write->operand(1)), loop.trip));
    end(loop, next);
    std::vector<Value*> out = results(loop);
    return {out.begin() + static_cast<std::ptrdiff_t>(pair_.state.size()), out.end()};
  }

  void make_backward() {
    Op* old = pair_.backward;
    location_ = old->location;
    before_ = old;
    std::vector<Value*> initial = old->operands();
    for (const Residual& residual : pair_.residuals)
      if (residual.becomes)
        initial[*residual.becomes] = zeros(outside_, initial[*residual.becomes]->type);
    Loop outer = begin(outside_, chunks_, initial);
    Value* number = directed(outer.body(), outer.trip, chunks_);
    std::vector<Value*> residuals = again(outer.body(), number);
    Loop inner = begin(outer.body(), chunk_, outer.carried);
    Value* index = directed(inner.body(), inner.trip, chunk_);
    ValueMap map;
    for (size_t i = 0; i < inner.carried.size(); ++i)
      map.set(old->nested(1).argument(i), inner.carried[i]);
    for (size_t r = 0; r < residuals.size(); ++r)
      for (Op* reader : pair_.residuals[r].reads)
        map.set(reader->result(), read(inner.body(), residuals[r], index));
    for (Op* op : old->nested(1)) {
      bool reads =
          std::any_of(pair_.residuals.begin(), pair_.residuals.end(), [&](const Residual& r) {
            return std::find(r.reads.begin(), r.reads.end(), op) != r.reads.end();
          });
      if (!reads && !has_trait(op->kind, kTerminator)) clone(op, function_, inner.body(), map);
    }
    std::vector<Value*> next;
    for (Value* value : old->nested(1).terminator()->operands()) next.push_back(map.lookup(value));
    end(inner, next);
    end(outer, results(inner));
    std::vector<Value*> final = results(outer);
    for (size_t i = 0; i < final.size(); ++i) {
      final[i]->name = old->result(i)->name;
      old->result(i)->replace_all_uses_with(final[i]);
    }
  }

  Function& function_;
  Pair pair_;
  int64_t chunk_, chunks_;
  Region& outside_;
  Type counter_ = Type::tensor(DType::i32, {});
  Location location_;
  Op* before_ = nullptr;       // where operations outside the new loops go; else at the end
  std::vector<Value*> saved_;  // stacks of the state at the beginning of chunks
};

}  // namespace

std::unique_ptr<Module> checkpoint_loops(const Module& module) {
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
      std::optional<Pair> pair = PairFinder(loop).run();
      int64_t chunk = pair ? best_chunk(*pair) : 0;
      if (chunk == 0) continue;
      gone.insert(pair->backward);
      Chunker(*function, std::move(*pair), chunk).run();
      changed = true;
    }
  }
  if (!changed) return nullptr;
  bool done = remove_dead(*copy, {}).ok() && mark_counted_loops(*copy, {}).ok();
  return done ? std::move(copy) : nullptr;
}

}  // namespace ullage
