// Reductions over a few elements become a chain of elementwise operations on slices, which fuse
// into whatever reads them, so that neither their operand nor their result needs memory. The chain
// goes in the order of the elements, from the initial value; narrow floats are summed in f32, as in
// the reductions that remain.
#include <array>

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

}  // namespace

Status unroll_short_reductions(Module& module, const NormalizeOptions& options) {
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    std::vector<Op*> reductions;
    walk(function->body(), [&](Op* op) {
      if (is_short(*op)) reductions.push_back(op);
    });
    for (Op* op : reductions) Unroller(*function, op).run();
  }
  return Ok{};
}

}  // namespace ullage
