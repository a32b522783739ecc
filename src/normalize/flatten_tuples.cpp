// Tuples that the entry function takes or returns become their elements, one argument or result
// each: what has no buffer of its own can neither be given nor handed over.
#include "normalize/flatten_tuples.h"

#include <algorithm>
#include <array>

namespace ullage {

namespace {

bool is_tuple(const Type& type) {
  return type.kind == Type::Kind::tuple;
}

// Arguments for the parts of a type, and the value that they make up.
Value* add_argument(Function& function, const Type& type, const ArgumentInfo& info,
                    const Value& whole, Op* before) {
  if (!is_tuple(type)) return function.add_argument(type, info, whole.location, whole.name);
  std::vector<Value*> parts;
  for (const Type& element : type.elements)
    parts.push_back(add_argument(function, element, info, whole, before));
  return function
      .create(function.body(), OpKind::tuple, parts, {&type, 1}, {}, whole.location, 0, before)
      ->result();
}

void flatten_arguments(Function& function) {
  Region& body = function.body();
  std::vector<Value*> old(body.arguments().begin(), body.arguments().end());
  if (std::none_of(old.begin(), old.end(), [](Value* value) { return is_tuple(value->type); }))
    return;
  std::vector<ArgumentInfo> info = std::move(function.argument_info);
  info.resize(old.size());
  function.argument_info.assign(old.size(), {});
  Op* first = body.first();
  for (size_t i = 0; i < old.size(); ++i)
    old[i]->replace_all_uses_with(
        add_argument(function, Type(old[i]->type), info[i], *old[i], first));
  for (size_t i = old.size(); i-- > 0;) body.erase_argument(i);
  function.argument_info.erase(
      function.argument_info.begin(),
      function.argument_info.begin() + static_cast<std::ptrdiff_t>(old.size()));
}

void append_parts(Function& function, Op* end, Value* value, std::vector<Value*>& out) {
  if (!is_tuple(value->type)) return out.push_back(value);
  for (size_t i = 0; i < value->type.elements.size(); ++i) {
    Type element = value->type.elements[i];
    Op* part =
        function.create(function.body(), OpKind::get_tuple_element, {&value, 1}, {&element, 1},
                        DimAttributes{static_cast<int64_t>(i)}, end->location, 0, end);
    append_parts(function, end, part->result(), out);
  }
}

void flatten_results(Function& function) {
  if (std::none_of(function.result_types.begin(), function.result_types.end(), is_tuple)) return;
  Op* end = function.body().terminator();
  std::vector<Value*> returned;
  std::vector<Type> types;
  std::vector<NamedAttributes> extra;
  std::vector<int64_t> place;  // of each result among the new ones, -1 for tuples
  for (size_t i = 0; i < end->num_operands(); ++i) {
    const bool whole = !is_tuple(end->operand(i)->type);
    place.push_back(whole ? static_cast<int64_t>(returned.size()) : -1);
    append_parts(function, end, end->operand(i), returned);
    for (size_t k = types.size(); k < returned.size(); ++k) {
      types.push_back(returned[k]->type);
      extra.push_back(whole && !function.result_extra.empty() ? function.result_extra[i]
                                                              : NamedAttributes());
    }
  }
  end->set_operands(returned);
  function.result_types = std::move(types);
  if (!function.result_extra.empty()) function.result_extra = std::move(extra);
  for (ArgumentInfo& info : function.argument_info)
    if (info.aliases_output) {
      int64_t to = place[static_cast<size_t>(*info.aliases_output)];
      info.aliases_output = to < 0 ? std::nullopt : std::optional<int64_t>(to);
    }
}

}  // namespace

Status flatten_tuples(Module& module, const NormalizeOptions& options) {
  Function* entry = module.entry();
  if (!entry || options.leaves(*entry)) return Ok{};
  // A function that calls itself keeps its signature.
  for (const auto& function : module.functions) {
    bool called = false;
    walk(function->body(), [&](Op* op) {
      called |= op->kind == OpKind::call && op->as<CallAttributes>().callee == entry->name;
    });
    if (called) return Ok{};
  }
  flatten_arguments(*entry);
  flatten_results(*entry);
  return Ok{};
}

}  // namespace ullage
