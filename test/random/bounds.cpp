#include "random/bounds.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "interp/interpret.h"
#include "random/numbers.h"

namespace ullage::random_programs {

namespace {
constexpr int64_t kMostSteps = 20'000;  // operations evaluated, loop bodies counted every time
}

const Bounded* Analysis::find(const Value* value) const {
  auto it = known_.find(value);
  return it == known_.end() ? nullptr : &it->second;
}

std::nullopt_t Analysis::refuse(std::string why) {
  if (why_.empty()) why_ = std::move(why);
  return std::nullopt;
}

bool Analysis::add(const Op& op) {
  why_.clear();
  std::vector<Bounded> operands;
  for (const Value* value : op.operands()) {
    const Bounded* known = find(value);
    ULLAGE_CHECK(known, "an operand that was never evaluated");
    operands.push_back(*known);
  }
  std::optional<Row> results = evaluate_op(op, operands);
  if (!results) return false;
  for (size_t i = 0; i < results->size(); ++i) known_[op.result(i)] = std::move((*results)[i]);
  return true;
}

std::optional<Analysis::Row> Analysis::run(const Region& region,
                                           std::span<const Bounded> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) known_[region.argument(i)] = arguments[i];
  for (Op* op : region) {
    std::vector<Bounded> operands;
    for (const Value* value : op->operands()) operands.push_back(known_.at(value));
    if (has_trait(op->kind, kTerminator)) return operands;
    std::optional<Row> results = evaluate_op(*op, operands);
    if (!results) return std::nullopt;
    for (size_t i = 0; i < results->size(); ++i) known_[op->result(i)] = std::move((*results)[i]);
  }
  return refuse("a region without an end");
}

std::optional<Analysis::Row> Analysis::control(const Op& op, std::span<const Bounded> operands) {
  if (op.kind == OpKind::optimization_barrier) return Row(operands.begin(), operands.end());
  if (op.kind == OpKind::call) {
    const Function* callee = module_.find(op.as<CallAttributes>().callee);
    return run(callee->body(), operands);
  }
  if (op.kind == OpKind::while_) {
    Row carried(operands.begin(), operands.end());
    while (true) {
      std::optional<Row> condition = run(op.nested(0), carried);
      if (!condition) return std::nullopt;
      if ((*condition)[0].value.int_at(0) == 0) return carried;
      std::optional<Row> next = run(op.nested(1), carried);
      if (!next) return std::nullopt;
      carried = std::move(*next);
    }
  }
  int64_t index = operands[0].value.int_at(0);
  auto branches = static_cast<int64_t>(op.num_regions());
  if (op.kind == OpKind::if_)
    index = index != 0 ? 0 : 1;
  else if (index < 0 || index >= branches)
    index = branches - 1;
  return run(op.nested(static_cast<size_t>(index)), {});
}

std::optional<Analysis::Row> Analysis::evaluate_op(const Op& op,
                                                   std::span<const Bounded> operands) {
  if (++steps_ > kMostSteps) return refuse("too many operations");
  switch (op.kind) {
    case OpKind::optimization_barrier:
    case OpKind::call:
    case OpKind::while_:
    case OpKind::case_:
    case OpKind::if_:
      return control(op, operands);
    default:
      return leaf(op, operands);
  }
}

Analysed analyse(const Module& module, std::span<const Tensor> inputs, bool any_error) {
  Analysed out;
  Analysis analysis(module, any_error);
  const Region& body = module.entry()->body();
  for (size_t i = 0; i < inputs.size(); ++i) analysis.set(body.argument(i), {inputs[i], nullptr});
  for (Op* op : body) {
    if (has_trait(op->kind, kTerminator)) {
      for (const Value* value : op->operands()) out.results.push_back(*analysis.find(value));
      return out;
    }
    if (analysis.add(*op)) continue;
    out.why = analysis.why();
    return out;
  }
  out.why = "no end";
  return out;
}

namespace {

bool same_part(const std::byte* a, const std::byte* b, size_t size, double x, double y) {
  return (std::isnan(x) && std::isnan(y)) || std::memcmp(a, b, size) == 0;
}

}  // namespace

std::optional<std::string> difference(const Bounded& want, const Tensor& got) {
  const Tensor& expected = want.value;
  if (!(got.type() == expected.type()))
    return fmt::format("it is {}, expected {}", to_string(got.type()), to_string(expected.type()));
  const auto width = static_cast<size_t>(storage_bytes(got.dtype()));
  const bool complex = is_complex(got.dtype()), inexact = is_inexact_type(got.dtype());
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < expected.num_elements(); ++i) {
    const std::byte* a = got.data() + static_cast<size_t>(i) * width;
    const std::byte* b = expected.data() + static_cast<size_t>(i) * width;
    if (std::memcmp(a, b, width) == 0) continue;
    bool fine = false;
    if (inexact) {
      std::complex<double> x = number_at(got, i), y = number_at(expected, i);
      size_t part = complex ? width / 2 : width;
      if (want.exact()) {
        fine = same_part(a, b, part, x.real(), y.real()) &&
               (!complex || same_part(a + part, b + part, part, x.imag(), y.imag()));
      } else {
        double error = (*want.error)[static_cast<size_t>(i)];
        if (std::isinf(error)) continue;  // anything
        auto close = [error](double p, double q) {
          return p == q || (std::isnan(p) && std::isnan(q)) || std::fabs(p - q) <= error;
        };
        fine = close(x.real(), y.real()) && close(x.imag(), y.imag());
      }
    }
    if (fine) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return {};
  return fmt::format(
      "{} of {} elements are wrong; element {} is {}, expected {}{}", wrong,
      expected.num_elements(), first, got.element_string(first), expected.element_string(first),
      want.exact() ? "" : fmt::format(" within {:.3g}", (*want.error)[static_cast<size_t>(first)]));
}

}  // namespace ullage::random_programs
