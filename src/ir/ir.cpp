#include "ir/ir.h"

#include "support/check.h"

namespace ullage {

size_t Value::num_uses() const {
  size_t count = 0;
  for (const Use* use = first_use_; use; use = use->next) ++count;
  return count;
}

std::vector<Op*> Value::users() const {
  std::vector<Op*> out;
  for (const Use* use = first_use_; use; use = use->next) out.push_back(use->owner);
  return out;
}

void Value::replace_all_uses_with(Value* other) {
  if (other == this) return;
  while (first_use_) first_use_->owner->set_operand(first_use_->index, other);
}

Value* Region::add_argument(Type type, Location location, std::string name) {
  Value* value = function_->new_value();
  value->type = std::move(type);
  value->location = location;
  value->name = std::move(name);
  value->region_ = this;
  value->index_ = static_cast<uint32_t>(arguments_.size());
  arguments_.push_back(value);
  return value;
}

void Region::erase_argument(size_t i) {
  ULLAGE_CHECK(!arguments_[i]->has_uses(), "erased argument is still used");
  arguments_.erase(arguments_.begin() + static_cast<ptrdiff_t>(i));
  for (size_t k = i; k < arguments_.size(); ++k) arguments_[k]->index_ = static_cast<uint32_t>(k);
}

Op* Region::terminator() const {
  return last_ && has_trait(last_->kind, kTerminator) ? last_ : nullptr;
}

Region::Iterator& Region::Iterator::operator++() {
  at = next;
  next = at ? at->next() : nullptr;
  return *this;
}

Region::Iterator Region::begin() const {
  return {first_, first_ ? first_->next() : nullptr};
}

std::vector<Value*> Op::operands() const {
  std::vector<Value*> out(num_operands_);
  for (size_t i = 0; i < num_operands_; ++i) out[i] = operands_[i].value;
  return out;
}

static void unlink_use(Use& use) {
  if (!use.value) return;
  *use.link = use.next;
  if (use.next) use.next->link = use.link;
  use.value = nullptr;
}

void Op::set_operand(size_t i, Value* value) {
  Use& use = operands_[i];
  unlink_use(use);
  use.value = value;
  use.owner = this;
  use.index = static_cast<uint32_t>(i);
  use.next = value->first_use_;
  use.link = &value->first_use_;
  if (use.next) use.next->link = &use.next;
  value->first_use_ = &use;
}

void Op::set_operands(std::span<Value* const> values) {
  std::vector<Value*> copy(values.begin(), values.end());
  drop_operands();
  num_operands_ = copy.size();
  operands_ = copy.empty() ? nullptr : std::make_unique<Use[]>(copy.size());
  for (size_t i = 0; i < copy.size(); ++i) set_operand(i, copy[i]);
}

void Op::drop_operands() {
  for (size_t i = 0; i < num_operands_; ++i) unlink_use(operands_[i]);
  num_operands_ = 0;
  operands_.reset();
}

void Op::link(Region* region, Op* before) {
  region_ = region;
  next_ = before;
  prev_ = before ? before->prev_ : region->last_;
  (prev_ ? prev_->next_ : region->first_) = this;
  (next_ ? next_->prev_ : region->last_) = this;
}

void Op::unlink() {
  (prev_ ? prev_->next_ : region_->first_) = next_;
  (next_ ? next_->prev_ : region_->last_) = prev_;
  region_ = nullptr;
  prev_ = next_ = nullptr;
}

void Op::move_before(Op* other) {
  Region* region = other->region_;
  unlink();
  link(region, other);
}

void Op::erase() {
  for (Value* result : results_)
    ULLAGE_CHECK(!result->has_uses(), "erased operation is still used");
  for (Region* region : regions_)
    while (region->last_) region->last_->erase();
  drop_operands();
  unlink();
}

Function::Function(std::string name) : name(std::move(name)) {
  body_ = new_region(nullptr);
}

Value* Function::new_value() {
  return &values_.emplace_back();
}

Region* Function::new_region(Op* parent) {
  Region& region = regions_.emplace_back();
  region.function_ = this;
  region.parent_ = parent;
  return &region;
}

Value* Function::add_argument(Type type, ArgumentInfo info, Location location, std::string name) {
  argument_info.push_back(std::move(info));
  return body_->add_argument(std::move(type), location, std::move(name));
}

Op* Function::create(Region& region, OpKind kind, std::span<Value* const> operands,
                     std::span<const Type> result_types, Attributes attributes, Location location,
                     size_t num_regions, Op* before) {
  Op& op = ops_.emplace_back();
  op.kind = kind;
  op.attributes = std::move(attributes);
  op.location = location;
  op.set_operands(operands);
  add_results(&op, result_types);
  for (size_t i = 0; i < num_regions; ++i) add_region(&op);
  op.link(&region, before);
  return &op;
}

Region* Function::add_region(Op* op) {
  op->regions_.push_back(new_region(op));
  return op->regions_.back();
}

void Function::add_results(Op* op, std::span<const Type> types) {
  op->results_.reserve(op->results_.size() + types.size());
  for (const Type& type : types) {
    Value* value = new_value();
    value->type = type;
    value->location = op->location;
    value->op_ = op;
    value->index_ = static_cast<uint32_t>(op->results_.size());
    op->results_.push_back(value);
  }
}

Function* Module::find(std::string_view name) const {
  for (const auto& function : functions)
    if (function->name == name) return function.get();
  return nullptr;
}

Function* Module::entry() const {
  if (Function* main = find("main")) return main;
  Function* only = nullptr;
  for (const auto& function : functions) {
    if (!function->is_public) continue;
    if (only) return nullptr;
    only = function.get();
  }
  return only;
}

SourceRange Module::source(Location location) const {
  SourceRange range = locations.source(location);
  if (!range.known()) range.file = file;
  return range;
}

static size_t slot_of(const Value* value, size_t size) {
  return (reinterpret_cast<size_t>(value) >> 4) * 0x9E3779B97F4A7C15ull & (size - 1);
}

Value* ValueMap::lookup(Value* value) const {
  if (table_.empty()) return value;
  for (size_t i = slot_of(value, table_.size());; i = (i + 1) & (table_.size() - 1)) {
    if (table_[i].first == value) return table_[i].second;
    if (!table_[i].first) return value;
  }
}

void ValueMap::set(Value* from, Value* to) {
  if (count_ * 2 >= table_.size()) {
    std::vector<std::pair<Value*, Value*>> old(std::max<size_t>(64, table_.size() * 2));
    old.swap(table_);
    count_ = 0;
    for (auto [key, value] : old)
      if (key) set(key, value);
  }
  size_t i = slot_of(from, table_.size());
  while (table_[i].first && table_[i].first != from) i = (i + 1) & (table_.size() - 1);
  if (!table_[i].first) ++count_;
  table_[i] = {from, to};
}

Op* clone(Op* op, Function& function, Region& to, ValueMap& map, Op* before) {
  std::vector<Value*> operands = op->operands();
  for (Value*& operand : operands) operand = map.lookup(operand);
  std::vector<Type> types;
  types.reserve(op->num_results());
  for (Value* result : op->results()) types.push_back(result->type);
  Op* copy = function.create(to, op->kind, operands, types, op->attributes, op->location,
                             op->num_regions(), before);
  copy->extra = op->extra;
  for (size_t i = 0; i < op->num_results(); ++i) {
    copy->result(i)->name = op->result(i)->name;
    copy->result(i)->location = op->result(i)->location;
    map.set(op->result(i), copy->result(i));
  }
  for (size_t i = 0; i < op->num_regions(); ++i) {
    for (Value* argument : op->nested(i).arguments())
      map.set(argument,
              copy->nested(i).add_argument(argument->type, argument->location, argument->name));
    for (Op* inner : op->nested(i)) clone(inner, function, copy->nested(i), map);
  }
  return copy;
}

std::unique_ptr<Function> clone(const Function& function) {
  auto copy = std::make_unique<Function>(function.name);
  copy->is_public = function.is_public;
  copy->result_types = function.result_types;
  copy->result_extra = function.result_extra;
  copy->extra = function.extra;
  copy->location = function.location;
  ValueMap map;
  for (size_t i = 0; i < function.body().arguments().size(); ++i) {
    Value* argument = function.body().argument(i);
    map.set(argument, copy->add_argument(argument->type, function.argument_info[i],
                                         argument->location, argument->name));
  }
  for (Op* op : function.body()) clone(op, *copy, copy->body(), map);
  return copy;
}

}  // namespace ullage
