#include "interp/interpret.h"

#include <fmt/format.h>

#include <charconv>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "interp/eval.h"
#include "interp/parallel.h"
#include "ops/infer.h"

namespace ullage {

namespace {

using interp::Tensors;

// Where the values of a function live during a call, and when each dies: the operation after which
// nothing in the value's own region uses it any more. Freed values let the next operation work in
// place, and keep loops small.
struct FunctionLayout {
  std::unordered_map<const Value*, uint32_t> slots;
  std::unordered_map<const Op*, std::vector<const Value*>> dies_after;
  std::unordered_map<const Region*, std::vector<const Value*>> never_used;  // arguments
};

class LayoutBuilder {
 public:
  explicit LayoutBuilder(FunctionLayout& layout) : layout_(layout) {}

  void add(const Region& region) {
    for (const Value* argument : region.arguments()) define(argument);
    for (const Op* op : region) {
      for (size_t i = 0; i < op->num_regions(); ++i) add(op->nested(i));
      for (const Value* result : op->results()) define(result);
    }
    for (const Value* argument : region.arguments())
      if (const Op* last = last_use(argument, region))
        layout_.dies_after[last].push_back(argument);
      else
        layout_.never_used[&region].push_back(argument);
    for (const Op* op : region)
      for (const Value* result : op->results()) {
        const Op* last = last_use(result, region);
        layout_.dies_after[last ? last : op].push_back(result);
      }
  }

 private:
  void define(const Value* value) {
    layout_.slots.emplace(value, static_cast<uint32_t>(layout_.slots.size()));
  }

  // The last operation of `region` that uses the value, itself or inside its own regions.
  const Op* last_use(const Value* value, const Region& region) {
    if (numbered_.insert(&region).second) {
      int64_t number = 0;
      for (const Op* op : region) order_[op] = number++;
    }
    const Op* last = nullptr;
    for (const Use* use = value->first_use(); use; use = use->next) {
      const Op* op = use->owner;
      while (op && op->region() != &region) op = op->region()->parent();
      if (op && (!last || order_[op] > order_[last])) last = op;
    }
    return last;
  }

  FunctionLayout& layout_;
  std::unordered_map<const Op*, int64_t> order_;
  std::unordered_set<const Region*> numbered_;
};

class Interpreter {
 public:
  Interpreter(const Module& module, const InterpretOptions& options, interp::Process process = {})
      : module_(module), options_(options), process_(std::move(process)) {}

  const interp::Process& process() const { return process_; }

  Result<Tensors> call(const Function& function, Tensors arguments, int depth) {
    if (depth > options_.max_call_depth)
      return error(fmt::format("calls are nested more than {} deep at @{}", options_.max_call_depth,
                               function.name),
                   module_.source(function.location));
    Frame frame{layout_of(function), {}, depth};
    frame.values.resize(frame.layout.slots.size());
    return run(function.body(), std::move(arguments), frame);
  }

 private:
  struct Frame {
    const FunctionLayout& layout;
    Tensors values;
    int depth;

    Tensor& at(const Value* value) { return values[layout.slots.at(value)]; }
  };

  const FunctionLayout& layout_of(const Function& function) {
    auto [entry, inserted] = layouts_.try_emplace(&function);
    if (inserted) LayoutBuilder(entry->second).add(function.body());
    return entry->second;
  }

  Diagnostic problem(const Op& op, const std::string& what) const {
    return error(fmt::format("{}: {}", op.mnemonic(), what), module_.source(op.location));
  }

  Result<Tensors> run(const Region& region, Tensors arguments, Frame& frame) {
    for (size_t i = 0; i < arguments.size(); ++i)
      frame.at(region.argument(i)) = std::move(arguments[i]);
    if (auto unused = frame.layout.never_used.find(&region);
        unused != frame.layout.never_used.end())
      for (const Value* value : unused->second) frame.at(value) = Tensor();
    for (const Op* op : region) {
      if (options_.max_operations > 0 && ++executed_ > options_.max_operations)
        return problem(*op, fmt::format("stopped after {} operations", options_.max_operations));
      Tensors operands = take_operands(*op, frame);
      if (has_trait(op->kind, kTerminator)) return operands;
      auto results = execute(*op, operands, frame);
      if (!results) return results;
      operands.clear();
      for (size_t i = 0; i < results->size(); ++i)
        frame.at(op->result(i)) = std::move((*results)[i]);
      if (auto dead = frame.layout.dies_after.find(op); dead != frame.layout.dies_after.end())
        for (const Value* value : dead->second) frame.at(value) = Tensor();
    }
    return error("a region has no terminator", module_.source(region.function()->location));
  }

