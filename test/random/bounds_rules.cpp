// The rules of the analysis, one for each way in which operations round.
#include <fmt/format.h>

#include <cmath>

#include "interp/interpret.h"
#include "random/bounds.h"
#include "random/numbers.h"

namespace ullage::random_programs {

namespace {

// What one evaluation may be off, in units in the last place of the result, beyond what its
// operands are off; nothing where IEEE or the specification fix every bit.
double ulps(OpKind kind, DType dtype) {
  if (is_complex(dtype)) {
    switch (kind) {
      case OpKind::add:
      case OpKind::subtract:
      case OpKind::negate:
      case OpKind::complex:
      case OpKind::chlo_conj:
      case OpKind::select:
      case OpKind::convert:
        return 0;
      case OpKind::multiply:
      case OpKind::chlo_square:
        return 4;
      default:
        return 128;
    }
  }
  switch (kind) {
    case OpKind::cbrt:
    case OpKind::cosine:
    case OpKind::exponential:
    case OpKind::exponential_minus_one:
    case OpKind::log:
    case OpKind::log_plus_one:
    case OpKind::logistic:
    case OpKind::rsqrt:
    case OpKind::sine:
    case OpKind::tanh:
    case OpKind::atan2:
    case OpKind::power:
    case OpKind::chlo_erf:
    case OpKind::chlo_erfc:
      return 2.5;
    case OpKind::tan:
    case OpKind::chlo_acos:
    case OpKind::chlo_acosh:
    case OpKind::chlo_asin:
    case OpKind::chlo_asinh:
    case OpKind::chlo_atan:
    case OpKind::chlo_atanh:
    case OpKind::chlo_cosh:
    case OpKind::chlo_sinh:
    case OpKind::chlo_tan:
      return 6;
    case OpKind::chlo_bessel_i1e:
    case OpKind::chlo_digamma:
    case OpKind::chlo_erf_inv:
    case OpKind::chlo_lgamma:
    case OpKind::chlo_polygamma:
    case OpKind::chlo_zeta:
      return real_part(dtype) == DType::f64 ? 64 : 4;
    default:
      return 0;
  }
}

// Results jump where operands pass certain points.
bool is_discrete(OpKind kind) {
  switch (kind) {
    case OpKind::ceil:
    case OpKind::floor:
    case OpKind::round_nearest_afz:
    case OpKind::round_nearest_even:
    case OpKind::sign:
    case OpKind::remainder:
    case OpKind::reduce_precision:
    case OpKind::chlo_next_after:
    case OpKind::bitcast_convert:
      return true;
    default:
      return false;
  }
}

bool is_narrow(DType dtype) {
  return dtype == DType::bf16 || dtype == DType::f16;
}

double largest(const Tensor& tensor) {
  double out = 0;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    double m = std::abs(number_at(tensor, i));
    if (std::isfinite(m)) out = std::max(out, m);
  }
  return out;
}

double limit_of(DType dtype) {
  if (real_part(dtype) == DType::f16) return 6e4;
  return real_part(dtype) == DType::f64 ? 1e290 : 1e36;
}

bool finite(std::complex<double> x) {
  return std::isfinite(x.real()) && std::isfinite(x.imag());
}

bool same_special(std::complex<double> a, std::complex<double> b) {
  auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return same(a.real(), b.real()) && same(a.imag(), b.imag());
}

// Whether a product in f64 is not exact, or too small to tell.
bool is_rounded(double x, double y) {
  if (x == 0 || y == 0) return false;
  return std::fabs(x * y) < 0x1p-900 || std::fma(x, y, -(x * y)) != 0;
}

// Everything known is exact: no bound needed.
bool all_exact(std::span<const Bounded> operands) {
  for (const Bounded& operand : operands)
    if (!operand.exact()) return false;
  return true;
}

// The one operation that a region applies to its two arguments, if it is no more than that.
std::optional<OpKind> single_operation(const Op& op) {
  const Region& region = op.nested(op.num_regions() - 1);
  Op* first = region.first();
  if (first == region.last()) return OpKind::return_;  // one of the arguments
  if (!first || first->next() != region.last() || region.arguments().size() != 2) return {};
  return first->kind;
}

void set_errors(Bounded& out, std::vector<double> errors) {
  bool any = false;
  for (double e : errors) any |= e != 0;
  if (any) out.error = std::make_shared<const std::vector<double>>(std::move(errors));
}

}  // namespace

