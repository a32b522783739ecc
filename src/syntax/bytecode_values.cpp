// Attributes: opening entries of the table, and the values of those that describe operations.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "syntax/bytecode_reader.h"
#include "syntax/float_formats.h"

namespace ullage::syntax {

namespace {

using K = AttrKind;

// By code.
constexpr K kBuiltin[] = {
    K::array,
    K::dictionary,
    K::string,
    K::typed_string,
    K::flat_symbol,
    K::symbol,
    K::type,
    K::unit,
    K::integer,
    K::floating,
    K::callsite_location,
    K::file_location,
    K::fused_location,
    K::fused_metadata_location,
    K::name_location,
    K::unknown_location,
    K::unsupported,
    K::dense_array,
    K::tensor,
    K::unsupported,
    K::unsupported,
    K::unsupported,
    K::file_range,
};
constexpr K kVhlo[] = {
    K::unsupported,      K::array,
    K::boolean,          K::comparison_direction,
    K::comparison_type,  K::api_version,
    K::dictionary,       K::fft_type,
    K::floating,         K::integer,
    K::output_alias,     K::precision,
    K::rng_algorithm,    K::rng_distribution,
    K::string,           K::tensor,
    K::transpose,        K::type,
    K::bounds,           K::accuracy_mode,
    K::result_accuracy,  K::mesh_axes_groups,
    K::mesh_axes_groups, K::mesh_axes_groups,
    K::mesh_axes_groups, K::mesh_axes_groups,
};
constexpr K kShardy[] = {
    K::sdy_manual_axes,        K::sdy_mesh_axis,  K::sdy_mesh,
    K::sdy_sub_axis,           K::sdy_axis,       K::sdy_dimension,
    K::sdy_sharding,           K::sdy_per_value,  K::sdy_dimension_mapping,
    K::sdy_tensor_mapping,     K::sdy_rule,       K::sdy_axis_list,
    K::sdy_axis_lists,         K::sdy_all_to_all, K::sdy_all_to_alls,
    K::sdy_sharding_unreduced, K::sdy_per_value,  K::sdy_sharding_reduction,
};

std::span<const K> kinds(Dialect dialect) {
  switch (dialect) {
    case Dialect::builtin:
      return kBuiltin;
    case Dialect::vhlo:
      return kVhlo;
    case Dialect::sdy:
      return kShardy;
    default:
      return {};
  }
}

}  // namespace

std::string_view kind_name(AttrKind kind) {
  switch (kind) {
    case K::array:
      return "a list";
    case K::dictionary:
      return "a dictionary";
    case K::string:
    case K::typed_string:
      return "a string";
    case K::flat_symbol:
    case K::symbol:
      return "a symbol";
    case K::type:
      return "a type";
    case K::unit:
      return "a unit attribute";
    case K::boolean:
      return "a boolean";
    case K::integer:
      return "an integer";
    case K::floating:
      return "a floating-point number";
    case K::tensor:
    case K::dense_array:
      return "a constant";
    case K::unknown_location:
    case K::file_location:
    case K::file_range:
    case K::name_location:
    case K::callsite_location:
    case K::fused_location:
    case K::fused_metadata_location:
      return "a location";
    case K::comparison_direction:
      return "a comparison direction";
    case K::comparison_type:
      return "a comparison type";
    case K::api_version:
      return "a version of custom calls";
    case K::fft_type:
      return "a kind of Fourier transform";
    case K::precision:
      return "a precision";
    case K::rng_algorithm:
      return "an algorithm of random numbers";
    case K::rng_distribution:
      return "a distribution of random numbers";
    case K::transpose:
      return "a kind of transpose";
    case K::accuracy_mode:
      return "a mode of accuracy";
    case K::output_alias:
      return "an alias of an output";
    case K::bounds:
      return "bounds of dimensions";
    case K::result_accuracy:
      return "an accuracy";
    case K::mesh_axes_groups:
      return "groups by mesh axes";
    case K::unsupported:
      return "an attribute of an unsupported kind";
    default:
      return "an attribute of Shardy";
  }
}

OpenAttr BytecodeReader::open(uint32_t attribute) {
  if (failed()) return {K::unsupported, 0, 0, Cursor(bytes_, 0, 0, failure_)};
  const BytecodeContainer::Entry& entry = container_.attributes[attribute];
  OpenAttr out{K::unsupported, entry.begin, attribute,
               Cursor(bytes_, entry.begin, entry.begin + entry.size, failure_)};
  if (!entry.custom) {
    fail(entry.begin, "attributes written as text are not supported");
    return out;
  }
  std::span<const K> known = kinds(entry.dialect);
  const uint64_t code = out.fields.varint("the code of an attribute");
  if (failed()) return out;
  if (code >= known.size()) {
    fail(entry.begin, fmt::format("unknown attribute {} of this dialect", code));
    return out;
  }
  out.kind = known[code];
  return out;
}

void BytecodeReader::wrong_kind(const OpenAttr& attribute, AttrOwner owner,
                                std::string_view wanted) {
  fail(attribute.at, fmt::format("'{}' of {} must be {}, not {}", owner.name, owner.owner, wanted,
                                 kind_name(attribute.kind)));
}

std::optional<OpenAttr> BytecodeReader::open(uint32_t attribute, AttrKind kind, AttrOwner owner) {
  OpenAttr out = open(attribute);
  if (!failed() && out.kind != kind) wrong_kind(out, owner, kind_name(kind));
  if (failed()) return {};
  return out;
}

bool BytecodeReader::expand(size_t bytes) {
  constexpr size_t kFactor = 64, kAlways = size_t{16} << 20;
  expanded_ += bytes;
  if (expanded_ / kFactor <= bytes_.size() + kAlways / kFactor) return true;
  fail(bytes_.size(), fmt::format("the attributes and types of this file take more than {} times "
                                  "its size when written in full",
                                  kFactor));
  return false;
}

// -- Lists, strings, numbers

std::vector<uint32_t> BytecodeReader::elements(uint32_t array, AttrOwner owner) {
  std::vector<uint32_t> out;
  std::optional<OpenAttr> opened = open(array, K::array, owner);
  if (!opened) return out;
  const size_t count = opened->fields.count("the number of a list's elements");
  if (!expand(count * sizeof(uint32_t))) return out;
  out.reserve(count);
  for (size_t i = 0; i < count && !failed(); ++i)
    out.push_back(attribute_index(opened->fields, "an element of a list"));
  opened->fields.expect_end("this list");
  return out;
}

std::string_view BytecodeReader::string_at(Cursor& c) {
  const uint32_t index = c.index("a string", container_.strings.size());
  return failed() ? std::string_view() : container_.strings[index];
}

std::string_view BytecodeReader::string(uint32_t attribute, AttrOwner owner) {
  std::optional<OpenAttr> opened = open(attribute, K::string, owner);
  if (!opened) return {};
  std::string_view out = string_at(opened->fields);
  opened->fields.expect_end("this string");
  expand(out.size());
  return out;
}

bool BytecodeReader::boolean(uint32_t attribute, AttrOwner owner) {
  std::optional<OpenAttr> opened = open(attribute, K::boolean, owner);
  if (!opened) return false;
  const uint64_t value = opened->fields.varint("a boolean");
  if (value > 1) fail(opened->at, fmt::format("expected a boolean, found {}", value));
  opened->fields.expect_end("this boolean");
  return value == 1;
}

int64_t BytecodeReader::integer(uint32_t attribute, AttrOwner owner) {
  std::optional<OpenAttr> opened = open(attribute, K::integer, owner);
  if (!opened) return 0;
  const BytecodeType& found = type(type_index(opened->fields, "the type of an integer"));
  if (failed()) return 0;
  const bool is_index = found.kind == BytecodeType::Kind::index;
  const DType dtype = found.type.dtype;
  const bool whole = found.kind == BytecodeType::Kind::element && !found.type.quantized &&
                     (is_int(dtype) || dtype == DType::i1);
  if (!is_index && !whole) {
    fail(opened->at, "expected the type of an integer");
    return 0;
  }
  const int width = is_index ? 64 : bit_width(dtype);
  int64_t value = opened->fields.integer("an integer", width);
  if ((is_unsigned_int(dtype) || dtype == DType::i1) && width < 64)
    value &= (int64_t{1} << width) - 1;
  opened->fields.expect_end("this integer");
  return value;
}

double BytecodeReader::floating(uint32_t attribute, AttrOwner owner) {
  std::optional<OpenAttr> opened = open(attribute, K::floating, owner);
  if (!opened) return 0;
  const DType dtype = element_type(type_index(opened->fields, "the type of a number"), opened->at);
  if (!failed() && !is_float(dtype)) fail(opened->at, "expected the type of a number");
  if (failed()) return 0;
  const int width = bit_width(dtype);
  auto bits = static_cast<uint64_t>(opened->fields.integer("a number", width));
  if (width < 64) bits &= (uint64_t{1} << width) - 1;
  opened->fields.expect_end("this number");
  return float_value(dtype, bits);
}

uint64_t BytecodeReader::enumerated(uint32_t attribute, AttrKind kind, AttrOwner owner) {
  std::optional<OpenAttr> opened = open(attribute, kind, owner);
  if (!opened) return 0;
  const uint64_t value = opened->fields.varint(kind_name(kind));
  opened->fields.expect_end("this attribute");
  return value;
}

Dims BytecodeReader::signed_list(Cursor& c, std::string_view what) {
  Dims out(c.count(what));
  for (int64_t& value : out) value = c.svarint(what);
  return out;
}

// -- Constants

const Literal& BytecodeReader::literal(uint32_t attribute, AttrOwner owner) {
  static const Literal none = Literal::scalar<uint8_t>(DType::i1, 0);
  auto known = literals_.find(attribute);
  if (known != literals_.end()) return known->second;
  Literal read = read_literal(attribute, owner);
  if (failed()) return none;
  return literals_.emplace(attribute, std::move(read)).first->second;
}

// Elements take their bytes, except that booleans are packed into bits; a splat is one element.
Literal BytecodeReader::read_literal(uint32_t attribute, AttrOwner owner) {
  Literal out;
  std::optional<OpenAttr> opened = open(attribute, K::tensor, owner);
  if (!opened) return out;
  const BytecodeType& found = type(type_index(opened->fields, "the type of a constant"));
  if (!failed() &&
      (found.kind != BytecodeType::Kind::tensor || !found.type.is_static() || found.type.quantized))
    fail(opened->at, "the type of a constant must be a static tensor type");
  std::string_view blob = opened->fields.blob("the bytes of a constant");
  opened->fields.expect_end("this constant");
  if (failed()) return out;
  const Type& type = found.type;
  const auto count = static_cast<size_t>(type.num_elements());
  const auto width = static_cast<size_t>(storage_bytes(type.dtype));
  auto wrong_size = [&] {
    fail(opened->at,
         fmt::format("{} bytes cannot be a constant of type {}", blob.size(), to_string(type)));
    return out;
  };
  // Without elements there may still be the one of a splat.
  if (count == 0 && (blob.empty() || blob.size() == width)) return Literal::make(type, {}, false);
  if (type.dtype == DType::i1) {
    const size_t packed = count / 8 + (count % 8 != 0);
    const auto first = blob.empty() ? uint8_t{0} : static_cast<uint8_t>(blob[0]);
    const bool splat = blob.size() == 1 && (first == 0 || first == 0xFF);
    if (splat) return Literal::make(type, {std::byte{first != 0}}, true);
    if (blob.size() != packed) return wrong_size();
    if (!expand(count)) return out;
    std::vector<std::byte> bytes(count);
    for (size_t i = 0; i < count; ++i)
      bytes[i] = std::byte((static_cast<uint8_t>(blob[i / 8]) >> (i % 8)) & 1);
    return Literal::make(type, std::move(bytes), false);
  }
  const bool splat = blob.size() == width;
  if (!splat && (blob.size() % width != 0 || blob.size() / width != count)) return wrong_size();
  const auto* begin = reinterpret_cast<const std::byte*>(blob.data());
  std::vector<std::byte> bytes(begin, begin + blob.size());
  const int bits = bit_width(type.dtype);
  if (bits < 8) {
    const int unused = 8 - bits;
    for (std::byte& byte : bytes) {
      const auto shifted = static_cast<uint8_t>(static_cast<uint8_t>(byte) << unused);
      byte = is_signed_int(type.dtype)
                 ? std::byte(static_cast<uint8_t>(static_cast<int8_t>(shifted) >> unused))
                 : std::byte(static_cast<uint8_t>(shifted >> unused));
    }
  }
  return Literal::make(type, std::move(bytes), splat);
}

void BytecodeReader::dims(uint32_t attribute, Dims& out, AttrOwner owner) {
  const Literal& found = literal(attribute, owner);
  if (failed()) return;
  const size_t at = container_.attributes[attribute].begin;
  if (!is_int(found.type.dtype) || found.type.rank() > 1)
    return fail(at, fmt::format("'{}' of {} must be a list of integers, not a constant of type {}",
                                owner.name, owner.owner, to_string(found.type)));
  const int64_t count = found.type.num_elements();
  if (count > kMaxListElements)
    return fail(at, fmt::format("'{}' of {} has more than {} elements", owner.name, owner.owner,
                                kMaxListElements));
  if (!expand(static_cast<size_t>(count) * sizeof(int64_t))) return;
  out.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) out[static_cast<size_t>(i)] = found.int_at(i);
}

