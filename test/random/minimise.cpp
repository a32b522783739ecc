// Makes a wrong program smaller: fewer results, fewer operations, smaller shapes. Every step is a
// change of a copy that is kept if the copy is still a legal, judgeable program that is wrong in
// the same way.
#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "driver/copy_module.h"
#include "ops/verify.h"
#include "random/check.h"

namespace ullage::random_programs {

namespace {

struct State {
  std::unique_ptr<Module> module;
  std::vector<Tensor> inputs;
};

// Kinds of wrongness that are not to be confused.
std::string category(const std::string& what) {
  for (const char* word : {"internal error", "other bits", "second run", "no plan", "used, the"})
    if (what.find(word) != std::string::npos) return word;
  return "result";
}

Function& entry(State& state) {
  return *state.module->entry();
}

void remove_dead(State& state) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& function : state.module->functions) {
      std::vector<Op*> dead;
      walk(function->body(), [&](Op* op) {
        bool used = has_trait(op->kind, kTerminator);
        for (Value* value : op->results()) used |= value->has_uses();
        if (!used) dead.push_back(op);
      });
      // An operation inside a dead one goes with it.
      for (Op* op : dead) {
        op->erase();
        changed = true;
        break;
      }
    }
  }
  std::set<std::string> called;
  for (auto& function : state.module->functions)
    walk(function->body(), [&](Op* op) {
      if (op->kind == OpKind::call) called.insert(op->as<CallAttributes>().callee);
    });
  std::erase_if(state.module->functions, [&](const auto& function) {
    return !function->is_public && !called.contains(function->name);
  });
  Function& main = entry(state);
  for (size_t i = main.body().arguments().size(); i-- > 0;) {
    if (main.body().argument(i)->has_uses()) continue;
    main.body().erase_argument(i);
    main.argument_info.erase(main.argument_info.begin() + static_cast<int64_t>(i));
    state.inputs.erase(state.inputs.begin() + static_cast<int64_t>(i));
  }
}

void keep_results(State& state, const std::vector<size_t>& kept) {
  Function& main = entry(state);
  std::vector<Value*> values;
  std::vector<Type> types;
  for (size_t i : kept) {
    values.push_back(main.body().terminator()->operand(i));
    types.push_back(values.back()->type);
  }
  main.body().terminator()->set_operands(values);
  main.result_types = types;
  main.result_extra.clear();
  for (ArgumentInfo& info : main.argument_info) {
    if (!info.aliases_output) continue;
    auto at = std::find(kept.begin(), kept.end(), static_cast<size_t>(*info.aliases_output));
    if (at == kept.end())
      info.aliases_output.reset();
    else
      info.aliases_output = at - kept.begin();
  }
}

std::vector<Op*> operations(Module& module) {
  std::vector<Op*> out;
  for (auto& function : module.functions)
    walk(function->body(), [&](Op* op) {
      if (!has_trait(op->kind, kTerminator)) out.push_back(op);
    });
  return out;
}

// The n-th operation's results become arguments with the values that they have.
bool cut(State& state, size_t n) {
  std::vector<Op*> ops = operations(*state.module);
  if (n >= ops.size() || ops[n]->region() != &entry(state).body()) return false;
  Op* op = ops[n];
  Analysis analysis(*state.module);
  for (size_t i = 0; i < state.inputs.size(); ++i)
    analysis.set(entry(state).body().argument(i), {state.inputs[i], nullptr});
  for (Op* other : entry(state).body()) {
    if (!analysis.add(*other)) return false;
    if (other == op) break;
  }
  for (Value* value : op->results()) {
    if (!value->has_uses()) continue;
    Value* argument = entry(state).add_argument(value->type);
    state.inputs.push_back(analysis.find(value)->value);
    value->replace_all_uses_with(argument);
  }
  return true;
}

// Who reads the n-th operation's result reads one of its operands instead.
bool bypass(State& state, size_t n, size_t operand) {
  std::vector<Op*> ops = operations(*state.module);
  if (n >= ops.size() || ops[n]->num_results() != 1 || operand >= ops[n]->num_operands())
    return false;
  Op* op = ops[n];
  if (!(op->operand(operand)->type == op->result()->type)) return false;
  op->result()->replace_all_uses_with(op->operand(operand));
  return true;
}

// --- shapes

Tensor cropped(const Tensor& from, const Type& type) {
  Tensor out(type);
  const int64_t width = storage_bytes(type.dtype), rank = type.rank();
  std::vector<int64_t> strides = row_major_strides(from.shape());
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    int64_t rest = i, source = 0;
    for (int64_t d = rank - 1; d >= 0; --d) {
      source += rest % type.shape[static_cast<size_t>(d)] * strides[static_cast<size_t>(d)];
      rest /= type.shape[static_cast<size_t>(d)];
    }
    std::memcpy(out.mutable_data() + i * width, from.data() + source * width,
                static_cast<size_t>(width));
  }
  return out;
}