std::optional<Tensor> evaluate_twin(const Op& op, std::span<const Tensor> operands, DType result) {
  Function scratch("twin");
  std::vector<Value*> values;
  for (const Tensor& operand : operands) values.push_back(scratch.add_argument(operand.type()));
  Type type = Type::tensor(result, op.result()->type.shape);
  size_t regions = op.num_regions();
  Op* twin =
      scratch.create(scratch.body(), op.kind, values, {&type, 1}, op.attributes, {}, regions);
  Type scalar = Type::tensor(result, {}), truth = Type::tensor(DType::i1, {});
  for (size_t r = 0; r < regions; ++r) {
    Region& region = twin->nested(r);
    Value* both[] = {region.add_argument(scalar), region.add_argument(scalar)};
    // select_and_scatter selects first.
    bool selects = r + 1 < regions;
    Op* body =
        selects ? scratch.create(region, OpKind::compare, both, {&truth, 1},
                                 CompareAttributes{CompareDirection::ge, CompareType::unspecified})
                : scratch.create(region, OpKind::add, both, {&scalar, 1});
    Value* returned = body->result();
    scratch.create(region, OpKind::return_, {&returned, 1}, {});
  }
  Result<std::vector<Tensor>> results = evaluate(*twin, operands);
  if (!results) return {};
  return std::move((*results)[0]);
}

std::optional<Analysis::Row> Analysis::leaf(const Op& op, std::span<const Bounded> operands) {
  std::vector<Tensor> values;
  for (const Bounded& operand : operands) values.push_back(operand.value);
  Result<std::vector<Tensor>> results = evaluate(op, values);
  if (!results) return refuse("interpreter: " + results.diagnostics()[0].message);
  Row out;
  for (Tensor& tensor : *results) out.push_back({std::move(tensor), nullptr});

  bool inexact_result = false;
  for (const Bounded& b : out) inexact_result |= is_inexact_type(b.value.dtype());
  bool fine = true;
  switch (op.kind) {
    case OpKind::constant:
    case OpKind::iota:
    case OpKind::rng_bit_generator:
      break;
    case OpKind::reduce:
    case OpKind::reduce_window:
    case OpKind::select_and_scatter:
    case OpKind::scatter:
      fine = !inexact_result || sums(op, operands, out);
      break;
    case OpKind::dot:
    case OpKind::dot_general:
    case OpKind::convolution:
      fine = !inexact_result || product(op, operands, out[0]);
      break;
    case OpKind::broadcast:
    case OpKind::broadcast_in_dim:
    case OpKind::concatenate:
    case OpKind::dynamic_slice:
    case OpKind::dynamic_update_slice:
    case OpKind::gather:
    case OpKind::pad:
    case OpKind::reshape:
    case OpKind::reverse:
    case OpKind::slice:
    case OpKind::transpose:
      fine = all_exact(operands) || movement(op, operands, out[0]);
      break;
    case OpKind::sort:
    case OpKind::chlo_top_k:
    case OpKind::map:
      fine = all_exact(operands);
      for (const Bounded& operand : operands) fine &= !has_nan(operand.value);
      if (!fine) return refuse("order of inexact numbers or NaNs");
      break;
    default:
      if (has_trait(op.kind, kElementwise) || op.kind == OpKind::bitcast_convert)
        fine = elementwise(op, operands, out[0]);
      else if (!all_exact(operands) || inexact_result)
        return refuse("no rule for " + std::string(op.mnemonic()));
  }
  if (!fine) return refuse("not judged: " + std::string(op.mnemonic()));
  // What is known too badly shows nothing.
  for (const Bounded& b : out) {
    if (b.exact() || any_error_) continue;
    double most = largest(b.value), worst = 0;
    for (double e : *b.error) {
      if (!(e >= 0) || std::isinf(e)) return refuse("unbounded");
      worst = std::max(worst, e);
    }
    if (most > limit_of(b.value.dtype())) return refuse("near the largest number");
    if (worst > most / 24) return refuse("too inexact");
  }
  return out;
}