  // Operands; those that die with the operation are moved out of the frame, unless its regions see
  // them too.
  Tensors take_operands(const Op& op, Frame& frame) {
    Tensors operands;
    operands.reserve(op.num_operands());
    for (size_t i = 0; i < op.num_operands(); ++i) operands.push_back(frame.at(op.operand(i)));
    if (op.num_regions() > 0 && op.kind != OpKind::while_) return operands;
    if (auto dead = frame.layout.dies_after.find(&op); dead != frame.layout.dies_after.end())
      for (const Value* value : dead->second) {
        bool nested = false;
        for (const Use* use = value->first_use(); use && op.kind == OpKind::while_; use = use->next)
          nested = nested || use->owner->region() != op.region();
        if (!nested && value->op() != &op) frame.at(value) = Tensor();
      }
    return operands;
  }

  Result<Tensors> execute(const Op& op, Tensors& operands, Frame& frame) {
    switch (op.kind) {
      case OpKind::call:
        return call_by_name(op, op.as<CallAttributes>().callee, operands, frame);
      case OpKind::custom_call:
        if (op.as<CustomCallAttributes>().target == "interpreter.run_parallel")
          return run_parallel(op, operands);
        return evaluate(op, operands, frame);
      case OpKind::composite:
        return call_by_name(op, op.as<CompositeAttributes>().decomposition, operands, frame);
      case OpKind::while_:
        return run_while(op, std::move(operands), frame);
      case OpKind::if_:
        return run(op.nested(operands[0].int_at(0) ? 0 : 1), {}, frame);
      case OpKind::case_: {
        // An index that is out of range takes the last branch.
        int64_t index = operands[0].int_at(0), count = static_cast<int64_t>(op.num_regions());
        return run(op.nested(static_cast<size_t>(index < 0 || index >= count ? count - 1 : index)),
                   {}, frame);
      }
      default:
        return evaluate(op, operands, frame);
    }
  }

  Result<Tensors> evaluate(const Op& op, Tensors& operands, Frame& frame) {
    interp::Evaluation e{op, operands, {}, &module_, nullptr, options_.checks, &process_};
    e.outer = [&](const Value* value) -> const Tensor* {
      auto slot = frame.layout.slots.find(value);
      return slot == frame.layout.slots.end() ? nullptr : &frame.values[slot->second];
    };
    return interp::evaluate_op(e);
  }

  Result<Tensors> call_by_name(const Op& op, const std::string& name, Tensors& operands,
                               Frame& frame) {
    const Function* callee = module_.find(name);
    if (!callee) return problem(op, "there is no function @" + name);
    return call(*callee, std::move(operands), frame.depth + 1);
  }

  Result<Tensors> run_while(const Op& op, Tensors state, Frame& frame) {
    for (;;) {
      auto condition = run(op.nested(0), state, frame);
      if (!condition) return condition;
      if (!(*condition)[0].int_at(0)) return state;
      auto next = run(op.nested(1), std::move(state), frame);
      if (!next) return next;
      state = std::move(*next);
    }
  }

