#include "driver/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <limits>

#include "support/check.h"
#include "support/float16.h"

namespace ullage {
namespace {

__extension__ typedef unsigned __int128 uint128;

constexpr size_t kBlock = 2048;  // elements generated at a time; they stay in the first-level cache

uint64_t hash_at(uint64_t seed_term, uint64_t index) {
  uint64_t x = index + 1 + seed_term;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

uint64_t seed_term(const InputSpec& spec) {
  return spec.seed * 0x9E3779B97F4A7C15;
}

// A block of numbers as the recipe makes them: float32 for uniform and normal, whole numbers for
// the others.
void generate(const InputSpec& spec, uint64_t first, std::span<float> out) {
  const uint64_t seed = seed_term(spec);
  if (spec.fill == Fill::uniform) {
    for (size_t i = 0; i < out.size(); ++i) {
      float u = static_cast<float>(static_cast<int32_t>(hash_at(seed, first + i) >> 40)) * 0x1p-24f;
      out[i] = u * spec.span + spec.lo;
    }
    return;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    uint64_t h = hash_at(seed, first + i);
    auto sum =
        static_cast<int32_t>((h & 0xffff) + (h >> 16 & 0xffff) + (h >> 32 & 0xffff) + (h >> 48));
    out[i] = static_cast<float>(sum - 131070) * spec.mul;
  }
  if (spec.mean == 0) return;
  for (float& value : out) value += spec.mean;
}

void generate(const InputSpec& spec, uint64_t first, std::span<int64_t> out) {
  const uint64_t seed = seed_term(spec);
  switch (spec.fill) {
    case Fill::integer: {
      // The quotient by a reciprocal is at most two too small; division would take most of the
      // time.
      const uint64_t reciprocal = std::numeric_limits<uint64_t>::max() / spec.range;
      for (size_t i = 0; i < out.size(); ++i) {
        uint64_t h = hash_at(seed, first + i);
        auto quotient = static_cast<uint64_t>(static_cast<uint128>(h) * reciprocal >> 64);
        uint64_t remainder = h - quotient * spec.range;
        while (remainder >= spec.range) remainder -= spec.range;
        out[i] = static_cast<int64_t>(static_cast<uint64_t>(spec.lower) + remainder);
      }
      return;
    }
    case Fill::boolean:
      for (size_t i = 0; i < out.size(); ++i) out[i] = hash_at(seed, first + i) >> 40 < spec.below;
      return;
    case Fill::iota:
      for (size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<int64_t>(static_cast<uint64_t>(spec.start) +
                                      (first + i) * static_cast<uint64_t>(spec.delta));
      return;
    default:
      ULLAGE_CHECK(false, "not a recipe of whole numbers");
  }
}

// What NumPy's astype gives, without its undefined cases: out of range becomes the smallest number.
template <typename To, typename From>
To to_integer(From value) {
  if constexpr (std::is_integral_v<From>) {
    return static_cast<To>(value);
  } else {
    if (value >= -0x1p63 && value < 0x1p63) return static_cast<To>(static_cast<int64_t>(value));
    if (std::is_same_v<To, uint64_t> && value > 0 && value < 0x1p64) return static_cast<To>(value);
    return static_cast<To>(std::numeric_limits<int64_t>::min());
  }
}

// Element types of this program's storage.
struct Boolean {
  uint8_t value;
};
struct BFloat16 {
  uint16_t bits;
};
struct Float16 {
  uint16_t bits;
};

template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<To, Boolean>) {
    return {value != From{}};
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return {float_to_bf16(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<To, Float16>) {
    return {float_to_f16(static_cast<float>(value))};
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else {
    return to_integer<To>(value);
  }
}

// out[i] = values[i] as this element type; values are as many as fit.
template <typename To, typename From>
void convert_block(const From* values, size_t count, std::byte* out) {
  for (size_t i = 0; i < count; ++i) {
    To converted = convert<To>(values[i]);
    std::memcpy(out + i * sizeof(To), &converted, sizeof(To));
  }
}

struct Converter {
  DType dtype;
  size_t size;
  void (*from_float)(const float*, size_t, std::byte*);
  void (*from_int)(const int64_t*, size_t, std::byte*);
  void (*from_double)(const double*, size_t, std::byte*);
};
template <typename To>
constexpr Converter converter(DType dtype) {
  return {dtype, sizeof(To), convert_block<To, float>, convert_block<To, int64_t>,
          convert_block<To, double>};
}
constexpr Converter kConverters[] = {
    converter<Boolean>(DType::i1),    converter<int8_t>(DType::i8),
    converter<int16_t>(DType::i16),   converter<int32_t>(DType::i32),
    converter<int64_t>(DType::i64),   converter<uint8_t>(DType::ui8),
    converter<uint16_t>(DType::ui16), converter<uint32_t>(DType::ui32),
    converter<uint64_t>(DType::ui64), converter<BFloat16>(DType::bf16),
    converter<Float16>(DType::f16),   converter<float>(DType::f32),
    converter<double>(DType::f64)};

// Of the type itself, or of the parts of a complex one.
const Converter* find_converter(DType dtype) {
  for (const Converter& entry : kConverters)
    if (entry.dtype == real_part(dtype)) return &entry;
  return nullptr;
}

const Converter& converter_for(DType dtype) {
  const Converter* entry = find_converter(dtype);
  ULLAGE_CHECK(entry, std::string(name(dtype)));
  return *entry;
}

// Repeats `element` all over `out`.
void repeat(std::span<const std::byte> element, std::span<std::byte> out) {
  if (out.empty()) return;
  std::copy(element.begin(), element.end(), out.begin());
  for (size_t done = element.size(); done < out.size();) {
    size_t count = std::min({done, out.size() - done, size_t{1} << 16});
    std::memcpy(out.data() + done, out.data(), count);
    done += count;
  }
}

template <typename Number>
void store(Number value, DType dtype, std::byte* out,
           void (*Converter::*convert_to)(const Number*, size_t, std::byte*)) {
  const Converter& entry = converter_for(dtype);
  (entry.*convert_to)(&value, 1, out);
  if (is_complex(dtype)) (entry.*convert_to)(&value, 1, out + entry.size);
}

}  // namespace

bool can_fill(DType dtype) {
  return find_converter(dtype) != nullptr;
}

void store_number(double value, DType dtype, std::byte* out) {
  store(value, dtype, out, &Converter::from_double);
}
void store_number(int64_t value, DType dtype, std::byte* out) {
  store(value, dtype, out, &Converter::from_int);
}

void fill_range(const InputSpec& spec, int64_t first_element, std::span<std::byte> out) {
  const DType dtype = spec.type.dtype;
  auto first = static_cast<uint64_t>(first_element);
  if (spec.fill == Fill::values) {
    size_t begin = first * static_cast<size_t>(storage_bytes(dtype));
    ULLAGE_CHECK(begin + out.size() <= spec.bytes.size(), spec.name);
    std::copy_n(spec.bytes.begin() + static_cast<std::ptrdiff_t>(begin), out.size(), out.begin());
    return;
  }
  if (spec.fill == Fill::constant) return repeat(spec.bytes, out);

  const Converter& entry = converter_for(dtype);
  const bool real = spec.fill == Fill::uniform || spec.fill == Fill::normal;
  if (is_complex(dtype)) first *= 2;
  std::array<float, kBlock> floats;
  std::array<int64_t, kBlock> integers;
  for (size_t at = 0; at < out.size(); at += kBlock * entry.size, first += kBlock) {
    size_t count = std::min(kBlock, (out.size() - at) / entry.size);
    if (real) {
      generate(spec, first, std::span(floats).first(count));
      entry.from_float(floats.data(), count, out.data() + at);
    } else {
      generate(spec, first, std::span(integers).first(count));
      entry.from_int(integers.data(), count, out.data() + at);
    }
  }
}

void fill(const InputSpec& spec, std::span<std::byte> out) {
  ULLAGE_CHECK(static_cast<int64_t>(out.size()) == spec.type.bytes(), spec.name);
  fill_range(spec, 0, out);
}

Result<InputFiles> read_input_files(std::span<const std::string> paths) {
  InputFiles out;
  for (const std::string& path : paths) {
    Result<FileBytes> file = FileBytes::open(path);
    if (!file.ok()) return file.diagnostics();
    if (path.ends_with(".npz")) {
      Result<std::vector<NpyArray>> members = read_npz(file->bytes(), path);
      if (!members.ok()) return members.diagnostics();
      for (NpyArray& member : *members) out.arrays.push_back(std::move(member));
    } else {
      Result<NpyArray> array = read_npy(file->bytes(), path);
      if (!array.ok()) return array.diagnostics();
      out.arrays.push_back(std::move(*array));
    }
    out.files.push_back(std::move(*file));
  }
  return out;
}

}  // namespace ullage