bool Analysis::elementwise(const Op& op, std::span<const Bounded> operands, Bounded& out) {
  const DType dtype = out.value.dtype();
  const bool exact = all_exact(operands);
  if (op.kind == OpKind::bitcast_convert && has_nan(operands[0].value)) return false;
  const bool direction = op.kind == OpKind::sign && is_complex(dtype);
  if (!is_inexact_type(dtype) || (is_discrete(op.kind) && !direction)) return exact;
  if (direction && !exact) return false;
  // The second part may jump where the first is nearly that of another number.
  const bool chooses =
      op.kind == OpKind::maximum || op.kind == OpKind::minimum || op.kind == OpKind::clamp;
  if (is_complex(dtype) && chooses) return exact;
  // Between complex and real, e.g. abs: judged as the more complicated one.
  DType judged = dtype;
  if (op.kind == OpKind::abs && is_complex(operands[0].value.dtype()))
    judged = operands[0].value.dtype();
  // What complex functions make of infinities, NaNs and the power of zero is nowhere laid down.
  if (is_complex(judged) && ulps(op.kind, judged) > 4)
    for (const Bounded& operand : operands)
      for (int64_t i = 0; i < operand.value.num_elements(); ++i) {
        std::complex<double> z = number_at(operand.value, i);
        if (!finite(z) || (op.kind == OpKind::power && z == 0.0)) return false;
      }
  const double own = ulps(op.kind, judged);
  const bool contracts = op.kind == OpKind::multiply || op.kind == OpKind::chlo_square;
  if (exact && own == 0 && !contracts && !is_narrow(dtype)) return true;

  std::vector<Tensor> wide;
  for (const Bounded& operand : operands)
    wide.push_back(is_inexact_type(operand.value.dtype()) ? widened(operand.value) : operand.value);
  const DType wide_result = is_complex(dtype) ? DType::c128 : DType::f64;
  std::optional<Tensor> center = evaluate_twin(op, wide, wide_result);
  if (!center) return false;
  const int64_t count = out.value.num_elements();
  std::vector<double> errors(static_cast<size_t>(count));
  // A complex power is exp(y log x): every unit of the exponent brings the roundings before it into
  // the result once.
  auto units = [&](int64_t i) {
    if (op.kind != OpKind::power || !is_complex(dtype)) return own;
    return own + 2 * std::abs(number_at(wide[1], i) * std::log(number_at(wide[0], i)));
  };
  // Of an element whose operands are exact.
  auto rounding = [&](int64_t i) {
    std::complex<double> got = number_at(out.value, i), ideal = number_at(*center, i);
    // What products of complex infinities are is nowhere laid down.
    if (!finite(got)) return is_complex(dtype) && contracts ? HUGE_VAL : 0;
    // The parts of a complex number may cancel after they were rounded.
    if (own != 0 && !(contracts && !is_complex(dtype)))
      return (units(i) + 0.5) * spacing(dtype, std::abs(got));
    bool rounded = got != ideal;
    // There is nothing wider than f64; what is left of its products tells whether they are exact.
    if (contracts && real_part(dtype) == DType::f64) {
      std::complex<double> x = number_at(wide[0], i), y = number_at(wide.back(), i);
      rounded = is_rounded(x.real(), y.real());
      if (is_complex(dtype)) {
        double least = std::min(std::fabs(got.real()), 1e300);
        rounded |= is_rounded(x.real(), y.imag()) || is_rounded(x.imag(), y.real()) ||
                   is_rounded(x.imag(), y.imag()) || std::fmod(least, 0x1p-20) != 0 ||
                   least > 0x1p20;
      }
    }
    return rounded ? spacing(dtype, std::abs(got)) : 0;
  };
  if (exact) {
    for (int64_t i = 0; i < count; ++i) errors[static_cast<size_t>(i)] = rounding(i);
    set_errors(out, std::move(errors));
    return true;
  }

  // Inexact operands: the operation at the corners of what they may be.
  std::vector<double> deviation(static_cast<size_t>(count));
  std::vector<size_t> moving;
  for (size_t k = 0; k < operands.size(); ++k)
    if (!operands[k].exact()) moving.push_back(k);
  size_t corners = 1;
  for (size_t k : moving) corners *= is_complex(operands[k].value.dtype()) ? 4 : 2;
  for (size_t corner = 0; corner < corners; ++corner) {
    std::vector<Tensor> moved = wide;
    size_t digits = corner;
    for (size_t k : moving) {
      bool complex = is_complex(operands[k].value.dtype());
      const std::complex<double> directions[] = {1, -1, {0, 1}, {0, -1}};
      std::complex<double> direction = directions[digits % (complex ? 4 : 2)];
      digits /= complex ? 4 : 2;
      for (int64_t i = 0; i < moved[k].num_elements(); ++i)
        store_number_at(
            moved[k], i,
            number_at(moved[k], i) + direction * (*operands[k].error)[static_cast<size_t>(i)]);
    }
    std::optional<Tensor> value = evaluate_twin(op, moved, wide_result);
    if (!value) return false;
    for (int64_t i = 0; i < count; ++i) {
      std::complex<double> a = number_at(*value, i), b = number_at(*center, i);
      double& most = deviation[static_cast<size_t>(i)];
      if (finite(a) && finite(b))
        most = std::max(most, std::abs(a - b));
      else if (!same_special(a, b))
        return false;
    }
  }
  // A divisor that may be zero has corners that say nothing.
  if (op.kind == OpKind::divide && !operands[1].exact())
    for (int64_t i = 0; i < count; ++i)
      if (!(operands[1].errors()[static_cast<size_t>(i)] * 4 <=
            std::abs(number_at(operands[1].value, i))))
        return false;
  for (int64_t i = 0; i < count; ++i) {
    std::complex<double> got = number_at(out.value, i), ideal = number_at(*center, i);
    if (finite(got) != finite(ideal)) return false;
    double& error = errors[static_cast<size_t>(i)];
    error = 1.25 * deviation[static_cast<size_t>(i)];
    if (error > 0 && finite(got))
      error += (units(i) + 1.5) * spacing(dtype, std::abs(got));
    else
      error = rounding(i);
  }
  set_errors(out, std::move(errors));
  return true;
}

