#include "driver/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "driver/judge.h"
#include "driver/npy.h"
#include "interp/interpret.h"
#include "support/sha256.h"

namespace ullage {

namespace {

constexpr int64_t kObstaclesOfAKind = 5;

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Where the values of each argument come from, checked against the program's types.
class ArgumentSource {
 public:
  static Result<ArgumentSource> make(const RunRequest& request, const std::vector<Type>& types) {
    ArgumentSource out;
    // Tokens carry nothing, and are not given.
    size_t wanted = 0;
    for (const Type& type : types)
      out.place_.push_back(type.kind == Type::Kind::token ? kNone : wanted++);
    if (request.expectations) {
      out.specs_ = &request.expectations->inputs;
      if (out.specs_->size() != wanted)
        return error(fmt::format("the case has {} inputs, the program {} arguments",
                                 out.specs_->size(), wanted));
      for (size_t i = 0; i < types.size(); ++i) {
        if (out.place_[i] == kNone) continue;
        const Type& given = (*out.specs_)[out.place_[i]].type;
        if (!(given == types[i])) return mismatch(i, given, types[i]);
      }
      return out;
    }
    Result<InputFiles> files = read_input_files(request.input_files);
    if (!files) return files.diagnostics();
    out.files_ = std::move(*files);
    if (out.files_.arrays.size() != wanted)
      return error(
          fmt::format("{} arrays given, the program has {} arguments", out.files_.arrays.size(),
                      wanted),
          {}, wanted == 0 ? "" : "give them with --input X.npy, --input X.npz or --case CASE.json");
    out.types_ = types;
    return out;
  }

  Status write(size_t i, std::span<std::byte> to, ThreadPool& pool) const {
    if (place_[i] == kNone) return Ok{};
    if (!specs_)
      return copy_elements(files_.arrays[place_[i]], types_[i], to, fmt::format("argument {}", i));
    const InputSpec& spec = (*specs_)[place_[i]];
    int64_t width = storage_bytes(spec.type.dtype), elements = spec.type.num_elements();
    constexpr int64_t kChunk = 1 << 16;
    pool.parallel_for((elements + kChunk - 1) / kChunk, [&](int64_t chunk, int) {
      int64_t first = chunk * kChunk, count = std::min(kChunk, elements - first);
      fill_range(
          spec, first,
          to.subspan(static_cast<size_t>(first * width), static_cast<size_t>(count * width)));
    });
    return Ok{};
  }

 private:
  static Diagnostic mismatch(size_t i, const Type& given, const Type& wanted) {
    return error(fmt::format("argument {} is {}, the program wants {}", i, to_string(given),
                             to_string(wanted)));
  }

  static constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> place_;  // of each argument among what is given
  const std::vector<InputSpec>* specs_ = nullptr;
  InputFiles files_;
  std::vector<Type> types_;
};

std::vector<OutputView> views(Executor& executor, const std::vector<Type>& types) {
  std::vector<OutputView> out;
  for (size_t i = 0; i < types.size(); ++i) out.push_back({types[i], executor.output(i)});
  return out;
}

Result<CheckResult> compare_with_interpreter(const Module& original, const ArgumentSource& source,
                                             const std::vector<Type>& argument_types,
                                             std::span<const OutputView> outputs,
                                             ThreadPool& pool) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < argument_types.size(); ++i) {
    if (argument_types[i].kind == Type::Kind::token) {
      inputs.emplace_back();
      continue;
    }
    Tensor tensor(argument_types[i]);
    Status written =
        source.write(i, {tensor.mutable_data(), static_cast<size_t>(tensor.size_bytes())}, pool);
    if (!written) return written.diagnostics();
    inputs.push_back(std::move(tensor));
  }
  Result<std::vector<Tensor>> results =
      interpret(original, original.entry()->name, std::move(inputs));
  if (!results) return results.diagnostics();
  std::vector<OutputView> expected;
  for (const Tensor& tensor : *results)
    expected.push_back({tensor.type(), {tensor.data(), static_cast<size_t>(tensor.size_bytes())}});
  return compare_outputs(outputs, expected);
}

}  // namespace

MemoryReport memory_report(const PlannedProgram& planned) {
  return memory_report(*planned.outcome.plan, planned.module->locations);
}

PlanReport plan_report(const std::string& program, const PlannedProgram& planned,
                       double compile_seconds) {
  const Plan& plan = *planned.outcome.plan;
  PlanReport out;
  out.program = program;
  out.argument_bytes = plan.argument_bytes;
  out.output_bytes = plan.output_bytes;
  out.alias_bytes = plan.alias_bytes;
  out.constant_bytes = plan.constant_bytes;
  out.temp_bytes = plan.temp_bytes;
  out.planned_peak_bytes = plan.arena_bytes;
  out.lower_bound_bytes = planned.planner->lower_bound_bytes();
  double needed = plan.flops - plan.recomputed_flops;
  out.recompute_flops_ratio = needed > 0 ? plan.recomputed_flops / needed : 0;
  out.predicted_seconds = plan.predicted_seconds;
  out.compile_seconds = compile_seconds;
  return out;
}

