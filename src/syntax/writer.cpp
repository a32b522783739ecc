#include "syntax/writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "syntax/printer.h"

namespace ullage {

namespace syntax {

// -- Names

Printer::Scope::~Scope() {
  while (printer.used_order_.size() > size) {
    printer.used_.erase(printer.used_order_.back());
    printer.used_order_.pop_back();
  }
}

static bool is_name(std::string_view text) {
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '.' ||
           c == '-';
  };
  if (text.empty() || text[0] == '-') return false;
  if (digit(text[0])) return std::all_of(text.begin(), text.end(), digit);
  return std::all_of(text.begin(), text.end(), [&](char c) { return digit(c) || letter(c); });
}

// `wanted` if it is a name that nothing visible has, else one derived from it, else a number.
std::string Printer::free_name(std::string_view wanted) {
  std::string name(wanted);
  if (!is_name(name)) {
    for (char& c : name)
      if (!is_name(std::string("a") + c)) c = '_';
    if (!is_name(name)) name.clear();
  }
  bool number = name.empty() || (name[0] >= '0' && name[0] <= '9');
  if (name.empty() || (number && used_.contains(name))) {
    do name = std::to_string(next_number_++);
    while (used_.contains(name));
  } else if (used_.contains(name)) {
    std::string base = name;
    for (int64_t i = 0; used_.contains(name); ++i) name = fmt::format("{}_{}", base, i);
  }
  used_.insert(name);
  used_order_.push_back(name);
  return name;
}

// Several results named "x#0", "x#1", ... or not at all become one group %x:n.
void Printer::name_results(const Op& op) {
  const size_t count = op.num_results();
  if (count == 0) return;
  const std::string& first = op.result(0)->name;
  std::string base = first.substr(0, first.find('#'));
  bool group = count > 1;
  for (size_t i = 0; group && i < count; ++i) {
    const std::string& name = op.result(i)->name;
    group = name.empty() ? first.empty() : name == fmt::format("{}#{}", base, i);
  }
  if (group) {
    std::string given = "%" + free_name(base);
    for (size_t i = 0; i < count; ++i) names_[op.result(i)] = fmt::format("{}#{}", given, i);
    out_ += fmt::format("{}:{}", given, count);
  } else {
    for (size_t i = 0; i < count; ++i) {
      const std::string& name = op.result(i)->name;
      std::string given = "%" + free_name(std::string_view(name).substr(0, name.find('#')));
      out_ += (i ? ", " : "") + given;
      names_[op.result(i)] = std::move(given);
    }
  }
  out_ += " = ";
}

std::string Printer::name_argument(const Value* value) {
  std::string given = "%" + free_name(value->name);
  names_[value] = given;
  return given;
}

const std::string& Printer::name(const Value* value) {
  auto found = names_.find(value);
  if (found != names_.end()) return found->second;
  static const std::string unknown =
      "%<not defined>";  // of a broken program, which a dump must still show
  return unknown;
}

void Printer::names(std::span<Value* const> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (i) out_ += ", ";
    out_ += name(values[i]);
  }
}

void Printer::types(const std::vector<Type>& types) {
  for (size_t i = 0; i < types.size(); ++i) {
    if (i) out_ += ", ";
    out_ += to_string(types[i]);
  }
}

// -- Locations

void Printer::location(Location location) {
  if (options_.locations) out_ += fmt::format(" loc({})", location_reference(location));
}

// Numbers follow the order of the text, parts before wholes, so that they do not depend on how the
// program was made.
std::string Printer::location_reference(Location location) {
  if (location.index == 0) return "unknown";
  auto [known, added] = location_numbers_.try_emplace(location.index, 0);
  if (added) {
    for (Location child : (*locations_)[location].children) location_reference(child);
    printed_locations_.push_back(location);
    location_numbers_[location.index] = printed_locations_.size();
  }
  return fmt::format("#loc{}", location_numbers_[location.index]);
}

void Printer::location_table(const LocationTable& table) {
  auto reference = [&](Location location) { return location_reference(location); };
  for (size_t i = 1; i <= printed_locations_.size(); ++i) {
    const LocationData& data = table[printed_locations_[i - 1]];
    out_ += fmt::format("#loc{} = loc(", i);
    switch (data.kind) {
      case LocationData::Kind::unknown:
        out_ += "unknown";
        break;
      case LocationData::Kind::file:
        out_ += fmt::format("{}:{}:{}", quote(data.text), data.line, data.column);
        if (data.end_line == data.line && data.end_line != 0)
          out_ += fmt::format(" to :{}", data.end_column);
        else if (data.end_line != 0)
          out_ += fmt::format(" to {}:{}", data.end_line, data.end_column);
        break;
      case LocationData::Kind::name:
        out_ += quote(data.text);
        if (!data.children.empty()) out_ += fmt::format("({})", reference(data.children[0]));
        break;
      case LocationData::Kind::callsite:
        out_ += fmt::format("callsite({} at {})", reference(data.children[0]),
                            reference(data.children[1]));
        break;
      case LocationData::Kind::fused:
        out_ += "fused";
        if (!data.text.empty()) out_ += fmt::format("<{}>", data.text);
        out_ += '[';
        for (size_t k = 0; k < data.children.size(); ++k)
          out_ += (k ? ", " : "") + reference(data.children[k]);
        out_ += ']';
        break;
    }
    out_ += ")\n";
  }
}

