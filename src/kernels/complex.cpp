// Elementwise operations on complex numbers, as expressions of their real and imaginary parts.
// Single precision goes by way of f64 where squares or quotients could overflow or cancel.
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/expr_builder.h"

namespace ullage {

void add_output(std::vector<KernelOutput>& outputs, DType dtype, int32_t result,
                const std::vector<int32_t>& nodes, const Access& store) {
  if (!is_complex(dtype)) {
    // Alone, or among others of which some have parts.
    bool counted = result != static_cast<int32_t>(outputs.size());
    outputs.push_back({nodes[0], store, counted ? result : -1});
    return;
  }
  for (int32_t part = 0; part < 2; ++part) {
    Access at = store;
    at.affine.constant = 2 * store.affine.constant + part;
    for (int64_t& c : at.affine.coefficients) c *= 2;
    for (Access::Dynamic& term : at.dynamic) term.stride *= 2;
    outputs.push_back({nodes[static_cast<size_t>(part)], at, result});
  }
}

std::vector<int32_t> ExprBuilder::evaluate_parts(Value* value, const IndexVector& index,
                                                 int32_t guard) {
  std::vector<int32_t> out;
  for (int32_t part = 0; part < parts(value->type.dtype); ++part) {
    std::optional<int32_t> node = evaluate(value, index, guard, part);
    if (!node) return {};
    out.push_back(*node);
  }
  return out;
}

namespace {

// One element: of a real number the imaginary part is zero.
struct Number {
  int32_t re = -1, im = -1;
};

// Arithmetic on nodes of one real type.
class Arithmetic {
 public:
  Arithmetic(Expr& expr, DType type) : expr_(expr), type_(type) {}

  int32_t op(OpKind kind, int32_t a, int32_t b = -1, int32_t c = -1) const {
    return node(kind, type_, a, b, c);
  }
  int32_t node(OpKind kind, DType dtype, int32_t a, int32_t b = -1, int32_t c = -1) const {
    ExprNode out;
    out.op = kind;
    out.dtype = dtype;
    out.operands = {a, b, c};
    return expr_.add(out);
  }
  int32_t add(int32_t a, int32_t b) const { return op(OpKind::add, a, b); }
  int32_t sub(int32_t a, int32_t b) const { return op(OpKind::subtract, a, b); }
  int32_t mul(int32_t a, int32_t b) const { return op(OpKind::multiply, a, b); }
  int32_t div(int32_t a, int32_t b) const { return op(OpKind::divide, a, b); }
  int32_t choose(int32_t condition, int32_t a, int32_t b) const {
    return op(OpKind::select, condition, a, b);
  }
  int32_t compare(CompareDirection direction, int32_t a, int32_t b) const {
    ExprNode out;
    out.op = OpKind::compare;
    out.dtype = DType::i1;
    out.direction = direction;
    out.operands = {a, b, -1};
    return expr_.add(out);
  }
  int32_t both(int32_t a, int32_t b) const { return node(OpKind::and_, DType::i1, a, b); }
  int32_t constant(double value) const {
    ExprNode out;
    out.kind = ExprNode::Kind::constant;
    out.dtype = type_;
    if (type_ == DType::f64) {
      std::memcpy(out.bits.data(), &value, sizeof value);
    } else {
      float narrow = static_cast<float>(value);
      std::memcpy(out.bits.data(), &narrow, sizeof narrow);
    }
    return expr_.add(out);
  }
  int32_t to(int32_t a) const {
    return expr_.nodes[static_cast<size_t>(a)].dtype == type_ ? a : op(OpKind::convert, a);
  }
  int32_t part_of(OpKind kind, Number z, uint8_t part) const {
    ExprNode out;
    out.op = kind;
    out.dtype = type_;
    out.operands = {z.re, z.im, -1};
    out.part = part;
    return expr_.add(out);
  }

