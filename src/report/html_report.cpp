#include "report/html_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/size.h"

namespace ullage {

namespace {

constexpr double kWidth = 1100, kHeight = 420;
constexpr size_t kMostBuffers = 4000;  // drawn, largest first

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

const char* colour(const PlanBuffer& buffer) {
  switch (buffer.kind) {
    case PlanBuffer::Kind::argument:
      return "#9db4c0";
    case PlanBuffer::Kind::constant:
      return "#c9b79c";
    case PlanBuffer::Kind::scratch:
      return "#d9a6a1";
    case PlanBuffer::Kind::temporary:
      return buffer.output ? "#8fb996" : "#e0b252";
  }
  return "#cccccc";
}

// Time runs to the right, addresses upwards.
std::string map_of(const Plan& plan, const LocationTable& locations) {
  int32_t end = 1;
  for (const PlanBuffer& buffer : plan.buffers) end = std::max(end, buffer.last + 1);
  double x_scale = kWidth / end,
         y_scale = kHeight / static_cast<double>(std::max<int64_t>(1, plan.arena_bytes));
  std::vector<const PlanBuffer*> drawn;
  for (const PlanBuffer& buffer : plan.buffers)
    if (buffer.bytes > 0) drawn.push_back(&buffer);
  std::stable_sort(drawn.begin(), drawn.end(),
                   [](const PlanBuffer* a, const PlanBuffer* b) { return a->bytes > b->bytes; });
  if (drawn.size() > kMostBuffers) drawn.resize(kMostBuffers);
  std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">\n", kWidth, kHeight + 20);
  for (const PlanBuffer* buffer : drawn) {
    std::string what = "buffer";
    if (buffer->graph && buffer->value >= 0) {
      const KernelValue& value = buffer->graph->values[static_cast<size_t>(buffer->value)];
      SourceRange at = locations.source(value.location);
      what = (value.name.empty() ? "" : "%" + value.name + " ") + to_string(value.type) +
             (at.known() ? " " + at.str() : "");
    }
    out += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
        "fill=\"{}\"><title>{}\n{} at {}, steps {} to {}</title></rect>\n",
        buffer->first * x_scale,
        kHeight - static_cast<double>(buffer->offset + buffer->bytes) * y_scale,
        std::max(0.3, (buffer->last + 1 - buffer->first) * x_scale),
        std::max(0.3, static_cast<double>(buffer->bytes) * y_scale), colour(*buffer), escaped(what),
        format_size(buffer->bytes), buffer->offset, buffer->first, buffer->last);
  }
  out += fmt::format("<line class=\"peak\" x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"0\" y2=\"{1}\"/>\n",
                     (plan.peak_time + 0.5) * x_scale, kHeight);
  out += fmt::format(
      "<text x=\"0\" y=\"{}\">step 0</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\">step {}; "
      "arena {}</text>\n",
      kHeight + 15, kWidth, kHeight + 15, end - 1, format_size(plan.arena_bytes));
  return out + "</svg>\n";
}

std::string row(std::initializer_list<std::string> cells) {
  std::string out = "<tr>";
  for (const std::string& cell : cells) out += "<td>" + escaped(cell) + "</td>";
  return out + "</tr>\n";
}

}  // namespace

std::string to_html(const MemoryReport& report, const Plan& plan, const LocationTable& locations,
                    const std::string& title) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta "
      "charset=\"utf-8\"><title>{0}</title>\n<style>\n"
      "body{{font:14px/1.45 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 "
      "1em;color:#222}}\n"
      "svg{{width:100%;background:#f6f6f4}} rect{{stroke:#fff;stroke-width:.3}} "
      "rect:hover{{stroke:#000;stroke-width:1}}\n"
      "line.peak{{stroke:#b3261e;stroke-width:1;stroke-dasharray:4 3}} "
      "table{{border-collapse:collapse;width:100%}}\n"
      "td,th{{text-align:left;padding:.2em .8em .2em 0;border-bottom:1px solid "
      "#ddd;vertical-align:top}}\n"
      "</style></head><body>\n<h1>{0}</h1>\n",
      escaped(title));
  out +=
      "<table>\n" + row({"arguments", format_size(report.argument_bytes)}) +
      row({"outputs", fmt::format("{}, {} of them in arguments", format_size(report.output_bytes),
                                  format_size(report.alias_bytes))}) +
      row({"constants", format_size(report.constant_bytes)}) +
      row({"temporaries", format_size(report.temp_bytes)}) +
      row({"peak", fmt::format("{} while running {}", format_size(report.arena_bytes),
                               report.peak_moment)}) +
      row({"kernels", fmt::format("{}, {} of them pieces, {} run again ({:.1f} % more arithmetic)",
                                  report.kernels, report.pieces, report.recomputed,
                                  100 * report.recompute_flops_ratio)}) +
      "</table>\n";
  out +=
      "<h2>Memory over the plan</h2>\n<p>Time runs to the right, addresses upwards; the dashed "
      "line is the peak. Grey: arguments, "
      "green: results, yellow: temporaries, red: scratch. Point at a buffer to see what it "
      "holds.</p>\n";
  out += map_of(plan, locations);
  out +=
      "<h2>Alive at the "
      "peak</h2>\n<table><tr><th>bytes</th><th>value</th><th>source</th><th>why</th><th>what would "
      "remove it</th></tr>\n";
  for (size_t i = 0; i < report.live.size() && i < 100; ++i) {
    const LiveValue& value = report.live[i];
    out += row({format_size(value.bytes),
                (value.name.empty() ? "" : "%" + value.name + " ") + value.shape, value.source,
                value.why, value.remedy});
  }
  out += "</table>\n<h2>Decisions of the planner</h2>\n";
  if (report.decisions.empty())
    out += "<p>None was needed.</p>\n";
  else
    out +=
        "<table><tr><th>move</th><th>value</th><th>source</th><th>times</th><th>peak lower "
        "by</th><th>costs</th></tr>\n";
  for (const MemoryReport::Decision& decision : report.decisions)
    out += row({decision.move, decision.what, decision.source, std::to_string(decision.count),
                format_size(decision.bytes), fmt::format("{:+.2f} ms", decision.seconds * 1e3)});
  if (!report.decisions.empty()) out += "</table>\n";
  return out + "</body></html>\n";
}

}  // namespace ullage