RefusalReport refusal_report(const std::string& program, const PlannedProgram& planned) {
  const Refusal& refusal = planned.outcome.refusal;
  RefusalReport out;
  out.program = program;
  out.budget_bytes = refusal.budget_bytes;
  out.floor_bytes = refusal.floor_bytes;
  out.lower_bound_bytes = refusal.lower_bound_bytes;
  // A program has hundreds of arguments but few surprises: the largest of each kind, then sums.
  std::map<std::string, int64_t> listed;
  for (const PlanObstacle& obstacle : refusal.obstacles) {
    if (listed[obstacle.reason]++ < kObstaclesOfAKind) {
      out.obstacles.push_back({obstacle.value, obstacle.bytes, to_string(obstacle.type),
                               planned.module->locations.source_line(obstacle.location),
                               obstacle.reason});
      continue;
    }
    auto rest = std::find_if(out.more.begin(), out.more.end(), [&](const MoreObstacles& more) {
      return more.reason == obstacle.reason;
    });
    if (rest == out.more.end()) {
      out.more.push_back({.reason = obstacle.reason});
      rest = std::prev(out.more.end());
    }
    ++rest->count;
    rest->bytes += obstacle.bytes;
  }
  return out;
}

Result<std::vector<KnownArgument>> known_arguments(const Module& module,
                                                   const RunRequest& request) {
  auto is_number = [](const Type& type) { return type.rank() == 0 && is_int(type.dtype); };
  std::vector<KnownArgument> out;
  if (request.expectations) {
    for (const InputSpec& spec : request.expectations->inputs) {
      out.push_back({spec.type, {}});
      if (!is_number(spec.type)) continue;
      std::vector<std::byte> bytes(static_cast<size_t>(spec.type.bytes()));
      fill(spec, bytes);
      out.back().value = Literal::make(spec.type, std::move(bytes));
    }
    return out;
  }
  Result<InputFiles> files = read_input_files(request.input_files);
  if (!files) return files.diagnostics();
  std::span<Value* const> arguments = module.entry()->body().arguments();
  for (const NpyArray& array : files->arrays) {
    size_t i = out.size();
    // An element type that NumPy cannot name is the program's.
    DType dtype =
        array.dtype ? *array.dtype : (i < arguments.size() ? arguments[i]->type.dtype : DType::f32);
    out.push_back({Type::tensor(dtype, array.shape), {}});
    if (!is_number(out.back().type)) continue;
    std::vector<std::byte> bytes(static_cast<size_t>(out.back().type.bytes()));
    Status copied = copy_elements(array, out.back().type, bytes, fmt::format("argument {}", i));
    if (!copied) return copied.diagnostics();
    out.back().value = Literal::make(out.back().type, std::move(bytes));
  }
  return out;
}

Result<RunResult> run_program(const std::string& name, PlannedProgram& planned,
                              const CompileSettings& settings, const RunRequest& request,
                              double seconds_so_far) {
  Function& entry = *planned.module->entry();
  std::vector<Type> argument_types;
  for (Value* argument : entry.body().arguments()) argument_types.push_back(argument->type);
  const std::vector<Type>& output_types = entry.result_types;
  Result<ArgumentSource> source = ArgumentSource::make(request, argument_types);
  if (!source) return source.diagnostics();
  // The compiled path consumes the module; the oracle runs what was read, which normalisation keeps
  // equal in meaning.
  Clock::time_point begin = Clock::now();
  Result<ExecProgram> code = generate_code(planned, settings, planned.phases);
  if (!code) return code.diagnostics();
  double compile_seconds = seconds_so_far + since(begin);

  ThreadPool pool(settings.threads);
  Result<std::unique_ptr<Executor>> executor =
      Executor::load(std::move(*code), settings.budget_bytes, pool);
  if (!executor) return executor.diagnostics();
  RunResult out;
  out.report.plan = plan_report(name, planned, compile_seconds);
  for (int64_t step = 0; step < request.repeat; ++step) {
    for (size_t i = 0; i < argument_types.size(); ++i) {
      Status written = source->write(i, (*executor)->argument(i), pool);
      if (!written) return written.diagnostics();
    }
    (*executor)->profile(request.profile && (step > 0 || request.repeat == 1));
    begin = Clock::now();
    (*executor)->run();
    out.report.step_seconds.push_back(since(begin));
  }
  out.spent = (*executor)->spent();
  std::vector<OutputView> outputs = views(**executor, output_types);
  for (const OutputView& view : outputs)
    out.report.outputs_sha256.push_back(sha256_hex(view.bytes));
  if (request.expectations) out.report.check = judge(*request.expectations, outputs);
  if (request.compare_interpreter) {
    Result<CheckResult> comparison =
        compare_with_interpreter(*planned.module, *source, argument_types, outputs, pool);
    if (!comparison) return comparison.diagnostics();
    out.comparison = std::move(*comparison);
  }
  if (!request.output_file.empty()) {
    std::vector<NamedArray> members;
    for (size_t i = 0; i < outputs.size(); ++i)
      members.push_back({fmt::format("out{}", i), outputs[i].type, outputs[i].bytes});
    Status written = write_npz(request.output_file, members);
    if (!written) return written.diagnostics();
  }
  out.report.measured_peak_bytes = (*executor)->high_water_bytes();
  out.report.process_peak_bytes = process_peak_bytes();
  return out;
}

}  // namespace ullage
