// The reader of bytecode: container to Module, checking SSA form and types on the way. Internal to
// this room (bytecode.h is the interface). One class, whose methods are grouped by file:
// bytecode_types, bytecode_values, bytecode_text, bytecode_shardy, bytecode_locations,
// bytecode_attributes, bytecode_operations, bytecode_module.
//
// Attributes and types are tables in which entries refer to each other by number; they are read
// when something needs them. Errors stick (bytecode_cursor.h). Since one entry may be named many
// times, what is copied out of the tables is counted: expand().
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostics.h"
#include "syntax/bytecode_container.h"
#include "syntax/bytecode_ops.h"
#include "syntax/limits.h"

namespace ullage::syntax {

// Attributes of several dialects that hold the same are one kind.
enum class AttrKind : uint8_t {
  unsupported,
  array,
  dictionary,
  string,
  typed_string,
  flat_symbol,
  symbol,
  type,
  unit,
  boolean,
  integer,
  floating,
  tensor,
  dense_array,
  // locations
  unknown_location,
  file_location,
  file_range,
  name_location,
  callsite_location,
  fused_location,
  fused_metadata_location,
  // enumerations of VHLO
  comparison_direction,
  comparison_type,
  api_version,
  fft_type,
  precision,
  rng_algorithm,
  rng_distribution,
  transpose,
  accuracy_mode,
  // structures of VHLO
  output_alias,
  bounds,
  result_accuracy,
  mesh_axes_groups,
  // Shardy
  sdy_manual_axes,
  sdy_mesh_axis,
  sdy_mesh,
  sdy_sub_axis,
  sdy_axis,
  sdy_dimension,
  sdy_sharding,
  sdy_sharding_unreduced,
  sdy_sharding_reduction,
  sdy_per_value,
  sdy_dimension_mapping,
  sdy_tensor_mapping,
  sdy_rule,
  sdy_axis_list,
  sdy_axis_lists,
  sdy_all_to_all,
  sdy_all_to_alls,
};
std::string_view kind_name(AttrKind kind);  // "an integer", for messages

// An attribute of the table: its kind, and a cursor on its fields.
struct OpenAttr {
  AttrKind kind = AttrKind::unsupported;
  size_t at = 0;
  uint32_t entry = 0;  // its index
  Cursor fields;
};

struct BytecodeType {
  enum class Kind : uint8_t { element, index, none, tf32, tensor, token, tuple, function };
  Kind kind = Kind::none;
  bool of_index = false;  // a tensor of index, whose dtype is i64
  Type type;  // of an element its dtype and quantization; a tensor, token or tuple whole
  std::vector<uint32_t> inputs, results;  // of a function
  size_t bytes = 0;                       // about what a copy takes
};

// Whose attribute is read, for messages: 'dimension' of stablehlo.iota.
struct AttrOwner {
  std::string_view name, owner;
};

class BytecodeReader {
 public:
  BytecodeReader(std::string_view bytes, std::string file);

  Result<std::unique_ptr<Module>> read();

  bool failed() const { return failure_.failed; }
  void fail(size_t at, std::string message, std::string help = {}) {
    failure_.set(at, std::move(message), std::move(help));
  }

  // -- Entries of the tables (bytecode_values.cpp)
  uint32_t attribute_index(Cursor& c, std::string_view what) const {
    return c.index(what, container_.attributes.size());
  }
  uint32_t type_index(Cursor& c, std::string_view what) const {
    return c.index(what, container_.types.size());
  }
  OpenAttr open(uint32_t attribute);
  std::optional<OpenAttr> open(uint32_t attribute, AttrKind kind, AttrOwner owner);
  void wrong_kind(const OpenAttr& attribute, AttrOwner owner, std::string_view wanted);
  // Counts bytes copied out of the tables; fails when they are out of proportion to the file.
  bool expand(size_t bytes);

  // -- Values of attributes (bytecode_values.cpp)
  std::vector<uint32_t> elements(uint32_t array, AttrOwner owner);
  std::string_view string(uint32_t attribute, AttrOwner owner);
  bool boolean(uint32_t attribute, AttrOwner owner);
  int64_t integer(uint32_t attribute, AttrOwner owner);
  double floating(uint32_t attribute, AttrOwner owner);
  uint64_t enumerated(uint32_t attribute, AttrKind kind, AttrOwner owner);
  void dims(uint32_t attribute, Dims& out, AttrOwner owner);
  void matrix(uint32_t attribute, Dims& out, int64_t& rows, int64_t& columns, AttrOwner owner);
  void bools(uint32_t attribute, std::vector<bool>& out, AttrOwner owner);
  const Literal& literal(uint32_t attribute, AttrOwner owner);
  const BytecodeType& type_of(uint32_t attribute, AttrOwner owner);
  static Dims signed_list(Cursor& c, std::string_view what);

  // -- Texts of kept attributes, as MLIR prints them (bytecode_text.cpp)
  const std::string& text(uint32_t attribute);
  std::string type_text(uint32_t type);
  NamedAttributes kept(uint32_t dictionary, AttrOwner owner);

  // -- Attributes of operations (bytecode_attributes.cpp)
  void read_attributes(OpKind kind, const BytecodeOp& op, std::span<const uint32_t> properties,
                       size_t at, Attributes& attributes, NamedAttributes& extra);

