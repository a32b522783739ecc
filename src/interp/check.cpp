// The operations with which a program checks itself, as operations or as custom calls of the same
// names.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "interp/eval.h"
#include "interp/index_space.h"
#include "interp/lanes.h"

namespace ullage::interp {

namespace {

// Both parts of element k; the imaginary one is 0 for real types.
std::complex<double> number_at(const Tensor& t, int64_t k) {
  Lanes lanes;
  load(t.dtype(), t.data() + k * storage_bytes(t.dtype()), 1, lanes);
  switch (lane_class(t.dtype())) {
    case LaneClass::signed_:
      return static_cast<double>(lanes.i[0]);
    case LaneClass::unsigned_:
      return static_cast<double>(lanes.u[0]);
    case LaneClass::real:
      return lanes.f[0];
    default:
      return lanes.c[0];
  }
}

// Equal numbers, or NaN both; integers by their bits.
bool equal_at(const Tensor& a, const Tensor& b, int64_t k) {
  if (lane_class(a.dtype()) == LaneClass::signed_ || lane_class(a.dtype()) == LaneClass::unsigned_)
    return a.int_at(k) == b.int_at(k);
  auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  std::complex<double> x = number_at(a, k), y = number_at(b, k);
  return same(x.real(), y.real()) && same(x.imag(), y.imag());
}

bool close_parts(double x, double y, double tolerance) {
  if (x == y || (std::isnan(x) && std::isnan(y))) return true;
  return std::isfinite(x) && std::isfinite(y) && std::abs(x - y) <= tolerance;
}

// Representable numbers between x and y, which are values of the real type `dtype`.
uint64_t ulps_between(DType dtype, double x, double y) {
  if (std::isnan(x) && std::isnan(y)) return 0;
  if (x == y) return 0;
  if (!std::isfinite(x) || !std::isfinite(y)) return UINT64_MAX;
  auto magnitude = [&](double v) -> uint64_t {
    v = std::abs(v);
    if (dtype == DType::f64) return std::bit_cast<uint64_t>(v);
    if (dtype == DType::f32) return std::bit_cast<uint32_t>(static_cast<float>(v));
    return encode(float_format(dtype), v);
  };
  uint64_t a = magnitude(x), b = magnitude(y);
  if (std::signbit(x) != std::signbit(y)) return a + b;
  return a > b ? a - b : b - a;
}

using Test = std::function<bool(int64_t)>;

Result<Tensors> report(Evaluation& e, const Tensor& actual, const Tensor& expected,
                       std::string_view name, const Test& passes) {
  std::vector<Diagnostic> problems;
  if (actual.type().kind != expected.type().kind || actual.shape() != expected.shape() ||
      actual.dtype() != expected.dtype()) {
    problems.push_back(error(fmt::format("{} failed: found {}, expected {}", name,
                                         to_string(actual.type()), to_string(expected.type())),
                             e.where()));
  } else {
    int64_t wrong = 0, first = -1, count = actual.num_elements();
    for (int64_t k = 0; k < count; ++k)
      if (!passes(k)) {
        if (wrong++ == 0) first = k;
      }
    if (wrong > 0) {
      std::string index;
      Index strides = row_major_strides(actual.shape());
      for (size_t d = 0; d < strides.size(); ++d)
        index += fmt::format("{}{}", d ? ", " : "", first / strides[d] % actual.shape()[d]);
      problems.push_back(
          error(fmt::format("{} failed at {} of {} elements, first at [{}]: found {}, expected {}",
                            name, wrong, count, index, actual.element_string(first),
                            expected.element_string(first)),
                e.where()));
    }
  }
  if (problems.empty()) {
    if (e.checks) ++e.checks->passed;
    return Tensors{};
  }
  if (!e.checks) return problems;
  for (Diagnostic& problem : problems) e.checks->failures.push_back(std::move(problem));
  return Tensors{};
}

Result<Tensors> expect_eq(Evaluation& e, const Tensor& actual, const Tensor& expected,
                          std::string_view name) {
  return report(e, actual, expected, name,
                [&](int64_t k) { return equal_at(actual, expected, k); });
}

Result<Tensors> expect_almost_eq(Evaluation& e, const Tensor& actual, const Tensor& expected,
                                 double tolerance, std::string_view name) {
  return report(e, actual, expected, name, [&](int64_t k) {
    std::complex<double> x = number_at(actual, k), y = number_at(expected, k);
    return close_parts(x.real(), y.real(), tolerance) && close_parts(x.imag(), y.imag(), tolerance);
  });
}

Result<Tensors> expect_close(Evaluation& e, const Tensor& actual, const Tensor& expected,
                             uint64_t least, uint64_t most, std::string_view name) {
  DType dtype = real_part(actual.dtype());
  if (!is_float(dtype)) return expect_eq(e, actual, expected, name);
  return report(e, actual, expected, name, [&](int64_t k) {
    std::complex<double> x = number_at(actual, k), y = number_at(expected, k);
    uint64_t distance =
        std::max(ulps_between(dtype, x.real(), y.real()), ulps_between(dtype, x.imag(), y.imag()));
    return least <= distance && distance <= most;
  });
}

Result<Tensors> evaluate_check(Evaluation& e) {
  const auto& a = e.op.as<CheckAttributes>();
  std::string_view name = e.op.mnemonic();
  const Tensor& actual = e.operands[0];
  double tolerance =
      a.tolerance > 0 ? a.tolerance : 1e-4;  // the dialect's default when none is written
  switch (e.op.kind) {
    case OpKind::check_expect_eq:
      return expect_eq(e, actual, e.operands[1], name);
    case OpKind::check_expect_eq_const:
      return expect_eq(e, actual, Tensor::from(*a.value), name);
    case OpKind::check_expect_almost_eq:
      return expect_almost_eq(e, actual, e.operands[1], tolerance, name);
    case OpKind::check_expect_almost_eq_const:
      return expect_almost_eq(e, actual, Tensor::from(*a.value), tolerance, name);
    case OpKind::check_expect_close:
      return expect_close(e, actual, e.operands[1], static_cast<uint64_t>(a.min_ulp_difference),
                          static_cast<uint64_t>(a.max_ulp_difference), name);
    default:
      return e.problem(
          "compares with a file that another tool wrote, which the interpreter does not have");
  }
}

Result<Tensors> evaluate_custom_call(Evaluation& e) {
  const std::string& target = e.op.as<CustomCallAttributes>().target;
  if (e.operands.size() == 2 && e.op.num_results() == 0) {
    if (target == "check.expect_eq") return expect_eq(e, e.operands[0], e.operands[1], target);
    if (target == "check.expect_almost_eq")
      return expect_almost_eq(e, e.operands[0], e.operands[1], 1e-3, target);
    if (target == "check.expect_close")
      return expect_close(e, e.operands[0], e.operands[1], 0, 3, target);
  }
  // check.eq also returns whether it passed.
  if (target == "check.eq" && e.operands.size() == 2 && e.types.size() == 1) {
    CheckReport own;
    Evaluation quiet{e.op, e.operands, e.types, e.module, e.outer, &own};
    auto checked = is_float(e.operands[0].dtype())
                       ? expect_almost_eq(quiet, e.operands[0], e.operands[1], 1e-4, target)
                       : expect_eq(quiet, e.operands[0], e.operands[1], target);
    if (!checked) return checked;
    if (!e.checks && !own.failures.empty()) return own.failures;
    if (e.checks) {
      e.checks->passed += own.passed;
      e.checks->failures.insert(e.checks->failures.end(), own.failures.begin(), own.failures.end());
    }
    Tensor passed(e.types[0]);
    if (own.failures.empty()) passed.mutable_data()[0] = std::byte{1};
    return Tensors{std::move(passed)};
  }
  // Sharding annotations change where a value lives, not what it is.
  if ((target == "Sharding" || target == "SPMDFullToShardShape" ||
       target == "SPMDShardToFullShape" || target == "annotate_device_placement") &&
      e.operands.size() == 1 && e.types.size() == 1 && e.operands[0].type() == e.types[0])
    return Tensors(std::move(e.operands));
  if (target == "dce_sink" && e.types.empty()) return Tensors{};
  return e.problem("the interpreter does not know the target @" + target);
}

constexpr HandlerRow kRows[] = {
    {OpKind::check_expect_almost_eq, evaluate_check},
    {OpKind::check_expect_almost_eq_const, evaluate_check},
    {OpKind::check_expect_close, evaluate_check},
    {OpKind::check_expect_eq, evaluate_check},
    {OpKind::check_expect_eq_const, evaluate_check},
    {OpKind::check_expect_serialized_eq, evaluate_check},
    {OpKind::custom_call, evaluate_custom_call},
};

}  // namespace

std::span<const HandlerRow> check_handlers() {
  return kRows;
}

}  // namespace ullage::interp
