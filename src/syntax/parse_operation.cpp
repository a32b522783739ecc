// Operations: results, operands, the generic form, regions and the scopes of value names.
#include <fmt/format.h>

#include <algorithm>

#include "syntax/describe.h"
#include "syntax/parser.h"

namespace ullage::syntax {

// -- Names of values

void Parser::close_scope() {
  size_t size = scopes_.back();
  scopes_.pop_back();
  while (defined_.size() > size) {
    values_.erase(defined_.back());
    defined_.pop_back();
  }
}

void Parser::define(std::string_view name, Definition definition) {
  if (failed_) return;
  auto [known, added] = values_.try_emplace(name, definition);
  if (!added) {
    fail_note(definition.at, fmt::format("the value '{}' is defined twice", name),
              "it is already defined here", known->second.at);
    return;
  }
  defined_.push_back(name);
}

void Parser::define_results(Op* op, std::span<const ResultName> names, Position at) {
  if (failed_) return;
  size_t named = 0;
  for (const ResultName& name : names) named += name.count;
  if (names.empty()) {
    if (op->num_results() != 0 && !has_trait(op->kind, kTerminator))
      return;  // results without names are unused
    return;
  }
  if (named != op->num_results()) {
    fail(names.front().at,
         fmt::format("{} has {}, but {} {} named here", op->mnemonic(),
                     counted(op->num_results(), "result"), named, named == 1 ? "is" : "are"),
         op->num_results() > 1
             ? fmt::format("write {}:{} = ...", names.front().name, op->num_results())
             : "");
    return;
  }
  uint32_t first = 0;
  for (const ResultName& name : names) {
    define(name.name, {nullptr, op, first, name.count, at});
    for (uint32_t i = 0; i < name.count; ++i) {
      std::string text(name.name.substr(1));
      if (name.grouped) text += fmt::format("#{}", i);
      op->result(first + i)->name = std::move(text);
    }
    first += name.count;
  }
}

Value* Parser::define_argument(Region& region, std::string_view name, Position at, Type type) {
  Value* value = region.add_argument(std::move(type), {}, std::string(name.substr(1)));
  define(name, {value, nullptr, 0, 1, at});
  return value;
}

Operand Parser::operand() {
  Operand out;
  out.at = token_.at;
  if (!at(Tok::value)) {
    unexpected("a value such as %0");
    return out;
  }
  std::string_view name = token_.text;
  auto found = values_.find(name);
  if (found == values_.end()) {
    fail(token_.at, fmt::format("unknown value '{}'", name),
         function_ ? "a value must be defined above its use, in this region or one around it" : "");
    return out;
  }
  Definition definition = found->second;
  advance();
  uint32_t number = 0;
  if (at(Tok::hash) && token_.offset == previous_end_) {
    std::string_view digits = token_.text.substr(1);
    uint64_t index = 0;
    bool numeric = digits.size() < 10 && std::all_of(
                                             digits.begin(), digits.end(),
                                             [&](char c) {
                                               index = index * 10 + static_cast<uint64_t>(c - '0');
                                               return c >= '0' && c <= '9';
                                             });
    if (!numeric || index >= definition.count) {
      fail_note(out.at, fmt::format("'{}' has no result {}", name, token_.text),
                fmt::format("it is defined here with {}", counted(definition.count, "result")),
                definition.at);
      return out;
    }
    number = static_cast<uint32_t>(index);
    advance();
  }
  out.value = definition.op ? definition.op->result(definition.first + number) : definition.value;
  return out;
}

void Parser::operand_list(OperationState& state, Tok close, std::string_view close_text) {
  list_until(close, close_text, [&] { state.operands.push_back(operand()); });
}

// -- Building

void Parser::check_operand_types(const OperationState& state) {
  if (failed_) return;
  const std::vector<Type>& types = state.types.inputs;
  if (types.size() != state.operands.size()) {
    fail(state.types_at, fmt::format("{} but {}", counted(state.operands.size(), "operand"),
                                     counted(types.size(), "operand type")));
    return;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const Value* value = state.operands[i].value;
    if (types[i] == value->type) continue;
    Position defined;
    std::string_view text = lexer_.text().substr(0, 0);
    for (auto& [name, definition] : values_) {
      bool here = definition.op ? definition.op == value->op() : definition.value == value;
      if (!here) continue;
      defined = definition.at;
      text = name;
    }
    fail_note(state.operands[i].at,
              fmt::format("'{}' is used as {}, but it has the type {}", text, to_string(types[i]),
                          to_string(value->type)),
              "it is defined here", defined);
    return;
  }
}

void Parser::check_arity(const OperationState& state) {
  std::string wrong = wrong_operand_count(state.kind, state.operands.size());
  if (wrong.empty()) wrong = wrong_result_count(state.kind, state.types.results.size());
  if (!wrong.empty()) fail(state.at, std::move(wrong));
}

Op* Parser::create(Region& region, OperationState& state) {
  check_operand_types(state);
  check_arity(state);
  if (failed_) return nullptr;
  Attributes attributes = empty_attributes(state.kind);
  NamedAttributes extra;
  finish_attributes(state, attributes, extra);
  if (failed_) return nullptr;
  std::vector<Value*> operands;
  operands.reserve(state.operands.size());
  for (const Operand& operand : state.operands) operands.push_back(operand.value);
  Op* op =
      function_->create(region, state.kind, operands, state.types.results, std::move(attributes));
  op->extra = std::move(extra);
  if (refers_to_functions(state.kind)) {
    calls_.push_back(op);
    calls_at_.push_back(state.at);
  }
  return op;
}

// -- Operations

static size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t up = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = up;
    }
  }
  return row.back();
}

