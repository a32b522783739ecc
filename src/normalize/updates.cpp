// Updates that need not touch an array, or need no array at all:
//  - a scatter of one element for each row into an array of one value (the gradient of a lookup, a
//    one-hot code) is a comparison of indices, which whoever reads it computes on the way;
//  - a choice between an array before and after an update becomes an update of nothing, or of what
//    is there already, so that it can be made in place.
// Both leave every bit as it is.
#include <algorithm>
#include <array>

#include "normalize/rewrite.h"
#include "ops/combiner.h"

namespace ullage {

namespace {

bool contains(const Dims& dims, size_t d) {
  return std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
}

// Creates operations in front of one, with its location.
struct Maker {
  Function& function;
  Op* before;

  Value* make(OpKind kind, std::span<Value* const> operands, const Type& type,
              Attributes attributes = {}) {
    return function
        .create(*before->region(), kind, operands, {&type, 1}, std::move(attributes),
                before->location, 0, before)
        ->result();
  }
  Value* reshape(Value* value, std::vector<int64_t> shape) {
    return make(OpKind::reshape, {&value, 1}, Type::tensor(value->type.dtype, std::move(shape)));
  }
  Value* broadcast(Value* value, const std::vector<int64_t>& shape, Dims dims) {
    return make(OpKind::broadcast_in_dim, {&value, 1}, Type::tensor(value->type.dtype, shape),
                DimsAttributes{std::move(dims)});
  }
};

// A scatter whose body combines by one operation or keeps the update; nothing for other bodies.
struct Combination {
  std::optional<OpKind> kind;  // none: the update itself
};
std::optional<Combination> combination(const Op& scatter) {
  if (std::optional<OpKind> kind = plain_combiner(scatter)) return Combination{kind};
  const Region& body = scatter.nested();
  if (body.terminator()->operand(0) == body.argument(1)) return Combination{};
  return {};
}

class OneHot {
 public:
  OneHot(Function& function, Op* scatter)
      : maker_{function, scatter},
        scatter_(scatter),
        attributes_(scatter->as<ScatterAttributes>()) {}

  bool run() {
    std::optional<Combination> combine = fits();
    if (!combine) return false;
    Value* operand = scatter_->operand(0);
    Value* update = spread_update();
    Value* result = update;
    if (combine->kind) {
      std::array<Value*, 2> both = {operand, update};
      result = maker_.make(*combine->kind, both, operand->type);
    }
    std::array<Value*, 3> choice = {hits(), result, operand};
    scatter_->result()->replace_all_uses_with(maker_.make(OpKind::select, choice, operand->type));
    scatter_->erase();
    return true;
  }

 private:
  std::optional<Combination> fits() const {
    if (scatter_->num_results() != 1) return {};
    const Type& operand = scatter_->operand(0)->type;
    const Type& indices = scatter_->operand(1)->type;
    const Type& update = scatter_->operand(2)->type;
    if (!operand.is_static() || !indices.is_static() || operand.quantized ||
        is_complex(operand.dtype) || operand.num_elements() == 0 ||
        attributes_.scatter_dims_to_operand_dims.empty())
      return {};
    const Literal* constant = constant_value(scatter_->operand(0));
    const Op* made = scatter_->operand(0)->op();
    bool one_value =
        (constant && constant->splat) || (made && made->kind == OpKind::broadcast_in_dim &&
                                          made->operand(0)->type.num_elements() == 1);
    if (!one_value) return {};
    // One index for each row: what is not a batch has a single element.
    for (size_t d = 0; d < indices.shape.size(); ++d)
      if (static_cast<int64_t>(d) != attributes_.index_vector_dim &&
          !contains(attributes_.scatter_indices_batching_dims, d) && indices.shape[d] != 1)
        return {};
    // Windows are one element at the index, and everything elsewhere.
    size_t window = 0;
    for (size_t d = 0; d < operand.shape.size(); ++d) {
      bool scattered = contains(attributes_.scatter_dims_to_operand_dims, d);
      if (contains(attributes_.input_batching_dims, d)) continue;
      if (contains(attributes_.inserted_window_dims, d)) {
        if (!scattered) return {};
        // The numbers of the elements must exist in the type of the indices.
        if (bit_width(indices.dtype) < 32 || operand.shape[d] > INT32_MAX) return {};
      } else {
        int64_t u = attributes_.update_window_dims[window++];
        if (scattered || update.shape[static_cast<size_t>(u)] != operand.shape[d]) return {};
      }
    }
    return combination(*scatter_);
  }