bool Analysis::movement(const Op& op, std::span<const Bounded> operands, Bounded& out) {
  std::vector<Tensor> errors;
  for (const Bounded& operand : operands) {
    if (!is_inexact_type(operand.value.dtype())) {
      errors.push_back(operand.value);
    } else if (operand.exact()) {
      errors.emplace_back(Type::tensor(DType::f64, operand.value.shape()));
    } else {
      errors.push_back(tensor_of(*operand.error, operand.value.shape()));
    }
  }
  std::optional<Tensor> moved = evaluate_twin(op, errors, DType::f64);
  if (!moved) return false;
  set_errors(out, moved->to_vector<double>());
  return true;
}

// Additions in whatever order. Where all partial sums are exact there is only one result.
bool Analysis::sums(const Op& op, std::span<const Bounded> operands, Row& out) {
  std::optional<OpKind> kind = single_operation(op);
  bool exact = all_exact(operands);
  if (!kind || out.size() != 1) {
    for (const Bounded& operand : operands) exact &= !has_nan(operand.value);
    return exact;
  }
  const DType dtype = out[0].value.dtype();
  if (*kind == OpKind::maximum || *kind == OpKind::minimum) {
    if (exact) return true;
    if (op.kind != OpKind::reduce && op.kind != OpKind::reduce_window) return false;
  } else if (*kind != OpKind::add) {
    return *kind == OpKind::return_ && exact;
  }
  if (op.kind == OpKind::select_and_scatter && !exact) return false;
  std::vector<Tensor> sizes, errors;
  int least = 2000;
  double terms = 1;
  for (size_t k = 0; k < operands.size(); ++k) {
    const Bounded& operand = operands[k];
    if (!is_inexact_type(operand.value.dtype())) {
      sizes.push_back(operand.value);
      errors.push_back(operand.value);
      continue;
    }
    // Which element of a window is selected depends on the numbers themselves.
    bool selects = op.kind == OpKind::select_and_scatter && k == 0;
    sizes.push_back(selects ? widened(operand.value) : magnitudes(operand.value, {}));
    errors.push_back(operand.exact() ? Tensor(Type::tensor(DType::f64, operand.value.shape()))
                                     : tensor_of(*operand.error, operand.value.shape()));
    if (!selects) least = std::min(least, granularity(operand.value));
    terms = std::max(terms, static_cast<double>(operand.value.num_elements()));
  }
  if (op.kind == OpKind::reduce)
    terms = std::max(
        1.0, terms / static_cast<double>(std::max<int64_t>(1, out[0].value.num_elements())));
  std::optional<Tensor> size = evaluate_twin(op, sizes, DType::f64);
  if (!size) return false;
  bool single = *kind == OpKind::add &&
                largest(*size) <= std::ldexp(1.0, precision_bits(dtype) + std::min(least, 900));
  if (exact && single) return true;
  if (op.kind == OpKind::select_and_scatter) return false;
  std::vector<double> total(static_cast<size_t>(size->num_elements()));
  if (!exact) {
    std::optional<Tensor> moved = evaluate_twin(op, errors, DType::f64);
    if (!moved) return false;
    total = moved->to_vector<double>();
  }
  if (*kind == OpKind::add)
    for (size_t i = 0; i < total.size(); ++i)
      total[i] += (terms + 2) * std::ldexp(1.0, -precision_bits(dtype)) * size->as<double>()[i];
  if (largest(*size) > limit_of(dtype)) return false;
  set_errors(out[0], std::move(total));
  return true;
}