  // In the order of the real parts, of equal ones in that of the imaginary parts.
  int32_t ordered(CompareDirection direction, Number a, Number b) const {
    int32_t equal = compare(CompareDirection::eq, a.re, b.re);
    return compare(direction, choose(equal, a.im, a.re), choose(equal, b.im, b.re));
  }
  // The first of two that are not ordered.
  Number extreme(OpKind kind, Number a, Number b) const {
    int32_t yields =
        ordered(kind == OpKind::maximum ? CompareDirection::lt : CompareDirection::gt, a, b);
    return {choose(yields, b.re, a.re), choose(yields, b.im, a.im)};
  }
  Number function(OpKind kind, Number z) const {
    return {part_of(kind, z, 1), part_of(kind, z, 2)};
  }
  // -i log((x + iy) / sqrt(x x + y y)), of operands whose squares stay in the range of f64.
  Number atan2(Number y, Number x) const {
    int32_t size = op(OpKind::maximum, larger_part(x), larger_part(y));
    int32_t scale =
        choose(compare(CompareDirection::gt, size, constant(0x1p500)), constant(0x1p-600),
               choose(compare(CompareDirection::lt, size, constant(0x1p-400)), constant(0x1p600),
                      constant(1)));
    x = {mul(x.re, scale), mul(x.im, scale)};
    y = {mul(y.re, scale), mul(y.im, scale)};
    // The sum of squares; as a product where it nearly cancels, because that has not been rounded
    // before it does.
    Number sum = {sub(x.re, y.im), add(x.im, y.re)}, other = {add(x.re, y.im), sub(x.im, y.re)};
    Number xx = multiply(x, x), yy = multiply(y, y), product = multiply(sum, other);
    Number squares = {add(xx.re, yy.re), add(xx.im, yy.im)};
    int32_t terms = op(OpKind::maximum, larger_part(xx), larger_part(yy));
    int32_t cancels =
        compare(CompareDirection::lt, larger_part(squares), mul(terms, constant(0x1p-10)));
    squares = {choose(cancels, product.re, squares.re), choose(cancels, product.im, squares.im)};
    Number direction = divide(sum, function(OpKind::sqrt, squares), type_ == DType::f64);
    Number logarithm = function(OpKind::log, direction);
    Number rough = {logarithm.im, op(OpKind::negate, logarithm.re)};
    // The logarithm of what is close to one loses digits, and only says which half turn it is:
    // twice the angle is that of sum / other, whose size is 1 + excess.
    int32_t twice = op(OpKind::atan2, mul(constant(2), add(mul(x.re, y.re), mul(x.im, y.im))),
                       sub(norm(x), norm(y)));
    int32_t angle = mul(constant(0.5), twice), pi = constant(3.14159265358979323846);
    angle = add(angle, mul(pi, op(OpKind::round_nearest_even, div(sub(rough.re, angle), pi))));
    int32_t excess = div(mul(constant(4), sub(mul(x.im, y.re), mul(x.re, y.im))), norm(other));
    int32_t near_one = compare(CompareDirection::lt, op(OpKind::abs, excess), constant(0.5));
    int32_t im = mul(constant(-0.25), op(OpKind::log_plus_one, excess));
    return {choose(near_one, angle, rough.re), choose(near_one, im, rough.im)};
  }
  int32_t norm(Number z) const { return add(mul(z.re, z.re), mul(z.im, z.im)); }

