// The pretty forms of operations with regions: reductions, loops, manual computations.
#include <fmt/format.h>

#include "syntax/describe.h"
#include "syntax/parser.h"

namespace ullage::syntax {

// stablehlo.reduce(%0 init: %1), (%2 init: %3) across dimensions = [1] : (...) -> (...)
//   reducer(%a: T, %b: T) (%c: T, %d: T) { ... }
// stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : (...) -> T
Op* Parser::reduce_form(Region& region, OperationState& state) {
  std::vector<Operand> inits;
  do {
    expect(Tok::left_paren, "'('");
    state.operands.push_back(operand());
    expect_word("init");
    expect(Tok::colon, "':'");
    inits.push_back(operand());
    expect(Tok::right_paren, "')'");
  } while (!failed_ && accept(Tok::comma));
  const size_t inputs = state.operands.size();
  state.operands.insert(state.operands.end(), inits.begin(), inits.end());
  std::optional<OpKind> applies;
  if (accept_word("applies")) {
    if (!at(Tok::word)) unexpected("the operation to apply");
    applies = op_kind(token_.text, token_.at);
    if (!failed_ && (info(*applies).operands != 2 || info(*applies).results != 1))
      fail(token_.at, fmt::format("a reduction cannot apply {}", token_.text),
           "name an operation of two operands");
    if (!failed_ && inputs != 1)
      fail(token_.at, "only a reduction of one operand can name the operation it applies",
           "write a reducer");
    advance();
  }
  expect_word("across");
  expect_word("dimensions");
  expect(Tok::equal, "'='");
  set(state, "dimensions", integers_value());
  attributes_and_types(state, TypesForm::function);
  Op* op = create(region, state);
  if (failed_) return nullptr;
  Region& body = *function_->add_region(op);
  if (applies) {
    Type scalar = scalar_of(state.operands.back().value->type);
    Value* lhs = body.add_argument(scalar);
    Value* rhs = body.add_argument(scalar);
    Value* both[] = {lhs, rhs};
    Op* inner = function_->create(body, *applies, both, {&scalar, 1}, empty_attributes(*applies));
    Value* result[] = {inner->result()};
    function_->create(body, OpKind::return_, result, {});
    unplaced_.insert(op);
    return op;
  }
  expect_word("reducer");
  open_scope();
  // The text pairs left and right arguments per operand; the region has all left ones, then all
  // right ones.
  struct Argument {
    std::string_view name;
    Position at;
    Type type;
    std::optional<uint32_t> location;
  };
  std::vector<Argument> arguments(2 * inputs);
  for (size_t i = 0; i < inputs && !failed_; ++i) {
    expect(Tok::left_paren, "'('");
    for (size_t side = 0; side < 2 && !failed_; ++side) {
      Argument& argument = arguments[i + side * inputs];
      if (!at(Tok::value)) unexpected("an argument such as %arg0");
      argument.name = token_.text;
      argument.at = token_.at;
      advance();
      expect(Tok::colon, "':' and the type of this argument");
      argument.type = type();
      if (at_word("loc")) argument.location = location_reference();
      if (side == 0) expect(Tok::comma, "','");
    }
    expect(Tok::right_paren, "')'");
  }
  for (Argument& argument : arguments) {
    if (failed_) return nullptr;
    Value* value = define_argument(body, argument.name, argument.at, std::move(argument.type));
    if (argument.location)
      fixups_.push_back({nullptr, value, nullptr, *argument.location});
    else
      value->location = text_location(argument.at);
  }
  expect(Tok::left_brace, "'{'");
  block(body, OpKind::return_);
  close_scope();
  return op;
}

// stablehlo.while(%a = %0, %b = %1) : T, T attributes {...} cond { ... } do { ... }
Op* Parser::while_form(Region& region, OperationState& state) {
  struct Argument {
    std::string_view name;
    Position at;
  };
  std::vector<Argument> arguments;
  expect(Tok::left_paren, "'('");
  list_until(Tok::right_paren, "')'", [&] {
    if (!at(Tok::value)) unexpected("an argument such as %iterArg");
    arguments.push_back({token_.text, token_.at});
    advance();
    expect(Tok::equal, "'='");
    state.operands.push_back(operand());
  });
  if (!arguments.empty() || at(Tok::colon)) {
    expect(Tok::colon, "':' and the types");
    state.types_at = token_.at;
    if (!at_word("cond") && !at_word("attributes")) state.types.inputs = type_list();
  }
  state.types.results = state.types.inputs;
  if (accept_word("attributes")) dictionary(state.attributes);
  Op* op = create(region, state);
  if (failed_) return nullptr;
  unplaced_.insert(op);
  for (std::string_view word : {"cond", "do"}) {
    expect_word(word);
    open_scope();
    Region& body = *function_->add_region(op);
    for (size_t i = 0; i < arguments.size() && !failed_; ++i) {
      Value* value =
          define_argument(body, arguments[i].name, arguments[i].at, state.types.inputs[i]);
      value->location = text_location(arguments[i].at);
    }
    expect(Tok::left_brace, "'{'");
    block(body, OpKind::return_);
    close_scope();
  }
  return op;
}

// sdy.manual_computation(%0) in_shardings=[...] out_shardings=[...] manual_axes={...} (%arg: T) {
// ... } : (T) -> T
Op* Parser::manual_computation_form(Region& region, OperationState& state) {
  expect(Tok::left_paren, "'('");
  operand_list(state, Tok::right_paren, "')'");
  for (std::string_view name : {"in_shardings", "out_shardings", "manual_axes"}) {
    expect_word(name);
    expect(Tok::equal, "'='");
    AttrValue value;
    value.kind = AttrValue::Kind::opaque;
    value.at = token_.at;
    value.begin = token_.offset;
    if (at(Tok::left_bracket) || at(Tok::left_brace))
      skip_balanced();
    else
      unexpected("a list");
    value.end = previous_end_;
    set(state, name, std::move(value));
  }
  if (failed_) return nullptr;
  // The types follow the body, so the operation is made first.
  std::vector<Value*> operands;
  for (const Operand& operand : state.operands) operands.push_back(operand.value);
  Op* op = function_->create(region, state.kind, operands, {}, empty_attributes(state.kind));
  Region& body = *function_->add_region(op);
  open_scope();
  expect(Tok::left_paren, "'('");
  list_until(Tok::right_paren, "')'", [&] { region_argument(body); });
  expect(Tok::left_brace, "'{'");
  if (!failed_) block(body, OpKind::sdy_return);
  close_scope();
  attributes_and_types(state, TypesForm::function);
  check_operand_types(state);
  check_arity(state);
  finish_attributes(state, op->attributes, op->extra);
  if (failed_) return nullptr;
  function_->add_results(op, state.types.results);
  return op;
}

}  // namespace ullage::syntax
