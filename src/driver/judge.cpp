#include "driver/judge.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "support/check.h"
#include "support/float16.h"

namespace ullage {
namespace {

using Complex = std::complex<double>;

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// One element, widened.
using Loader = Complex (*)(const std::byte*);
struct LoaderRow {
  DType dtype;
  Loader load;
};
template <typename T>
constexpr LoaderRow loader(DType dtype) {
  return {dtype, [](const std::byte* at) -> Complex { return static_cast<double>(load<T>(at)); }};
}
constexpr LoaderRow kLoaders[] = {
    loader<uint8_t>(DType::i1),
    loader<int8_t>(DType::i8),
    loader<int16_t>(DType::i16),
    loader<int32_t>(DType::i32),
    loader<int64_t>(DType::i64),
    loader<uint8_t>(DType::ui8),
    loader<uint16_t>(DType::ui16),
    loader<uint32_t>(DType::ui32),
    loader<uint64_t>(DType::ui64),
    loader<float>(DType::f32),
    loader<double>(DType::f64),
    {DType::bf16, [](const std::byte* at) -> Complex { return bf16_to_float(load<uint16_t>(at)); }},
    {DType::f16, [](const std::byte* at) -> Complex { return f16_to_float(load<uint16_t>(at)); }},
    {DType::c64,
     [](const std::byte* at) -> Complex { return {load<float>(at), load<float>(at + 4)}; }},
    {DType::c128,
     [](const std::byte* at) -> Complex { return {load<double>(at), load<double>(at + 8)}; }}};

Loader find_loader(DType dtype) {
  for (const LoaderRow& row : kLoaders)
    if (row.dtype == dtype) return row.load;
  return nullptr;
}

bool has_nan(Complex value) {
  return std::isnan(value.real()) || std::isnan(value.imag());
}

// Distance of two values: 0 for equal infinities and for a NaN on both sides, infinite for a NaN on
// one.
double distance(Complex got, Complex want) {
  if (got == want || (has_nan(got) && has_nan(want))) return 0;
  double out = std::abs(got - want);
  return std::isnan(out) ? std::numeric_limits<double>::infinity() : out;
}

// True for NaN: what is not within the tolerance fails.
bool off(double difference, double tolerance) {
  return !(difference <= tolerance);
}

std::string shown(Complex value, bool complex) {
  return complex ? fmt::format("{:.9g}{:+.9g}i", value.real(), value.imag())
                 : fmt::format("{:.9g}", value.real());
}

struct Sums {
  Complex sum = 0;
  double sum_of_squares = 0;
};

Sums sums_of(const OutputView& output, Loader load) {
  Sums total;
  const auto size = static_cast<size_t>(storage_bytes(output.type.dtype));
  constexpr size_t kChunk =
      4096;  // elements added before going into the total, which keeps rounding small
  for (size_t begin = 0; begin < output.bytes.size(); begin += kChunk * size) {
    Sums part;
    size_t end = std::min(output.bytes.size(), begin + kChunk * size);
    for (size_t at = begin; at < end; at += size) {
      Complex value = load(output.bytes.data() + at);
      part.sum += value;
      part.sum_of_squares += std::norm(value);
    }
    total.sum += part.sum;
    total.sum_of_squares += part.sum_of_squares;
  }
  return total;
}

uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// Collects what is found about one output.
struct Verdict {
  CheckResult& result;
  std::string output;  // "output 3 .params"
  double largest = 0;

