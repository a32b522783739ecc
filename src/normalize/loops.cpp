// Counted loops: recognising them, unrolling tiny ones, and making invariant carried values plain
// captures.
#include "normalize/normalize.h"
#include "normalize/rewrite.h"
#include "normalize/stack_ops.h"
#include "ops/loop_facts.h"

namespace ullage {

namespace {

// The value that `value` is a copy of through conversions that keep it, or itself.
const Value* through(const Value* value) {
  while (value->op() && value->op()->kind == OpKind::convert &&
         value->op()->operand(0)->type == value->type)
    value = value->op()->operand(0);
  return value;
}

std::optional<int64_t> scalar_constant(const Value* value) {
  const Literal* literal = constant_value(through(value));
  if (!literal || literal->type.num_elements() != 1 || !is_int(literal->type.dtype)) return {};
  return literal->int_at(0);
}

std::optional<int64_t> trips(CompareDirection direction, int64_t start, int64_t limit,
                             int64_t step) {
  auto ceil_div = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  switch (direction) {
    case CompareDirection::lt:
      if (step <= 0) return {};
      return start >= limit ? 0 : ceil_div(limit - start, step);
    case CompareDirection::le:
      if (step <= 0 || limit == INT64_MAX) return {};
      return start > limit ? 0 : ceil_div(limit - start + 1, step);
    case CompareDirection::gt:
      if (step >= 0) return {};
      return start <= limit ? 0 : ceil_div(start - limit, -step);
    case CompareDirection::ge:
      if (step >= 0 || limit == INT64_MIN) return {};
      return start < limit ? 0 : ceil_div(start - limit + 1, -step);
    case CompareDirection::ne:
      if (step == 0 || (limit - start) % step != 0 || (limit - start) / step < 0) return {};
      return (limit - start) / step;
    case CompareDirection::eq:
      return {};
  }
  return {};
}

CompareDirection mirrored(CompareDirection direction) {
  switch (direction) {
    case CompareDirection::lt:
      return CompareDirection::gt;
    case CompareDirection::gt:
      return CompareDirection::lt;
    case CompareDirection::le:
      return CompareDirection::ge;
    case CompareDirection::ge:
      return CompareDirection::le;
    default:
      return direction;
  }
}

}  // namespace

std::optional<CountedLoop> counted_loop(const Op& loop) {
  const Region& condition = loop.nested(0);
  const Region& body = loop.nested(1);
  const Op* end = condition.terminator();
  if (!end || end->num_operands() != 1) return {};
  const Op* compare = end->operand(0)->op();
  if (!compare || compare->kind != OpKind::compare) return {};
  const auto& how = compare->as<CompareAttributes>();
  const Value* counter = through(compare->operand(0));
  std::optional<int64_t> limit = scalar_constant(compare->operand(1));
  CompareDirection direction = how.direction;
  if (!limit) {
    counter = through(compare->operand(1));
    limit = scalar_constant(compare->operand(0));
    direction = mirrored(direction);
  }
  if (!limit || counter->region() != &condition || counter->type.rank() != 0 ||
      !is_int(counter->type.dtype))
    return {};
  // An unsigned counter that may pass the signed range would compare differently.
  if (is_unsigned_int(counter->type.dtype) && *limit < 0) return {};
  CountedLoop result;
  result.counter = counter->index();
  std::optional<int64_t> start = scalar_constant(loop.operand(result.counter));
  const Value* argument = body.argument(result.counter);
  const Op* next = through(body.terminator()->operand(result.counter))->op();
  if (!start || !next || next->num_operands() != 2) return {};
  std::optional<int64_t> step;
  if (next->kind == OpKind::add && through(next->operand(0)) == argument)
    step = scalar_constant(next->operand(1));
  else if (next->kind == OpKind::add && through(next->operand(1)) == argument)
    step = scalar_constant(next->operand(0));
  else if (next->kind == OpKind::subtract && through(next->operand(0)) == argument) {
    step = scalar_constant(next->operand(1));
    if (step) step = -*step;
  }
  if (!step) return {};
  std::optional<int64_t> count = trips(direction, *start, *limit, *step);
  if (!count) return {};
  // The counter must not wrap on the way.
  int bits = bit_width(counter->type.dtype);
  if (bits < 64) {
    int64_t last = *start + *count * *step;
    int64_t highest = (int64_t{1} << (is_signed_int(counter->type.dtype) ? bits - 1 : bits)) - 1;
    int64_t lowest = is_signed_int(counter->type.dtype) ? -highest - 1 : 0;
    if (last > highest || last < lowest) return {};
  }
  result.start = *start;
  result.step = *step;
  result.trip_count = *count;
  return result;
}

static bool is_pointwise_body(const Module& module, const Region& region) {
  for (Op* op : region) {
    if (has_trait(op->kind, kTerminator) || op->kind == OpKind::constant) continue;
    if (op->kind == OpKind::call) {
      Function* callee = module.find(op->as<CallAttributes>().callee);
      if (!callee || !is_pointwise(module, *callee)) return false;
      continue;
    }
    if (!has_trait(op->kind, kElementwise) && !has_trait(op->kind, kIndexing)) return false;
  }
  return true;
}

static void unroll(Function& function, Op* loop, int64_t trip_count) {
  Region& body = loop->nested(1);
  std::vector<Value*> carried = loop->operands();
  for (int64_t trip = 0; trip < trip_count; ++trip) {
    ValueMap map;
    for (size_t i = 0; i < carried.size(); ++i) map.set(body.argument(i), carried[i]);
    for (Op* op : body)
      if (!has_trait(op->kind, kTerminator)) clone(op, function, *loop->region(), map, loop);
    Op* end = body.terminator();
    for (size_t i = 0; i < carried.size(); ++i) carried[i] = map.lookup(end->operand(i));
  }
  for (size_t i = 0; i < carried.size(); ++i) loop->result(i)->replace_all_uses_with(carried[i]);
  loop->erase();
}

Status unroll_loops(Module& module, const NormalizeOptions& options) {
  for (Function* function : callees_first(module)) {
    if (options.leaves(*function)) continue;
    // Bodies that call pointwise functions count and unroll as if the calls were one operation.
    std::vector<Op*> loops;
    walk(function->body(), [&](Op* op) {
      if (op->kind == OpKind::while_) loops.push_back(op);
    });
    bool changed = false;
    for (Op* loop : loops) {
      std::optional<CountedLoop> counted = counted_loop(*loop);
      if (!counted || counted->trip_count > options.unroll_limit_trips) continue;
      if (!is_pointwise_body(module, loop->nested(1))) continue;
      int64_t size = 0;
      walk(loop->nested(1), [&](Op*) { ++size; });
      if (size * counted->trip_count > options.unroll_limit_ops) continue;
      unroll(*function, loop, counted->trip_count);
      changed = true;
    }
    if (changed) {
      inline_pointwise_chains(module, *function);
      simplify_function(module, *function, options);
    }
  }
  return Ok{};
}

Status mark_counted_loops(Module& module, const NormalizeOptions& options) {
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    walk(function->body(), [&](Op* op) {
      if (op->kind != OpKind::while_) return;
      std::optional<CountedLoop> counted = counted_loop(*op);
      set_trip_count(*op, counted ? std::optional(counted->trip_count) : std::nullopt);
      std::vector<size_t> written;
      for (size_t i = 0; counted && i < op->num_operands(); ++i)
        if (stack_writer(*op, *counted, i) && op->nested(1).argument(i)->has_one_use() &&
            !op->nested(0).argument(i)->has_uses())
          written.push_back(i);
      set_overwritten(*op, written);
    });
  }
  return Ok{};
}

