#include "driver/load.h"

#include <fmt/format.h>

#include "support/check.h"

namespace ullage {

namespace {

class Loader {
 public:
  Loader(const Plan& plan, const CpuCompiler& compiler) : plan_(plan), compiler_(compiler) {}

  ExecProgram run() {
    ExecProgram out;
    out.arena_bytes = plan_.arena_bytes;
    out.separate_bytes = plan_.separate_bytes;
    for (int32_t b : plan_.separate) out.separate.push_back(range(b));
    out.steps = block(plan_.main);
    for (int32_t b : plan_.main.arguments) out.arguments.push_back(range(b));
    for (int32_t b : plan_.main.outputs) out.outputs.push_back(range(b));
    for (int32_t b : plan_.constants) {
      const PlanBuffer& buffer = plan_.buffers[static_cast<size_t>(b)];
      const KernelValue& value = buffer.graph->values[static_cast<size_t>(buffer.value)];
      ULLAGE_CHECK(value.literal, "constant without a value");
      out.constants.push_back({range(b), value.literal->bytes});
    }
    return out;
  }

 private:
  const PlanBuffer& buffer(int32_t b) const { return plan_.buffers[static_cast<size_t>(b)]; }
  ExecBuffer range(int32_t b) const { return {buffer(b).offset, buffer(b).bytes}; }

  std::vector<ExecStep> block(const PlanBlock& steps) {
    std::vector<std::shared_ptr<const CompiledKernel>> kernels = compiler_.kernels(*steps.graph);
    std::vector<ExecStep> out;
    for (const PlanStep& step : steps.steps) out.push_back(translate(step, steps, kernels));
    return out;
  }

  // Kind and shape: steps that do the same work share a line of the profile.
  static std::string profile_name(const KernelGraph& graph, const PlanStep& step) {
    const Kernel& kernel = graph.kernels[static_cast<size_t>(step.kernel)];
    std::string out = kernel.name;
    if (const DotKernel* dot = kernel.get<DotKernel>()) {
      out += fmt::format(" {}{}x{}x{}",
                         dot->batch.empty() ? "" : std::to_string(dot->batch_size()) + "x",
                         dot->m_size(), dot->k_size(), dot->n_size());
      if (dot->lhs.nodes.size() > 1 || dot->rhs.nodes.size() > 1) out += " with prologue";
      if (dot->epilogue.nodes.size() > 1) out += " with epilogue";
    } else if (!kernel.outputs.empty()) {
      for (ValueId id : kernel.outputs)
        out += " " + to_string(graph.values[static_cast<size_t>(id)].type);
    }
    return step.axis.whole() ? out : out + " in pieces";
  }

  ExecStep translate(const PlanStep& step, const PlanBlock& parent,
                     const std::vector<std::shared_ptr<const CompiledKernel>>& kernels) {
    ExecStep out;
    std::vector<int32_t> operands = step.inputs;
    operands.insert(operands.end(), step.outputs.begin(), step.outputs.end());
    for (size_t i = 0; i < operands.size(); ++i) {
      int64_t shift = i < step.shift.size() ? step.shift[i] : 0;
      out.operands.push_back(buffer(operands[i]).offset - shift);
      out.extents.push_back(buffer(operands[i]).offset);
      out.extents.push_back(buffer(operands[i]).bytes);
    }
    if (step.scratch >= 0) {
      out.scratch = buffer(step.scratch).offset;
      out.scratch_bytes = buffer(step.scratch).bytes;
    }
    out.lower = step.lower;
    out.upper = step.upper;
    out.accumulate = step.accumulate;
    out.unfinished = step.unfinished;
    out.axis = step.axis.whole()      ? KernelCall::Axis::all
               : step.axis.parallel() ? KernelCall::Axis::parallel
                                      : KernelCall::Axis::contracted;
    switch (step.kind) {
      case PlanStep::Kind::kernel:
        out.kernel = step.variant < 0
                         ? kernels[static_cast<size_t>(step.kernel)]
                         : compiler_.kernel(*parent.variants[static_cast<size_t>(step.variant)]);
        out.name = profile_name(*parent.graph, step);
        ULLAGE_CHECK(out.kernel, "a step without code");
        break;
      case PlanStep::Kind::copy:
        out.kind = ExecStep::Kind::copy;
        out.bytes = step.bytes;
        break;
      case PlanStep::Kind::loop: {
        out.kind = ExecStep::Kind::loop;
        const WhileKernel& loop =
            *parent.graph->kernels[static_cast<size_t>(step.kernel)].get<WhileKernel>();
        out.trip_count = loop.trip_count.value_or(-1);
        if (!loop.trip_count) out.control = buffer(step.nested[1].outputs[0]).offset;
        break;
      }
      case PlanStep::Kind::branch: {
        out.kind = ExecStep::Kind::branch;
        const Kernel& kernel = parent.graph->kernels[static_cast<size_t>(step.kernel)];
        out.control = buffer(step.inputs[0]).offset;
        out.control_is_bool =
            parent.graph->values[static_cast<size_t>(kernel.inputs[0])].type.dtype == DType::i1;
        break;
      }
    }
    for (const PlanBlock& nested : step.nested) out.nested.push_back(block(nested));
    return out;
  }

  const Plan& plan_;
  const CpuCompiler& compiler_;
};

}  // namespace

ExecProgram load_steps(const Plan& plan, const CpuCompiler& compiler) {
  return Loader(plan, compiler).run();
}

}  // namespace ullage