  void fail(const std::string& what) {
    result.passed = false;
    result.failures.push_back(output + ": " + what);
  }
  void note_error(double error) {
    if (error == 0) return;
    result.max_abs_error = std::max(result.max_abs_error, error);
    double relative = largest > 0 ? error / largest : std::numeric_limits<double>::infinity();
    result.max_rel_error = std::max(result.max_rel_error, relative);
  }
};

const NpyArray* find_array(const std::vector<NpyArray>& arrays, const std::string& name) {
  for (const NpyArray& array : arrays)
    if (array.name == name) return &array;
  return nullptr;
}

void judge_sample(const OutputSpec& spec, const OutputView& output, Loader load, Verdict& verdict) {
  const auto size = static_cast<size_t>(storage_bytes(spec.type.dtype));
  double worst = 0;
  size_t worst_at = 0, far_off = 0;
  for (size_t i = 0; i < spec.sample.size(); ++i) {
    Complex got = load(output.bytes.data() + i * static_cast<size_t>(spec.stride) * size);
    double difference = distance(got, spec.sample[i]);
    verdict.note_error(difference);
    if (spec.rms_tolerance && difference > 4 * *spec.rms_tolerance) ++far_off;
    if (difference > worst) {
      worst = difference;
      worst_at = i;
    }
  }
  if (off(worst, spec.tolerance)) {
    Complex got = load(output.bytes.data() + worst_at * static_cast<size_t>(spec.stride) * size);
    bool complex = is_complex(spec.type.dtype);
    verdict.fail(fmt::format("element {} is {}, expected {} within {:.3g}",
                             static_cast<int64_t>(worst_at) * spec.stride, shown(got, complex),
                             shown(spec.sample[worst_at], complex), spec.tolerance));
  }
  if (far_off > std::max<size_t>(1, spec.sample.size() / 8))
    verdict.fail(fmt::format("{} of {} samples are off by more than {:.3g}", far_off,
                             spec.sample.size(), 4 * *spec.rms_tolerance));
}

void judge_sums(const OutputSpec& spec, const OutputView& output, Loader load, Verdict& verdict) {
  Sums sums = sums_of(output, load);
  bool complex = is_complex(spec.type.dtype);
  // A part of the reference itself, for the rounding of the additions done here.
  double slack = spec.sum_tolerance + 1e-12 * std::abs(spec.sum);
  if (off(std::abs(sums.sum - spec.sum), slack))
    verdict.fail(fmt::format("the sum is {}, expected {} within {:.3g}", shown(sums.sum, complex),
                             shown(spec.sum, complex), slack));
  slack = spec.sum_of_squares_tolerance + 1e-12 * std::abs(spec.sum_of_squares);
  if (off(std::abs(sums.sum_of_squares - spec.sum_of_squares), slack))
    verdict.fail(fmt::format("the sum of squares is {:.9g}, expected {:.9g} within {:.3g}",
                             sums.sum_of_squares, spec.sum_of_squares, slack));
}

// All elements against those of expected.npz.
void judge_elements(const OutputSpec& spec, const OutputView& output, Loader load,
                    const NpyArray& expected, Verdict& verdict) {
  Loader load_expected = expected.dtype ? find_loader(*expected.dtype) : nullptr;
  int64_t count = spec.type.num_elements();
  if (!load_expected || expected.shape != spec.type.shape || expected.fortran_order) {
    verdict.fail(fmt::format("'{}' of expected.npz has another shape or type", expected.name));
    return;
  }
  const auto size = static_cast<size_t>(storage_bytes(spec.type.dtype));
  double worst = 0, squares = 0;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    Complex want =
        load_expected(expected.bytes.data() + i * static_cast<size_t>(expected.item_bytes));
    double difference = distance(load(output.bytes.data() + i * size), want);
    verdict.note_error(difference);
    worst = std::max(worst, difference);
    squares += difference * difference;
  }
  if (off(worst, spec.tolerance))
    verdict.fail(
        fmt::format("an element is off by {:.3g}, allowed are {:.3g}", worst, spec.tolerance));
  double rms = count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count));
  if (spec.rms_tolerance && off(rms, *spec.rms_tolerance))
    verdict.fail(
        fmt::format("the rms error is {:.3g}, allowed are {:.3g}", rms, *spec.rms_tolerance));
}

void judge_exact(const OutputSpec& spec, const OutputView& output, Loader load, Verdict& verdict) {
  uint32_t crc = crc_of(output.bytes);
  if (crc == spec.crc32) return;
  verdict.fail(fmt::format("the crc32 is {}, expected {}", crc, spec.crc32));
  const auto size = static_cast<size_t>(storage_bytes(spec.type.dtype));
  for (size_t i = 0; i < spec.sample.size(); ++i) {
    double difference = distance(
        load(output.bytes.data() + i * static_cast<size_t>(spec.stride) * size), spec.sample[i]);
    verdict.largest = std::max(verdict.largest, std::abs(spec.sample[i]));
    verdict.note_error(difference);
  }
}

