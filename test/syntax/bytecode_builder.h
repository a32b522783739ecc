// Makes StableHLO artifacts by hand, for what no exporter at hand writes and for wrong ones.
// Entries get their numbers in the order in which they are asked for; equal ones are not shared.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace ullage {

struct Bytes {
  std::string data;
  bool longest = false;  // varints in nine bytes

  Bytes& byte(unsigned value) {
    data += static_cast<char>(value);
    return *this;
  }
  Bytes& varint(uint64_t value) {
    unsigned follow = 0;
    while (follow < 8 && value >> (7 * (follow + 1)) != 0) ++follow;
    if (longest || follow == 8) {
      byte(0);
      for (unsigned i = 0; i < 8; ++i) byte((value >> (8 * i)) & 0xFF);
      return *this;
    }
    const uint64_t word = (value << (follow + 1)) | (uint64_t{1} << follow);
    for (unsigned i = 0; i <= follow; ++i) byte((word >> (8 * i)) & 0xFF);
    return *this;
  }
  Bytes& svarint(int64_t value) {
    return varint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  Bytes& flagged(uint64_t value, bool flag) { return varint(value << 1 | (flag ? 1 : 0)); }
  Bytes& list(const std::vector<uint32_t>& values) {
    varint(values.size());
    for (uint32_t value : values) varint(value);
    return *this;
  }
  Bytes& signed_list(std::initializer_list<int64_t> values) {
    varint(values.size());
    for (int64_t value : values) svarint(value);
    return *this;
  }
  Bytes& append(const Bytes& other) {
    data += other.data;
    return *this;
  }
  Bytes& blob(std::string_view content) {
    varint(content.size());
    data += content;
    return *this;
  }
};

inline Bytes varints(std::initializer_list<uint64_t> values) {
  Bytes out;
  for (uint64_t value : values) out.varint(value);
  return out;
}

class ArtifactBuilder {
 public:
  std::string producer = "StableHLO_v1.13.0";
  uint64_t bytecode_version = 6;

  uint32_t string(std::string text) {
    strings_.push_back(std::move(text));
    return static_cast<uint32_t>(strings_.size() - 1);
  }
  uint32_t attribute(std::string_view dialect_name, const Bytes& content) {
    attributes_.push_back({dialect(dialect_name), content.data});
    return static_cast<uint32_t>(attributes_.size() - 1);
  }
  uint32_t type(std::string_view dialect_name, const Bytes& content) {
    types_.push_back({dialect(dialect_name), content.data});
    return static_cast<uint32_t>(types_.size() - 1);
  }
  uint32_t next_attribute() const { return static_cast<uint32_t>(attributes_.size()); }
  uint32_t next_type() const { return static_cast<uint32_t>(types_.size()); }

  // -- Attributes and types that most programs need
  uint32_t vhlo(std::initializer_list<uint64_t> fields) {
    return attribute("vhlo", varints(fields));
  }
  uint32_t builtin(std::initializer_list<uint64_t> fields) {
    return attribute("builtin", varints(fields));
  }
  uint32_t vhlo_string(std::string text) { return vhlo({14, string(std::move(text))}); }
  uint32_t builtin_string(std::string text) { return builtin({2, string(std::move(text))}); }
  uint32_t array(const std::vector<uint32_t>& elements) {
    return attribute("vhlo", varints({1}).list(elements));
  }
  uint32_t dictionary(const std::vector<std::pair<uint32_t, uint32_t>>& entries) {
    Bytes content = varints({6, entries.size()});
    for (auto [name, value] : entries) content.varint(name).varint(value);
    return attribute("vhlo", content);
  }
  uint32_t unknown_location() {
    if (unknown_ == UINT32_MAX) unknown_ = builtin({15});
    return unknown_;
  }
  uint32_t simple_type(uint64_t code) { return type("vhlo", varints({code})); }
  uint32_t tensor(std::initializer_list<int64_t> dims, uint32_t element) {
    return type("vhlo", varints({20}).signed_list(dims).varint(element));
  }
  uint32_t constant(uint32_t tensor_type, std::string_view blob) {
    return attribute("vhlo", varints({15, tensor_type}).blob(blob));
  }
  uint32_t i64_list(std::initializer_list<int64_t> values) {
    std::string blob(reinterpret_cast<const char*>(values.begin()), values.size() * 8);
    return constant(tensor({static_cast<int64_t>(values.size())}, simple_type(14)), blob);
  }

