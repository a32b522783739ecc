#include "pjrt/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <numeric>

namespace ullage::pjrt {

namespace {

constexpr std::string_view kAttribute = "mhlo.layout_mode";

// "{0,1}": the dimensions, the one that varies fastest first.
std::optional<std::vector<int64_t>> parse_order(std::string_view text, size_t rank) {
  if (!text.starts_with('{') || !text.ends_with('}')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<int64_t> out;
  std::vector<bool> seen(rank, false);
  while (!text.empty()) {
    int64_t dim = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (problem != std::errc() || dim < 0 || dim >= static_cast<int64_t>(rank)) return std::nullopt;
    if (seen[static_cast<size_t>(dim)]) return std::nullopt;
    seen[static_cast<size_t>(dim)] = true;
    out.push_back(dim);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  if (out.size() != rank) return std::nullopt;
  std::reverse(out.begin(), out.end());
  return out;
}

std::string_view mode(const NamedAttributes& attributes) {
  for (const NamedAttribute& attribute : attributes) {
    if (attribute.name != kAttribute) continue;
    std::string_view text = attribute.text;
    if (text.size() >= 2 && text.starts_with('"')) text = text.substr(1, text.size() - 2);
    return text;
  }
  return {};
}

// Null for what is neither an order nor left to us.
Result<Layout*> asked(std::string_view mode, const Type& type, std::string_view what, size_t i) {
  size_t rank = type.is_tensor() ? type.shape.size() : 0;
  if (mode.empty() || mode == "default" || mode == "auto") return row_major(rank);
  std::optional<std::vector<int64_t>> order = parse_order(mode, rank);
  if (!order)
    return error(
        fmt::format("{} {}: the layout {} of {} is not supported", what, i, mode, to_string(type)),
        {}, "layouts are permutations of the dimensions, without tiles");
  return layout_of(*order);
}

Value* transpose(Function& function, Value* value, const std::vector<int64_t>& order, Op* before) {
  Type type = value->type;
  for (size_t d = 0; d < order.size(); ++d)
    type.shape[d] = value->type.shape[static_cast<size_t>(order[d])];
  DimsAttributes attributes;
  attributes.dims.assign(order.begin(), order.end());
  return function
      .create(function.body(), OpKind::transpose, {&value, 1}, {&type, 1}, std::move(attributes),
              before ? before->location : Location{}, 0, before)
      ->result();
}

std::vector<int64_t> inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> out(order.size());
  for (size_t d = 0; d < order.size(); ++d)
    out[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  return out;
}

// For a result whose layout we may choose: the one asked for inside the program, or that of a
// transposition's operand.
Layout* chosen(const Op& op, Layout* otherwise) {
  if (op.kind == OpKind::transpose) {
    const Dims& dims = op.as<DimsAttributes>().dims;
    return layout_of(inverse({dims.begin(), dims.end()}));
  }
  if (op.kind != OpKind::custom_call) return otherwise;
  const auto& attributes = op.as<CustomCallAttributes>();
  if (attributes.target != "LayoutConstraint" || attributes.result_layouts.size() != 1)
    return otherwise;
  const Dims& minor_to_major = attributes.result_layouts[0];
  return layout_of({minor_to_major.rbegin(), minor_to_major.rend()});
}

}  // namespace

Layout* layout_of(const std::vector<int64_t>& order) {
  static std::mutex mutex;
  static std::map<std::vector<int64_t>, Layout> layouts;  // its nodes never move
  std::lock_guard lock(mutex);
  auto [it, made] = layouts.try_emplace(order);
  Layout& layout = it->second;
  if (!made) return &layout;
  layout.order = order;
  layout.row_major = std::is_sorted(order.begin(), order.end());
  for (size_t d = order.size(); d-- > 0;)
    layout.text += (layout.text.empty() ? "" : ",") + std::to_string(order[d]);
  layout.text = "{" + layout.text + "}";
  return &layout;
}

Layout* row_major(size_t rank) {
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return layout_of(order);
}

std::vector<int64_t> in_memory(const Layout& layout, const std::vector<int64_t>& shape) {
  std::vector<int64_t> out = shape;
  for (size_t d = 0; d < layout.order.size(); ++d)
    out[d] = shape[static_cast<size_t>(layout.order[d])];
  return out;
}

std::vector<int64_t> as_seen(const Layout& layout, const std::vector<int64_t>& shape) {
  std::vector<int64_t> out = shape;
  for (size_t d = 0; d < layout.order.size(); ++d)
    out[static_cast<size_t>(layout.order[d])] = shape[d];
  return out;
}

Sharding in_memory(const Layout& layout, Sharding sharding) {
  std::vector<std::vector<MeshAxis>> dims;
  for (int64_t d : layout.order) dims.push_back(std::move(sharding.dims[static_cast<size_t>(d)]));
  sharding.dims = std::move(dims);
  return sharding;
}

Status apply_layouts(Module& module, std::vector<Layout*>& arguments,
                     std::vector<Layout*>& results) {
  Function& entry = *module.entry();
  Op* first = entry.body().first();
  for (size_t a = 0; a < entry.argument_info.size(); ++a) {
    Value* value = entry.body().argument(a);
    Result<Layout*> layout = asked(mode(entry.argument_info[a].extra), value->type, "argument", a);
    if (!layout) return layout.diagnostics();
    arguments.push_back(*layout);
    if ((*layout)->row_major) continue;
    value->type.shape = in_memory(**layout, value->type.shape);
    Value* seen = transpose(entry, value, inverse((*layout)->order), first);
    value->replace_all_uses_with(seen);
    seen->op()->set_operand(0, value);
  }
  Op* end = entry.body().terminator();
  for (size_t r = 0; r < entry.result_types.size(); ++r) {
    Value* value = end->operand(r);
    std::string_view text;
    if (r < entry.result_extra.size()) text = mode(entry.result_extra[r]);
    Result<Layout*> layout = asked(text, value->type, "result", r);
    if (!layout) return layout.diagnostics();
    if (text == "auto" && value->op()) layout = chosen(*value->op(), *layout);
    results.push_back(*layout);
    if ((*layout)->row_major) continue;
    end->set_operand(r, transpose(entry, value, (*layout)->order, end));
    entry.result_types[r].shape = in_memory(**layout, entry.result_types[r].shape);
  }
  // Memory is shared by arrays that lie alike only.
  for (size_t a = 0; a < entry.argument_info.size(); ++a) {
    std::optional<int64_t>& output = entry.argument_info[a].aliases_output;
    if (output && *output >= 0 && static_cast<size_t>(*output) < entry.result_types.size() &&
        arguments[a] != results[static_cast<size_t>(*output)])
      output.reset();
  }
  return Ok{};
}

}  // namespace ullage::pjrt