bool same_number(size_t got, size_t want, CheckResult& result) {
  if (got == want) return true;
  result.passed = false;
  result.failures.push_back(fmt::format("{} outputs, expected {}", got, want));
  return false;
}

// How far two engines may be apart, as a part of the output's largest magnitude. Long sums lose
// some ten bits of the wide types; the 16-bit types are added in f32 and rounded once.
double comparison_tolerance(DType dtype) {
  switch (real_part(dtype)) {
    case DType::f64:
      return 1024 * 0x1p-52;
    case DType::f32:
      return 1024 * 0x1p-23;
    case DType::f16:
      return 8 * 0x1p-10;
    case DType::bf16:
      return 8 * 0x1p-7;
    default:
      return 0;
  }
}

}  // namespace

std::string CheckResult::summary() const {
  if (passed)
    return fmt::format(
        "check passed: {} outputs, largest error {:.3g} ({:.3g} of the largest element)\n",
        judged_outputs, max_abs_error, max_rel_error);
  std::string out = fmt::format("check failed: {} differences\n", failures.size());
  for (const std::string& failure : failures) out += "  " + failure + "\n";
  return out;
}

CheckResult judge(const CaseFile& expected, std::span<const OutputView> outputs) {
  CheckResult result;
  if (!same_number(outputs.size(), expected.outputs.size(), result)) return result;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputSpec& spec = expected.outputs[i];
    const OutputView& output = outputs[i];
    Verdict verdict{result, fmt::format("output {} {}", i, spec.name), spec.largest};
    if (output.type.dtype != spec.type.dtype || output.type.shape != spec.type.shape) {
      verdict.fail(
          fmt::format("it is {}, expected {}", to_string(output.type), to_string(spec.type)));
      continue;
    }
    if (!spec.has_values) continue;
    Loader load = find_loader(spec.type.dtype);
    ULLAGE_CHECK(load, "case files have loadable types only");
    ++result.judged_outputs;
    if (spec.exact) {
      judge_exact(spec, output, load, verdict);
      continue;
    }
    judge_sample(spec, output, load, verdict);
    judge_sums(spec, output, load, verdict);
    if (const NpyArray* all = find_array(expected.expected, fmt::format("out{}_f64", i)))
      judge_elements(spec, output, load, *all, verdict);
  }
  return result;
}

CheckResult compare_outputs(std::span<const OutputView> outputs,
                            std::span<const OutputView> reference) {
  CheckResult result;
  if (!same_number(outputs.size(), reference.size(), result)) return result;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputView &got = outputs[i], &want = reference[i];
    Verdict verdict{result, fmt::format("output {}", i)};
    if (!(got.type == want.type)) {
      verdict.fail(fmt::format("it is {}, expected {}", to_string(got.type), to_string(want.type)));
      continue;
    }
    ++result.judged_outputs;
    Loader load = find_loader(got.type.dtype);
    double tolerance = comparison_tolerance(got.type.dtype);
    if (!load || tolerance == 0) {  // whole numbers, and types that are compared by their bits
      if (!std::ranges::equal(got.bytes, want.bytes)) verdict.fail("the bits differ");
      continue;
    }
    const auto size = static_cast<size_t>(storage_bytes(got.type.dtype));
    for (size_t at = 0; at < want.bytes.size(); at += size) {
      double magnitude = std::abs(load(want.bytes.data() + at));
      if (std::isfinite(magnitude)) verdict.largest = std::max(verdict.largest, magnitude);
    }
    double worst = -1;
    size_t worst_at = 0;
    for (size_t at = 0; at < want.bytes.size(); at += size) {
      double difference = distance(load(got.bytes.data() + at), load(want.bytes.data() + at));
      if (difference <= worst) continue;
      worst = difference;
      worst_at = at;
    }
    verdict.note_error(std::max(worst, 0.0));
    if (worst > tolerance * verdict.largest) {
      bool complex = is_complex(got.type.dtype);
      verdict.fail(fmt::format("element {} is {}, expected {} within {:.3g}", worst_at / size,
                               shown(load(got.bytes.data() + worst_at), complex),
                               shown(load(want.bytes.data() + worst_at), complex),
                               tolerance * verdict.largest));
    }
  }
  return result;
}

}  // namespace ullage
