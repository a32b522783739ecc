// Calls and composites. What remains afterwards are calls to pointwise functions.
#include <unordered_map>
#include <unordered_set>

#include "normalize/rewrite.h"

namespace ullage {

std::vector<Function*> callees_first(const Module& module) {
  std::unordered_map<std::string_view, Function*> by_name;
  for (const auto& function : module.functions) by_name.emplace(function->name, function.get());
  std::vector<Function*> order;
  std::unordered_set<Function*> visited;
  auto visit = [&](auto&& self, Function* function) -> void {
    if (!visited.insert(function).second) return;
    walk(function->body(), [&](Op* op) {
      if (op->kind != OpKind::call) return;
      auto it = by_name.find(op->as<CallAttributes>().callee);
      if (it != by_name.end()) self(self, it->second);
    });
    order.push_back(function);
  };
  for (const auto& function : module.functions) visit(visit, function.get());
  return order;
}

bool is_pointwise(const Module& module, const Function& function) {
  if (function.is_public) return false;
  for (Op* op : function.body()) {
    if (has_trait(op->kind, kTerminator)) continue;
    if (op->kind == OpKind::constant) {
      const Literal& value = op->as<ConstantAttributes>().value;
      if (!value.splat && value.type.num_elements() > 1) return false;
      continue;
    }
    if (op->kind == OpKind::call) {
      const Function* callee = module.find(op->as<CallAttributes>().callee);
      if (!callee || !is_pointwise(module, *callee)) return false;
      continue;
    }
    if (op->kind == OpKind::bitcast_convert &&
        bit_width(op->operand(0)->type.dtype) == bit_width(op->result()->type.dtype))
      continue;
    if (op->kind == OpKind::reshape && !is_unit_reshape(op->operand(0)->type, op->result()->type))
      return false;
    if (!has_trait(op->kind, kElementwise) && !has_trait(op->kind, kIndexing)) return false;
    if (op->num_results() != 1 || !op->result()->type.is_tensor()) return false;
  }
  return true;
}

void inline_into(const Module& module, Function& function, const ShouldInline& should_inline) {
  std::vector<Op*> calls;
  walk(function.body(), [&](Op* op) {
    if (op->kind == OpKind::call) calls.push_back(op);
  });
  for (Op* call : calls) {
    const Function* callee = module.find(call->as<CallAttributes>().callee);
    if (!callee || !should_inline(*call, *callee)) continue;
    ValueMap map;
    for (size_t i = 0; i < call->num_operands(); ++i)
      map.set(callee->body().argument(i), call->operand(i));
    for (Op* op : callee->body()) {
      if (has_trait(op->kind, kTerminator)) continue;
      Op* copy = clone(op, function, *call->region(), map, call);
      // What has no line of its own is where the call is.
      if (!module.locations.source_line(copy->location).empty()) continue;
      copy->location = call->location;
      for (Value* result : copy->results()) result->location = call->location;
    }
    Op* end = callee->body().terminator();
    for (size_t i = 0; i < call->num_results(); ++i)
      call->result(i)->replace_all_uses_with(map.lookup(end->operand(i)));
    call->erase();
  }
}

void inline_pointwise_chains(const Module& module, Function& function) {
  inline_into(module, function,
              [&](const Op&, const Function& callee) { return is_pointwise(module, callee); });
}

static int count_ops(const Function& function) {
  int ops = 0;
  for (Op* op : function.body()) ops += op->kind != OpKind::constant;
  return ops;
}

// A few operations with several results: kernels are made of the results one by one, which a call
// would tie together.
static bool is_small_with_results(const Function& function) {
  constexpr int kMaxOps = 16;
  return function.body().terminator()->num_operands() > 1 && count_ops(function) <= kMaxOps;
}

// What will be folded away.
static bool is_small_of_constants(const Op& call, const Function& callee) {
  constexpr int kMaxOps = 8;
  std::vector<Value*> operands = call.operands();
  return count_ops(callee) <= kMaxOps &&
         std::all_of(operands.begin(), operands.end(), constant_value);
}

Status inline_calls(Module& module, const NormalizeOptions& options) {
  // Callees come first, so a body that is inlined contains no calls but to pointwise functions.
  for (Function* function : callees_first(module))
    if (!options.leaves(*function))
      inline_into(module, *function, [&](const Op& call, const Function& callee) {
        return !is_pointwise(module, callee) || is_small_with_results(callee) ||
               is_small_of_constants(call, callee);
      });
  Function* entry = module.entry();
  std::unordered_set<std::string> called;
  auto collect = [&](auto&& self, const Function& function) -> void {
    walk(function.body(), [&](Op* op) {
      if (op->kind != OpKind::call) return;
      const std::string& name = op->as<CallAttributes>().callee;
      if (called.insert(name).second)
        if (const Function* callee = module.find(name)) self(self, *callee);
    });
  };
  if (entry) collect(collect, *entry);
  std::erase_if(module.functions,
                [&](const auto& f) { return f.get() != entry && !called.contains(f->name); });
  return Ok{};
}

// A composite that is an operation of its own by another name, and so keeps its meaning.
static bool becomes_operation(Op* op) {
  const auto& composite = op->as<CompositeAttributes>();
  if (composite.name != "chlo.top_k" || op->num_operands() != 1 || op->num_results() != 2 ||
      op->result(0)->type.shape.empty() || op->result(1)->type.dtype != DType::i32)
    return false;
  TopKAttributes top_k;
  top_k.k = op->result(0)->type.shape.back();
  top_k.largest = composite.composite_attributes.find("largest = false") == std::string::npos;
  op->kind = OpKind::chlo_top_k;
  op->attributes = top_k;
  op->extra.clear();
  return true;
}

Status expand_composites(Module& module, const NormalizeOptions& options) {
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    std::vector<Op*> composites;
    walk(function->body(), [&](Op* op) {
      if (op->kind == OpKind::composite) composites.push_back(op);
    });
    for (Op* op : composites) {
      if (becomes_operation(op)) continue;
      op->kind = OpKind::call;
      op->attributes = CallAttributes{op->as<CompositeAttributes>().decomposition};
      op->extra.clear();
    }
  }
  return Ok{};
}

}  // namespace ullage