  // -- Operations
  struct OpParts {
    std::vector<uint32_t> operands, results, properties;  // values, types, attributes
    std::vector<Bytes> regions;
    bool isolated = false;
    uint32_t attributes = UINT32_MAX;  // a dictionary
    uint32_t location = UINT32_MAX;
    Bytes use_orders;
  };
  Bytes op(std::string_view name, const OpParts& parts) {
    Bytes out;
    out.varint(op_name(name));
    unsigned mask = 0;
    if (parts.attributes != UINT32_MAX) mask |= 0x01;
    if (!parts.results.empty()) mask |= 0x02;
    if (!parts.operands.empty()) mask |= 0x04;
    if (!parts.regions.empty()) mask |= 0x10;
    if (!parts.use_orders.data.empty()) mask |= 0x20;
    if (!parts.properties.empty()) mask |= 0x40;
    out.byte(mask);
    out.varint(parts.location != UINT32_MAX ? parts.location : unknown_location());
    if (mask & 0x01) out.varint(parts.attributes);
    if (mask & 0x40) {
      Bytes blob;
      for (uint32_t property : parts.properties) blob.varint(property);
      out.varint(properties(blob));
    }
    if (mask & 0x02) out.list(parts.results);
    if (mask & 0x04) out.list(parts.operands);
    out.append(parts.use_orders);
    if (mask & 0x10) {
      out.flagged(parts.regions.size(), parts.isolated);
      Bytes inner;
      for (const Bytes& region : parts.regions) inner.append(region);
      if (parts.isolated)
        out.byte(4).varint(inner.data.size()).append(inner);
      else
        out.append(inner);
    }
    return out;
  }
  // A region of one block; `values` counts arguments and results of operations.
  Bytes region(const std::vector<uint32_t>& argument_types, size_t values,
               const std::vector<Bytes>& ops, const Bytes& use_orders = {}) {
    Bytes out = varints({1, values});
    out.flagged(ops.size(), !argument_types.empty());
    if (!argument_types.empty()) {
      out.varint(argument_types.size());
      for (uint32_t type : argument_types) out.flagged(type, false);
      out.byte(use_orders.data.empty() ? 0 : 1).append(use_orders);
    }
    for (const Bytes& op : ops) out.append(op);
    return out;
  }
  struct FunctionParts {
    std::vector<uint32_t> arguments, results;  // types
    std::string visibility = "public";
    std::vector<uint32_t> argument_attributes, result_attributes;  // dictionaries
    uint32_t location = UINT32_MAX;
  };
  // `body` is a region.
  Bytes function(std::string name, const FunctionParts& parts, const Bytes& body) {
    const uint32_t signature = type("vhlo", varints({8}).list(parts.arguments).list(parts.results));
    OpParts op_parts;
    op_parts.properties = {array(parts.argument_attributes), vhlo({17, signature}),
                           array(parts.result_attributes), vhlo_string(std::move(name)),
                           vhlo_string(parts.visibility)};
    op_parts.regions = {body};
    op_parts.isolated = true;
    op_parts.location = parts.location;
    return op("vhlo.func_v1", op_parts);
  }
  // The one region of the module.
  std::string artifact(const std::vector<Bytes>& items, uint32_t attributes = UINT32_MAX) {
    OpParts parts;
    parts.regions = {region({}, 0, items)};
    parts.isolated = true;
    parts.attributes = attributes;
    Bytes ir;
    ir.flagged(1, false).append(op("builtin.module", parts));
    return finish(ir);
  }
  // A program whose @main returns what the last of `ops`, numbered `value`, gives.
  std::string program(const std::vector<uint32_t>& arguments, uint32_t result,
                      std::vector<Bytes> ops, size_t values, uint32_t value) {
    ops.push_back(op("vhlo.return_v1", {.operands = {value}}));
    return artifact({function("main", {.arguments = arguments, .results = {result}},
                              region(arguments, values, ops))});
  }

 private:
  struct Entry {
    uint32_t dialect = 0;
    std::string content;
  };

  uint32_t dialect(std::string_view name) {
    for (size_t i = 0; i < dialects_.size(); ++i)
      if (dialects_[i] == name) return static_cast<uint32_t>(i);
    dialects_.emplace_back(name);
    return static_cast<uint32_t>(dialects_.size() - 1);
  }
  uint32_t op_name(std::string_view name) {
    for (size_t i = 0; i < ops_.size(); ++i)
      if (ops_[i] == name) return static_cast<uint32_t>(i);
    ops_.emplace_back(name);
    return static_cast<uint32_t>(ops_.size() - 1);
  }
  uint32_t properties(const Bytes& blob) {
    properties_.push_back(blob.data);
    return static_cast<uint32_t>(properties_.size() - 1);
  }

  std::string finish(const Bytes& ir) {
    Bytes names, offsets, entries, property_section, string_section;
    for (const std::string& op : ops_) dialect(op.substr(0, op.find('.')));
    names.varint(dialects_.size());
    for (const std::string& name : dialects_) names.flagged(string(name), false);
    names.varint(ops_.size());
    for (const std::string& op : ops_) {
      const size_t dot = op.find('.');
      names.varint(dialect(op.substr(0, dot))).varint(1).flagged(string(op.substr(dot + 1)), true);
    }
    offsets.varint(attributes_.size()).varint(types_.size());
    for (const auto* list : {&attributes_, &types_})
      for (const Entry& entry : *list) {
        offsets.varint(entry.dialect).varint(1).flagged(entry.content.size(), true);
        entries.data += entry.content;
      }
    property_section.varint(properties_.size());
    for (const std::string& blob : properties_) property_section.blob(blob);
    string_section.varint(strings_.size());
    for (size_t i = strings_.size(); i-- > 0;) string_section.varint(strings_[i].size() + 1);
    for (const std::string& text : strings_) (string_section.data += text) += '\0';

    Bytes out;
    out.data = "ML\xEFR";
    out.varint(bytecode_version);
    (out.data += producer) += '\0';
    auto section = [&](unsigned id, const Bytes& content) {
      out.byte(id).varint(content.data.size()).append(content);
    };
    section(1, names);
    section(3, offsets);
    section(2, entries);
    section(4, ir);
    section(6, {});
    section(5, {});
    section(0, string_section);
    section(8, property_section);
    return out.data;
  }

  std::vector<std::string> strings_, dialects_, ops_, properties_;
  std::vector<Entry> attributes_, types_;
  uint32_t unknown_ = UINT32_MAX;
};

}  // namespace ullage