bool Analysis::product(const Op& op, std::span<const Bounded> operands, Bounded& out) {
  const DType dtype = out.value.dtype();
  // Whether padding is multiplied or left out shows where the other factor is not finite.
  if (op.kind == OpKind::convolution)
    for (const Bounded& operand : operands)
      for (int64_t i = 0; i < operand.value.num_elements(); ++i)
        if (!finite(number_at(operand.value, i))) return false;
  std::vector<Tensor> sizes, reach;
  int least = 0;
  bool wide = real_part(dtype) == DType::f64;
  for (const Bounded& operand : operands) {
    wide |= real_part(operand.value.dtype()) == DType::f64;
    sizes.push_back(magnitudes(operand.value, {}));
    reach.push_back(magnitudes(operand.value, operand.errors()));
    least += granularity(operand.value);
  }
  std::optional<Tensor> size = evaluate_twin(op, sizes, DType::f64);
  if (!size) return false;
  const bool complex = is_complex(dtype), exact = all_exact(operands);
  const int bits = wide ? 53 : 24;
  const double most = (complex ? 2 : 1) * largest(*size);
  if (most > limit_of(dtype)) return false;
  const int64_t count = out.value.num_elements();
  std::vector<double> errors(static_cast<size_t>(count));
  // Below the smallest denormal number products are rounded one by one.
  const bool representable =
      std::ldexp(1.0, std::min(least, 0)) >= spacing(wide ? DType::f64 : DType::f32, 0);
  if (exact && representable && most <= std::ldexp(1.0, bits + std::min(least, 900))) {
    if (!is_narrow(dtype)) return true;
    std::vector<Tensor> numbers = {widened(operands[0].value), widened(operands[1].value)};
    std::optional<Tensor> ideal = evaluate_twin(op, numbers, DType::f64);
    if (!ideal) return false;
    for (int64_t i = 0; i < count; ++i) {
      std::complex<double> got = number_at(out.value, i);
      if (finite(got) && got != number_at(*ideal, i))
        errors[static_cast<size_t>(i)] = spacing(dtype, std::abs(got));
    }
    set_errors(out, std::move(errors));
    return true;
  }
  std::optional<Tensor> far = evaluate_twin(op, reach, DType::f64);
  if (!far) return false;
  double terms = std::max(1.0, static_cast<double>(operands[0].value.num_elements()));
  if (count > 0) {
    double flops = static_cast<double>(operands[0].value.num_elements()) *
                   static_cast<double>(operands[1].value.num_elements());
    terms = std::min(terms, std::sqrt(flops / static_cast<double>(count)) + 1);
    if (op.kind == OpKind::convolution)
      terms = static_cast<double>(operands[1].value.num_elements());
  }
  const double unit = (complex ? 4 : 1) * std::ldexp(1.0, -bits) * (terms + 8);
  for (int64_t i = 0; i < count; ++i) {
    double s = size->as<double>()[i];
    errors[static_cast<size_t>(i)] = (far->as<double>()[i] - s) * (complex ? 2 : 1) + unit * s +
                                     2 * spacing(dtype, is_narrow(dtype) ? s : 0);
  }
  set_errors(out, std::move(errors));
  return true;
}

}  // namespace ullage::random_programs
