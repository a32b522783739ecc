// The reader's recursive-descent parser: text to Module, checking SSA form and types on the way.
// Internal to this room (reader.h is the interface). One class, whose methods are grouped by file:
// parse_types, parse_attributes, parse_literal, parse_locations, parse_operation, parse_forms,
// parse_region_forms, parse_module.
//
// Errors stick: fail() keeps the first diagnostic and ends the token stream, so that every loop
// ends, every method may go on with whatever default it has, and exactly one error comes out. Code
// that is about to build IR asks failed().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/ir.h"
#include "syntax/attribute_value.h"
#include "syntax/forms.h"
#include "syntax/lexer.h"
#include "syntax/limits.h"
#include "syntax/structure.h"

namespace ullage::syntax {

// An operand as written, resolved.
struct Operand {
  Value* value = nullptr;
  Position at;
};

// What is known of an operation while its text is being read.
struct OperationState {
  OpKind kind{};
  Position at;
  std::vector<Operand> operands;
  FunctionType types;
  Position types_at;
  AttrDict attributes;
};

class Parser {
 public:
  Parser(std::string_view text, std::string file, uint32_t first_line);

  Result<std::unique_ptr<Module>> parse();

  // -- Tokens and errors
  bool failed() const { return failed_; }
  SourceRange range(Position at) const { return {file_, at.line, at.column}; }
  void fail(Position at, std::string message, std::string help = {});
  void fail_note(Position at, std::string message, std::string note, Position note_at);
  std::string source_text(const AttrValue& value) const {
    return source_text(value.begin, value.end);
  }

 private:
  // Counts nesting while in scope; fails when it gets too deep.
  class Nesting {
   public:
    explicit Nesting(Parser& parser, int limit = kMaxNesting);
    ~Nesting() { --parser_.nesting_; }

   private:
    Parser& parser_;
  };

  const Token& token() const { return token_; }
  bool at(Tok kind) const { return token_.kind == kind; }
  bool at_word(std::string_view word) const {
    return token_.kind == Tok::word && token_.text == word;
  }
  void advance();
  bool accept(Tok kind);
  bool accept_word(std::string_view word);
  void expect(Tok kind, std::string_view what);
  void expect_word(std::string_view word);
  void unexpected(std::string_view wanted);
  // Parses `item` separated by commas until `close`, which it takes.
  template <typename F>
  void list_until(Tok close, std::string_view close_text, F&& item) {
    if (accept(close)) return;
    do {
      item();
    } while (!failed_ && accept(Tok::comma));
    expect(close, close_text);
  }

  // -- Types (parse_types.cpp)
  Type type(bool index_allowed = false);
  Type tensor_type(bool index_allowed);
  void shape(Type& type);
  void element_type(Type& type, bool index_allowed);
  void quantized_type(Type& type);
  void encoding(Type& type);
  DType dtype_word(bool index_allowed);
  std::vector<Type> type_list();            // T, T, ... without brackets
  std::vector<Type> parenthesized_types();  // (T, T, ...)
  FunctionType function_type();             // (T, T) -> T or (T, T) -> (T, T)

  // -- Attributes (parse_attributes.cpp)
  AttrValue attribute();
  AttrValue attribute_body();
  AttrValue number_attribute(bool typed);  // 1, 1.5, and with a type after them if `typed`
  AttrValue array_attribute();
  AttrValue dense_array_attribute();
  AttrValue dialect_attribute();
  void structure_fields(AttrValue& value, Tok close, std::string_view close_text);
  ConvolutionDimensionNumbers convolution_dims();
  void skip_balanced();  // from an opening bracket to its partner
  std::string attribute_name();
  void dictionary(AttrDict& out);  // { name = value, ... }, entries appended
  void optional_dictionary(AttrDict& out) {
    if (at(Tok::left_brace)) dictionary(out);
  }
  NamedAttributes kept(const AttrDict& dict) const;  // entries not used yet, as text
  std::string source_text(size_t begin,
                          size_t end) const;  // aliases replaced by what they stand for
  void use_alias(const Token& name, std::string text);
  int64_t integer();    // with an optional minus
  Dims integer_list();  // [1, 2]
  AttrValue integers_value();
  std::string symbol_name();  // @name
  std::string string_value();

  // -- Constants (parse_literal.cpp)
  Literal dense_literal(bool index_allowed);

  // -- Locations (parse_locations.cpp)
  struct LocationNode {
    LocationData data;
    std::vector<LocationNode> children;
    std::string_view alias;
    Position at;
  };
  struct Fixup {
    Op* op;
    Value* value;
    Function* function;
    uint32_t node;
  };
  LocationNode location_node();
  uint32_t location_reference();  // loc(...) to an index into location_nodes_
  Location text_location(Position at);
  void trailing_location(Op* op, Position at);
  void trailing_location(Value* value, Position at);
  void trailing_location(Function* function, Position at);
  bool skip_location();  // of something whose location is not kept
  void resolve_locations();
  Location resolve(const LocationNode& node);
  Location resolve_alias(std::string_view name, Position at);