OpKind Parser::op_kind(std::string_view mnemonic, Position at) {
  if (std::optional<OpKind> kind = op_from_mnemonic(mnemonic)) return *kind;
  if (mnemonic == "call") return OpKind::call;
  if (mnemonic == "return") return OpKind::func_return;
  std::string_view nearest;
  if (mnemonic.size() < 60) {
    size_t best = 3;
    for (int i = 0; i < kOpKindCount; ++i) {
      std::string_view candidate = info(static_cast<OpKind>(i)).mnemonic;
      size_t d = distance(mnemonic, candidate);
      if (d < best) {
        best = d;
        nearest = candidate;
      }
    }
  }
  fail(at, fmt::format("unknown operation '{}'", mnemonic),
       nearest.empty() ? "" : fmt::format("did you mean {}?", nearest));
  return OpKind::add;
}

void Parser::operation(Region& region) {
  Nesting nesting(*this);
  if (failed_) return;
  std::vector<ResultName> names;
  Position start = token_.at;
  while (at(Tok::value)) {
    ResultName name;
    name.name = token_.text;
    name.at = token_.at;
    advance();
    if (accept(Tok::colon)) {
      Position where = token_.at;
      int64_t count = integer();
      if (!failed_ && (count < 1 || count > 1'000'000))
        fail(where, "the number of results must be positive");
      name.count = failed_ ? 1 : static_cast<uint32_t>(count);
      name.grouped = true;
    }
    names.push_back(name);
    if (!accept(Tok::comma)) break;
    if (!at(Tok::value)) unexpected("the name of another result");
  }
  if (!names.empty()) expect(Tok::equal, "'='");
  if (failed_) return;
  Position at_op = token_.at;
  Op* op = nullptr;
  if (at(Tok::string))
    op = generic_operation(region, at_op);
  else if (at(Tok::word))
    op = pretty_operation(region);
  else
    unexpected("an operation");
  if (failed_ || !op) return;
  trailing_location(op, at_op);
  define_results(op, names, names.empty() ? start : names.front().at);
}

namespace {

constexpr std::string_view kRunParallel = "interpreter.run_parallel";

// Programs of several processes, as StableHLO's own tests write them: kept as a custom call of the
// same name, which calls the functions of the processes. {programs = [[@f, @g], [@f, @g]]}, a row
// of partitions for each replica, becomes their list, and how many there are in a row.
void run_parallel_attributes(Parser& parser, OperationState& state) {
  auto entry = [&](std::string name, AttrValue::Kind kind) -> AttrValue& {
    AttrEntry& made = state.attributes.emplace_back();
    made.name = std::move(name);
    made.at = made.value.at = state.at;
    made.value.kind = kind;
    return made.value;
  };
  AttrDict written = std::move(state.attributes);
  state.attributes.clear();
  entry("call_target_name", AttrValue::Kind::string).text = kRunParallel;
  entry("has_side_effect", AttrValue::Kind::boolean).integer = 1;
  std::vector<AttrValue> functions;
  size_t partitions = 0;
  for (AttrEntry& attribute : written) {
    if (attribute.name != "programs") {
      state.attributes.push_back(std::move(attribute));
      continue;
    }
    for (AttrValue& row : attribute.value.elements) {
      partitions = row.elements.size();
      for (AttrValue& name : row.elements) functions.push_back(std::move(name));
    }
    for (const AttrValue& row : attribute.value.elements)
      if (row.kind != AttrValue::Kind::array ||
          row.elements.size() != functions.size() / attribute.value.elements.size())
        parser.fail(attribute.at, "programs must be rows of functions, all equally long");
  }
  if (functions.empty()) parser.fail(state.at, "needs programs = [[@function]]");
  entry("called_computations", AttrValue::Kind::array).elements = std::move(functions);
  entry("backend_config", AttrValue::Kind::string).text = std::to_string(partitions);
}

}  // namespace

