#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "normalize/expand.h"

namespace ullage {

namespace {

// Markers: the results are the operands.
constexpr std::string_view kMarkers[] = {
    "Sharding",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "LayoutConstraint",
    "MoveToDevice",
    "MoveToHost",
    "PinToDevice",
    "PinToDeviceSram",
    "annotate_device_placement",
    "inspect_sharding",
    "xla.sdy.FuncResultSharding",
    "xla.sdy.GlobalToLocalShape",
    "xla.sdy.LocalToGlobalShape",
};

bool expand_marker(OpMaker& maker, Op* op) {
  // With more than one device the shapes of the parts differ from that of the whole.
  if (op->num_results() > op->num_operands()) return false;
  for (size_t i = 0; i < op->num_results(); ++i)
    if (!(op->operand(i)->type == op->result(i)->type)) return false;
  std::vector<Value*> operands = op->operands();
  maker.replace_with(std::span(operands).first(op->num_results()));
  return true;
}

// The number after "key = " in the dictionaries that came with the call.
std::optional<int64_t> dictionary_number(const Op& op, std::string_view key) {
  std::vector<std::string_view> texts = {op.as<CustomCallAttributes>().backend_config};
  for (const NamedAttribute& attribute : op.extra) texts.push_back(attribute.text);
  for (std::string_view text : texts) {
    size_t at = text.find(key);
    if (at == std::string_view::npos) continue;
    at = text.find('=', at);
    if (at == std::string_view::npos) continue;
    at = text.find_first_not_of(' ', at + 1);
    if (at == std::string_view::npos) continue;
    int64_t value = 0;
    auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (code == std::errc()) return value;
  }
  return {};
}

// The exact greatest elements by the given order: all arrays sorted together, and cut.
bool expand_approx_top_k(const Module& module, OpMaker& maker, Op* op) {
  const auto& call = op->as<CustomCallAttributes>();
  size_t count = op->num_results();
  std::optional<int64_t> dim = dictionary_number(*op, "reduction_dim");
  if (!dim || call.called_computations.size() != 1 || op->num_operands() != 2 * count) return false;
  const Function* comparator = module.find(call.called_computations[0]);
  if (!comparator || comparator->body().arguments().size() != 2 * count) return false;
  const Type& first = op->operand(0)->type;
  if (*dim < 0) *dim += first.rank();
  if (*dim < 0 || *dim >= first.rank()) return false;
  auto d = static_cast<size_t>(*dim);
  if (op->result(0)->type.shape[d] > first.shape[d]) return false;

  std::vector<Value*> operands;
  std::vector<Type> types;
  for (size_t i = 0; i < count; ++i) {
    operands.push_back(op->operand(i));
    types.push_back(op->operand(i)->type);
  }
  Op* sort = maker.op(OpKind::sort, operands, types, SortAttributes{*dim, true}, 1);
  Region& body = sort->nested(0);
  ValueMap map;
  for (Value* argument : comparator->body().arguments())
    map.set(argument, body.add_argument(argument->type));
  for (Op* inner : comparator->body())
    if (!has_trait(inner->kind, kTerminator)) clone(inner, maker.function(), body, map);
  Value* less = map.lookup(comparator->body().terminator()->operand(0));
  maker.function().create(body, OpKind::return_, {&less, 1}, {}, {}, op->location);

  std::vector<Value*> results;
  for (size_t i = 0; i < count; ++i) {
    SliceAttributes slice;
    slice.start.assign(first.shape.size(), 0);
    slice.strides.assign(first.shape.size(), 1);
    slice.limit = op->result(i)->type.shape;
    results.push_back(maker.make(OpKind::slice, {sort->result(i)}, op->result(i)->type, slice));
  }
  maker.replace_with(results);
  return true;
}

}  // namespace

bool expand_custom_call(const Module& module, OpMaker& maker, Op* op) {
  const std::string& target = op->as<CustomCallAttributes>().target;
  if (target == "ApproxTopK") return expand_approx_top_k(module, maker, op);
  if (std::find(std::begin(kMarkers), std::end(kMarkers), target) != std::end(kMarkers))
    return expand_marker(maker, op);
  return false;
}

}  // namespace ullage