  // The update of each row, at all its elements.
  Value* spread_update() {
    const std::vector<int64_t>& shape = scatter_->operand(0)->type.shape;
    const Type& update = scatter_->operand(2)->type;
    std::vector<int64_t> kept;
    Dims dims;
    size_t index_dim = 0, window = 0;
    for (size_t u = 0; u < update.shape.size(); ++u) {
      if (contains(attributes_.update_window_dims, u)) {
        kept.push_back(update.shape[u]);
        dims.push_back(window_dim(window++));
        continue;
      }
      if (static_cast<int64_t>(index_dim) == attributes_.index_vector_dim) ++index_dim;
      if (std::optional<int64_t> d = batch_dim(index_dim++)) {
        kept.push_back(update.shape[u]);
        dims.push_back(*d);
      }
    }
    return maker_.broadcast(maker_.reshape(scatter_->operand(2), kept), shape, dims);
  }

  // Operand dimension number `window` of those that windows cover.
  int64_t window_dim(size_t window) const {
    for (size_t d = 0;; ++d)
      if (!contains(attributes_.input_batching_dims, d) &&
          !contains(attributes_.inserted_window_dims, d) && window-- == 0)
        return static_cast<int64_t>(d);
  }

  // The operand's batch dimension that goes with one of the indices.
  std::optional<int64_t> batch_dim(size_t index_dim) const {
    const Dims& dims = attributes_.scatter_indices_batching_dims;
    auto at = std::find(dims.begin(), dims.end(), static_cast<int64_t>(index_dim));
    if (at == dims.end()) return {};
    return attributes_.input_batching_dims[static_cast<size_t>(at - dims.begin())];
  }

  // Where the row's index is. An index out of bounds hits nothing, as the specification wants it.
  Value* hits() {
    const std::vector<int64_t>& shape = scatter_->operand(0)->type.shape;
    Value* all = nullptr;
    for (size_t c = 0; c < attributes_.scatter_dims_to_operand_dims.size(); ++c) {
      Value* index = component(c);
      Type numbers = Type::tensor(index->type.dtype, shape);
      std::array<Value*, 2> sides = {
          maker_.make(OpKind::iota, {}, numbers,
                      DimAttributes{attributes_.scatter_dims_to_operand_dims[c]}),
          index};
      Type predicate = Type::tensor(DType::i1, shape);
      CompareAttributes equal;
      equal.direction = CompareDirection::eq;
      Value* hit = maker_.make(OpKind::compare, sides, predicate, equal);
      if (all) {
        std::array<Value*, 2> both = {all, hit};
        hit = maker_.make(OpKind::and_, both, predicate);
      }
      all = hit;
    }
    return all;
  }

  // Component c of each row's index, at all elements of the row.
  Value* component(size_t c) {
    Value* indices = scatter_->operand(1);
    const std::vector<int64_t>& shape = indices->type.shape;
    size_t vector_dim = static_cast<size_t>(attributes_.index_vector_dim);
    if (vector_dim < shape.size() && shape[vector_dim] > 1) {
      SliceAttributes range;
      range.start.assign(shape.size(), 0);
      range.limit = shape;
      range.strides.assign(shape.size(), 1);
      range.start[vector_dim] = static_cast<int64_t>(c);
      range.limit[vector_dim] = static_cast<int64_t>(c) + 1;
      Type type = indices->type;
      type.shape[vector_dim] = 1;
      indices = maker_.make(OpKind::slice, {&indices, 1}, type, range);
    }
    std::vector<int64_t> kept;
    Dims dims;
    for (size_t d = 0; d < shape.size(); ++d)
      if (std::optional<int64_t> batch = batch_dim(d)) {
        kept.push_back(shape[d]);
        dims.push_back(*batch);
      }
    return maker_.broadcast(maker_.reshape(indices, kept), scatter_->operand(0)->type.shape, dims);
  }