 private:
  friend class BytecodeArchive;

  // Counts nesting while in scope; fails when it gets too deep.
  class Nesting {
   public:
    Nesting(BytecodeReader& reader, size_t at, int limit = kMaxNesting);
    ~Nesting() { --reader_.nesting_; }

   private:
    BytecodeReader& reader_;
  };

  // -- Types (bytecode_types.cpp)
  const BytecodeType& type(uint32_t index);
  const Type& value_type(uint32_t index, size_t at);
  DType element_type(uint32_t index, size_t at);
  BytecodeType read_type(const BytecodeContainer::Entry& entry);
  void vhlo_type(uint64_t code, Cursor& c, BytecodeType& out);
  void builtin_type(uint64_t code, Cursor& c, BytecodeType& out);
  void tensor_type(Cursor& c, BytecodeType& out, std::optional<uint32_t> encoding);
  void tuple_type(Cursor& c, BytecodeType& out);
  void function_type(Cursor& c, BytecodeType& out);
  void quantized_type(Cursor& c, BytecodeType& out, bool per_axis);
  void complex_type(Cursor& c, BytecodeType& out);

  Literal read_literal(uint32_t attribute, AttrOwner owner);

  // -- Texts (bytecode_text.cpp, bytecode_shardy.cpp)
  std::string read_text(uint32_t attribute);
  size_t dictionary_size(Cursor& c);
  std::string_view dictionary_key(Cursor& c, std::vector<std::string_view>& keys);
  std::string dictionary_text(Cursor& c);
  std::string literal_text(uint32_t attribute, uint32_t type);
  std::string result_accuracy_text(Cursor& c);
  bool is_default_accuracy(uint32_t attribute, AttrOwner owner);
  std::string shardy_text(const OpenAttr& opened);
  std::string shardy_list(Cursor& c, std::string_view what, AttrKind kind);
  std::string shardy_body(uint32_t attribute, AttrKind kind);
  std::string tensor_sharding(OpenAttr& opened);
  std::string sharding_rule(Cursor& c);
  std::string_view string_at(Cursor& c);

  // -- Locations (bytecode_locations.cpp)
  Location location(uint32_t attribute);
  Location read_location(uint32_t attribute);

  // -- Operations (bytecode_operations.cpp)
  // The values that a region defines have the numbers [next, limit).
  struct Numbers {
    size_t next = 0, limit = 0;
  };
  struct OpHeader {
    const BytecodeOp* op = nullptr;
    size_t at = 0;
    uint8_t mask = 0;
    Location location;
    std::optional<uint32_t> discardable;
    std::vector<uint32_t> properties;
    std::vector<uint32_t> result_types;
    std::vector<Value*> operands;
    size_t regions = 0;
    bool isolated = false;
  };
  void header(Cursor& c, OpHeader& out);
  void read_properties(uint32_t index, const BytecodeOp& op, std::vector<uint32_t>& out);
  void skip_use_orders(Cursor& c, size_t values);
  void operation(Cursor& c, Region& region, Numbers& numbers, OpKind terminator);
  void cast(const OpHeader& header, Numbers& numbers);
  void define(Value* value, Numbers& numbers, size_t at);
  Value* operand(Cursor& c);
  void isolated_regions(Cursor& c, std::span<Region* const> regions, OpKind terminator,
                        Location location);
  void region(Cursor& c, Region& out, OpKind terminator, Location location);
  void block_arguments(Cursor& c, Region& out, Numbers& numbers, Location location);
  size_t block_header(Cursor& c, bool& has_arguments);
  void finish_region(const Region& region, OpKind terminator, size_t at);

  // -- Modules (bytecode_module.cpp)
  void check_version();
  void module();
  void function(const OpHeader& header, Cursor& c);
  void argument_attributes(uint32_t dictionary, ArgumentInfo& info);
  void mesh(const OpHeader& header);
  void check_calls();

  std::string_view bytes_;
  BytecodeFailure failure_;
  BytecodeContainer container_;
  std::vector<BytecodeOp> ops_;
  int nesting_ = 0;
  size_t expanded_ = 0;

  std::vector<std::unique_ptr<const BytecodeType>> types_;
  std::vector<bool> types_open_;  // being read, to find types that contain themselves
  std::unordered_map<uint32_t, Literal> literals_;
  std::unordered_map<uint32_t, std::string> texts_;
  std::vector<uint32_t> locations_;  // per attribute: a Location's index, or one of the two below
  std::vector<uint32_t> location_sizes_;  // per Location, the positions it expands to
  static constexpr uint32_t kUnread = UINT32_MAX, kReading = UINT32_MAX - 1;

  std::unique_ptr<Module> module_;
  Function* function_ = nullptr;  // being read
  std::vector<Value*> values_;    // by number; null when not defined
  size_t values_base_ = 0;        // the number 0 of the isolated regions around here
  size_t values_end_ = 0;         // the numbers that regions around here have taken
  std::deque<OpHeader> headers_;  // by nesting; kept for their capacity
  std::vector<Op*> calls_;
  std::vector<size_t> calls_at_;
  std::unordered_map<std::string_view, size_t> functions_at_;
};

}  // namespace ullage::syntax
