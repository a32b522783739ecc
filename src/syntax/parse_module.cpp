// Modules and functions, in their usual and in their generic form; aliases; calls, once all
// functions are known.
#include <fmt/format.h>

#include "syntax/parser.h"

namespace ullage::syntax {

Result<std::unique_ptr<Module>> Parser::parse() {
  advance();
  bool module_seen = false;
  while (!failed_ && !at(Tok::end)) module_item(module_seen);
  if (!failed_ && module_->functions.empty()) fail(token_.at, "this text has no function");
  if (!failed_) check_calls();
  if (!failed_) resolve_locations();
  if (failed_) return std::move(diagnostics_);
  return std::move(module_);
}

// Something at the top level: an alias, the module, or, without a module around it, a function.
void Parser::module_item(bool& module_seen) {
  if (at(Tok::hash) || at(Tok::bang)) {
    alias_definition();
    return;
  }
  bool module = at_word("module") || at_word("builtin.module") ||
                (at(Tok::string) && token_.text == "\"builtin.module\"");
  if (!module) {
    if (module_seen) {
      unexpected("the end of the text");
      return;
    }
    generic_module_item();
    return;
  }
  if (module_seen || !module_->functions.empty()) {
    fail(token_.at, "more than one module in this text",
         "separate modules by a line with // -----");
    return;
  }
  module_seen = true;
  if (at(Tok::string)) {
    Position where = token_.at;
    advance();
    generic_module(where);
    return;
  }
  advance();
  if (at(Tok::symbol)) module_->name = symbol_name();
  AttrDict attributes;
  if (accept_word("attributes")) dictionary(attributes);
  module_->extra = kept(attributes);
  expect(Tok::left_brace, "'{'");
  module_body();
  skip_location();
}

// Functions and meshes up to the closing brace, which it takes.
void Parser::module_body() {
  while (!failed_ && !at(Tok::right_brace)) {
    if (at(Tok::end)) {
      unexpected("'}'");
      return;
    }
    generic_module_item();
  }
  if (!failed_) advance();
}

void Parser::generic_module_item() {
  Position where = token_.at;
  if (accept_word("func.func") || accept_word("func")) {
    function(where);
  } else if (accept_word("sdy.mesh")) {
    mesh();
  } else if (at(Tok::string)) {
    std::string name = string_value();
    if (name == "func.func") {
      generic_function(where);
    } else if (name == "sdy.mesh") {
      generic_mesh(where);
    } else {
      fail(where, fmt::format("'{}' cannot stand at the top level of a module", name));
    }
  } else {
    unexpected("func.func");
  }
}

static const AttrEntry* find(const AttrDict& dict, std::string_view name, AttrValue::Kind kind) {
  for (const AttrEntry& entry : dict)
    if (entry.name == name && entry.value.kind == kind) return &entry;
  return nullptr;
}

static void drop(AttrDict& dict, std::string_view name) {
  std::erase_if(dict, [&](const AttrEntry& entry) { return entry.name == name; });
}

// "builtin.module"() <{...}> ({ ... }) {...} : () -> ()
void Parser::generic_module(Position) {
  AttrDict attributes;
  expect(Tok::left_paren, "'('");
  expect(Tok::right_paren, "')'");
  if (accept(Tok::less)) {
    dictionary(attributes);
    expect(Tok::greater, "'>'");
  }
  expect(Tok::left_paren, "'('");
  expect(Tok::left_brace, "'{'");
  if (accept(Tok::block)) expect(Tok::colon, "':'");
  module_body();
  expect(Tok::right_paren, "')'");
  optional_dictionary(attributes);
  expect(Tok::colon, "':' and the type () -> ()");
  function_type();
  skip_location();
  if (const AttrEntry* name = find(attributes, "sym_name", AttrValue::Kind::string))
    module_->name = name->value.text;
  drop(attributes, "sym_name");
  module_->extra = kept(attributes);
}

void Parser::add_function(std::unique_ptr<Function> function, Position at) {
  if (failed_) return;
  auto [known, added] = function_positions_.try_emplace(function->name, at);
  if (!added) {
    fail_note(at, fmt::format("the function @{} is defined twice", function->name),
              "it is already defined here", known->second);
    return;
  }
  module_->functions.push_back(std::move(function));
}

// What an argument's attributes say about its buffer; the rest is kept.
void Parser::argument_attributes(ArgumentInfo& info, AttrDict& dict) {
  for (AttrEntry& entry : dict) {
    if (failed_) return;
    if (entry.name == "tf.aliasing_output") {
      if (entry.value.kind != AttrValue::Kind::integer || entry.value.integer < 0) {
        fail(entry.value.at, "'tf.aliasing_output' must be the number of a result");
        return;
      }
      info.aliases_output = entry.value.integer;
      info.donated = true;
      entry.used = true;
    } else if (entry.name == "jax.buffer_donor") {
      info.donated |= entry.value.kind != AttrValue::Kind::boolean || entry.value.integer != 0;
      entry.used = true;
    }
  }
  info.extra = kept(dict);
}

// func.func public @main(%arg0: T {attributes} loc(...), ...) -> (T {attributes}, ...) attributes
// {...} { ... }
void Parser::function(Position where) {
  bool is_public = true;
  if (accept_word("private"))
    is_public = false;
  else if (!accept_word("public"))
    accept_word("nested");
  auto function = std::make_unique<Function>(symbol_name());
  if (failed_) return;
  function->is_public = is_public;
  function_ = function.get();
  open_scope();
  expect(Tok::left_paren, "'('");
  list_until(Tok::right_paren, "')'", [&] {
    if (!at(Tok::value)) {
      if (at_word("tensor") || at_word("tuple") || at(Tok::bang))
        fail(token_.at, fmt::format("the function @{} has no body", function->name),
             "only functions with a body are supported: name its arguments, as in (%arg0: "
             "tensor<f32>)");
      else
        unexpected("an argument such as %arg0");
      return;
    }
    std::string_view name = token_.text;
    Position argument_at = token_.at;
    advance();
    expect(Tok::colon, "':' and the type of this argument");
    Type argument_type = type();
    ArgumentInfo info;
    if (at(Tok::left_brace)) {
      AttrDict attributes;
      dictionary(attributes);
      argument_attributes(info, attributes);
    }
    if (failed_) return;
    Value* value = function->add_argument(std::move(argument_type), std::move(info), {},
                                          std::string(name.substr(1)));
    define(name, {value, nullptr, 0, 1, argument_at});
    trailing_location(value, argument_at);
  });
  if (accept(Tok::arrow)) {
    bool any = false;
    if (accept(Tok::left_paren))
      list_until(Tok::right_paren, "')'", [&] {
        function->result_types.push_back(type());
        AttrDict attributes;
        optional_dictionary(attributes);
        function->result_extra.push_back(kept(attributes));
        any |= !attributes.empty();
      });
    else
      function->result_types.push_back(type());
    if (!any) function->result_extra.clear();
  }
  if (accept_word("attributes")) {
    AttrDict attributes;
    dictionary(attributes);
    function->extra = kept(attributes);
  }
  if (failed_) return;
  if (!at(Tok::left_brace)) {
    if (at_word("loc") || at(Tok::right_brace) || at_word("func.func") || at(Tok::end))
      fail(where, fmt::format("the function @{} has no body", function->name),
           "only functions with a body are supported");
    else
      unexpected("'{' and the body of the function");
    return;
  }
  advance();
  block(function->body(), OpKind::func_return);
  close_scope();
  trailing_location(function.get(), where);
  check_function_results(*function);
  add_function(std::move(function), where);
  function_ = nullptr;
}

// "func.func"() <{function_type = (T) -> T, sym_name = "main"}> ({ ^bb0(%arg0: T): ... }) {...} :
// () -> ()
void Parser::generic_function(Position where) {
  AttrDict attributes;
  expect(Tok::left_paren, "'('");
  expect(Tok::right_paren, "')'");
  if (accept(Tok::less)) {
    dictionary(attributes);
    expect(Tok::greater, "'>'");
  }
  auto function = std::make_unique<Function>(std::string());
  function_ = function.get();
  expect(Tok::left_paren, "'('");
  if (!failed_ && at(Tok::right_paren))
    fail(where, "this function has no body", "only functions with a body are supported");
  region_body(function->body(), OpKind::func_return);
  expect(Tok::right_paren, "')'");
  optional_dictionary(attributes);
  expect(Tok::colon, "':' and the type () -> ()");
  function_type();
  trailing_location(function.get(), where);
  const AttrEntry* name = find(attributes, "sym_name", AttrValue::Kind::string);
  const AttrEntry* signature = find(attributes, "function_type", AttrValue::Kind::type);
  if (!failed_ && (!name || !signature))
    fail(where, "func.func needs the attributes 'sym_name' and 'function_type'");
  if (failed_) return;
  function->name = name->value.text;
  if (const AttrEntry* visibility = find(attributes, "sym_visibility", AttrValue::Kind::string))
    function->is_public = visibility->value.text != "private";
  if (!signature->value.types) {
    fail(signature->at, "'function_type' must be a function type");
    return;
  }
  const FunctionType& types = *signature->value.types;
  std::span<Value* const> arguments = function->body().arguments();
  bool same = arguments.size() == types.inputs.size();
  for (size_t i = 0; same && i < arguments.size(); ++i)
    same = arguments[i]->type == types.inputs[i];
  if (!same) {
    fail(signature->at,
         fmt::format("'function_type' of @{} does not agree with the arguments of its body",
                     function->name));
    return;
  }
  function->result_types = types.results;
  function->argument_info.resize(arguments.size());
  for (AttrEntry& entry : attributes) {
    bool of_arguments = entry.name == "arg_attrs";
    if (!of_arguments && entry.name != "res_attrs") continue;
    size_t expected = of_arguments ? arguments.size() : types.results.size();
    if (entry.value.elements.size() != expected) {
      fail(entry.at, fmt::format("'{}' has {} entries, not {}", entry.name,
                                 entry.value.elements.size(), expected));
      return;
    }
    for (size_t i = 0; i < expected; ++i) {
      if (of_arguments)
        argument_attributes(function->argument_info[i], entry.value.elements[i].entries);
      else
        function->result_extra.push_back(kept(entry.value.elements[i].entries));
    }
  }
  bool any = false;
  for (const NamedAttributes& attributes_of_result : function->result_extra)
    any |= !attributes_of_result.empty();
  if (!any) function->result_extra.clear();
  for (std::string_view used :
       {"sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs"})
    drop(attributes, used);
  function->extra = kept(attributes);
  check_function_results(*function);
  add_function(std::move(function), where);
  function_ = nullptr;
}

void Parser::check_function_results(Function& function) {
  if (failed_) return;
  std::string wrong = wrong_returned_values(function);
  if (!wrong.empty()) fail(terminator_at_, std::move(wrong));
}

// sdy.mesh @mesh = <["x"=8]> {...}
void Parser::mesh() {
  Position where = token_.at;
  NamedAttribute mesh;
  mesh.name = symbol_name();
  expect(Tok::equal, "'='");
  size_t begin = token_.offset;
  if (at(Tok::less))
    skip_balanced();
  else
    unexpected("a mesh such as <[\"x\"=8]>");
  mesh.text = source_text(begin, previous_end_);
  AttrDict attributes;  // says the same in another way
  optional_dictionary(attributes);
  skip_location();
  add_mesh(std::move(mesh), where);
}

// "sdy.mesh"() <{mesh = #sdy.mesh<["x"=8]>, sym_name = "mesh"}> : () -> ()
void Parser::generic_mesh(Position where) {
  AttrDict attributes;
  expect(Tok::left_paren, "'('");
  expect(Tok::right_paren, "')'");
  if (accept(Tok::less)) {
    dictionary(attributes);
    expect(Tok::greater, "'>'");
  }
  optional_dictionary(attributes);
  expect(Tok::colon, "':' and the type () -> ()");
  function_type();
  skip_location();
  const AttrEntry* name = find(attributes, "sym_name", AttrValue::Kind::string);
  const AttrEntry* mesh = find(attributes, "mesh", AttrValue::Kind::opaque);
  if (!failed_ && (!name || !mesh))
    fail(where, "sdy.mesh needs the attributes 'sym_name' and 'mesh'");
  if (failed_) return;
  std::string text = source_text(mesh->value);
  constexpr std::string_view kFrame = "#sdy.mesh";
  if (text.starts_with(kFrame)) text.erase(0, kFrame.size());
  add_mesh({name->value.text, std::move(text)}, where);
}

void Parser::add_mesh(NamedAttribute mesh, Position at) {
  for (const NamedAttribute& other : module_->meshes)
    if (other.name == mesh.name) fail(at, fmt::format("the mesh @{} is defined twice", mesh.name));
  module_->meshes.push_back(std::move(mesh));
}

// #name = attribute, #name = loc(...), !name = type
void Parser::alias_definition() {
  std::string_view name = token_.text;
  Position where = token_.at;
  bool is_type = at(Tok::bang);
  advance();
  if (name.find('.') != std::string_view::npos) {
    fail(where, fmt::format("'{}' cannot be defined here", name),
         "the name of an alias has no dot");
    return;
  }
  expect(Tok::equal, "'='");
  if (failed_) return;
  bool known = is_type ? type_aliases_.contains(name)
                       : attribute_aliases_.contains(name) || location_aliases_.contains(name);
  if (known) {
    fail(where, fmt::format("the alias '{}' is defined twice", name));
    return;
  }
  size_t begin = token_.offset;
  if (is_type) {
    Type aliased = type();
    if (!failed_) type_aliases_[name] = {std::move(aliased), begin, previous_end_};
  } else if (at_word("loc")) {
    advance();
    expect(Tok::left_paren, "'('");
    LocationNode node = location_node();
    expect(Tok::right_paren, "')'");
    if (!failed_) location_aliases_[name] = std::move(node);
  } else {
    AttrValue value = attribute();
    if (!failed_) attribute_aliases_[name] = std::move(value);
  }
}

// Every function that is named must exist; a call must agree with its signature.
void Parser::check_calls() {
  std::optional<WrongCall> wrong = find_wrong_call(*module_, calls_);
  if (!wrong) return;
  Position at = calls_at_[wrong->call];
  if (wrong->callee)
    fail_note(at, std::move(wrong->message), "the function is defined here",
              function_positions_.at(wrong->callee->name));
  else
    fail(at, std::move(wrong->message));
}

}  // namespace ullage::syntax
