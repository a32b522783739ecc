#include "pjrt/compile_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "pjrt/protobuf.h"
#include "support/options.h"
#include "support/size.h"

namespace ullage::pjrt {

namespace {

constexpr std::string_view kPrefix = "ullage_";

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    size_t end = std::min(list.find(','), list.size());
    if (end > 0) out.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(list.size(), end + 1));
  }
  return out;
}

std::optional<bool> truth(std::string_view value) {
  if (value == "true" || value == "True" || value == "1") return true;
  if (value == "false" || value == "False" || value == "0") return false;
  return {};
}

// A value of an option, in Python one of str, bool, int and float.
struct OptionValue {
  enum class Kind : uint8_t { text, truth, whole, fraction } kind = Kind::text;
  std::string text;  // as one would write it
};

OptionValue read_value(std::string_view message) {
  OptionValue out;
  ProtoReader reader(message);
  while (std::optional<ProtoField> field = reader.next()) switch (field->number) {
      case 1:
        out = {OptionValue::Kind::text, std::string(field->bytes)};
        break;
      case 2:
        out = {OptionValue::Kind::truth, field->value ? "true" : "false"};
        break;
      case 3:
        out = {OptionValue::Kind::whole, std::to_string(static_cast<int64_t>(field->value))};
        break;
      case 4:
        out = {OptionValue::Kind::fraction, fmt::format("{}", field->fraction())};
        break;
      default:
        break;
    }
  return out;
}

// Options of XLA that programs set wherever they run. They mean nothing here; a text that is not
// even a value of theirs is a mistake all the same.
bool acceptable_xla_option(std::string_view name, const OptionValue& value) {
  if (!name.starts_with("xla_")) return false;
  if (value.kind != OptionValue::Kind::text || name.find("dump") != name.npos ||
      name.find("isa") != name.npos || name.find("dir") != name.npos ||
      name.find("path") != name.npos)
    return true;
  double number = 0;
  const char* end = value.text.data() + value.text.size();
  auto parsed = std::from_chars(value.text.data(), end, number);
  return truth(value.text) || (parsed.ec == std::errc() && parsed.ptr == end);
}

Status apply(CompileRequest& request, const std::string& name, const OptionValue& value) {
  if (acceptable_xla_option(name, value)) return Ok{};
  if (name.starts_with("xla_"))
    return error(
        fmt::format("While setting option {}, '{}' is not a valid bool value.", name, value.text));
  if (name.starts_with(kPrefix)) {
    Result<bool> known =
        apply_option(request.settings, std::string_view(name).substr(kPrefix.size()), value.text);
    if (!known) return known.diagnostics();
    if (name == "ullage_memory_budget")
      request.settings.budget_option = "compiler_options={\"ullage_memory_budget\": {}}";
    if (*known) return Ok{};
  }
  return error(fmt::format("No such compile option: '{}' with value \"{}\"", name, value.text), {},
               "options of this compiler are ullage_memory_budget, ullage_disable, "
               "ullage_verify_plan and ullage_dump_dir");
}

std::string_view map_key(std::string_view entry, std::string_view& value) {
  std::string_view key;
  ProtoReader reader(entry);
  while (std::optional<ProtoField> field = reader.next()) {
    if (field->number == 1) key = field->bytes;
    if (field->number == 2) value = field->bytes;
  }
  return key;
}

void read_device_ids(std::string_view assignment, std::vector<int32_t>& ids) {
  ProtoReader reader(assignment);
  while (std::optional<ProtoField> field = reader.next()) {
    if (field->number != 3 || !field->is_bytes) continue;
    ProtoReader computation(field->bytes);
    while (std::optional<ProtoField> inner = computation.next()) {
      if (inner->number != 1) continue;
      if (!inner->is_bytes) ids.push_back(static_cast<int32_t>(inner->value));
      for (uint64_t id : packed_varints(inner->bytes)) ids.push_back(static_cast<int32_t>(id));
    }
  }
}

void read_build_options(std::string_view message, CompileRequest& request) {
  ProtoReader reader(message);
  while (std::optional<ProtoField> field = reader.next()) switch (field->number) {
      case 4:
        request.replicas = static_cast<int64_t>(field->value);
        break;
      case 5:
        request.partitions = static_cast<int64_t>(field->value);
        break;
      case 9:
        request.device_assignment = std::string(field->bytes);
        read_device_ids(field->bytes, request.device_ids);
        break;
      case 12:
        if (!field->is_bytes) request.free_output_shardings.push_back(field->value != 0);
        for (uint64_t value : packed_varints(field->bytes))
          request.free_output_shardings.push_back(value != 0);
        break;
      default:
        break;
    }
}

}  // namespace

Status environment_settings(CompileSettings& settings) {
  std::vector<std::string> verb = {"run"};
  Result<CommandLine> line = parse_command_line(verb, environment_flags());
  if (!line) return line.diagnostics();
  const Options& options = line->options;
  settings.threads = static_cast<int>(
      options.number(Opt::threads).value_or(std::max(1u, std::thread::hardware_concurrency())));
  settings.budget_bytes = options.number(Opt::memory_budget);
  settings.budget_option = "ULLAGE_FLAGS=--memory-budget={}";
  settings.disabled = options.list(Opt::disable);
  settings.verify_plan = options.flag(Opt::verify_plan);
  settings.dump_dir = options.text(Opt::dump_dir);
  settings.separate_operands = true;
  return Ok{};
}

Result<bool> apply_option(CompileSettings& settings, std::string_view name,
                          std::string_view value) {
  auto wrong = [&](std::string_view what) {
    return error(fmt::format("option {} takes {}, found \"{}\"", name, what, value));
  };
  if (name == "memory_budget") {
    std::optional<int64_t> bytes = parse_size(value);
    if (!bytes) return wrong("a size such as \"4GiB\" or a number of bytes");
    settings.budget_bytes = bytes;
  } else if (name == "disable") {
    settings.disabled = split(value);
  } else if (name == "verify_plan") {
    std::optional<bool> on = truth(value);
    if (!on) return wrong("true or false");
    settings.verify_plan = *on;
  } else if (name == "dump_dir") {
    settings.dump_dir = std::string(value);
  } else {
    return false;
  }
  return true;
}

Result<CompileRequest> parse_compile_options(std::string_view options,
                                             const CompileSettings& defaults) {
  CompileRequest out;
  out.settings = defaults;
  ProtoReader reader(options);
  while (std::optional<ProtoField> field = reader.next()) {
    if (field->number == 3) read_build_options(field->bytes, out);
    if (field->number == 7) {
      std::string_view value;
      std::string key(map_key(field->bytes, value));
      if (Status status = apply(out, key, read_value(value)); !status) return status.diagnostics();
    }
  }
  if (!reader.ok()) return error("the compile options are damaged");
  if (out.device_ids.empty()) {
    for (int32_t id = 0; id < out.replicas * out.partitions; ++id) out.device_ids.push_back(id);
    ProtoWriter assignment;
    assignment.number(1, static_cast<uint64_t>(out.replicas));
    assignment.number(2, static_cast<uint64_t>(out.partitions));
    for (int64_t id = 0; id < out.partitions; ++id) {
      ProtoWriter computation;
      std::vector<int64_t> ids;
      for (int64_t r = 0; r < out.replicas; ++r) ids.push_back(r * out.partitions + id);
      computation.packed(1, ids);
      assignment.bytes(3, computation.take());
    }
    out.device_assignment = assignment.take();
  }
  return out;
}

}  // namespace ullage::pjrt