  Maker maker_;
  Op* scatter_;
  const ScatterAttributes attributes_;
};

// The scalar that decides for all elements, if there is one.
Value* scalar_predicate(Value* predicate) {
  const Op* op = predicate->op();
  if (op && op->kind == OpKind::broadcast_in_dim && op->operand(0)->type.rank() == 0)
    predicate = op->operand(0);
  return predicate->type.rank() == 0 ? predicate : nullptr;
}

// select(p, update(x, ...), x) and select(p, x, update(x, ...)).
class ChosenUpdate {
 public:
  ChosenUpdate(Function& function, Op* select) : maker_{function, select}, select_(select) {}

  bool run() {
    Value* predicate = scalar_predicate(select_->operand(0));
    if (!predicate) return false;
    for (size_t side : {size_t{1}, size_t{2}}) {
      Op* update = select_->operand(side)->op();
      if (!update || update->region() != select_->region() || update->num_results() != 1 ||
          !update->result()->has_one_use() || update->num_operands() < 3 ||
          (update->kind != OpKind::scatter && update->kind != OpKind::dynamic_update_slice) ||
          update->operand(0) != select_->operand(3 - side))
        continue;
      if (update->kind == OpKind::scatter && !has_outside(*update)) continue;
      if (side == 2) predicate = maker_.make(OpKind::not_, {&predicate, 1}, predicate->type);
      update->move_before(select_);
      maker_.before = update;
      if (update->kind == OpKind::scatter)
        aim(*update, predicate);
      else
        restore(*update, predicate);
      select_->result()->replace_all_uses_with(update->result());
      select_->erase();
      return true;
    }
    return false;
  }

 private:
  Value* choose(Value* predicate, Value* then, Value* otherwise) {
    std::array<Value*, 3> operands = {predicate, then, otherwise};
    return maker_.make(OpKind::select, operands, then->type);
  }

  // Whether an index with only the highest bit set is out of bounds, as far as windows reach.
  static bool has_outside(const Op& scatter) {
    const Type& array = scatter.operand(0)->type;
    return bit_width(scatter.operand(1)->type.dtype) >= 32 && array.is_static() &&
           std::all_of(array.shape.begin(), array.shape.end(),
                       [](int64_t extent) { return extent <= INT32_MAX; });
  }

  // Not chosen, a scatter gets indices that are out of bounds by more than its windows have
  // elements: the least signed number, or more than an array has.
  void aim(Op& scatter, Value* predicate) {
    Value* indices = scatter.operand(1);
    std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(indices->type.dtype)));
    bytes.back() = std::byte{0x80};
    Literal outside = Literal::make(indices->type, std::move(bytes), true);
    Value* nowhere =
        maker_.make(OpKind::constant, {}, indices->type, ConstantAttributes{std::move(outside)});
    scatter.set_operand(1, choose(predicate, indices, nowhere));
    scatter.as<ScatterAttributes>().unique_indices = false;
  }

  // Not chosen, an update of a slice writes what is there.
  void restore(Op& update, Value* predicate) {
    std::vector<Value*> operands = update.operands();
    operands.erase(operands.begin() + 1);
    const Type& part = update.operand(1)->type;
    Value* there = maker_.make(OpKind::dynamic_slice, operands, part, DimsAttributes{part.shape});
    update.set_operand(1, choose(predicate, update.operand(1), there));
  }

  Maker maker_;
  Op* select_;
};

// jnp.where is a function of its own.
void inline_choices(const Module& module, Function& function) {
  inline_into(module, function, [](const Op&, const Function& callee) {
    bool chooses = false;
    for (Op* op : callee.body()) {
      chooses |= op->kind == OpKind::select;
      if (op->kind != OpKind::select && op->kind != OpKind::broadcast_in_dim &&
          op->kind != OpKind::convert && !has_trait(op->kind, kTerminator))
        return false;
    }
    return chooses;
  });
}

}  // namespace

Status simplify_updates(Module& module, const NormalizeOptions& options) {
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    std::vector<Op*> scatters, choices;
    bool updates = false;
    walk(function->body(), [&](Op* op) {
      if (op->kind == OpKind::scatter) scatters.push_back(op);
      updates |= op->kind == OpKind::scatter || op->kind == OpKind::dynamic_update_slice;
    });
    if (!updates) continue;
    for (Op* op : scatters) OneHot(*function, op).run();
    inline_choices(module, *function);
    walk(function->body(), [&](Op* op) {
      if (op->kind == OpKind::select) choices.push_back(op);
    });
    for (Op* op : choices) ChosenUpdate(*function, op).run();
  }
  return Ok{};
}

}  // namespace ullage
