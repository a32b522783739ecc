// The gradient of a rectifier under dropout chooses twice: by the mask of the dropout, and by the
// sign of what was rectified,
//   v = select(mask, max(h, 0) / keep, 0)                  forward
//   select(h > 0, select(mask, g, 0) / keep, 0)            backward
// and so needs the mask (random bits, to be drawn again or stored) and h. Both conditions hold
// exactly where v > 0, and v, which the layer's own product reads in its gradient, is there anyway:
//   select(v > 0, g / keep, 0)
// Dividing by at most one, or multiplying by at least one, turns no positive number into zero, so
// this is exact, also for infinities, subnormal numbers and NaN.
//
// Without dropout, h > 0 is max(h, 0) > 0. Where products read the rectified value forwards and in
// their gradient, it is there at least as long, and h can go at once.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "normalize/rewrite.h"

namespace ullage {

namespace {

// x of maximum(x, 0), or null.
Value* rectified(const Value* value) {
  const Op* op = value->op();
  if (!op || op->kind != OpKind::maximum) return nullptr;
  for (size_t i : {size_t{0}, size_t{1}})
    if (is_positive_zero(op->operand(1 - i))) return op->operand(i);
  return nullptr;
}

// x of x > 0, or null.
Value* tested_positive(const Value* value) {
  const Op* op = value->op();
  if (!op || op->kind != OpKind::compare) return nullptr;
  CompareDirection direction = op->as<CompareAttributes>().direction;
  if (direction == CompareDirection::gt && is_positive_zero(op->operand(1))) return op->operand(0);
  if (direction == CompareDirection::lt && is_positive_zero(op->operand(0))) return op->operand(1);
  return nullptr;
}

struct Scaled {
  Value* value = nullptr;
  double at_least = 1;  // the factor, as what is certain about it after rounding: x >= 1, or less
};

// A value times or divided by one positive number, as its factor; null if it is not made like that.
Scaled scaled(const Value* value) {
  const Op* op = value->op();
  if (!op || (op->kind != OpKind::multiply && op->kind != OpKind::divide)) return {};
  bool divides = op->kind == OpKind::divide;
  for (size_t i : {size_t{1}, size_t{0}}) {
    if (i == 0 && divides) break;
    std::optional<double> number = splat_number(op->operand(i));
    if (number && *number > 0 && std::isfinite(*number))
      return {op->operand(1 - i), divides ? (*number <= 1 ? 1.0 : 0.0) : *number};
  }
  return {};
}

class Chooser {
 public:
  Chooser(Function& function, Region& region) : function_(function), region_(region) {}

  void run() {
    for (Op* op : region_) {
      for (size_t i = 0; i < op->num_regions(); ++i) Chooser(function_, op->nested(i)).run();
      if (op->kind == OpKind::maximum) remember_rectified(op);
      if (op->kind == OpKind::compare) test_rectified(op);
      if (op->kind != OpKind::select || !is_positive_zero(op->operand(2)) ||
          op->operand(0)->type.rank() != op->operand(1)->type.rank() ||
          !is_ieee_float(op->result()->type.dtype))
        continue;
      remember(op);
      rewrite(op);
    }
  }

 private:
  static bool is_product(const Op* op) {
    return op->kind == OpKind::dot_general || op->kind == OpKind::convolution;
  }

  void remember_rectified(Op* maximum) {
    Value* input = rectified(maximum->result());
    if (!input || !is_ieee_float(input->type.dtype)) return;
    std::vector<Op*> readers = maximum->result()->users();
    if (std::count_if(readers.begin(), readers.end(), is_product) < 2) return;
    for (const Op* reader : input->users())
      if (reader != maximum &&
          (reader->num_results() != 1 || tested_positive(reader->result()) != input))
        return;
    rectified_.try_emplace(input, maximum->result());
  }

  void test_rectified(Op* compare) {
    Value* input = tested_positive(compare->result());
    auto known = rectified_.find(input);
    if (known == rectified_.end()) return;
    for (size_t i : {size_t{0}, size_t{1}})
      if (compare->operand(i) == input) compare->set_operand(i, known->second);
  }

  // Notes what select(mask, max(h, 0) * (at least 1), 0) tells about mask and h.
  void remember(Op* select) {
    Value* value = select->operand(1);
    if (Scaled factor = scaled(value); factor.value && factor.at_least >= 1) value = factor.value;
    if (Value* input = rectified(value))
      results_.try_emplace({select->operand(0), input}, select->result());
  }

  void rewrite(Op* outer) {
    Value* input = tested_positive(outer->operand(0));
    if (!input) return;
    Value* value = outer->operand(1);
    while (value->has_one_use() && scaled(value).value) value = scaled(value).value;
    Op* inner = value->op();
    if (!inner || inner->kind != OpKind::select || inner->region() != &region_ ||
        !value->has_one_use() || !is_positive_zero(inner->operand(2)))
      return;
    auto known = results_.find({inner->operand(0), input});
    if (known == results_.end()) return;
    std::array<Value*, 2> sides = {known->second, inner->operand(2)};
    if (sides[0]->type != sides[1]->type) return;
    CompareAttributes greater;
    greater.direction = CompareDirection::gt;
    Op* positive = function_.create(region_, OpKind::compare, sides, {&outer->operand(0)->type, 1},
                                    greater, outer->operand(0)->op()->location, 0, outer);
    outer->set_operand(0, positive->result());
    value->replace_all_uses_with(inner->operand(1));
    inner->erase();
  }

  Function& function_;
  Region& region_;
  std::map<std::pair<Value*, Value*>, Value*> results_;  // by mask and rectified value
  std::map<Value*, Value*> rectified_;  // by what is rectified, if only that and its sign count
};

// jax.nn.relu is a function of its own.
void inline_rectifiers(const Module& module, Function& function) {
  inline_into(module, function, [](const Op&, const Function& callee) {
    bool rectifies = false;
    for (Op* op : callee.body()) {
      rectifies |= op->kind == OpKind::maximum;
      if (op->kind != OpKind::maximum && op->kind != OpKind::constant &&
          op->kind != OpKind::broadcast_in_dim && !has_trait(op->kind, kTerminator))
        return false;
    }
    return rectifies;
  });
}

}  // namespace

Status choose_by_results(Module& module, const NormalizeOptions& options) {
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    bool chooses = false;
    walk(function->body(), [&](Op* op) { chooses |= op->kind == OpKind::select; });
    if (!chooses) continue;
    inline_rectifiers(module, *function);
    Chooser(*function, function->body()).run();
  }
  return Ok{};
}

}  // namespace ullage
