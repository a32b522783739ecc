#include "ullage/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include "driver/executable.h"
#include "driver/session.h"
#include "runtime/thread_pool.h"
#include "syntax/reader.h"

namespace ullage {

namespace {

[[noreturn]] void fail(const std::vector<Diagnostic>& diagnostics) {
  std::string text = to_string(diagnostics);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  throw ProgramError(text);
}

ArrayType public_type(const Type& type) {
  return {std::string(name(type.dtype)), type.shape};
}

std::string shown(const ArrayType& type) {
  std::string out = "tensor<";
  for (int64_t extent : type.shape) out += fmt::format("{}x", extent);
  return out + type.element + ">";
}

// Scratch memory begins at a multiple of what vectors need.
struct Scratch {
  static constexpr std::align_val_t kAlignment{64};
  explicit Scratch(int64_t size)
      : bytes(static_cast<std::byte*>(
            ::operator new(static_cast<size_t>(std::max<int64_t>(size, 1)), kAlignment))) {}
  ~Scratch() { ::operator delete(bytes, kAlignment); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::byte* bytes;
};

}  // namespace

struct Program::State {
  std::unique_ptr<Executable> code;
  std::unique_ptr<ThreadPool> pool;
  std::vector<ArrayType> arguments, results;
  ProgramMemory memory;

  // The bytes of an argument that hold a result, to keep when no further result needs them.
  using TakeArgument = std::function<std::vector<std::byte>(size_t argument, bool last)>;
  void check(std::span<const Array> given) const;
  std::vector<Array> run(std::span<std::byte* const> inputs, const TakeArgument& take) const;
};

Program::Program(std::unique_ptr<State> state) : state_(std::move(state)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Program Program::compile(std::string_view stablehlo, const ProgramOptions& options) {
  CompileSettings settings;
  settings.budget_bytes = options.memory_budget;
  settings.budget_option = "memory_budget = {}";
  settings.threads = options.threads > 0
                         ? options.threads
                         : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  settings.disabled = options.disable;
  settings.separate_operands = true;
  auto module = read_module(stablehlo, "program");
  if (!module) fail(module.diagnostics());
  std::string name = (*module)->name;
  auto planned = plan_program(std::move(*module), settings);
  if (!planned) fail(planned.diagnostics());
  if (!(*planned)->outcome.plan) {
    RefusalReport report = refusal_report(name, **planned);
    report.budget_option = settings.budget_option;
    throw OverBudget(to_text(report), report.floor_bytes);
  }
  auto code = Executable::make(**planned, settings);
  if (!code) fail(code.diagnostics());
  auto state = std::make_unique<State>();
  state->code = std::move(*code);
  state->pool = std::make_unique<ThreadPool>(settings.threads);
  for (const Executable::Argument& argument : state->code->arguments()) {
    if (!argument.type.is_tensor()) throw ProgramError("an argument that is not an array");
    state->arguments.push_back(public_type(argument.type));
  }
  for (const Executable::Output& output : state->code->outputs()) {
    if (!output.type.is_tensor()) throw ProgramError("a result that is not an array");
    state->results.push_back(public_type(output.type));
  }
  const PlanReport& report = state->code->report();
  state->memory = {report.argument_bytes, report.output_bytes, report.alias_bytes,
                   report.constant_bytes, report.temp_bytes,   report.planned_peak_bytes};
  return Program(std::move(state));
}

const std::vector<ArrayType>& Program::arguments() const {
  return state_->arguments;
}

const std::vector<ArrayType>& Program::results() const {
  return state_->results;
}

const ProgramMemory& Program::memory() const {
  return state_->memory;
}

void Program::State::check(std::span<const Array> given) const {
  if (given.size() != arguments.size())
    throw ProgramError(
        fmt::format("{} arguments given, the program takes {}", given.size(), arguments.size()));
  for (size_t a = 0; a < given.size(); ++a) {
    size_t bytes = static_cast<size_t>(code->arguments()[a].type.bytes());
    if (given[a].type != arguments[a])
      throw ProgramError(fmt::format("argument {} is {}, the program takes {}", a,
                                     shown(given[a].type), shown(arguments[a])));
    if (given[a].bytes.size() != bytes)
      throw ProgramError(
          fmt::format("argument {} has {} bytes instead of {}", a, given[a].bytes.size(), bytes));
  }
}

std::vector<Array> Program::State::run(std::span<std::byte* const> inputs,
                                       const TakeArgument& take) const {
  std::vector<Array> out;
  std::vector<std::byte*> outputs;
  std::vector<size_t> left(arguments.size());  // results in the memory of each argument
  for (size_t r = 0; r < results.size(); ++r) {
    const Executable::Output& output = code->outputs()[r];
    out.push_back({results[r], {}});
    if (output.kind == Executable::Output::Kind::own)
      out[r].bytes.resize(static_cast<size_t>(output.type.bytes()));
    if (output.kind == Executable::Output::Kind::argument) ++left[output.index];
    outputs.push_back(out[r].bytes.data());
  }
  Scratch scratch(code->scratch_bytes());
  code->run(inputs, outputs, scratch.bytes, *pool);
  for (size_t r = 0; r < out.size(); ++r) {
    const Executable::Output& output = code->outputs()[r];
    if (output.kind == Executable::Output::Kind::argument)
      out[r].bytes = take(output.index, --left[output.index] == 0);
    if (output.kind == Executable::Output::Kind::output) out[r].bytes = out[output.index].bytes;
  }
  return out;
}

std::vector<Array> Program::run(std::span<const Array> arguments) const {
  state_->check(arguments);
  // Arguments that a run writes to are copied: the caller's stay as they are.
  std::vector<std::vector<std::byte>> copies(arguments.size());
  std::vector<std::byte*> inputs;
  for (size_t a = 0; a < arguments.size(); ++a) {
    bool overwritten = state_->code->arguments()[a].overwritten;
    if (overwritten) copies[a] = arguments[a].bytes;
    // Nothing writes through it unless it is a copy.
    inputs.push_back(overwritten ? copies[a].data()
                                 : const_cast<std::byte*>(arguments[a].bytes.data()));
  }
  return state_->run(inputs, [&](size_t a, bool last) {
    if (!state_->code->arguments()[a].overwritten) return arguments[a].bytes;
    return last ? std::move(copies[a]) : copies[a];
  });
}

std::vector<Array> Program::run_donating(std::vector<Array> arguments) const {
  state_->check(arguments);
  std::vector<std::byte*> inputs;
  inputs.reserve(arguments.size());
  for (Array& argument : arguments) inputs.push_back(argument.bytes.data());
  return state_->run(inputs, [&](size_t a, bool last) {
    return last ? std::move(arguments[a].bytes) : arguments[a].bytes;
  });
}

}  // namespace ullage
