// Undoes a program's own recomputation, for the planner to choose its own: barriers go, and equal
// operations become one. Only here are computations that are far apart merged; what the planner
// then keeps or repeats is its decision.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "driver/copy_module.h"
#include "driver/variants.h"

namespace ullage {

namespace {

bool mergeable(const Op& op) {
  if (op.num_results() == 0 || has_trait(op.kind, kTerminator)) return false;
  if (op.kind == OpKind::call)
    return true;  // after normalisation only pointwise functions are called
  if (op.num_regions() != 0 && op.kind != OpKind::reduce) return false;
  return has_trait(op.kind, kPure);
}

bool equal_combiners(const Op& a, const Op& b) {
  std::unordered_map<Value*, Value*> map;
  for (size_t i = 0; i < a.nested().arguments().size(); ++i)
    map[a.nested().argument(i)] = b.nested().argument(i);
  auto x = a.nested().begin(), y = b.nested().begin();
  for (; x != a.nested().end() && y != b.nested().end(); ++x, ++y) {
    if ((*x)->kind != (*y)->kind || !((*x)->attributes == (*y)->attributes) ||
        (*x)->num_operands() != (*y)->num_operands() || (*x)->num_regions() != 0)
      return false;
    for (size_t i = 0; i < (*x)->num_operands(); ++i) {
      auto it = map.find((*x)->operand(i));
      if ((it == map.end() ? (*x)->operand(i) : it->second) != (*y)->operand(i)) return false;
    }
    for (size_t i = 0; i < (*x)->num_results(); ++i) map[(*x)->result(i)] = (*y)->result(i);
  }
  return !(x != a.nested().end()) && !(y != b.nested().end());
}

bool equal(const Op& a, const Op& b) {
  if (a.kind != b.kind || a.num_operands() != b.num_operands() ||
      a.num_results() != b.num_results())
    return false;
  for (size_t i = 0; i < a.num_operands(); ++i)
    if (a.operand(i) != b.operand(i)) return false;
  for (size_t i = 0; i < a.num_results(); ++i)
    if (!(a.result(i)->type == b.result(i)->type)) return false;
  return a.attributes == b.attributes && (a.num_regions() == 0 || equal_combiners(a, b));
}

size_t hash(const Op& op) {
  size_t h = static_cast<size_t>(op.kind);
  for (Value* operand : op.operands())
    h = h * 0x9E3779B97F4A7C15ull + (reinterpret_cast<size_t>(operand) >> 4);
  if (op.kind == OpKind::constant) {
    const Literal& literal = op.as<ConstantAttributes>().value;
    for (size_t i = 0; i < std::min<size_t>(16, literal.bytes->size()); ++i)
      h = h * 31 + static_cast<size_t>((*literal.bytes)[i]);
  }
  return h;
}

void merge_equal(Function& function) {
  std::unordered_multimap<size_t, Op*> seen;
  for (Op* op : function.body()) {
    if (op->kind == OpKind::optimization_barrier) {
      for (size_t i = 0; i < op->num_results(); ++i)
        op->result(i)->replace_all_uses_with(op->operand(i));
      op->erase();
      continue;
    }
    if (!mergeable(*op)) continue;
    size_t h = hash(*op);
    auto [begin, end] = seen.equal_range(h);
    Op* same = nullptr;
    for (auto it = begin; it != end && !same; ++it)
      if (equal(*it->second, *op)) same = it->second;
    if (!same) {
      seen.emplace(h, op);
      continue;
    }
    for (size_t i = 0; i < op->num_results(); ++i)
      op->result(i)->replace_all_uses_with(same->result(i));
    op->erase();
  }
}

bool equal_functions(const Function& a, const Function& b) {
  if (a.body().arguments().size() != b.body().arguments().size()) return false;
  std::unordered_map<Value*, Value*> map;
  for (size_t i = 0; i < a.body().arguments().size(); ++i) {
    if (!(a.body().argument(i)->type == b.body().argument(i)->type)) return false;
    map[a.body().argument(i)] = b.body().argument(i);
  }
  auto x = a.body().begin(), y = b.body().begin();
  for (; x != a.body().end() && y != b.body().end(); ++x, ++y) {
    const Op& p = **x;
    const Op& q = **y;
    if (p.kind != q.kind || p.num_operands() != q.num_operands() ||
        p.num_results() != q.num_results() || p.num_regions() != 0 || q.num_regions() != 0 ||
        !(p.attributes == q.attributes))
      return false;
    for (size_t i = 0; i < p.num_operands(); ++i)
      if (map[p.operand(i)] != q.operand(i)) return false;
    for (size_t i = 0; i < p.num_results(); ++i) {
      if (!(p.result(i)->type == q.result(i)->type)) return false;
      map[p.result(i)] = q.result(i);
    }
  }
  return !(x != a.body().end()) && !(y != b.body().end());
}

// Calls of equal functions under different names count as equal once the callees are renamed to
// one.
void unify_functions(Module& module) {
  bool again = true;
  while (again) {
    again = false;
    std::unordered_map<std::string, std::string> renamed;
    for (size_t i = 0; i < module.functions.size(); ++i) {
      if (module.functions[i]->is_public) continue;
      for (size_t k = 0; k < i; ++k) {
        if (module.functions[k]->is_public || renamed.contains(module.functions[k]->name)) continue;
        if (!equal_functions(*module.functions[i], *module.functions[k])) continue;
        renamed[module.functions[i]->name] = module.functions[k]->name;
        break;
      }
    }
    for (const auto& function : module.functions)
      walk(function->body(), [&](Op* op) {
        if (op->kind != OpKind::call) return;
        auto it = renamed.find(op->as<CallAttributes>().callee);
        if (it == renamed.end()) return;
        op->as<CallAttributes>().callee = it->second;
        again = true;
      });
  }
}

}  // namespace

std::unique_ptr<Module> merge_recomputation(const Module& module) {
  bool has_barriers = false;
  for (const auto& function : module.functions)
    walk(function->body(),
         [&](Op* op) { has_barriers |= op->kind == OpKind::optimization_barrier; });
  if (!has_barriers) return nullptr;
  std::unique_ptr<Module> copy = copy_module(module);
  unify_functions(*copy);
  if (Function* entry = copy->entry()) merge_equal(*entry);
  return copy;
}

}  // namespace ullage
