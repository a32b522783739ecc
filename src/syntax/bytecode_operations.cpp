// Operations and regions. Values are numbered: a region's values follow all values of the regions
// around it, arguments first, and give their numbers back at its end.
#include <fmt/format.h>

#include <algorithm>

#include "syntax/bytecode_reader.h"
#include "syntax/describe.h"
#include "syntax/structure.h"

namespace ullage::syntax {

namespace {

enum Mask : uint8_t {
  kDiscardable = 0x01,
  kResults = 0x02,
  kOperands = 0x04,
  kSuccessors = 0x08,
  kRegions = 0x10,
  kUseOrders = 0x20,
  kProperties = 0x40,
};

}  // namespace

BytecodeReader::Nesting::Nesting(BytecodeReader& reader, size_t at, int limit) : reader_(reader) {
  if (++reader_.nesting_ > limit) reader_.fail(at, fmt::format("nested more than {} deep", limit));
}

void BytecodeReader::read_properties(uint32_t index, const BytecodeOp& op,
                                     std::vector<uint32_t>& out) {
  const ByteRange range = container_.properties[index];
  Cursor c(bytes_, range.begin, range.end, failure_);
  for (size_t i = 0; i < op.properties.size() && !failed(); ++i) {
    if (op.role != BytecodeOp::Role::module) {
      out.push_back(attribute_index(c, op.properties[i]));
      continue;
    }
    // Those of a module may be absent.
    bool present = false;
    const uint32_t found = c.flagged_index(op.properties[i], container_.attributes.size(), present);
    out.push_back(present ? found : UINT32_MAX);
  }
  c.expect_end("these properties");
}

// Everything of an operation before its regions.
void BytecodeReader::header(Cursor& c, OpHeader& out) {
  out.at = c.offset();
  out.discardable.reset();
  out.properties.clear();
  out.result_types.clear();
  out.operands.clear();
  out.regions = 0;
  out.isolated = false;
  const uint32_t name = c.index("an operation", ops_.size());
  out.mask = c.byte("the parts of an operation");
  const uint32_t where = attribute_index(c, "the location of an operation");
  if (failed()) return;
  out.op = &ops_[name];
  if (out.op->role == BytecodeOp::Role::unknown)
    return fail(out.at, fmt::format("unknown operation {}", out.op->name));
  out.location = location(where);
  if (out.mask & kDiscardable)
    out.discardable = attribute_index(c, "the attributes of an operation");
  std::optional<uint32_t> properties;
  if (out.mask & kProperties)
    properties = c.index("the properties of an operation", container_.properties.size());
  if (out.mask & kResults) {
    const size_t count = c.count("the number of results");
    for (size_t i = 0; i < count && !failed(); ++i)
      out.result_types.push_back(type_index(c, "the type of a result"));
  }
  if (out.mask & kOperands) {
    const size_t count = c.count("the number of operands");
    for (size_t i = 0; i < count && !failed(); ++i) out.operands.push_back(operand(c));
  }
  if (failed()) return;
  if (out.mask & kSuccessors)
    return fail(c.offset(), "operations with successor blocks are not supported");
  if (out.mask & kUseOrders) skip_use_orders(c, out.result_types.size());
  if (out.mask & kRegions) out.regions = c.flagged_count("the number of regions", out.isolated);
  if (failed()) return;
  if (properties)
    read_properties(*properties, *out.op, out.properties);
  else if (out.op->role == BytecodeOp::Role::module)
    out.properties.assign(out.op->properties.size(), UINT32_MAX);
  else if (!out.op->properties.empty())
    fail(out.at, fmt::format("expected the properties of {}", out.op->name));
}

// The order of uses in memory, which means nothing here.
void BytecodeReader::skip_use_orders(Cursor& c, size_t values) {
  const size_t entries = values > 1 ? c.count("the number of orders of uses") : 1;
  for (size_t i = 0; i < entries && !failed(); ++i) {
    if (values > 1) c.index("a value with an order of uses", values);
    bool pairs = false;
    const size_t count = c.flagged_count("the number of uses", pairs);
    for (size_t k = 0; k < count && !failed(); ++k) c.varint("a use");
  }
}

Value* BytecodeReader::operand(Cursor& c) {
  const size_t at = c.offset();
  const uint64_t number = c.varint("an operand");
  if (failed()) return nullptr;
  if (number < values_.size() - std::min(values_base_, values_.size()))
    if (Value* value = values_[values_base_ + number]) return value;
  fail(at, fmt::format("expected a value that is defined above, found number {}", number));
  return nullptr;
}

void BytecodeReader::define(Value* value, Numbers& numbers, size_t at) {
  if (numbers.next == numbers.limit)
    return fail(at, "this region defines more values than it says");
  if (numbers.next >= values_.size()) values_.resize(numbers.next + 1);
  values_[numbers.next++] = value;
}

// Changes the dialect of types, which are the same here.
void BytecodeReader::cast(const OpHeader& header, Numbers& numbers) {
  if (header.regions != 0 || header.operands.size() != header.result_types.size())
    return fail(header.at,
                fmt::format("{} takes as many operands as it has results, not {} and {}",
                            header.op->name, header.operands.size(), header.result_types.size()));
  for (size_t i = 0; i < header.operands.size() && !failed(); ++i) {
    const Type& type = value_type(header.result_types[i], header.at);
    if (failed()) return;
    if (!(header.operands[i]->type == type))
      return fail(header.at, fmt::format("a value of type {} cannot be cast to {}",
                                         to_string(header.operands[i]->type), to_string(type)));
    define(header.operands[i], numbers, header.at);
  }
}

void BytecodeReader::operation(Cursor& c, Region& region, Numbers& numbers, OpKind terminator) {
  using Role = BytecodeOp::Role;
  const auto depth = static_cast<size_t>(nesting_);
  if (headers_.size() <= depth) headers_.resize(depth + 1);
  OpHeader& head = headers_[depth];
  header(c, head);
  if (failed()) return;
  const BytecodeOp& op = *head.op;
  if (op.role == Role::cast) return cast(head, numbers);
  if (op.role != Role::operation && op.role != Role::terminator)
    return fail(head.at, fmt::format("{} cannot stand inside a function", op.name));
  OpKind kind = op.kind;
  if (op.role == Role::terminator && terminator == OpKind::func_return) kind = terminator;
  if (has_trait(kind, kTerminator) && kind != terminator)
    return fail(head.at, fmt::format("{} does not end a region of this kind", op.name));
  std::string wrong = wrong_operand_count(kind, head.operands.size());
  if (wrong.empty()) wrong = wrong_result_count(kind, head.result_types.size());
  if (wrong.empty()) wrong = wrong_region_count(kind, head.regions);
  if (!wrong.empty()) return fail(head.at, std::move(wrong));

  std::vector<Type> several;
  std::span<const Type> types;
  if (head.result_types.size() == 1) {
    types = {&value_type(head.result_types[0], head.at), 1};
  } else {
    for (uint32_t index : head.result_types) {
      several.push_back(value_type(index, head.at));
      if (failed()) return;
    }
    types = several;
  }
  if (failed()) return;
  Op* made = function_->create(region, kind, head.operands, types, {}, head.location);
  read_attributes(kind, op, head.properties, head.at, made->attributes, made->extra);
  if (head.discardable) {
    NamedAttributes more = kept(*head.discardable, {"attributes", op.name});
    NamedAttributes& extra = made->extra;
    extra.insert(extra.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
    std::sort(extra.begin(), extra.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
  }
  if (failed()) return;
  for (Value* result : made->results()) result->location = head.location;
  if (refers_to_functions(kind)) {
    calls_.push_back(made);
    calls_at_.push_back(head.at);
  }
  // Results are numbered before what stands in regions, but may not be used there.
  const size_t at = head.at;
  Numbers results = numbers;
  for (size_t i = 0; i < made->num_results(); ++i) define(nullptr, numbers, at);
  if (head.regions != 0) {
    std::vector<Region*> inner;
    for (size_t i = 0; i < head.regions; ++i) inner.push_back(function_->add_region(made));
    if (head.isolated)
      isolated_regions(c, inner, terminator_of(kind), made->location);
    else
      for (Region* nested : inner) this->region(c, *nested, terminator_of(kind), made->location);
  }
  for (Value* result : made->results()) {
    if (failed()) return;
    define(result, results, at);
  }
}

// -- Regions

// The number of operations of the one block.
size_t BytecodeReader::block_header(Cursor& c, bool& has_arguments) {
  const size_t at = c.offset();
  const size_t count = c.flagged_count("the number of operations", has_arguments);
  if (!failed() && count == 0) fail(at, "expected operations in this block");
  return count;
}

void BytecodeReader::block_arguments(Cursor& c, Region& out, Numbers& numbers,
                                     Location of_operation) {
  const size_t count = c.count("the number of arguments");
  for (size_t i = 0; i < count && !failed(); ++i) {
    const size_t at = c.offset();
    bool has_location = false;
    const uint32_t index =
        c.flagged_index("the type of an argument", container_.types.size(), has_location);
    Location where;
    if (has_location) where = location(attribute_index(c, "the location of an argument"));
    if (failed()) return;
    const Type& type = value_type(index, at);
    if (failed()) return;
    // A place in the user's file is worth more than a bare name.
    if (where == Location{} || !module_->locations.source(where).known())
      where = of_operation == Location{} ? where : of_operation;
    define(out.add_argument(type, where), numbers, at);
  }
  if (c.byte("whether arguments have orders of uses") != 0) skip_use_orders(c, count);
}

// Regions that do not see the values around them stand in a section and count from zero.
void BytecodeReader::isolated_regions(Cursor& c, std::span<Region* const> regions,
                                      OpKind terminator, Location of_operation) {
  const size_t at = c.offset();
  const Section section = read_section(c);
  if (failed()) return;
  if (section.id != kIrSection) return fail(at, "expected the section of isolated regions");
  Cursor inner(bytes_, section.content.begin, section.content.end, failure_);
  const size_t base = values_base_;
  values_base_ = values_end_;
  for (Region* nested : regions) region(inner, *nested, terminator, of_operation);
  inner.expect_end("these regions");
  values_base_ = base;
}

void BytecodeReader::region(Cursor& c, Region& out, OpKind terminator, Location of_operation) {
  const size_t begin = c.offset();
  Nesting nesting(*this, begin);
  const uint64_t blocks = c.varint("the number of blocks");
  if (failed()) return;
  if (blocks == 0 && terminator == OpKind::func_return)
    return fail(begin, fmt::format("the function @{} has no body", function_->name),
                "only functions with a body are supported");
  if (blocks != 1)
    return fail(begin, fmt::format("expected a region of one block, found {}", blocks));
  const size_t at = c.offset();
  const uint64_t values = c.varint("the number of values of a region");
  // Every value takes a byte or more somewhere.
  if (values > bytes_.size() - values_end_)
    return fail(at, fmt::format("{} values are more than this file can hold", values));
  const size_t first = values_end_;
  Numbers numbers{first, first + values};
  values_end_ = numbers.limit;
  bool has_arguments = false;
  const size_t count = block_header(c, has_arguments);
  if (has_arguments && !failed()) block_arguments(c, out, numbers, of_operation);
  for (size_t i = 0; i < count && !failed(); ++i) {
    if (out.terminator())
      return fail(c.offset(), fmt::format("{} must be the last operation of its region",
                                          out.terminator()->mnemonic()));
    operation(c, out, numbers, terminator);
  }
  if (failed()) return;
  if (!out.terminator())
    return fail(c.offset(),
                fmt::format("this region does not end with {}", info(terminator).mnemonic));
  if (numbers.next != numbers.limit)
    return fail(at, fmt::format("expected a region with {} values, found {}", values,
                                numbers.next - first));
  std::fill(values_.begin() + static_cast<ptrdiff_t>(first),
            values_.begin() + static_cast<ptrdiff_t>(numbers.next), nullptr);
  values_end_ = first;
}

}  // namespace ullage::syntax
