#include "normalize/op_maker.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "support/check.h"

namespace ullage {

Op* OpMaker::op(OpKind kind, std::span<Value* const> operands, std::span<const Type> results,
                Attributes attributes, size_t num_regions) {
  return function_.create(*replaced_->region(), kind, operands, results, std::move(attributes),
                          replaced_->location, num_regions, replaced_);
}

Value* OpMaker::make(OpKind kind, std::initializer_list<Value*> operands, Type type,
                     Attributes attributes) {
  return op(kind, {operands.begin(), operands.size()}, {&type, 1}, std::move(attributes))->result();
}

Value* OpMaker::same(OpKind kind, std::initializer_list<Value*> operands) {
  return make(kind, operands, (*operands.begin())->type);
}

namespace {

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

void append_number(std::vector<std::byte>& bytes, DType dtype, double value) {
  if (dtype == DType::f64) return append(bytes, value);
  if (dtype == DType::f32) return append(bytes, static_cast<float>(value));
  if (is_complex(dtype)) {
    append_number(bytes, real_part(dtype), value);
    return append_number(bytes, real_part(dtype), 0);
  }
  ULLAGE_CHECK(is_int(dtype) || dtype == DType::i1, "a constant of another type");
  auto integer = static_cast<int64_t>(value);
  size_t at = bytes.size();
  append(bytes, integer);
  bytes.resize(at + static_cast<size_t>(storage_bytes(dtype)));  // little endian
}

}  // namespace

Value* OpMaker::splat(const Type& type, double value) {
  DType dtype = is_float(type.dtype) && bit_width(type.dtype) < 32 ? DType::f32 : type.dtype;
  std::vector<std::byte> bytes;
  append_number(bytes, dtype, value);
  Literal literal = Literal::make(Type::tensor(dtype, type.shape), std::move(bytes), true);
  Type made = literal.type;
  return convert(make(OpKind::constant, {}, made, ConstantAttributes{std::move(literal)}),
                 type.dtype);
}

Value* OpMaker::integer(const Type& type, int64_t value) {
  std::vector<std::byte> bytes(8);
  std::memcpy(bytes.data(), &value, 8);
  bytes.resize(static_cast<size_t>(storage_bytes(type.dtype)));
  Literal literal = Literal::make(Type::tensor(type.dtype, type.shape), std::move(bytes), true);
  return make(OpKind::constant, {}, literal.type, ConstantAttributes{literal});
}

Value* OpMaker::vector(DType dtype, std::span<const double> values) {
  std::vector<std::byte> bytes;
  for (double value : values) append_number(bytes, dtype, value);
  Literal literal =
      Literal::make(Type::tensor(dtype, {static_cast<int64_t>(values.size())}), std::move(bytes));
  return make(OpKind::constant, {}, literal.type, ConstantAttributes{literal});
}

Value* OpMaker::convert(Value* value, DType dtype) {
  if (value->type.dtype == dtype) return value;
  return make(OpKind::convert, {value}, Type::tensor(dtype, value->type.shape));
}

Value* OpMaker::broadcast(Value* value, const std::vector<int64_t>& shape, const Dims& dims) {
  DimsAttributes attributes;
  attributes.dims = dims;
  return make(OpKind::broadcast_in_dim, {value}, Type::tensor(value->type.dtype, shape),
              attributes);
}

Value* OpMaker::transpose(Value* value, const Dims& permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return value;
  DimsAttributes attributes;
  attributes.dims = permutation;
  Type type = value->type;
  for (size_t d = 0; d < permutation.size(); ++d)
    type.shape[d] = value->type.shape[static_cast<size_t>(permutation[d])];
  return make(OpKind::transpose, {value}, type, attributes);
}

Value* OpMaker::reshape(Value* value, const std::vector<int64_t>& shape) {
  if (value->type.shape == shape) return value;
  return make(OpKind::reshape, {value}, Type::tensor(value->type.dtype, shape));
}

Value* OpMaker::compare(CompareDirection direction, Value* a, Value* b) {
  CompareAttributes attributes;
  attributes.direction = direction;
  return make(OpKind::compare, {a, b}, Type::tensor(DType::i1, a->type.shape), attributes);
}

Value* OpMaker::sum(Value* value, const Dims& dims) {
  Type scalar = Type::tensor(value->type.dtype, {});
  Type result = scalar;
  for (size_t d = 0; d < value->type.shape.size(); ++d)
    if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) == dims.end())
      result.shape.push_back(value->type.shape[d]);
  std::array<Value*, 2> operands = {value, splat(scalar, 0)};
  DimsAttributes attributes;
  attributes.dims = dims;
  Op* reduce = op(OpKind::reduce, operands, {&result, 1}, attributes, 1);
  Region& body = reduce->nested(0);
  std::array<Value*, 2> arguments = {body.add_argument(scalar), body.add_argument(scalar)};
  Value* total =
      function_.create(body, OpKind::add, arguments, {&scalar, 1}, {}, replaced_->location)
          ->result();
  function_.create(body, OpKind::return_, {&total, 1}, {}, {}, replaced_->location);
  return reduce->result();
}

std::vector<Value*> OpMaker::repeat(int64_t trips, std::vector<Value*> values,
                                    const LoopBody& body) {
  Type number = Type::tensor(DType::i32, {});
  values.insert(values.begin(), integer(number, 0));
  std::vector<Type> types;
  for (Value* value : values) types.push_back(value->type);
  Op* loop = op(OpKind::while_, values, types, {}, 2);
  for (const Type& type : types) {
    loop->nested(0).add_argument(type);
    loop->nested(1).add_argument(type);
  }
  // Operations go before the terminator, which is told its operands last.
  auto fill = [&](Region& region, const std::function<std::vector<Value*>(OpMaker&)>& make) {
    Op* end = function_.create(region, OpKind::return_, {}, {}, {}, replaced_->location);
    OpMaker inside(function_, end);
    end->set_operands(make(inside));
  };
  fill(loop->nested(0), [&](OpMaker& inside) {
    return std::vector<Value*>{inside.compare(CompareDirection::lt, loop->nested(0).argument(0),
                                              inside.integer(number, trips))};
  });
  fill(loop->nested(1), [&](OpMaker& inside) {
    std::span<Value* const> arguments = loop->nested(1).arguments();
    std::vector<Value*> next = body(inside, arguments[0], arguments.subspan(1));
    next.insert(next.begin(), inside.same(OpKind::add, {arguments[0], inside.integer(number, 1)}));
    return next;
  });
  return {loop->results().begin() + 1, loop->results().end()};
}

void OpMaker::replace_with(std::span<Value* const> values) {
  for (size_t i = 0; i < values.size(); ++i) replaced_->result(i)->replace_all_uses_with(values[i]);
  replaced_->erase();
}

}  // namespace ullage
