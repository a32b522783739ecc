#include "report/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "support/size.h"

namespace ullage {

namespace {

class Reporter {
 public:
  Reporter(const Plan& plan, const LocationTable& locations) : plan_(plan), locations_(locations) {}

  MemoryReport run() {
    out_.arena_bytes = plan_.arena_bytes;
    out_.peak_bytes = plan_.peak_bytes;
    out_.argument_bytes = plan_.argument_bytes;
    out_.output_bytes = plan_.output_bytes;
    out_.alias_bytes = plan_.alias_bytes;
    out_.constant_bytes = plan_.constant_bytes;
    out_.temp_bytes = plan_.temp_bytes;
    out_.predicted_seconds = plan_.predicted_seconds;
    double needed = plan_.flops - plan_.recomputed_flops;
    out_.recompute_flops_ratio = needed > 0 ? plan_.recomputed_flops / needed : 0;
    visit(plan_.main);
    live_values();
    decisions();
    return std::move(out_);
  }

 private:
  std::string kernel_name(const Kernel& kernel) const {
    std::string at = locations_.source_line(kernel.location);
    return at.empty() ? kernel.name : kernel.name + " at " + at;
  }

  // Counts, the kernel at the peak, and for each buffer the next step after the peak that reads it.
  void visit(const PlanBlock& block) {
    for (const PlanStep& step : block.steps) {
      if (step.kind == PlanStep::Kind::copy) {
        ++out_.copies;
        out_.copied_bytes += step.bytes;
      } else {
        ++out_.kernels;
        out_.pieces += !step.axis.whole();
        out_.recomputed += step.recomputed;
      }
      bool nested_peak = step.time <= plan_.peak_time && plan_.peak_time <= step.end_time;
      std::string name = step.kind == PlanStep::Kind::copy
                             ? "copy"
                             : kernel_name(block.graph->kernels[static_cast<size_t>(step.kernel)]);
      if (nested_peak) out_.peak_moment = name;
      for (int32_t b : step.inputs)
        if (step.end_time >= plan_.peak_time)
          reader_.try_emplace(b, name, step.time > plan_.peak_time);
      if (nested_peak)
        for (int32_t b : step.outputs) writer_.emplace(b, name);
      for (const PlanBlock& nested : step.nested) visit(nested);
    }
  }

  void live_values() {
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const PlanBuffer& buffer = plan_.buffers[i];
      if (buffer.first > plan_.peak_time || buffer.last < plan_.peak_time || buffer.bytes == 0)
        continue;
      LiveValue value;
      value.bytes = buffer.bytes;
      if (buffer.graph && buffer.value >= 0) {
        const KernelValue& v = buffer.graph->values[static_cast<size_t>(buffer.value)];
        value.name = v.name;
        value.shape = to_string(v.type);
        if (!buffer.slice.whole())
          value.shape += fmt::format(" slice {} to {} of {}", buffer.slice.lower,
                                     buffer.slice.upper, buffer.slice.cut.extent);
        value.source = locations_.source_line(v.location);
      }
      explain(value, buffer, static_cast<int32_t>(i));
      out_.live.push_back(std::move(value));
    }
    std::stable_sort(out_.live.begin(), out_.live.end(),
                     [](const LiveValue& a, const LiveValue& b) { return a.bytes > b.bytes; });
  }

  void explain(LiveValue& value, const PlanBuffer& buffer, int32_t number) const {
    auto reader = reader_.find(number);
    auto writer = writer_.find(number);
    switch (buffer.kind) {
      case PlanBuffer::Kind::constant:
        value.why = "constant of the program";
        return;
      case PlanBuffer::Kind::scratch:
        value.shape = "scratch";
        value.why = "needed by the kernel that runs: " + out_.peak_moment;
        return;
      case PlanBuffer::Kind::argument:
        value.why = reader != reader_.end() ? "argument, next read by " + reader->second.first
                    : buffer.output         ? "argument in whose memory a result lies"
                                            : "argument that the caller keeps";
        if (buffer.last > plan_.peak_time && reader == reader_.end() && !buffer.output)
          value.remedy = "donate it";
        return;
      case PlanBuffer::Kind::temporary:
        break;
    }
    if (reader != reader_.end())
      value.why =
          (reader->second.second ? "next read by " : "being read by ") + reader->second.first;
    else if (writer != writer_.end())
      value.why = "being written by " + writer->second;
    else
      value.why = buffer.output ? "result of the program" : "carried by a loop";
    if (reader != reader_.end() && reader->second.second)
      value.remedy = "a budget below the peak lets the planner make it again";
    else if (!buffer.output)
      value.remedy = "a budget below the peak lets the planner cut it";
  }