Status capture_invariants(Module& module, const NormalizeOptions& options) {
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    std::vector<Op*> loops;
    walk(function->body(), [&](Op* op) {
      if (op->kind == OpKind::while_) loops.push_back(op);
    });
    // Inner loops come first; an outer loop then takes them along when it is made anew.
    for (Op* loop : loops) {
      Region& condition = loop->nested(0);
      Region& body = loop->nested(1);
      std::vector<Value*> operands = loop->operands();
      std::vector<Value*> next = body.terminator()->operands();
      std::vector<size_t> kept;
      for (size_t i = 0; i < operands.size(); ++i) {
        if (next[i] != body.argument(i)) {
          kept.push_back(i);
          continue;
        }
        loop->result(i)->replace_all_uses_with(operands[i]);
        condition.argument(i)->replace_all_uses_with(operands[i]);
        body.argument(i)->replace_all_uses_with(operands[i]);
      }
      if (kept.size() == operands.size()) continue;
      next = body.terminator()->operands();
      std::vector<Value*> kept_operands, kept_next;
      std::vector<Type> types;
      for (size_t i : kept) {
        kept_operands.push_back(operands[i]);
        kept_next.push_back(next[i]);
        types.push_back(operands[i]->type);
      }
      Op* smaller = function->create(*loop->region(), OpKind::while_, kept_operands, types,
                                     loop->attributes, loop->location, 2, loop);
      smaller->extra = loop->extra;
      for (size_t r = 0; r < 2; ++r) {
        ValueMap map;
        for (size_t i : kept) {
          Value* argument = loop->nested(r).argument(i);
          map.set(argument, smaller->nested(r).add_argument(argument->type, argument->location,
                                                            argument->name));
        }
        if (r == 1) body.terminator()->set_operands(kept_next);
        for (Op* op : loop->nested(r)) clone(op, *function, smaller->nested(r), map);
      }
      for (size_t k = 0; k < kept.size(); ++k) {
        smaller->result(k)->name = loop->result(kept[k])->name;
        loop->result(kept[k])->replace_all_uses_with(smaller->result(k));
      }
      loop->erase();
    }
  }
  return Ok{};
}

}  // namespace ullage
