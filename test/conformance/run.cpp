#include "conformance/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "codegen/cpu/compile.h"
#include "driver/compile.h"
#include "driver/copy_module.h"
#include "interp/interpret.h"
#include "ops/verify.h"
#include "random/bounds.h"
#include "random/check.h"
#include "random/numbers.h"
#include "support/check.h"
#include "syntax/reader.h"

namespace ullage::conformance {

using random_programs::Bounded;

std::unique_ptr<Module> case_module(const Row& row, DType dtype) {
  Result<std::unique_ptr<Module>> module = read_text(program_text(row, dtype), "case.mlir");
  if (!module || !verify(**module)) return nullptr;
  return std::move(*module);
}

namespace {

std::vector<double> special_values(DType dtype) {
  std::vector<double> out = {0.0,
                             -0.0,
                             1,
                             -1,
                             0.5,
                             -0.5,
                             2,
                             -2,
                             3,
                             -3,
                             0.25,
                             1.5,
                             -1.5,
                             2.5,
                             -2.5,
                             0.9,
                             -0.9,
                             1.1,
                             10,
                             -10,
                             0.1,
                             -0.1,
                             20.25,
                             88.5,
                             -88,
                             100.0,
                             -100.0,
                             1000.5,
                             3.14159265358979,
                             1e-3,
                             -1e-3,
                             7.25,
                             -7.25,
                             4,
                             6,
                             0.75};
  if (storage_bytes(dtype) >= 2) {
    for (double x : {std::nan(""), HUGE_VAL, -HUGE_VAL, 12345.0, -54321.0, 1e-7, 6e-8})
      out.push_back(x);
  }
  if (dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f64)
    for (double x : {1e20, -1e20, 3e38, -3e38, 1e-30, 1e-38, 1e-40, -1e-45, 1.17549435e-38})
      out.push_back(x);
  if (dtype == DType::f64)
    for (double x : {1e200, -1e300, 1.7976931348623157e308, 1e-310, 5e-324, 4503599627370497.5,
                     9007199254740993.0})
      out.push_back(x);
  return out;
}

std::vector<uint64_t> special_integers(DType dtype) {
  const int bits = bit_width(dtype);
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  std::vector<uint64_t> out = {0, 1, 2, 3, all, all - 1, all / 2, all / 2 + 1, 5, 7};
  for (uint64_t x : {10, 31, 32, 63, 64, 100, 127, 128, 255, 1000, 65535, 123456789})
    out.push_back(x);
  for (uint64_t& x : out) {
    x &= all;
    // Types below 8 bits are stored extended by their sign.
    if (is_signed_int(dtype) && bits < 8 && (x >> (bits - 1)) != 0) x |= 0xff & ~all;
  }
  return out;
}

// Element `i` of operand `operand`: operands run through the values at different speeds.
Tensor values(const Type& type, size_t operand, bool plain) {
  Tensor out(type);
  const DType dtype = type.dtype, part = real_part(dtype);
  const int64_t width = storage_bytes(part);
  const int64_t parts = type.num_elements() * (is_complex(dtype) ? 2 : 1);
  std::vector<std::vector<std::byte>> choices;
  auto choice = [&](const void* bytes) {
    const auto* first = static_cast<const std::byte*>(bytes);
    choices.emplace_back(first, first + width);
  };
  if (is_float(part) && width == 1) {
    for (int bits = 0; bits < 1 << bit_width(part); ++bits) {
      auto byte = static_cast<uint8_t>(bits);
      choice(&byte);
    }
  } else if (is_float(part)) {
    Tensor one(Type::tensor(part, {}));
    for (double x : special_values(part)) {
      if (plain && !(std::fabs(x) <= 16)) continue;
      random_programs::store_number_at(one, 0, x);
      choice(one.data());
    }
  } else if (part == DType::i1) {
    for (uint8_t x : {uint8_t{0}, uint8_t{1}}) choice(&x);
  } else {
    for (uint64_t x : special_integers(part)) {
      if (plain && x > 16) continue;
      choice(&x);
    }
  }
  const auto n = static_cast<int64_t>(choices.size());
  for (int64_t i = 0; i < parts; ++i) {
    int64_t at = operand == 0 ? i % n : operand == 1 ? (i + i / n) % n : (i / n + 3 * i) % n;
    std::memcpy(out.mutable_data() + i * width, choices[static_cast<size_t>(at)].data(),
                static_cast<size_t>(width));
  }
  return out;
}

bool is_elementwise(OpKind kind) {
  return (info(kind).traits & kElementwise) != 0;
}

bool finite(std::complex<double> z) {
  return std::isfinite(z.real()) && std::isfinite(z.imag());
}

// What complex functions make of infinities and NaNs, of the power of zero, and of quotients at the
// end of the range, is nowhere laid down.
bool undefined(OpKind kind, std::span<const Tensor> inputs, int64_t element) {
  for (const Tensor& input : inputs) {
    if (!is_complex(input.dtype()) || element >= input.num_elements()) continue;
    std::complex<double> z = random_programs::number_at(input, element);
    if (!finite(z) || (kind == OpKind::power && z == 0.0)) return true;
    // Smith's method, which divides, adds numbers of the operands' size.
    if (kind == OpKind::divide && std::abs(z) > 1e300) return true;
  }
  return false;
}

// For operations that the error analysis has no rule for: a share of the largest element, or of
// each element of complex functions.
std::vector<Bounded> loosely(OpKind kind, std::span<const Tensor> inputs,
                             std::vector<Tensor> results) {
  std::vector<Bounded> out;
  for (Tensor& tensor : results) {
    Bounded b{std::move(tensor), nullptr};
    const DType dtype = b.value.dtype();
    if (random_programs::is_inexact_type(dtype)) {
      const double unit = std::ldexp(1.0, -random_programs::precision_bits(dtype));
      std::vector<double> errors(static_cast<size_t>(b.value.num_elements()));
      double largest = 0;
      for (int64_t i = 0; i < b.value.num_elements(); ++i) {
        double m = std::abs(random_programs::number_at(b.value, i));
        if (std::isfinite(m)) largest = std::max(largest, m);
      }
      for (int64_t i = 0; i < b.value.num_elements(); ++i) {
        double& error = errors[static_cast<size_t>(i)];
        error = 64 * unit * largest;
        if (!is_complex(dtype) || !is_elementwise(kind)) continue;
        std::complex<double> z = random_programs::number_at(b.value, i);
        // A power is the exponential of a product, which loses digits as it grows.
        double m = std::abs(z);
        error = (128 + (m > 0 ? 16 * std::fabs(std::log(m)) : 0)) * unit * m + 1e-44;
        if (!finite(z) || undefined(kind, inputs, i)) error = HUGE_VAL;
        // Rounding decides on which side of its cut an angle of half a turn lies.
        bool on_cut = std::fabs(std::fabs(z.real()) - std::numbers::pi) < 1e-14;
        if (kind == OpKind::atan2 && on_cut) error = HUGE_VAL;
      }
      b.error = std::make_shared<const std::vector<double>>(std::move(errors));
    }
    out.push_back(std::move(b));
  }
  return out;
}

}  // namespace

std::vector<Tensor> case_inputs(const Row& row, DType dtype, const Module& module) {
  std::vector<Tensor> out;
  for (const Value* argument : module.entry()->body().arguments()) {
    const Type& type = argument->type;
    // Whole numbers beside the type in question are places: within and outside of the array.
    if (is_int(type.dtype) && type.dtype != dtype) {
      Tensor places(type);
      for (int64_t i = 0; i < places.num_elements(); ++i) {
        int64_t x =
            (i * 5 + static_cast<int64_t>(out.size())) % 9 - (is_unsigned_int(type.dtype) ? 0 : 2);
        std::memcpy(places.mutable_data() + i * storage_bytes(type.dtype), &x,
                    static_cast<size_t>(storage_bytes(type.dtype)));
      }
      out.push_back(std::move(places));
      continue;
    }
    // NaNs and infinities in every sum would leave nothing to compare.
    bool plain = !is_elementwise(row.kind) && info(row.kind).family != OpFamily::movement;
    out.push_back(values(type, out.size(), plain));
  }
  return out;
}

std::string compiler_refusal(const Module& module) {
  try {
    Result<std::unique_ptr<PlannedProgram>> planned = plan_program(copy_module(module), {});
    if (!planned) return planned.diagnostics()[0].message;
    CpuCompiler compiler;
    Status added = compiler.add((*planned)->planned_graph());
    return added ? "" : added.diagnostics()[0].message;
  } catch (const InternalError& problem) {
    return std::string("internal error: ") + problem.what();
  }
}

std::string interpreter_refusal(const Row& row, DType dtype, const Module& module) {
  auto results = interpret(module, module.entry()->name, case_inputs(row, dtype, module));
  return results ? "" : results.diagnostics()[0].message;
}

Judgement judge_case(const Row& row, DType dtype, const Module& module) {
  std::vector<Tensor> inputs = case_inputs(row, dtype, module);
  random_programs::Analysed known = random_programs::analyse(module, inputs, true);
  if (!known.ok()) {
    auto results = interpret(module, module.entry()->name, inputs);
    if (!results) return {Judgement::Kind::refused, results.diagnostics()[0].message};
    known.results = loosely(row.kind, inputs, std::move(*results));
  }
  random_programs::Verdict verdict =
      random_programs::check(module, inputs, known.results, {.budgets = false, .threads = false});
  switch (verdict.kind) {
    case random_programs::Verdict::Kind::fine:
      return {};
    case random_programs::Verdict::Kind::refused:
      return {Judgement::Kind::refused, verdict.what};
    default:
      return {Judgement::Kind::wrong, verdict.what};
  }
}

std::map<OpKind, Support> coverage() {
  std::map<OpKind, Support> out;
  for (const Row& row : rows()) {
    Support& support = out[row.kind];
    for (int d = 0; d < kDTypeCount; ++d) {
      auto dtype = static_cast<DType>(d);
      std::unique_ptr<Module> module = case_module(row, dtype);
      if (!module) continue;
      auto note = [&](std::vector<DType>& list) {
        if (std::find(list.begin(), list.end(), dtype) == list.end()) list.push_back(dtype);
      };
      note(support.legal);
      ++support.cases;
      if (interpreter_refusal(row, dtype, *module).empty()) note(support.interpreted);
      std::string refusal = compiler_refusal(*module);
      if (refusal.empty()) {
        ++support.compiled_cases;
        note(support.compiled);
      } else {
        support.partly[row.form].push_back(dtype);
        support.refusals[row.form] = refusal;
      }
    }
  }
  for (auto& [kind, support] : out) {
    // A type counts as compiled when no form is refused.
    for (const auto& [form, types] : support.partly)
      for (DType dtype : types) std::erase(support.compiled, dtype);
    std::sort(support.legal.begin(), support.legal.end());
    std::sort(support.interpreted.begin(), support.interpreted.end());
    std::sort(support.compiled.begin(), support.compiled.end());
  }
  return out;
}

}  // namespace ullage::conformance