  // Each process of the grid in a thread of its own. Operands are the arguments of one process
  // after the other, results likewise; the functions stand in rows of partitions for each replica.
  Result<Tensors> run_parallel(const Op& op, const Tensors& operands) {
    const auto& call = op.as<CustomCallAttributes>();
    const auto processes = static_cast<int64_t>(call.called_computations.size());
    int64_t partitions = 0;
    const std::string& row = call.backend_config;
    auto [end, fault] = std::from_chars(row.data(), row.data() + row.size(), partitions);
    if (fault != std::errc() || end != row.data() + row.size() || partitions < 1 ||
        processes % partitions != 0)
      return problem(op, fmt::format("{} functions in rows of '{}'", processes, row));
    struct Run {
      const Function* function = nullptr;
      Tensors arguments;
      interp::Process process;
      CheckReport checks;
      Result<Tensors> results = Tensors();
    };
    if (process_.meeting) return problem(op, "processes do not start others");
    std::vector<Run> runs;
    size_t next = 0;
    for (int64_t i = 0; i < processes; ++i) {
      const std::string& name = call.called_computations[static_cast<size_t>(i)];
      Run& run = runs.emplace_back();
      run.function = module_.find(name);
      if (!run.function) return problem(op, "there is no function @" + name);
      run.process.replica = i / partitions;
      run.process.partition = i % partitions;
      run.process.num_replicas = processes / partitions;
      run.process.num_partitions = partitions;
      for (const Value* argument : run.function->body().arguments()) {
        if (next == operands.size() || !compatible(argument->type, operands[next].type()))
          return problem(op, fmt::format("operand {} is not what @{} takes next, {}", next, name,
                                         to_string(argument->type)));
        run.arguments.push_back(interp::copy_of(operands[next++]));
      }
    }
    if (next < operands.size())
      return problem(op, fmt::format("{} operands, the programs take {}", operands.size(), next));
    constexpr size_t kMaxProcesses = 1024;
    if (runs.size() > kMaxProcesses)
      return problem(op, fmt::format("{} processes, of which at most {} run at once", runs.size(),
                                     kMaxProcesses));
    interp::Meeting meeting(static_cast<int64_t>(runs.size()));
    std::vector<std::thread> threads;
    for (Run& run : runs)
      threads.emplace_back([&] {
        run.process.meeting = &meeting;
        InterpretOptions options = options_;
        if (options.checks) options.checks = &run.checks;
        Interpreter interpreter(module_, options, run.process);
        run.results = interpreter.call(*run.function, std::move(run.arguments), 0);
        run.process.stuck = interpreter.process().stuck;
        meeting.leave();
      });
    for (std::thread& thread : threads) thread.join();
    // What went wrong itself, rather than who waited for it.
    for (bool stuck : {false, true})
      for (const Run& run : runs)
        if (!run.results && run.process.stuck == stuck) return run.results.diagnostics();
    Tensors out;
    for (Run& run : runs) {
      if (options_.checks) {
        options_.checks->passed += run.checks.passed;
        options_.checks->failures.insert(options_.checks->failures.end(),
                                         run.checks.failures.begin(), run.checks.failures.end());
      }
      out.insert(out.end(), run.results->begin(), run.results->end());
    }
    if (out.size() != op.num_results())
      return problem(
          op, fmt::format("{} results, the programs return {}", op.num_results(), out.size()));
    for (size_t i = 0; i < out.size(); ++i)
      if (!compatible(op.result(i)->type, out[i].type()))
        return problem(op, fmt::format("result {} is {}, the programs return {}", i,
                                       to_string(op.result(i)->type), to_string(out[i].type())));
    return out;
  }

  const Module& module_;
  const InterpretOptions& options_;
  interp::Process process_;
  std::unordered_map<const Function*, FunctionLayout> layouts_;
  int64_t executed_ = 0;
};

}  // namespace

Result<std::vector<Tensor>> interpret(const Module& module, std::string_view name,
                                      std::vector<Tensor> inputs, InterpretOptions options) {
  const Function* function = module.find(name);
  if (!function) return error(fmt::format("there is no function @{}", name), {.file = module.file});
  SourceRange where = module.source(function->location);
  auto arguments = function->body().arguments();
  if (arguments.size() != inputs.size())
    return error(
        fmt::format("@{} takes {} arguments, {} were given", name, arguments.size(), inputs.size()),
        where);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!compatible(arguments[i]->type, inputs[i].type()))
      return error(fmt::format("argument {} of @{} has type {}, the input {}", i, name,
                               to_string(arguments[i]->type), to_string(inputs[i].type())),
                   where);
  return Interpreter(module, options).call(*function, std::move(inputs), 0);
}

}  // namespace ullage
