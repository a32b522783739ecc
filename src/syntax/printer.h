// The writer's working state: the text so far and the names given to values. Internal to this room.
// Methods are grouped by file: writer (modules, regions, names), write_forms (operations),
// write_attributes, write_literal.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "syntax/forms.h"
#include "syntax/lexer.h"
#include "syntax/writer.h"

namespace ullage::syntax {

// An attribute as it is written in a dictionary, and inside a pretty form ("[0, 1]" for array<i64:
// 0, 1>).
struct PrintedAttribute {
  std::string_view name;
  std::string text;
  std::string pretty;
};

class Printer {
 public:
  explicit Printer(const WriteOptions& options) : options_(options) {}

  void module(const Module& module);
  void function(const Function& function);
  std::string take() { return std::move(out_); }

 private:
  // Every name given inside is free again at the end of the scope.
  struct Scope {
    explicit Scope(Printer& printer) : printer(printer), size(printer.used_order_.size()) {}
    ~Scope();
    Printer& printer;
    size_t size;
  };

  void line() { out_.append("\n").append(static_cast<size_t>(indent_) * 2, ' '); }
  std::string free_name(std::string_view wanted);
  void name_results(const Op& op);
  std::string name_argument(const Value* value);
  const std::string& name(const Value* value);
  void location(Location location);
  std::string location_reference(Location location);  // #loc3, or unknown
  void location_table(const LocationTable& table);
  void argument(const Value* value);
  void region(const Region& region);      // { ^bb0(...): ... }
  void operations(const Region& region);  // indented, each on its line
  void operation(const Op& op);
  void names(std::span<Value* const> values);                // %0, %1
  void types(const std::vector<Type>& types);                // T, T
  void named_attributes(const NamedAttributes& attributes);  // {a = b}, nothing when empty
  void mesh(const NamedAttribute& mesh);

  // -- write_forms.cpp
  bool form(const Op& op, std::vector<PrintedAttribute>& attributes);
  void pattern(const Op& op, const Form& form, std::vector<PrintedAttribute>& attributes);
  bool special(const Op& op, std::vector<PrintedAttribute>& attributes);
  void generic(const Op& op, const std::vector<PrintedAttribute>& attributes);
  void form_types(const Op& op, TypesForm form);
  void function_type(const Op& op);
  // " {a = b}" of the attributes not used by the form and of the kept ones.
  void dictionary(const Op& op, const std::vector<PrintedAttribute>& attributes);
  void dot(const Op& op, std::vector<PrintedAttribute>& attributes);
  void convolution(const Op& op, std::vector<PrintedAttribute>& attributes);
  void slice(const Op& op, std::vector<PrintedAttribute>& attributes);
  bool reduce(const Op& op, std::vector<PrintedAttribute>& attributes);
  void while_loop(const Op& op, std::vector<PrintedAttribute>& attributes);
  void manual_computation(const Op& op, std::vector<PrintedAttribute>& attributes);

  WriteOptions options_;
  std::string out_;
  int indent_ = 0;
  std::unordered_map<const Value*, std::string> names_;
  std::unordered_set<std::string> used_;
  std::vector<std::string> used_order_;
  int64_t next_number_ = 0;
  const LocationTable* locations_ = nullptr;
  std::vector<Location> printed_locations_;  // in order of their numbers, from 1
  std::unordered_map<uint32_t, size_t> location_numbers_;
};

// The attributes of an operation, in the order of describe.h, without those that have their
// default.
std::vector<PrintedAttribute> printed_attributes(const Op& op, const WriteOptions& options);
std::string convolution_dims_text(const ConvolutionDimensionNumbers& dims);
// [0, 1]
std::string list_text(const Dims& dims);
std::string literal_text(const Literal& literal, const WriteOptions& options);

}  // namespace ullage::syntax