void shrink(State& state, int64_t from, int64_t to) {
  auto shorter = [&](std::vector<int64_t>& list) {
    std::replace(list.begin(), list.end(), from, to);
  };
  auto retype = [&](Type& type) { shorter(type.shape); };
  std::function<void(Region&)> visit = [&](Region& region) {
    for (Value* value : region.arguments()) retype(value->type);
    for (Op* op : region) {
      for (Value* value : op->results()) retype(value->type);
      for (size_t r = 0; r < op->num_regions(); ++r) visit(op->nested(r));
      if (op->kind == OpKind::constant) {
        const Literal& old = op->as<ConstantAttributes>().value;
        Tensor value = cropped(Tensor::from(old), op->result()->type);
        op->attributes = ConstantAttributes{value.literal()};
      } else if (auto* slice = std::get_if<SliceAttributes>(&op->attributes)) {
        shorter(slice->limit);
      } else if (auto* gather = std::get_if<GatherAttributes>(&op->attributes)) {
        shorter(gather->slice_sizes);
      } else if (auto* window = std::get_if<WindowAttributes>(&op->attributes)) {
        shorter(window->window_dimensions);
        for (auto& [low, high] : window->padding) {
          if (low == from - 1) low = to - 1;
          if (high == from - 1) high = to - 1;
        }
      } else if (op->kind == OpKind::dynamic_slice) {
        shorter(op->as<DimsAttributes>().dims);
      }
    }
  };
  for (auto& function : state.module->functions) {
    visit(function->body());
    for (Type& type : function->result_types) retype(type);
  }
  for (size_t i = 0; i < state.inputs.size(); ++i)
    state.inputs[i] = cropped(state.inputs[i], entry(state).body().argument(i)->type);
}

std::vector<int64_t> extents(const Module& module) {
  std::set<int64_t, std::greater<>> out;
  for (const auto& function : module.functions) {
    for (Value* value : function->body().arguments())
      out.insert(value->type.shape.begin(), value->type.shape.end());
    walk(function->body(), [&](Op* op) {
      for (Value* value : op->results())
        out.insert(value->type.shape.begin(), value->type.shape.end());
    });
  }
  return {out.begin(), out.end()};
}

class Minimiser {
 public:
  Minimiser(State state, Verdict verdict, const CheckOptions& options, int attempts)
      : state_(std::move(state)),
        verdict_(std::move(verdict)),
        options_(options),
        left_(attempts) {}

  Reduced run() {
    for (bool changed = true; changed && left_ > 0;) {
      changed = results();
      changed |= donations();
      changed |= cuts();
      changed |= bypasses();
      changed |= shapes();
    }
    return {std::move(state_.module), std::move(state_.inputs), verdict_};
  }

 private:
  template <typename F>
  bool attempt(F change) {
    if (left_ <= 0) return false;
    State next{copy_module(*state_.module), state_.inputs};
    if (!change(next)) return false;
    remove_dead(next);
    if (!verify(*next.module)) return false;
    Analysed known = analyse(*next.module, next.inputs);
    if (!known.ok()) return false;
    --left_;
    Verdict verdict = check(*next.module, next.inputs, known.results, options_);
    if (verdict.kind != Verdict::Kind::wrong || category(verdict.what) != category(verdict_.what))
      return false;
    state_ = std::move(next);
    verdict_ = std::move(verdict);
    return true;
  }

  bool results() {
    bool changed = false;
    for (size_t n = entry(state_).result_types.size(); n > 1;
         n = entry(state_).result_types.size()) {
      bool found = false;
      for (size_t i = 0; i < n && !found; ++i)
        found = attempt([&](State& s) { return keep_results(s, {i}), true; });
      for (size_t i = 0; i < n && !found; ++i)
        found = attempt([&](State& s) {
          std::vector<size_t> kept;
          for (size_t k = 0; k < n; ++k)
            if (k != i) kept.push_back(k);
          keep_results(s, kept);
          return true;
        });
      if (!found) break;
      changed = true;
    }
    return changed;
  }

  bool donations() {
    bool any = false;
    for (const ArgumentInfo& info : entry(state_).argument_info) any |= info.donated;
    return any && attempt([](State& s) {
             for (ArgumentInfo& info : entry(s).argument_info) info = {};
             return true;
           });
  }

  bool cuts() {
    bool changed = false;
    for (size_t n = operations(*state_.module).size(); n-- > 0;)
      changed |= attempt([&](State& s) { return cut(s, n); });
    return changed;
  }

  bool bypasses() {
    bool changed = false;
    for (size_t n = operations(*state_.module).size(); n-- > 0;)
      for (size_t operand = 0; operand < 3; ++operand)
        if (attempt([&](State& s) { return bypass(s, n, operand); })) {
          changed = true;
          break;
        }
    return changed;
  }

  bool shapes() {
    bool changed = false;
    for (int64_t extent : extents(*state_.module))
      for (int64_t to : {int64_t{1}, int64_t{2}, int64_t{3}, extent / 4, extent / 2, extent - 1})
        if (to > 0 && to < extent &&
            attempt([&](State& s) { return shrink(s, extent, to), true; })) {
          changed = true;
          break;
        }
    return changed;
  }

  State state_;
  Verdict verdict_;
  CheckOptions options_;
  int left_;
};

}  // namespace

Reduced minimise(const Module& module, const std::vector<Tensor>& inputs, const Verdict& verdict,
                 const CheckOptions& options, int attempts) {
  return Minimiser({copy_module(module), inputs}, verdict, options, attempts).run();
}

}  // namespace ullage::random_programs
