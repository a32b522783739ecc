// Reductions over a few elements become a chain of elementwise operations on slices, which fuse
// into whatever reads them, so that neither their operand nor their result needs memory. The chain
// goes in the order of the elements, from the initial value; narrow floats are summed in f32, as in
// the reductions that remain. Products that contract one element, outer products and scaled rows,
// become multiplications.
#include <algorithm>
#include <array>

#include "normalize/op_maker.h"
#include "normalize/rewrite.h"
#include "ops/combiner.h"

namespace ullage {

namespace {

constexpr int64_t kMaxElements = 16;

bool is_short(const Op& reduce) {
  if (reduce.kind != OpKind::reduce || reduce.num_results() != 1) return false;
  const Type& type = reduce.operand(0)->type;
  if (!type.is_tensor() || !type.is_static() || type.quantized || is_complex(type.dtype))
    return false;
  int64_t elements = 1;
  for (int64_t d : reduce.as<DimsAttributes>().dims) elements *= type.shape[static_cast<size_t>(d)];
  // A single result is made by one thread either way; leave it to the kernel made for it.
  if (reduce.result()->type.num_elements() < 2) return false;
  if (elements < 1 || elements > kMaxElements) return false;
  return plain_combiner(reduce).has_value();
}

class Unroller {
 public:
  Unroller(Function& function, Op* reduce) : function_(function), reduce_(reduce) {}

  void run() {
    OpKind combine = *plain_combiner(*reduce_);
    const Type& from = reduce_->operand(0)->type;
    const Dims& dims = reduce_->as<DimsAttributes>().dims;
    Type sum = reduce_->result()->type;
    bool narrow = is_float(sum.dtype) && bit_width(sum.dtype) < 32;
    if (narrow) sum.dtype = DType::f32;

    Value* total = make(OpKind::broadcast_in_dim, reduce_->operand(1), reduce_->result()->type,
                        DimsAttributes{});
    total = converted(total, sum.dtype);
    std::vector<int64_t> at(from.shape.size(), 0);
    for (;;) {
      SliceAttributes range;
      range.start = at;
      range.limit = from.shape;
      range.strides.assign(at.size(), 1);
      Type part = from;
      for (int64_t d : dims) {
        size_t i = static_cast<size_t>(d);
        range.limit[i] = at[i] + 1;
        part.shape[i] = 1;
      }
      Value* element = make(OpKind::slice, reduce_->operand(0), part, range);
      element = make(OpKind::reshape, element, reduce_->result()->type, {});
      element = converted(element, sum.dtype);
      std::array<Value*, 2> operands = {total, element};
      total = function_
                  .create(*reduce_->region(), combine, operands, {&sum, 1}, {}, reduce_->location,
                          0, reduce_)
                  ->result();
      size_t i = dims.size();
      while (i > 0) {
        size_t d = static_cast<size_t>(dims[i - 1]);
        if (++at[d] < from.shape[d]) break;
        at[d] = 0;
        --i;
      }
      if (i == 0) break;
    }
    reduce_->result()->replace_all_uses_with(converted(total, reduce_->result()->type.dtype));
    reduce_->erase();
  }

 private:
  Value* make(OpKind kind, Value* operand, const Type& type, Attributes attributes) {
    return function_
        .create(*reduce_->region(), kind, {&operand, 1}, {&type, 1}, std::move(attributes),
                reduce_->location, 0, reduce_)
        ->result();
  }

  Value* converted(Value* value, DType dtype) {
    if (value->type.dtype == dtype) return value;
    Type type = value->type;
    type.dtype = dtype;
    return make(OpKind::convert, value, type, {});
  }

  Function& function_;
  Op* reduce_;
};

// A product without a sum: of floats, into a type that holds theirs.
bool contracts_one_element(const Op& dot) {
  if (dot.kind != OpKind::dot_general || dot.as<DotAttributes>().algorithm) return false;
  const Type &lhs = dot.operand(0)->type, &rhs = dot.operand(1)->type, &out = dot.result()->type;
  for (const Type* type : {&lhs, &rhs, &out})
    if (!type->is_static() || type->quantized || !is_ieee_float(type->dtype)) return false;
  if (lhs.dtype != rhs.dtype ||
      (lhs.dtype != out.dtype && bit_width(lhs.dtype) >= bit_width(out.dtype)))
    return false;
  for (int64_t d : dot.as<DotAttributes>().lhs_contracting)
    if (lhs.shape[static_cast<size_t>(d)] != 1) return false;
  return out.num_elements() > 0;
}

// Zero is added as the sum would have been begun from it: it makes positive zeros of negative ones.
void multiply_instead(Function& function, Op* dot) {
  const auto attributes = dot->as<DotAttributes>();
  const Type out = dot->result()->type;
  OpMaker make(function, dot);
  DType dtype = out.dtype == DType::f64 ? DType::f64 : DType::f32;
  auto spread = [&](Value* value, const Dims& batching, const Dims& contracting, size_t first) {
    std::vector<int64_t> kept;
    Dims dims(batching.size());
    for (size_t d = 0; d < batching.size(); ++d) dims[d] = static_cast<int64_t>(d);
    Dims order = batching;
    for (int64_t d = 0; d < value->type.rank(); ++d) {
      auto among = [d](const Dims& list) {
        return std::find(list.begin(), list.end(), d) != list.end();
      };
      if (among(batching) || among(contracting)) continue;
      order.push_back(d);
      dims.push_back(static_cast<int64_t>(first++));
    }
    for (int64_t d : order) kept.push_back(value->type.shape[static_cast<size_t>(d)]);
    order.insert(order.end(), contracting.begin(), contracting.end());
    value = make.reshape(make.transpose(value, order), kept);
    return make.broadcast(make.convert(value, dtype), out.shape, dims);
  };
  size_t batches = attributes.lhs_batching.size();
  size_t rows = static_cast<size_t>(dot->operand(0)->type.rank()) - batches -
                attributes.lhs_contracting.size();
  Value* lhs =
      spread(dot->operand(0), attributes.lhs_batching, attributes.lhs_contracting, batches);
  Value* rhs =
      spread(dot->operand(1), attributes.rhs_batching, attributes.rhs_contracting, batches + rows);
  Value* product = make.same(OpKind::multiply, {lhs, rhs});
  Value* sum = make.same(OpKind::add, {product, make.splat(product->type, 0)});
  make.replace_with({make.convert(sum, out.dtype)});
}

}  // namespace

Status unroll_short_reductions(Module& module, const NormalizeOptions& options) {
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    std::vector<Op*> reductions, products;
    walk(function->body(), [&](Op* op) {
      if (is_short(*op)) reductions.push_back(op);
      if (contracts_one_element(*op)) products.push_back(op);
    });
    for (Op* op : reductions) Unroller(*function, op).run();
    for (Op* op : products) multiply_instead(*function, op);
  }
  return Ok{};
}

}  // namespace ullage