  // -- Operations (parse_operation.cpp)
  struct ResultName {
    std::string_view name;
    Position at;
    uint32_t count = 1;
    bool grouped = false;
  };
  struct Definition {
    Value* value = nullptr;  // of an argument
    Op* op = nullptr;        // else results [first, first + count)
    uint32_t first = 0, count = 1;
    Position at;
  };
  void operation(Region& region);
  Op* generic_operation(Region& region, Position at);
  Op* pretty_operation(Region& region);
  OpKind op_kind(std::string_view mnemonic, Position at);
  Operand operand();
  void operand_list(OperationState& state, Tok close, std::string_view close_text);
  // Checks arity, operand types and attributes; creates the operation.
  Op* create(Region& region, OperationState& state);
  void check_operand_types(const OperationState& state);
  void check_arity(const OperationState& state);
  void finish_attributes(OperationState& state, Attributes& attributes, NamedAttributes& extra);
  void define(std::string_view name, Definition definition);
  void define_results(Op* op, std::span<const ResultName> names, Position at);
  Value* define_argument(Region& region, std::string_view name, Position at, Type type);
  Value* region_argument(Region& region);               // %name: type loc(...)
  void region_body(Region& region, OpKind terminator);  // { ops }, opening brace not yet taken
  void block(Region& region, OpKind terminator);
  void open_scope() { scopes_.push_back(defined_.size()); }
  void close_scope();

  // -- Pretty forms (parse_forms.cpp)
  Op* form_operation(Region& region, OperationState& state, const Form& form);
  void form_types(OperationState& state, TypesForm form);
  Op* special_operation(Region& region, OperationState& state);
  Op* constant_form(Region& region, OperationState& state);
  Op* compare_form(Region& region, OperationState& state);
  Op* dot_form(Region& region, OperationState& state);
  Op* convolution_form(Region& region, OperationState& state);
  Op* slice_form(Region& region, OperationState& state);
  Op* reduce_form(Region& region, OperationState& state);
  Op* while_form(Region& region, OperationState& state);
  Op* call_form(Region& region, OperationState& state);
  Op* custom_call_form(Region& region, OperationState& state);
  Op* composite_form(Region& region, OperationState& state);
  Op* return_form(Region& region, OperationState& state);
  Op* reduce_precision_form(Region& region, OperationState& state);
  Op* top_k_form(Region& region, OperationState& state);
  Op* tuple_element_form(Region& region, OperationState& state);
  Op* barrier_form(Region& region, OperationState& state);
  Op* sharding_constraint_form(Region& region, OperationState& state);
  Op* manual_computation_form(Region& region, OperationState& state);
  Op* check_form(Region& region, OperationState& state);
  void parse_operands(OperationState& state);  // %a, %b, ... as many as follow
  void attributes_and_types(OperationState& state, TypesForm form);
  void precision_list(OperationState& state);
  void set(OperationState& state, std::string_view name, AttrValue value);
  AttrValue keyword_value(std::string_view word);
  AttrValue integer_value();
  AttrValue scalar_value();
  Type scalar_of(const Type& tensor) const;

  // -- Modules (parse_module.cpp)
  void module_body();
  void module_item(bool& module_seen);
  void generic_module_item();
  void generic_module(Position at);
  void generic_function(Position at);
  void function(Position at);
  void argument_attributes(ArgumentInfo& info, AttrDict& dict);
  void add_function(std::unique_ptr<Function> function, Position at);
  void mesh();
  void generic_mesh(Position at);
  void add_mesh(NamedAttribute mesh, Position at);
  void alias_definition();
  void check_calls();
  void check_function_results(Function& function);

  std::string file_;
  Lexer lexer_;
  Token token_;
  size_t previous_end_ = 0;  // where the last token taken ended
  bool failed_ = false;
  std::vector<Diagnostic> diagnostics_;
  int nesting_ = 0;

  std::unique_ptr<Module> module_;
  Function* function_ = nullptr;  // being read
  std::unordered_map<std::string_view, AttrValue> attribute_aliases_;
  struct TypeAlias {
    Type type;
    size_t begin, end;
  };
  std::unordered_map<std::string_view, TypeAlias> type_aliases_;
  // Where in the source an alias was used, in order, and what it stands for.
  struct AliasUse {
    size_t begin, end;
    std::string text;
  };
  std::vector<AliasUse> alias_uses_;
  size_t alias_text_size_ = 0;

  std::unordered_map<std::string_view, LocationNode> location_aliases_;
  std::unordered_map<std::string_view, std::optional<Location>> resolved_aliases_;
  std::vector<LocationNode> location_nodes_;
  std::unordered_map<std::string_view, uint32_t> alias_nodes_;  // loc(#name) shares one node
  std::vector<Fixup> fixups_;
  std::unordered_set<const Op*> unplaced_;  // operations whose regions take their location
  std::vector<uint64_t> location_sizes_;    // per location, positions it expands to

  std::unordered_map<std::string_view, Definition> values_;
  std::vector<std::string_view> defined_;  // names in order of definition
  std::vector<size_t> scopes_;             // sizes of defined_ where scopes begin

  std::vector<Op*> calls_;
  std::vector<Position> calls_at_;  // one per call
  Position terminator_at_;          // of the terminator read last
  std::unordered_map<std::string, Position> function_positions_;
};

}  // namespace ullage::syntax