  void decisions() {
    std::map<std::pair<std::string, std::string>, size_t> index;
    for (const PlanDecision& decision : plan_.decisions) {
      auto [it, added] = index.try_emplace({decision.move, decision.what}, out_.decisions.size());
      if (added) {
        out_.decisions.push_back({decision.move, decision.what,
                                  locations_.source_line(decision.location), decision.bytes, 1,
                                  decision.seconds});
        continue;
      }
      MemoryReport::Decision& same = out_.decisions[it->second];
      same.bytes += decision.bytes;
      same.seconds += decision.seconds;
      ++same.count;
    }
  }

  const Plan& plan_;
  const LocationTable& locations_;
  MemoryReport out_;
  std::map<int32_t, std::pair<std::string, bool>>
      reader_;  // name, and whether it comes after the peak
  std::map<int32_t, std::string> writer_;
};

}  // namespace

MemoryReport memory_report(const Plan& plan, const LocationTable& locations) {
  return Reporter(plan, locations).run();
}

std::string to_text(const MemoryReport& report, size_t most_values) {
  std::string out;
  auto row = [&out](std::string_view name, int64_t bytes, std::string_view note = "") {
    out += fmt::format("  {:<22} {:>10}{}{}\n", name, format_size(bytes), note.empty() ? "" : "  ",
                       note);
  };
  out += "memory\n";
  row("arguments", report.argument_bytes);
  row("outputs", report.output_bytes,
      report.alias_bytes ? fmt::format("{} of them in arguments", format_size(report.alias_bytes))
                         : "");
  row("constants", report.constant_bytes);
  row("temporaries", report.temp_bytes);
  row("peak", report.arena_bytes, fmt::format("while running {}", report.peak_moment));
  out += fmt::format("\nlargest values alive at the peak\n");
  size_t shown = 0;
  int64_t rest = 0;
  for (const LiveValue& value : report.live) {
    if (shown++ >= most_values) {
      rest += value.bytes;
      continue;
    }
    out += fmt::format("  {:>10}  {}{}{}{}\n", format_size(value.bytes),
                       value.name.empty() ? "" : "%" + value.name + " ", value.shape,
                       value.source.empty() ? "" : "  ", value.source);
    out += fmt::format("              {}\n", value.why);
    if (!value.remedy.empty()) out += fmt::format("              to remove it: {}\n", value.remedy);
  }
  if (rest > 0)
    out += fmt::format("  {:>10}  in {} smaller values\n", format_size(rest),
                       report.live.size() - most_values);
  out += fmt::format(
      "\nplan: {} kernels, {} of them pieces, {} run again ({:.1f} % more arithmetic), {} copies "
      "of {} in all\n",
      report.kernels, report.pieces, report.recomputed, 100 * report.recompute_flops_ratio,
      report.copies, format_size(report.copied_bytes));
  for (const MemoryReport::Decision& decision : report.decisions)
    out += fmt::format("  {}{} {}{}: peak {} lower, {:+.2f} ms\n", decision.move,
                       decision.count > 1 ? fmt::format(" ({} times)", decision.count) : "",
                       decision.what, decision.source.empty() ? "" : " at " + decision.source,
                       format_size(decision.bytes), decision.seconds * 1e3);
  return out;
}

std::string buffers_csv(const Plan& plan) {
  std::string out = "id,lower,upper,size,offset\n";
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const PlanBuffer& buffer = plan.buffers[b];
    out += fmt::format("{},{},{},{},{}\n", b, buffer.first, buffer.last + 1, buffer.bytes,
                       buffer.offset);
  }
  return out;
}

}  // namespace ullage
