#include "driver/dump.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>

#include "support/file.h"
#include "support/size.h"
#include "syntax/writer.h"

namespace ullage {

void Dumper::write(std::string_view phase, const Module& module) {
  if (!directory_.empty()) write(phase, write_text(module));
}

void Dumper::write(std::string_view phase, const std::string& text) {
  if (directory_.empty() || text == last_) {
    ++number_;
    return;
  }
  std::filesystem::create_directories(directory_);
  std::ofstream out(std::filesystem::path(directory_) /
                    fmt::format("{:02}-{}.txt", number_++, phase));
  out << text;
  last_ = text;
}

Status Dumper::write_phases(const std::vector<PhaseTime>& phases, const PlanOutcome& outcome) {
  if (directory_.empty()) return Ok{};
  std::string out;
  double total = 0;
  for (const PhaseTime& phase : phases) {
    out += fmt::format("{:<28} {:10.6f} s\n", phase.name, phase.seconds);
    total += phase.seconds;
  }
  out += fmt::format("{:<28} {:10.6f} s\n", "all", total);
  if (outcome.plan) {
    out += fmt::format("\nplanned peak {}\n", format_size(outcome.plan->arena_bytes));
    for (const PlanDecision& decision : outcome.plan->decisions)
      out += fmt::format("  {} {}: peak {} lower, {:+.3f} ms\n", decision.move, decision.what,
                         format_size(decision.bytes), decision.seconds * 1e3);
  }
  std::filesystem::create_directories(directory_);
  return write_file((std::filesystem::path(directory_) / "phases.txt").string(), out);
}

namespace {

std::string buffer_list(const std::vector<int32_t>& buffers) {
  return fmt::format("b{}", fmt::join(buffers, ", b"));
}

void describe_block(const PlanBlock& block, const std::string& indent, std::string& out) {
  for (const PlanStep& step : block.steps) {
    out += fmt::format("{}{:5} ", indent, step.time);
    if (step.kind == PlanStep::Kind::copy) {
      out += fmt::format("copy {} -> {} ({})\n", buffer_list(step.inputs),
                         buffer_list(step.outputs), format_size(step.bytes));
      continue;
    }
    const Kernel& kernel = block.graph->kernels[static_cast<size_t>(step.kernel)];
    out += fmt::format("k{} {}({}) -> {}", step.kernel, kernel.name, buffer_list(step.inputs),
                       buffer_list(step.outputs));
    if (!step.axis.whole())
      out +=
          fmt::format(" {} [{}, {}){}",
                      step.axis.contracted() ? "contracted" : fmt::format("dim {}", step.axis.dim),
                      step.lower, step.upper, step.accumulate ? " accumulate" : "");
    if (step.recomputed) out += " again";
    out += "\n";
    for (const PlanBlock& nested : step.nested) describe_block(nested, indent + "    ", out);
  }
}

}  // namespace

std::string describe(const Plan& plan) {
  std::string out = fmt::format("arena {}\npeak {} at {}\n", format_size(plan.arena_bytes),
                                format_size(plan.peak_bytes), plan.peak_time);
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const PlanBuffer& buffer = plan.buffers[b];
    std::string what;
    if (buffer.graph && buffer.value >= 0) {
      const KernelValue& value = buffer.graph->values[static_cast<size_t>(buffer.value)];
      what = fmt::format(" {} {}", value.name, to_string(value.type));
    }
    out += fmt::format("b{} [{}, {}] at {} size {}{}{}\n", b, buffer.first, buffer.last,
                       buffer.offset, buffer.bytes,
                       buffer.kind == PlanBuffer::Kind::scratch ? " scratch of" : "", what);
  }
  describe_block(plan.main, "", out);
  return out;
}

}  // namespace ullage