  Number multiply(Number a, Number b) const {
    return {sub(mul(a.re, b.re), mul(a.im, b.im)), add(mul(a.re, b.im), mul(a.im, b.re))};
  }
  // By Smith's method: the larger part of the divisor is divided by. In f64 nothing of single
  // precision leaves the range; of double precision, both are scaled so that sums of parts stay
  // inside it (M. Baudin and R. Smith, "A robust complex division in Scilab", 2012).
  Number divide(Number a, Number b, bool scaled) const {
    int32_t unscale = -1;
    if (scaled) {
      int32_t size = larger_part(b);
      int32_t small_divisor =
          both(compare(CompareDirection::lt, size, constant(0x1p-900)),
               compare(CompareDirection::lt, larger_part(a), constant(0x1p900)));
      int32_t scale = choose(compare(CompareDirection::gt, size, constant(0x1p1021)),
                             constant(0.25), choose(small_divisor, constant(0x1p120), constant(1)));
      int32_t huge = compare(CompareDirection::gt, larger_part(a), constant(0x1p1021));
      int32_t down = choose(huge, constant(0.25), constant(1));
      unscale = choose(huge, constant(4), constant(1));
      b = {mul(b.re, scale), mul(b.im, scale)};
      a = {mul(mul(a.re, down), scale), mul(mul(a.im, down), scale)};
    }
    int32_t real_larger =
        compare(CompareDirection::ge, op(OpKind::abs, b.re), op(OpKind::abs, b.im));
    int32_t large = choose(real_larger, b.re, b.im), small = choose(real_larger, b.im, b.re);
    int32_t ratio = div(small, large);
    int32_t scale = add(large, mul(small, ratio));
    // Times the ratio, which may be too small to hold.
    int32_t no_ratio = both(compare(CompareDirection::eq, ratio, constant(0)),
                            compare(CompareDirection::ne, small, constant(0)));
    auto by_ratio = [&](int32_t x) {
      return scaled ? choose(no_ratio, mul(div(x, large), small), mul(x, ratio)) : mul(x, ratio);
    };
    int32_t re_part = by_ratio(a.re), im_part = by_ratio(a.im);
    int32_t x = choose(real_larger, add(a.re, im_part), add(re_part, a.im));
    int32_t y = choose(real_larger, sub(a.im, re_part), sub(im_part, a.re));
    // By zero, of its real part's sign.
    int32_t zero = both(compare(CompareDirection::eq, b.re, constant(0)),
                        compare(CompareDirection::eq, b.im, constant(0)));
    Number quotient = {div(choose(zero, a.re, x), choose(zero, b.re, scale)),
                       div(choose(zero, a.im, y), choose(zero, b.re, scale))};
    if (scaled) quotient = {mul(quotient.re, unscale), mul(quotient.im, unscale)};
    return quotient;
  }
  int32_t larger_part(Number z) const {
    return op(OpKind::maximum, op(OpKind::abs, z.re), op(OpKind::abs, z.im));
  }
  Number exponential(Number z) const {
    int32_t size = op(OpKind::exponential, z.re);
    int32_t real = compare(CompareDirection::eq, z.im, constant(0));
    return {choose(real, size, mul(size, op(OpKind::cosine, z.im))),
            choose(real, z.im, mul(size, op(OpKind::sine, z.im)))};
  }
  // Scaled by the larger part.
  int32_t modulus(Number z) const {
    int32_t a = op(OpKind::abs, z.re), b = op(OpKind::abs, z.im);
    int32_t large = op(OpKind::maximum, a, b), small = op(OpKind::minimum, a, b);
    int32_t ratio = div(small, large);
    int32_t scaled = mul(large, op(OpKind::sqrt, add(constant(1), mul(ratio, ratio))));
    int32_t infinity = constant(HUGE_VAL);
    int32_t infinite = node(OpKind::or_, DType::i1, compare(CompareDirection::eq, a, infinity),
                            compare(CompareDirection::eq, b, infinity));
    int32_t zero = compare(CompareDirection::eq, large, constant(0));
    return choose(infinite, infinity, choose(zero, large, scaled));
  }
  // exp(y log x); 0 for x = 0, but 1 if y is 0 too.
  Number power(Number x, Number y) const {
    Number general = exponential(multiply(y, function(OpKind::log, x)));
    auto is_zero = [&](Number z) {
      return both(compare(CompareDirection::eq, z.re, constant(0)),
                  compare(CompareDirection::eq, z.im, constant(0)));
    };
    int32_t zero = is_zero(x);
    int32_t at_zero = choose(is_zero(y), constant(1), constant(0));
    return {choose(zero, at_zero, general.re), choose(zero, constant(0), general.im)};
  }

