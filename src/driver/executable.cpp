#include "driver/executable.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "driver/session.h"
#include "support/check.h"

namespace ullage {

namespace {

// The constant in full: kernels read it where it is.
std::shared_ptr<const std::vector<std::byte>> full_bytes(const ExecProgram::Constant& constant) {
  size_t bytes = static_cast<size_t>(constant.buffer.bytes);
  if (constant.bytes->size() >= bytes) return constant.bytes;
  auto out = std::make_shared<std::vector<std::byte>>(bytes);
  size_t width = constant.bytes->size();
  for (size_t at = 0; width > 0 && at + width <= bytes; at += width)
    std::memcpy(out->data() + at, constant.bytes->data(), width);
  return out;
}

// Arguments whose buffers a step writes to, results that lie in them and guests included.
std::vector<bool> written_arguments(const Plan& plan) {
  std::vector<bool> written(plan.buffers.size(), false);
  std::vector<const PlanBlock*> blocks = {&plan.main};
  while (!blocks.empty()) {
    const PlanBlock& block = *blocks.back();
    blocks.pop_back();
    for (const PlanStep& step : block.steps) {
      for (int32_t b : step.outputs) written[static_cast<size_t>(b)] = true;
      for (const PlanBlock& nested : step.nested) blocks.push_back(&nested);
    }
  }
  std::vector<bool> out;
  for (int32_t a : plan.main.arguments) {
    const PlanBuffer& host = plan.buffers[static_cast<size_t>(a)];
    bool any = written[static_cast<size_t>(a)];
    for (size_t b = 0; b < plan.buffers.size() && !any && host.bytes > 0; ++b) {
      const PlanBuffer& other = plan.buffers[b];
      any = static_cast<int32_t>(b) != a && other.bytes > 0 && other.offset >= host.offset &&
            other.offset < host.offset + host.bytes;
    }
    out.push_back(any);
  }
  return out;
}

double bytes_moved(const KernelGraph& graph) {
  double out = 0;
  for (const Kernel& kernel : graph.kernels) out += kernel.bytes_moved;
  return out;
}

}  // namespace

Result<std::unique_ptr<Executable>> Executable::make(PlannedProgram& planned,
                                                     const CompileSettings& settings) {
  const Plan& plan = *planned.outcome.plan;
  const KernelGraph& graph = *plan.main.graph;
  std::unique_ptr<Executable> out(new Executable());
  Result<ExecProgram> program = generate_code(planned, settings, planned.phases);
  if (!program) return program.diagnostics();
  out->program_ = std::move(*program);
  out->name_ = planned.module->name;
  out->report_ = plan_report(out->name_, planned, 0);
  out->report_.budget_bytes = settings.budget_bytes;
  out->flops_ = plan.flops;
  out->bytes_accessed_ = bytes_moved(graph);
  out->predicted_seconds_ = plan.predicted_seconds;
  out->scratch_bytes_ = plan.arena_bytes - plan.separate_bytes;

  const Function& entry = *planned.module->entry();
  std::vector<bool> written = written_arguments(plan);
  std::unordered_map<int32_t, Source> source_of;  // by buffer
  for (size_t a = 0; a < graph.arguments.size(); ++a) {
    const ArgumentInfo& info = graph.argument_info[a];
    out->arguments_.push_back({entry.body().argument(a)->type, info.donated,
                               info.aliases_output.has_value(), written[a]});
    source_of.try_emplace(plan.main.arguments[a], Source{Source::Kind::argument, a});
  }
  for (size_t c = 0; c < plan.constants.size(); ++c) {
    out->constants_.push_back(full_bytes(out->program_.constants[c]));
    source_of.try_emplace(plan.constants[c], Source{Source::Kind::constant, c});
  }
  for (size_t o = 0; o < graph.outputs.size(); ++o) {
    int32_t buffer = plan.main.outputs[o];
    Output output{entry.result_types[o], Output::Kind::own, o};
    auto [it, fresh] = source_of.try_emplace(buffer, Source{Source::Kind::output, o});
    if (!fresh && it->second.kind == Source::Kind::argument) {
      output.kind = Output::Kind::argument;
      output.index = it->second.index;
    } else if (!fresh && it->second.kind == Source::Kind::output) {
      output.kind = Output::Kind::output;
      output.index = it->second.index;
    } else if (!fresh) {
      out->constant_outputs_.push_back(
          {o, it->second.index, plan.buffers[static_cast<size_t>(buffer)].bytes});
    }
    out->outputs_.push_back(std::move(output));
  }
  out->program_.constants.clear();

  std::vector<MemoryRegion> regions;
  for (int32_t buffer : plan.separate) {
    const PlanBuffer& place = plan.buffers[static_cast<size_t>(buffer)];
    if (place.bytes == 0) continue;  // nothing is read or written there
    regions.push_back({place.offset, place.bytes});
    out->sources_.push_back(source_of.at(buffer));
  }
  regions.push_back({plan.separate_bytes, out->scratch_bytes_});
  if (regions.front().begin > 0) regions.front().begin = 0;
  out->steps_ = std::make_unique<StepList>(out->program_.steps, regions);
  return out;
}

bool Executable::run(std::span<std::byte* const> arguments, std::span<std::byte* const> outputs,
                     std::byte* scratch, ThreadPool& pool,
                     const std::function<bool()>* interrupted) const {
  ULLAGE_CHECK(arguments.size() == arguments_.size() && outputs.size() == outputs_.size(),
               "one address per argument and result");
  std::vector<std::byte*> regions;
  regions.reserve(sources_.size() + 1);
  for (const Source& source : sources_) switch (source.kind) {
      case Source::Kind::argument:
        regions.push_back(arguments[source.index]);
        break;
      case Source::Kind::output:
        regions.push_back(outputs[source.index]);
        break;
      case Source::Kind::constant:
        // Nothing writes to a constant's buffer.
        regions.push_back(const_cast<std::byte*>(constants_[source.index]->data()));
        break;
    }
  regions.push_back(scratch);
  if (!steps_->run(regions, pool, nullptr, interrupted)) return false;
  for (const ConstantOutput& copy : constant_outputs_)
    std::memcpy(outputs[copy.output], constants_[copy.constant]->data(),
                static_cast<size_t>(copy.bytes));
  return true;
}

}  // namespace ullage
