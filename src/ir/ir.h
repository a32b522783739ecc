// The program: a Module of Functions in SSA form, StableHLO-shaped. A Function owns its operations
// and values, so pointers to them stay valid until they are erased or the function dies. Every use
// of a value is on its use list. Operations in a region are listed with definitions before uses;
// beyond that the order carries no meaning (order and addresses belong to the Plan). Regions have
// one block, as all StableHLO regions do.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attributes.h"
#include "ir/location.h"
#include "ir/op_info.h"
#include "ir/type.h"

namespace ullage {

class Op;
class Region;
class Function;
class Value;

// One operand of one operation: an entry in the use list of its value.
struct Use {
  Value* value = nullptr;
  Op* owner = nullptr;
  uint32_t index = 0;  // operand number
  Use* next = nullptr;
  Use** link = nullptr;  // the pointer that points here
};

class Value {
 public:
  Type type;
  std::string name;  // as written, without '%'; may be empty; for messages and reports only
  Location location;

  Op* op() const { return op_; }              // defining operation, null for a region argument
  Region* region() const { return region_; }  // the region it is an argument of, null for a result
  uint32_t index() const { return index_; }   // result or argument number

  bool has_uses() const { return first_use_ != nullptr; }
  bool has_one_use() const { return first_use_ && !first_use_->next; }
  const Use* first_use() const { return first_use_; }
  size_t num_uses() const;
  std::vector<Op*> users() const;  // one entry per use, in no particular order
  void replace_all_uses_with(Value* other);

 private:
  friend class Op;
  friend class Region;
  friend class Function;
  Op* op_ = nullptr;
  Region* region_ = nullptr;
  uint32_t index_ = 0;
  Use* first_use_ = nullptr;
};

// The single block of a region: arguments, then operations, the last of which is a terminator.
class Region {
 public:
  Function* function() const { return function_; }
  Op* parent() const { return parent_; }  // null for a function body

  std::span<Value* const> arguments() const { return arguments_; }
  Value* argument(size_t i) const { return arguments_[i]; }
  Value* add_argument(Type type, Location location = {}, std::string name = {});
  void erase_argument(size_t i);  // must have no uses

  Op* first() const { return first_; }
  Op* last() const { return last_; }
  bool empty() const { return first_ == nullptr; }
  Op* terminator() const;  // null if there is none yet

  // for (Op* op : region) ...; the current operation may be erased inside the loop.
  struct Iterator {
    Op* at = nullptr;
    Op* next = nullptr;
    Op* operator*() const { return at; }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return at != other.at; }
  };
  Iterator begin() const;
  Iterator end() const { return {}; }

 private:
  friend class Op;
  friend class Function;
  Function* function_ = nullptr;
  Op* parent_ = nullptr;
  std::vector<Value*> arguments_;
  Op* first_ = nullptr;
  Op* last_ = nullptr;
};

class Op {
 public:
  OpKind kind{};
  Attributes attributes;
  NamedAttributes extra;  // attributes that Ullage keeps but does not interpret
  Location location;

  Region* region() const { return region_; }
  Op* prev() const { return prev_; }
  Op* next() const { return next_; }

  size_t num_operands() const { return num_operands_; }
  Value* operand(size_t i) const { return operands_[i].value; }
  std::vector<Value*> operands() const;
  void set_operand(size_t i, Value* value);
  void set_operands(std::span<Value* const> values);  // may change their number

  size_t num_results() const { return results_.size(); }
  Value* result(size_t i = 0) const { return results_[i]; }
  std::span<Value* const> results() const { return results_; }

  size_t num_regions() const { return regions_.size(); }
  Region& nested(size_t i = 0) const { return *regions_[i]; }

  template <typename T>
  const T& as() const {
    return std::get<T>(attributes);
  }
  template <typename T>
  T& as() {
    return std::get<T>(attributes);
  }
  std::string_view mnemonic() const { return info(kind).mnemonic; }

  void move_before(Op* other);  // within the same function
  // Removes it from its region. Results must have no uses; nested operations go with it.
  void erase();

 private:
  friend class Region;
  friend class Function;
  void link(Region* region, Op* before);
  void unlink();
  void drop_operands();

  Region* region_ = nullptr;
  Op* prev_ = nullptr;
  Op* next_ = nullptr;
  std::unique_ptr<Use[]> operands_;
  size_t num_operands_ = 0;
  std::vector<Value*> results_;
  std::vector<Region*> regions_;
};

// What an argument of an entry function may say about its buffer.
struct ArgumentInfo {
  std::optional<int64_t>
      aliases_output;     // tf.aliasing_output: the caller wants output k in this argument's buffer
  bool donated = false;   // jax.buffer_donor, or aliases_output: its bytes are free once it is dead
  NamedAttributes extra;  // anything else, e.g. mhlo.sharding
};

class Function {
 public:
  explicit Function(std::string name);
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  std::string name;
  bool is_public = true;
  std::vector<ArgumentInfo> argument_info;  // one per argument (see add_argument)
  std::vector<Type> result_types;
  std::vector<NamedAttributes> result_extra;  // empty, or one per result
  NamedAttributes extra;
  Location location;

  Region& body() { return *body_; }
  const Region& body() const { return *body_; }
  Value* add_argument(Type type, ArgumentInfo info = {}, Location location = {},
                      std::string name = {});

  // Creates an operation at the end of `region`, or before `before` if given. Result types are the
  // caller's to get right (ops/infer.h infers them).
  Op* create(Region& region, OpKind kind, std::span<Value* const> operands,
             std::span<const Type> result_types, Attributes attributes = {}, Location location = {},
             size_t num_regions = 0, Op* before = nullptr);
  // For readers, which learn of regions and result types only after an operation has begun: append
  // to it.
  Region* add_region(Op* op);
  void add_results(Op* op, std::span<const Type> types);

 private:
  friend class Region;
  Value* new_value();
  Region* new_region(Op* parent);

  std::deque<Op> ops_;
  std::deque<Value> values_;
  std::deque<Region> regions_;
  Region* body_ = nullptr;
};

struct Module {
  std::string name;
  std::string file;  // where it was read from, for diagnostics
  NamedAttributes extra;
  LocationTable locations;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<NamedAttribute> meshes;  // sdy.mesh @name = <text>

  Function* find(std::string_view name) const;
  Function* entry() const;  // "main", or the only public function; null if there is no such
  // Where the user should look: the location's own source if known, else the module's file.
  SourceRange source(Location location) const;
};

// Calls f(op) for every operation in the region and in nested regions, the nested ones first.
template <typename F>
void walk(const Region& region, F&& f) {
  for (Op* op : region) {
    size_t regions = op->num_regions();
    for (size_t i = 0; i < regions; ++i) walk(op->nested(i), f);
    f(op);
  }
}

// Copies `op` (with its nested regions) to the end of `to`, or before `before`. `map` gives the new
// value for each value of the old function; results and nested arguments are added to it. Values
// missing from the map stay as they are.
class ValueMap {
 public:
  Value* lookup(Value* value) const;  // the mapped value, or value itself
  void set(Value* from, Value* to);

 private:
  std::vector<std::pair<Value*, Value*>> table_;  // open addressing
  size_t count_ = 0;
};
Op* clone(Op* op, Function& function, Region& to, ValueMap& map, Op* before = nullptr);
std::unique_ptr<Function> clone(const Function& function);

}  // namespace ullage