 private:
  Expr& expr_;
  DType type_;
};

// Functions that the runtime has, in double precision.
bool has_runtime_function(OpKind kind) {
  switch (kind) {
    case OpKind::log:
    case OpKind::log_plus_one:
    case OpKind::exponential_minus_one:
    case OpKind::sqrt:
    case OpKind::rsqrt:
    case OpKind::cbrt:
    case OpKind::tanh:
    case OpKind::tan:
    case OpKind::sine:
    case OpKind::cosine:
    case OpKind::logistic:
    case OpKind::chlo_acos:
    case OpKind::chlo_acosh:
    case OpKind::chlo_asin:
    case OpKind::chlo_asinh:
    case OpKind::chlo_atan:
    case OpKind::chlo_atanh:
    case OpKind::chlo_sinh:
    case OpKind::chlo_cosh:
    case OpKind::chlo_tan:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<int32_t> ExprBuilder::eval_complex(Op* op, const IndexVector& index, int32_t guard,
                                                 int32_t frame) {
  int32_t wanted = is_complex(op->result()->type.dtype) ? part_ : 0;
  bool failed = false;
  auto part_of = [&](size_t i, int32_t part) -> int32_t {
    Value* operand = op->operand(i);
    int32_t saved = std::exchange(part_, part);
    std::optional<int32_t> node = operand->type.rank() == 0 ? eval(operand, {}, guard, frame)
                                                            : eval(operand, index, guard, frame);
    part_ = saved;
    failed |= !node;
    return node.value_or(0);
  };
  DType narrow = DType::f32;
  for (Value* operand : op->operands())
    if (is_complex(operand->type.dtype)) narrow = real_part(operand->type.dtype);
  if (is_complex(op->result()->type.dtype)) narrow = real_part(op->result()->type.dtype);
  Arithmetic single(expr_, narrow), wide(expr_, DType::f64);
  auto number = [&](size_t i) {
    Number z;
    z.re = part_of(i, 0);
    z.im = is_complex(op->operand(i)->type.dtype) ? part_of(i, 1) : single.constant(0);
    return z;
  };
  auto widened = [&](Number z) { return Number{wide.to(z.re), wide.to(z.im)}; };
  auto pick = [&](const Arithmetic& type, Number z) { return type.to(wanted == 0 ? z.re : z.im); };
  auto finished = [&](int32_t node) -> std::optional<int32_t> {
    if (failed) return {};
    return node;
  };
  auto part_by_part = [&]() -> std::optional<int32_t> {
    int32_t a = part_of(0, wanted);
    int32_t b = op->num_operands() > 1 ? part_of(1, wanted) : -1;
    return failed ? std::nullopt : finished(single.op(op->kind, a, b));
  };
  switch (op->kind) {
    case OpKind::real:
      return finished(part_of(0, 0));
    case OpKind::imag:
      return finished(part_of(0, 1));
    case OpKind::complex:
      return finished(part_of(static_cast<size_t>(wanted), 0));
    case OpKind::add:
    case OpKind::subtract:
    case OpKind::negate:
      return part_by_part();
    case OpKind::chlo_conj:
      if (wanted == 1) {
        int32_t imaginary = part_of(0, 1);
        return failed ? std::nullopt : finished(single.op(OpKind::negate, imaginary));
      }
      return finished(part_of(0, 0));
    case OpKind::select: {
      int32_t condition = part_of(0, 0), a = part_of(1, wanted), b = part_of(2, wanted);
      return failed ? std::nullopt : finished(single.choose(condition, a, b));
    }
    case OpKind::convert: {
      DType to = real_part(op->result()->type.dtype);
      Arithmetic target(expr_, to);
      if (wanted == 1 && !is_complex(op->operand(0)->type.dtype)) return target.constant(0);
      int32_t a = part_of(0, wanted);
      return failed ? std::nullopt : finished(target.to(a));
    }
    default:
      break;
  }
  std::vector<Number> z;
  for (size_t i = 0; i < op->num_operands(); ++i) z.push_back(number(i));
  if (failed) return {};
  switch (op->kind) {
    case OpKind::compare: {
      CompareDirection direction = op->as<CompareAttributes>().direction;
      if (direction != CompareDirection::eq && direction != CompareDirection::ne)
        return single.ordered(direction, z[0], z[1]);
      int32_t re = single.compare(direction, z[0].re, z[1].re),
              im = single.compare(direction, z[0].im, z[1].im);
      return single.node(direction == CompareDirection::eq ? OpKind::and_ : OpKind::or_, DType::i1,
                         re, im);
    }
    case OpKind::maximum:
    case OpKind::minimum:
      return pick(single, single.extreme(op->kind, z[0], z[1]));
    case OpKind::clamp:
      return pick(single, single.extreme(OpKind::minimum,
                                         single.extreme(OpKind::maximum, z[1], z[0]), z[2]));
    case OpKind::atan2:
      return pick(single, wide.atan2(widened(z[0]), widened(z[1])));
    case OpKind::multiply:
      return pick(single, single.multiply(z[0], z[1]));
    case OpKind::chlo_square:
      return pick(single, single.multiply(z[0], z[0]));
    case OpKind::divide:
      return pick(single, wide.divide(widened(z[0]), widened(z[1]), narrow == DType::f64));
    case OpKind::abs:
      return single.to(wide.modulus(widened(z[0])));
    case OpKind::sign: {
      Number w = widened(z[0]);
      int32_t size = wide.modulus(w);
      int32_t zero = wide.compare(CompareDirection::eq, size, wide.constant(0));
      int32_t part = wanted == 0 ? w.re : w.im;
      return single.to(wide.choose(zero, part, wide.div(part, size)));
    }
    case OpKind::exponential:
      return pick(single, single.exponential(z[0]));
    case OpKind::power:
      return pick(single, wide.power(widened(z[0]), widened(z[1])));
    default:
      if (!has_runtime_function(op->kind)) return fail(op);
      return single.to(wide.part_of(op->kind, widened(z[0]), static_cast<uint8_t>(wanted + 1)));
  }
}

}  // namespace ullage
