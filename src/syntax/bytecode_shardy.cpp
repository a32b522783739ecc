// Texts of Shardy's attributes: meshes, shardings, rules of operations. Inside another attribute
// they stand without their names.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "syntax/bytecode_reader.h"
#include "syntax/lexer.h"

namespace ullage::syntax {

namespace {

using K = AttrKind;

// Factors are named i to z, then z_1, z_2, and so on.
std::string factor(int64_t index) {
  constexpr int64_t kLetters = 'z' - 'i' + 1;
  if (index < kLetters) return std::string(1, static_cast<char>('i' + index));
  return fmt::format("z_{}", index - kLetters + 1);
}

// The names of factors, each followed by `separator` but the last.
std::string factors(Cursor& c, std::string_view what, std::string_view separator) {
  std::string out;
  const size_t at = c.offset();
  for (int64_t index : BytecodeReader::signed_list(c, what)) {
    if (index < 0) {
      c.fail(at, fmt::format("expected {}, found {}", what, index));
      return out;
    }
    if (!out.empty()) out += separator;
    out += factor(index);
  }
  return out;
}

bool is_sharding(K kind) {
  return kind == K::sdy_sharding || kind == K::sdy_sharding_unreduced ||
         kind == K::sdy_sharding_reduction;
}

std::string_view mnemonic(K kind) {
  switch (kind) {
    case K::sdy_mesh_axis:
      return "mesh_axis";
    case K::sdy_mesh:
      return "mesh";
    case K::sdy_sub_axis:
      return "sub_axis_info";
    case K::sdy_axis:
      return "axis_ref";
    case K::sdy_dimension:
      return "dimension_sharding";
    case K::sdy_per_value:
      return "sharding_per_value";
    case K::sdy_dimension_mapping:
      return "dim_mapping";
    case K::sdy_tensor_mapping:
      return "tensor_mapping";
    case K::sdy_rule:
      return "op_sharding_rule";
    case K::sdy_axis_list:
      return "axis_ref_list";
    case K::sdy_axis_lists:
      return "list_of_axis_ref_lists";
    case K::sdy_all_to_all:
      return "all_to_all_param";
    case K::sdy_all_to_alls:
      return "all_to_all_param_list";
    default:
      return "sharding";
  }
}

}  // namespace

// With its name: #sdy.sharding<@mesh, [{"x"}]>.
std::string BytecodeReader::shardy_text(const OpenAttr& opened) {
  const std::string body = shardy_body(opened.entry, opened.kind);
  if (opened.kind == K::sdy_manual_axes) return fmt::format("#sdy<manual_axes{}>", body);
  return fmt::format("#sdy.{}<{}>", mnemonic(opened.kind), body);
}

// "a, b" of a list of such attributes.
std::string BytecodeReader::shardy_list(Cursor& c, std::string_view what, AttrKind kind) {
  std::string out;
  const size_t count = c.count(what);
  for (size_t i = 0; i < count && !failed(); ++i) {
    const uint32_t element = attribute_index(c, what);
    if (failed()) break;
    const std::string part = shardy_body(element, kind);
    if (i) out += ", ";
    out += kind == K::sdy_sharding ? fmt::format("<{}>", part) : part;
    if (!expand(part.size())) break;
  }
  return out;
}

// What stands between the brackets.
std::string BytecodeReader::shardy_body(uint32_t attribute, AttrKind kind) {
  if (failed()) return {};
  OpenAttr opened = open(attribute);
  Nesting nesting(*this, opened.at);
  if (failed()) return {};
  if (opened.kind != kind && !(is_sharding(kind) && is_sharding(opened.kind))) {
    wrong_kind(opened, {mnemonic(kind), "a sharding"}, fmt::format("#sdy.{}", mnemonic(kind)));
    return {};
  }
  Cursor& c = opened.fields;
  std::string out;
  switch (opened.kind) {
    case K::sdy_manual_axes: {
      const size_t count = c.count("the number of manual axes");
      out = "{";
      for (size_t i = 0; i < count && !failed(); ++i) {
        const uint32_t axis = attribute_index(c, "a manual axis");
        if (failed()) break;
        const std::string_view axis_name = string(axis, {"axis", "manual_axes"});
        out += (i ? ", " : "") + quote(axis_name);
      }
      out += "}";
      break;
    }
    case K::sdy_mesh_axis:
      out = quote(string_at(c));
      out += fmt::format("={}", c.svarint("the size of an axis"));
      break;
    case K::sdy_mesh: {
      out = fmt::format("[{}]", shardy_list(c, "the axes of a mesh", K::sdy_mesh_axis));
      const Dims devices = signed_list(c, "the devices of a mesh");
      if (!devices.empty()) out += fmt::format(", device_ids=[{}]", fmt::join(devices, ", "));
      break;
    }
    case K::sdy_sub_axis: {
      const int64_t before = c.svarint("what is before a part of an axis");
      out = fmt::format("({}){}", before, c.svarint("the size of a part of an axis"));
      break;
    }
    case K::sdy_axis: {
      out = quote(string_at(c));
      bool has_part = false;
      const uint32_t part =
          c.flagged_index("a part of an axis", container_.attributes.size(), has_part);
      if (has_part && !failed()) out += ":" + shardy_body(part, K::sdy_sub_axis);
      break;
    }
    case K::sdy_dimension: {
      out = shardy_list(c, "the axes of a dimension", K::sdy_axis);
      if (c.byte("whether a dimension is closed") == 0) out += out.empty() ? "?" : ", ?";
      out = "{" + out + "}";
      bool has_priority = false;
      const uint64_t priority = c.flagged("the priority of a dimension", has_priority);
      if (has_priority) out += fmt::format("p{}", priority);
      break;
    }
    case K::sdy_sharding:
    case K::sdy_sharding_unreduced:
    case K::sdy_sharding_reduction:
      out = tensor_sharding(opened);
      break;
    case K::sdy_per_value:
      out = fmt::format("[{}]", shardy_list(c, "the shardings of values", K::sdy_sharding));
      break;
    case K::sdy_dimension_mapping:
      out = factors(c, "the factors of a dimension", "");
      break;
    case K::sdy_tensor_mapping:
      out = "[" + shardy_list(c, "the dimensions of a mapping", K::sdy_dimension_mapping) + "]";
      break;
    case K::sdy_rule:
      out = sharding_rule(c);
      break;
    case K::sdy_axis_list:
      out = "{" + shardy_list(c, "a list of axes", K::sdy_axis) + "}";
      break;
    case K::sdy_axis_lists:
      out = "[" + shardy_list(c, "a list of lists of axes", K::sdy_axis_list) + "]";
      break;
    case K::sdy_all_to_all: {
      out = "{" + shardy_list(c, "a list of axes", K::sdy_axis) + "}";
      const int64_t source = c.svarint("a source dimension");
      out += fmt::format(": {}->{}", source, c.svarint("a target dimension"));
      break;
    }
    case K::sdy_all_to_alls:
      out = "[" + shardy_list(c, "a list of exchanges", K::sdy_all_to_all) + "]";
      break;
    default:
      break;
  }
  c.expect_end("this attribute");
  expand(out.size());
  return out;
}

// @mesh, [{"x"}, {?}], replicated={"y"}, unreduced={"z"}
std::string BytecodeReader::tensor_sharding(OpenAttr& opened) {
  Cursor& c = opened.fields;
  const uint32_t mesh = attribute_index(c, "the mesh of a sharding");
  if (failed()) return {};
  const OpenAttr mesh_opened = open(mesh);
  std::string out = mesh_opened.kind == K::sdy_mesh
                        ? fmt::format("mesh<{}>", shardy_body(mesh, K::sdy_mesh))
                        : text(mesh);
  out += fmt::format(", [{}]", shardy_list(c, "the dimensions of a sharding", K::sdy_dimension));
  const std::string replicated = shardy_list(c, "the replicated axes of a sharding", K::sdy_axis);
  if (!replicated.empty()) out += fmt::format(", replicated={{{}}}", replicated);
  if (opened.kind == K::sdy_sharding) return out;
  const std::string unreduced = shardy_list(c, "the unreduced axes of a sharding", K::sdy_axis);
  constexpr std::string_view kReductions[] = {"", "max", "min"};
  int64_t reduction = 0;
  const size_t at = c.offset();
  if (opened.kind == K::sdy_sharding_reduction) reduction = c.svarint("a kind of reduction");
  if (reduction < 0 || reduction >= static_cast<int64_t>(std::size(kReductions)))
    c.fail(at, fmt::format("expected a kind of reduction, found {}", reduction));
  else if (!unreduced.empty())
    out +=
        fmt::format(", unreduced={}{{{}}}", kReductions[static_cast<size_t>(reduction)], unreduced);
  return out;
}

// ([i, j])->([k]) {i=4, j=4, k=4} reduction={j}, custom
std::string BytecodeReader::sharding_rule(Cursor& c) {
  const Dims sizes = signed_list(c, "the sizes of factors");
  std::string out =
      "(" + shardy_list(c, "the mappings of operands", K::sdy_tensor_mapping) + ")->(";
  out += shardy_list(c, "the mappings of results", K::sdy_tensor_mapping) + ")";
  for (size_t i = 0; i < sizes.size(); ++i)
    out += fmt::format("{}{}={}", i ? ", " : " {", factor(static_cast<int64_t>(i)), sizes[i]);
  if (!sizes.empty()) out += "}";
  for (std::string_view word :
       {"reduction", "need_replication", "permutation", "blocked_propagation"}) {
    const std::string names = factors(c, "a list of factors", ", ");
    if (!names.empty()) out += fmt::format(" {}={{{}}}", word, names);
  }
  if (c.byte("whether a rule is custom") != 0) out += ", custom";
  return out;
}

}  // namespace ullage::syntax