// -- Structure

void Printer::argument(const Value* value) {
  out_ += fmt::format("{}: {}", name(value), to_string(value->type));
  location(value->location);
}

void Printer::operations(const Region& region) {
  ++indent_;
  for (const Op* op : region) {
    line();
    operation(*op);
  }
  --indent_;
}

void Printer::region(const Region& region) {
  Scope scope(*this);
  out_ += '{';
  for (const Value* value : region.arguments()) name_argument(value);
  if (!region.arguments().empty()) {
    line();
    out_ += "^bb0(";
    for (size_t i = 0; i < region.arguments().size(); ++i) {
      if (i) out_ += ", ";
      argument(region.argument(i));
    }
    out_ += "):";
  }
  operations(region);
  line();
  out_ += '}';
}

void Printer::operation(const Op& op) {
  // Results are named first, in the order of definition, but are not visible inside the operation's
  // own regions: their names must not be taken there, which holds since they are in use.
  name_results(op);
  std::vector<PrintedAttribute> attributes = printed_attributes(op, options_);
  if (!form(op, attributes)) generic(op, attributes);
  location(op.location);
}

void Printer::named_attributes(const NamedAttributes& attributes) {
  if (attributes.empty()) return;
  out_ += " {";
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (i) out_ += ", ";
    out_ += attribute_name_text(attributes[i].name);
    if (!attributes[i].text.empty()) out_ += " = " + attributes[i].text;
  }
  out_ += '}';
}

void Printer::function(const Function& function) {
  Scope scope(*this);
  next_number_ = 0;
  out_ += fmt::format("func.func {} {}(", function.is_public ? "public" : "private",
                      symbol_text(function.name));
  std::span<Value* const> arguments = function.body().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i) out_ += ", ";
    out_ += fmt::format("{}: {}", name_argument(arguments[i]), to_string(arguments[i]->type));
    if (i < function.argument_info.size()) {
      const ArgumentInfo& info = function.argument_info[i];
      NamedAttributes attributes;
      if (info.donated && !info.aliases_output) attributes.push_back({"jax.buffer_donor", "true"});
      if (info.aliases_output)
        attributes.push_back({"tf.aliasing_output", fmt::format("{} : i32", *info.aliases_output)});
      attributes.insert(attributes.end(), info.extra.begin(), info.extra.end());
      named_attributes(attributes);
    }
    location(arguments[i]->location);
  }
  out_ += ')';
  if (!function.result_types.empty()) {
    bool single = function.result_types.size() == 1 && function.result_extra.empty();
    out_ += single ? " -> " : " -> (";
    for (size_t i = 0; i < function.result_types.size(); ++i) {
      if (i) out_ += ", ";
      out_ += to_string(function.result_types[i]);
      if (i < function.result_extra.size()) named_attributes(function.result_extra[i]);
    }
    if (!single) out_ += ')';
  }
  if (!function.extra.empty()) {
    out_ += " attributes";
    named_attributes(function.extra);
  }
  out_ += " {";
  operations(function.body());
  line();
  out_ += '}';
  location(function.location);
}

void Printer::module(const Module& module) {
  locations_ = &module.locations;
  out_ += "module";
  if (!module.name.empty()) out_ += " " + symbol_text(module.name);
  if (!module.extra.empty()) {
    out_ += " attributes";
    named_attributes(module.extra);
  }
  out_ += " {";
  ++indent_;
  for (const NamedAttribute& mesh : module.meshes) {
    line();
    out_ += fmt::format("sdy.mesh {} = {}", symbol_text(mesh.name), mesh.text);
  }
  for (const auto& each : module.functions) {
    line();
    function(*each);
  }
  --indent_;
  out_ += "\n}\n";
  if (options_.locations) location_table(module.locations);
}

}  // namespace syntax

std::string write_text(const Module& module, const WriteOptions& options) {
  syntax::Printer printer(options);
  printer.module(module);
  return printer.take();
}

std::string write_text(const Function& function, const WriteOptions& options) {
  WriteOptions without = options;
  without.locations = false;  // a function alone has no table of them
  syntax::Printer printer(without);
  printer.function(function);
  return printer.take() + "\n";
}

}  // namespace ullage