// "stablehlo.add"(%0, %1) <{properties}> ({ regions }) {attributes} : (T, T) -> T
Op* Parser::generic_operation(Region& region, Position at_op) {
  OperationState state;
  state.at = at_op;
  std::string mnemonic = string_value();
  const bool parallel = mnemonic == kRunParallel;
  state.kind = parallel ? OpKind::custom_call : op_kind(mnemonic, at_op);
  expect(Tok::left_paren, "'('");
  operand_list(state, Tok::right_paren, "')'");
  if (at(Tok::left_bracket)) fail(token_.at, "operations with successor blocks are not supported");
  if (accept(Tok::less)) {
    dictionary(state.attributes);
    expect(Tok::greater, "'>'");
  }
  // Types follow the regions, so the operation is made first and gets its results afterwards.
  if (failed_) return nullptr;
  Op* op = nullptr;
  if (at(Tok::left_paren)) {
    std::vector<Value*> operands;
    for (const Operand& operand : state.operands) operands.push_back(operand.value);
    op = function_->create(region, state.kind, operands, {});
    advance();
    list_until(Tok::right_paren, "')'",
               [&] { region_body(*function_->add_region(op), terminator_of(state.kind)); });
  }
  optional_dictionary(state.attributes);
  if (parallel) run_parallel_attributes(*this, state);
  expect(Tok::colon, "':' and the types");
  state.types_at = token_.at;
  state.types = function_type();
  if (failed_) return nullptr;
  std::string wrong = wrong_region_count(state.kind, op ? op->num_regions() : 0);
  if (!wrong.empty()) {
    fail(at_op, std::move(wrong));
    return nullptr;
  }
  if (!op) return create(region, state);
  check_operand_types(state);
  finish_attributes(state, op->attributes, op->extra);
  check_arity(state);
  if (failed_) return nullptr;
  function_->add_results(op, state.types.results);
  return op;
}

Op* Parser::pretty_operation(Region& region) {
  OperationState state;
  state.at = token_.at;
  state.kind = op_kind(token_.text, token_.at);
  if (failed_) return nullptr;
  advance();
  if (const Form* form = find_form(state.kind)) return form_operation(region, state, *form);
  return special_operation(region, state);
}

// -- Regions

Value* Parser::region_argument(Region& region) {
  if (!at(Tok::value)) {
    unexpected("an argument such as %arg0");
    return nullptr;
  }
  std::string_view name = token_.text;
  Position where = token_.at;
  advance();
  expect(Tok::colon, "':' and the type of this argument");
  Type argument_type = type();
  if (failed_) return nullptr;
  Value* value = define_argument(region, name, where, std::move(argument_type));
  trailing_location(value, where);
  return value;
}

void Parser::region_body(Region& region, OpKind terminator) {
  if (!at(Tok::left_brace)) {
    unexpected("'{'");
    return;
  }
  open_scope();
  advance();
  if (at(Tok::block)) {
    advance();
    if (accept(Tok::left_paren))
      list_until(Tok::right_paren, "')'", [&] { region_argument(region); });
    expect(Tok::colon, "':'");
  }
  block(region, terminator);
  close_scope();
}

// Operations up to the closing brace, which it takes.
void Parser::block(Region& region, OpKind terminator) {
  while (!failed_ && !at(Tok::right_brace)) {
    if (at(Tok::block)) {
      fail(token_.at, "a region with more than one block is not supported");
      return;
    }
    if (at(Tok::end)) {
      unexpected("'}'");
      return;
    }
    if (Op* end = region.terminator()) {
      fail(token_.at, fmt::format("{} must be the last operation of its region", end->mnemonic()));
      return;
    }
    Position where = token_.at;
    operation(region);
    if (failed_) return;
    OpKind kind = region.last()->kind;
    if (!has_trait(kind, kTerminator)) continue;
    terminator_at_ = where;
    if (kind == terminator) continue;
    // Exporters write comparators of custom calls so.
    if (kind == OpKind::return_ && terminator == OpKind::func_return) {
      region.last()->kind = terminator;
      continue;
    }
    fail(where, fmt::format("{} does not end a region of this kind", info(kind).mnemonic),
         fmt::format("use {}", info(terminator).mnemonic));
  }
  if (failed_) return;
  if (!region.terminator()) {
    fail(token_.at, fmt::format("this region does not end with {}", info(terminator).mnemonic));
    return;
  }
  advance();
}

}  // namespace ullage::syntax