void BytecodeReader::matrix(uint32_t attribute, Dims& out, int64_t& rows, int64_t& columns,
                            AttrOwner owner) {
  const Literal& found = literal(attribute, owner);
  if (failed()) return;
  const size_t at = container_.attributes[attribute].begin;
  if (is_int(found.type.dtype) && found.type.num_elements() == 0 && found.type.rank() == 1) return;
  if (!is_int(found.type.dtype) || found.type.rank() != 2)
    return fail(at, fmt::format("'{}' of {} must be integers in two dimensions, not a constant of "
                                "type {}",
                                owner.name, owner.owner, to_string(found.type)));
  const int64_t count = found.type.num_elements();
  if (count > kMaxListElements)
    return fail(at, fmt::format("'{}' of {} has more than {} elements", owner.name, owner.owner,
                                kMaxListElements));
  rows = found.type.shape[0];
  columns = found.type.shape[1];
  if (!expand(static_cast<size_t>(count) * sizeof(int64_t))) return;
  for (int64_t i = 0; i < count; ++i) out.push_back(found.int_at(i));
}

void BytecodeReader::bools(uint32_t attribute, std::vector<bool>& out, AttrOwner owner) {
  const Literal& found = literal(attribute, owner);
  if (failed()) return;
  const int64_t count = found.type.num_elements();
  if (found.type.dtype != DType::i1 || count > kMaxListElements)
    return fail(container_.attributes[attribute].begin,
                fmt::format("'{}' of {} must be a list of booleans, not a constant of type {}",
                            owner.name, owner.owner, to_string(found.type)));
  if (!expand(static_cast<size_t>(count))) return;
  for (int64_t i = 0; i < count; ++i) out.push_back(found.int_at(i) != 0);
}

const BytecodeType& BytecodeReader::type_of(uint32_t attribute, AttrOwner owner) {
  static const BytecodeType none;
  std::optional<OpenAttr> opened = open(attribute, K::type, owner);
  if (!opened) return none;
  const uint32_t index = type_index(opened->fields, "a type");
  opened->fields.expect_end("this attribute");
  return failed() ? none : type(index);
}

}  // namespace ullage::syntax
